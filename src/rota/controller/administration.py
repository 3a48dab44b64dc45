"""The controller's side of `rota status`, `rota plan` and others. They are called as ``rota-call NAME ARGUMENTS``."""

from __future__ import annotations

import asyncio
import json
import os
import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rota.config.hostlist import fold_sorted
from rota.controller.allocations import held, until_over_or_gone
from rota.controller.child import in_child
from rota.controller.command_names import name_of
from rota.controller.job_orders import live_job
from rota.controller.live_view import LiveView
from rota.controller.present import present
from rota.controller.programs import missing_programs
from rota.controller.slices import together
from rota.controller.srun import serve_step
from rota.controller.submitting import host_name
from rota.controller.token_call import token_call
from rota.core import events as ev
from rota.inspect.description import describe
from rota.inspect.explain import explain
from rota.listings import Answer
from rota.model import JobState, RotaError
from rota.model.step import StepClient
from rota.users import is_users

if TYPE_CHECKING:
    from rota.controller.cluster import Cluster
    from rota.controller.wire import Call, Terminal

_ID = re.compile(r"\d{1,10}", re.ASCII)
#: Seconds for which `rota status` waits for the disk.
_PATIENCE = 5.0


async def rota_call(cluster: Cluster, call: Call, terminal: Terminal) -> int | None:
    """Carry out a command of `rota`; give the exit status, ``None``: it has been given."""
    name, *words = call.words[1:] or ("",)
    if name in {"explain", "plan", "present"} and not LiveView(cluster, call.uid).privacy.shows_all_jobs:
        terminal.error("rota: error: Access/permission denied: PrivateData in slurm.conf hides other users' jobs\n")
        return 1
    if name == "status":
        found = _status(cluster)
        # Whoever sees there that a job has ended finds its record. A disk that hangs is waited for, but not for ever.
        await asyncio.wait({cluster.driver.keep([])}, timeout=_PATIENCE)
        terminal.out(json.dumps(found) + "\n")
        return 0
    if name == "down":
        return await _down(cluster, call, terminal, cancel=words == ["cancel"])
    if name == "plan":
        await in_child(cluster, call, terminal, lambda: Answer(json.dumps(_plan(cluster)) + "\n"))
        return None
    if name == "present":
        await in_child(cluster, call, terminal, lambda: Answer(json.dumps(present(cluster))))
        return None
    if name == "explain" and words:
        return _explain(cluster, terminal, words[0], as_json=words[1:] == ["json"])
    if name == "attach" and len(words) == 2 and _ID.fullmatch(words[0]):
        return await _attach(cluster, call, terminal, int(words[0]), words[1])
    if name == "over" and len(words) == 1 and _ID.fullmatch(words[0]):
        return await _over(cluster, call, terminal, int(words[0]))
    if name == "join" and len(words) == 1 and _ID.fullmatch(words[0]):
        return await _join(cluster, call, int(words[0]))
    if name == "token":
        return await token_call(cluster, call, terminal, words)
    terminal.error(f"rota: error: no command {name!r}\n")
    return 2


def _status(cluster: Cluster) -> dict[str, Any]:
    view, capabilities = cluster.driver.engine.view, cluster.executor.capabilities()
    statistics = view.statistics()
    nodes = view.nodes()
    return {
        "version": cluster.version,
        "state": str(cluster.state),
        "pid": os.getpid(),
        "supervisor_pid": cluster.executor.supervisor_pid,
        "cluster": view.config.cluster_name,
        "slurm_conf": cluster.conf,
        "keep": cluster.keep,
        "now": cluster.clock.now(),
        "clock_ahead": round(cluster.clock.ahead),
        "nodes": len(nodes),
        "cpus": sum(node.cpus for node in nodes),
        "cpus_allocated": sum(node.cpus_allocated for node in nodes),
        "jobs": dict(statistics.jobs),
        "plugin_faults": dict(statistics.faults),
        "trouble": cluster.driver.trouble,
        "mail": cluster.mail.trouble,
        "programs": missing_programs(view.config),
        "short_of": cluster.shortages.told(),
        "processes": capabilities.tree,
        "memory_limits": capabilities.memory,
        "energy": capabilities.energy,
    }


