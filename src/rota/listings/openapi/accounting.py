"""Jobs of the accounting, as ``sacct --json`` and the path ``/slurmdb/v0.0.38/jobs`` show them.

Times are Unix seconds, limits minutes, memory MiB. Other than in Slurm 22.05, exit codes, processor times and names of
reservations are the true ones.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

from rota.listings.job_facts import eligible_time, least_memory, system_comment, throttle
from rota.listings.sacct_fields import Row, Rows, allocated, derived_exit_code, exit_status, nodes, reason, state
from rota.model.array import MOST_TASKS, parse_array
from rota.model.tres import STATIC_TRES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.listings.view import View
    from rota.model.accounting import Accounted
    from rota.model.lines import JobLine
    from rota.model.step import StepRecord, Usage

#: Id of the first TRES that is not Slurm's own.
_FIRST_ID = 1001


class AccountingObjects:
    """Makes the objects of one document.

    Args:
        view: The cluster.
        rows: Gives times and usage.
    """

    def __init__(self, view: View, rows: Rows) -> None:
        self._view = view
        self._rows = rows
        self._ids = {
            name: place + 1 if place < len(STATIC_TRES) else _FIRST_ID + place - len(STATIC_TRES)
            for place, name in enumerate(view.config.tres())
        }

    def job(self, record: Accounted, steps: tuple[StepRecord, ...]) -> dict[str, Any]:
        """Describe a job, with some of its steps."""
        job, details, row = record.job, record.details, Row(record, None)
        cluster, canceller = self._view.config.cluster_name, details.cancelled_by
        memory, _ = least_memory(job)
        return {
            "account": job.account,
            "comment": {
                "administrator": details.admin_comment or None,
                "job": details.comment or None,
                "system": system_comment(job) or None,
            },
            "allocation_nodes": len(job.nodes),
            "array": _array(job),
            "association": {"account": job.account, "cluster": cluster, "partition": None, "user": job.user},
            "cluster": cluster,
            "constraints": job.request.constraint,
            "container": None,
            "derived_exit_code": _exit(*derived_exit_code(record)),
            "time": self._times(row),
            "exit_code": _exit(*exit_status(row)),
            "flags": _flags(record),
            "group": self._view.group_name(job.group_id),
            "het": {"job_id": 0, "job_offset": None},
            "job_id": job.job_id,
            "name": job.name,
            "mcs": {"label": ""},
            "nodes": nodes(row),
            "partition": job.partition,
            "priority": job.priority,
            "qos": job.qos,
            "required": {"CPUs": job.tres_requested.get("cpu", job.num_cpus), "memory": int(memory)},
            "kill_request_user": None if canceller is None else self._view.user_name(canceller),
            "reservation": {"id": 0, "name": job.request.reservation or 0},
            "state": {"current": state(row), "reason": reason(row)},
            "steps": [self._step(record, step) for step in steps],
            "tres": {"allocated": self._tres(allocated(row)), "requested": self._tres(job.tres_requested)},
            "user": job.user,
            "wckey": {"wckey": details.wckey, "flags": []},
            "working_directory": details.work_dir,
        }

    def _times(self, row: Row) -> dict[str, Any]:
        job = row.record.job
        user, system = self._rows.seconds(row)
        return {
            "elapsed": self._rows.elapsed(row),
            "eligible": eligible_time(job) or 0,
            "end": self._rows.end(row) or 0,
            "start": self._rows.start(row) or 0,
            "submission": job.submit_time,
            "suspended": self._rows.suspended(row),
            "system": _duration(system),
            "limit": None if job.time_limit is None else job.time_limit // 60,
            "total": _duration(user + system),
            "user": _duration(user),
        }

    def _tres(self, counts: Mapping[str, int]) -> list[dict[str, Any]]:
        """List counts of TRES by id."""
        return [
            {"type": kind, "name": name or None, "id": self._ids[tres], "count": counts[tres]}
            for tres in sorted(counts.keys() & self._ids.keys(), key=self._ids.__getitem__)
            for kind, _, name in [tres.partition("/")]
        ]

    # ---- steps ------------------------------------------------------------------------------------------------

    def _step(self, record: Accounted, step: StepRecord) -> dict[str, Any]:
        row = Row(record, step)
        usage = step.usage
        user, system = self._rows.seconds(row)
        taken = {"cpu": int((user + system) * 1000), "mem": usage.max_rss, "fs/disk": usage.read_bytes}
        return {
            "nodes": {"list": list(step.nodes), "count": len(step.nodes), "range": nodes(row)},
            "tres": {
                "requested": self._usage(step, usage, taken),
                "consumed": self._usage(step, usage, {"fs/disk": usage.written_bytes}),
                "allocated": self._tres(allocated(row)),
            },
            "time": {
                "elapsed": self._rows.elapsed(row),
                "end": self._rows.end(row) or 0,
                "start": self._rows.start(row) or 0,
                "suspended": self._rows.suspended(row),
                "system": _duration(system),
                "total": _duration(user + system),
                "user": _duration(user),
            },
            "exit_code": _exit(*exit_status(row)),
            "tasks": {"count": step.tasks},
            "pid": None,
            "CPU": {"requested_frequency": {"min": 0, "max": 0}, "governor": []},
            "kill_request_user": None,
            "state": state(row),
            "statistics": {
                "CPU": {"actual_frequency": 0},
                "energy": {"consumed": int(usage.energy or 0)},
            },
            "step": {
                "job_id": record.job.job_id,
                "het": {"component": None},
                "id": int(step.step_id) if step.step_id.isdecimal() else step.step_id,
                "name": step.name,
            },
            "task": {"distribution": "Unknown"},
        }

    def _usage(self, step: StepRecord, usage: Usage, counts: dict[str, int]) -> dict[str, Any]:
        """List usage four times, as a step is measured as a whole; only energy if it ended before that."""
        energy = {"energy": int(usage.energy or 0)}
        if not usage.max_rss:
            total = self._tres({} if step.end_time is None else energy)
            return {"max": [], "min": [], "average": total, "total": total}
        total = self._tres({**counts, **energy})
        extreme = [{**one, "task": 0, "node": "".join(step.nodes[:1])} for one in total]
        return {"max": extreme, "min": extreme, "average": total, "total": total}


def _array(job: JobLine) -> dict[str, Any]:
    together = job.array_task.startswith("[")
    return {
        "job_id": job.array_job_id or 0,
        "limits": {"max": {"running": {"tasks": int(throttle(job) or 0) if together else 0}}},
        "task": _bitmap(job.array_task.strip("[]").partition("%")[0]) if together else None,
        "task_id": int(job.array_task) if job.array_task.isdecimal() else None,
    }


def _bitmap(tasks: str) -> str | None:
    """Give task ids as Slurm stores them: ``3-6`` is 0x78, a bit for each; ``None``: there are none."""
    if not tasks:
        return None
    ids = parse_array(tasks, MOST_TASKS).ids
    bits = bytearray(ids[-1] // 8 + 1)
    for task in ids:
        bits[task // 8] |= 1 << task % 8
    return f"0x{int.from_bytes(bits, 'little'):X}"


def _flags(record: Accounted) -> list[str]:
    if record.job.start_time is None:
        return []
    began = "STARTED_ON_BACKFILL" if record.details.scheduler == "Backfill" else "STARTED_ON_SCHEDULE"
    return ["CLEAR_SCHEDULING", began]


def _exit(code: int, number: int) -> dict[str, Any]:
    if number:
        name = signal.strsignal(number) if number in signal.valid_signals() else None
        shown = {"signal_id": number, "name": name or f"Unknown signal {number}"}
        return {"status": "SIGNALED", "return_code": None, "signal": shown}
    return {"status": "ERROR" if code else "SUCCESS", "return_code": code}


def _duration(seconds: float) -> dict[str, int]:
    whole, part = divmod(round(seconds * 1_000_000), 1_000_000)
    return {"seconds": whole, "microseconds": part}
