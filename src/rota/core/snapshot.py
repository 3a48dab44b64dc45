"""The engine's state as JSON data, to restore it after a restart.

Allocations are saved as amounts by the names of nodes, so that the state can be restored on a machine with other nodes;
see `rota.core.machine`. Planned nodes and nodes of reservations are saved as bitmaps over the saved nodes: nodes that
do not exist any more are left out.

Plugins are loaded and initialised again, and get the state that they have saved with `Controller.keep`.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from rota.core.arrays import JobArray
from rota.core.effects import Kill, Launch, ResumeRun, SuspendRun
from rota.core.job import Job, QueueRecord, Why
from rota.core.jobs.runs import SIGTERM
from rota.core.machine import NodeMapping, by_index, by_name, merge, with_changes
from rota.core.plain import PlainError, shape_of
from rota.core.reconfigure import units_of
from rota.model import InputError, JobSpec, JobState, Node, Partition, Qos, Reason, StepRecord
from rota.model.dependency import parse_dependency
from rota.resources.nodeset import indices

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rota.core.cluster import Cluster
    from rota.core.effects import Effect
    from rota.core.engine import Engine
    from rota.core.machine import Machine

#: Version of the format. It changes when older data can no longer be read.
FORMAT = 10
_NO_PLACE = (
    "jobs hold what they could not on this machine: start with the SelectType and OverSubscribe of before until they "
    "have ended"
)
#: Attributes of `Job` that are saved unchanged, and those of queue records.
_PLAIN = (
    "units",
    "time_limit",
    "priority",
    "nice",
    "site_factor",
    "admin_priority",
    "eligible_time",
    "start_time",
    "end_time",
    "restart_count",
    "exit_code",
    "signal",
    "suspended",
    "suspended_since",
    "time_left",
    "charged_since",
    "planned_start",
    "is_attracted",
)
_NODES = tuple[Node, ...]
_OF_RECORD = ("units", "time_limit", "priority", "planned_start")


def save(engine: Engine) -> dict[str, Any]:
    """Give the state as JSON data, which shares nothing with the engine."""
    cluster, state = engine.cluster, engine.state
    engine.view.compute_deferred()  # deferred priorities are not saved
    return {
        "format": FORMAT,
        "now": state.now,
        "boot_time": state.boot_time,
        "last_priority": cluster.last_priority,
        "nodes": shape_of(_NODES).encode(state.nodes),
        "partitions": [shape_of(Partition).encode(part) for part in state.partitions.values()],
        "leaving_nodes": [state.nodes[index].name for index in indices(state.leaving_nodes)],
        "leaving_partitions": sorted(state.leaving_partitions),
        "deleted_partitions": sorted(state.deleted_partitions),
        "accounts": cluster.accounts.save(),
        "reservations": cluster.reservations.save(),
        "arrays": [array.save() for array in state.arrays.values()],
        "ended": cluster.dependencies.save(),
        "jobs": [_save_job(cluster, job) for job in state.jobs.values()],
        "parked": list(cluster.queue.parked),
        "untested": {job_id: reason.value for job_id, reason in cluster.queue.untested.items()},
        "completing": list(state.completing),
        "timers": state.timers.save(),
        "passes": engine.save_passes(),
        "new_jobs": None if (new := cluster.queue.new) is None else [[job.job_id, job.partition.name] for job in new],
        "refusals": cluster.policy.save_refusals(),
        "plugins": engine.plugin_state.save(),
        "rules": _rules(cluster),
    }


def restore(engine: Engine, saved: Mapping[str, Any]) -> list[Effect]:
    """Restore a saved state.

    Args:
        engine: A new engine, before its plugins' ``init`` and before the first event.
        saved: The result of `save`.

    Returns:
        See `outstanding`.

    Raises:
        InputError: the data has another format or is damaged, or the machine cannot have the allocations.
    """
    if saved.get("format") != FORMAT:
        raise InputError(
            f"the state was saved in format {saved.get('format')!r}, and this rota reads {FORMAT}: let its jobs end "
            "with the rota that saved it, or begin without it",
            field="format",
        )
    try:
        _restore(engine, saved)
    except (LookupError, TypeError, ValueError, AttributeError, PlainError) as error:
        raise InputError(f"this is not what rota saves ({error!r}): begin without it, or with an older one") from None
    return outstanding(engine)


def outstanding(engine: Engine) -> list[Effect]:
    """Give the effects that have put all runs into their states: they may have been performed already."""
    state, wait = engine.state, engine.state.settings.kill_wait
    effects: list[Effect] = []
    for job in state.running:
        run = {"job_id": job.job_id, "restart_count": job.restart_count}
        effects.append(Launch(**run, resources=job.alloc))
        # It may have been suspended before, and that it goes on may not have been heard.
        effects.append(ResumeRun(**run) if job.suspended_since is None else SuspendRun(**run))
    effects += [
        Kill(job_id=job.job_id, restart_count=job.restart_count, signal=SIGTERM, wait=wait)
        for job in state.completing.values()
    ]
    return effects


def _restore(engine: Engine, saved: Mapping[str, Any]) -> None:
    cluster, state = engine.cluster, engine.state
    state.now, state.boot_time = saved["now"], saved["boot_time"]
    cluster.last_priority = saved["last_priority"]
    machine = _restore_machine(cluster, saved)
    cluster.accounts.restore(saved["accounts"])
    cluster.reload_policy()
    cluster.dependencies.restore(saved["ended"])
    cluster.reservations.restore(saved["reservations"])
    for one in saved["arrays"]:
        state.add_array(JobArray.restore(one))
    parked = set(saved["parked"])
    jobs = [_restore_job(cluster, data, machine) for data in saved["jobs"]]
    for job in jobs:
        cluster.policy.apply_limits(job)
        cluster.give_licenses(job)
        cluster.add(job)
        if job.completing:
            state.completing[job.job_id] = job
        elif job.alloc:
            state.running.add(job, (job.end_time or 0, job.job_id))
        else:
            cluster.queue.restore(job, parked=job.job_id in parked)
    _reorder(cluster.queue.parked, saved["parked"])
    found = saved.get("untested")  # states saved before do not have it
    cluster.queue.untested = {int(job_id): Reason(reason) for job_id, reason in (found or {}).items()}
    _reorder(state.completing, saved["completing"])
    state.refresh_pool()
    if problem := state.pool.problem([job.alloc for job in state.holding()]):
        raise InputError(f"{_NO_PLACE} ({problem})", field="jobs")
    state.timers.restore(saved["timers"])
    cluster.reservations.move_nodes(machine.move)
    engine.restore_passes(saved["passes"])
    engine.plugin_state.restore(saved["plugins"])
    cluster.queue.changed = False
    if machine.is_other or found is None or saved["rules"] != _rules(cluster):
        cluster.queue.reconsider_all()
        cluster.queue.touch()
        engine.pass_due = True
        return
    cluster.policy.restore_refusals(saved["refusals"])
    if saved["new_jobs"] is not None:
        cluster.queue.new = [state.jobs[job_id].in_partition(name) for job_id, name in saved["new_jobs"]]


def _restore_machine(cluster: Cluster, saved: Mapping[str, Any]) -> Machine:
    """Set the machine of slurm.conf, with what was set of it, and the nodes and partitions that jobs still use."""
    state, jobs = cluster.state, saved["jobs"]
    nodes: tuple[Node, ...] = shape_of(_NODES).decode(saved["nodes"])
    partitions: list[Partition] = [shape_of(Partition).decode(one) for one in saved["partitions"]]
    state.deleted_partitions = frozenset(saved["deleted_partitions"])
    move = NodeMapping([node.name for node in nodes], [node.name for node in state.config.nodes])
    state.config = with_changes(state.config, partitions, state.deleted_partitions, move)
    machine = merge(
        state.config,
        nodes,
        partitions,
        # What jobs hold may still need the nodes that are being removed, although they hold nothing of these.
        used_nodes={name for job in jobs for name in job["held"]} | set(saved["leaving_nodes"]),
        used_partitions={one["partition"] for job in jobs for one in (job, *job["records"])},
        keep_state_of={part.name for part in partitions} - set(saved["leaving_partitions"]),
    )
    pool = state.make_pool(state.config, machine.nodes, machine.partitions.values())
    state.set_machine(machine.nodes, machine.partitions, pool)
    return machine


def _save_job(cluster: Cluster, job: Job) -> dict[str, Any]:
    state = cluster.state
    return {
        "job_id": job.job_id,
        "spec": shape_of(JobSpec).encode(job.spec),
        "submit_time": job.submit_time,
        "partition": job.partition.name,
        "records": [
            {
                "partition": record.partition.name,
                **{name: getattr(record, name) for name in _OF_RECORD},
                "planned_nodes": hex(record.planned_nodes),
                "queued": bool(record.sort_key),
                "obstacle": None if record.obstacle is None else record.obstacle.value,
            }
            for record in job.records
        ],
        "array": None if job.array is None else [job.array.job_id, job.task_id],
        "switches": [job.switches, job.waits_since],
        "dependencies": None if job.dependencies is None else str(job.dependencies),
        "state": job.state.value,
        "reason": job.reason.value,
        "details": _save_details(job),
        "steps": [shape_of(StepRecord).encode(one) for one in job.steps],
        "held": by_name(state.pool.by_index(job.alloc), state.nodes) if job.alloc else {},
        **{name: getattr(job, name) for name in _PLAIN},
        "planned_nodes": hex(job.planned_nodes),
        "tested_nodes": hex(job.tested_nodes),
        "cancelled_by": job.cancelled_by,
    }


def _obstacle(record: Mapping[str, Any]) -> Reason | None:
    """Give why a saved record was not queued; if that was not saved, any reason: all jobs are reconsidered then."""
    known = record.get("obstacle", None if record["queued"] else Reason.BAD_CONSTRAINTS.value)
    return None if known is None else Reason(known)


def _save_details(job: Job) -> list[Any] | None:
    """Give the details of a job's reason, unless they are those of an earlier one."""
    details = job.details
    return None if details is None or details.reason is not job.reason else [details.sentence, hex(details.nodes)]


