"""Priority factors: the records that the priority API passes, and ``sprio`` shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityFactorsRequest:
    """``priority_factors_request_msg_t``: whose factors are asked for; empty is everybody's."""

    job_ids: frozenset[int] = frozenset()
    user_ids: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityWeights:
    """``PriorityWeight…`` of slurm.conf: what each factor is multiplied with. Unsigned 32-bit."""

    age: int = 0
    assoc: int = 0
    fairshare: int = 0
    job_size: int = 0
    partition: int = 0
    qos: int = 0
    #: ``PriorityWeightTRES`` by TRES name; may have fractions and be negative.
    tres: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    #: The same as it was written.
    tres_text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityFactors:
    """``priority_factors_object_t``: one job in one partition, its factors multiplied with their weights."""

    job_id: int
    user_id: int
    #: Names; empty where there is none.
    user: str = ""
    account: str = ""
    partition: str = ""
    qos: str = ""
    priority: int
    #: An administrator has set the priority: all factors are 0.
    direct: bool = False
    priority_age: float = 0.0
    priority_assoc: float = 0.0
    priority_fs: float = 0.0
    priority_js: float = 0.0
    priority_part: float = 0.0
    priority_qos: float = 0.0
    #: By TRES name, in the order of the cluster's TRES.
    priority_tres: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    #: Added as it is.
    priority_site: int = 0
    #: Subtracted.
    nice: int = 0
