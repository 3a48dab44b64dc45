"""Checks of the values that plugins hand over, where they do so: later nobody could say whose they were.

Whole numbers may be of any type that is one, such as NumPy's; they become Python's.
"""

from __future__ import annotations

from math import ceil, isfinite
from numbers import Integral, Real
from operator import index
from typing import TYPE_CHECKING

from rota.model import LONGEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rota.model import Association, PriorityFactors

_name_of_class = type.__dict__["__name__"].__get__
#: Longest text of a plugin in a message.
LONGEST_TEXT = 200
#: The last second of the year 9999, after which there are no dates.
LATEST = 253_402_300_799
_SHARES = ("shares_norm", "usage_norm", "usage_efctv", "fs_factor")
_TEXTS = ("user", "account", "partition", "qos")
_WHOLE = ("job_id", "user_id", "priority", "priority_site", "nice")
_FACTORS = (
    "priority_age",
    "priority_assoc",
    "priority_fs",
    "priority_js",
    "priority_part",
    "priority_qos",
)


def whole(value: object) -> int:
    """Give a whole number as Python's own: a class derived from ``int`` may do anything when it is compared.

    Raises:
        TypeError: it is none.
    """
    number = index(value)  # type: ignore[arg-type] # it raises the error
    return number if type(number) is int else int.__index__(number)


def moment(time: object) -> int:
    """Check a point of time, Unix seconds.

    Raises:
        TypeError: it is no whole number.
        ValueError: it is not from 1970 to 9999.
    """
    return _within("time", time, LATEST)


def time_limit(seconds: object) -> int:
    """Check a time limit in seconds; 0: none is given.

    Raises:
        TypeError: it is no whole number.
        ValueError: it is negative, or longer than any time limit.
    """
    return _within("time limit", seconds, LONGEST)


def run_time(seconds: object) -> int:
    """Check an estimate of a run time, in seconds; give it rounded up, and none longer than any time limit.

    Raises:
        TypeError: it is no number.
        ValueError: it is negative or NaN.
    """
    if not isinstance(seconds, Real):
        raise TypeError(f"estimate {seconds!r} is no number")
    number = float(seconds)
    if not number >= 0:
        raise ValueError(f"estimate {number} is not from 0 on")
    return ceil(min(number, LONGEST))


def bitmap(nodes: object, count: int) -> int:
    """Check a bitmap of a machine's nodes.

    Raises:
        TypeError: it is no whole number.
        ValueError: it has other nodes.
    """
    number = nodes if type(nodes) is int else whole(nodes)
    if number < 0 or number >> count:
        raise ValueError(f"bitmap {number:#x} has other nodes than the machine's {count}")
    return number


def _within(what: str, value: object, most: int) -> int:
    number = value if type(value) is int else whole(value)
    if not 0 <= number <= most:
        raise ValueError(f"{what} {number} is not from 0 to {most}")
    return number


def require_numbers(keys: Iterable[object]) -> None:
    """Check keys by which jobs are sorted.

    Raises:
        TypeError: a key is no number.
        ValueError: a key is NaN, which has no place in any order.
    """
    for key in keys:
        if not isinstance(key, Real):
            raise TypeError(f"key {key!r} is no number")
        if key != key:  # noqa: PLR0124 - only NaN differs from itself
            raise ValueError("a key is NaN, which cannot be sorted")


def require_functions(*functions: object) -> None:
    """Check functions that are to be called later.

    Raises:
        TypeError: one is none.
    """
    for fn in functions:
        if not callable(fn):
            raise TypeError(f"{fn!r} is no function")


def problem_of_factors(one: PriorityFactors) -> str:
    """Say what is wrong with the priority factors of a job; empty if nothing is."""
    for name in _TEXTS:
        if not isinstance(getattr(one, name), str):
            return f"with {name}={getattr(one, name)!r}; expected text"
    for name in _WHOLE:
        if not isinstance(getattr(one, name), Integral):
            return f"with {name}={getattr(one, name)!r}; expected a whole number"
    try:
        numbers = {name: getattr(one, name) for name in _FACTORS} | dict(one.priority_tres)
    except (TypeError, ValueError):
        return f"with priority_tres={one.priority_tres!r}; expected numbers by TRES"
    wrong = next((name for name, value in numbers.items() if not _is_finite(value)), None)
    return "" if wrong is None else f"with {wrong}={numbers[wrong]!r}; expected a finite number"


def right_shares(one: Association) -> str:
    """Make the shares of an association numbers, wrong ones 0; say what was wrong, empty: nothing."""
    problem = ""
    for name in _SHARES:
        number = _number(value := getattr(one, name))
        if number is None or not isfinite(number):
            problem = problem or f"set {name} to {shown(value)}; expected a finite number"
            number = 0.0
        setattr(one, name, number)
    if one.level_fs is not None:
        level = _number(one.level_fs)
        if level is None or not level >= 0:
            problem = problem or f"set level_fs to {shown(one.level_fs)}; expected a number of at least 0, or None"
            level = None
        one.level_fs = level
    return problem


def _number(value: object) -> float | None:
    # Whatever the value is, its own code runs here.
    try:
        number = float(value) if isinstance(value, Real) else None
    except BaseException:  # noqa: BLE001 - whatever a plugin raises
        return None
    return number if number is None or type(number) is float else float.__float__(number)


def _is_finite(value: object) -> bool:
    return isinstance(value, Real) and isfinite(value)


def shown(value: object, text: Callable[[object], str] = repr) -> str:
    """Format a plugin's value in one short line."""
    try:
        return " ".join(str.__str__(text(value))[: 10 * LONGEST_TEXT].split())[:LONGEST_TEXT]
    except BaseException:  # noqa: BLE001 - whatever a plugin raises
        return f"a {class_name(value)} that cannot be shown"


def class_name(value: object) -> str:
    """Give the name of a value's class, whatever attributes the class has."""
    name: str = _name_of_class(type(value))
    return name
