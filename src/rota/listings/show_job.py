"""``scontrol show job``."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from rota.config.hostlist import fold, fold_sorted, ranges
from rota.listings.clock import full_duration
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
from rota.listings.records import record
from rota.listings.text import NULL, or_null, plain, size, tres_text
from rota.model.accounting import JobDetails
from rota.model.gres import GPU
from rota.model.tres import by_type, gres_counts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rota.listings.clock import Clock
    from rota.listings.view import View
    from rota.model.lines import AllocationLine, JobLine

_PATTERN = re.compile(r"%(\d{0,2})([AajuxJ])")


def show_job(job: JobLine, view: View, clock: Clock, *, one_line: bool = False, detailed: bool = False) -> str:
    """Format a job.

    Args:
        job: The job.
        view: The cluster.
        clock: Formats times.
        one_line: ``-o``.
        detailed: ``-d``.
    """
    details = view.details(job.job_id) or JobDetails()
    lines = [
        *_identity(job, view, details, clock, detailed=detailed),
        *_places(job, view, details),
        *_resources(job, view, details, detailed=detailed),
        *_files(job, details),
        "",
    ]
    return record(lines, one_line=one_line)


def _identity(job: JobLine, view: View, details: JobDetails, clock: Clock, *, detailed: bool) -> Iterator[str]:
    array = ""
    if job.array_job_id is not None:
        task = job.array_task.strip("[]")
        most = throttle(job)
        array = f" ArrayJobId={job.array_job_id} ArrayTaskId={task}" + (most and f" ArrayTaskThrottle={most}")
    yield f"JobId={job.job_id}{array} JobName={or_null(job.name)}"
    user, group = plain(job.user), view.group_name(job.group_id)
    yield f"UserId={user}({job.user_id}) GroupId={group}({job.group_id}) MCS_label=N/A"
    yield f"Priority={job.priority} Nice={job.nice} Account={or_null(job.account)} QOS={or_null(job.qos)}" + (
        f" WCKey={plain(details.wckey)}"
        if details.wckey and view.config.get("TrackWCKey", "no").lower() == "yes"
        else ""
    )
    state = "COMPLETING" if job.completing else job.state
    code, signal = (0, 1) if job.state == "DEADLINE" else (job.exit_code, job.signal)  # as Slurm says
    reason = plain(job.reason_text(fold_sorted)).replace(" ", "_")
    yield f"JobState={state} Reason={reason} Dependency={job.dependency or NULL}"
    yield (
        f"Requeue={int(requeues(job, view))} Restarts={job.restart_count} BatchFlag={int(details.batch)} Reboot=0 "
        f"ExitCode={code}:{signal}"
    )
    if detailed:
        yield f"DerivedExitCode={details.derived_exit_code >> 8}:{details.derived_exit_code & 255}"
    limit = "UNLIMITED" if job.time_limit is None else full_duration(job.time_limit)
    least = "N/A" if not job.request.time_min else full_duration(job.request.time_min)
    yield f"RunTime={full_duration(job.time_used(clock.now))} TimeLimit={limit} TimeMin={least}"
    yield from _moments(job, view, details, clock)


def _moments(job: JobLine, view: View, details: JobDetails, clock: Clock) -> Iterator[str]:
    def moment(time: int | None) -> str:
        return "Unknown" if time is None else clock.moment(time)

    start, end, deadline = start_shown(job, clock.now), end_shown(job, clock.now), job.request.deadline
    accrued = accrue_time(job, details, view)
    yield f"SubmitTime={moment(job.submit_time)} EligibleTime={moment(eligible_time(job))}"
    yield f"AccrueTime={moment(accrued)}"
    yield f"StartTime={moment(start)} EndTime={moment(end)} Deadline={moment(deadline) if deadline else 'N/A'}"
    since = "None" if job.suspended_since is None else moment(job.suspended_since)
    before = 0 if job.suspended_since is None else job.time_used(clock.now)
    planned = ":*" if job.pending and details.scheduler == "Backfill" else ""
    last = moment(details.last_sched_eval or None) + (
        f" Scheduler={details.scheduler}{planned}" if details.scheduler else ""
    )
    yield f"SuspendTime={since} SecsPreSuspend={before} LastSchedEval={last}"


def _places(job: JobLine, view: View, details: JobDetails) -> Iterator[str]:
    host = plain(details.submit_host) or view.config.cluster_name
    excluded = hosts_text(job.request.excluded_nodes) or NULL
    yield f"Partition={job.partition} AllocNode:Sid={host}:{details.alloc_sid}"
    yield f"ReqNodeList={hosts_text(job.request.required_nodes) or NULL} ExcNodeList={excluded}"
    planned = f" SchedNodeList={fold_sorted(job.planned_nodes)}" if job.planned_nodes and job.pending else ""
    yield f"NodeList={fold_sorted(job.nodes)}{planned}"
    if job.nodes:
        yield f"BatchHost={job.nodes[0]}"


def _resources(job: JobLine, view: View, details: JobDetails, *, detailed: bool) -> Iterator[str]:
    request = job.request
    most = most_nodes(job)
    nodes = f"{job.num_nodes}-{most}" if job.pending and most else str(job.num_nodes)
    tasks, per_task = tasks_of(job), request.cpus_per_task
    yield f"NumNodes={nodes} NumCPUs={job.num_cpus} NumTasks={tasks} CPUs/Task={per_task} ReqB:S:C:T=0:0:*:*"
    yield f"TRES={tres_text(job.tres_allocated or job.tres_requested)}"
    sockets = request.sockets_per_node
    each = request.ntasks_per_node
    on_socket = request.ntasks_per_socket or "*"
    on_core = request.ntasks_per_core or "*"
    yield f"Socks/Node={sockets or '*'} NtasksPerN:B:S:C={each}:0:{on_socket}:{on_core} CoreSpec=*"
    if detailed and job.nodes:
        yield from _allocated(job, view)
    memory, per_cpu = least_memory(job)
    kind = "CPU" if per_cpu else "Node"
    disk = size(details.tmp_disk, "M") if details.tmp_disk else "0"
    yield f"MinCPUsNode={least_cpus(job)} MinMemory{kind}={size(memory, 'M') if memory else '0'} MinTmpDiskNode={disk}"
    prefer = f" Prefer={plain(request.prefer)}" if request.prefer else ""
    yield f"Features={or_null(request.constraint)}{prefer} DelayBoot=00:00:00"
    if request.reservation:
        yield f"Reservation={plain(request.reservation)}"
    shares, contiguous = sharing(job), int(request.contiguous)
    yield f"OverSubscribe={shares} Contiguous={contiguous} Licenses={or_null(request.licenses)} Network=(null)"


def _allocated(job: JobLine, view: View) -> Iterator[str]:
    """Say which GRES a job has and, where that is known, which processors and GPUs on its nodes.

    There is a line for successive nodes that are alike.
    """
    allocation, gpus = view.allocation(job.job_id), view.gpus(job.job_id)
    held = _by_kind(job, view, allocation)
    total: dict[str, int] = {}
    for kinds in held.values():
        for name, count in kinds.items():
            total[name] = total.get(name, 0) + count
    if not allocation:  # of what has ended, those that accounting knows
        had = (job.tres_allocated or {}).items()
        total = by_type({name.removeprefix("gres/"): count for name, count in had if name.startswith("gres/")})
    shown = ",".join(f"{name}:{count}" for name, count in total.items())
    yield f"JOB_GRES={or_null(shown)}"
    alike = groupby(
        (one for one in allocation if one.processors),
        lambda one: (one.processors, one.memory, held[one.node], gpus.get(one.node)),
    )
    for (processors, memory, kinds, ids), lines in alike:
        nodes = fold(one.node for one in lines)
        shown = ",".join(f"{name}:{count}{_numbers(name, ids)}" for name, count in kinds.items())
        yield f"  Nodes={nodes} CPU_IDs={ranges(map(str, processors))} Mem={memory} GRES={shown}"


def _by_kind(job: JobLine, view: View, allocation: Sequence[AllocationLine]) -> dict[str, dict[str, int]]:
    """Count the GRES that a job has of each node: those of a type if they have one.

    If it has asked for any type, those of which it has none are listed, too.
    """
    request = job.request
    asked = (request.gres, request.gres_per_socket, request.gres_per_task, request.gres_per_job)
    of_any = {max(gres_counts(item), key=len) for text in asked for item in text.split(",") if item}
    held: dict[str, dict[str, int]] = {}
    for one in allocation:
        held[one.node] = by_type(one.gres)
    if any(":" in name for kinds in held.values() for name in kinds):
        for node in view.nodes():
            kinds = held.get(node.name, {})
            names = (item.partition("(")[0].rpartition(":")[0] for item in node.gres)
            more = {name: kinds.pop(name, 0) for name in names if name in kinds or name.partition(":")[0] in of_any}
            kinds |= {name: more[name] for name in more if ":" in name or more[name]}
    return held


def _numbers(kind: str, ids: Mapping[str, tuple[int, ...]] | None) -> str:
    """Give the numbers of a job's GPUs of a kind on a node, if they are known."""
    if ids is None or kind.partition(":")[0] != GPU:
        return ""
    return f"(IDX:{ranges(map(str, ids.get(kind, ())))})"


