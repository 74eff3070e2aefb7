# SPDX-License-Identifier: Apache-2.0
"""Drawings of a report: links of a mesh, and schedules."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from selion import meter_file, schedules
from selion.drawing import heat_map, heat_map_picture, schedule_picture
from selion.mistake import Mistake
from selion.report.contents import PicturePlan
from selion.report.runs import runs_of, told
from selion.report.select import matches
from selion.study.rows import Row


@dataclass(frozen=True)
class Picture:
    """An SVG, or the sentence that says why there is none."""

    title: str
    text: str
    svg: str
    reason: str = ""
    runs: str = ""
    """Where its rows come from, if its study has several runs."""


def _links(study: str, plan: PicturePlan, rows: Sequence[Row]) -> str:
    if not rows:
        raise Mistake("not measured")
    recorded = meter_file.of_study(Path("results.jsonl"), [("a row", row) for row in rows], ())
    heat = heat_map.make(recorded, "load")
    if heat is None or heat.is_too_large:
        raise Mistake("its links are those of no mesh that can be drawn")
    settings = [f"--select {key}={value}" for key, values in plan.where.items()
                for value in values]
    command = " ".join(["selion meters", *settings, f"selion-out/{study}/results.jsonl"])
    return heat_map_picture.draw(heat, command)


def _tree(plan: PicturePlan) -> str:
    words = ["selion", "schedule", plan.collective, "--ranks", str(plan.ranks),
             "--algorithm", plan.algorithm, "--radix", str(plan.radix)]
    played = schedules.play(schedules.Request(
        plan.collective, plan.algorithm, ranks=plan.ranks, radix=plan.radix))
    return schedule_picture.draw(played, shlex.join(words))


def picture_of(study: str, plan: PicturePlan, rows: Sequence[Row]) -> Picture:
    """Draws it; a picture that cannot be drawn says why."""
    own = [row for row in rows
           if row["experiment"] == plan.experiment and matches(row, plan.where)]
    of_one = [row for row in own if row.get("run") == own[0].get("run")]
    runs = told(of_one)
    if len(runs_of(own)) > 1:
        runs += " Rows of other runs are left out."
    try:
        svg = _links(study, plan, of_one) if plan.kind == "links" else _tree(plan)
    except Mistake as reason:
        return Picture(plan.title, plan.text, "", str(reason))
    return Picture(plan.title, plan.text, svg, runs=runs)
