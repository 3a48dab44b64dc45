"""Machines without a slurm.conf."""

from __future__ import annotations

import os

from rota.model import ClusterConfig, Node, Partition


def interchangeable(procs: int) -> ClusterConfig:
    """Describe a machine of interchangeable processors: one partition, and a node whose processors have no identity."""
    return _one_node(Node(name="processors", cpus=procs), "all")


def this_machine() -> ClusterConfig:
    """Describe the machine that rota runs on: one node with all memory and the processors available to this process."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    # Not every system has processor affinity.
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    node = Node(name=os.uname().nodename.split(".")[0], cpus=cpus, real_memory=memory)
    return _one_node(node, "main")


def _one_node(node: Node, partition: str) -> ClusterConfig:
    return ClusterConfig(nodes=(node,), partitions=(Partition(name=partition, nodes=1, default=True),))
