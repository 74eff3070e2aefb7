# SPDX-License-Identifier: Apache-2.0
"""The page about studies has the experiments that there are, with all that they measure."""

import re
import tomllib

import pytest
from pages import root

_page = (root / "docs/design/studies.md").read_text(encoding="utf-8")
_studies = {
    path.parent.name: tomllib.loads(path.read_text(encoding="utf-8"))["experiment"]
    for path in sorted((root / "studies").glob("*/study.toml"))
}


def section_of(study: str, page: str = _page) -> str:
    """Behind the heading that begins with its name, up to the next heading."""
    found = re.search(rf"^##+ (?:The study `)?{study}\b.*?\n(.*?)(?=^##|\Z)", page, re.M | re.S)
    assert found, f"{study} has no heading"
    return found[1]


def experiments_in(section: str) -> list[str]:
    """What the first columns of its table name."""
    firsts = re.findall(r"^\| (`[^|]*) \|", section, re.M)
    return [name for first in firsts for name in re.findall(r"`([^`]+)`", first)]


@pytest.mark.parametrize("study", _studies)
def test_all_experiments_have_a_row(study):
    assert sorted(experiments_in(section_of(study))) == sorted(_studies[study])


@pytest.mark.parametrize("study", _studies)
def test_all_metrics_are_named(study):
    named = set(re.findall(r"`([^`]+)`", section_of(study)))
    metrics = {name for experiment in _studies[study].values() for name in experiment["metric"]}
    assert metrics - named == set()


def test_a_row_that_is_missing_is_found():
    page = "### one\n| `a`, `b` | `x` |\n\n## The study `two`\n| `c` | |\n"
    assert experiments_in(section_of("one", page)) == ["a", "b"]
    assert experiments_in(section_of("two", page)) == ["c"]


def set_by(experiment: dict) -> set[str]:
    """The options and keys of a simulated machine that an experiment's axes set."""
    templates = experiment.get("machine_template", {})
    template = templates.get("sim", templates.get("*", ""))
    axes = experiment.get("axis", {})
    listed = re.sub(r"\{option\}", lambda _: ",".join(axes["option"]["legal"]), template)
    return set(re.findall(r",([\w.]+)=", listed))


def test_the_page_about_machine_files_has_what_experiments_set():
    page = (root / "docs/reference/machine-files.md").read_text(encoding="utf-8")
    [section] = re.findall(r"^## What studies ask.*?(?=^## )", page, re.M | re.S)
    told = {}
    for study, names, sets in re.findall(r"^\| `(.*?)` \| (`.*?`) \| (.*?) \|$", section, re.M):
        for name in re.findall(r"`([^`]+)`", names):
            told[study, name] = set(re.findall(r"`([\w.]+)=`", sets))
    assert told == {(study, name): set_by(experiment) for study, found in _studies.items()
                    for name, experiment in found.items() if set_by(experiment)}


def keys_of(name: str) -> list[str]:
    """A set of legal keys as the reader of study files has it."""
    text = (root / "python/selion/study/catalog.py").read_text(encoding="utf-8")
    return re.findall(r'"(\w+)"', re.search(rf"^{name} = \{{(.*?)\}}", text, re.M | re.S)[1])


@pytest.mark.parametrize("name", ["_study_keys", "_experiment_keys", "_metric_keys"])
def test_the_page_about_writing_one_has_all_keys(name: str):
    page = (root / "docs/howto/write-a-study.md").read_text(encoding="utf-8")
    keys = keys_of(name)
    assert len(keys) >= 7
    told = set(re.findall(r"(?:^|`)(\w+) = ", page, re.M))
    heads = re.findall(r"^\[+([\w.]+)\]", page, re.M)
    tables = {part for head in heads for part in head.split(".")}
    named = set(re.findall(r"`(\w+)`", page))
    assert sorted(set(keys) - told - tables - named) == []
