# SPDX-License-Identifier: Apache-2.0
"""`selion study` goes on with rows of another commit, host or setting only where that is asked for,
and then says which rows are whose."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conftest import needs_module, root
from selion import native, places
from selion.study import conditions, header
from selion.study.crew import goes_alone

_speed = ("--experiment", "speed")
_one = (*_speed, "--set", "op=put", "--set", "bytes=8")


def pretend(fake, **changes: Any) -> bytes:
    """Has the file's first header say something else; None takes it out. What the file is then."""
    first, rest = fake.results.read_text().split("\n", 1)
    old = json.loads(first)
    said = {**old, **changes, "knobs": {**old["knobs"], **changes.get("knobs", {})}}
    said = {key: value for key, value in said.items() if value is not None or key not in changes}
    fake.results.write_text(json.dumps(said) + "\n" + rest)
    return fake.results.read_bytes()


def begun(fake, *asked: str, machine: str = "threads:2", **changes: Any) -> bytes:
    """A file with the rows of one point that were measured under other conditions."""
    done = fake.run(*(asked or _one), "--machine", machine)
    assert done.returncode == 0, done.stderr
    fake.runs()
    return pretend(fake, **changes)


def words(text: str) -> str:
    return " ".join(text.split())


# --- what matters ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"selion": "0.0.1"}, "the version was 0.0.1, is "),
        ({"commit": "abc"}, "the commit was abc, is "),
        ({"commit": None}, "the commit was not noted, is "),
        ({"changes": "0123456789ab"}, "the changes to the commit were others"),
        ({"host": "far"}, "the host was far, is "),
        ({"cpu": "Another processor"}, "the processor was Another processor, is "),
        ({"cores": 1024}, "the number of usable processors was 1024, is "),
        ({"kernel": "1.0"}, "the kernel was 1.0, is "),
        ({"compiler": "cc"}, "the compiler was cc, is "),
        ({"tuning": "0123456789ab"}, "the table of measured collectives was 0123456789ab, is "),
        ({"knobs": {"SELION_BIND": "on"}}, "SELION_BIND was on, is not set"),
        ({"programs": {"fake": "/other/bin"}},
         "the folder of the program 'fake' was /other/bin, is "),
    ],
    ids=lambda each: next(iter(each)) if isinstance(each, dict) else "",
)
def test_rows_of_other_conditions_are_not_gone_on_with(fake, changes, said):
    before = begun(fake, **changes)
    done = fake.run(*_speed, "--resume")
    assert (done.returncode, done.stdout, fake.runs()) == (2, "", [])
    assert done.stderr.startswith(
        f"selion study: selion-out/fake/results.jsonl has rows of other conditions: {said}")
    assert "--mix goes on" in done.stderr
    assert fake.results.read_bytes() == before


def test_uncommitted_changes_are_told_apart(tmp_path, monkeypatch):
    def git(*asked: str) -> None:
        subprocess.run(["git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a", *asked],
                       check=True, capture_output=True)

    monkeypatch.setattr(places, "source_tree", lambda: tmp_path)
    code = tmp_path / "src" / "code"
    words = tmp_path / "words"
    code.parent.mkdir()
    code.write_text("1")
    words.write_text("1")
    git("init")
    git("add", "src", "words")
    git("commit", "-m", "one")
    found = [header.changes(header.commit())]
    words.write_text("2")  # nothing is made of it
    found.append(header.changes(header.commit()))
    for text in ("2", "3", "2"):
        code.write_text(text)
        found.append(header.changes(header.commit()))
    assert found[:2] == [None, None]
    assert found[2] == found[4] != found[3]
    assert None not in found[2:]


@pytest.mark.parametrize("newer", ["src/a/code.cpp", "python/bindings/code.hpp",
                                   "studies/harness/code.hpp", "studies/two-words/code.cpp"])
