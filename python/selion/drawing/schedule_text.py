# SPDX-License-Identifier: Apache-2.0
"""Schedules in words: what `selion schedule` prints."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from selion import schedules
from selion.schedules import BlockRange, Message, Played, PlayedMessage, RankSchedule, Request

_line_width = 200
_most_rounds = 32
_reductions = ("reduce", "all_reduce", "reduce_scatter", "scan", "exscan")
_of_vectors = (*_reductions, "broadcast")
_there_and_back = ("barrier", "all_reduce", "reduce_scatter", "all_gather")


def count(number: int, thing: str) -> str:
    """"1 message", "2 messages"."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def title(request: Request) -> str:
    """What a schedule is, with all that it depends on."""
    words = f"{request.collective} by {request.algorithm}"
    if schedules.uses_radix(request.algorithm):
        words += f" of radix {request.radix}"
    if request.algorithm == "hierarchical":
        words += f" in groups of {request.group}"
    if request.algorithm in ("mesh", "mapped", "spread"):
        words += f" in rows of {request.group}"
    if schedules.uses_seed(request.algorithm):
        words += f" with seed {request.seed}"
    if request.segments != 1 and schedules.uses_segments(request.collective, request.algorithm):
        words += f" in {request.segments} segments"
    if schedules.has_root(request.collective):
        words += f" with root {request.root}"
    return f"{words} on {count(request.ranks, 'rank')}"


def _a_block(request: Request, blocks: int) -> str:
    if request.collective in _of_vectors:
        return "the vector" if blocks == 1 else f"1/{blocks} of the vector"
    if request.collective == "exchange":
        return "what one rank has for another"
    return "what one rank gives" if request.collective != "scatter" else "what one rank gets"


def _order(played: Played) -> str:
    if played.request.collective not in _reductions:
        return "nothing is combined"
    if played.keeps_order:
        return "combined in the order of the ranks"
    return "not combined in the order of the ranks"


def numbers(played: Played) -> str:
    """What a schedule costs, and what may be done with it."""
    words = f"{count(played.rounds, 'round')}, {count(len(played.messages), 'message')}"
    if played.blocks == 0:
        return f"{words} without blocks"
    sent = f"{count(played.blocks_sent, 'block')} sent"
    return f"{words}, {sent} (a block: {_a_block(played.request, played.blocks)}); {_order(played)}"


# --- blocks ---------------------------------------------------------------------------------------


def _range_text(request: Request, blocks: int, each: BlockRange) -> str:
    if request.collective == "exchange":
        names = [divmod((each.first + i) % blocks, request.ranks) for i in range(each.count)]
        return ", ".join(f"{source}>{target}" for source, target in names)
    last = each.first + each.count - 1
    if last == each.first:
        return f"{each.first}"
    if last < blocks:
        return f"{each.first}-{last}"
    rest = last - blocks
    head = f"{each.first}-{blocks - 1}" if each.first < blocks - 1 else f"{each.first}"
    return f"{head}, 0-{rest}" if rest else f"{head}, 0"


def blocks_text(request: Request, blocks: int, ranges: Sequence[BlockRange], most: int = 4) -> str:
    """"block 2", "blocks 6-7, 0-1", "block 0>3" (from rank 0 to 3); "12 blocks" if in more ranges
    than `most`; empty for none."""
    number = sum(each.count for each in ranges)
    if number == 0:
        return ""
    is_long = len(ranges) > most or (request.collective == "exchange" and number > most)
    if is_long:
        return f"{number} blocks"
    names = ", ".join(_range_text(request, blocks, each) for each in ranges)
    return f"block{'' if number == 1 else 's'} {names}"


def arrival_text(request: Request, blocks: int, message: PlayedMessage | Message) -> str:
    """What happens where a message arrives: "block 0", "own + block 0", "block 0 + own"."""
    words = blocks_text(request, blocks, message.blocks)
    if message.action == "combine_after":
        return f"own + {words}"
    return f"{words} + own" if message.action == "combine_before" else words


