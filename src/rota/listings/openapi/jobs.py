"""Jobs, as ``squeue --json`` and the path ``/slurm/v0.0.38/jobs`` show them. Times are Unix seconds, limits minutes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.config.hostlist import fold, fold_sorted
from rota.listings.job_facts import (
    accrue_time,
    eligible_time,
    end_shown,
    gres_text,
    hosts_text,
    least_cpus,
    least_memory,
    most_nodes,
    per_gpu,
    requeues,
    sharing,
    start_shown,
    system_comment,
    tasks_of,
    throttle,
)
from rota.listings.text import tres_text
from rota.model.accounting import JobDetails

if TYPE_CHECKING:
    from rota.listings.view import View
    from rota.model.lines import JobLine

_SHARED = {"NO": "none", "YES": "shared", "OK": None}
#: What Slurm assumes of a running job without a time limit, seconds.
_YEAR = 365 * 24 * 3600


def job_object(job: JobLine, view: View) -> dict[str, Any]:
    """Describe a job."""
    details = view.details(job.job_id) or JobDetails()
    return {
        **_origin(job, view, details),
        **_conditions(job, view, details),
        **_state(job, view, details),
        **_size(job),
        **_rules(job, view, details),
        **_rest(job, view, details),
    }


def _origin(job: JobLine, view: View, details: JobDetails) -> dict[str, Any]:
    task = job.array_task
    return {
        "account": job.account,
        "accrue_time": accrue_time(job, details, view) or 0,
        "admin_comment": details.admin_comment,
        "array_job_id": job.array_job_id or 0,
        "array_task_id": int(task) if task.isdecimal() else None,
        "array_max_tasks": int(throttle(job) or 0),
        "array_task_string": "" if task.isdecimal() else task.replace("[", "").replace("]", ""),
        "association_id": details.assoc_id,
        "batch_features": "",
        "batch_flag": details.batch,
        "batch_host": job.nodes[0] if job.nodes else "",
        "flags": [],
        "burst_buffer": "",
        "burst_buffer_state": "",
        "cluster": view.config.cluster_name,
        "cluster_features": "",
        "command": details.command,
        "comment": details.comment,
        "container": "",
    }


def _conditions(job: JobLine, view: View, details: JobDetails) -> dict[str, Any]:
    request = job.request
    return {
        "contiguous": request.contiguous,
        "core_spec": None,
        "thread_spec": None,
        "cores_per_socket": request.cores_per_socket or None,
        "billable_tres": float(job.tres_allocated.get("billing", 0)) if job.tres_allocated else None,
        "cpus_per_task": None,  # as in Slurm, whatever it is
        "cpu_frequency_minimum": None,
        "cpu_frequency_maximum": None,
        "cpu_frequency_governor": None,
        "cpus_per_tres": _given(per_gpu(job, "cpus_per_gpu")),
        "deadline": request.deadline,
        "delay_boot": 0,
        "dependency": job.dependency,
        "derived_exit_code": details.derived_exit_code,
        "eligible_time": eligible_time(job) or 0,
        "end_time": _end(job, view) or 0,
        "excluded_nodes": hosts_text(request.excluded_nodes),
        "exit_code": job.exit_code << 8 | job.signal,
        "features": request.constraint,
        "federation_origin": "",
        "federation_siblings_active": "",
        "federation_siblings_viable": "",
        "gres_detail": [],
    }


def _given(text: str) -> str:
    return "" if text == "N/A" else text


def _end(job: JobLine, view: View) -> int | None:
    if job.time_limit is None and job.start_time is not None and job.base_state in {"RUNNING", "SUSPENDED"}:
        return job.start_time + _YEAR
    return end_shown(job, view.now)


def _state(job: JobLine, view: View, details: JobDetails) -> dict[str, Any]:
    return {
        "group_id": job.group_id,
        "group_name": view.group_name(job.group_id),
        "job_id": job.job_id,
        **({"job_resources": _resources(job, view)} if job.nodes else {}),
        "job_state": job.base_state,
        "last_sched_evaluation": details.last_sched_eval,
        "licenses": job.request.licenses,
    }


def _resources(job: JobLine, view: View) -> dict[str, Any]:
    """Describe the allocation; which cores are allocated is not known."""
    memory = {one.node: one.memory for one in view.allocation(job.job_id)}
    share = job.tres_allocated.get("mem", 0) // len(job.nodes)
    return {
        "nodes": fold(job.nodes),
        "allocated_cores": job.tres_requested.get("cpu", job.num_cpus),
        "allocated_hosts": len(job.nodes),
        "allocated_nodes": [
            {
                "sockets": {},
                "nodename": name,
                "cpus_used": 0,
                "memory_used": 0,
                "memory_allocated": memory.get(name, share),
            }
            for name in job.nodes
        ],
    }


def _size(job: JobLine) -> dict[str, Any]:
    request = job.request
    memory, per_cpu = least_memory(job)
    return {
        "max_cpus": 0,
        "max_nodes": most_nodes(job) if job.pending else 0,
        "mcs_label": "",
        "memory_per_tres": _given(per_gpu(job, "mem_per_gpu")),
        "name": job.name,
        "nodes": fold(job.nodes),
        "nice": job.nice or None,
        "tasks_per_core": request.ntasks_per_core or None,
        "tasks_per_node": request.ntasks_per_node,
        "tasks_per_socket": request.ntasks_per_socket or None,
        "tasks_per_board": 0,
        "cpus": job.num_cpus,
        "node_count": job.num_nodes,
        "tasks": tasks_of(job),
        "het_job_id": 0,
        "het_job_id_set": "",
        "het_job_offset": 0,
        "partition": job.partition,
        "prefer": request.prefer,
        "memory_per_node": None if per_cpu else int(memory) or None,
        "memory_per_cpu": int(memory) or None if per_cpu else None,
        "minimum_cpus_per_node": least_cpus(job),
    }


def _rules(job: JobLine, view: View, details: JobDetails) -> dict[str, Any]:
    request = job.request
    return {
        "minimum_tmp_disk_per_node": details.tmp_disk,
        "preempt_time": 0,
        "pre_sus_time": 0 if job.suspended_since is None else job.time_used(view.now),
        "priority": job.priority,
        "profile": None,
        "qos": job.qos,
        "reboot": False,
        "required_nodes": hosts_text(request.required_nodes),
        "requeue": requeues(job, view),
        "resize_time": 0,
        "restart_cnt": job.restart_count,
        "resv_name": request.reservation,
        "shared": _SHARED[sharing(job)],
        "show_flags": ["SHOW_ALL", "SHOW_DETAIL", "SHOW_LOCAL"],
        "sockets_per_board": 0,
        "sockets_per_node": request.sockets_per_node or None,
        "start_time": start_shown(job, view.now) or 0,
        "state_description": job.reason_text(fold_sorted) if job.reason_sentence else "",
        "state_reason": job.reason,
        "standard_error": (details.std_err or details.std_out) if details.batch else "",
        "standard_input": details.std_in if details.batch else "",
        "standard_output": details.std_out if details.batch else "",
    }


def _rest(job: JobLine, view: View, details: JobDetails) -> dict[str, Any]:
    request, tres = job.request, view.config.tres()
    return {
        "submit_time": job.submit_time,
        "suspend_time": job.suspended_since or 0,
        "system_comment": system_comment(job),
        "time_limit": None if job.time_limit is None else job.time_limit // 60,
        "time_minimum": (request.time_min or 0) // 60,
        "threads_per_core": request.threads_per_core or None,
        "tres_bind": "",
        "tres_freq": "",
        "tres_per_job": gres_text(request.gres_per_job),
        "tres_per_node": gres_text(request.gres),
        "tres_per_socket": gres_text(request.gres_per_socket),
        "tres_per_task": gres_text(request.gres_per_task),
        "tres_req_str": tres_text(job.tres_requested, tres),
        "tres_alloc_str": tres_text(job.tres_allocated, tres),
        "user_id": job.user_id,
        "user_name": job.user,
        "wckey": details.wckey,
        "current_working_directory": details.work_dir,
    }
