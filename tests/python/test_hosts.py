# SPDX-License-Identifier: Apache-2.0
"""`selion machines`, scripts on hosts, and what the package does without its compiled module."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import textwrap

import pytest

from conftest import (
    clean_environment,
    needs_module,
    package_parent,
    root,
    seconds,
)

# Makes the compiled module as good as absent.
_without_module = "import sys; sys.modules['selion._core'] = None; "


def python(text: str, **changes: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", text],
        env=clean_environment(**changes),
        capture_output=True,
        text=True,
        timeout=seconds,
    )


def test_version(selion):
    done = selion("--version")
    project = next(
        line for line in (root / "CMakeLists.txt").read_text().splitlines() if "project(" in line
    )
    assert done.stdout.splitlines()[0] == f"selion {project.split()[2]}"


def test_an_unknown_command(selion):
    done = selion("runn")
    assert done.returncode == 2
    assert "runn" in done.stderr


# --- without the compiled module ------------------------------------------------------------------


def test_import_does_not_need_the_module():
    done = python(_without_module + "import selion; print(selion.__version__)")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("use", ["selion.run(print)", "selion.World", "selion.machine_kinds()"])
def test_use_names_the_cure(use):
    done = python(_without_module + f"import selion; {use}")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert "selion.mistake.Failure: The compiled module selion._core cannot be loaded" in last
    assert "pip install ." in last


def test_import_starts_nothing():
    done = python(
        "import selion, sys; print('numpy' in sys.modules, 'selion._core' in sys.modules)"
    )
    assert done.stdout == "False False\n"


def test_machines_without_the_module():
    text = (
        _without_module + "sys.argv = ['selion', 'machines']; import selion.cli; selion.cli.main()"
    )
    done = python(text)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("selion machines: The compiled module")


def test_doctor_without_the_module():
    text = _without_module + "sys.argv = ['selion', 'doctor']; import selion.cli; selion.cli.main()"
    done = python(text)
    assert done.returncode == 1
    assert "fail  compiled module" in done.stdout
    assert "cure: 'pip install .' in the source tree" in done.stdout


# --- with it --------------------------------------------------------------------------------------


@needs_module
def test_machines(selion):
    done = selion("machines")
    assert done.returncode == 0, done.stderr
    for expected in ("threads:N@C", "processes:PxT"):
        assert expected in done.stdout


@needs_module
def test_machines_as_json(selion):
    kinds = json.loads(selion("machines", "--json").stdout)
    names = {kind["name"]: kind for kind in kinds}
    assert {"threads", "processes"} <= names.keys()
    for kind in kinds:
        assert kind["available"] == (kind["reason"] == "")
        assert kind["forms"] and kind["summary"] and kind["capabilities"]


@needs_module
def test_one_machine(selion):
    done = selion("machines", "--explain", "processes")
    assert done.returncode == 0
    assert done.stdout.startswith("processes: ")
    assert "available: yes" in done.stdout
    one = json.loads(selion("machines", "--explain", "processes", "--json").stdout)
    assert one["name"] == "processes"


@needs_module
def test_simulated_machines_are_listed(selion):
    done = selion("machines")
    assert done.returncode == 0, done.stderr
    for expected in ("sim:epiphany-iii", "sim:niagara2", "4096"):
        assert expected in done.stdout
    kinds = {kind["name"]: kind for kind in json.loads(selion("machines", "--json").stdout)}
    simulated = {machine["name"]: machine for machine in kinds["sim"]["machines"]}
    assert simulated["sim:sp-lapi"]["ranks"] == 2
    assert "progress=polling|interrupt" in simulated["sim:sp-lapi"]["options"]


@needs_module
@pytest.mark.parametrize("name", ["sim:sp-lapi", "sp-lapi", "sim:sp-lapi,progress=interrupt"])
def test_a_simulated_machine_in_words(selion, name):
    done = selion("machines", "--explain", name)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("sp-lapi: 2 nodes of an IBM SP")
    assert "a put of 8 bytes from rank 0 to rank 1: 39.6 us = " in done.stdout
    assert "reception.interrupt_us" in done.stdout
    assert "fitted on all cells of both tables" in done.stdout
    assert ("it is interrupted" in done.stdout) == name.endswith("interrupt")
    one = json.loads(selion("machines", "--explain", name, "--json").stdout)
    assert one == {"name": name, "text": done.stdout}


@needs_module
def test_a_machine_file_of_ones_own(selion, tmp_path):
    text = '[machine]\nname = "two"\nranks = { value = 2, source = "assumed because I say so" }\n'
    path = tmp_path / "two.toml"
    path.write_text(text + '[network]\nkind = "crossbar"\n')
    assert selion("machines", "--explain", "two.toml").stdout.startswith("two: ")
    path.write_text(text + '[network]\nkind = "crossbar"\nlatency_us = 3\n')
    done = selion("machines", "--explain", "./two.toml")
    assert done.returncode == 2
    assert done.stderr.startswith(
        "selion machines: ./two.toml, line 6: latency_us has no source; write latency_us = {"
    )


@needs_module
@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("sim:niagara", "there is no such machine (did you mean niagara2?)"),
        ("sp-lapi,progres=polling", "no such option (did you mean progress?)"),
        ("sim:sp-lapi,progress=prayer", "legal values are polling, interrupt"),
        ("sim:", "nothing follows the colon"),
        ("./absent.toml", "cannot be opened"),
    ],
)
def test_mistakes_about_simulated_machines(selion, name, sentence):
    done = selion("machines", "--explain", name)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


@needs_module
def test_a_machine_that_is_not_there(selion):
    done = selion("machines", "--explain", "thread")
    assert done.returncode == 2
    assert done.stderr.startswith(
        "selion machines: 'thread' is not a machine (did you mean 'threads'?); legal: "
    )


@needs_module
@needs_module
@pytest.mark.parametrize("is_same", [True, False])
def test_ranks_of_different_scripts_are_told_apart(tmp_path, for_mpirun, is_same):
    if not shutil.which("mpirun"):
        pytest.skip("there is no mpirun")
    scripts = [tmp_path / name for name in ("one.py", "other.py")]
    for number, script in enumerate(scripts):
        script.write_text(f"import selion\n\nstep = {1 if is_same else number}\n"
                          "selion.run(lambda world: world.barrier())\n")
    first, second = ([sys.executable, str(script)] for script in scripts)
    done = subprocess.run(["mpirun", "-n", "1", *first, ":", "-n", "1", *second],
                          env=clean_environment(SELION_MACHINE="fabric", **for_mpirun),
                          capture_output=True, text=True, timeout=seconds)
    if "leaves it out" in done.stderr:
        pytest.skip("this build has no machine fabric")
    assert (done.returncode == 0) == is_same, done.stderr
    assert ("runs another script, or another version of it" in done.stderr) != is_same, done.stderr


@pytest.mark.parametrize("machine", [{"SELION_MACHINE": "fabric"}, {}])
def test_ranks_with_different_modules_are_told_apart(tmp_path, for_mpirun, machine):
    if not shutil.which("mpirun"):
        pytest.skip("there is no mpirun")
    lines = []
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "colours.py").write_text(f"red = {number}\n")
        (folder / "program.py").write_text("import colours\nimport selion\n\n"
                                           "selion.run(lambda world: world.barrier())\n")
        lines.append(["-n", "1", sys.executable, str(folder / "program.py")])
    done = subprocess.run(["mpirun", *lines[0], ":", *lines[1]],
                          env=clean_environment(**machine, **for_mpirun),
                          capture_output=True, text=True, timeout=seconds)
    if "leaves it out" in done.stderr:
        pytest.skip("this build has no machine fabric")
    assert done.returncode != 0
    assert "has another text of the module colours" in done.stderr, done.stderr


@needs_module
def test_processes_of_a_network_s_job_go_on_after_it(tmp_path, for_mpirun):
    if not shutil.which("mpirun"):
        pytest.skip("there is no mpirun")
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent("""
        import atexit, os, tempfile
        from concurrent.futures import ThreadPoolExecutor
        import selion

        folder = tempfile.TemporaryDirectory()
        atexit.register(print, "the end")
        selion.run(lambda world: world.barrier())
        with ThreadPoolExecutor(1) as pool:
            print(pool.submit(lambda: 42).result(), os.path.isdir(folder.name))
        selion.run(lambda world: print("again", world.all_reduce(1)))
        """))
    done = subprocess.run(["mpirun", "-n", "2", sys.executable, str(script)],
                          env=clean_environment(SELION_MACHINE="fabric", **for_mpirun),
                          capture_output=True, text=True, timeout=seconds)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split("\n")) == ["", *["42 True"] * 2, *["again 2"] * 2,
                                               *["the end"] * 2]
    assert done.stdout.rstrip().endswith("the end")


def test_the_package_is_typed():
    assert (package_parent / "selion" / "py.typed").is_file()
    assert (package_parent / "selion" / "_core.pyi").is_file()
