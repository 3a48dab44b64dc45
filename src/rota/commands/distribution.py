"""The distribution of tasks over nodes, sockets and cores: what ``--distribution`` says, and how a job is told it."""

from __future__ import annotations

from typing import NamedTuple


class Distribution(NamedTuple):
    """What a value of ``--distribution`` says."""

    #: ``block``, ``cyclic``, ``plane`` or ``arbitrary``; empty: it follows from the numbers of tasks and nodes.
    kind: str = ""
    plane_size: int = 0
    #: How tasks are distributed over sockets and cores.
    lower: tuple[str, ...] = ()
    #: ``pack``: on as few nodes as possible, one filled after the other; ``nopack`` or empty: not so.
    packing: str = ""

    @property
    def packs(self) -> bool:
        """Whether tasks are on as few nodes as possible."""
        return self.packing == "pack"

    def named(self, kind: str) -> str:
        """Give its name in ``SLURM_DISTRIBUTION``.

        Args:
            kind: The kind that it came to be, if it says none; empty: that is not known so far.
        """
        return ",".join(filter(None, (":".join(filter(None, (self.kind or kind, *self.lower))), self.packing)))


def distribution_environment(text: str) -> dict[str, str]:
    """Give the variables by which a job tells its steps of ``--distribution``; none without a value."""
    if not text:
        return {}
    read = read_distribution(text)
    found = {"SLURM_DISTRIBUTION": read.named("")}
    return found | ({"SLURM_DIST_PLANESIZE": str(read.plane_size)} if read.plane_size else {})


def read_distribution(text: str) -> Distribution:
    """Read a value of ``--distribution`` that can be used; empty: none."""
    words, _, packing = text.lower().partition(",")
    if words in {"pack", "nopack"}:
        return Distribution(packing=words)
    first, *lower = words.split(":")
    kind, _, size = first.partition("=")
    return Distribution(
        kind="block" if kind == "*" else kind,
        plane_size=int(size or 0),
        lower=tuple("cyclic" if word == "*" else word for word in lower if word),
        packing=packing,
    )
