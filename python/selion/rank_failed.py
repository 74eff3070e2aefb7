# SPDX-License-Identifier: Apache-2.0
"""How a job of `selion.run(..., machine=...)` fails."""

from __future__ import annotations

from typing import Any


class RankFailed(Exception):
    """A rank has raised an exception, has left early or has died, or the library has ended the job.

    Its cause is the rank's exception where that can be pickled.
    """

    def __init__(
        self, sentence: str, rank: int | None = None, traceback: str = "", status: int = 1
    ) -> None:
        super().__init__(sentence)
        self.rank = rank
        """Which one it was; None where that is not known."""
        self.traceback = traceback
        """What the rank would have printed; empty where it has raised nothing."""
        self.status = status
        """Exit status of the job, as a shell would show it."""
        if traceback:
            self.add_note(f"\nOn rank {rank}:\n{traceback.rstrip()}")

    def __reduce__(self) -> tuple[Any, ...]:
        return RankFailed, (self.args[0], self.rank, self.traceback, self.status)
