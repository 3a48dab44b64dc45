"""The machine that rota runs on, as one node in one partition."""

from __future__ import annotations

import ctypes
import os
from types import MappingProxyType

from rota.model import ClusterConfig, Node, Partition

#: Memory is rounded down to this, MiB, so that the node never has less than configured.
_GRANULE = 64
_PARAMETERS = MappingProxyType(
    {
        "clustername": "rota",
        "selecttype": "select/cons_tres",
        "selecttypeparameters": "CR_CPU_Memory",
        "schedulertype": "sched/backfill",
    }
)


def this_machine() -> ClusterConfig:
    """Describe this machine: all memory, its GPUs, and the processors available to this process.

    Jobs that ask for no memory get as much for each processor as there is.
    """
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20 // _GRANULE * _GRANULE
    # Not every system has processor affinity.
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    gpus = gpu_count()
    parameters = {**_PARAMETERS, "grestypes": "gpu"} if gpus else dict(_PARAMETERS)
    node = Node(
        name=os.uname().nodename.split(".")[0],
        cpus=cpus,
        real_memory=memory,
        gres=(f"gpu:{gpus}",) if gpus else (),
    )
    partition = Partition(name="main", nodes=1, default=True, def_mem_per_cpu=memory // cpus)
    return ClusterConfig(cluster_name="rota", nodes=(node,), partitions=(partition,), parameters=parameters)


def gpu_count() -> int:
    """Count the GPUs of this machine through NVIDIA's management library; 0 without it."""
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return 0
    count = ctypes.c_uint(0)
    if library.nvmlInit_v2() != 0:
        return 0
    try:
        return count.value if library.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0 else 0
    finally:
        library.nvmlShutdown()
