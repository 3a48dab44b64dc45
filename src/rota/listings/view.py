"""The input of the listings: the records of a cluster at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.model import Association, PriorityFactors, PriorityWeights
    from rota.model.lines import JobLine


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The records of a cluster at one moment."""

    #: The time now, Unix seconds.
    now: int
    #: Gives local time minus UTC in seconds, at a Unix time.
    utc_offset: Callable[[int], int]
    #: Jobs, in any order.
    jobs: tuple[JobLine, ...] = ()
    #: Priority factors, in any order.
    factors: tuple[PriorityFactors, ...] = ()
    weights: PriorityWeights
    #: Associations in tree order, each with its depth.
    associations: tuple[tuple[Association, int], ...] = ()
    #: Names of the TRES in the associations' usage.
    tres: tuple[str, ...] = ()
    #: Whether fair-share is computed by Fair Tree.
    fair_tree: bool = True