# --- lines ----------------------------------------------------------------------------------------


def _cut(groups: Sequence[tuple[str, list[str]]], shown: Callable[[str, str], str],
         room: int) -> tuple[str, int]:
    """As much of the groups as there is room for, at least one, and how much is left out.

    @param groups what is said of several, and of whom. @param shown makes text of such a pair.
    """
    total = sum(len(who) for _, who in groups)
    done, text, number = "", "", 0
    for what, who in groups:
        for end in range(1, len(who) + 1):
            longer = done + shown(what, ", ".join(who[:end]))
            left = total - number - 1
            tail = f"; {left:,} more" if left else ""
            if number and len(longer) + len(tail) > room:
                return f"{text}; {total - number:,} more", total - number
            text, number = longer, number + 1
        done = f"{text}; "
    return text, 0


def _groups(pairs: Sequence[tuple[str, str]], neighbours_only: bool) -> list[tuple[str, list[str]]]:
    """Pairs of what and who: those of whom the same is said together."""
    groups: list[tuple[str, list[str]]] = []
    for what, who in pairs:
        candidates = groups[-1:] if neighbours_only else groups
        for name, members in candidates:
            if name == what:
                members.append(who)
                break
        else:
            groups.append((what, [who]))
    return groups


def _round_line(played: Played, messages: Sequence[PlayedMessage], number: int) -> tuple[str, int]:
    pairs = [(arrival_text(played.request, played.blocks, each),
              f"{each.source} -> {each.target}") for each in messages]
    head = f"round {number}: "
    text, left = _cut(_groups(pairs, neighbours_only=False),
                      lambda what, who: f"{who}: {what}" if what else who,
                      _line_width - len(head))
    return head + text, left


def round_lines(played: Played) -> list[str]:
    """A line for each round, and at the end what was left out."""
    by_round: list[list[PlayedMessage]] = [[] for _ in range(played.rounds)]
    for message in played.messages:
        by_round[message.round].append(message)
    lines, left = [], 0
    for number, messages in enumerate(by_round[:_most_rounds]):
        line, more = _round_line(played, messages, number)
        lines.append(line)
        left += more
    hidden = by_round[_most_rounds:]
    if hidden:
        lines.append(f"{count(len(hidden), 'more round')}")
        left += sum(map(len, hidden))
    if left:
        lines.append(f"{count(left, 'message')} left out; --json has all.")
    return lines


def _step_line(verb: str, joint: str, request: Request, blocks: int,
               messages: Sequence[Message]) -> tuple[str, int]:
    def what(message: Message) -> str:
        if verb == "send":
            return blocks_text(request, blocks, message.blocks)
        return arrival_text(request, blocks, message)

    pairs = [(what(each), str(each.peer)) for each in messages]
    return _cut(_groups(pairs, neighbours_only=True),
                lambda said, who: f"{verb} {said} {joint} {who}" if said else
                f"{verb} {joint} {who}", _line_width - 12)


def rank_lines(request: Request, rank: int, own: RankSchedule) -> list[str]:
    """What one rank does, a line for each step and direction."""
    sent = sum(len(step.sends) for step in own.steps)
    received = sum(len(step.receives) for step in own.steps)
    lines = [f"rank {rank} in {title(request)}: {count(len(own.steps), 'step')}, "
             f"{count(sent, 'message')} sent, {received:,} received"]
    left = 0
    for number, step in enumerate(own.steps[:_most_rounds]):
        head = f"step {number}: "
        for verb, joint, messages in (("send", "to", step.sends),
                                      ("receive", "from", step.receives)):
            if messages:
                line, more = _step_line(verb, joint, request, own.blocks, messages)
                lines.append(head + line)
                head, left = " " * len(head), left + more
    hidden = own.steps[_most_rounds:]
    if hidden:
        lines.append(f"{count(len(hidden), 'more step')}")
        left += sum(len(step.sends) + len(step.receives) for step in hidden)
    if left:
        lines.append(f"{count(left, 'message')} left out; --json has all.")
    return lines


