# SPDX-License-Identifier: Apache-2.0
"""All that a report says of one study."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from selion import native
from selion.mistake import listing
from selion.report.cells import Cell, cells_of, verdict_of, worst
from selion.report.chart import Chart
from selion.report.collect import Results
from selion.report.contents import Contents, PlotPlan
from selion.report.curves import charts_of, usual_plans
from selion.report.machines import told_apart
from selion.report.names import contents_of
from selion.report.pictures import Picture, picture_of
from selion.report.runs import Run, only_where_several, told
from selion.report.select import answer, machine_name, of_one_seed, seed_of
from selion.study.catalog import Experiment, Study
from selion.study.published import Published
from selion.study.rows import Row

_basis = re.compile(r"^## (Given[^\n]*)\n(.*?)(?=^## |\Z)", re.M | re.S)


@dataclass
class Section:
    """One study. Texts named `…_markdown` are Markdown."""

    name: str
    title: str
    source: str = ""
    concluded: str = ""
    answer: str = ""
    verdict: str = ""
    worst: str = ""
    charts: list[Chart] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    basis_markdown: str = ""
    machines: list[tuple[str, str]] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    headers: list[Row] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    runs_of_cells: str = ""
    """Where the rows of the cells come from, if the study has several runs."""
    row_count: int = 0
    notes: list[str] = field(default_factory=list)
    """What of the source's figures cannot be used, in sentences."""

    @property
    def open_cells(self) -> int:
        return sum(1 for cell in self.cells if cell.published is None)


def _machine_texts(rows: Sequence[Row], headers: Sequence[Row]) -> list[tuple[str, str]]:
    """What each machine is, in words."""
    texts = []
    module, _ = native.try_load()
    for name in dict.fromkeys(machine_name(row) for row in rows):
        if name.startswith("sim:"):
            try:
                text = module.explain_machine(name[4:]) if module else ""
            except Exception as problem:  # whatever a file that is gone, or not ours, comes to
                text = str(problem)
        else:
            told = [f"{header.get('cpu', 'a processor that nobody noted')}, "
                    f"{header.get('cores', '?')} usable processors, "
                    f"kernel {header.get('kernel', '?')}" for header in headers]
            text = "Real ranks on " + ("; ".join(dict.fromkeys(told)) or "an unknown host") + "."
        texts.append((name, text))
    return texts


def _basis_of(study: Study) -> str:
    """What the study's page says is given, fitted and predicted."""
    page = study.folder / f"{study.name}.md"
    found = _basis.search(page.read_text(encoding="utf-8")) if page.is_file() else None
    return found[2].strip() if found else ""


def _conclude(section: Section, contents: Contents, rows: Sequence[Row],
              experiments: Mapping[str, Experiment]) -> None:
    if contents.conclusion is None:
        return
    section.concluded = contents.conclusion.source
    text, missing = answer(rows, contents.conclusion, experiments)
    section.answer = text or (
        "Not answered by these results: run "
        + " and ".join(f"'selion study {section.name} --experiment {name}'" for name in missing)
        + "."
    )


def _of_other_seeds(compared: Sequence[Row], others: Sequence[int]) -> str:
    if not others:
        return ""
    seeds = f"seed {others[0]}" if len(others) == 1 else f"the seeds {listing(others)}"
    return (f" These are the rows of seed {seed_of(compared[0])}; those of {seeds} count in plots "
            "alone.")


def section_of(results: Results, studies: Mapping[str, Study]) -> Section:
    """@error Failure if the study's report.toml or published.csv is malformed."""
    study = studies.get(results.study)
    experiments = study.experiments if study else {}
    rows = told_apart(results.rows, experiments)
    if study:
        published = Published(study)
        rows = [published.beside(row) for row in rows]
    runs = only_where_several(rows)
    section = Section(results.study, study.title if study else "a study that is not installed here",
                      headers=results.headers, runs=runs, row_count=len(rows))
    contents = contents_of(study) if study else Contents()
    shown = {plan.experiment for plan in contents.plots}
    shown |= {picture.experiment for picture in contents.pictures}
    plans: list[PlotPlan] = [*contents.plots, *usual_plans(study, rows, dict.fromkeys(shown))]
    for plan in plans:
        section.charts += charts_of(results.study, experiments.get(plan.experiment), plan, rows)
    section.pictures = [picture_of(results.study, plan, rows) for plan in contents.pictures]
    section.machines = _machine_texts(rows, results.headers)
    _conclude(section, contents, rows, experiments)
    if study:
        section.source = study.source
        section.basis_markdown = _basis_of(study)
        compared, other_seeds = of_one_seed(rows)
        verdict = verdict_of(study, compared)
        section.notes = list(verdict.faults)
        if verdict.published or verdict.faults:
            section.verdict = verdict.sentence() + _of_other_seeds(compared, other_seeds)
            section.worst = worst(verdict)
        section.cells = cells_of(verdict, compared)
        of_cells = {(cell.experiment, cell.metric) for cell in section.cells}
        section.runs_of_cells = told(row for row in compared
                                     if (row["experiment"], row["metric"]) in of_cells)
    return section


def sections_of(found: Mapping[str, Results], studies: Mapping[str, Study]) -> list[Section]:
    """In the order of the sources; what has none comes after."""
    sections = [section_of(each, studies) for each in found.values()]
    order = ["mesh-broadcast", "multicore-collectives", "software-cache", "one-sided", "offload"]
    return sorted(sections, key=lambda each: (order.index(each.name) if each.name in order
                                              else len(order), each.name))
