"""What ``--version`` prints, in recordings."""

from __future__ import annotations


def as_upstream(text: str) -> str:
    """Give a recorded text as Slurm prints it that was not built by Debian.

    The recordings are from Debian's Slurm, which calls itself ``slurm-wlm``; rota says ``slurm``, as elsewhere.
    """
    return text.replace("slurm-wlm 22.05.8", "slurm 22.05.8")