def test_what_is_compiled_of_older_sources_is_marked(tmp_path, monkeypatch, newer):
    monkeypatch.setattr(places, "source_tree", lambda: tmp_path)
    module, program = tmp_path / "_core.so", tmp_path / "study_two_words"
    monkeypatch.setattr(native, "try_load", lambda: (SimpleNamespace(__file__=str(module)), ""))
    monkeypatch.setattr(header, "_git", lambda _, what, *__: b"abc" if what == "describe" else b"")
    (tmp_path / ".git").mkdir()
    source = tmp_path / newer
    source.parent.mkdir(parents=True)
    (tmp_path / "studies" / "other").mkdir(parents=True)
    others = (tmp_path / "studies/other/code.cpp", source.with_name("notes.md"))
    for path, when in ((source, 1), (module, 2), (program, 2), *((each, 3) for each in others)):
        path.write_text("")
        os.utime(path, (when, when))

    def told() -> tuple[str | None, str | None]:
        commit = header.commit([program])
        return commit, header.changes(commit, [program])

    assert told() == ("abc", None)
    os.utime(source, (3, 3))
    assert told() == ("abc-dirty", "unknown")
    os.utime(module, (4, 4))
    is_of_the_program = "bindings" not in newer
    assert told() == (("abc-dirty", "unknown") if is_of_the_program else ("abc", None))
    os.utime(program, (4, 4))
    assert told() == ("abc", None)


def test_changes_that_nobody_can_tell_are_others(monkeypatch):
    monkeypatch.setattr(places, "source_tree", lambda: None)
    assert (header.changes("abc-dirty"), header.changes("abc"), header.changes(None)) == (
        "unknown", None, None)


@needs_module
def test_tables_of_collectives_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("SELION_TUNING", raising=False)
    found = [header.tuning()]
    usual = Path(native.load().tuning_path_in_use())
    usual.parent.mkdir()
    other = tmp_path / "other"
    for path, text in ((usual, "1"), (usual, "2"), (other, "1")):
        path.write_text(text)
        found.append(header.tuning())
    for setting in (str(other), "off", "on", str(tmp_path / "gone")):
        monkeypatch.setenv("SELION_TUNING", setting)
        found.append(header.tuning())
    first, second = found[1], found[2]
    assert len({"none", first, second}) == 3
    assert found == ["none", first, second, second, first, "none", second, "none"]


@pytest.mark.parametrize(("machine", "alone"), [
    ("sim:crossbar", False), ("sim:crossbar,compute=measured", True), ("threads:2", True)])
def test_what_a_clock_measures_runs_alone(machine, alone):
    assert goes_alone(SimpleNamespace(machine=machine)) is alone


def test_unknown_changes_are_never_the_same():
    then = {"commit": "abc-dirty", "changes": "unknown", "constants": {}}
    [said] = conditions.differences(then, ["sim:a"], then, ["sim:a"])
    assert "not known" in said


def test_variables_of_the_networks_library_are_conditions_of_real_machines(monkeypatch):
    monkeypatch.setenv("FI_PROVIDER", "sockets")
    now = header.header(["fabric:2"])
    monkeypatch.delenv("FI_PROVIDER")
    then = header.header(["fabric:2"])
    told = "FI_PROVIDER was not set, is sockets"
    assert told in conditions.differences(then, ["fabric:2"], now, ["fabric:2"])
    assert told not in conditions.differences(then, ["sim:a"], now, ["sim:a"])


def test_files_that_are_no_code_are_no_condition():
    machines = {"sim:crossbar"}
    now = {"commit": "abc-dirty", "changes": None, "constants": {}}
    assert conditions.differences({"commit": "abc"}, machines, now, machines) == []
    assert conditions.differences({"commit": "abc-dirty"}, machines, now, machines) == [
        "which changes there were to the commit was not noted"]


def test_a_program_that_is_found_elsewhere_is_another_one(fake):
    """Whether or not anybody has named its folder."""
    before = begun(fake)
    other = fake.folder / "debug" / "bin"
    shutil.copytree(fake.folder / "bin", other)
    done = fake.run(*_speed, "--resume", SELION_BIN=str(other))
    assert (done.returncode, fake.runs()) == (2, [])
    assert (f"other conditions: the folder of the program 'fake' was {fake.folder / 'bin'}, is "
            f"{other}. Rows") in done.stderr
    assert fake.results.read_bytes() == before


def test_another_program_of_the_study_is_no_other_condition():
    then, now = ({"programs": {name: "/bin"}, "constants": {}, "begun": ""} for name in "ab")
    assert conditions.differences(then, ["threads:2"], now, ["threads:2"]) == []
    assert not conditions.holds_for(then, now)  # which says where its program is
    assert conditions.holds_for({**then, "programs": {"a": "/bin", "b": "/bin"}}, now)


