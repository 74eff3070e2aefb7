#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small multi-layer perceptron on handwritten digits, data-parallel over workers, as the
users of MultiSpert trained theirs: every worker has the gradient of its part of a batch, the host
adds them up and changes the weights. Weights, images and gradients lie in memory that all share, so
only a few numbers travel.

    train_digits.py [--workers N] [--epochs N]

The digits are those that the package scikit-learn ships (1797 images of 8 x 8, from the UCI machine
learning repository); of the package only that file is used.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.metadata
import math
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # one processor for each worker; before NumPy is loaded

import numpy as np
from numpy.typing import NDArray

from selion.offload import Pool, predict, verdict

inputs, classes = 64, 10
tested = 360  # images that training does not see
Floats = NDArray[np.float64]


def load_digits() -> tuple[Floats, NDArray[np.int64]]:
    """Images, scaled to 0..1, and their digits."""
    try:
        package = importlib.metadata.distribution("scikit-learn")
    except importlib.metadata.PackageNotFoundError:
        sys.exit("scikit-learn is missing, whose digits this trains on: "
                 "pip install --no-deps scikit-learn")
    path = package.locate_file("sklearn/datasets/data/digits.csv.gz")
    with gzip.open(str(path), "rt") as file:
        table = np.loadtxt(file, delimiter=",")
    return table[:, :inputs] / 16.0, table[:, inputs].astype(np.int64)


