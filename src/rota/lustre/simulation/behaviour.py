"""What a job reads, writes and asks for, and when.

A job has one of a few habits, and does everything the more the larger it is:

============== ============================================================================================
checkpointing  reads its input, writes its state every quarter of an hour, and its results at the end
analysing      reads much, again and again, and writes little
small files    opens, looks at and removes thousands of files all the time, which are work for the MDT
quiet          reads a little, writes a little
============== ============================================================================================

All is drawn from the seed and the job's id; what changes from one run of a program to the next, from its start too.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, NamedTuple

from rota.lustre.metrics import READ, WRITE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rota.lustre.simulation.jobs import Job

KIB, MIB = 1 << 10, 1 << 20
#: Bytes that a job moves in a second through one OST, at most.
_RATE = 300 * MIB
#: Seconds between checkpoints.
_CHECKPOINT = 900.0


class Operation(NamedTuple):
    """Something that is done many times during a burst."""

    name: str
    samples: int
    #: Bytes each time; 0 of an operation on metadata.
    size: int
    #: Microseconds each time.
    latency: int


class Burst(NamedTuple):
    """A time in which a job uses a target, evenly."""

    target: str
    begin: float
    end: float
    operations: tuple[Operation, ...]


class _Habit(NamedTuple):
    #: MiB for each processor: at the start, each time in between, at the end. Negative ones are read.
    first: int
    between: int
    last: int
    #: Seconds from one time to the next, in a job that lasts for more than a few of them.
    period: float
    #: Bytes in a request.
    size: int
    #: Files for each processor that are opened at each of these times.
    files: int
    #: Files in a second that are made and removed all the time.
    storm: int


_HABITS = {
    _Habit(-200, 100, 300, _CHECKPOINT, 4 * MIB, 1, 0): 9,
    _Habit(-500, -500, 20, 300.0, MIB, 4, 0): 4,
    _Habit(-5, 2, 5, 300.0, 16 * KIB, 50, 150): 2,
    _Habit(-10, 1, 10, _CHECKPOINT, MIB, 2, 0): 5,
}
_AT_LOGIN = _Habit(-40, 0, 40, _CHECKPOINT, MIB, 5, 0)


def bursts(job: Job, osts: Sequence[str], mdts: Sequence[str], seed: int) -> Iterator[Burst]:
    """Tell what a job does, in no order.

    Args:
        job: Of whom it is told.
        osts: The targets that hold data.
        mdts: The targets that hold names.
        seed: Of everything that is drawn.
    """
    dice = Random(f"{seed}/{job.job_id!r}")  # noqa: S311 - no secrets
    [habit] = [_AT_LOGIN] if job.is_interactive else dice.choices(list(_HABITS), list(_HABITS.values()))
    stripes = dice.sample(osts, min(len(osts), dice.choice((1, 1, 2, 4, len(osts)))))
    mdt = dice.choice(mdts)
    scale = job.processors * dice.lognormvariate(0.0, 0.8)
    dice.seed(f"{seed}/{job.job_id!r}/{job.start}")
    run = job.end - job.start
    for begin, amount in _times(habit, run, dice):
        volume = int(abs(amount) * MIB * scale / len(stripes)) or habit.size
        seconds = min(max(2.0, volume / _RATE), max(1.0, run - begin))
        first = job.start + begin
        for ost in stripes:
            yield Burst(ost, first, first + seconds, _data(amount, volume, habit.size, dice))
        yield Burst(mdt, first, first + seconds, _names(amount, max(1, int(habit.files * scale)), dice))
    if habit.storm:
        yield Burst(mdt, job.start, job.end, _storm(max(1, int(habit.storm * run)), dice))


def _times(habit: _Habit, run: float, dice: Random) -> Iterator[tuple[float, int]]:
    """Tell how long after its start a job reads or writes, and how many MiB for each processor."""
    yield 0.0, habit.first
    last = max(0.0, run - max(5.0, 0.03 * run))
    period = min(habit.period, run / 8)
    time = period * dice.uniform(0.5, 1.5)
    while habit.between and time < last:
        yield time, habit.between
        time += period
    yield last, habit.last


def _data(amount: int, volume: int, size: int, dice: Random) -> tuple[Operation, ...]:
    name = READ if amount < 0 else WRITE
    # A request of 4 MiB takes some milliseconds, a small one a fraction of one.
    latency = int((200 + size / 1000) * dice.uniform(0.5, 3.0))
    requests = (Operation(name, max(1, volume // size), size, latency),)
    if amount < 0:
        return requests
    return (*requests, Operation("punch", 1, 0, 40), Operation("sync", 1 + volume // (1 << 30), 0, 2000))


def _names(amount: int, files: int, dice: Random) -> tuple[Operation, ...]:
    usual = (Operation("open", files, 0, dice.randrange(60, 300)), Operation("close", files, 0, 40))
    if amount < 0:
        return (*usual, Operation("getattr", 3 * files, 0, 10), Operation("getxattr", files, 0, 8))
    return (*usual, Operation("mknod", files, 0, 150), Operation("setattr", files, 0, 45))


def _storm(files: int, dice: Random) -> tuple[Operation, ...]:
    each = {"open": 200, "close": 40, "mknod": 150, "getattr": 8, "setattr": 40, "unlink": 120}
    few = {"mkdir": 160, "rmdir": 110, "rename": 90, "samedir_rename": 90}
    slow = dice.uniform(1.0, 4.0)
    return (
        *(Operation(name, files, 0, int(latency * slow)) for name, latency in each.items()),
        *(Operation(name, max(1, files // 100), 0, int(latency * slow)) for name, latency in few.items()),
    )