def test_a_variable_that_is_set_now_is_another_condition(fake):
    before = begun(fake)
    done = fake.run(*_speed, "--resume", SELION_HEAP="1G")
    assert done.returncode == 2
    assert "other conditions: SELION_HEAP was not set, is 1G. Rows" in done.stderr
    assert fake.results.read_bytes() == before


def test_variables_that_change_no_row_are_no_conditions(fake):
    begun(fake)
    done = fake.run(*_speed, "--resume", SELION_HANG_TIMEOUT="5", SELION_VERBOSE="off")
    assert (done.returncode, len(fake.runs())) == (0, 3)
    assert "other conditions" not in done.stderr


_of_host = {"host": "far", "cpu": "Another processor", "cores": 1024, "kernel": "1.0",
            "compiler": "cc", "tuning": "0123456789ab", "programs": {"fake": "/other/bin"},
            "knobs": {"SELION_SPIN": "1"}}  # fmt: skip


@needs_module
def test_virtual_times_are_gone_on_with_on_another_host(fake):
    begun(fake, machine="sim:crossbar", **_of_host)
    done = fake.run(*_speed, "--machine", "sim:crossbar", "--resume")
    assert (done.returncode, len(fake.runs())) == (0, 3), done.stderr
    assert "other conditions" not in done.stderr
    assert [each["host"] == "far" for each in fake.headers()] == [True, False]


@needs_module
@pytest.mark.parametrize("changes", [{"commit": "abc"}, {"knobs": {"SELION_HEAP": "1G"}}])
def test_virtual_times_depend_on_the_code_and_on_settings(fake, changes):
    begun(fake, machine="sim:crossbar", **changes)
    done = fake.run(*_speed, "--machine", "sim:crossbar", "--resume")
    assert (done.returncode, "other conditions" in done.stderr) == (2, True)


@needs_module
def test_a_simulation_that_spends_the_time_of_the_host_depends_on_it(fake):
    machine = "sim:crossbar,compute=measured"
    begun(fake, machine=machine, **_of_host)
    done = fake.run(*_speed, "--machine", machine, "--resume")
    assert (done.returncode, "the host was far" in done.stderr) == (2, True)


@needs_module
@pytest.mark.parametrize("is_named_by_params", [False, True])
def test_another_calibration_is_another_condition(fake, is_named_by_params):
    file = fake.folder / "mine.toml"
    text = (root / "machines" / "crossbar.toml").read_text()
    file.write_text(text.replace('name = "crossbar"', 'name = "mine"'))
    asked: tuple[str, ...] = ("--machine", f"sim:{file}")
    if is_named_by_params:
        study = fake.folder / "studies" / "fake" / "study.toml"
        study.write_text(study.read_text() + """
[axis.predicted_on]
type = "string"
default = ["sim:mine"]
legal = "any"
""")
        study.write_text(study.read_text().replace('axes = ["op", "bytes"]',
                                                   'axes = ["op", "bytes", "predicted_on"]'))
        asked = ("--set", f"predicted_on=sim:{file}")
    assert fake.run(*_one, *asked).returncode == 0
    again = fake.run("--quick", *_speed, *asked, "--resume")
    assert (again.returncode, again.stderr.count("other conditions")) == (0, 0), again.stderr
    file.write_text(file.read_text().replace("latency_us = 1 ", "latency_us = 2 "))
    before = fake.results.read_bytes()
    done = fake.run(*_speed, *asked, "--resume")
    assert done.returncode == 2
    assert (f"other conditions: the machine 'sim:{file}' had other constants, such as those of "
            "another calibration. Rows") in done.stderr
    assert fake.results.read_bytes() == before


# --- what is possible all the same ----------------------------------------------------------------


