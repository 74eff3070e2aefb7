# SPDX-License-Identifier: Apache-2.0
"""The command line as a whole: what is listed, what is read, and what is said of mistakes."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys

import pytest

from conftest import clean_environment, command, needs_module, root, seconds
from selion import cache_advice, known_machines, native
from selion.cli import catalogue, schedule
from selion.mistake import Failure, nearest_name
from selion.schedules import Request

_where = {"SELION_STUDIES": str(root / "studies")}


@pytest.mark.parametrize("name", catalogue.entries)
def test_the_list_says_what_the_command_says(name):
    module = importlib.import_module(f"selion.cli.{catalogue.entries[name].module}")
    paragraph = module.command.__doc__.strip().split("\n\n")[0]
    assert " ".join(paragraph.split()) == catalogue.entries[name].summary


def test_help_lists_all_commands(selion):
    done = selion("--help")
    assert done.returncode == 0
    for name in catalogue.entries:
        assert re.search(rf"^│ {name} ", done.stdout, re.M), name
    assert "bool" not in done.stdout


@pytest.mark.parametrize("name", catalogue.entries)
def test_help_of_each(selion, name):
    done = selion(name, "-h")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Usage: selion {name} " in done.stdout
    assert "bool" not in done.stdout  # which would be no value of any option


def test_help_reads_no_command_and_nothing_heavy():
    heavy = ["numpy", "selion._core", "selion.study.session", "selion.cli.study"]
    seen = f"import sys; print([name for name in {heavy!r} if name in sys.modules])"
    asked = f"import selion.cli\ntry: selion.cli.app(['--help'])\nexcept SystemExit: pass\n{seen}"
    done = subprocess.run([sys.executable, "-c", asked], env=clean_environment(), text=True,
                          capture_output=True, timeout=60)  # fmt: skip
    assert done.stdout.splitlines()[-1] == "[]"


@needs_module
def test_the_version_and_what_was_built_how(selion):
    done = selion("--version")
    assert done.returncode == 0
    first, *others = done.stdout.splitlines()
    assert re.fullmatch(r"selion \d+\.\d+\.\d+", first)
    facts = {line[:12].strip(): line[13:] for line in others}
    assert list(facts) == ["commit", "library", "compiler", "build type", "check level", "Boost",
                           "hwloc", "machines", "Python", "NumPy"]  # fmt: skip
    assert re.match(r"\d+\.\d+\.\d+ in /.*/_core\..*so$", facts["library"])
    assert re.match(r"(g\+\+|clang) \d", facts["compiler"])
    assert re.match(r"[012] \(", facts["check level"])
    assert re.match(r"1\.\d+", facts["Boost"])
    assert re.match(r"\d+\.\d+", facts["hwloc"])
    assert {"threads", "processes", "sim"} <= set(re.findall(r"\w+", facts["machines"]))
    assert sys.executable in facts["Python"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("stdy",), "selion: 'stdy' is not a command (did you mean 'study'?); legal: run, explore"),
        (("xyzzy",), "selion: 'xyzzy' is not a command; legal: run, explore"),
        (("--versoin",), "selion: '--versoin' is not an option (did you mean '--version'?); "),
        (
            ("study", "--qick"),
            "selion study: '--qick' is not an option (did you mean '--quick'?); legal: "
            "--experiment, --set",
        ),
        (
            ("study", "one-side"),
            "selion study: 'one-side' is not a study (did you mean 'one-sided'?); legal: host",
        ),
        (
            ("study", "one-sided", "--experiment", "latncy"),
            "'latncy' is not an experiment of the study 'one-sided' (did you mean 'latency'?); "
            "legal: latency, bandwidth",
        ),
        (
            ("study", "one-sided", "--set", "byte=8"),
            "'byte' is not an axis of the experiments (did you mean 'bytes'?); legal: op, ",
        ),
        (
            ("study", "one-sided", "--set", "op=putt"),
            "'putt' is not a legal value of 'op' (did you mean 'put'?); legal: put, get.",
        ),
        (
            ("bench", "operations", "--only", ""),
            "selion bench: --only is empty; name something or leave it out.\n",
        ),
        (
            ("bench", "simulatr"),
            "'simulatr' is not a benchmark (did you mean 'simulator'?); legal: operations, ",
        ),
        (
            ("run", "-np", "4", "true"),
            "selion run: 'p' is no value of '-n' / '--ranks'; legal: a whole number, as in '-n 4'.",
        ),
        (
            ("run", "-n", "1e9", "true"),
            "selion run: '1e9' is no value of '-n' / '--ranks'; legal: a whole number.\n",
        ),
        (
            ("run", "--time-limit", "x", "true"),
            "selion run: 'x' is no value of '--time-limit'; legal: a number.\n",
        ),
        (
            ("study", "--repetitions", "0"),
            "selion study: '0' is no value of '--repetitions'; legal: 1 to 1000000.\n",
        ),
        (
            ("run", "-n", "4", "--ranks=5", "true"),
            "selion run: '-n' / '--ranks' is given 2 times; give it once.\n",
        ),
    ],
)
def test_mistakes_name_the_nearest_and_list_the_legal(selion, arguments, sentence):
    done = selion(*arguments, **_where)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr


@needs_module
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("machines", "--explain", "thread"),
            "'thread' is not a machine (did you mean 'threads'?); "
            "legal: fabric, processes, sim, threads",
        ),
        (("machines", "--explain", "sim:niagra2"), "did you mean niagara2?"),
        *((("machines", "--explain", spec), f"'{spec}' is not a machine; legal: threads, threads:N,"
           " threads:N@C, of 1 to 1048575 ranks.\n")
          for spec in ("threads:9999999", "threads:1048576", "threads:0", "threads:", "threads:4x2",
                       "threads:2@9999999", "threads:x,direct=off", "threads:2@2@2")),
        (("machines", "--explain", "processes:2000x2000"), "is not a machine; legal: processes, "),
        (("study", "host", "-m", "./lab.toml,ranks=2"), "'./lab.toml,ranks=2' is not a machine "
         "(did you mean 'sim:./lab.toml,ranks=2'?); legal: fabric, "),
        (("study", "host", "-m", "lab.toml"), "(did you mean 'sim:lab.toml'?); legal: fabric, "),
        (("machines", "--explain", "crosbar"), "is not a machine (did you mean 'sim:crossbar'?)"),
        (("schedule", "all_reduc"), "did you mean 'all_reduce'?"),
        (("schedule", "all_reduce", "--algorithm", "rng"), "did you mean 'ring'?"),
        (("explain", "all_reduc"), "(did you mean 'all_reduce'?); legal: "),
        (("tune", "-c", "brodcast"), "(did you mean 'broadcast'?); legal: "),
    ],
)
def test_the_same_of_what_the_library_knows(selion, arguments, sentence):
    done = selion(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert re.search("legal|there (are|is)|it has", done.stderr)


@needs_module
def test_a_name_that_is_no_text_is_told_as_well_as_it_can_be(selion):
    done = selion("machines", "--explain", "./z\udcff.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("./z?.toml: cannot be opened: No such file or directory\n")


@pytest.mark.parametrize("call", [lambda: known_machines.explain("sim:crossbar"),
                                  lambda: cache_advice.replay("."),
                                  lambda: schedule._play(Request("barrier", "ring", 2))])
def test_without_the_compiled_module_commands_fail(monkeypatch, call):
    """It is no mistake of who asks, as a sentence of the module's own would be."""
    def load() -> None:
        raise Failure("it is not there.")

    monkeypatch.setattr(native, "load", load)
    with pytest.raises(Failure, match=r"^it is not there\.$"):
        call()


