# SPDX-License-Identifier: Apache-2.0
"""What shells complete: asked as each shell asks, and by the shells themselves where they are."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import clean_environment, command, needs_module, root
from selion.cli import bash_words

pytestmark = needs_module

_seconds_to_answer = 10.0  # of a processor; it takes a quarter of one


def ask(shell: str, *words: str) -> list[str]:
    """The answers to a line whose last word is incomplete."""
    asked = {"bash": {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}}
    line = {"_TYPER_COMPLETE_ARGS": " ".join(words), "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    done = subprocess.run(
        command,
        env=clean_environment(
            _SELION_COMPLETE=f"complete_{shell}",
            SELION_STUDIES=str(root / "studies"),
            **asked.get(shell, line),
        ),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    for line in lines:  # none is what is left of another one's help
        assert " " not in line.partition("\t")[0], line
    return lines


_cases = [
    (("ru",), "run"),
    (("cache",), "cache-advice"),
    (("run", "-m", "thr"), "threads"),
    (("run", "-m", "sim:nia"), "sim:niagara2"),
    (("machines", "--explain", "sim:epi"), "sim:epiphany-iii"),
    (("study", "one"), "one-sided"),
    (("study", "one-sided", "--experiment", "silent"), "silent-target"),
    (("study", "one-sided", "--set", "op=pu"), "op=put"),
    (("study", "one-sided", "--set", "op=put,ge"), "op=put,get"),
    (("study", "one-sided", "--experiment", "faulty-link", "--set", "los"), "loss=0.0001"),
    (("schedule", "all_red"), "all_reduce"),
    (("schedule", "all_reduce", "--algorithm", "rin"), "ring"),
    (("tune", "-c", "broadc"), "broadcast"),
    (("bench", "sim"), "simulator"),
    (("study", "--qui"), "--quick"),
]


@pytest.mark.parametrize(("words", "answer"), _cases, ids=[" ".join(words) for words, _ in _cases])
def test_what_is_completed(words, answer):
    assert answer in [line.partition("\t")[0] for line in ask("fish", "selion", *words)]


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (("run", "-m", "sim:nia"), "niagara2"),
        (("study", "one-sided", "--set", "op=put,ge"), "put,get"),
        (("study", "one"), "one-sided"),
    ],
)
def test_bash_gets_what_it_takes_for_a_word(words, answer):
    assert answer in ask("bash", "selion", *words)


def test_what_is_not_there_is_not_completed():
    assert ask("fish", "selion", "study", "no-such-study", "--experiment", "la") == [""]


@pytest.mark.parametrize(
    ("words", "current", "joined", "place"),
    [
        (["selion", "run", "-m", "sim", ":", "ni"], 5, ["selion", "run", "-m", "sim:ni"], 3),
        (["selion", "run", "-m", "sim", ":"], 4, ["selion", "run", "-m", "sim:"], 3),
        (["s", "--set", "op", "=", "put", "--json", ""], 6, ["s", "--set", "op=put", "--json", ""],
         4),
        (["selion", "run", ""], 2, ["selion", "run", ""], 2),
        (["selion", "run"], 2, ["selion", "run"], 2),
    ],
)  # fmt: skip
def test_what_bash_has_taken_apart(words, current, joined, place):
    assert bash_words.join(words, current) == (joined, place)


def _seconds_of_children() -> float:
    """Of a processor: what else a host has to do does not count."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_it_answers_soon():
    start = _seconds_of_children()
    ask("fish", "selion", "study", "one-sided", "--experiment", "la")
    assert _seconds_of_children() - start < _seconds_to_answer


# --- the shells themselves ------------------------------------------------------------------------


def _shell(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed here: apt-get install {name}")
    return found


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with a `selion` for the PATH, which is also the home of a new user."""
    script = tmp_path / "bin" / "selion"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec {" ".join(command)} "$@"\n')
    script.chmod(0o755)
    return tmp_path


def _run(line: list[str], home: Path) -> str:
    path = f"{home}/bin{os.pathsep}{os.environ['PATH']}"
    env = clean_environment(HOME=str(home), PATH=path, SELION_STUDIES=str(root / "studies"),
                            _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")  # fmt: skip
    env.pop("ZDOTDIR", None)
    env.pop("XDG_CONFIG_HOME", None)
    done = subprocess.run(line, env=env, cwd=home, capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_bash_itself(home):
    bash = _shell("bash")
    _run([str(home / "bin" / "selion"), "--install-completion", "bash"], home)
    assert "source " in (home / ".bashrc").read_text()
    asking = """
        source ~/.bashrc
        COMP_WORDS=(selion run -m sim : nia); COMP_CWORD=5
        _selion_completion selion; printf '%s\\n' "${COMPREPLY[@]}"
        COMP_WORDS=(selion study one-sided --experiment silent); COMP_CWORD=4
        _selion_completion selion; printf '%s\\n' "${COMPREPLY[@]}"
    """
    assert _run([bash, "-c", asking], home).splitlines() == ["niagara2", "silent-target"]


def test_zsh_itself(home):
    zsh = _shell("zsh")
    _run([str(home / "bin" / "selion"), "--install-completion", "zsh"], home)
    assert (home / ".zfunc" / "_selion").is_file()
    # Its completion runs inside its line editor only: here a widget asks and prints what was found.
    asking = """
        fpath+=~/.zfunc; autoload -Uz compinit; compinit -u -d ~/.zcompdump
        _arguments() { print -r -- "$@" }
        autoload +X -Uz _selion 2>/dev/null
        compdef() { : }
        words=(selion run -m sim:nia); CURRENT=4
        source ~/.zfunc/_selion
        _selion_completion
    """
    assert "niagara2" in _run([zsh, "-f", "-c", asking], home)


def test_fish_itself(home):
    fish = _shell("fish")
    _run([str(home / "bin" / "selion"), "--install-completion", "fish"], home)
    assert (home / ".config" / "fish" / "completions" / "selion.fish").is_file()
    for line, answer in (("selion run -m sim:nia", "sim:niagara2"),
                         ("selion study one-sided --set op=pu", "op=put"),
                         ("selion sched", "schedule")):  # fmt: skip
        found = _run([fish, "-c", f'complete -C "{line}"'], home)
        assert answer in [each.partition("\t")[0] for each in found.splitlines()]


@pytest.mark.parametrize("option", ["--install-completion", "--show-completion"])
@pytest.mark.parametrize("behind", [("nosuch",), ("bash", "zsh"), ("",), ("run",)])
def test_what_is_no_shell_is_refused(home, option, behind):
    done = subprocess.run([str(home / "bin" / "selion"), option, *behind], capture_output=True,
                          env=clean_environment(HOME=str(home)), text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"selion: '{' '.join(behind)}' is no shell that '{option}' knows")
    assert "legal: bash, zsh, fish.\nTry 'selion --help'.\n" in done.stderr
    assert sorted(each.name for each in home.iterdir()) == ["bin"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_shell_that_is_named_counts(home, shell):
    """Not the one that one is in."""
    env = clean_environment(HOME=str(home))
    line = [str(home / "bin" / "selion"), f"--show-completion={shell}"]
    done = subprocess.run(["bash", "-c", '"$@"; exit', "bash", *line], env=env, text=True,
                          capture_output=True, check=True)
    assert f"complete_{shell}" in done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_can_be_shown(home, shell):
    shown = _run([str(home / "bin" / "selion"), "--show-completion", shell], home)
    assert f"complete_{shell}" in shown
