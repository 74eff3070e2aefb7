# SPDX-License-Identifier: Apache-2.0
# Stages of ./run-tests, each a run of ctest. Sourced behind scripts/setup/steps.sh.

results=build/test-results
reports=() # of all stages, whether ctest has written them or not
failed_builds=0

# Continuous integration leaves out what is `long`, for ctest and for pytest: what takes long and
# looks at what shorter ones look at as well, or at what seldom changes.
left_out=()
pytest_options=${PYTEST_ADDOPTS:-}
if [[ ${CI:-} == true ]]; then
    left_out=(-LE '^long$')
    pytest_options+=" -m 'not long'"
fi

# Runs what ctest selects with the arguments; prints one summary line.
stage() {
    local name=$1 preset=$2 start=$SECONDS report log
    shift 2
    report=$PWD/$results/${name//[^a-zA-Z0-9]/-}.xml
    log=$logs/test-${name//[^a-zA-Z0-9]/-}.log
    reports+=("$report")
    # A job's ranks are spread over the cores, so ctest counts ranks, not programs (PROCESSORS).
    # Thousands of short programs import NumPy: threads that each would start for its linear algebra
    # take as much time as the rest of the import.
    PYTEST_ADDOPTS=$pytest_options OPENBLAS_NUM_THREADS=1 \
        ctest --preset "$preset" -j "$jobs" --output-junit "$report" \
        --test-output-size-passed 1000000 --test-output-size-failed 1000000 \
        --test-output-truncation middle "${left_out[@]}" "$@" >"$log" 2>&1 </dev/null || true
    "$venv/bin/python" scripts/ci/count-tests --stage "$name" --seconds $((SECONDS - start)) \
        --log "$log" "$report"
}

# Runs a step of scripts/setup/steps.sh; the rest goes on without it, and it counts as failed.
attempt() {
    "$@" && return 0
    failed_builds=$((failed_builds + 1))
    return 1
}

builder=

# build_ahead LINE: runs the line, which builds what comes later, in the background, with the
# processor time that nobody else wants: many tests wait more than they work. What is not done when
# stop_building_ahead ends it, the later step does, and it is that step whose failure counts.
build_ahead() {
    trap stop_building_ahead EXIT
    setsid chrt --idle 0 bash -c "set -euo pipefail; source scripts/setup/steps.sh; $1" \
        >/dev/null 2>&1 </dev/null &
    builder=$! # and the number of its process group
}

stop_building_ahead() {
    [[ -n $builder ]] || return 0
    kill -TERM -- "-$builder" 2>/dev/null || true
    wait "$builder" 2>/dev/null || true
    builder=
}

# Every label of the preset is a stage; but those of a few long tests make a stage together, so that
# no processor waits for the last test of each. Most of them take less than one processor: they wait
# for programs that start, end, sleep and time out. So one more of them runs than there are, and
# they come first: what is built ahead has the time that they leave.
all_stages() {
    local label labels tests few=() many=()
    labels=$(ctest --preset "$1" --print-labels | sed -n 's/^  //p')
    if [[ -z $labels ]]; then # ctest cannot list its tests: it says why
        stage "$1" "$1"
        return
    fi
    for label in $labels; do
        [[ $label == long ]] && continue # and of another label
        tests=$(ctest --preset "$1" -N "${left_out[@]}" -L "^$label\$" |
            sed -n 's/^Total Tests: //p')
        if ((tests <= 8)); then
            few+=("$label")
        else
            many+=("$label")
        fi
    done
    [[ ${#few[@]} == 0 ]] ||
        jobs=$((jobs + 1)) stage "$1 ${few[*]}" "$1" -L "^($(IFS='|' && echo "${few[*]}"))\$"
    for label in ${many[@]+"${many[@]}"}; do
        stage "$1 $label" "$1" -L "^$label\$"
    done
}

# The last line, and the exit status: a report that is missing is a failure as well.
sum_up() {
    [[ $failed_builds == 0 ]] || say "$failed_builds build(s) failed: counted as failed tests."
    "$venv/bin/python" scripts/ci/count-tests --failed $failed_builds "${reports[@]}"
}
