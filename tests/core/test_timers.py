"""The table of timers: order, periods, cancellation, saving."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from rota.core.timers import Period, Timer, TimerKind, Timers


def periodic(name: str) -> Timer:
    return Timer(TimerKind.PLUGIN, name=name)


@given(st.lists(st.tuples(st.integers(1, 20), st.booleans(), st.booleans()), max_size=8), st.lists(st.integers(1, 9)))
def test_timers_come_in_order_and_periodic_ones_keep_their_grid(
    wanted: list[tuple[int, bool, bool]], waits: list[int]
) -> None:
    calls: list[tuple[int, str]] = []
    timers, now = Timers(), 0
    for number, (time, is_periodic, sleeps) in enumerate(wanted):
        if is_periodic:
            timers.set_period(0, periodic(str(number)), Period(0, time, sleeps))
        else:
            timers.set(time, Timer(TimerKind.RESERVATION, name=str(number)))
    for wait in waits:
        now += wait
        calls += [(now, timer.name) for timer in timers.due(now)]
        assert (_next_due(timers) or now + 1) > now
        timers.wake(now)
        assert (_next_due(timers) or now + 1) > now
    for number, (time, is_periodic, _) in enumerate(wanted):
        called = [at for at, name in calls if name == str(number)]
        if not is_periodic:
            assert len(called) == (1 if now >= time else 0)
        else:
            # At most once in each period, and never before the first one is over.
            assert all(at >= time for at in called)
            assert len({at // time for at in called}) == len(called)


def test_equal_times_come_in_the_order_of_setting() -> None:
    timers = Timers()
    for name in "cab":
        timers.set(5, Timer(TimerKind.RESERVATION, name=name))
    timers.set(5, Timer(TimerKind.RESERVATION, name="c"))  # it is already
    assert [timer.name for timer in timers.due(5)] == ["c", "a", "b"]


def test_a_timer_is_due_once_at_the_time_that_was_said_last() -> None:
    timers, timer = Timers(), Timer(TimerKind.DEADLINE, 7)
    timers.set(5, timer)
    timers.set(9, timer)
    assert _next_due(timers) == 9
    timers.set_sooner(12, timer)
    assert list(timers.due(8)) == []
    timers.set_sooner(8, timer)
    assert list(timers.due(8)) == [timer]
    assert list(timers.due(100)) == []
    assert _next_due(timers) is None


def test_what_is_set_while_timers_are_due_is_due_as_well() -> None:
    timers, names = Timers(), []
    timers.set(5, Timer(TimerKind.RESERVATION, name="a"))
    for timer in timers.due(6):
        names.append(timer.name)
        if timer.name == "a":
            timers.set(6, Timer(TimerKind.RESERVATION, name="b"))
    assert names == ["a", "b"]


def test_a_cancelled_timer_is_never_due_again() -> None:
    timers = Timers()
    some = [periodic("x"), periodic("y")]
    for timer, sleeps in zip(some, (False, True), strict=True):
        timers.set_period(0, timer, Period(0, 5, sleeps))
    assert list(timers.due(5)) == some
    for timer in some:
        timers.cancel(timer)
        timers.cancel(timer)
    timers.wake(5)
    assert list(timers.due(100)) == []
    assert (_next_due(timers), list(timers)) == (None, [])


def test_timers_go_with_their_job() -> None:
    timers = Timers()
    kinds = (TimerKind.BEGIN_TIME, TimerKind.DEADLINE, TimerKind.PREEMPT_GRACE)
    for job_id in (1, 2):
        for kind in kinds:
            timers.set(10 * job_id, Timer(kind, job_id))
    timers.cancel_of_job(1)
    assert {timer.job_id for timer in timers} == {2}
    assert _next_due(timers) == 20
    timers.cancel_all(*kinds)
    assert list(timers) == []


def test_saved_timers_are_due_as_before() -> None:
    timers = Timers()
    timers.set(7, Timer(TimerKind.PREEMPT_GRACE, 3, 2))
    timers.set(7, Timer(TimerKind.RESERVATION, name="r1"))
    timers.set(7, Timer(TimerKind.PLUGIN_ONCE, name="once"))
    timers.set_period(0, periodic("asleep"), Period(0, 3, only_after_change=True))
    timers.set_period(0, periodic("awake"), Period(1, 5))
    list(timers.due(4))
    kept = Timers()
    kept.restore(json.loads(json.dumps(timers.save())))
    for now in (6, 7, 8, 20):
        assert list(kept.due(now)) == list(timers.due(now))
        kept.wake(now)
        timers.wake(now)


def _next_due(timers: Timers) -> int | None:
    return timers.heap[0][0] if timers.heap else None