def test_a_file_may_be_mixed_where_that_is_asked_for(fake):
    before = begun(fake, commit="abc")
    done = fake.run(*_speed, "--resume", "--mix")
    assert (done.returncode, len(fake.runs())) == (0, 3)
    assert "the commit was abc, is " in words(done.stderr)
    assert "Those of 3 points are added under a header of their own." in words(done.stderr)
    first, second = fake.headers()
    assert (first["commit"], "resumed" in first) == ("abc", False)
    assert (second["commit"] != "abc", second["resumed"]) == (True, True)
    assert fake.results.read_bytes().startswith(before)
    assert len(fake.rows()) == 8


def test_a_mixed_file_keeps_its_headers(fake):
    begun(fake, commit="abc")
    fake.run(*_speed, "--set", "op=put", "--resume", "--mix")
    mixed = fake.results.read_bytes()
    fake.runs()
    refused = fake.run(*_speed, "--resume")
    assert (refused.returncode, fake.results.read_bytes() == mixed) == (2, True)
    done = fake.run(*_speed, "--resume", "--mix")
    assert (done.returncode, len(fake.runs())) == (0, 2)
    assert fake.results.read_bytes().startswith(mixed)
    assert [each["commit"] == "abc" for each in fake.headers()] == [True, False]


def test_where_nothing_is_missing_rows_of_other_conditions_are_only_told(fake):
    before = begun(fake, commit="abc")
    done = fake.run(*_one, "--resume")
    assert (done.returncode, fake.runs()) == (0, [])
    assert "results.jsonl has rows of other conditions: the commit was abc" in words(done.stderr)
    assert fake.results.read_bytes() == before


def test_a_comparison_shows_rows_of_other_conditions_and_adds_none(fake):
    fake.published.write_text(
        fake.published.read_text() + 'fake,speed,"{""op"":""put"",""bytes"":8}",latency_ns,8.5,ns\n'
    )
    before = begun(fake, commit="abc")
    done = fake.run(*_speed, "--compare")
    assert (done.returncode, fake.runs()) == (0, [])
    assert "So 3 points that it lacks were not measured; --mix measures them." in words(done.stderr)
    assert "fake: 1 of 1 cells within tolerance." in done.stdout
    assert fake.results.read_bytes() == before
    assert fake.run(*_speed, "--compare", "--mix").returncode == 0
    assert len(fake.runs()) == 3


@pytest.mark.parametrize(("asked", "status"), [("--resume", 2), ("--compare", 0)])
@pytest.mark.parametrize("has_others", [True, False])
def test_points_of_other_conditions_that_lack_rows_stay_as_they_are(fake, asked, status,
                                                                    has_others):
    begun(fake, *(_speed if has_others else _one), commit="abc")
    lines = fake.results.read_bytes().splitlines(keepends=True)
    before = b"".join(lines[:-1])
    fake.results.write_bytes(before)
    done = fake.run(*(_speed if has_others else _one), asked)
    assert (done.returncode, fake.runs()) == (status, []), done.stderr
    assert fake.results.read_bytes() == before


@pytest.mark.parametrize("asked", ["--resume", "--compare"])
def test_a_file_to_which_nothing_is_added_stays_as_it_is(fake, asked):
    assert fake.run("--machine", "threads:2").returncode == 0
    before = fake.results.read_bytes()[:-9]  # what was interrupted may lack rows of its last point
    fake.results.write_bytes(before)
    fake.runs()
    done = fake.run(*_one, asked)
    assert (done.returncode, fake.runs()) == (0, []), done.stderr
    assert fake.results.read_bytes() == before


def test_mixing_needs_rows_to_add_to(fake):
    done = fake.run("--mix")
    assert (done.returncode, done.stderr) == (
        2, "selion study: --mix adds to earlier rows; it needs --resume or --compare.\n")
    assert not fake.results.exists()


def test_a_file_without_rows_begins_anew_under_other_conditions(fake):
    assert fake.run("--quick", FAKE_FAULT="exit").returncode == 1
    pretend(fake, commit="abc")
    assert fake.run("--quick", "--resume").returncode == 0
    assert [each["commit"] == "abc" for each in fake.headers()] == [False]


def test_one_study_of_other_conditions_does_not_keep_others_from_running(fake):
    before = begun(fake, commit="abc")
    done = fake._selion("study", "all", "--resume", **fake.environment())
    assert done.returncode == 1
    assert "'fake' failed: selion-out/fake/results.jsonl has rows of other" in done.stderr
    assert fake.results.read_bytes() == before
