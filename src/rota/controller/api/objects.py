"""What rota's own paths show of jobs, nodes and partitions: the models of `rota.api.models`, as JSON data.

Times are Unix seconds, durations seconds, memory MiB. ``None``: not set, or no limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.controller.run_environment import expand

if TYPE_CHECKING:
    from rota.model.accounting import Accounted, JobDetails
    from rota.model.lines import JobLine, NodeLine, PartitionLine
    from rota.model.step import StepRecord


def job_data(job: JobLine, details: JobDetails | None) -> dict[str, Any]:
    """Describe a job."""
    found = {
        "job_id": job.job_id,
        "array_job_id": job.array_job_id,
        "array_task": job.array_task,
        "name": job.name,
        "user": job.user,
        "account": job.account,
        "qos": job.qos,
        "partition": job.partition,
        "state": job.state,
        "reason": job.reason,
        "priority": job.priority,
        "nice": job.nice,
        "submit_time": job.submit_time,
        "eligible_time": job.eligible_time,
        "start_time": job.start_time,
        "end_time": job.end_time,
        "planned_start": job.planned_start,
        "time_limit": job.time_limit,
        "dependency": job.dependency,
        "num_nodes": job.num_nodes,
        "num_cpus": job.num_cpus,
        "nodes": list(job.nodes),
        "tres_requested": dict(job.tres_requested),
        "tres_allocated": dict(job.tres_allocated),
        "restart_count": job.restart_count,
        "exit_code": job.exit_code,
        "signal": job.signal,
    }
    if details is not None:
        node = job.nodes[0] if job.nodes else ""
        found |= {
            "command": details.command,
            "work_dir": details.work_dir,
            "std_out": expand(details.std_out, job, node),
            "std_err": expand(details.std_err, job, node),
            "comment": details.comment,
        }
    return found


def queued_data(place: int, job: JobLine) -> dict[str, Any]:
    """Describe a job of the queue, by its place from 1."""
    return {
        "place": place,
        "job_id": job.job_id,
        "array_job_id": job.array_job_id,
        "array_task": job.array_task,
        "name": job.name,
        "user": job.user,
        "account": job.account,
        "partition": job.partition,
        "priority": job.priority,
        "reason": job.reason,
        "submit_time": job.submit_time,
        "num_nodes": job.num_nodes,
        "num_cpus": job.num_cpus,
        "time_limit": job.time_limit,
    }


def planned_data(place: int, job: JobLine) -> dict[str, Any]:
    """Describe where and when a job of the queue is to start."""
    return {
        "place": place,
        "job_id": job.job_id,
        "array_job_id": job.array_job_id,
        "array_task": job.array_task,
        "planned_start": job.planned_start,
        "planned_nodes": list(job.planned_nodes),
    }


def node_data(node: NodeLine) -> dict[str, Any]:
    """Describe a node."""
    return {
        "name": node.name,
        "state": node.state,
        "base_state": node.base_state,
        "flags": list(node.flags),
        "reason": node.reason,
        "cpus": node.cpus,
        "cpus_allocated": node.cpus_allocated,
        "memory": node.memory,
        "memory_allocated": node.memory_allocated,
        "gres": list(node.gres),
        "gres_used": dict(node.gres_used),
        "features": list(node.features),
        "weight": node.weight,
        "partitions": list(node.partitions),
        "jobs": list(node.jobs),
    }


def partition_data(part: PartitionLine) -> dict[str, Any]:
    """Describe a partition."""
    return {
        "name": part.name,
        "state": part.state,
        "default": part.default,
        "nodes": list(part.nodes),
        "tres": dict(part.tres),
        "max_time": part.max_time,
        "default_time": part.max_time if part.default_time is None else part.default_time,
        "min_nodes": part.min_nodes,
        "max_nodes": part.max_nodes,
        "priority_tier": part.priority_tier,
        "qos": part.qos,
    }


def accounted_data(record: Accounted) -> dict[str, Any]:
    """Describe a job of the accounting, with its steps."""
    return {**job_data(record.job, record.details), "steps": [_step_data(step) for step in record.steps]}


def _step_data(step: StepRecord) -> dict[str, Any]:
    usage = step.usage
    return {
        "step_id": step.step_id,
        "name": step.name,
        "state": step.state.name,
        "nodes": list(step.nodes),
        "tasks": step.tasks,
        "cpus": step.cpus,
        "start_time": step.start_time,
        "end_time": step.end_time,
        "exit_code": step.exit_code,
        "signal": step.signal,
        "user_seconds": usage.user_seconds,
        "system_seconds": usage.system_seconds,
        "max_rss": usage.max_rss,
        "read_bytes": usage.read_bytes,
        "written_bytes": usage.written_bytes,
    }
