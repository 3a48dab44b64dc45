"""Bars of the weighted priority factors of the jobs that waited longest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.results.priority_history import JobFactors

#: Fields of `JobFactors` in the order of the bars, with labels.
FACTORS = (
    ("age", "Age"),
    ("fairshare", "Fair-share"),
    ("job_size", "Job size"),
    ("partition", "Partition"),
    ("qos", "QOS"),
    ("assoc", "Association"),
    ("tres", "TRES"),
    ("site", "Site"),
    ("nice", "Nice"),
)
_DIGITS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """A factor with its label and colour."""

    name: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """The part of a bar for one factor; ``left`` and ``width`` are per cent of the drawing's width."""

    factor: Factor
    points: float
    left: float
    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """The bar of a job: the segments that are not 0, and the points of every factor in `FactorBars.factors`."""

    job: JobFactors
    segments: tuple[Segment, ...]
    points: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorBars:
    """All bars on one scale. Negative parts are to the left of ``zero``, per cent of the drawing's width."""

    #: Factors that are not 0 for at least one job.
    factors: tuple[Factor, ...]
    #: Labels of the other factors.
    idle: tuple[str, ...]
    zero: float
    bars: tuple[Bar, ...]


def factor_bars(waits: Sequence[JobFactors]) -> FactorBars:
    """Lay out a bar for each job, in the given order."""
    counted = [_counted(job) for job in waits]
    named = [Factor(name=name, label=label) for name, label in FACTORS]
    factors = tuple(factor for factor in named if any(points[factor.name] for points in counted))
    below = max((-sum(min(p, 0.0) for p in points.values()) for points in counted), default=0.0)
    above = max((sum(max(p, 0.0) for p in points.values()) for points in counted), default=0.0)
    scale = 100 / ((below + above) or 1.0)
    bars = [
        Bar(
            job=job,
            segments=_segments(factors, points, zero=below * scale, scale=scale),
            points=tuple(points[factor.name] for factor in factors),
        )
        for job, points in zip(waits, counted, strict=True)
    ]
    return FactorBars(
        factors=factors,
        idle=tuple(factor.label for factor in named if factor not in factors),
        zero=round(below * scale, _DIGITS),
        bars=tuple(bars),
    )


def _counted(job: JobFactors) -> dict[str, float]:
    """Give the contribution of each factor to the priority; that of nice is negative."""
    return {name: getattr(job, name) for name, _ in FACTORS} | {"nice": -job.nice if job.nice else 0.0}


def _segments(factors: Sequence[Factor], points: dict[str, float], *, zero: float, scale: float) -> tuple[Segment, ...]:
    """Stack the segments: positive ones to the right of ``zero``, negative ones to the left."""
    left, right, segments = zero, zero, []
    for factor in factors:
        given = points[factor.name]
        width = abs(given) * scale
        if given < 0:
            left -= width
        if given:
            begin = round(left if given < 0 else right, _DIGITS)
            segments.append(Segment(factor=factor, points=given, left=begin, width=round(width, _DIGITS)))
        if given > 0:
            right += width
    return tuple(segments)
