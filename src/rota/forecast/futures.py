"""Many futures, each in a child process: a copy of this one, and so of its engines.

At most as many run at a time as there are processors. Each future is known by its number alone: how many there are
depends on the time, what they are does not.
"""

from __future__ import annotations

import gc
import os
import selectors
import signal
import sys
import traceback
from dataclasses import asdict
from json import dumps, loads
from pathlib import Path
from time import CLOCK_BOOTTIME, clock_gettime, monotonic
from typing import TYPE_CHECKING

from rota.forecast.future import Future, Outcome
from rota.forecast.run_times import Draws

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rota.core import Engine
    from rota.forecast.arrivals import Arrivals
    from rota.forecast.run_times import RunTimes

#: Largest number of futures: more make ranges no better.
MOST = 100
#: Seconds that are kept for the answer, of those that there are.
_FOR_ANSWER = 0.25


def deadline(seconds: float) -> float:
    """Give the time on the monotonic clock at which this process has existed for some seconds."""
    started = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
    return monotonic() + seconds - (clock_gettime(CLOCK_BOOTTIME) - started)


def run_futures(
    engines: Sequence[Engine],
    run_times: RunTimes,
    now: int,
    *,
    arrivals: Arrivals | None = None,
    only: frozenset[str] | None = None,
    first: int = 0,
    count: int | None = None,
    until: float = 0.0,
) -> list[tuple[Outcome, ...]]:
    """Run engines ahead, each with the same run times in a future.

    Args:
        engines: The engines, which are not changed.
        run_times: Distributions of run times.
        now: The time now, Unix seconds.
        arrivals: The jobs that are still to come; ``None``: there are none.
        only: See `Future`.
        first: Number of the first future: others have other run times.
        count: Number of futures; ``None``: as many as there is time for, at least one for each processor.
        until: When to stop, on the monotonic clock, if there is no ``count``.

    Returns:
        The futures, with the outcome of each engine.

    Raises:
        ChildProcessError: one has failed, which is a defect.
    """
    stop = None if count is not None else until - _FOR_ANSWER
    for engine in engines:
        for job in engine.jobs.values():
            run_times.of(job)  # once, and not in each child

    def run(number: int) -> list[Outcome]:
        outcomes, draws = [], Draws(run_times, first + number)
        for left, engine in zip(range(len(engines), 0, -1), engines, strict=True):
            begun = monotonic()
            fair = None if stop is None else begun + (stop - begun) / left
            drawn = () if arrivals is None else arrivals.drawn(first + number)
            outcomes.append(Future(engine, draws, now, arrivals=drawn, only=only, deadline=fair).run())
        return outcomes

    return _in_children(run, MOST if count is None else count, stop)


def _in_children(run: Callable[[int], list[Outcome]], most: int, stop: float | None) -> list[tuple[Outcome, ...]]:
    """Call a function with the numbers from 0, each in a child process, until it is time to stop; give the results."""
    workers = len(os.sched_getaffinity(0))
    found: dict[int, tuple[Outcome, ...]] = {}
    longest, begun = 0.0, 0
    sys.stdout.flush()
    gc.collect()
    gc.freeze()  # or children would copy what they only look at
    with selectors.DefaultSelector() as selector:
        while True:
            while begun < most and len(selector.get_map()) < workers:
                if stop is not None and begun >= workers and monotonic() + longest > stop:
                    most = begun
                    break
                child = _Child(run, begun)
                selector.register(child.pipe, selectors.EVENT_READ, (begun, child))
                begun += 1
            if not selector.get_map():
                break
            for key, _ in selector.select():
                number, child = key.data
                if not child.read():
                    selector.unregister(child.pipe)
                    found[number] = child.outcomes()
                    longest = max(longest, monotonic() - child.begun)
    gc.unfreeze()
    return [found[number] for number in sorted(found)]


class _Child:
    """A child process that calls a function, and writes the outcomes into a pipe."""

    def __init__(self, run: Callable[[int], list[Outcome]], number: int) -> None:
        self.begun = monotonic()
        self.pipe, sender = os.pipe()
        self._text: list[bytes] = []
        self._pid = os.fork()
        if self._pid == 0:
            _be_child(sender, run, number)
        os.close(sender)

    def read(self) -> bool:
        """Read what there is; say whether there can be more."""
        data = os.read(self.pipe, 1 << 20)
        self._text.append(data)
        return bool(data)

    def outcomes(self) -> tuple[Outcome, ...]:
        """Give the outcomes.

        Raises:
            ChildProcessError: there are none; the child has printed the traceback.
        """
        os.close(self.pipe)
        _, status = os.waitpid(self._pid, 0)
        if status:
            raise ChildProcessError(f"a future has ended with status {status}")
        return tuple(Outcome(**one) for one in loads(b"".join(self._text)))


def _be_child(sender: int, run: Callable[[int], list[Outcome]], number: int) -> None:
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        gc.disable()
        text = dumps([asdict(one) for one in run(number)])
        with os.fdopen(sender, "wb") as pipe:
            pipe.write(text.encode())
        status = 0
    except BaseException:  # noqa: BLE001 - nothing may return to the parent's code
        traceback.print_exc()
    finally:
        os._exit(status)
