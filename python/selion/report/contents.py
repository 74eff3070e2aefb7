# SPDX-License-Identifier: Apache-2.0
"""Reads a study's report.toml: what a report shows of it, and what its source concluded.

    [conclusion]
    source = "what the source concluded"
    answer = "what came out, with {values:.1f} in braces"
    [conclusion.values]
    values = { experiment = "…", metric = "…", where = { key = 1 }, over = { … } }

    [[plot]]
    title = "…"
    experiment = "…"
    metric = "…"               # or several, a curve each
    x = "key"
    series = ["key", …]        # a curve for each of their values; what else varies is added
    panels = ["key", …]        # a plot for each of their values
    where = { key = [1, 2] }   # only these
    x_scale, y_scale = "linear" | "log2" | "log10"
    kind = "curves" | "bars"
    y_title = "…"              # where several metrics share the axis
    from_zero = false          # where differences would not be seen otherwise
    text = "what to look at"

    [[picture]]
    kind = "links" | "tree"
    …

Experiments without a plot get one of the same kind, made from their axes. The keys "machine" and
"metric" may stand where params do.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from selion.mistake import Failure, Mistake, listing

scales = ("linear", "log2", "log10")
kinds = ("curves", "bars")
pictures = ("links", "tree")
everything = ("machine", "metric")  # keys beside params


@dataclass(frozen=True)
class Value:
    """One row's value, or what it is over another one's."""

    experiment: str
    metric: str
    where: Mapping[str, Any]
    over: Value | None = None


@dataclass(frozen=True)
class Conclusion:
    """What the source concluded, and the answer as a format with names of values."""

    source: str
    answer: str
    values: Mapping[str, Value]


@dataclass(frozen=True)
class PlotPlan:
    """What a plot shows; see the head of this file."""

    title: str
    experiment: str
    metrics: tuple[str, ...]
    x: str
    series: tuple[str, ...] = ()
    panels: tuple[str, ...] = ()
    where: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    x_scale: str = "linear"
    y_scale: str = "linear"
    kind: str = "curves"
    text: str = ""
    y_title: str = ""
    from_zero: bool = True


@dataclass(frozen=True)
class PicturePlan:
    """A drawing: the links of a mesh from an experiment's rows, or a schedule."""

    title: str
    kind: str
    text: str = ""
    experiment: str = ""
    where: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    collective: str = ""
    algorithm: str = ""
    radix: int = 2
    ranks: int = 16


@dataclass(frozen=True)
class Contents:
    """All that report.toml says; empty for a study that has none."""

    conclusion: Conclusion | None = None
    plots: tuple[PlotPlan, ...] = ()
    pictures: tuple[PicturePlan, ...] = ()


def _expect(where: str, table: Any, needed: Iterable[str], legal: Iterable[str] = ()) -> None:
    if not isinstance(table, dict):
        raise Mistake(f"{where} must be a table")
    for key in needed:
        if key not in table:
            raise Mistake(f"{where}: {key} is missing")
    known = [*needed, *legal]
    unknown = sorted(set(table) - set(known))
    if unknown:
        raise Mistake(f"{where} has the unknown key {unknown[0]}; legal: {listing(known)}")


def _one_of(where: str, key: str, value: Any, legal: Iterable[str]) -> str:
    if value not in legal:
        raise Mistake(f"{where}: {key} is '{value}'; legal: {listing(legal)}")
    return str(value)


def _words(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(str(each) for each in value)


def _choices(where: str, table: Any) -> dict[str, tuple[Any, ...]]:
    if not isinstance(table, dict):
        raise Mistake(f"{where}: where must be a table")
    return {
        key: tuple(value) if isinstance(value, list) else (value,) for key, value in table.items()
    }


def _read_value(where: str, table: Any) -> Value:
    _expect(where, table, ("experiment", "metric"), ("where", "over"))
    over = table.get("over")
    if over is not None:  # what it leaves out is as above
        over = _read_value(f"{where}: over", {**{k: v for k, v in table.items() if k != "over"},
                                              **over})
    choices = table.get("where", {})
    _choices(where, choices)
    return Value(table["experiment"], table["metric"], choices, over)


def _read_conclusion(table: Any) -> Conclusion:
    _expect("conclusion", table, ("source", "answer"), ("values",))
    values = {
        name: _read_value(f"conclusion: {name}", content)
        for name, content in table.get("values", {}).items()
    }
    try:
        table["answer"].format(**dict.fromkeys(values, 1.0))
    except (KeyError, ValueError, IndexError) as problem:
        raise Mistake(f"conclusion: answer does not suit its values: {problem}") from None
    return Conclusion(table["source"], table["answer"], values)


def _read_plot(table: Any) -> PlotPlan:
    where = f"plot '{table.get('title', '')}'" if isinstance(table, dict) else "plot"
    _expect(where, table, ("title", "experiment", "metric", "x"),
            ("series", "panels", "where", "x_scale", "y_scale", "kind", "text",
             "y_title", "from_zero"))
    return PlotPlan(
        table["title"],
        table["experiment"],
        _words(table["metric"]),
        table["x"],
        _words(table.get("series", ())),
        _words(table.get("panels", ())),
        _choices(where, table.get("where", {})),
        _one_of(where, "x_scale", table.get("x_scale", "linear"), scales),
        _one_of(where, "y_scale", table.get("y_scale", "linear"), scales),
        _one_of(where, "kind", table.get("kind", "curves"), kinds),
        table.get("text", ""),
        table.get("y_title", ""),
        bool(table.get("from_zero", True)),
    )


def _read_picture(table: Any) -> PicturePlan:
    where = f"picture '{table.get('title', '')}'" if isinstance(table, dict) else "picture"
    _expect(where, table, ("title", "kind"),
            ("text", "experiment", "where", "collective", "algorithm", "radix", "ranks"))
    return PicturePlan(
        table["title"],
        _one_of(where, "kind", table["kind"], pictures),
        table.get("text", ""),
        table.get("experiment", ""),
        _choices(where, table.get("where", {})),
        table.get("collective", ""),
        table.get("algorithm", ""),
        table.get("radix", 2),
        table.get("ranks", 16),
    )


def read_contents(folder: Path) -> Contents:
    """What the study in `folder` wants to show.

    @error Failure if its report.toml is malformed; the sentence names file and place.
    """
    path = folder / "report.toml"
    if not path.is_file():
        return Contents()
    try:
        with path.open("rb") as file:
            table = tomllib.load(file)
        _expect("the file", table, (), ("conclusion", "plot", "picture"))
        return Contents(
            _read_conclusion(table["conclusion"]) if "conclusion" in table else None,
            tuple(_read_plot(each) for each in table.get("plot", ())),
            tuple(_read_picture(each) for each in table.get("picture", ())),
        )
    except (tomllib.TOMLDecodeError, Mistake) as problem:
        raise Failure(f"{path}: {problem}.") from None
