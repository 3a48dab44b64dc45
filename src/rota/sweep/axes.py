"""What a sweep varies: a name, and its values as they are written on the command line.

A name is an option of ``rota replay`` without its dashes (``scheduler``, ``load``, ``seed``), or what stands before the
value in ``--set``: ``bf_max_job_test``, ``PartitionName=long MaxTime``. ``qos NAME KEY`` and ``assoc WHO KEY`` are
those of ``--set-qos`` and ``--set-assoc``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from rota.model import InputError

#: Most values of one axis.
MOST_VALUES = 1_000_000


@dataclass(frozen=True, slots=True)
class Axis:
    """A name and its values, of which there is at least one and none twice."""

    name: str
    values: tuple[str, ...]

    @property
    def numbers(self) -> tuple[float, ...] | None:
        """The values as numbers; ``None``: they are not all numbers."""
        try:
            return tuple(float(value) for value in self.values)
        except ValueError:
            return None


def read_axis(text: str) -> Axis:
    """Read ``NAME=VALUE,…`` or ``NAME=FROM:TO:STEP``. The last equals sign counts: ``qos normal GrpTRES=cpu=50,100``.

    Raises:
        InputError: it has another form.
    """
    name, equals, values = text.rpartition("=")
    if not equals or not name.strip():
        raise InputError(f"{text!r} is not NAME=VALUE,… or NAME=FROM:TO:STEP", field="--vary")
    return make_axis(name, read_values(values, f"--vary {name}"), f"--vary {name}")


def make_axis(name: str, values: list[str], field: str) -> Axis:
    """Make an axis.

    Args:
        name: The name; blanks around it are dropped.
        values: The values.
        field: What the user has written it in, for error messages.

    Raises:
        InputError: there is no value, or one twice.
    """
    if not values:
        raise InputError("has no value", field=field)
    twice = next((value for value, count in Counter(values).items() if count > 1), None)
    if twice is not None:
        raise InputError(f"{twice} is there twice", field=field)
    return Axis(name.strip(), tuple(values))


def read_values(text: str, field: str) -> list[str]:
    """Read values: ``50,100,500``, or a range, ``0:10000:2000``, with its end; a step of 1 may be left out.

    Raises:
        InputError: a value is missing, or a range is none.
    """
    bounds = text.split(":")
    if len(bounds) in {2, 3} and "," not in text and all(map(_is_number, bounds)):
        first, last, step = (Decimal(one.strip()) for one in (*bounds, "1")[:3])
        if step <= 0 or last < first or (last - first) / step >= MOST_VALUES:
            problem = f"{text} is no range: write FROM:TO:STEP, with a step above 0 and at most {MOST_VALUES:,} values"
            raise InputError(problem, field=field)
        return [_text(first + step * place) for place in range(int((last - first) / step) + 1)]
    values = [one.strip() for one in text.split(",")]
    if not all(values):
        raise InputError(f"{text!r} has an empty value", field=field)
    return values


def _is_number(text: str) -> bool:
    try:
        return Decimal(text.strip()).is_finite()
    except InvalidOperation:
        return False


def _text(number: Decimal) -> str:
    return f"{number.normalize():f}"
