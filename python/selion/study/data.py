# SPDX-License-Identifier: Apache-2.0
"""Data that a study's program reads, from packages that ship them."""

from __future__ import annotations

import gzip
import importlib.metadata
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selion.mistake import Failure

names = ("digits",)


@contextmanager
def file_of(name: str) -> Iterator[Path]:
    """A file with the data, as long as it is needed.

    `digits`: 1797 rows of 64 pixels, 0 to 16, and the digit that they show, with commas (the UCI
    machine learning repository's handwritten digits, as scikit-learn ships them).

    @error Failure: the package that ships them is not there.
    """
    with tempfile.TemporaryDirectory(prefix="selion-") as folder:
        path = Path(folder) / f"{name}.csv"
        path.write_bytes(_digits())
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