@needs_module
@pytest.mark.parametrize(
    ("kind", "specs"),
    [
        ("threads", ("threads:64", "threads:32768", "threads:4@2", "threads:2,direct=off")),
        ("processes", ("processes:64", "processes:3x2")),
        ("fabric", ("fabric:8", "fabric:x2", "fabric:4x2")),
    ],
)
def test_a_spec_is_explained_as_its_kind(selion, kind, specs):
    told = selion("machines", "--explain", kind)
    assert told.returncode == 0 and told.stdout.startswith(f"{kind}: ")
    for spec in specs:
        done = selion("machines", "--explain", spec)
        assert (done.returncode, done.stdout, done.stderr) == (0, told.stdout, "")
    done = selion("machines", "--json", "--explain", specs[0])
    assert json.loads(done.stdout)["name"] == kind


@needs_module
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("line", [("machines",), ("machines", "--json"), ("schedule", "barrier"),
                                  ("doctor",)])
def test_output_that_cannot_be_written_is_one_sentence(line, unbuffered):
    with open("/dev/full", "w") as full:
        done = subprocess.run([*command, *line], stdout=full, stderr=subprocess.PIPE, text=True,
                              env=clean_environment(PYTHONUNBUFFERED=unbuffered), timeout=seconds)
    assert done.returncode == 1
    assert done.stderr == (
        f"selion {line[0]}: The output cannot be written: No space left on device.\n")


