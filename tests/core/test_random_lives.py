"""Random lives contain everything that they are to test."""

from __future__ import annotations

from collections import Counter

import pytest

from rota.core import events as ev
from rota.core.timers import TimerKind
from rota.model import JobState, Reason
from rota.model.dependency import DependencyType

from .random_lives import SCHEDULERS, draw_life

OVER = (
    JobState.CANCELLED,
    JobState.COMPLETED,
    JobState.DEADLINE,
    JobState.FAILED,
    JobState.NODE_FAIL,
    JobState.OUT_OF_MEMORY,
    JobState.PREEMPTED,
    JobState.TIMEOUT,
)
#: Those that limits have are many, and any of them will do.
REASONS = (
    Reason.BEGIN_TIME,
    Reason.DEPENDENCY,
    Reason.DEPENDENCY_NEVER_SATISFIED,
    Reason.JOB_HELD_ADMIN,
    Reason.JOB_HELD_USER,
    Reason.JOB_HOLD_MAX_REQUEUE,
    Reason.JOB_LAUNCH_FAILURE,
    Reason.NODE_DOWN,
    Reason.PARTITION_CONFIG,
    Reason.PARTITION_DOWN,
    Reason.PARTITION_INACTIVE,
    Reason.PARTITION_TIME_LIMIT,
    Reason.RESERVATION,
    Reason.RESERVATION_DELETED,
)
OTHERS = (
    "a node leaves",
    "a partition leaves",
    "array runs",
    "completing",
    "constraint runs",
    "deadline runs",
    "gres runs",
    "gres_per_job runs",
    "had steps",
    "licenses runs",
    "queued again",
    "refused for a limit",
    "reservation runs",
    "several records",
    "task queued again",
    "throttled",
    "was suspended",
)
#: For limits of the minutes of single jobs, which keep most jobs from starting at all; and for switches, which these
#: machines lack: jobs that wait for them are in recorded scenarios (`switches.txt`), with a restart after each event.
RARE = {TimerKind.JOB_MINUTES, TimerKind.SWITCHES}
CARRIED_OUT = [(kind, True) for kind in ev.EVENTS.values() if kind not in {ev.BackgroundDone, ev.SchedulePass}]
ABOUT_JOBS = [kind for kind in ev.EVENTS.values() if issubclass(kind, ev.JobRequest)]
REFUSED = [(kind, False) for kind in (*ABOUT_JOBS, ev.Submit, ev.CreateReservation, ev.DeleteReservation)]


@pytest.mark.slow
def test_they_come_to_everything() -> None:
    seen: Counter[object] = Counter()
    for seed in range(16):
        for sched in SCHEDULERS:
            with draw_life(seed, sched).play() as rota:
                assert rota.faults == []
                seen += rota.seen
    wanted = {*OTHERS, *REASONS, *DependencyType, *CARRIED_OUT, *REFUSED, *(set(TimerKind) - RARE)}
    wanted |= {("over", state) for state in OVER}
    assert [one for one in wanted if not seen[one]] == []
    assert any(isinstance(one, Reason) and one.name.startswith("QOS_") for one in seen)
    assert any(isinstance(one, Reason) and one.name.startswith("ASSOC_") for one in seen)
