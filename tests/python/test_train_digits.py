# SPDX-License-Identifier: Apache-2.0
"""train_digits.py: the same network whoever computes the gradients, and options are checked."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys

import pytest

from conftest import clean_environment, needs_module, root, seconds

pytestmark = needs_module


def train(*arguments: object) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, root / "examples" / "train_digits.py", *map(str, arguments)],
        env=clean_environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=seconds,
    )


@pytest.mark.parametrize(("option", "value", "sentence"), [
    ("--workers", "0", "'0' is not a whole number from 1 to 1000"),
    ("--epochs", "0", "'0' is not a whole number from 1 to 100000"),
    ("--hidden", "-4", "'-4' is not a whole number from 1 to 100000"),
    ("--batch", "0", "'0' is not a whole number from 1 to 1797"),
    ("--rate", "nan", "'nan' is not a positive number"),
    ("--seed", "-1", "'-1' is not a whole number from 0 to 4294967295"),
])
def test_a_bad_value_is_one_sentence(option, value, sentence):
    done = train(f"{option}={value}")
    assert (done.returncode, done.stdout) == (2, "")
    told = done.stderr.splitlines()[-1]
    assert told == f"train_digits.py: error: argument {option}: {sentence}"
    assert "Traceback" not in done.stderr


def has_digits() -> bool:
    try:
        importlib.metadata.distribution("scikit-learn")
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


@pytest.mark.skipif(not has_digits(), reason="the package scikit-learn, which ships the digits, "
                    "is missing")
@pytest.mark.parametrize("workers", [1, 3])
def test_workers_train_the_same_network(workers):
    done = train("--workers", workers, "--epochs", 6, "--hidden", 64)
    assert (done.returncode, done.stderr) == (0, "")
    alone, shared = re.findall(r"accuracy ([\d.]+) %", done.stdout)
    assert float(alone) > 70  # a guess is right for 10 in 100
    # Gradients are added up in another order, which may turn the odd image.
    assert abs(float(alone) - float(shared)) < 2
