# SPDX-License-Identifier: Apache-2.0
"""Data that a study's program reads, from packages that ship them."""

from __future__ import annotations

import gzip
import importlib.metadata
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from selion.mistake import Failure

names = ("digits",)


@contextmanager
def file_of(name: str) -> Iterator[Path]:
    """A file with the data, as long as it is needed.

    `digits`: 1797 rows of 64 pixels, 0 to 16, and the digit that they show, with commas (the UCI
    machine learning repository's handwritten digits, as scikit-learn ships them).

    @error Failure: the package that ships them is not there, or there is no room for the file.
    """
    data = _digits()
    with ExitStack() as kept:
        try:
            folder = kept.enter_context(tempfile.TemporaryDirectory(prefix="selion-"))
            path = Path(folder) / f"{name}.csv"
            path.write_bytes(data)
        except OSError as problem:
            raise Failure(f"The {name} that this experiment trains on cannot be written for its "
                          f"program: {problem.strerror or problem}; TMPDIR names the folder."
                          ) from None
        yield path


def _digits() -> bytes:
    try:
        package = importlib.metadata.distribution("scikit-learn")
        shipped = package.locate_file("sklearn/datasets/data/digits.csv.gz")
        with gzip.open(str(shipped)) as file:
            return file.read()
    except (importlib.metadata.PackageNotFoundError, OSError):
        raise Failure(
            "scikit-learn is missing, whose digits this experiment trains on: "
            "pip install --no-deps scikit-learn"
        ) from None