def layers(weights: Floats, hidden: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Views of a vector: weights and offsets of both layers."""
    first = inputs * hidden
    second = first + hidden
    third = second + hidden * classes
    return (
        weights[:first].reshape(inputs, hidden),
        weights[first:second],
        weights[second:third].reshape(hidden, classes),
        weights[third:],
    )


def outputs(weights: Floats, hidden: int, images: Floats) -> tuple[Floats, Floats]:
    """What the hidden layer and the output layer say; the latter as probabilities."""
    w1, b1, w2, b2 = layers(weights, hidden)
    middle = np.tanh(images @ w1 + b1)
    scores = middle @ w2 + b2
    scores -= scores.max(axis=1, keepdims=True)
    likely = np.exp(scores)
    likely /= likely.sum(axis=1, keepdims=True)
    return middle, likely


def gradient(
    weights: Floats,
    hidden: int,
    images: Floats,
    digits: NDArray[np.int64],
    chosen: NDArray[np.int64],
    into: Floats,
) -> float:
    """The gradient of the loss over the chosen images. Returns the seconds that it took."""
    start = time.perf_counter()
    part = images[chosen]
    middle, likely = outputs(weights, hidden, part)
    likely[np.arange(len(chosen)), digits[chosen]] -= 1
    g1, o1, g2, o2 = layers(into, hidden)
    np.matmul(middle.T, likely, out=g2)
    likely.sum(axis=0, out=o2)
    back = (likely @ layers(weights, hidden)[2].T) * (1 - middle * middle)
    np.matmul(part.T, back, out=g1)
    back.sum(axis=0, out=o1)
    return time.perf_counter() - start


@dataclass
class Run:
    """What a training came to. Seconds are of all its steps."""

    accuracy: float
    seconds: float
    steps: int
    send: float = 0.0  #: the host: what it does before the workers begin, and calling them
    fetch: float = 0.0  #: the host: adding up
    compute: float = 0.0  #: all workers


class Training:
    """A network, the images, and who computes gradients: `pool`, or, without one, this process."""

    def __init__(self, given: argparse.Namespace, pool: Pool | None) -> None:
        self._given = given
        self._pool = pool
        self._random = np.random.default_rng(given.seed)
        images, digits = load_digits()
        self._test = images[-tested:], digits[-tested:]
        self._images = self._kept(images[:-tested])
        self._digits = self._kept(digits[:-tested])
        count = (inputs + 1) * given.hidden + (given.hidden + 1) * classes
        self._weights = self._kept(self._random.normal(0, 0.1, count))
        parts = given.workers if pool else 1
        self._gradients = [self._kept(np.zeros(count)) for _ in range(parts)]
        self._speed = np.zeros(count)

    def _kept(self, array: NDArray) -> NDArray:
        """A copy where workers see it."""
        if self._pool is None:
            return array.copy()
        shared = self._pool.array(array.shape, array.dtype)
        shared[...] = array
        return shared

    def run(self) -> Run:
        result = Run(0.0, 0.0, 0)
        start = time.perf_counter()
        for _ in range(self._given.epochs):
            order = self._random.permutation(len(self._images))
            for first in range(0, len(order), self._given.batch):
                self._step(order[first : first + self._given.batch], result)
        result.seconds = time.perf_counter() - start
        images, digits = self._test
        likely = outputs(self._weights, self._given.hidden, images)[1]
        result.accuracy = float((likely.argmax(axis=1) == digits).mean())
        return result

    def _step(self, batch: NDArray[np.int64], result: Run) -> None:
        start = time.perf_counter()
        arguments = [
            (self._weights, self._given.hidden, self._images, self._digits, part, into)
            for part, into in zip(np.array_split(batch, len(self._gradients)), self._gradients)
        ]
        if self._pool is None:
            result.compute += gradient(*arguments[0])
            sent = done = time.perf_counter()
        else:
            calls = [self._pool.submit(gradient, *each) for each in arguments]
            sent = time.perf_counter()
            result.compute += sum(each.result() for each in calls)
            done = time.perf_counter()
        total = self._gradients[0]
        for each in self._gradients[1:]:
            total += each
        self._speed *= 0.9
        self._speed -= self._given.rate / len(batch) * total
        self._weights += self._speed
        result.steps += 1
        result.send += sent - start if self._pool else 0.0
        result.fetch += time.perf_counter() - done


def whole_number(least: int, most: int) -> Callable[[str], int]:
    """What an option takes. Another value is a sentence, before anything is computed."""

    def read(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(
                f"'{text}' is not a whole number from {least} to {most}")
        return int(text)

    return read


def positive(text: str) -> float:
    number = float(text)
    if not (0 < number < math.inf):
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive number")
    return number


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--workers", type=whole_number(1, 1000), default=2)
    parser.add_argument("--epochs", type=whole_number(1, 100_000), default=40)
    parser.add_argument("--hidden", type=whole_number(1, 100_000), default=1024,
                        help="units of the hidden layer")
    parser.add_argument("--batch", type=whole_number(1, 1797), default=479,
                        help="images of a step")
    parser.add_argument("--rate", type=positive, default=0.3, help="of learning")
    parser.add_argument("--seed", type=whole_number(0, 2**32 - 1), default=1)
    given = parser.parse_args()
    alone = Training(given, None).run()
    with Pool(given.workers) as pool:
        one_epoch = argparse.Namespace(**{**vars(given), "epochs": 1})
        Training(one_epoch, pool).run()  # functions and pages are there after it
        profile = Training(one_epoch, pool).run()
        shared = Training(given, pool).run()
    tell(given, alone, profile, shared)


def tell(given: argparse.Namespace, alone: Run, profile: Run, shared: Run) -> None:
    """Accuracies and speed-up, and what one epoch had let expect."""
    workers = f"{given.workers} worker{'s' if given.workers > 1 else ''}"
    print(f"alone:      accuracy {100 * alone.accuracy:.1f} %, {alone.seconds:.2f} s")
    print(f"{workers + ':':11} accuracy {100 * shared.accuracy:.1f} %, {shared.seconds:.2f} s")
    connections = (inputs + classes) * given.hidden * (1797 - tested) * given.epochs
    print(f"speed-up {alone.seconds / shared.seconds:.2f}, "
          f"{connections / shared.seconds / 1e6:.0f} million connections a second")
    epochs = given.epochs
    work = profile.send * epochs, profile.fetch * epochs, profile.compute * epochs
    expected = predict(*work, given.workers)
    print(f"predicted {alone.seconds / expected.total:.2f} from one epoch: "
          f"{verdict(*work, given.workers)}")
    slower = profile.compute * epochs / alone.compute
    if slower > 1.15:
        print(f"At the same time workers are {slower:.1f} times as slow as one alone: "
              "their processors share units or memory.")


if __name__ == "__main__":
    main()
