"""Associations and priority factors, the records that the priority API passes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class Association:
    """A user's or an account's place in the tree; ``acct_association_rec_t`` of the priority API."""

    id: int
    account: str
    #: Empty for an account's own association.
    user: str = ""
    parent_id: int = 0
    shares_raw: int = 1
    #: CPU seconds, decayed.
    usage_raw: float = 0.0
    #: Written by ``priority_p_set_assoc_usage``: the share of the cluster's usage, 0 to 1.
    usage_norm: float = 0.0
    #: Written by ``priority_p_set_assoc_usage``: what fair-share works with, 0 to 1.
    usage_efctv: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityFactorsRequest:
    """``priority_factors_request_msg_t``: whose factors are asked for; empty is everybody's."""

    job_ids: frozenset[int] = frozenset()
    user_ids: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityFactors:
    """``priority_factors_object_t``: one job's weighted factors."""

    job_id: int
    user_id: int
    priority: int
    age: float = 0.0
    fairshare: float = 0.0
    job_size: float = 0.0
    partition: float = 0.0
    qos: float = 0.0
    nice: int = 0
