# SPDX-License-Identifier: Apache-2.0
"""Colours of charts, for light and for dark paper.

Curves take the colours of Okabe and Ito, which eyes that do not tell red from green keep apart
(https://jfly.uni-koeln.de/color/), darker or lighter where the paper wants it; marks differ in
shape as well.
"""

from __future__ import annotations

from collections.abc import Mapping

light = {
    "paper": "#ffffff", "ink": "#1b1f24", "quiet": "#59636e", "grid": "#e4e7ea",
    "frame": "#b3bac2",
    "c0": "#0072b2", "c1": "#c44500", "c2": "#007d5a", "c3": "#a3528a", "c4": "#8a6d00",
    "c5": "#2f8fc4", "c6": "#444b53", "c7": "#7a3fb0",
}  # fmt: skip
dark = {
    "paper": "#161a20", "ink": "#e6e9ec", "quiet": "#9aa4af", "grid": "#2a3038",
    "frame": "#4a535e",
    "c0": "#56b4e9", "c1": "#ff9a4d", "c2": "#2fd0a0", "c3": "#e39acb", "c4": "#f0e442",
    "c5": "#9fd4f5", "c6": "#c3cad1", "c7": "#c39bf0",
}  # fmt: skip
curves = 8

_dashes = ("", "", "", "", "6 3", "6 3", "2 3", "2 3")
_font = "system-ui, 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif"


def rules(colour: Mapping[str, str]) -> str:
    """Rules of CSS for the classes of `chart_svg`, with these colours.

    @param colour of each name in `light`: a colour, or a variable of the page.
    """
    parts = [
        f"text{{font-family:{_font};font-size:12px;fill:{colour['ink']}}}",
        f".tick{{fill:{colour['quiet']}}}",
        ".title{font-size:15px;font-weight:600}",
        f".paper{{fill:{colour['paper']}}}",
        f".grid{{stroke:{colour['grid']};fill:none}}",
        f".frame{{stroke:{colour['frame']};fill:none}}",
        ".line{fill:none;stroke-width:1.8;stroke-linejoin:round}",
        ".spread{stroke-width:1.2;opacity:.6}",
        f".mark{{stroke:{colour['paper']};stroke-width:.8}}",
        f".published{{fill:none;stroke:{colour['ink']};stroke-width:1.6}}",
    ]
    for number in range(curves):
        name = f"c{number}"
        own = colour[name]
        dash = f";stroke-dasharray:{_dashes[number]}" if _dashes[number] else ""
        parts.append(f".{name} .line{{stroke:{own}{dash}}}")
        parts.append(f".{name} .mark,.{name} .bar{{fill:{own}}}.{name} .spread{{stroke:{own}}}")
        if number in (5, 6):  # marks that are strokes
            parts.append(f".{name} .mark{{stroke:{own};stroke-width:1.8}}")
    parts.append(f".curve .on-bar{{stroke:{colour['ink']}}}")
    return "".join(parts)


def variables() -> dict[str, str]:
    """Each colour as a variable of a page."""
    return {name: f"var(--{name})" for name in light}


def declarations(colours: Mapping[str, str]) -> str:
    """The variables' values."""
    return "".join(f"--{name}:{value};" for name, value in colours.items())
