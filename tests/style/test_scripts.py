# SPDX-License-Identifier: Apache-2.0
"""The two commands understand their options, and ./run-tests counts right."""

import importlib.util
import os
import signal
import subprocess
import time
import xml.etree.ElementTree
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

from project_files import all_files, is_script, read, root


def run(*command: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run(command, cwd=root, capture_output=True, text=True, **options)


def wait_for(condition) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it has not come to that within 60 seconds"
        time.sleep(0.02)


def load_counter():
    loader = SourceFileLoader("count_tests", str(root / "scripts" / "ci" / "count-tests"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def test_scripts_parse_and_may_be_run():
    scripts = [name for name in all_files() if is_script(name)]
    assert {"quickstart", "run-tests", ".ci/run", "scripts/ci/fresh-machine"} <= set(scripts)
    assert [name for name in scripts if not os.access(root / name, os.X_OK)] == []
    for name in [*scripts, "scripts/setup/steps.sh"]:
        if "bash" in read(name).split("\n")[0] or name.endswith(".sh"):
            assert run("bash", "-n", name).stderr == "", name


def lives(process: int) -> bool:
    try:
        return (Path("/proc") / str(process) / "stat").read_text().split(") ")[1][0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_a_script_has_started_ends_with_it(number, tmp_path):
    script = tmp_path / "script"
    script.write_text(f"""set -euo pipefail
        cd {root}
        source scripts/setup/steps.sh
        guard "$@"
        export told={tmp_path}/started
        bash -c 'trap "" TERM HUP; sleep 301 & setsid sleep 302 & echo $$ $! >$told; wait'
        echo "not reached"
    """)
    started = subprocess.Popen(["bash", script, "--some", "argument"], stdout=subprocess.PIPE)
    told = tmp_path / "started"
    wait_for(lambda: told.exists() and told.read_text().endswith("\n"))
    processes = [int(each) for each in told.read_text().split()]
    started.send_signal(number)
    assert started.communicate(timeout=60)[0] == b""
    assert started.returncode == 128 + number
    wait_for(lambda: not any(map(lives, processes)))


def test_a_guarded_script_has_its_arguments_its_input_and_its_status(tmp_path):
    script = tmp_path / "script"
    script.write_text(f'cd {root}\nsource scripts/setup/steps.sh\nguard "$@"\n'
                      'read -r line\necho "$1, $2, $line"\nexit 7\n')
    done = run("bash", str(script), "one", "two words", input="said\n")
    assert (done.returncode, done.stdout, done.stderr) == (7, "one, two words, said\n", "")


@pytest.mark.parametrize("script", ["./quickstart", "./run-tests", "scripts/ci/fresh-machine"])
def test_options(script):
    assert run(script, "--help").stdout.startswith("Usage: ")
    refused = run(script, "--sideways")
    assert refused.returncode == 2 and refused.stdout == ""
    assert "'--sideways'" in refused.stderr and "--help" in refused.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="it needs root")
def test_a_fresh_machine_that_is_not_made_leaves_nothing(tmp_path):
    made = tmp_path / "debootstrap"
    made.write_text("#!/bin/sh\necho no mirror; exit 1\n")
    made.chmod(0o755)
    there = set(Path("/var/tmp").glob("selion-fresh-machine.*"))
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = run("scripts/ci/fresh-machine", env=env)
    assert done.returncode == 1 and done.stdout.endswith("no mirror\n")
    assert set(Path("/var/tmp").glob("selion-fresh-machine.*")) == there


def test_fast_takes_no_presets():
    refused = run("./run-tests", "--fast", "asan")
    assert refused.returncode == 2 and "'asan'" in refused.stderr


@pytest.mark.parametrize("line", [["all-collectives", "none"], ["network-load", "1", "none"]])
def test_the_nightly_tier_says_what_to_build(line):
    """The preset that has these programs; ./quickstart builds another one."""
    refused = run(f"scripts/ci/{line[0]}", *line[1:])
    assert refused.returncode == 2 and refused.stdout == ""
    assert "is missing; build it first: cmake --preset dev && cmake --build" in refused.stderr


@pytest.mark.parametrize("line", [["08"], ["0"], ["1x"], ["1", "none", "09"], ["9" * 30]])
def test_the_load_of_a_network_takes_whole_numbers(line):
    refused = run("scripts/ci/network-load", *line)
    assert refused.returncode == 2 and refused.stdout == ""
    assert refused.stderr.startswith("usage: ") and refused.stderr.count("\n") == 1


def test_without_root_the_line_to_run_is_printed(tmp_path):
    for name, body in {
        "dpkg-query": "printf 'installed g++\\ninstalled cmake\\n'",
        "id": "echo 1000",
        "sudo": "exit 1",
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    stopped = run("./quickstart", env=env, stdin=subprocess.DEVNULL)
    assert stopped.returncode == 1
    line = stopped.stderr.strip()
    assert line.startswith("apt-get update && apt-get ") and "ninja-build" in line
    assert "g++" not in line and "cmake" not in line.split()


@pytest.mark.skipif(not (root / ".git").exists(), reason="an unpacked archive")
def test_what_commands_write_here_is_no_part_of_the_project():
    names = ["this-host.toml", "this-network.toml", "selion-out/report.html", "build/x", ".venv/x"]
    assert run("git", "check-ignore", *names).stdout.splitlines() == names
    assert not {"this-host.toml", "this-network.toml"} & set(all_files())


# --- steps that the two commands share ------------------------------------------------------------


@pytest.fixture
def steps(tmp_path):
    """Runs lines behind scripts/setup/steps.sh and scripts/ci/stages.sh in a folder of its own,
    where commands are those of `fakes`: names and what a shell does in their place."""

    def run_lines(lines: str, fakes: dict[str, str], **environment: str):
        for name, body in fakes.items():
            path = tmp_path / name if "/" in name else tmp_path / "fakes" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"#!/bin/sh\n{body}\n")
            path.chmod(0o755)
        begin = f"""set -euo pipefail
            source {root}/scripts/setup/steps.sh
            source {root}/scripts/ci/stages.sh
            mkdir -p "$logs" "$results"
            """
        env = {name: value for name, value in os.environ.items()
               if name not in ("CI", "PYTEST_ADDOPTS")}
        env |= {"PATH": f"{tmp_path}/fakes:{os.environ['PATH']}", **environment}
        return subprocess.run(["bash", "-c", begin + lines], cwd=tmp_path, env=env,
                              capture_output=True, text=True)

    return run_lines


def configured(folder: Path, *, werror: str = "OFF") -> None:
    """A build in `folder` that was configured in 2001, before everything else."""
    build = folder / "build" / "dev"
    build.mkdir(parents=True)
    (build / "CMakeCache.txt").write_text(f"SELION_WERROR:BOOL={werror}\n")
    (build / "build.ninja").touch()
    os.utime(build / "build.ninja", (1e9, 1e9))


def test_a_package_that_was_not_built_is_built_again(steps, tmp_path):
    done = steps("ensure_python_package || echo failed", {".venv/bin/pip": "exit 1"})
    assert done.stdout.endswith("failed\n")
    assert not (tmp_path / ".venv" / "package-stamp").exists()


@pytest.mark.parametrize("changed", ["machines/a.toml", "examples/em3d/a.cpp", "src/a.cpp"])
def test_the_package_is_built_again_when_what_it_is_made_of_has_changed(steps, tmp_path, changed):
    for name in ("cmake", "include", "src", "machines", "studies", "examples/em3d", "python"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("pyproject.toml", "CMakeLists.txt", "python/a.py", changed):
        (tmp_path / name).touch()
    ask = "touch stamp; python_package_is_fresh stamp && echo fresh; "
    change = f"touch -d tomorrow python/a.py {{}}; {ask.partition(';')[2]}"
    assert steps(ask + change.format(""), {}).stdout == "fresh\nfresh\n"
    assert steps(ask + change.format(changed), {}).stdout == "fresh\n"


def test_what_cannot_be_configured_is_not_built(steps, tmp_path):
    configured(tmp_path)
    (tmp_path / "CMakePresets.json").touch()
    done = steps("ensure_build dev || echo failed", {"cmake": '[ "$1" = --build ]'})
    assert done.stdout.endswith("failed\n") and "Building" not in done.stdout


@pytest.mark.parametrize("newer", ["CMakePresets.json", ".venv/recipe", "build/logs/apt.log"])
def test_a_build_is_configured_again_when_more_has_been_installed(steps, tmp_path, newer):
    configured(tmp_path)
    build = ("ensure_build dev", {"cmake": ""})
    assert "Configuring" not in steps(*build).stdout
    (tmp_path / newer).parent.mkdir(exist_ok=True)
    (tmp_path / newer).touch()
    assert "Configuring" in steps(*build).stdout


def test_what_continuous_integration_leaves_out_comes_back(steps, tmp_path):
    """A folder keeps options; ./run-tests would go on without unit tests, and say nothing."""
    configured(tmp_path, werror="ON")
    build = ("ensure_build dev; cat build/logs/configure-dev.log", {"cmake": 'echo "$@"'})
    by_hand = "-U SELION_UNIT_TESTS -U CMAKE_CXX_FLAGS_RELWITHDEBINFO"
    assert by_hand in steps(*build).stdout
    (tmp_path / "CMakePresets.json").touch()
    assert "-DSELION_UNIT_TESTS=OFF" in steps(*build, CI="true").stdout


def is_running(pid: str) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("end", ["stop_building_ahead", "exit 0", "kill -INT $$", "kill -TERM $$"])
def test_what_is_built_ahead_ends_in_time(steps, tmp_path, end):
    """Whatever has been started, and however ./run-tests ends."""
    (tmp_path / "scripts").symlink_to(root / "scripts")
    pids = tmp_path / "pids"
    build = f"sh -c 'echo $$ >>{pids}; exec sleep 303' & echo $$ >>{pids}; wait"
    steps("build_ahead 'ensure_build asan'\n"
          f"until [[ -e {pids} && $(wc -l <{pids}) == 2 ]]; do sleep 0.01; done\n{end}",
          {"cmake": build})
    started = pids.read_text().split()
    wait_for(lambda: not any(map(is_running, started)))  # with the leavings of time they die slowly


# --- stages and how they are counted --------------------------------------------------------------

_passed = '<testsuite><testcase name="a" status="run"/></testsuite>'
_ctest = f"""case "$*" in
*--print-labels*) printf 'All Labels:\\n  one\\n  two\\n' ;;
*-N*) echo 'Total Tests: 9' ;;
*one*) while [ "$1" != --output-junit ]; do shift; done; echo '{_passed}' >"$2" ;;
*) exit 8 ;;
esac"""


def stages(steps, ctest: str) -> tuple[int, str]:
    python = f'exec python3 {root}/"$@"'
    done = steps("{ all_stages dev; } || true\nsum_up",
                 {"ctest": ctest, ".venv/bin/python": python})
    return done.returncode, done.stdout.splitlines()[-1]


def test_stages_are_summed_up(steps):
    assert stages(steps, _ctest.replace("*one*)", "*)")) == (0, "2 passed, 0 failed")


def test_labels_of_few_tests_are_one_stage_that_comes_first(steps, tmp_path):
    """With one more at a time than there are processors."""
    few = _ctest.replace("*one*)", "*)").replace(
        "*-N*) echo 'Total Tests: 9' ;;",
        "*-N*one*|*-N*three*) echo 'Total Tests: 8' ;;\n*-N*) echo 'Total Tests: 9' ;;")
    few = few.replace("\\n  two\\n", "\\n  two\\n  three\\n")
    assert stages(steps, f'echo "$@" >>{tmp_path}/asked\n{few}') == (0, "2 passed, 0 failed")
    ran = [line.split() for line in (tmp_path / "asked").read_text().splitlines()
           if "--output-junit" in line]
    assert [line[-1] for line in ran] == ["^(one|three)$", "^two$"]
    jobs = [int(line[line.index("-j") + 1]) for line in ran]
    assert jobs[0] == jobs[1] + 1


def test_continuous_integration_leaves_out_what_is_long(steps, tmp_path):
    labels = _ctest.replace("two\\n", "two\\n  long\\n").replace("*one*)", "*)")
    asked = tmp_path / "asked"
    noted = f'echo "$PYTEST_ADDOPTS: $@" >>{asked}\n{labels}'
    python = f'exec python3 {root}/"$@"'
    for environment, left_out in (({}, False), ({"CI": "true"}, True)):
        asked.unlink(missing_ok=True)
        done = steps("all_stages dev\nsum_up", {"ctest": noted, ".venv/bin/python": python},
                     **environment)
        assert done.stdout.splitlines()[-1] == "2 passed, 0 failed"
        ran = [line for line in asked.read_text().splitlines() if "--output-junit" in line]
        assert [line.split()[-1] for line in ran] == ["^one$", "^two$"]
        for line in ran:
            assert ("-LE ^long$" in line) == ("-m 'not long'" in line) == left_out


def test_a_stage_without_a_report_is_a_failure(steps):
    assert stages(steps, _ctest) == (1, "1 passed, 1 failed")


def test_tests_that_cannot_be_listed_are_a_failure(steps):
    assert stages(steps, "exit 1") == (1, "0 passed, 1 failed")


_report = """<testsuite>
<testcase name="a" status="run"><system-out>[  PASSED  ] 5 tests.
[  SKIPPED ] 2 tests, listed below:</system-out></testcase>
<testcase name="b" status="run"><system-out>...s
3 passed, 1 skipped in 0.35s</system-out></testcase>
<testcase name="c" status="run"><system-out>fine</system-out></testcase>
<testcase name="d" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
<system-out>[  SKIPPED ] 1 test</system-out></testcase>
{more}</testsuite>"""


def count(more: str, tmp_path) -> tuple[int, str]:
    path = tmp_path / "report.xml"
    path.write_text(_report.format(more=more))
    done = run("scripts/ci/count-tests", str(path))
    return done.returncode, done.stdout


def test_cases_are_counted(tmp_path):
    assert count("", tmp_path) == (0, "9 passed, 0 failed, 4 skipped\n")


def test_cases_are_counted_through_colours(tmp_path):
    """As ctest writes what a program on a terminal, under mpirun, has printed."""
    escape = "[NON-XML-CHAR-0x1B][{}"
    printed = f"{escape.format('0;32m')}[  PASSED  ] {escape.format('m')}7 tests."
    coloured = f'<testcase name="e" status="run"><system-out>{printed}</system-out></testcase>'
    assert count(coloured, tmp_path) == (0, "16 passed, 0 failed, 4 skipped\n")


def test_failures_are_counted(tmp_path):
    failed = '<testcase name="e" status="fail"><system-out>{}</system-out></testcase>'
    assert count(failed.format("crash"), tmp_path) == (1, "9 passed, 1 failed, 4 skipped\n")
    some = "[  PASSED  ] 1 test.\n[  FAILED  ] 2 tests, listed below:"
    assert count(failed.format(some), tmp_path) == (1, "10 passed, 2 failed, 4 skipped\n")
    errors = "1 failed, 1 passed, 2 errors in 1.00s"
    assert count(failed.format(errors), tmp_path) == (1, "10 passed, 3 failed, 4 skipped\n")


def test_what_could_not_be_started_is_a_failure(tmp_path):
    missing = ('<testcase name="e" status="notrun"><skipped message="Unable to find executable"/>'
               "<system-out>Unable to find executable: e</system-out></testcase>")
    assert count(missing, tmp_path) == (1, "9 passed, 1 failed, 4 skipped\n")


def test_a_missing_or_empty_report_is_a_failure(tmp_path):
    assert run("scripts/ci/count-tests", str(tmp_path / "none.xml")).returncode == 1
    (tmp_path / "empty.xml").write_text("<testsuite></testsuite>")
    assert run("scripts/ci/count-tests", str(tmp_path / "empty.xml")).returncode == 1


def test_a_failed_test_is_named():
    test = xml.etree.ElementTree.fromstring('<testcase name="x" status="fail"/>')
    assert load_counter().outcome(test)["failed"] == 1
