# SPDX-License-Identifier: Apache-2.0
"""selion trace: where the time of each rank went, and what recording has taken of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from selion import trace_file
from selion.cli.output import answers_mistakes, print_json_lines, print_table, printable
from selion.drawing.heat_map import length
from selion.mistake import Mistake
from selion.trace_file import NameTotal, RankTime, Trace

_most = 20  # ranks, and names, where nobody says how many
_ps_in_us = 1_000_000


def _time(us: float) -> str:
    return length(us * _ps_in_us, "ps")


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f}" if whole else ""


def _busiest(trace: Trace) -> RankTime:
    return max(trace.ranks, key=lambda rank: rank.events)


def _overhead(trace: Trace) -> str:
    if trace.is_virtual:
        return "Recording takes no virtual time."
    rank = _busiest(trace)
    return (f"Recording an event takes about {trace.event_cost_ns:.0f} ns here, writing it "
            f"included: of rank {rank.rank}, which has the most ({rank.events:,}), about "
            f"{_time(trace.cost_of(rank))} beside {_time(rank.time)}.")


def _gaps(trace: Trace) -> list[str]:
    """What the trace does not hold."""
    sentences = []
    dropped = sum(rank.dropped for rank in trace.ranks)
    if dropped:
        sentences.append(f"{dropped:,} events were beyond what a trace keeps: times and shares are "
                         "of what came before them.")
    if not trace.is_whole:
        sentences.append(_early_end(trace))
    return sentences


def _early_end(trace: Trace) -> str:
    some = sum(not rank.has_ended for rank in trace.ranks)
    whose = f" of {some:,} of {len(trace.ranks):,} ranks" if 0 < some < len(trace.ranks) else ""
    return ("The job did not come to its end, or the file took no more: the last events"
            f"{whose} may be missing.")


def _print_head(trace: Trace) -> None:
    events = sum(rank.events for rank in trace.ranks)
    print(f"{printable(trace.machine)}: {len(trace.ranks):,} ranks, {events:,} events, "
          f"{'virtual' if trace.is_virtual else 'real'} time")
    for sentence in (_overhead(trace), *_gaps(trace)):
        print(sentence)


def _parts(trace: Trace, rank: RankTime) -> dict[str, float]:
    parts = {"program": rank.program, "operations": rank.operations,
             "collectives": rank.collectives, "waiting": rank.waiting}
    return parts if trace.is_virtual else {**parts, "recording": rank.recording}


def _print_ranks(trace: Trace, ranks: Sequence[RankTime]) -> None:
    shares = [f"{part}_%" for part in _parts(trace, ranks[0])]
    lines = [[str(each.rank), str(each.events), _time(each.time),
              *(_percent(part, each.time) for part in _parts(trace, each).values())]
             for each in ranks]  # fmt: skip
    print_table(["rank", "events", "time", *shares], lines)


def _print_names(names: Sequence[NameTotal]) -> None:
    lines = [[each.name, each.category, str(each.count), _time(each.total), _time(each.mean),
              _time(each.longest)] for each in names]  # fmt: skip
    print_table(["name", "kind", "count", "total", "mean", "longest"], lines)


def _tell_rest(shown: int, all_of_them: int, kind: str) -> None:
    if 0 < shown < all_of_them:
        print(f"\n{shown} of {all_of_them:,} {kind}; --most 0 shows all of them.")


def _rank_row(trace: Trace, rank: RankTime) -> dict[str, object]:
    return {
        "rank": rank.rank,
        "events": rank.events,
        "dropped": rank.dropped,
        "time_us": rank.time,
        "program_us": rank.program,
        "operations_us": rank.operations,
        "collectives_us": rank.collectives,
        "waiting_us": rank.waiting,
        "recording_us": rank.recording,
    }


@answers_mistakes("trace")
def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Of SELION_TRACE.")],
    most: Annotated[
        int, typer.Option(metavar="N", help="Ranks, and names of slices, at most; 0: all.")
    ] = _most,
    as_json: Annotated[bool, typer.Option("--json", help="JSON Lines, one object a rank.")] = False,
) -> None:
    """Show where the time of each rank went, and what recording has taken of it.

    The job writes FILE if SELION_TRACE=FILE is set; viewers of Chrome traces, such as
    ui.perfetto.dev, draw it. A rank's time is from its first call to the end of its last one. A
    wait counts as waiting and not as the call that it lies in; what is outside of all calls is the
    program's own, but for what recording has taken.
    """
    if most < 0:
        raise Mistake(f"--most is {most}; legal is 0 or more.")
    trace = trace_file.read(file)
    if as_json:
        print_json_lines(_rank_row(trace, rank) for rank in trace.ranks)
        return
    _print_head(trace)
    print()
    _print_ranks(trace, trace.ranks[:most] if most else trace.ranks)
    _tell_rest(most, len(trace.ranks), "ranks")
    print()
    _print_names(trace.names[:most] if most else trace.names)
    _tell_rest(most, len(trace.names), "names")
