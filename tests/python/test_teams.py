# SPDX-License-Identifier: Apache-2.0
"""Teams in Python: how they are made, what they call, and collectives in two phases."""

from __future__ import annotations

import pytest

from conftest import needs_module

pytestmark = needs_module

machines = ["processes:1", "processes:4", "processes:4,direct=off", "sim:crossbar,ranks=5"]


@pytest.mark.parametrize("machine", machines)
def test_split_by_colour_and_key(job, machine):
    job.expect_no_fault(
        """
        r, n = world.rank, world.size
        with world.split(r % 2, key=-r) as team:
            mine = [i for i in reversed(range(n)) if i % 2 == r % 2]
            assert team.size == len(mine) and team.rank == mine.index(r)
            assert [team.world_rank(i) for i in range(team.size)] == mine
            assert [team.rank_of(i) for i in mine] == list(range(team.size))
            assert team.rank_of((r + 1) % 2) is None or n == 1
            assert team.all_gather(r) == mine
            assert team.all_reduce(r) == sum(mine)
            assert team.broadcast(f"{r}".encode(), team.size - 1) == f"{mine[-1]}".encode()
            assert team.reduce(1, "plus", 0) == (len(mine) if team.rank == 0 else None)
            team.barrier()
        assert "freed" in repr(team) and "Subteam, member" in repr(world.split(0))
        """,
        machine,
    )


@pytest.mark.parametrize("machine", machines)
def test_who_is_left_out_gets_none(job, machine):
    job.expect_no_fault(
        """
        r, n = world.rank, world.size
        odd = world.split(0 if r % 2 else None)
        assert (odd is None) == (r % 2 == 0)
        chosen = world.subteam([n - 1, 0] if n > 1 else [0])
        if r in (0, n - 1):
            assert chosen.rank == (0 if r == n - 1 else 1)
            assert chosen.all_gather(r) == ([n - 1, 0] if n > 1 else [0])
        else:
            assert chosen is None
        near = world.split_by("node")
        assert r in near.all_gather(r) and near.size in (1, n)
        """,
        machine,
    )


def test_teams_come_and_go(job):
    """Their memory is used again: a heap of 8 MiB has no room for so many at a time."""
    job.variables["SELION_HEAP"] = "8M"
    job.expect_no_fault(
        """
        for i in range(200):
            with world.split(i % 3) as team:
                assert team.all_reduce(1) == world.size
                assert team.with_modes("all", "all").all_reduce(1) == world.size
        """,
        "processes:3",
    )


@pytest.mark.parametrize("machine", ["processes:2", "processes:2,direct=off"])
def test_a_joined_thread_frees_a_team_while_its_rank_makes_others(job, machine):
    job.variables["SELION_HEAP"] = "8M"
    job.expect_no_fault(
        """
        for i in range(300):
            team = world.split(0)
            def free():
                with world.joined_thread():
                    team.free()
            thread = threading.Thread(target=free)
            thread.start()
            with world.split(0) as other:
                assert other.all_reduce(1) == world.size
            thread.join()
        """,
        machine,
        options=", thread_level='multiple'",
    )


@pytest.mark.parametrize("machine", machines)
def test_modes_and_halves_of_a_barrier(job, machine):
    job.expect_no_fault(
        """
        r, n = world.rank, world.size
        for entry in ("none", "mine", "all"):
            for exit in ("none", "mine", "all"):
                assert world.with_modes(entry, exit).all_reduce(r) == n * (n - 1) // 2
        world.arrive()
        world.wait()
        """,
        machine,
    )


def test_a_collective_may_time_out(job):
    job.expect_no_fault(
        """
        import time
        hasty = world.split(0).with_timeout(0.05)
        if world.rank == 0:
            try:
                hasty.barrier()
                raise AssertionError("nobody else has come")
            except TimeoutError:
                pass
        world.barrier()
        """,
        "processes:2",
    )


def test_a_time_out_names_the_call(job):
    job.expect_no_fault(
        """
        calls = {
            "split": lambda team: team.split(0),
            "subteam": lambda team: team.subteam([0]),
            "gatherv": lambda team: team.gatherv(b"a"),
            "all_gatherv": lambda team: team.all_gatherv(b"a"),
            "exchangev": lambda team: team.exchangev([b"a", b"b"]),
            "wait": lambda team: (team.arrive(), team.wait()),
        }
        for name, call in calls.items():
            hasty = world.split(0).with_timeout(0.05)
            if world.rank == 1:
                try:
                    raise AssertionError(call(hasty))
                except TimeoutError as late:
                    assert f"waited too long in {name} of a team of 2 at" in str(late), late
            world.barrier()
        """,
        "processes:2",
    )


