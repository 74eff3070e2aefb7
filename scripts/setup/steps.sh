# SPDX-License-Identifier: Apache-2.0
# Steps that ./quickstart and ./run-tests share. Each does nothing if its work is done already.
# Sourced in the project's folder, under `set -euo pipefail`; but within a condition bash goes on
# behind what fails, so each step ends itself there.

export LC_ALL=C.UTF-8 PIP_DISABLE_PIP_VERSION_CHECK=1
logs=build/logs
venv=.venv
jobs=$(nproc)

say() { printf '%s\n' "$*"; }

# Processes below one: children, theirs, and so on.
descendants() {
    # Some end while they are looked at.
    { cat /proc/[0-9]*/stat 2>/dev/null || true; } | sed 's/ (.*) / /' | awk -v top="$1" '
        { parent[$1] = $3 }
        END {
            below[top]
            do {
                more = 0
                for (each in parent) if (!(each in below) && parent[each] in below) {
                    below[each]; more = 1; print each
                }
            } while (more)
        }'
}

# end_guarded NUMBER: ends all that the script has started, within seconds, and the script as a
# shell that has got the signal of that number.
end_guarded() {
    trap '' HUP INT TERM
    local all left pid
    all=$(descendants $$)
    # shellcheck disable=SC2086
    kill -TERM $all 2>/dev/null || true
    for _ in {1..30}; do
        left=$(for pid in $all; do [[ -d /proc/$pid ]] && echo "$pid"; done) || true
        [[ -z $left ]] && break
        sleep 0.1
    done
    # shellcheck disable=SC2046
    kill -KILL $left $(descendants $$) 2>/dev/null || true
    exit $((128 + $1))
}

# guard ARGUMENT...: in the script's own folder; runs it with its arguments in a shell of its own,
# while this one waits for signals: a shell looks at them only between its commands, and these would
# go on without it.
guard() {
    if [[ ${guarded_by:-} == "$PPID" ]]; then
        unset guarded_by
        return 0
    fi
    local status=0 script=$0
    [[ $script == /* ]] || script=$PWD/${script##*/}
    trap 'end_guarded 1' HUP
    trap 'end_guarded 2' INT
    trap 'end_guarded 15' TERM
    # What is started in the background would not hear of Ctrl-C, nor read from the terminal.
    guarded_by=$$ env --default-signal=INT,QUIT bash "$script" "$@" <&0 &
    wait $! || status=$?
    exit $status
}
fail() {
    printf '%s\n' "$*" >&2
    exit 1
}

# quietly NAME TEXT COMMAND...: one line that says what is done and how long it took. The output
# goes to a log; its end is shown if the command fails.
quietly() {
    local log="$logs/$1.log" text=$2 start=$SECONDS
    shift 2
    mkdir -p "$logs"
    printf '%s ... ' "$text"
    if "$@" >"$log" 2>&1 </dev/null; then
        printf '%d s\n' $((SECONDS - start))
        return 0
    fi
    printf 'failed. The end of %s:\n\n' "$log"
    tail -n 40 "$log"
    printf '\nThe whole log: %s\n' "$PWD/$log"
    return 1
}

# Lines of a list without comments.
entries() { sed -e 's/[[:space:]]*#.*//' -e '/^$/d' "$1"; }

# missing_packages LIST...
missing_packages() {
    local wanted
    wanted=$(for list in "$@"; do entries "$list"; done)
    # shellcheck disable=SC2086
    comm -23 <(sort <<<"$wanted") <(
        dpkg-query -W -f '${db:Status-Status} ${Package}\n' $wanted 2>/dev/null |
            sed -n 's/^installed //p' | sort
    )
}

# ensure_packages [LIST]: those for building, and those of a further list.
ensure_packages() {
    command -v dpkg-query >/dev/null || fail "This script installs packages on Debian and its" \
        "relatives; elsewhere install what scripts/setup/apt-packages.txt names, then use CMake."
    local packages as_root=() apt
    packages=$(missing_packages scripts/setup/apt-packages.txt "$@" | tr '\n' ' ')
    [[ -z $packages ]] && return 0
    # On a fresh machine something else may be installing: wait for it.
    apt="apt-get update && apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends"
    apt+=" ${packages% }"
    if [[ $(id -u) != 0 ]]; then
        # Asks for a password only where somebody can type it.
        if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [[ -t 0 && -t 1 ]]; }; then
            sudo -v
            as_root=(sudo)
        else
            say "Some packages are missing and installing them needs root. Run this as root, then" \
                "run this script again:"
            fail "$apt"
        fi
    fi
    quietly apt "Installing Debian packages: ${packages% }" \
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive bash -c "$apt"
}

