"""The commands of ``scontrol`` that change a live cluster."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from rota.commands.host_file import MOST_BYTES
from rota.commands.job_ids import JobId, parse_job_id
from rota.commands.lists import split_list
from rota.commands.node_update import NodeUpdate
from rota.commands.partition_update import PartitionUpdate
from rota.commands.scontrol import Change, JobsRequest, Other, Show, parse_scontrol
from rota.commands.scontrol_update import JobUpdate
from rota.commands.slurm_messages import message_of
from rota.config.hostlist import expand_hostlist
from rota.controller.child import ChildError, from_child
from rota.controller.job_orders import Answer, Order, carry_out, order, order_each, problems_of
from rota.controller.job_updates import update_job
from rota.controller.live_view import LiveView
from rota.controller.partitions import delete_partition, set_partition
from rota.controller.reservations import change_reservation
from rota.controller.slices import in_slices
from rota.controller.wire import TooLargeError
from rota.controller.zone import utc_offset_for
from rota.core import events as ev
from rota.core.plain import shape_of
from rota.listings.scontrol import host_list
from rota.model import ClusterConfig, Errno, NodeState, RequestError, RotaError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Iterable

    from rota.commands.scontrol import Scontrol
    from rota.controller.cluster import Cluster
    from rota.controller.wire import Call, Terminal
    from rota.core.effects import Refused

_NODE_STATES = {
    "DRAIN": NodeState.DRAIN,
    "DOWN": NodeState.DOWN,
    "FAIL": NodeState.FAIL,
    "IDLE": NodeState.UP,
    "RESUME": NodeState.UP,
    "UNDRAIN": NodeState.UP,
}
#: Entities of ``show`` that are named by a list, or a file that has one.
_HOSTLISTS = frozenset({"hostlist", "hostlistsorted"})
_NOT_SUPPORTED = "scontrol: error: {} is not supported by rota\n"


async def change(cluster: Cluster, call: Call, terminal: Terminal) -> int | None:
    """Carry out a command that changes something; give the exit status, ``None``: it only reads."""
    utc_offset = utc_offset_for(cluster, call)
    line = parse_scontrol(call.words[1:], cluster.clock.now(), utc_offset)
    request = line.request
    if isinstance(request, Other) and request.command == "write":
        return await _write_script(cluster, call, terminal, request.words[1:])
    if isinstance(request, Show) and request.entity in _HOSTLISTS and (request.name or "").startswith("/"):
        return await _list_file(request, line, terminal)
    if isinstance(request, Show) or (isinstance(request, Other) and request.command != "reconfigure"):
        return None
    uid = cluster.rights.as_administrator(call.uid)
    if isinstance(request, JobsRequest):
        problems = await _jobs(cluster, request, call.uid)
    elif isinstance(request, JobUpdate):
        problems = await _update_jobs(cluster, request, call.uid)
    elif isinstance(request, NodeUpdate):
        problems = await _update_nodes(cluster, request, uid)
    elif isinstance(request, PartitionUpdate):
        problems = await set_partition(cluster, request, uid)
    elif isinstance(request, Change) and request.entity == "partition":
        problems = await delete_partition(cluster, request.name, uid)
    elif isinstance(request, Change):
        operator = cluster.rights.as_operator(call.uid)
        problems = await change_reservation(cluster, request, terminal, operator, utc_offset)
    else:
        problems = await _reconfigure(cluster, uid)
    return _end(terminal, line, problems)


async def _list_file(request: Show, line: Scontrol, terminal: Terminal) -> int:
    """Format the node names in a file of the client as a hostlist."""
    path = request.name or ""
    try:
        text = (await terminal.read(path, MOST_BYTES)).decode(errors="surrogateescape")
    except TooLargeError as error:
        problem = f"Error reading {path}: {error}"
    except OSError:
        problem = f"Can not open {path}"
    else:
        answer = host_list(text, in_order=request.entity == "hostlist")
        terminal.out(answer.out)
        return _end(terminal, line, [answer.err] if answer.err else [])
    return _end(terminal, line, [problem])


async def _write_script(cluster: Cluster, call: Call, terminal: Terminal, words: tuple[str, ...]) -> int:
    """Write the script of a live job into a file of the client, or to standard output; as in Slurm, always with 0."""
    number, target = parse_job_id(words[0]) if words else None, words[1] if len(words) > 1 else ""
    job = None if number is None else cluster.driver.engine.jobs.get(number.job_id)
    script = "" if job is None else cluster.runs.submissions.of(job.spec.payload).script
    if job is None or not script:
        why = "Invalid job id specified"
    elif call.uid != job.user_id and cluster.rights.as_operator(call.uid):  # not coordinators either, as in Slurm
        why = "Invalid user id"
    else:
        await _save_script(terminal, script, job.job_id, target)
        return 0
    if words:
        terminal.error(f"job script retrieval failed: {why}\n")
    return 0


async def _save_script(terminal: Terminal, script: str, job_id: int, target: str) -> None:
    path = target or f"slurm-{job_id}.sh"
    if target == "-":
        terminal.out(script)
        return
    terminal.write_file(path, script)
    with suppress(OSError):  # the client has said what is wrong
        if await terminal.read(path) == script.encode(errors="surrogateescape"):
            terminal.out(f"batch script for job {job_id} written to {path}\n")


def _end(terminal: Terminal, line: Scontrol, problems: list[str]) -> int:
    if not line.quiet:
        for problem in problems:
            terminal.error(problem if problem.endswith("\n") else f"{problem}\n")
    return int(bool(problems))


def _sentence(refused: Refused) -> str:
    sentence, more = message_of(refused.errno, refused.message)
    text = f"slurm_update error: {sentence}"
    return f"{text}\n{more}" if more else text


# ---- jobs -------------------------------------------------------------------------------------------------------


async def _targets(cluster: Cluster, ids: Iterable[JobId], name: str, uid: int) -> AsyncIterator[JobId]:
    """Give the jobs that are meant: a name finds none that the user may not see."""
    async for one in in_slices(ids):
        yield one
    engine, privacy = cluster.driver.engine, LiveView(cluster, uid).privacy
    known: set[int] = set()
    async for job in in_slices(list(engine.jobs.values()) if name else ()):
        if job.spec.name == name and privacy.shows("jobs", job.user_name, engine.view.line(job).account):
            if job.array_job_id not in known:
                yield JobId(job.array_job_id)
            known.add(job.array_job_id)


async def _jobs(cluster: Cluster, request: JobsRequest, uid: int) -> list[str]:
    def carry(one: JobId) -> Awaitable[list[Answer]]:
        return order(cluster, request.command, one, uid, incomplete=request.incomplete)

    problems: list[str] = []
    targets = [one async for one in _targets(cluster, request.jobs, request.name, uid)]
    async for one, answers in order_each(targets, carry):
        found = problems_of(one, answers)
        if found and not answers[0].tasks and request.command in {"hold", "release", "uhold"}:
            found.append(f"slurm_suspend error: {answers[0].message}")
        problems += found
    return problems


async def _update_jobs(cluster: Cluster, request: JobUpdate, uid: int) -> list[str]:
    problems: list[str] = []
    targets = [one async for one in _targets(cluster, request.jobs, request.of_name, uid)]
    if request.of_name and not targets:
        return [f"scontrol: error: No jobs with name '{request.of_name}'"]

    async def carry(one: JobId) -> list[Answer]:
        what = Order(
            request=lambda job_id, task_id: update_job(cluster, request, job_id, task_id, uid),
            uid=cluster.rights.over_job(uid, one.job_id),
        )
        try:
            return await carry_out(cluster, one, what)
        except RequestError as error:
            problems.append(f"{error} for job {one.job_id}")
            return []

    async for one, answers in order_each(targets, carry):
        problems += problems_of(one, answers)
    return problems


# ---- the machine ------------------------------------------------------------------------------------------------


async def _update_nodes(cluster: Cluster, request: NodeUpdate, uid: int) -> list[str]:
    if request.state is not None and request.state not in _NODE_STATES:
        return [_NOT_SUPPORTED.format(f"State={request.state}")]
    if uid:
        return [f"slurm_update error: {message_of(Errno.INVALID_USER_ID, '')[0]}"]
    features = None if request.features is None else tuple(split_list(request.features))
    try:
        names = expand_hostlist(request.nodes)
    except ValueError:
        return [f"slurm_update error: {message_of(Errno.INVALID_NODE_NAME, '')[0]}"]
    view = cluster.driver.engine.view
    sets = {**view.config.node_sets, **dict.fromkeys(("ALL", "all"), tuple(name for name, _ in view.machine))}
    names = list(dict.fromkeys(node for name in names for node in sets.get(name, (name,))))
    known, drained = {name for name, _ in view.machine}, frozenset(view.names(view.nodes_in(NodeState.DRAIN)))
    # There is nothing from which these could resume. What else is asked of them is done, but for the reason.
    up = frozenset(view.names(view.nodes_in(NodeState.UP))) if request.state == "RESUME" else frozenset()
    there = next((place for place, name in enumerate(names) if name not in known), len(names))
    alike: dict[NodeState | None, list[str]] = {}
    for name in names[:there]:  # as in Slurm, those before one that is not there are changed
        state = None if name in up else _node_state(name, request.state, drained)
        alike.setdefault(state, []).append(name)
    for state, (name, *others) in [*alike.items(), *((None, [name]) for name in names[there : there + 1])]:
        event = ev.UpdateNode(
            name=name,
            others=tuple(others),
            state=state,
            reason="" if name in up else request.reason or "",
            comment=request.comment,
            extra=request.extra,
            features=features,
            weight=request.weight,
            uid=uid,
        )
        if (refused := await cluster.driver.request(event)) is not None:
            return [_sentence(refused)]
    if up & {*names}:
        return [f"slurm_update error: {message_of(Errno.INVALID_NODE_STATE, '')[0]}"]
    return []


def _node_state(name: str, wanted: str | None, drained: frozenset[str]) -> NodeState | None:
    """Give the state that a node is to have; ``None``: it stays. Only one that is drained can be undrained."""
    return None if wanted is None or (wanted == "UNDRAIN" and name not in drained) else _NODE_STATES[wanted]


async def _reconfigure(cluster: Cluster, uid: int) -> list[str]:
    if uid:
        return [f"slurm_reconfigure error: {message_of(Errno.INVALID_USER_ID, '')[0]}"]
    shape = shape_of(ClusterConfig)

    def read() -> bytes:
        try:
            return json.dumps({"config": shape.encode(cluster.read_config())}).encode()
        except RotaError as error:
            return json.dumps({"problem": str(error)}).encode()

    try:
        found = json.loads(await from_child(cluster, uid, read))
    except ChildError as error:
        return [f"slurm_reconfigure error: slurm.conf: {error}"]
    if "problem" in found:
        return [f"slurm_reconfigure error: {found['problem']}"]
    config = shape.decode(found["config"])
    refused = await cluster.driver.reconfigure(config, uid)
    if refused is None:
        return []
    return [f"slurm_reconfigure error: {message_of(refused.errno, refused.message)[0]}"]
