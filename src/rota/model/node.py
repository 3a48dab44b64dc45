"""Nodes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class NodeState(Enum):
    """The administrator's side of a node's state; idle and allocated follow from the jobs."""

    UP = "UP"
    #: No new jobs; running ones go on.
    DRAIN = "DRAIN"
    #: No jobs at all; running ones are lost.
    DOWN = "DOWN"


@dataclass(slots=True, kw_only=True)
class Node:
    """One compute node. Its place in the configuration is its bit in node bitmaps."""

    name: str
    #: Logical processors that jobs may use, at least 1.
    cpus: int = 1
    sockets: int = 1
    cores_per_socket: int = 1
    threads_per_core: int = 1
    #: MiB.
    real_memory: int = 1
    features: tuple[str, ...] = ()
    #: As written: ``gpu:tesla:2``.
    gres: tuple[str, ...] = ()
    #: Lower is preferred.
    weight: int = 1
    #: Which of the NodeName lines of slurm.conf it is from. Where nodes are given out whole, the first are preferred.
    line: int = 0
    state: NodeState = NodeState.UP
    #: Why it is not up, who said so, and when; empty: nobody has said.
    reason: str = ""
    reason_uid: int = 0
    #: Unix seconds.
    reason_time: int = 0
