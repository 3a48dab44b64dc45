"""Compute nodes."""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from rota.model.read_only import ReadOnlyDict, read_only
from rota.model.tres import gres_counts


class NodeState(Enum):
    """The part of a node's state that an administrator sets. Whether it is idle or allocated follows from the jobs."""

    UP = "UP"
    #: No jobs are started; running ones go on.
    DRAIN = "DRAIN"
    #: The same, because it is expected to fail.
    FAIL = "FAIL"
    #: No jobs are started; running ones are lost.
    DOWN = "DOWN"


@read_only("nodes are changed by `scontrol update`")
class Node(NamedTuple):
    """A compute node. Its index in the configuration is its bit in node bitmaps.

    A named tuple, since a machine may have tens of thousands: immutable and cheap to make. What slurm.conf says of it
    comes first; what stays of it when slurm.conf is read again begins with `state`.
    """

    name: str
    #: Logical processors available to jobs, at least 1.
    cpus: int = 1
    sockets: int = 1
    cores_per_socket: int = 1
    threads_per_core: int = 1
    #: Memory in MiB.
    real_memory: int = 1
    features: tuple[str, ...] = ()
    #: What jobs cannot have of it: cores (``CoreSpecCount``), and memory in MiB (``MemSpecLimit``).
    core_spec_count: int = 0
    mem_spec_limit: int = 0
    #: GRES, as written: ``gpu:tesla:2``; of GPUs near some cores also these, as in `rota.model.gres`.
    gres: tuple[str, ...] = ()
    #: Nodes of lower weight are allocated first.
    weight: int = 1
    #: Index of the NodeName line of slurm.conf. ``select/linear`` allocates nodes of earlier lines first.
    line: int = 0
    #: Size of temporary disk space, MiB.
    tmp_disk: int = 0
    state: NodeState = NodeState.UP
    #: Why the node is not up, and who set this; empty: not given.
    reason: str = ""
    reason_uid: int = 0
    #: When the reason was set, Unix seconds.
    reason_time: int = 0
    #: Texts of administrators.
    comment: str = ""
    extra: str = ""
    #: What an administrator has set in place of slurm.conf's, until this is read again; ``None``: nothing.
    set_features: tuple[str, ...] | None = None
    set_weight: int | None = None

    @property
    def kind(self) -> tuple[object, ...]:
        """All that slurm.conf says of it, but its name and state: what it can serve."""
        return self[1:KEPT]

    @property
    def cpus_effective(self) -> int:
        """Number of processors that jobs can have; Slurm's ``CPUEfctv``."""
        return self.cpus - self.core_spec_count * max(self.cpus // (self.sockets * self.cores_per_socket), 1)

    @property
    def gres_counts(self) -> ReadOnlyDict[int]:
        """Numbers of GRES by kind, as `rota.model.tres.gres_counts` has them.

        Raises:
            ValueError: they are not written as GRES are.
        """
        return _gres_counts(self.gres)


#: Where in a node begins what is kept of it when slurm.conf is read again: its state, and what administrators have set.
KEPT = Node._fields.index("state")


@lru_cache(maxsize=1024)  # a machine has few kinds of nodes
def _gres_counts(gres: tuple[str, ...]) -> ReadOnlyDict[int]:
    return ReadOnlyDict(gres_counts(",".join(gres)))