_late = """
import gc, time
r = world.rank
team = world.split(0)
team.exchange(np.zeros(16384))  # from now on blocks are copied from process to process
hasty = team.with_timeout(1 if r else 0.2)
late = world.signal()

def unlike(size, value):
    found = [np.full(size, value) for _ in range(40)]
    late.notify(1)
    world.barrier()
    for each in found:
        assert (each == value).all(), set(each.tolist())

if r == 1:
    late.wait_until(1)
"""


@pytest.mark.parametrize(
    ("call", "size"),
    [
        ("gather(np.full(8192, 2.0))", 16384),
        ("all_gather(np.full(8192, 2.0))", 16384),
        ("exchange(np.full(16384, 2.0))", 16384),
        ("broadcast(np.full(32768 * (2 - r), 2.0)[:: 2 - r], 0)", 32768),
        ("reduce(np.full(8192, 2.0))", 8192),
        ("all_reduce(np.full(8192, 2.0))", 8192),
        ("scan(np.full(8192, 2.0))", 8192),
        ("reduce_scatter(np.full(16384, 2.0))", 8192),
        ("gatherv(np.full(8192, 2.0))", 16384),
    ],
)
def test_late_members_meet_no_other_memory(job, call, size):
    """What a member that has given up had given and got stays where it is."""
    body = f"""
        {_late.strip().replace(chr(10), chr(10) + ' ' * 8)}
        try:
            hasty.{call}
        except TimeoutError:
            pass
        if r == 0:
            gc.collect()
            unlike({size}, 7.0)
        else:
            world.barrier()
        """
    job.expect_no_fault(body, "processes:2")


def test_late_members_get_what_was_given(job):
    """Of a strided array, which is copied first."""
    out = job.expect_no_fault(
        f"""
        {_late.strip().replace(chr(10), chr(10) + ' ' * 8)}
        if r == 0:
            try:
                hasty.scatter(np.full(32768, 2.0)[::2], out=np.zeros(8192))
            except TimeoutError:
                pass
            unlike(16384, 99.0)
        else:
            into = np.zeros(8192)
            try:
                hasty.scatter(None, out=into)
            except TimeoutError:
                pass
            world.barrier()
            print(set(into.tolist()) <= {{0.0, 2.0}})
        """,
        "processes:2",
    )
    assert out == "True\n"


def test_teams_that_are_dropped_in_job_after_job(job):
    """What is left of them says nothing of teams at the same addresses later."""
    job.expect_no_fault(
        """
        teams = [world.split(0) for _ in range(3)]
        assert [team.all_reduce(1) for team in teams] == [3] * 3
        del teams
        again = world.split(0)
        assert again.all_reduce(1) == 3
        again.free()
        """,
        "sim:crossbar,ranks=3",
        after="for _ in range(30):\n    selion.run(main)",
    )


@pytest.mark.parametrize("machine", machines)
def test_two_phases(job, machine):
    job.expect_no_fault(
        """
        r, n = world.rank, world.size
        start = world.split_phase
        data = np.arange(1000.0) * (r == n - 1)
        futures = [
            start.all_reduce(r + 1), start.all_reduce(np.full(300, r, "i4")),
            start.broadcast(data, n - 1), start.reduce(1.5, "maximum", n - 1), start.scan(r + 1),
            start.exscan(r + 1, "plus", 0), start.gather(r, 0), start.all_gather(np.arange(3) + r),
            start.exchange([10 * r + i for i in range(n)]), start.barrier(),
        ]
        got = [each.result() for each in futures]
        assert all(each.is_ready and each.wait(0) for each in futures)
        assert got[0] == n * (n + 1) // 2
        assert got[1].tolist() == [n * (n - 1) // 2] * 300 and got[1].dtype == np.dtype("i4")
        assert got[2] is data and np.array_equal(data, np.arange(1000.0))
        assert got[3] == (1.5 if r == n - 1 else None)
        assert got[4] == (r + 1) * (r + 2) // 2 and got[5] == r * (r + 1) // 2
        assert got[6] == (list(range(n)) if r == 0 else None)
        assert got[7].tolist() == [[i, i + 1, i + 2] for i in range(n)]
        assert got[8] == [10 * i + r for i in range(n)] and got[9] is None
        with world.split(r % 2) as team:
            assert team.split_phase.all_reduce(1).result() == team.size
        """,
        machine,
    )


@pytest.mark.parametrize("machine", ["processes:3", "sim:crossbar,ranks=3"])
def test_what_nobody_waits_for_goes_on(job, machine):
    """Their arrays stay, though the program has dropped them."""
    job.expect_no_fault(
        """
        for i in range(50):
            world.split_phase.all_reduce(np.full(1000, i))
            assert world.all_reduce(i) == i * world.size
        """,
        machine,
    )


