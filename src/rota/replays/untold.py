"""What a workload does not tell of its jobs, where that makes a difference on a machine: told with the consequence."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from rota.model import ClusterConfig
    from rota.workload import Workload


def untold_doubts(workload: Workload, config: ClusterConfig, qos: Collection[str]) -> Iterator[str]:
    """Give a sentence for all that is not known of requests and would count on this machine; nothing: all is known.

    Args:
        workload: The workload.
        config: The machine.
        qos: Names of the QOS that there are.
    """
    found = [consequence for what, consequence in _consequences(config, qos) if what in workload.untold]
    if found:
        yield (
            f"{workload.name} does not tell all that jobs asked for, and waits can be far from those of then: "
            f"{'; '.join(found)}; run sacct again as docs/workloads.md says"
        )


def _consequences(config: ClusterConfig, qos: Collection[str]) -> Iterator[tuple[str, str]]:
    nodes = config.nodes
    if any(node.gres for node in nodes):
        yield "gres", "no job asks for GRES, so GPUs keep none waiting (ReqTRES or AllocTRES)"
    if any("MEMORY" in text.upper() for text in _selections(config)):
        yield "memory", "every job asks for the default memory (ReqMem or ReqTRES)"
    if any(node.cpus_effective > 1 for node in nodes) and not config.get("SelectType").endswith("linear"):
        yield "whole nodes", "jobs that had whole nodes (--exclusive) ask for what they named alone (AllocTRES)"
    if len(nodes) > 1:
        yield "most nodes", "jobs may be spread over more nodes than they had (AllocTRES or NNodes)"
    if len({node.features for node in nodes}) > 1:
        yield "constraint", "jobs run on nodes of any features (Constraints)"
    if len(config.partitions) > 1:
        yield "partition", "every job is in the default partition (Partition)"
    if len(qos) > 1:
        yield "qos", "every job has the default QOS (QOS)"
    if any(one.default_time or one.max_time for one in config.partitions):
        yield "time limit", "every job has the time limit of its partition (Timelimit)"


def _selections(config: ClusterConfig) -> Iterator[str]:
    yield config.get("SelectTypeParameters")
    yield from (one.select_parameters for one in config.partitions)
