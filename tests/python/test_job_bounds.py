# SPDX-License-Identifier: Apache-2.0
"""What belongs to no job: children that a rank forks, and what is kept of a job that is over."""

from __future__ import annotations

import pytest

from conftest import needs_module

pytestmark = needs_module

_forked = """
part = world.allocate(4)
world.barrier()
child = os.fork()
if child == 0:
    for call in ("world.barrier()", "part.put(1, 0)", "part.get(0)", "world.allocate(1)",
                 "world.call(0, print)", "world.now()", "part.local"):
        try:
            eval(call)
        except RuntimeError as error:
            print("This thread works for no rank" in str(error))
    {end}
assert os.waitpid(child, 0)[1] == {status} << 8
world.barrier()
assert part.local.tolist() == [0] * 4
"""


@pytest.mark.parametrize("machine", ["processes:2", "sim:crossbar,ranks=1"])
@pytest.mark.parametrize(
    ("end", "status"),
    [("os._exit(5)", 5), ("sys.exit(3)", 3), ("sys.exit()", 0), ("return 7", 0)],
)
def test_a_child_of_a_rank_is_no_rank(job, machine, end, status):
    ranks = 2 if machine == "processes:2" else 1
    out = job.expect_no_fault(_forked.format(end=end, status=status), machine)
    assert out == "True\n" * 7 * ranks


def test_what_is_kept_of_a_simulated_job(job):
    """It refers to nothing, and says so. Threads that have not joined may ask a living world."""
    out = job.expect_no_fault(
        """
        thread = threading.Thread(target=lambda: print(world.rank, world.size, world.machine))
        thread.start(), thread.join()
        global kept
        kept = world, world.allocate(3), world.joined_thread()
        """,
        "sim:crossbar,ranks=1",
        after="""
world, array, joined = kept
print(repr(world))
for call in ("world.rank", "world.size", "world.machine", "world.barrier()", "array.local",
             "array.get(0)", "joined.__enter__()"):
    try:
        eval(call)
    except RuntimeError as error:
        print(error)
print(array)
""",
    )
    first, *lines = out.splitlines()
    assert first == "0 1 sim:crossbar,ranks=1,context=threads"
    assert lines[0] == "<selion.World of a job that is over>" and len(lines) == 9
    assert lines[1:4] == ["The job of this world is over."] * 3 == [lines[7]] * 3
    assert all("This thread works for no rank" in line for line in lines[4:7])


def test_what_is_kept_is_not_of_a_later_job(job):
    """Whose world, arrays and teams may lie at the same addresses."""
    out = job.expect_no_fault(
        """
        assert not hasattr(world, "mark")
        world.mark = "of the first job"
        global kept
        kept = world, world.allocate(3), world.signal(), world.split(0), world.joined_thread()
        """,
        "sim:crossbar,ranks=1",
        after="""
def second(world):
    assert not hasattr(world, "mark")
    part, bell = world.allocate(3), world.signal()
    before, array, signal, team, joined = kept
    for call in ("before.rank", "before.barrier()", "before.now()", "before.allocate(1)",
                 "before.call(0, print)", "before.quiet()", "before.all_reduce(1)", "array.local",
                 "array.put(5, 0)", "array.get(0)", "array.item(0)", "array.fetch_add(0, 0, 1)",
                 "array.free()", "signal.notify(0)", "signal.value()", "signal.free()",
                 "team.world_rank(0)", "team.barrier()", "team.free()", "joined.__enter__()"):
        try:
            eval(call, None, locals())
        except RuntimeError as error:
            assert "job" in str(error) and "over" in str(error), (call, error)
        else:
            print(call)
    assert part.local.tolist() == [0] * 3 and bell.value() == 0
    print(repr(before), repr(team), before == world)
selion.run(second)
""",
    )
    assert out == (
        "<selion.World of a job that is over> <selion.Subteam that has been freed> False\n"
    )