def test_a_result_may_be_late(job):
    job.expect_no_fault(
        """
        sum = world.split_phase.all_reduce(1) if world.rank == 0 else None
        if world.rank == 0:
            try:
                sum.result(timeout=0.02)
                raise AssertionError("nobody else has started")
            except TimeoutError as late:
                assert "longer than 0.02 s; it goes on" in str(late)
        world.barrier()
        if world.rank != 0:
            sum = world.split_phase.all_reduce(1)
        assert sum.result() == world.size
        """,
        "processes:2",
    )


def test_a_future_outlives_its_job(job):
    job.expect_no_fault(
        """
        import sys
        kept = sys.modules.setdefault("kept", [])
        kept.append(world.split_phase.all_reduce(np.ones(1000)))
        """,
        "sim:crossbar,ranks=3",
        after="""
import sys
kept = sys.modules["kept"]
assert len(kept) == 3
try:
    kept[0].is_ready
    raise AssertionError("no rank")
except RuntimeError:
    pass
selion.run(lambda world: world.split_phase.barrier().result())
kept.clear()
""",
    )


def test_a_root_may_start_a_broadcast_of_what_cannot_be_written(job):
    job.expect_no_fault(
        """
        given = np.frombuffer(b"abcd", "u1") if world.rank == 0 else np.zeros(4, "u1")
        assert bytes(world.split_phase.broadcast(given).result()) == b"abcd"
        """,
        "processes:2",
    )


def test_a_way_may_be_chosen(job):
    job.expect_no_fault(
        """
        for way in ("slots", "lines:k_nomial:2", "lines:chain/4", "messages:mesh:2"):
            world.choose("all_reduce", way)
            assert world.explain("all_reduce", 64).way == way
            assert world.all_reduce(np.ones(8))[7] == world.size
        world.choose("all_reduce", None)
        assert world.explain("all_reduce", 64).reason != "program"
        """,
        "processes:4",
    )


refused = {
    "world.split(-1)": "ValueError: The colour is None or a number; legal: 0 to 4294967294.",
    "world.split_by('rack')": "ValueError: A place is 'rack'; legal: process, cache, socket, node.",
    "world.subteam([0, 2])": "ValueError: There is no member 2; legal: 0 to 1.",
    "world.subteam([1, 1])": "ValueError: Member 1 is listed twice.",
    "world.world_rank(2)": "ValueError: There is no member 2; legal: 0 to 1.",
    "world.with_modes('some')": "ValueError: A mode is 'some'; legal: none, mine, all.",
    "world.with_timeout(-1)": "ValueError: A time-out is a number of seconds; legal: 0 to 9e9.",
    "world.choose('all_reduce', 'lines:chian')": "did you mean 'chain'",
    "world.choose('gather', 'lines:chain/8')": "gather by chain goes in no segments",
    "world.split_phase.broadcast(np.array([{}]))": "TypeError: broadcast cannot move dtype object",
    "world.choose('barier', None)": "did you mean 'barrier'",
    "world.split_phase.broadcast(1)": "TypeError: A broadcast in two phases fills an array",
    "world.split_phase.gather(1, 2)": "ValueError: The root is 2; legal: 0 to 1.",
    "world.split_phase.all_reduce('a')": "TypeError: all_reduce combines an int, a float or a ",
    "world.split_phase.all_reduce(1, 'minus')": "ValueError: The operation is 'minus'; legal: plus",
    "team = world.split(0); team.free(); team.barrier()": "RuntimeError: This team has been "
    "freed, or its job is over.",
    "team = world.split(0); team.free(); team.gatherv(b'')": "RuntimeError: This team has been fr",
    "team = world.split(0); team.free(); team.scatterv([])": "RuntimeError: This team has been fre",
    "team = world.split(0); team.free(); team.exchange([1])": "RuntimeError: This team has been f",
    "team = world.split(0); team.free(); team.exchangev([1])": "RuntimeError: This team has been ",
    "team = world.split(0); team.free(); team.reduce_scatter([1])": "RuntimeError: This team has ",
    "team = world.split(0); team.free(); team.split_phase.exchange([1])": "RuntimeError: This tea",
    "team = world.split(0); team.free(); team.split_phase.gather(1)": "RuntimeError: This team ha",
    "team = world.split(0); team.free(); team.split_phase.broadcast(b'')": "RuntimeError: This te",
    "world.split_phase.broadcast(np.zeros(4)[::2], 1 - world.rank)": "ValueError: broadcast fills "
    "a contiguous array that may change.",
    "world.all_gather(np.timedelta64(5, 'ns'))": "TypeError: all_gather moves None, bools, ints",
    "world.split_phase.barrier().wait(-1)": "ValueError: A time-out is a number of seconds; legal",
}


@pytest.mark.parametrize("call", refused)
def test_what_is_refused(job, call):
    status, _, errors = job.run(call, "processes:2")
    assert status == 1
    assert refused[call] in errors
