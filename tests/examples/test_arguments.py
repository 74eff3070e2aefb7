# SPDX-License-Identifier: Apache-2.0
"""A bad argument is one sentence on standard error and status 2, on every machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from started import machines, output, run

short = {"heat": ["--steps", 3], "key_value": ["--operations", 100], "ring": ["--rounds", 10],
         "work_stealing": ["--width", 20]}
programs = ("ring", "heat", "conjugate_gradients", "histogram", "fft_transpose", "work_stealing",
            "key_value")

mistakes = [
    ("ring", ["--rounds", "0"], "--rounds must be a whole number from 1 to 1000000000, not '0'"),
    ("ring", ["--rounds=-1"], "--rounds must be a whole number from 1 to 1000000000, not '-1'"),
    ("ring", ["--rounds"], "--rounds needs a value"),
    ("ring", ["--rounds", "5", "--rounds=7"], "--rounds is given twice; give it once"),
    ("heat", ["--size", "2"], "--size must be a whole number from 3 to 4096, not '2'"),
    ("heat", ["--steps", "1e3"], "--steps must be a whole number from 1 to 1000000, not '1e3'"),
    ("heat", ["--picture="], "--picture must be a name, not ''"),
    ("conjugate_gradients", ["--digits", "15"],
     "--digits must be a whole number from 1 to 14, not '15'"),
    ("conjugate_gradients", ["--matrix", "a.mtx", "--poisson", "5"],
     "choose one matrix: --matrix FILE or --poisson SIDE"),
    ("conjugate_gradients", ["--matrix", "absent.mtx"], "absent.mtx: no such file"),
    ("conjugate_gradients", ["--matrix", "."], ".: not a regular file"),
    ("histogram", ["--bins", ""], "--bins must be a whole number from 1 to 1000000, not ''"),
    ("fft_transpose", ["--size", "48"], "--size must be a power of two from 2 to 4096, not '48'"),
    ("work_stealing", ["--seed", "9999999999"],
     "--seed must be a whole number from 0 to 4294967295, not '9999999999'"),
    ("key_value", ["--depth", "0x10"],
     "--depth must be a whole number from 1 to 10000, not '0x10'"),
]


@pytest.mark.parametrize(("program", "arguments", "sentence"), mistakes)
@pytest.mark.parametrize("machine", ["threads:2", "processes:2"])
def test_a_mistake_is_one_sentence(program, arguments, sentence, machine):
    done = run(program, *arguments, machine=machine)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{program}: {sentence}\n")


@pytest.mark.parametrize("program", programs)
def test_unknown_options_and_help(program):
    done = run(program, "--sideways")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{program}: there is no option '--sideways'; --help lists them\n"
    assert output(program, "--help").startswith(f"{program}: ")


@pytest.mark.parametrize("machine", machines)
def test_a_picture_that_cannot_be_written_is_told(machine):
    done = run("heat", "--size", 5, "--steps", 1, "--picture", "/dev/null/a.ppm",
               machine=machine)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "heat: /dev/null/a.ppm cannot be written\n"


def test_a_picture_that_cannot_be_written_is_told_before_the_work():
    done = run("heat", "--size", 4096, "--steps", 1_000_000, "--picture", "/dev/null/a.ppm")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "heat: /dev/null/a.ppm cannot be written\n"


@pytest.mark.parametrize("machine", ["threads:2", "processes:2", "sim:crossbar,ranks=2"])
@pytest.mark.parametrize("program", [*programs, "em3d"])
def test_output_that_cannot_be_written_is_told(program, machine):
    arguments = ["--random", "--nodes", "20"] if program == "em3d" else short.get(program, [])
    for line in (arguments, ["--help"]):
        with Path("/dev/full").open("w") as full:
            done = run(program, *line, machine=machine, stdout=full)
        assert (done.returncode, done.stderr) == (
            2, f"{program}: standard output cannot be written\n")


bad_matrices = {
    "2 2 1\n3 1 1\n": ":3: row 3 is not within 1 to 2",
    "2 2 3\n1 1 1\n2 2 1\n2 1 1\n":
        ": element (2, 1) is 1 and element (1, 2) is 0: the matrix is not symmetric",
    "1 1 1\n1 1 -1\n":
        ": element (1, 1) of the diagonal is -1: the matrix is not positive definite",
}


@pytest.mark.parametrize(("text", "sentence"), bad_matrices.items())
def test_a_matrix_that_cannot_be_used_is_told(text, sentence, tmp_path):
    (tmp_path / "a.mtx").write_text("%%MatrixMarket matrix coordinate real general\n" + text)
    done = run("conjugate_gradients", "--matrix", "a.mtx", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"conjugate_gradients: a.mtx{sentence}\n"


def test_a_matrix_that_is_not_positive_definite_is_found_on_the_way(tmp_path):
    text = "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 1\n2 1 -3\n2 2 1\n"
    (tmp_path / "a.mtx").write_text(text)
    for machine in machines:
        done = run("conjugate_gradients", "--matrix", "a.mtx", machine=machine, folder=tmp_path)
        assert done.returncode == 1
        assert "not positive definite, as iteration 1 shows" in done.stderr


def test_too_few_iterations_are_told():
    done = run("conjugate_gradients", "--iterations", 3)
    assert done.returncode == 1
    assert done.stderr.startswith("conjugate_gradients: the residual is still ")
    assert done.stderr.endswith(" after 3 iterations\n")


def test_a_residual_is_told_in_parts_of_the_right_side():
    # 119 iterations reach 10^-8: one less ends just above that, not at 64 times as much.
    done = run("conjugate_gradients", "--iterations", 118)
    told = float(done.stderr.split("still ")[1].split()[0])
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert 1e-8 < told < 2e-8
