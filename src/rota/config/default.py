"""A machine without a slurm.conf, known by its number of processors."""

from __future__ import annotations

from rota.model import ClusterConfig, Node, Partition


def interchangeable(procs: int) -> ClusterConfig:
    """Describe a machine of interchangeable processors: one partition, and a node whose processors have no identity."""
    node = Node(name="processors", cpus=procs)
    return ClusterConfig(nodes=(node,), partitions=(Partition(name="all", nodes=1, default=True),))