def _restore_job(cluster: Cluster, data: Mapping[str, Any], machine: Machine) -> Job:
    """Make the record of a saved job."""
    state, spec = cluster.state, shape_of(JobSpec).decode(data["spec"])
    job = Job(data["job_id"], spec, data["submit_time"], state.partitions[data["partition"]], data["units"])
    job.give_records(
        QueueRecord(job, state.partitions[one["partition"]], one["units"], rank)
        for rank, one in enumerate(data["records"])
    )
    for name in _PLAIN:
        setattr(job, name, data[name])
    for rank, own in enumerate(job.records):
        for name in _OF_RECORD:
            setattr(own, name, data["records"][rank][name])
        own.obstacle = _obstacle(data["records"][rank])
    job.tested_nodes = machine.move.bitmap(int(data.get("tested_nodes", "0"), 16))  # older states do not have it
    job.cancelled_by = data.get("cancelled_by")  # the same
    records: list[tuple[Job, Mapping[str, Any]]] = [(job, data), *zip(job.records, data["records"], strict=True)]
    for record, one in records:
        record.planned_nodes = machine.move.bitmap(int(one["planned_nodes"], 16))
        if machine.is_other:
            record.units = units_of(state, record)
    job.switches, job.waits_since = data.get("switches", (0, None))  # states saved before do not have it
    if data["array"] is not None:
        _restore_array_of(cluster, job, *data["array"])
    job.show()
    if data["dependencies"] is not None:
        job.dependencies = parse_dependency(data["dependencies"])
    job.state = JobState(data["state"])
    job.reason = Reason(data["reason"])
    if (details := data.get("details")) is not None:
        sentence, nodes = details
        job.details = Why(job.reason, sentence, machine.move.bitmap(int(nodes, 16)))
    job.steps = tuple(shape_of(StepRecord).decode(one) for one in data["steps"])
    if data["held"]:
        try:
            job.alloc = state.pool.from_indices(by_index(data["held"], state.node_index))
        except ValueError as error:
            raise InputError(f"{_NO_PLACE}: job {job.job_id} ({error})", field="jobs") from None
        job.alloc_nodes = state.pool.nodes_of(job.alloc)
        if job.array is not None:
            job.array.running += 1
    return job


def _restore_array_of(cluster: Cluster, job: Job, array_id: int, task_id: int | None) -> None:
    job.array, job.task_id = array, _ = cluster.state.arrays[array_id], task_id
    if task_id is None:
        array.record = job
    else:
        array.tasks[task_id] = job
    for record in (job, *job.records):
        record.start_limits = (array,)


def _reorder(jobs: dict[int, Job], job_ids: Sequence[int]) -> None:
    """Sort jobs by a list of their ids."""
    for job_id in job_ids:
        jobs[job_id] = jobs.pop(job_id)


def _rules(cluster: Cluster) -> str:
    """Give a hash of slurm.conf, associations and QOS. If it has changed, all pending jobs are reconsidered."""
    config, tree = cluster.state.config, cluster.accounts.tree
    rules = (
        sorted(config.parameters.items()),
        [shape_of(Partition).encode(one) for one in config.partitions],
        [(one.account, one.user, one.partition, one.limits, one.qos) for one in tree.associations],
        [shape_of(Qos).encode(one) for one in tree.qos.values()],
    )
    return sha256(json.dumps(rules).encode()).hexdigest()
