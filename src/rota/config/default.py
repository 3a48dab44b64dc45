"""Machines without a slurm.conf."""

from __future__ import annotations

import os

from rota.model import ClusterConfig, Node, Partition


def interchangeable(procs: int) -> ClusterConfig:
    """Describe a machine by its number of processors: one node that hands them out one by one, one partition."""
    return _one_node(Node(name="processors", cpus=procs), "all")


def this_machine() -> ClusterConfig:
    """Describe this machine: one node with the processors that this process may use, and its memory."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    # Not every system can bind processes to processors.
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    node = Node(name=os.uname().nodename.split(".")[0], cpus=cpus, real_memory=memory)
    return _one_node(node, "main")


def _one_node(node: Node, partition: str) -> ClusterConfig:
    return ClusterConfig(nodes=(node,), partitions=(Partition(name=partition, nodes=1, default=True),))
