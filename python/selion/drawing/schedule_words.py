# SPDX-License-Identifier: Apache-2.0
"""What the pictures of schedules have in common: colours of messages, and words about them."""

from __future__ import annotations

from selion.drawing import schedule_text
from selion.schedules import Played, PlayedMessage

# Okabe and Ito's colours, which the colour-blind tell apart too.
_kinds = {
    "bare": ("#444444", "a message without blocks"),
    "store": ("#0072b2", "blocks are stored"),
    "combine_after": ("#d55e00", "blocks are combined: own value first, then what comes"),
    "combine_before": ("#00805f", "blocks are combined: what comes first, then the own value"),
}


def _kind(message: PlayedMessage) -> str:
    return message.action if message.blocks else "bare"


def colour_of(message: PlayedMessage) -> str:
    return _kinds[_kind(message)][0]


def legend_of(played: Played) -> list[tuple[str, str]]:
    """Colours that occur, and what they mean."""
    present = {_kind(each) for each in played.messages}
    return [meaning for kind, meaning in _kinds.items() if kind in present]


def tip_of(played: Played, message: PlayedMessage) -> str:
    """All about one message."""
    words = schedule_text.arrival_text(played.request, played.blocks, message)
    head = f"round {message.round}: {message.source} -> {message.target}"
    return f"{head}: {words}" if words else head
