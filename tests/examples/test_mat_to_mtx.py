# SPDX-License-Identifier: Apache-2.0
"""scripts/mat-to-mtx reads sparse matrices of MATLAB, and refuses others with a sentence."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

from started import root

_int32, _uint32, _double, _int8, _matrix = 5, 6, 9, 1, 14
_head = b"MATLAB 5.0".ljust(124) + b"\x00\x01IM"


def element(kind: int, form: str, *numbers: float) -> bytes:
    data = struct.pack("<" + form * len(numbers), *numbers)
    return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)


def file_of(extents: bytes, first: bytes) -> bytes:
    """A matrix A of two columns with the values 1 and 2."""
    parts = (element(_uint32, "I", 5, 0) + extents + element(_int8, "b", ord("A"))
             + element(_int32, "i", 0, 1) + first + element(_double, "d", 1, 2))
    return _head + struct.pack("<II", _matrix, len(parts)) + parts


def converted(folder: Path, data: bytes) -> subprocess.CompletedProcess:
    (folder / "a.mat").write_bytes(data)
    return subprocess.run([root / "scripts/mat-to-mtx", "a.mat", "a.mtx"], cwd=folder,
                          capture_output=True, text=True)


_extents = element(_int32, "i", 2, 2)
_first = element(_int32, "i", 0, 1, 2)


def test_a_matrix(tmp_path):
    assert converted(tmp_path, file_of(_extents, _first)).returncode == 0
    assert (tmp_path / "a.mtx").read_text() == (
        "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0\n2 2 2.0\n")


@pytest.mark.parametrize("data", [
    b"",
    _head + struct.pack("<II", _matrix, 8),
    file_of(_extents, element(_int32, "i", 0, 1, 3)),  # more than there are
    file_of(element(_int32, "i", 2, -1), element(_int32, "i")),
    file_of(element(_double, "d", float("nan"), 2), _first),
    file_of(_extents, element(_double, "d", 0, 0.5, 2)),
])
def test_what_is_no_matrix_is_refused(tmp_path, data):
    done = converted(tmp_path, data)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("mat-to-mtx: a.mat: ") and done.stderr.count("\n") == 1
    assert not (tmp_path / "a.mtx").exists()
