"""Everything that a plugin raises is a fault of its own, whatever class it is of and wherever it is raised."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from rota.core.snapshot import save
from rota.model import PluginError
from rota.testing import Harness, priority, scheduler

if TYPE_CHECKING:
    from collections.abc import Callable


class Own(BaseException):
    """A class of the plugin's own, with everything that is looked at in it raising as well."""

    def __str__(self) -> str:
        raise Own

    __repr__ = __str__

    @property
    def __traceback__(self) -> Any:  # type: ignore[override]
        raise Own

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise Own


class Long(BaseException):
    def __str__(self) -> str:
        return "long " * 1_000_000


RAISED: list[type[BaseException]] = [
    KeyboardInterrupt, GeneratorExit, asyncio.CancelledError, SystemExit, StopIteration, MemoryError, Own, Long,
]  # fmt: skip


class Odd(int):
    """A number that raises whatever is done with it, and what else may be asked of an answer."""

    def _no(self, *_: object) -> NoReturn:
        raise KeyboardInterrupt

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __repr__ = __str__ = _no
    __hash__ = None  # type: ignore[assignment]


class Posing:
    def _no(self, *_: object) -> NoReturn:
        raise GeneratorExit

    __eq__ = __hash__ = __index__ = __iter__ = __len__ = __bool__ = __repr__ = _no
    __class__ = property(_no)


#: Made where they are returned: pytest would look at them.
ANSWERS: dict[str, Callable[[], object]] = {"zero": lambda: Odd(0), "seven": lambda: Odd(7), "posing": Posing}


def _with(symbol: str, fn: Callable[..., Any]) -> Harness:
    plugin = scheduler()
    setattr(plugin, symbol, fn)
    return Harness(sched=plugin)


def _places() -> dict[str, Callable[[Callable[..., Any]], Harness]]:
    def later(how: str) -> Callable[[Callable[..., Any]], Harness]:
        def make(fn: Callable[..., Any]) -> Harness:
            rota = Harness(sched=scheduler())
            asks: dict[str, Callable[[Any], object]] = {
                "timer": lambda ctld: ctld.at(ctld.now + 5, fn),
                "period": lambda ctld: ctld.every(5, fn),
                "background": lambda ctld: ctld.in_background(fn, print),
                "background's end": lambda ctld: ctld.in_background(lambda: 1, lambda _: fn()),
                "before a pass": lambda ctld: ctld.before_pass(fn),
                "before the queue": lambda ctld: ctld.before_queue(fn),
                "key": lambda ctld: ctld.rank_queue(lambda _: fn()),
                "estimate": lambda ctld: ctld.profile(estimate=lambda _: fn()),
                "saved state": lambda ctld: ctld.keep(fn),
            }
            size = rota.engine.state.pool.up
            rota.submit(cpus=size, limit=100)
            rota.submit(cpus=size, limit=100)
            rota.propose(asks[how])
            return rota

        return make

    names = (
        "timer",
        "period",
        "background",
        "background's end",
        "before a pass",
        "before the queue",
        "key",
        "estimate",
    )
    in_sched = ("schedule", "newalloc", "freealloc", "initial_priority")
    found: dict[str, Callable[[Callable[..., Any]], Harness]] = {name: later(name) for name in (*names, "saved state")}
    for name in in_sched:
        found[name] = partial(_with, f"slurm_sched_p_{name}")
    found["priority"] = lambda fn: Harness(sched=scheduler(), priority=priority(priority_p_set=fn))
    return found


@pytest.mark.parametrize("place", _places())
@pytest.mark.parametrize("kind", RAISED, ids=lambda kind: kind.__name__)
def test_it_is_a_fault_and_the_jobs_go_on(place: str, kind: type[BaseException]) -> None:
    def fn(*_: object) -> NoReturn:
        raise kind

    with _places()[place](fn) as rota:
        rota.submit(cpus=1, run=10)
        save(rota.engine)
        rota.until(rota.now + 20)
        rota.run_to_end()
        assert rota.finished
        told = {fault.message for fault in rota.faults}
        assert any(f"raised {kind.__name__}" in message and len(message) < 600 for message in told), told
        assert sum(rota.engine.faults.values()) == len(rota.faults)


@pytest.mark.parametrize("place", _places())
@pytest.mark.parametrize("answer", ANSWERS)
def test_so_is_what_an_answer_raises(place: str, answer: str) -> None:
    with _places()[place](lambda *_: ANSWERS[answer]()) as rota:
        rota.submit(cpus=1, run=10)
        save(rota.engine)
        rota.until(rota.now + 20)
        rota.run_to_end()
        assert rota.finished or answer == "zero"  # a priority of 0 holds the job
        assert all(type(job.priority) is int for job in rota.known)


@pytest.mark.parametrize("kind", RAISED, ids=lambda kind: kind.__name__)
def test_one_that_raises_in_init_is_refused_and_in_fini_only_told(kind: type[BaseException]) -> None:
    def fn(*_: object) -> NoReturn:
        raise kind

    with pytest.raises(PluginError, match="init raised"):
        Harness(sched=scheduler(init=fn))
    rota = Harness(sched=scheduler(fini=fn))
    rota.close()
    assert "fini raised" in rota.logs[-1]