def _files(job: JobLine, details: JobDetails) -> Iterator[str]:
    yield f"Command={or_null(details.command)}"
    yield f"WorkDir={or_null(details.work_dir)}"
    if details.admin_comment:
        yield f"AdminComment={plain(details.admin_comment)} "
    if said := system_comment(job):
        yield f"SystemComment={said} "
    if details.comment:
        yield f"Comment={plain(details.comment)} "
    if details.batch:
        out = _expanded(details.std_out, job)
        yield f"StdErr={_expanded(details.std_err, job) if details.std_err else out}"
        yield f"StdIn={_expanded(details.std_in, job)}"
        yield f"StdOut={out}"
    if job.request.switches:
        yield f"Switches={job.request.switches}@{full_duration(job.request.switch_wait)}"
    yield "Power="
    flags = (
        ("GresEnforceBind", job.request.enforces_binding),
        ("KillOInInvalidDependent", job.request.kill_on_invalid_dep),  # as Slurm spells it
    )
    if said := "".join(f"{name}={'Yes' if value else 'No'}" for name, value in flags if value is not None):
        yield said
    if (count := per_gpu(job, "cpus_per_gpu")) != "N/A":
        yield f"CpusPerTres={count}"
    if (count := per_gpu(job, "mem_per_gpu")) != "N/A":
        yield f"MemPerTres={count}"
    for name, asked in (
        ("Job", job.request.gres_per_job),
        ("Node", job.request.gres),
        ("Socket", job.request.gres_per_socket),
        ("Task", job.request.gres_per_task),
    ):
        if asked:
            yield f"TresPer{name}={gres_text(asked)}"
    if details.mail_type:
        yield f"MailUser={plain(details.mail_user or job.user)} MailType={plain(details.mail_type)}"


def _expanded(path: str, job: JobLine) -> str:
    """Expand the patterns of a path that do not depend on the node or step."""
    task = job.array_task if job.array_task.isdecimal() else "4294967294"
    values = {
        "A": str(job.array_job_id or job.job_id),
        "a": task,
        "j": str(job.job_id),
        "J": str(job.job_id),
        "u": job.user,
        "x": job.name,
    }

    def value(match: re.Match[str]) -> str:
        return values[match[2]].rjust(int(match[1] or 0), "0") if values[match[2]].isdecimal() else values[match[2]]

    return plain(path if "%%" in path else _PATTERN.sub(value, path))
