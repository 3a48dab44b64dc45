"""Checks that a plugin has every documented function, callable as documented.

All problems are found at once, before the plugin is used: missing names, objects that are not callable, functions that
do not take the documented number of positional arguments, coroutines and generators where a value is expected, and what
else the API itself checks.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from rota.interfaces import Symbol
from rota.interrupts import raise_if_interrupted

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.interfaces import PluginApi

INIT = Symbol("init", ("ctld",))
FINI = Symbol("fini")
_ABSENT = object()


def check_symbols(container: object, api: PluginApi) -> tuple[dict[str, Callable[..., Any]], list[str]]:
    """Look up the functions of an API, and ``init`` and ``fini``, in a symbol container.

    ``init`` and ``fini`` may be missing unless the API lists them, and ``init`` may also take no argument.

    Args:
        container: A module or any object.
        api: The documented functions.

    Returns:
        The functions by name, and the problems.
    """
    listed = {symbol.name: symbol for symbol in api.symbols}
    functions: dict[str, Callable[..., Any]] = {}
    problems: list[str] = []
    for symbol in ({INIT.name: INIT, FINI.name: FINI} | listed).values():
        try:
            value: Any = getattr(container, symbol.name, _ABSENT)
        except BaseException as exc:  # noqa: BLE001  (an object may compute its attributes)
            raise_if_interrupted()
            problems.append(f"{symbol.name} cannot be read: it raised {type(exc).__name__}")
            continue
        if value is not _ABSENT:
            if problem := _problem(symbol, value):
                problems.append(problem)
            functions[symbol.name] = value
        elif symbol.name in listed and not symbol.optional:
            problems.append(f"{symbol} is missing")
    return functions, problems + api.problems(container)


def accepts(function: Callable[..., Any], arity: int) -> bool:
    """Whether a function can be called with a number of positional arguments; true if it has no signature."""
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):  # functions written in C may have none
        return True
    try:
        signature.bind(*[None] * arity)
    except TypeError:
        return False
    return True


def _problem(symbol: Symbol, value: object) -> str | None:
    if not callable(value):
        return f"{symbol.name} is {type(value).__name__}, not a function: expected {symbol}"
    generator = inspect.isgeneratorfunction(value) and not symbol.generator
    if generator or inspect.iscoroutinefunction(value) or inspect.isasyncgenfunction(value):
        return f"{symbol.name} is a coroutine or generator, which gives no result when called: expected {symbol}"
    if accepts(value, symbol.arity) or (symbol.name == INIT.name and accepts(value, 0)):
        return None
    return f"{symbol.name}{inspect.signature(value)} cannot be called with {_count(symbol.arity)}: expected {symbol}"


def _count(arity: int) -> str:
    return "1 argument" if arity == 1 else f"{arity or 'no'} arguments"
