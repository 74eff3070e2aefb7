# SPDX-License-Identifier: Apache-2.0
"""Which way each rank of a job reaches which others: asked of a job that does nothing else."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path

from selion.doctor.check import Check, passed

_limit_seconds = 120
# As the machine says it under SELION_VERBOSE.
_form = re.compile(
    r"rank (?P<rank>\d+) of (?P<ranks>\d+) on host (?P<host>\S+) over (?P<provider>\S+) on "
    r"(?P<interface>\S+), .*?(?:memory shared by ranks (?P<first>\d+) to (?P<last>\d+)|"
    r"all memory its own)"
)


@dataclass(frozen=True)
class Place:
    """Where a rank is. @param first, last ranks that share memory with it, itself among them."""

    rank: int
    ranks: int
    host: str
    provider: str
    interface: str
    first: int
    last: int


def read_places(text: str) -> list[Place]:
    """From what a job has said, by rank."""
    places = []
    for found in _form.finditer(text):
        own = int(found["rank"])
        places.append(Place(own, int(found["ranks"]), found["host"], found["provider"],
                            found["interface"], int(found["first"] or own),
                            int(found["last"] or own)))  # fmt: skip
    return sorted(places, key=lambda place: place.rank)


def _range(first: int, last: int) -> str:
    return f"rank {first}" if first == last else f"ranks {first} to {last}"


def path_check(place: Place, moving: Set[str]) -> Check:
    """@param moving providers that make long transfers by themselves."""
    ways = []
    if place.first != place.last:
        ways.append(f"{_range(place.first, place.last)} through shared memory of the host")
    ends = ((0, place.first - 1), (place.last + 1, place.ranks - 1))
    far = " and ".join(_range(first, last) for first, last in ends if first <= last)
    if far:
        long = "moves" if place.provider in moving else "frames too"
        ways.append(f"{far} by frames over {place.provider} on {place.interface}, "
                    f"long transfers by {long}")  # fmt: skip
    return passed(f"rank {place.rank} on {place.host}", "; ".join(ways) or "there is nobody else")


def checks(ranks: int | None, hosts: str | None, moving: Set[str]) -> list[Check]:
    """Starts a job and says what its ranks have found."""
    wished = os.environ.get("SELION_MACHINE", "")
    machine = wished if wished.partition(",")[0] == "fabric" else "fabric"
    command = [sys.executable, "-m", "selion", "run", "-m", machine, "--no-prefix"]
    command += ["-n", str(ranks)] if ranks is not None else []
    command += ["--hosts", hosts] if hosts is not None else []
    command.append(str(Path(__file__).with_name("meeting.py")))
    try:
        done = subprocess.run(command, env={**os.environ, "SELION_VERBOSE": "1"}, check=False,
                              capture_output=True, text=True, errors="replace",
                              timeout=_limit_seconds)
    except subprocess.TimeoutExpired:
        return [Check("job", "fail", f"has not ended after {_limit_seconds} s",
                      "see docs/howto/find-a-hang.md")]  # fmt: skip
    places = read_places(done.stderr)
    if done.returncode == 0 and places and len(places) == places[0].ranks:
        return [path_check(place, moving) for place in places]
    said = [line for line in done.stderr.splitlines() if line.startswith("selion")]
    return [Check("job", "fail", said[-1] if said else f"ended with status {done.returncode}",
                  "run it: selion " + shlex.join(command[3:]))]  # fmt: skip
