"""Where live jobs are kept, against lists that are sorted anew."""

from __future__ import annotations

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from rota.core.queue.sorted_jobs import JobView, SortedJobs
from rota.core.timers import Timers
from rota.model import Job, Partition
from rota.testing import spec

PART = Partition(name="p", nodes=1)


def _jobs(keys: list[int]) -> dict[int, Job]:
    return {key: Job(key, spec(), 0, PART, 1) for key in keys}


@given(st.lists(st.tuples(st.sampled_from(["add", "remove", "reverse", "look"]), st.integers(0, 15)), max_size=60))
def test_sorted_jobs_are_sorted_and_what_was_handed_out_stays_as_it_was(steps: list[tuple[str, int]]) -> None:
    jobs, there, sign = _jobs(list(range(16))), set[int](), 1
    container = SortedJobs()
    views: list[tuple[JobView, list[Job]]] = []
    for what, key in steps:
        if what == "add" and key not in there:
            container.add(jobs[key], (sign * key,))
            there.add(key)
        elif what == "remove" and key in there:
            container.remove(jobs[key])
            there.remove(key)
            assert jobs[key].sort_key == ()
        elif what == "reverse":
            sign = -sign
            for job in container:
                job.sort_key = (sign * job.job_id,)
            container.resort()
        elif what == "look":
            views.append((container.snapshot(), list(container)))
        expected = [jobs[i] for i in (sorted(there) if sign > 0 else sorted(there, reverse=True))]
        assert list(container) == expected
        assert container.first() is (expected[0] if expected else None)
        assert len(container) == len(expected)
        assert container.check()
    for view, then in views:
        assert list(view) == then
        assert view[:2] == then[:2]
        assert len(view) == len(then)


@given(st.lists(st.tuples(st.integers(1, 20), st.booleans(), st.booleans()), max_size=8), st.lists(st.integers(1, 9)))
def test_timers_come_in_order_and_periodic_ones_keep_their_grid(
    timers: list[tuple[int, bool, bool]], waits: list[int]
) -> None:
    calls: list[tuple[int, int]] = []
    timer, now = Timers(), 0

    def called_back(number: int) -> None:
        calls.append((now, number))

    for number, (time, periodic, sleeps) in enumerate(timers):
        if periodic:
            timer.every(0, time, partial(called_back, number), only_after_change=sleeps, quiet=False)
        else:
            timer.at(time, partial(called_back, number))
    for wait in waits:
        now += wait
        timer.run_due(now)
        assert timer.next_due is None or timer.next_due > now
        timer.wake(now)
        assert timer.next_due is None or timer.next_due > now
    for number, (time, periodic, _) in enumerate(timers):
        called = [at for at, who in calls if who == number]
        if not periodic:
            assert len(called) == (1 if now >= time else 0)
        else:
            # At most once in each period, and never before the first one is over.
            assert all(at >= time for at in called)
            assert len({at // time for at in called}) == len(called)


def test_a_stopped_timer_is_never_called_again() -> None:
    calls: list[str] = []
    timers = Timers()
    stops = [
        timers.every(0, 5, lambda: calls.append("x"), only_after_change=sleeps, quiet=quiet)
        for sleeps, quiet in ((False, True), (True, False))
    ]
    assert timers.run_due(5)
    assert calls == ["x", "x"]
    calls.clear()
    for stop in stops:
        stop()
        stop()
    timers.wake(5)
    timers.run_due(100)
    assert calls == []
    assert timers.next_due is None
