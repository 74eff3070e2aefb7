# SPDX-License-Identifier: Apache-2.0
"""The object of em3d with its field, drawn from what `em3d --field FILE` writes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_width = 1000.0
_margin = 16.0
_under = 54.0  # room for the legend
_format = 1
# Away from the eye that sees the corners run anticlockwise to towards it.
colours = ("#2166ac", "#4393c3", "#92c5de", "#d1e5f0", "#f7f7f7", "#fddbc7", "#f4a582", "#d6604d",
           "#b2182b")  # fmt: skip
_tilt = np.radians(52.0)  # from the object's flat side towards its edge
_most_holes = 0.1  # edges without a second face, of all edges of an object that counts as closed
_largest = 1e100  # of places and values: products of them have room
_turn = np.radians(28.0)  # of its length, from across the picture


class BadField(Exception):
    """A file that holds no field."""


@dataclass(frozen=True)
class FieldPicture:
    """An SVG with its title and what it shows."""

    title: str
    text: str
    svg: str


@dataclass(frozen=True)
class _Field:
    mesh: str
    iterations: int
    vertices: NDArray[np.float64]  # n x 3
    faces: Sequence[Sequence[int]]
    values: NDArray[np.float64]  # of each face; nan: none


def _read(path: Path) -> _Field:
    """@error BadField with what is wrong."""
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise BadField(f"cannot be read: {problem.strerror}") from None
    except (ValueError, RecursionError) as problem:
        raise BadField(f"is not JSON ({problem})") from None
    if not isinstance(content, dict) or content.get("program") != "em3d":
        raise BadField("was not written by em3d --field")
    if content.get("format") != _format:
        raise BadField(f"has the format {content.get('format')}; known is {_format}")
    try:
        vertices = np.array(content["vertices"], dtype=np.float64)
        values = np.array(content["magnetic"], dtype=np.float64)
        faces = [[int(corner) for corner in face] for face in content["faces"]]
        mesh = Path(str(content["mesh"])).name
        field = _Field(mesh, int(content["iterations"]), vertices, faces, values)
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        raise BadField(f"lacks a part, or has a malformed one ({problem})") from None
    corners = [corner for face in faces for corner in face]
    if vertices.ndim != 2 or vertices.shape[1] != 3 or not corners or \
            values.shape != (len(faces),):
        raise BadField("has vertices, faces and values that do not belong together")
    if min(corners) < 0 or max(corners) >= len(vertices) or min(map(len, faces)) < 3:
        raise BadField("has a face with a corner that is no vertex, or with less than 3 corners")
    if not ((np.abs(vertices) < _largest).all()
            and (np.isnan(values) | (np.abs(values) < _largest)).all()):
        raise BadField(f"has numbers that are not below {_largest:g}")
    return field


def _seen(vertices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Places as an eye sees them: right, up, towards it. The longest side lies across the picture,
    the shortest towards the eye; then it is turned and tilted."""
    centred = vertices - vertices.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    for axis in axes:  # of two directions the one in which its largest part is positive
        axis *= np.sign(axis[np.argmax(np.abs(axis))]) or 1.0
    if np.linalg.det(axes) < 0:
        axes[2] *= -1
    flat = centred @ axes.T
    turn = np.array([[np.cos(_turn), -np.sin(_turn), 0], [np.sin(_turn), np.cos(_turn), 0],
                     [0, 0, 1]])  # fmt: skip
    tilt = np.array([[1, 0, 0], [0, np.cos(_tilt), np.sin(_tilt)],
                     [0, -np.sin(_tilt), np.cos(_tilt)]])  # fmt: skip
    return np.asarray(flat @ turn.T @ tilt.T)


def _steps(values: NDArray[np.float64], most: float) -> NDArray[np.int64]:
    """A colour for each value, the middle one for 0."""
    share = np.nan_to_num(values / most) if most > 0 else np.zeros_like(values)
    step = np.floor((share + 1) / 2 * len(colours)).astype(np.int64)
    return np.clip(step, 0, len(colours) - 1)


