"""How much memory the controller and its children may take: who asks for more is refused, and nobody is ended.

What counts is what a process writes to (``RLIMIT_DATA``), not what libraries and threads only reserve. What reaches the
limit raises MemoryError, and the request for which it was fails; see `rota.controller.driver` for the engine's state
then. The supervisor, and with it all jobs, have the limit that the controller's caller had.
"""

from __future__ import annotations

import os
import resource
from pathlib import Path

_MIB = 1 << 20
#: What the controller may take without any jobs and nodes, and for each that it may have to hold. Bytes.
_BASE, _PER_JOB, _PER_NODE = 1024 * _MIB, 64 << 10, 64 << 10
#: What a child may take more than the controller has at that moment, and for each job; and its seconds of a processor.
_CHILD, _CHILD_PER_JOB, _CHILD_SECONDS = 512 * _MIB, 32 << 10, 60
#: The controller takes no more than a part of the machine's memory; a child no more than a sixteenth, as there may be a
#: dozen of them, but always what it may take without jobs.
_PART, _PART_OF_CHILD = 2, 16


def usual_limit(jobs: int, nodes: int) -> int:
    """Give the limit of a controller, which is well above what it needs. Bytes.

    Args:
        jobs: The most jobs that it may have to hold.
        nodes: Its nodes.
    """
    return min(_BASE + _PER_JOB * jobs + _PER_NODE * nodes, _machine() // _PART)


def usual_limit_of_child(jobs: int) -> int:
    """Give what a child may take more than the controller has at that moment. Bytes.

    Args:
        jobs: The number of jobs that it may have to list.
    """
    return max(min(_CHILD + _CHILD_PER_JOB * jobs, _machine() // _PART_OF_CHILD), _CHILD)


def limit_memory(most: int) -> int:
    """Limit the memory of this process; give the limit that it had before. Bytes."""
    before, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    return before


def limit_child(jobs: int) -> None:
    """Limit the memory and the time of this process, a child of the controller that has just begun.

    Args:
        jobs: The number of jobs that it may have to list.
    """
    limit_memory(_taken() + usual_limit_of_child(jobs))
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (_CHILD_SECONDS, hard))


def _machine() -> int:
    """Give the machine's memory. Bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _taken() -> int:
    """Give what counts of this process. Bytes."""
    return int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
