"""What the listings are made of: one moment of a cluster, as records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.model import Association, PriorityFactors, PriorityWeights
    from rota.model.lines import JobLine


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One moment of a cluster."""

    #: Unix seconds.
    now: int
    #: Local time minus UTC in seconds, at a Unix time.
    utc_offset: Callable[[int], int]
    #: In any order.
    jobs: tuple[JobLine, ...] = ()
    #: In any order.
    factors: tuple[PriorityFactors, ...] = ()
    weights: PriorityWeights
    #: As people see the tree, each with its depth.
    associations: tuple[tuple[Association, int], ...] = ()
    #: Names of the TRES that associations count.
    tres: tuple[str, ...] = ()
    #: Fair-share is Fair Tree's.
    fair_tree: bool = True
