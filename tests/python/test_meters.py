# SPDX-License-Identifier: Apache-2.0
"""Meters of ranks in Python."""

from __future__ import annotations

from conftest import needs_module

pytestmark = needs_module


def test_a_meter_of_time(job):
    out = job.expect_no_fault(
        """
        meter = world.meter("piece")
        for _ in range(3):
            with meter as running:
                world.charge(ns=1000)
                assert running is meter and meter.is_running
        assert (meter.runs, meter.name, meter.event, meter.unit) == (3, "piece", "clock", "ns")
        all = meter.summary(world)
        assert all.least <= all.mean <= all.most and len(all.by_member) == world.size
        assert all.by_member[world.rank] == meter.value
        print(meter.value, meter.overhead, all.sum)
        meter.reset()
        assert meter.value == 0
        """,
        "sim:crossbar,ranks=2",
    )
    assert out.splitlines() == ["3000.0 0.0 6000.0"] * 2


def test_a_meter_says_what_it_cannot(job):
    job.expect_no_fault(
        """
        events = {each.name: each for each in world.meter_events()}
        assert events["clock"].is_available and events["mesh_wait"].reason
        assert "east" in events["mesh_wait"].parts
        for arguments, kind, says in [
            (("a", "clocks"), ValueError, "did you mean 'clock'"),
            (("b", "mesh_wait:east"), NotImplementedError, "not available here"),
            (("c", "clock", "soft"), ValueError, "legal: software, hardware"),
        ]:
            try:
                world.meter(*arguments)
            except kind as mistake:
                assert says in str(mistake), mistake
            else:
                raise AssertionError(arguments)
        meter = world.meter("d")
        try:
            meter.stop()
        except ValueError as mistake:
            assert "does not run" in str(mistake)
        """,
        "processes:2",
    )


def test_a_meter_of_another_rank_says_so(job):
    """Simulated ranks share what a program keeps."""
    out = job.expect_no_fault(
        """
        everything = sys.modules["__main__"]
        if world.rank == 0:
            everything.kept = world.meter("piece")
        world.barrier()
        if world.rank == 1:
            try:
                everything.kept.start()
            except RuntimeError as error:
                print(error)
        world.barrier()
        """,
        "sim:crossbar,ranks=2",
    )
    assert out == "This meter belongs to another rank, or to a job that is over.\n"


def test_more_threads_than_may_join_are_an_error(job):
    job.variables["SELION_JOINED_THREADS"] = "1"
    out = job.expect_no_fault(
        """
        def join():
            try:
                with world.joined_thread():
                    pass
            except RuntimeError as error:
                print(error)
            except Exception as error:
                print(type(error), error)
        def hold():
            with world.joined_thread():
                thread = threading.Thread(target=join)
                thread.start(), thread.join()
        thread = threading.Thread(target=hold)
        thread.start(), thread.join()
        """,
        "processes:1",
        options=", thread_level='multiple'",
    )
    assert "too many threads have joined; raise SELION_JOINED_THREADS" in out


def test_a_meter_is_for_the_own_thread(job):
    out = job.expect_no_fault(
        """
        meter = world.meter("piece")
        def work():
            with world.joined_thread():
                for call in (meter.start, lambda: world.meter("other")):
                    try:
                        call()
                    except RuntimeError as error:
                        print(error)
        thread = threading.Thread(target=work)
        thread.start(), thread.join()
        """,
        "processes:1",
        options=", thread_level='multiple'",
    )
    sentence = "A meter belongs to the rank's own thread; this one has joined the rank.\n"
    assert out == sentence * 2
