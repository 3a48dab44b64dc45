"""Priority factors: the records of the priority API that ``sprio`` shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityFactorsRequest:
    """``priority_factors_request_msg_t``: ids of the jobs and users that are asked for; empty: all."""

    job_ids: frozenset[int] = frozenset()
    user_ids: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityWeights:
    """``PriorityWeight…`` of slurm.conf: the weight of each factor, unsigned 32-bit."""

    age: int = 0
    assoc: int = 0
    fairshare: int = 0
    job_size: int = 0
    partition: int = 0
    qos: int = 0
    #: ``PriorityWeightTRES`` by TRES name; weights may be fractions or negative.
    tres: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    #: ``PriorityWeightTRES`` as written.
    tres_text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityFactors:
    """``priority_factors_object_t``: the weighted factors of a job in a partition."""

    job_id: int
    user_id: int
    #: Names; empty: none.
    user: str = ""
    account: str = ""
    partition: str = ""
    qos: str = ""
    priority: int
    #: Whether an administrator has set the priority; then all factors are 0.
    direct: bool = False
    priority_age: float = 0.0
    priority_assoc: float = 0.0
    priority_fs: float = 0.0
    priority_js: float = 0.0
    priority_part: float = 0.0
    priority_qos: float = 0.0
    #: Weighted TRES factors by name, in the order of the cluster's TRES.
    priority_tres: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    #: Site factor, which is added without a weight.
    priority_site: int = 0
    #: Nice value, which is subtracted.
    nice: int = 0
