"""Reading slurm.conf again: new limits and parameters for the same machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.core.accounts.policy import AccountingPolicy
from rota.core.limits.licenses import read_licenses
from rota.core.settings import Settings
from rota.model import Errno, RequestError

if TYPE_CHECKING:
    from rota.core.cluster import Cluster
    from rota.model import ClusterConfig

#: Attributes of a partition that may change while jobs run.
_LIMITS = (
    "state",
    "default",
    "max_time",
    "default_time",
    "min_nodes",
    "max_nodes",
    "priority_tier",
    "priority_job_factor",
    "qos",
    "billing_weights",
    "def_mem_per_cpu",
    "def_mem_per_node",
    "grace_time",
    "over_time_limit",
    "allow_users",
    "allow_accounts",
    "deny_accounts",
    "allow_qos",
    "deny_qos",
    "options",
)


def reconfigure(cluster: Cluster, config: ClusterConfig) -> None:
    """Take the configuration over, whole or not at all.

    Raises:
        RequestError: it has other nodes or partitions: as in Slurm, these need a restart.
        InputError: a parameter cannot be used.
    """
    state = cluster.state
    machine = [part.name for part in config.partitions], [node.name for node in config.nodes]
    if machine != (list(state.partitions), [node.name for node in state.nodes]):
        raise RequestError(
            "nodes or partitions are others than before: restart to change the machine",
            Errno.REQUESTED_PART_CONFIG_UNAVAILABLE,
        )
    config.half_life()
    AccountingPolicy(state, cluster.accounts, config)
    Settings.read(config)
    read_licenses(config)
    for new in config.partitions:
        part = state.partitions[new.name]
        if part.nodes != new.nodes:
            raise RequestError(
                f"partition {new.name} has other nodes than before: restart to change the machine",
                Errno.REQUESTED_NODES_NOT_IN_PARTITION,
            )
    for new in config.partitions:
        part = state.partitions[new.name]
        for attribute in _LIMITS:
            setattr(part, attribute, getattr(new, attribute))
    for job in state.jobs.values():
        for record in (job, *job.records):
            record.request_class = None  # they were worked out with the old limits
    state.set_config(config)
    cluster.accounts.reconfigured()
    cluster.renew_policy()
    state.find_default_partition()
