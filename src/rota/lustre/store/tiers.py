"""Which spans of time are kept how long, and which of them together make a longer one.

The steps of the tiers divide one another, and all begin at the epoch. The finest has what was read; each other one is
made of the one before it, as soon as a step is over, so that the same activities are in all of them.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from rota.model import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_UNITS = {"s": 1, "m": _MINUTE, "h": _HOUR, "d": _DAY, "y": 365 * _DAY}
#: Steps and how long they are kept, beside the finest: seconds; ``None``: for ever.
_COARSE: dict[int, int | None] = {_MINUTE: 3 * _DAY, 5 * _MINUTE: 7 * _DAY, _HOUR: 30 * _DAY, _DAY: None}


class Tier(NamedTuple):
    """A resolution."""

    #: Seconds.
    step: int
    #: How long it is kept: seconds; ``None``: for ever.
    keep: int | None


class Kept(NamedTuple):
    """What of a tier is there, all of it in whole steps."""

    step: int
    #: Unix seconds: nothing from before this is there any more.
    low: int
    #: Until then it is whole.
    high: int


class Span(NamedTuple):
    """Part of a question, and the tier that answers it."""

    step: int
    begin: int
    end: int


def tiers_of(interval: int, keep: str = "") -> tuple[Tier, ...]:
    """Give the tiers.

    Args:
        interval: Seconds between two readings, the finest step.
        keep: How long to keep which step where this is not as usual, such as ``10s=6h,1m=2d``; ``ever`` for no end.

    Raises:
        InputError: the interval does not divide a minute, or ``keep`` cannot be understood.
    """
    if interval < 1 or _MINUTE % interval:
        raise InputError(f"{interval} s does not divide a minute: take 10, 20, 30 or 60", field="--interval")
    steps: dict[int, int | None] = {interval: _DAY, **_COARSE} if interval < _MINUTE else dict(_COARSE)
    for part in filter(None, keep.split(",")):
        step_text, _, time_text = part.partition("=")
        step = _seconds(step_text)
        if step not in steps:
            raise InputError(f"{step_text!r} is none of the steps {', '.join(map(text_of, steps))}", field="--keep")
        steps[step] = None if time_text == "ever" else _seconds(time_text)
    tiers = tuple(Tier(step, time) for step, time in steps.items())
    for finer, coarser in pairwise(tiers):
        if finer.keep is not None and finer.keep < 2 * coarser.step:
            least = text_of(2 * coarser.step)
            raise InputError(f"{text_of(finer.step)} must be kept for {least} at least", field="--keep")
    return tiers


def _seconds(text: str) -> int:
    if (found := re.fullmatch(r"([1-9][0-9]{0,5})([smhdy])", text)) is None:
        raise InputError(f"{text!r} is no time such as 10s, 5m, 1h, 3d or 2y", field="--keep")
    return int(found[1]) * _UNITS[found[2]]


def text_of(seconds: int) -> str:
    """Write a time in the largest unit in which it is whole."""
    unit = next(unit for unit in reversed(_UNITS) if seconds % _UNITS[unit] == 0)
    return f"{seconds // _UNITS[unit]}{unit}"


def finest_at(kept: Sequence[Kept], moment: float) -> int:
    """Give the finest step that goes back to a moment; the coarsest one if none does."""
    return next((one.step for one in kept if one.low <= moment), kept[-1].step)


def cover(kept: Sequence[Kept], begin: int, end: int, coarsest: int) -> Iterator[Span]:
    """Divide a time into spans, each of the coarsest tier that has it.

    Args:
        kept: The tiers, from the finest.
        begin: Unix seconds, at a step of the finest tier that goes back so far.
        end: Unix seconds, at a step of the same tier.
        coarsest: No step may be longer than that, seconds.
    """
    if begin >= end or not kept:
        return
    step, low, high = kept[-1]
    first, last = max(-(-begin // step) * step, low), min(end // step * step, high)
    if step > coarsest or first >= last:
        yield from cover(kept[:-1], begin, end, coarsest)
        return
    yield from cover(kept[:-1], begin, first, coarsest)
    yield Span(step, first, last)
    yield from cover(kept[:-1], last, end, coarsest)
