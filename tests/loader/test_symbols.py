"""Whether a plugin has every documented function."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import pytest

from rota.interfaces import PRIORITY_API, SCHED_API, PluginApi, PriorityPlugin, SchedPlugin
from rota.interfaces.stubs import priority as stubs
from rota.loader.symbols import check_symbols


def container(**changes: object) -> SimpleNamespace:
    """A good priority plugin, but for the changes."""
    symbols: dict[str, object] = {one.name: getattr(stubs, one.name) for one in PRIORITY_API.symbols}
    return SimpleNamespace(**{name: one for name, one in (symbols | changes).items() if one is not None})


def problems(**changes: object) -> list[str]:
    return check_symbols(container(**changes), PRIORITY_API)[1]


async def coroutine(last_prio: int, job_ptr: object) -> int:
    return 1


def generator(last_prio: int, job_ptr: object) -> Any:
    yield 1


class Callable2:
    def __call__(self, last_prio: int, job_ptr: object) -> int:
        return 1


@pytest.mark.parametrize(
    "function",
    [
        lambda last_prio, job_ptr: 1,
        lambda *args: 1,
        lambda a, b, c=3, *, d=4: 1,
        Callable2(),
        max,  # written in C, without a signature
        pow,
    ],
    ids=["plain", "args", "defaults", "object", "max", "pow"],
)
def test_what_can_be_called_as_documented(function: object) -> None:
    assert problems(priority_p_set=function) == []


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (None, "priority_p_set(last_prio, job_ptr) is missing"),
        (3, "priority_p_set is int, not a function: expected priority_p_set(last_prio, job_ptr)"),
        (
            lambda job: 1,
            "priority_p_set(job) cannot be called with 2 arguments: expected priority_p_set(last_prio, job_ptr)",
        ),
        (
            lambda last_prio, job_ptr, *, more: 1,
            (
                "priority_p_set(last_prio, job_ptr, *, more) cannot be called with 2 arguments: "
                "expected priority_p_set(last_prio, job_ptr)"
            ),
        ),
        (
            coroutine,
            (
                "priority_p_set is a coroutine or generator, which gives no result when called: "
                "expected priority_p_set(last_prio, job_ptr)"
            ),
        ),
        (
            generator,
            (
                "priority_p_set is a coroutine or generator, which gives no result when called: "
                "expected priority_p_set(last_prio, job_ptr)"
            ),
        ),
    ],
    ids=["missing", "number", "one-argument", "keyword", "coroutine", "generator"],
)
def test_what_cannot(function: object, problem: str) -> None:
    assert problems(priority_p_set=function) == [problem]


def test_all_problems_at_once() -> None:
    assert len(problems(priority_p_set=None, priority_p_reconfig=1, init=2, fini=lambda x: None)) == 4


@pytest.mark.parametrize(
    "init",
    [None, lambda ctld: 0, lambda: 0, lambda *args: 0, lambda ctld=None: 0],
    ids=["missing", "ctld", "nothing", "args", "default"],
)
def test_init_takes_the_controller_or_nothing_and_need_not_be_there(init: object) -> None:
    assert problems(init=init) == []


def test_init_takes_nothing_else() -> None:
    assert problems(init=lambda ctld, more: 0) == [
        "init(ctld, more) cannot be called with 1 argument: expected init(ctld)"
    ]
    assert problems(fini=lambda x: 0) == ["fini(x) cannot be called with no arguments: expected fini()"]


def test_the_scheduler_api_lists_init_and_fini() -> None:
    found = check_symbols(object(), SCHED_API)[1]
    assert "init(ctld) is missing" in found
    assert "fini() is missing" in found
    assert len(found) == len(SCHED_API.symbols)


def test_an_attribute_that_raises() -> None:
    class Strange:
        @property
        def priority_p_set(self) -> object:
            raise RuntimeError("not today")

    found = check_symbols(Strange(), PRIORITY_API)[1]
    assert "priority_p_set cannot be read: it raised RuntimeError" in found


@pytest.mark.parametrize(("api", "protocol"), [(PRIORITY_API, PriorityPlugin), (SCHED_API, SchedPlugin)])
def test_every_symbol_has_the_arguments_that_its_protocol_documents(api: PluginApi, protocol: type) -> None:
    for symbol in api.symbols:
        documented = list(inspect.signature(getattr(protocol, symbol.name)).parameters)[1:]
        assert list(symbol.arguments) == documented
        assert str(symbol) == f"{symbol.name}({', '.join(documented)})"
