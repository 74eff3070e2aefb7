# SPDX-License-Identifier: Apache-2.0
"""selion schedule: who sends what to whom in a collective."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from selion import schedules
from selion.cli import completion
from selion.cli.output import answers_mistakes, print_json_lines, print_table, printable
from selion.drawing import schedule_picture, schedule_text
from selion.drawing.svg import drawable
from selion.mistake import Mistake
from selion.schedules import BlockRange, Message, Played, Request
from selion.whole_file import write_whole

# Every rank is played, with a list of ranks for each of its blocks; messages are kept.
_most_ranks = 1024
_most_bytes = 2**29
_most_ranks_alone = 100_000
_most_drawn = 20_000
_most_messages = 2**20


@contextlib.contextmanager
def _library_s_sentences() -> Iterator[None]:
    """What the library says of a request is what the user reads."""
    try:
        yield
    except Mistake:
        raise
    except ValueError as problem:
        raise Mistake(f"{str(problem).removeprefix('schedule: ')}.") from None


def _check_size(request: Request) -> None:
    """@error Mistake for what would take minutes or memory by the gigabyte."""
    if request.ranks > _most_ranks:
        raise Mistake(f"{request.ranks:,} ranks are too many to be played; at most "
                      f"{_most_ranks:,} are, and --rank alone shows one of {_most_ranks_alone:,}.")
    with _library_s_sentences():
        blocks = schedules.make(request, 0).blocks
    grows = "reduce" in request.collective or "scan" in request.collective
    need = request.ranks * blocks * (4 * request.ranks if grows else 32)
    if need > _most_bytes:
        raise Mistake(
            f"To play {request.collective} by {request.algorithm} on {request.ranks:,} ranks "
            f"takes {need / 2**30:.1f} GiB; at most {_most_bytes / 2**30:.1f} GiB are used, so "
            "choose fewer ranks."
        )
    if schedules.sends_more_than(request, _most_messages):
        raise Mistake(
            f"{request.collective} by {request.algorithm} on {request.ranks:,} ranks sends more "
            f"than {_most_messages:,} messages: choose fewer ranks"
            + (" or segments." if request.segments > 1 else ".")
        )


def _play(request: Request) -> Played:
    _check_size(request)
    with _library_s_sentences():
        return schedules.play(request)


# --- JSON -----------------------------------------------------------------------------------------


def _as_data(request: Request) -> dict[str, Any]:
    """The request; what makes no difference to it is null."""
    data = asdict(request)
    if not schedules.has_root(request.collective):
        data["root"] = None
    if not schedules.uses_radix(request.algorithm):
        data["radix"] = None
    if not schedules.uses_group(request.algorithm):
        data["group"] = None
    if not schedules.uses_segments(request.collective, request.algorithm):
        data["segments"] = None
    if not schedules.uses_seed(request.algorithm):
        data["seed"] = None
    return data


def _summary(played: Played) -> dict[str, Any]:
    return _as_data(played.request) | {
        "blocks": played.blocks,
        "rounds": played.rounds,
        "messages": len(played.messages),
        "blocks_sent": played.blocks_sent,
        "keeps_order": played.keeps_order,
    }


def _pairs(blocks: Sequence[BlockRange]) -> list[list[int]]:
    return [[each.first, each.count] for each in blocks]


def _played_rows(played: Played) -> Iterator[dict[str, Any]]:
    yield _summary(played)
    for each in played.messages:
        yield {"round": each.round, "from": each.source, "to": each.target,
               "blocks": _pairs(each.blocks), "action": each.action}


def _rank_rows(request: Request, rank: int,
               own: schedules.RankSchedule) -> Iterator[dict[str, Any]]:
    def row(step: int, direction: str, message: Message) -> dict[str, Any]:
        return {"step": step, "direction": direction, "peer": message.peer,
                "blocks": _pairs(message.blocks), "action": message.action}

    yield _as_data(request) | {"rank": rank, "blocks": own.blocks, "steps": len(own.steps)}
    for number, step in enumerate(own.steps):
        yield from (row(number, "send", each) for each in step.sends)
        yield from (row(number, "receive", each) for each in step.receives)


# --- what can be asked for ------------------------------------------------------------------------


def _compare(request: Request, as_json: bool) -> None:
    with _library_s_sentences():
        names = schedules.algorithms(request.collective)
    played = [
        _play(Request(request.collective, name, request.ranks, request.root, request.radix,
                      request.group, request.segments, request.seed))
        for name in names
    ]
    if as_json:
        print_json_lines(_summary(each) | {"how": schedule_text.explanation(each.request)}
                         for each in played)
        return
    root = f" with root {request.root}" if schedules.has_root(request.collective) else ""
    print(f"{request.collective}{root} on {schedule_text.count(request.ranks, 'rank')}\n")
    print_table(*schedule_text.comparison(played))
    print("\nIn a round a rank sends at most one message and receives at most one."
          "\n--algorithm NAME shows one of them.")


def _show_rank(request: Request, rank: int, as_json: bool) -> None:
    if request.ranks > _most_ranks_alone:
        raise Mistake(f"{request.ranks:,} ranks are too many; at most {_most_ranks_alone:,}.")
    with _library_s_sentences():
        own = schedules.make(request, rank)
    if as_json:
        print_json_lines(_rank_rows(request, rank, own))
    else:
        print("\n".join(schedule_text.rank_lines(request, rank, own)))


def _command_line(request: Request, path: Path) -> str:
    """That draws the same, without what makes no difference; of the path only the name, without
    what a picture cannot show."""
    words = ["selion", "schedule", request.collective, "--ranks", str(request.ranks),
             "--algorithm", request.algorithm]
    if schedules.uses_radix(request.algorithm):
        words += ["--radix", str(request.radix)]
    if schedules.uses_group(request.algorithm):
        words += ["--group", str(request.group)]
    if request.segments != 1 and schedules.uses_segments(request.collective, request.algorithm):
        words += ["--segments", str(request.segments)]
    if schedules.uses_seed(request.algorithm):
        words += ["--seed", str(request.seed)]
    if request.root:
        words += ["--root", str(request.root)]
    return shlex.join([*words, "--svg", drawable(path.name)])


def _draw(played: Played, path: Path) -> None:
    if len(played.messages) > _most_drawn:
        raise Mistake(f"A picture of {len(played.messages):,} messages shows nothing; at most "
                      f"{_most_drawn:,} are drawn.")
    write_whole(path, schedule_picture.draw(played, _command_line(played.request, path)))


def _show_all(request: Request, svg: Path | None, as_json: bool) -> None:
    played = _play(request)
    if svg is not None:
        _draw(played, svg)
    if as_json:
        print_json_lines(_played_rows(played))
        return
    print(f"{schedule_text.title(request)}: {schedule_text.numbers(played)}")
    if svg is not None:
        print(f"drawn to {printable(str(svg))}")
    else:
        print("\n".join(schedule_text.round_lines(played)))


def _refuse_unused(request: Request, given: Collection[str]) -> None:
    """Of options that make no difference to the algorithm, which the collective must have."""
    name = request.algorithm
    uses = {"segments": schedules.uses_segments(request.collective, name),
            "radix": schedules.uses_radix(name), "group": schedules.uses_group(name),
            "seed": schedules.uses_seed(name)}
    for option in given:
        if not uses[option]:
            raise Mistake(f"--{option} makes no difference to {request.collective} by {name}: "
                          "leave it out.")


@answers_mistakes("schedule")
def command(
    collective: Annotated[
        str,
        typer.Argument(metavar="COLLECTIVE", help="barrier, broadcast, all_reduce, …",
                       autocompletion=completion.collectives),
    ],
    ranks: Annotated[int, typer.Option(metavar="N", help="How many ranks there are.")] = 8,
    algorithm: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Show this one; none: compare all.",
                     autocompletion=completion.algorithms),
    ] = None,
    radix: Annotated[
        int | None,
        typer.Option(metavar="K", help="2 to ranks: of trees, dissemination, Bruck (default: 2).")
    ] = None,
    root: Annotated[int, typer.Option(metavar="RANK", help="Where there is one.")] = 0,
    group: Annotated[
        int | None,
        typer.Option(metavar="N",
                     help="Ranks of a group (hierarchical) or a row of a mesh (default: 2).")
    ] = None,
    segments: Annotated[
        int | None,
        typer.Option(metavar="N",
                     help="Parts of the vector that follow one another: trees (default: 1).")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Of the order `random` (default: 1).")
    ] = None,
    rank: Annotated[
        int | None, typer.Option(metavar="RANK", help="Only the steps of this rank.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="JSON Lines: a summary, then all messages.")
    ] = False,
    svg: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw a tree, or a diagram of the rounds.")
    ] = None,
) -> None:
    """Show who sends what to whom in a collective: as text, as JSON Lines, as a picture.

    Nothing is sent: the schedule is played, and proved on the way.
    """
    if algorithm is None and (rank is not None or svg is not None):
        raise Mistake("--rank and --svg need --algorithm; without it the algorithms are compared.")
    if rank is not None and svg is not None:
        raise Mistake("--svg draws all ranks; leave --rank out.")
    told = {"radix": radix, "group": group, "segments": segments, "seed": seed}
    given = {name: value for name, value in told.items() if value is not None}
    with _library_s_sentences():
        request = Request(collective, algorithm or "", ranks, root, **given)
        if algorithm is not None:
            _refuse_unused(request, given)
    if algorithm is None:
        _compare(request, as_json)
    elif rank is not None:
        _show_rank(request, rank, as_json)
    else:
        _show_all(request, svg, as_json)