@needs_module
@pytest.mark.parametrize("line", [("machines",), ("meters", "meters.jsonl"),
                                  ("schedule", "broadcast", "--algorithm", "k_nomial")])
def test_where_standard_output_is_closed_nothing_is_shown(tmp_path, line):
    (tmp_path / "meters.jsonl").write_text(
        '{"rank": 0, "name": "put", "unit": "ns", "count": 1, "total": 5, "bytes": 8, "site": ""}\n'
        '{"link": "(0,0) east", "messages": 1, "bytes": 8, "busy_ps": 1, "wait_ps": 1, '
        '"run_ps": 9}\n')
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *command, *line], cwd=tmp_path,
                          env=clean_environment(), capture_output=True, text=True, timeout=seconds)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@needs_module
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("line", [("--version",), ("--help",), ("run", "--help"), ()])
def test_help_that_cannot_be_written_is_one_sentence(line, unbuffered):
    with open("/dev/full", "w") as full:
        done = subprocess.run([*command, *line], stdout=full, stderr=subprocess.PIPE, text=True,
                              env=clean_environment(PYTHONUNBUFFERED=unbuffered), timeout=seconds)
    assert (done.returncode, done.stderr) == (
        1, "selion: The output cannot be written: No space left on device.\n")


@needs_module
def test_where_no_sentence_can_be_written_the_status_tells():
    with open("/dev/full", "w") as full:
        done = subprocess.run([*command, "machines"], stdout=full, stderr=full,
                              env=clean_environment(), timeout=seconds)
    assert done.returncode == 1


@needs_module
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_closed_pipe_is_no_mistake(unbuffered):
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as pipe:
        done = subprocess.run([*command, "machines"], stdout=pipe, stderr=subprocess.PIPE,
                              env=clean_environment(PYTHONUNBUFFERED=unbuffered), timeout=seconds)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.parametrize(
    ("name", "option"),
    [("bench", "--quik"), ("run", "-m"), ("machines", "--explain"), ("report", "--out")],
)
def test_where_help_is(selion, name, option):
    done = selion(name, option)
    assert done.stderr.startswith(f"selion {name}: ")
    assert done.stderr.splitlines()[-1] == f"Try 'selion {name} --help'."


def test_options_that_are_lists_or_flags_may_be_repeated(selion):
    done = selion("run", "-v", "-v", "--show", "env")
    assert (done.returncode, done.stderr) == (0, "")
    done = selion("study", "one-sided", "--set", "op=put", "--set", "op=get", **_where)
    assert "--set names 'op' twice" in done.stderr


@pytest.mark.parametrize(
    ("name", "near"),
    [("puts", "put"), ("gget", "get"), ("barier", "barrier"), ("xy", ""), ("", "")],
)
def test_the_nearest_name(name, near):
    assert nearest_name(name, ["put", "get", "barrier"]) == near
