"""Nodes, partitions and reservations, as ``sinfo --json`` and the REST paths show them.

Times are Unix seconds, limits of time minutes, memory MiB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.config.hostlist import fold_sorted
from rota.listings.node_facts import gres_used, reserved, tres_allocated, tres_configured
from rota.listings.text import tres_text, weights_text

if TYPE_CHECKING:
    from rota.listings.view import View
    from rota.model.lines import NodeLine, PartitionLine, ReservationLine

#: Slurm's number for what is not known, as it shows it of the load and of power; and for what is not limited.
_NO_VALUE = 2**32 - 2
_NOT_LIMITED = 2**16 - 1


def node_object(node: NodeLine, view: View) -> dict[str, Any]:
    """Describe a node."""
    features = ",".join(node.features)
    return {
        "architecture": node.arch,
        "burstbuffer_network_address": "",
        "boards": 1,
        "boot_time": node.boot_time,
        "comment": node.comment,
        "cores": node.cores_per_socket,
        "cpu_binding": 0,
        "cpu_load": _NO_VALUE if node.load is None else round(node.load * 100),
        "extra": node.extra,
        "free_memory": -2 if node.memory_free is None else node.memory_free,
        "cpus": node.cpus,
        "last_busy": node.last_busy,
        "features": features,
        "active_features": features,
        "gres": ",".join(node.gres),
        "gres_drained": "N/A",
        "gres_used": gres_used(node),
        "mcs_label": "",
        "name": node.name,
        "next_state_after_reboot": "invalid",
        "address": node.address or node.name,
        "hostname": node.host or node.name,
        "state": node.base_state.lower(),
        "state_flags": list(node.flags),
        "next_state_after_reboot_flags": [],
        "operating_system": node.system,
        "owner": None,
        "partitions": list(node.partitions),
        "port": node.port,
        "real_memory": node.memory,
        "reason": node.reason,
        "reason_changed_at": node.reason_time,
        "reason_set_by_user": view.user_name(node.reason_uid) if node.reason else None,
        "slurmd_start_time": node.daemon_start_time,
        "sockets": node.sockets,
        "threads": node.threads_per_core,
        "temporary_disk": node.tmp_disk,
        "weight": node.weight,
        "tres": tres_configured(node),
        "slurmd_version": node.version,
        "alloc_memory": node.memory_allocated,
        "alloc_cpus": node.cpus_allocated,
        "idle_cpus": node.cpus - node.cpus_allocated,
        "tres_used": tres_allocated(node) or None,
        "tres_weighted": float(node.cpus_allocated),
    }


def partition_object(part: PartitionLine) -> dict[str, Any]:
    """Describe a partition."""
    return {
        "flags": [*(["default"] if part.default else []), *(["least_loaded_nodes"] if part.least_loaded else [])],
        "preemption_mode": ["disabled"],
        "allowed_allocation_nodes": "",
        "allowed_accounts": ",".join(part.allow_accounts),
        "allowed_groups": ",".join(part.allow_groups),
        "allowed_qos": ",".join(part.allow_qos),
        "alternative": "",
        "billing_weights": weights_text(part.billing_weights),
        "default_memory_per_cpu": part.def_mem_per_cpu or None,
        "default_memory_per_node": part.def_mem_per_node or None,
        "default_time_limit": _minutes(part.default_time),
        "denied_accounts": ",".join(part.deny_accounts),
        "denied_qos": ",".join(part.deny_qos),
        "preemption_grace_time": part.grace_time,
        "maximum_cpus_per_node": part.max_cpus_per_node or -1,
        "maximum_memory_per_cpu": part.max_mem_per_cpu or None,
        "maximum_memory_per_node": part.max_mem_per_node or None,
        "maximum_nodes_per_job": -1 if part.max_nodes is None else part.max_nodes,
        "max_time_limit": -1 if part.max_time is None else part.max_time // 60,
        "min nodes per job": part.min_nodes,
        "name": part.name,
        "nodes": fold_sorted(part.nodes),
        "over_time_limit": _NOT_LIMITED if part.over_time_limit is None else part.over_time_limit // 60 or None,
        "priority_job_factor": part.priority_job_factor,
        "priority_tier": part.priority_tier,
        "qos": part.qos,
        "state": part.state,
        "total_cpus": part.tres.get("cpu", 0),
        "total_nodes": len(part.nodes),
        "tres": tres_text(part.tres),
    }


def _minutes(seconds: int | None) -> int | None:
    return None if seconds is None else seconds // 60


def reservation_object(one: ReservationLine, view: View) -> dict[str, Any]:
    """Describe an advance reservation."""
    cores, cpus = reserved(one, view)
    return {
        "flags": list(one.flags),
        "accounts": ",".join(one.accounts),
        "burst_buffer": "",
        "core_count": cores,
        "core_spec_cnt": 0,
        "end_time": one.end_time,
        "features": one.features,
        "groups": "",
        "licenses": "",
        "max_start_delay": 0,
        "name": one.name,
        "node_count": len(one.nodes),
        "node_list": fold_sorted(one.nodes),
        "partition": one.partition,
        "start_time": one.start_time,
        "watts": _NO_VALUE,
        "tres": f"cpu={cpus}",
        "users": ",".join(one.users),
    }
