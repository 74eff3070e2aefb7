# SPDX-License-Identifier: Apache-2.0
"""What may stand where an array does, for type checkers."""

from __future__ import annotations

from typing import Any, Protocol


class Tensor(Protocol):
    """An array of another library that speaks DLPack."""

    def __dlpack__(self, *args: Any, **named: Any) -> Any:
        """Its memory, as a capsule."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """Kind and number of the device that has it: (1, 0) is the host."""
