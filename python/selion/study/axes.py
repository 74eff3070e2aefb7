# SPDX-License-Identifier: Apache-2.0
"""One axis of an experiment: its name, the type of its values, which are legal, which are usual."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from selion.mistake import Mistake, did_you_mean, listing

_types: dict[str, type] = {"int": int, "float": float, "bool": bool, "string": str}
_truth = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_binary_units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

Value = int | float | bool | str

#: The value of an axis of simulated machines where the machine is none.
nothing = "-"


@dataclass(frozen=True)
class Legal:
    """Which values are legal: those listed, a closed range, or (neither given) any of the type."""

    listed: tuple[Value, ...] | None = None
    low: float = -math.inf
    high: float = math.inf
    multiple_of: int | None = None

    def allows(self, value: Value) -> bool:
        if self.listed is not None:
            return value in self.listed
        if isinstance(value, (bool, str)):
            return True
        in_range = self.low <= value <= self.high
        return in_range and (self.multiple_of is None or value % self.multiple_of == 0)

    def __str__(self) -> str:
        if self.listed is not None:
            return listing(_text(value) for value in self.listed)
        low, high = _bound(self.low), _bound(self.high)
        if low and high:
            span = f"{low} to {high}"
        else:
            span = f"at least {low}" if low else f"at most {high}" if high else "any"
        return span + (f", multiples of {self.multiple_of}" if self.multiple_of else "")


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _bound(value: float) -> str:
    return "" if math.isinf(value) else _text(value)


@dataclass(frozen=True)
class Axis:
    """A key of `params` and the values it takes."""

    name: str
    type: str
    default: tuple[Value, ...]
    quick: tuple[Value, ...]
    legal: Legal
    unit: str = ""
    summary: str = ""
    of_simulation: bool = False  # it says what a simulated machine is; others have no such thing

    def describe_legal(self) -> str:
        return str(self.legal) if str(self.legal) != "any" else f"any {self.type}"

    def parse(self, text: str) -> Value:
        """The value that a user wrote.

        @error Mistake if it is not of the axis' type or not legal; it lists the legal ones.
        """
        try:
            value = self._convert(text.strip())
        except ValueError:
            value = None
        if value is None or not self.legal.allows(value):
            raise self._refusal(text)
        return value

    def check(self, value: Any) -> None:
        """@error Mistake if a value from a file is none that rows can have; it lists the legal
        ones."""
        if self.of_simulation and value == nothing:
            return
        if self.type == "int" and isinstance(value, float) and value.is_integer():
            value = int(value)
        if not _is_of_type(self.type, value) or not self.legal.allows(value):
            raise self._refusal(_text(value))

    def text_of(self, value: Value) -> str:
        """What `parse` makes the value of."""
        return _text(value)

    def _refusal(self, text: str) -> Mistake:
        near = did_you_mean(text, map(_text, self.legal.listed or ()))
        return Mistake(
            f"'{text}' is not a legal value of '{self.name}'{near}; "
            f"legal: {self.describe_legal()}."
        )

    def parse_list(self, text: str) -> tuple[Value, ...]:
        """Values separated by commas, each once."""
        return tuple(dict.fromkeys(self.parse(part) for part in text.split(",")))

    def _convert(self, text: str) -> Value:
        if self.type == "bool":
            if text.lower() not in _truth:
                raise ValueError(text)
            return _truth[text.lower()]
        if self.type == "float":
            value = float(text)
            if not math.isfinite(value):
                raise ValueError(text)
            return value
        if self.type == "int":
            factor = _binary_units.get(text[-1:].upper(), 1) if self.unit == "bytes" else 1
            return int(text[:-1] if factor > 1 else text) * factor
        return text


def _is_of_type(kind: str, value: Any) -> bool:
    return type(value) is _types[kind] or (kind == "float" and type(value) is int)


def _values(name: str, key: str, kind: str, given: Any) -> tuple[Value, ...]:
    listed = given if isinstance(given, list) else [given]
    wanted = _types[kind]
    for value in listed:
        if not _is_of_type(kind, value):
            raise Mistake(f"axis '{name}': {key} has the value {value!r}, which is no {kind}")
    return tuple(wanted(value) for value in listed)


def read_legal(name: str, kind: str, given: Any) -> Legal:
    """What study.toml says of legal values: \"any\", a list, or a range."""
    if given == "any" or (given is None and kind == "bool"):
        return Legal()
    if isinstance(given, list):
        return Legal(listed=_values(name, "legal", kind, given))
    if isinstance(given, dict) and kind in ("int", "float"):
        unknown = set(given) - {"min", "max", "multiple_of"}
        if not unknown:
            return Legal(
                low=given.get("min", -math.inf),
                high=given.get("max", math.inf),
                multiple_of=given.get("multiple_of"),
            )
    raise Mistake(
        f"axis '{name}': legal values must be \"any\", a list, or for numbers a table of "
        "min, max and multiple_of"
    )


def read_axis(name: str, table: dict[str, Any]) -> Axis:
    """An axis from its table of study.toml.

    @error Mistake (without the file's name) if the table is malformed.
    """
    unknown = set(table) - {"type", "default", "quick", "legal", "unit", "summary", "of_simulation"}
    if unknown:
        raise Mistake(f"axis '{name}': unknown key {listing(sorted(unknown))}")
    kind = table.get("type")
    if kind not in _types:
        raise Mistake(f"axis '{name}': type is {kind!r}; legal: {listing(_types)}")
    if "default" not in table:
        raise Mistake(f"axis '{name}': default is missing")
    default = _values(name, "default", kind, table["default"])
    quick = _values(name, "quick", kind, table["quick"]) if "quick" in table else default[:1]
    legal = read_legal(name, kind, table.get("legal"))
    axis = Axis(name, kind, default, quick, legal, table.get("unit", ""), table.get("summary", ""),
                bool(table.get("of_simulation", False)))
    for value in (*default, *quick):
        if not legal.allows(value):
            raise Mistake(f"axis '{name}': {value} is not among its own legal values, {legal}")
    return axis


def check_default_present(axes: Sequence[Axis]) -> None:
    """Every axis needs at least one value of each kind, else an experiment has no points."""
    for axis in axes:
        if not axis.default or not axis.quick:
            raise Mistake(f"axis '{axis.name}': default and quick need at least one value")