async def _attach(cluster: Cluster, call: Call, terminal: Terminal, job_id: int, step_id: str) -> int | None:
    """Take back a client that runs a step and has lost its controller."""
    job = cluster.driver.engine.jobs.get(job_id)
    if job is None or cluster.steps.find(job_id, job.restart_count, step_id) is None:
        return 0  # it has ended
    if call.uid not in {0, job.user_id}:
        return 1
    if not cluster.steps.claim(job, step_id, call):
        return 0  # it is another one, of a later run: that of this client has ended
    return await serve_step(cluster, terminal, job, step_id, StepClient(f"{host_name()}:{call.pid}"))


async def _over(cluster: Cluster, call: Call, terminal: Terminal, job_id: int) -> int | None:
    """Tell a client that uses an allocation, and has lost its controller, when that is over."""
    job = cluster.driver.engine.jobs.get(job_id)
    if job is None:
        await cluster.driver.keep([])  # so its record is there
        return 0
    if call.uid != job.user_id:
        return 1
    if call.key and job.spec.payload == name_of(call, job_id, ends_with_command=True):
        cluster.unclaimed.claim(job_id)
        await held(cluster, terminal, job_id)
        return 0
    return 0 if await until_over_or_gone(cluster, terminal, job_id) else None


async def _join(cluster: Cluster, call: Call, job_id: int) -> int:
    """Take a process of a job's user into the job."""
    job = cluster.driver.engine.jobs.get(job_id)
    if job is None or job.state is not JobState.RUNNING or call.uid != job.user_id:
        return 1
    if not is_users(call.pid, call.uid):  # the process that has connected is gone, and its number is another one's
        return 1
    return 0 if await cluster.executor.join(job_id, job.restart_count, call.pid) else 1


def _explain(cluster: Cluster, terminal: Terminal, job: str, *, as_json: bool) -> int:
    view = cluster.driver.engine.view
    try:
        found = explain(view, live_job(view, job))
    except RotaError as error:
        terminal.error(f"rota: error: {error}\n")
        return 2
    if as_json:
        terminal.out(json.dumps({**asdict(found), "starts": found.start_time}) + "\n")
    else:
        terminal.out(describe(found, found.start_time, view.utc_offset))
    return 0


def _plan(cluster: Cluster) -> list[dict[str, Any]]:
    """Give the pending jobs in the order of the queue, with their planned starts."""
    view, now = cluster.driver.engine.view, cluster.clock.now()
    lines = (view.job(job_id) for job_id in view.waiting())
    return [
        {
            "job_id": line.job_id,
            "array_job_id": line.array_job_id,
            "array_task": line.array_task,
            "name": line.name,
            "state": line.base_state,
            "nodes": fold_sorted(line.planned_nodes),
            "start": None if line.planned_start is None else max(line.planned_start - now, 0),
        }
        for line in lines
        if line is not None
    ]


async def _down(cluster: Cluster, call: Call, terminal: Terminal, *, cancel: bool) -> int:
    if cluster.rights.as_administrator(call.uid):
        terminal.error("rota: error: Access/permission denied\n")
        return 1
    if cancel and cluster.driver.trouble:
        terminal.error(f"rota: error: jobs cannot be cancelled: {cluster.driver.trouble}\n")
        return 1
    if cancel:
        jobs = cluster.driver.engine.jobs
        orders = (ev.Cancel(job_id=job_id, by=call.uid) for job_id in list(jobs))
        async for _ in together(cluster.driver.request(one) for one in orders):
            pass
        await cluster.driver.idle()
    cluster.stop()
    return 0