# --- the algorithms of a collective ---------------------------------------------------------------


def explanation(request: Request) -> str:
    """One line on how an algorithm goes about its collective."""
    collective, radix = request.collective, request.radix
    of_one = {
        ("mesh", "all_gather"): f"along rows of {request.group}, then along the columns",
        ("flat", "exchange"): "everybody with everybody, all under way together",
        ("pairwise", "all_reduce"): "everybody's vector to everybody",
        ("recursive_doubling", "scan"): "everybody to the rank 1, 2, 4, … further on",
        ("recursive_doubling", "exscan"): "everybody to the rank 1, 2, 4, … further on",
        ("binary", "scan"): "the last rank of pairs, of pairs of pairs, …, and back down",
        ("binary", "exscan"): "the last rank of pairs, of pairs of pairs, …, and back down",
        ("recursive_halving", "all_reduce"): "pairs swap halves, quarters, …, and the same back",
        ("vector_halving", "all_reduce"):
            "neighbours swap halves, pairs of them quarters, …, and the same back",
        ("ring", "all_reduce"): "everybody to the next, a part at a time, twice round",
    }
    trees = {
        "flat": "a root and all others",
        "k_nomial": f"a tree: the digits of a rank in base {radix}",
        "binary": "a tree: two halves below each rank",
        "chain": "one rank after another",
        "hierarchical": f"trees in groups of {request.group}, and one over their leaders",
        "mesh": f"neighbours on a mesh in rows of {request.group}",
    }
    others = {
        "dissemination": f"everybody to 1 to {radix - 1} times a power of {radix} away"
        if radix > 2 else "everybody to the rank 1, 2, 4, … away",
        "recursive_doubling": "pairs swap what they have, then pairs of pairs, …",
        "recursive_halving": "pairs swap halves, then quarters, …",
        "ring": "everybody to the next, a part at a time, once round",
        "scatter_ring": "scattered over a tree, then once round a ring",
        "bruck": "few messages, which carry what belongs to others too",
        "pairwise": "everybody with everybody, one after another",
        "pass_up": "to the next higher rank first, all under way together",
        "zero_to_n": "to rank 0 first, then up, all under way together",
        "random": "each rank in an order of its own, all under way together",
        "mapped": f"to the nearest on a mesh in rows of {request.group} first, all under way "
        "together",
        "spread": f"ways evenly over the links of a mesh in rows of {request.group}, all under "
        "way together",
    }
    special = of_one.get((request.algorithm, collective))
    if special:
        return special
    tree = trees.get(request.algorithm)
    if tree:
        return tree + ("; up and down" if collective in _there_and_back else "")
    return others[request.algorithm]


def _sent(played: Played) -> str:
    if played.request.collective not in _of_vectors:
        return f"{played.blocks_sent:,}"
    return f"{played.blocks_sent / played.blocks:.4g}"


def comparison(played: Sequence[Played]) -> tuple[list[str], list[list[str]]]:
    """Columns and lines of a table of algorithms of one collective."""
    collective = played[0].request.collective
    columns = ["algorithm", "rounds", "messages"]
    if collective != "barrier":
        columns.append("vectors sent" if collective in _of_vectors else "blocks sent")
    if collective in _reductions:
        columns.append("in order")
    columns.append("how")
    lines = []
    for each in played:
        line = [each.request.algorithm, f"{each.rounds:,}", f"{len(each.messages):,}"]
        if collective != "barrier":
            line.append(_sent(each))
        if collective in _reductions:
            line.append("yes" if each.keeps_order else "no")
        lines.append([*line, explanation(each.request)])
    return columns, lines