def _outside(field: _Field, seen: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which faces are drawn: of a closed object those whose outside the eye sees, else all.

    An object with a few holes, as between a wing and a hull, counts as closed.
    """
    edges: dict[tuple[int, int], int] = {}
    for face in field.faces:
        for here, there in zip(face, [*face[1:], face[0]], strict=True):
            edges[min(here, there), max(here, there)] = \
                edges.get((min(here, there), max(here, there)), 0) + 1
    if sum(count != 2 for count in edges.values()) > _most_holes * len(edges):
        return np.ones(len(field.faces), dtype=bool)
    towards, volume = np.empty(len(field.faces)), 0.0
    for number, face in enumerate(field.faces):
        corners = seen[face]
        normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
        towards[number] = normal[2]
        volume += float(corners[0] @ normal)
    return np.asarray(towards * np.sign(volume) > 0)


def _polygons(field: _Field, most: float) -> tuple[list[str], float]:
    """Faces from the back to the front, and the height of the picture."""
    seen = _seen(field.vertices)
    low, high = seen.min(axis=0), seen.max(axis=0)
    scale = (_width - 2 * _margin) / max(high[0] - low[0], 1e-300)
    places = np.stack([(seen[:, 0] - low[0]) * scale + _margin,
                       (high[1] - seen[:, 1]) * scale + _margin], axis=1)
    words = [f"{x:.0f} {y:.0f}" for x, y in places]
    steps = _steps(field.values, most)
    is_seen = _outside(field, seen)
    depth = np.array([seen[face, 2].mean() for face in field.faces])
    drawn = [f'<path class="f{steps[number]}" '
             f'd="M{"L".join(words[corner] for corner in field.faces[number])}Z"/>'
             for number in np.argsort(depth, kind="stable") if is_seen[number]]
    return drawn, float((high[1] - low[1]) * scale + 2 * _margin)


def _legend(top: float, most: float) -> str:
    wide = 46.0
    left = (_width - wide * len(colours)) / 2
    boxes = "".join(f'<rect class="f{step}" x="{left + wide * step:g}" y="{top:g}" '
                    f'width="{wide:g}" height="12"/>' for step in range(len(colours)))
    words = ((left, f"{-most:.2g}"), (_width / 2, "0"), (_width - left, f"{most:.2g}"))
    texts = "".join(f'<text x="{x:g}" y="{top + 30:g}" text-anchor="middle">{text}</text>'
                    for x, text in words)
    return boxes + texts


def draw(path: Path) -> FieldPicture:
    """@error BadField if the file holds none."""
    field = _read(path)
    finite = np.abs(field.values[np.isfinite(field.values)])
    # A few faces have a field far above all others', which would make these pale.
    most = float(np.quantile(finite, 0.98)) if finite.size else 0.0
    polygons, height = _polygons(field, most)
    style = "".join(f".f{step}{{fill:{colour}}}" for step, colour in enumerate(colours))
    svg = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_width:g} '
           f'{height + _under:.0f}" role="img" aria-label="{len(field.faces)} faces, coloured by '
           f'the magnetic field"><style>{style}</style>'
           f'<g stroke="#5c6670" stroke-width=".4" stroke-linejoin="round">{"".join(polygons)}</g>'
           f'<g font-family="sans-serif" font-size="13" fill="#808890">'
           f"{_legend(height + 8, most)}</g></svg>")
    title = f"{field.mesh} after {field.iterations:,} iterations"
    text = (f"{len(field.faces):,} magnetic nodes on the faces: red towards the outside, blue "
            "towards the inside. The strongest 2 % have the colour of the scale's ends.")
    return FieldPicture(title, text, svg)


def draw_fields(paths: Sequence[Path]) -> tuple[list[FieldPicture], list[str]]:
    """Pictures of all files, and sentences on those that are none."""
    pictures, notes = [], []
    for path in paths:
        try:
            pictures.append(draw(path))
        except BadField as problem:
            notes.append(f"{path} {problem}; not drawn.")
    return pictures, notes