# What the environment was made of: the place of this folder (scripts in it hold the path) and pins.
venv_recipe() { cat <(pwd) scripts/setup/python-requirements*.txt; }

make_venv() {
    rm -rf "$venv"
    local python=/usr/bin/python3 # Debian's own, whatever else the PATH offers
    [[ -x $python ]] || python=python3
    "$python" -m venv "$venv" &&
        "$venv/bin/pip" install -r scripts/setup/python-requirements.txt &&
        "$venv/bin/pip" install --no-deps -r scripts/setup/python-requirements-no-deps.txt &&
        venv_recipe >"$venv/recipe"
}

ensure_venv() {
    if ! cmp -s <(venv_recipe) "$venv/recipe"; then
        quietly venv "Making $venv with the Python packages" make_venv
    fi
}

# must_configure FOLDER: whether CMake has to look again. Ninja sees to CMake's own files, but not
# to the presets, nor to what has been installed since: parts are off whose packages were missing.
must_configure() {
    local file
    [[ -f $1/build.ninja ]] || return 0
    for file in CMakePresets.json "$venv/recipe" "$logs/apt.log"; do
        [[ $file -nt $1/build.ninja ]] && return 0
    done
    return 1
}

# ensure_build PRESET TARGET...: configures if needed, then builds.
ensure_build() {
    local preset=$1 dir=build/$1 werror=OFF options=()
    shift
    # The folder keeps what an earlier run has asked for.
    [[ $preset == dev ]] && options=(-U SELION_UNIT_TESTS -U CMAKE_CXX_FLAGS_RELWITHDEBINFO)
    if [[ ${CI:-} == true ]]; then
        werror=ON
        # Nobody is there to debug, and what debuggers are told is copied into each of eighty
        # programs. Unit tests have all checks under the sanitizers as well.
        [[ $preset == dev ]] && options=("-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2 -g0 -DNDEBUG"
            -DSELION_UNIT_TESTS=OFF)
    fi
    if must_configure "$dir" || ! grep -q "^SELION_WERROR:.*=$werror$" "$dir/CMakeCache.txt"; then
        quietly "configure-$preset" "Configuring $dir" \
            cmake --preset "$preset" -DSELION_WERROR=$werror "${options[@]}" || return
    fi
    # Compilers of -O3 take up to 1 GiB each.
    quietly "build-$preset" "Building $dir" cmake --build "$dir" -j "$jobs" --target "${@:-all}"
}

# What the installed package is made of; newer than the stamp means: install again. Its Python files
# are used where they lie.
python_package_is_fresh() {
    [[ -f $1 ]] && [[ -z $(find pyproject.toml CMakeLists.txt cmake include src machines studies \
        examples/em3d python -type f ! -name '*.py' ! -path '*/__pycache__/*' -newer "$1" \
        -print -quit) ]]
}

# The package is built in build/release, where the library has been compiled already.
install_python_package() {
    local with=--config-settings
    "$venv/bin/pip" install --no-build-isolation --no-deps $with=build-dir=build/release \
        $with=cmake.define.SELION_EXAMPLES=AUTO $with=cmake.define.SELION_BENCH=AUTO --editable .
}

ensure_python_package() {
    local stamp=$venv/package-stamp
    python_package_is_fresh "$stamp" && return 0
    touch "$stamp.begun" # what is changed from now on is newer
    quietly python-package "Building the Python package into $venv" install_python_package || return
    mv "$stamp.begun" "$stamp"
}
