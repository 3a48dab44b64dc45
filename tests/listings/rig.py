"""A cluster put together from what ``scontrol`` and ``sacct`` of a real Slurm printed about it: see data/README.md.

Over 400 lines: a reader for each kind of record, and no more.
"""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ClusterShell.NodeSet import NodeSet, RangeSet
from slurm.release import as_upstream

from rota.listings.privacy import Privacy
from rota.model import ClusterConfig, JobSpec, JobState, MultifactorConf, StepRecord, TaskUsage
from rota.model.accounting import AccountingRecord, JobDetails
from rota.model.association import AccountingLines, Qos, QosUsage
from rota.model.lines import (
    AllocationLine,
    AssociationLine,
    BackfillStatistics,
    JobLine,
    LicenseLine,
    MainPassStatistics,
    NodeLine,
    PartitionLine,
    ReservationLine,
    Statistics,
)
from rota.model.step import StepClient, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.listings import AccountingQuery, Answer
    from rota.model import PriorityFactors

DATA = Path(__file__).parent / "data"
#: The highest of the uids that Slurm's users had there.
USERS = {0: "root", 1001: "alice", 1002: "bob", 1003: "carol"}


@dataclass
class Snapshot:
    """A `View` whose records are given."""

    now: int = 0
    config: ClusterConfig = field(
        default_factory=lambda: ClusterConfig(
            cluster_name="rig", nodes=(), partitions=(), parameters={"slurmctldhost": "vm(127.0.0.1)"}
        )
    )
    job_lines: list[JobLine] = field(default_factory=list)
    job_details: dict[int, JobDetails] = field(default_factory=dict)
    job_allocations: dict[int, tuple[AllocationLine, ...]] = field(default_factory=dict)
    job_gpus: dict[int, dict[str, dict[str, tuple[int, ...]]]] = field(default_factory=dict)
    job_steps: dict[int, list[StepRecord]] = field(default_factory=dict)
    job_tasks: dict[int, list[TaskUsage]] = field(default_factory=dict)
    node_lines: list[NodeLine] = field(default_factory=list)
    partition_lines: list[PartitionLine] = field(default_factory=list)
    reservation_lines: list[ReservationLine] = field(default_factory=list)
    license_lines: list[LicenseLine] = field(default_factory=list)
    priority_factors: list[PriorityFactors] = field(default_factory=list)
    association_lines: list[AssociationLine] = field(default_factory=list)
    records: list[AccountingRecord] = field(default_factory=list)
    downs: list[tuple[str, int, int | None]] = field(default_factory=list)
    boot_time: int = 0
    tres: tuple[str, ...] = ()
    user: str = "root"
    conf: MultifactorConf | None = None
    privacy: Privacy = field(default_factory=Privacy)

    @property
    def priority_conf(self) -> MultifactorConf:
        return self.conf or MultifactorConf.of(self.config, self.config.tres())

    def utc_offset(self, _time: int, /) -> int:
        return 0

    def knows_user(self, name: str) -> bool:
        return name in {*USERS.values(), *map(str, USERS)}

    def user_name(self, user_id: int) -> str:
        return USERS.get(user_id, str(user_id))

    def user_id(self, name: str) -> int | None:
        return next((number for number, known in USERS.items() if known == name), None)

    def group_name(self, group_id: int) -> str:
        return USERS.get(group_id, str(group_id))

    def jobs(self, *, ended: bool = True) -> list[JobLine]:
        return self.job_lines

    def all_jobs(self) -> list[JobLine]:
        return self.job_lines

    def details(self, job_id: int) -> JobDetails | None:
        return self.job_details.get(job_id)

    def steps(self, job_id: int) -> list[StepRecord]:
        return self.job_steps.get(job_id, [])

    def tasks(self, job_id: int) -> list[TaskUsage]:
        return self.job_tasks.get(job_id, [])

    def step_client(self, _job_id: int, _step_id: str) -> StepClient:
        return StepClient()

    def gpus(self, job_id: int) -> dict[str, dict[str, tuple[int, ...]]]:
        return self.job_gpus.get(job_id, {})

    def allocation(self, job_id: int) -> tuple[AllocationLine, ...]:
        return self.job_allocations.get(job_id, ())

    def nodes(self) -> list[NodeLine]:
        return self.node_lines

    def partitions(self) -> list[PartitionLine]:
        return self.partition_lines

    def reservations(self) -> list[ReservationLine]:
        return self.reservation_lines

    def licenses(self) -> list[LicenseLine]:
        return self.license_lines

    def factors(self) -> list[PriorityFactors]:
        return self.priority_factors

    def associations(self) -> list[AssociationLine]:
        return self.association_lines

    def down_times(self) -> list[tuple[str, int, int | None]]:
        return self.downs

    def accounting(self) -> AccountingLines:
        return AccountingLines(accounts=(), users=(), qos=(Qos(name="urgent", id=2), Qos(name="normal", id=1)))

    def qos_usage(self, _name: str) -> QosUsage:
        return QosUsage()

    def statistics(self) -> Statistics:
        main = MainPassStatistics(
            cycles=0, last_queue_length=0, last_depth=0, depth=0, mean_depth=0.0, jobs_started=0, exits={}
        )
        backfill = BackfillStatistics(
            cycles=0, last_queue_length=0, last_depth=0, last_table_size=0, jobs_started=0, exits={}
        )
        return Statistics(
            now=self.now, boot_time=self.boot_time, jobs={}, events=0, passes=0, main=main, backfill=backfill, faults={}
        )

    def accounted(self, _query: AccountingQuery) -> list[AccountingRecord]:
        return self.records


class Recorded(NamedTuple):
    """What a command printed."""

    now: int
    code: int
    out: str
    err: str


def recorded(name: str) -> dict[str, Recorded]:
    """Read a recording: what was printed by command line."""
    data = (DATA / name).read_bytes()
    text = (gzip.decompress(data) if name.endswith(".gz") else data).decode(errors="surrogateescape")
    text = as_upstream(text)
    found = {}
    for block in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, head, *lines = block.split("\n")
        match = re.fullmatch(r"\[now=(\d+) rc=(\d+)\]", head)
        assert match is not None, command
        err = [line[2:] for line in lines if line.startswith("! ")]
        out = "\n".join(line for line in lines if not line.startswith("! "))
        out = out.replace("\\\n", "") if out.endswith("\\\n") else out
        found[command] = Recorded(int(match[1]), int(match[2]), out, "".join(f"{line}\n" for line in err))
    return found


def unix(text: str) -> int | None:
    if text in {"N/A", "Unknown", "None", "(null)"}:
        return None
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def seconds(text: str) -> int | None:
    if text in {"UNLIMITED", "NONE", "N/A"}:
        return None
    days, _, clock = text.rpartition("-")
    parts = [int(part) for part in clock.split(":")]
    return int(days or 0) * 86400 + sum(part * int(60**place) for place, part in enumerate(reversed(parts)))


def hosts(text: str) -> tuple[str, ...]:
    from rota.config.hostlist import expand_hostlist

    return () if text in {"", "(null)"} else tuple(expand_hostlist(text))


def _null(text: str) -> str:
    return "" if text == "(null)" else text


def _mib(text: str) -> int:
    scale = {"K": 2**-10, "M": 1, "G": 2**10, "T": 2**20}
    return int(float(text[:-1]) * scale[text[-1]]) if text[-1:] in scale else int(text)


def counts(text: str) -> dict[str, int]:
    pairs = (item.partition("=")[::2] for item in text.split(",") if "=" in item)
    return {name: _mib(count) if name == "mem" else int(count) for name, count in pairs}


#: Keys of a job in ``scontrol show``.
_KEYS = """
JobId ArrayJobId ArrayTaskId ArrayTaskThrottle JobName UserId GroupId MCS_label Priority Nice
Account QOS WCKey JobState Reason Dependency Requeue Restarts BatchFlag Reboot ExitCode
DerivedExitCode RunTime TimeLimit TimeMin SubmitTime EligibleTime AccrueTime StartTime EndTime
Deadline SuspendTime SecsPreSuspend LastSchedEval Scheduler Partition AllocNode:Sid ReqNodeList
ExcNodeList NodeList SchedNodeList BatchHost NumNodes NumCPUs NumTasks CPUs/Task ReqB:S:C:T TRES
Socks/Node NtasksPerN:B:S:C CoreSpec JOB_GRES MinCPUsNode MinMemoryCPU MinMemoryNode MinTmpDiskNode
Features DelayBoot OverSubscribe Contiguous Licenses Network Command WorkDir Comment StdErr StdIn
StdOut Power TresPerNode TresPerJob TresPerTask CpusPerTres MemPerTres Reservation MailUser MailType
"""
_PAIR = re.compile(rf"(?:^|\s)({'|'.join(map(re.escape, _KEYS.split()))})=")


def pairs(text: str) -> dict[str, str]:
    """Cut a record into keys and values."""
    parts = _PAIR.split(text)
    return {key: value.strip("\n").strip() for key, value in zip(parts[1::2], parts[2::2], strict=True)}


def allocation_of(text: str) -> tuple[tuple[AllocationLine, ...], dict[str, dict[str, tuple[int, ...]]]]:
    """Read which processors and GPUs of each node a job has."""
    found: list[AllocationLine] = []
    gpus: dict[str, dict[str, tuple[int, ...]]] = {}
    for nodes, ids, memory, gres in re.findall(r" Nodes=(\S+) CPU_IDs=(\S+) Mem=(\d+) GRES=(\S*)", text):
        cpus = numbers(ids)
        held = re.findall(r"([a-z:\d]+):(\d+)\(IDX:([\d,-]+)\)", gres)
        found += [
            AllocationLine(
                node=node,
                cpus=len(cpus),
                memory=int(memory),
                gres={kind: int(count) for kind, count, _ in held},
                processors=cpus,
            )
            for node in NodeSet(nodes)
        ]
        gpus |= {node: {kind: numbers(which) for kind, _, which in held} for node in NodeSet(nodes)}
    return tuple(found), gpus


def numbers(text: str) -> tuple[int, ...]:
    """Read ``0,2-3``."""
    return tuple(RangeSet(text))


def job_of(text: str, names: Mapping[str, str]) -> tuple[JobLine, JobDetails]:
    """Make a job of what ``scontrol -d show job`` printed, and of what only ``squeue -O`` prints."""
    one = pairs(text)
    state = one["JobState"]
    reason = names["reason"]
    user, _, uid = one["UserId"].rstrip(")").partition("(")
    least, _, most = one["NumNodes"].partition("-")
    sockets = one["Socks/Node"]
    per_node, _, per_socket, _ = one["NtasksPerN:B:S:C"].split(":")
    exit_code, _, signal = one["ExitCode"].partition(":")
    pending = state == "PENDING"
    start, end = unix(one["StartTime"]), unix(one["EndTime"])
    tres = counts(one["TRES"])
    suspended = unix(one["SuspendTime"])
    request = JobSpec(
        num_cpus=int(one["NumCPUs"]),
        max_nodes=int(most or 0),
        mem_per_node=_mib(one.get("MinMemoryNode", "0")),
        mem_per_cpu=_mib(one.get("MinMemoryCPU", "0")),
        ntasks_per_node=int(per_node),
        ntasks_per_socket=0 if per_socket == "*" else int(per_socket),
        min_cpus_per_node=int(one["MinCPUsNode"]),
        sockets_per_node=0 if sockets == "*" else int(sockets),
        array="%" + one["ArrayTaskThrottle"] if "ArrayTaskThrottle" in one else "",
        deadline=unix(one["Deadline"]) or 0,
        time_min=seconds(one["TimeMin"]),
        num_tasks=0 if one["NumTasks"] == "N/A" else int(one["NumTasks"]),
        cpus_per_task=int(one["CPUs/Task"]),
        gres=one.get("TresPerNode", "").removeprefix("gres:"),
        gres_per_job=one.get("TresPerJob", "").removeprefix("gres:"),
        gres_per_task=one.get("TresPerTask", "").removeprefix("gres:"),
        cpus_per_gpu=int(one.get("CpusPerTres", "0").rpartition(":")[2]),
        mem_per_gpu=int(one.get("MemPerTres", "0").rpartition(":")[2]),
        reservation=one.get("Reservation", ""),
        licenses=_null(one["Licenses"]),
        required_nodes=_null(one["ReqNodeList"]),
        excluded_nodes=_null(one["ExcNodeList"]),
        exclusive=one["OverSubscribe"] == "NO",
        oversubscribe=one["OverSubscribe"] == "YES",
        contiguous=one["Contiguous"] == "1",
        requeue=one["Requeue"] == "1",
        constraint=_null(one["Features"]),
    )
    task = one.get("ArrayTaskId", "")
    never = state == "CANCELLED" and not one["NodeList"]
    line = JobLine(
        job_id=int(one["JobId"]),
        array_job_id=int(one["ArrayJobId"]) if "ArrayJobId" in one else None,
        array_task=task if task.isdecimal() or not task else f"[{task}]",
        name=one["JobName"],
        user=user,
        user_id=int(uid),
        group_id=int(uid),
        account=one["Account"],
        qos=one["QOS"],
        partition=one["Partition"],
        state=state,
        state_compact=JobState(state).compact,
        base_state=state,
        reason="Resources" if " " in reason else reason,
        reason_sentence=reason if " " in reason else "",
        exit_code=int(exit_code),
        signal=int(signal),
        dependency=_null(one["Dependency"]),
        priority=int(one["Priority"]),
        nice=int(one["Nice"]),
        submit_time=unix(one["SubmitTime"]) or 0,
        eligible_time=unix(one["EligibleTime"]),
        start_time=None if pending or never else start,
        end_time=None if pending else end,
        planned_start=start if pending else None,
        planned_nodes=hosts(one.get("SchedNodeList", "")),
        suspended_since=suspended,
        suspended=0 if suspended is None or start is None else suspended - start - int(one["SecsPreSuspend"]),
        time_limit=seconds(one["TimeLimit"]),
        num_nodes=int(least),
        num_cpus=int(one["NumCPUs"]),
        tres_requested=tres,
        tres_allocated=tres if one["NodeList"] else {},
        nodes=hosts(one["NodeList"]),
        request=request,
    )
    host, _, sid = one["AllocNode:Sid"].partition(":")
    details = JobDetails(
        command=_null(one["Command"]),
        submit_host=host,
        alloc_sid=int(sid),
        work_dir=one["WorkDir"],
        std_in=one["StdIn"],
        std_out=names["stdout"],
        std_err="" if names["stderr"] == names["stdout"] else names["stderr"],
        comment=one.get("Comment", "").strip(),
        wckey=_null(names["wckey"]),
        mail_user=one.get("MailUser", ""),
        mail_type=one.get("MailType", ""),
        batch=one["BatchFlag"] == "1",
        assoc_id=int(names["associd"]),
        tmp_disk=_mib(one["MinTmpDiskNode"]),
        derived_exit_code=int(one["DerivedExitCode"].partition(":")[0]) << 8,
        last_sched_eval=unix(one["LastSchedEval"]) or 0,
        scheduler=one["Scheduler"].removesuffix(":*"),
        accrue_time=unix(one["AccrueTime"]),
        cancelled_by=0 if state == "CANCELLED" else None,
    )
    return line, details


def node_of(text: str) -> NodeLine:
    one = dict(re.findall(r"(\w+)=(\S*)", text))
    base, *flags = one["State"].split("+")
    uid_reason = re.search(r"Reason=(.*) \[(\w+)@(\S+)\]", text)
    system = re.search(r"OS=(.*?) \s+RealMemory", text)
    shown = {"MIXED": "MIXED", "ALLOCATED": "ALLOCATED", "IDLE": "IDLE", "UNKNOWN": "UNKNOWN*"}[base]
    if "DRAIN" in flags:
        shown = "DRAINING" if base != "IDLE" else "DRAINED"
    if "PLANNED" in flags:
        shown = "PLANNED"
    used = {name.removeprefix("gres/"): count for name, count in counts(one["AllocTRES"]).items() if "gres" in name}
    return NodeLine(
        name=one["NodeName"],
        state=shown,
        base_state=base,
        flags=tuple(flags),
        reason=uid_reason[1] if uid_reason else "",
        reason_time=unix(uid_reason[3]) or 0 if uid_reason else 0,
        cpus=int(one["CPUTot"]),
        cpus_allocated=int(one["CPUAlloc"]),
        sockets=int(one["Sockets"]),
        cores_per_socket=int(one["CoresPerSocket"]),
        threads_per_core=int(one["ThreadsPerCore"]),
        memory=int(one["RealMemory"]),
        memory_allocated=int(one["AllocMem"]),
        gres=() if one["Gres"] == "(null)" else tuple(one["Gres"].split(",")),
        gres_used=used,
        features=tuple(one["AvailableFeatures"].split(",")),
        weight=int(one["Weight"]),
        partitions=tuple(one["Partitions"].split(",")),
        billing=counts(one["CfgTRES"])["billing"],
        jobs=(),
        load=None if one["CPULoad"] == "N/A" else float(one["CPULoad"]),
        memory_free=None if one["FreeMem"] == "N/A" else int(one["FreeMem"]),
        arch=one.get("Arch", ""),
        system=system[1] if system else "",
        host=one["NodeHostName"],
        address=one["NodeAddr"],
        port=int(one.get("Port", "6818")),
        tmp_disk=int(one["TmpDisk"]),
        version=one.get("Version", ""),
        boot_time=unix(one["BootTime"]) or 0,
        daemon_start_time=unix(one["SlurmdStartTime"]) or 0,
        last_busy=unix(one["LastBusyTime"]) or 0,
    )


def partition_of(text: str) -> PartitionLine:
    one = dict(re.findall(r"(\w+)=(\S*)", text))
    tres = {
        name: int(count) if name != "mem" else _mib(count)
        for name, count in re.findall(r"([\w/]+)=([\d.]+[MGT]?)", re.split(r"\sTRES=", text)[1].split("\n")[0])
    }
    most, over = one["MaxNodes"], one["OverTimeLimit"]
    return PartitionLine(
        name=one["PartitionName"],
        state=one["State"],
        default=one["Default"] == "YES",
        nodes=hosts(one["Nodes"]),
        tres=tres,
        max_time=seconds(one["MaxTime"]),
        default_time=seconds(one["DefaultTime"]),
        min_nodes=int(one["MinNodes"]),
        max_nodes=None if most == "UNLIMITED" else int(most),
        priority_tier=int(one["PriorityTier"]),
        priority_job_factor=int(one["PriorityJobFactor"]),
        qos="" if one["QoS"] == "N/A" else one["QoS"],
        exclusive=False,
        max_share=1,
        force_share=False,
        least_loaded=one["LLN"] == "YES",
        grace_time=int(one["GraceTime"]),
        over_time_limit=None if over == "UNLIMITED" else 0 if over == "NONE" else 60 * int(over),
        options={key.lower(): one[key] for key in ("DisableRootJobs", "ExclusiveUser", "Hidden", "PreemptMode")},
        def_mem_per_cpu=int(one.get("DefMemPerCPU", "0").replace("UNLIMITED", "0")),
        def_mem_per_node=int(one.get("DefMemPerNode", "0").replace("UNLIMITED", "0")),
        allow_users=None,
        allow_accounts=_names(one.get("AllowAccounts", "")),
        deny_accounts=_names(one.get("DenyAccounts", "")),
        allow_qos=_names(one.get("AllowQos", "")),
        deny_qos=_names(one.get("DenyQos", "")),
        allow_groups=_names(one["AllowGroups"]),
    )


def _names(text: str) -> tuple[str, ...]:
    return () if text in {"", "ALL", "(null)"} else tuple(text.split(","))


def reservation_of(text: str) -> ReservationLine:
    one = dict(re.findall(r"(\w+)=(\S*)", text))
    return ReservationLine(
        name=one["ReservationName"],
        state=one["State"],
        start_time=unix(one["StartTime"]) or 0,
        end_time=unix(one["EndTime"]) or 0,
        nodes=hosts(one["Nodes"]),
        features="",
        users=_names(one["Users"]),
        accounts=_names(one["Accounts"]),
        flags=tuple(filter(None, one["Flags"].split(","))),
    )


def _table(text: str) -> list[dict[str, str]]:
    header, *lines = (line.split("|") for line in text.splitlines())
    return [dict(zip(header, line, strict=True)) for line in lines]


def _cpu(text: str) -> float:
    *_, minutes, rest = ["0", *text.split(":")]
    return float(rest) + 60 * int(minutes)


def _cell(row: bytes, place: int) -> str:
    return row[20 * place : 20 * place + 20].decode(errors="replace").strip()


@cache
def rig(cluster: str = "rig-4-nodes.txt", accounting: str = "sacct.txt") -> Snapshot:
    """Put a recorded cluster together."""
    printed = recorded(cluster)
    (named_command,) = (one for one in printed if one.startswith("squeue -t all -O account,"))
    headings = [one for one in named_command.split("-O ")[1].split(",") if one != "tres-per-step"]
    whole = printed["squeue -a -h -t all -o '%A|%r|%w'"].out if "squeue -a -h -t all -o '%A|%r|%w'" in printed else ""
    assert not whole
    named = {}
    for line in printed[named_command].out.splitlines()[1:]:
        row = line.encode(errors="surrogateescape")  # a column has 20 bytes
        cells = {name: _cell(row, place) for place, name in enumerate(headings)}
        named[int(cells["jobid"])] = cells
    (letters,) = (one for one in printed if one.startswith("squeue -a -h -t all -o '%a|"))
    for line in printed[letters].out.splitlines():
        cells_of = line.split("|")
        named[int(cells_of[1])]["reason"] = cells_of[letters.split("'")[1].split("|").index("%r")]
    view = Snapshot()
    for text in re.split(r"\n\s*\n(?=JobId=)", printed["scontrol -d show job"].out.rstrip()):
        number = int(re.match(r"JobId=(\d+)", text.strip())[1])  # type: ignore[index]
        job, details = job_of(text.strip(), named[number])
        view.job_lines.append(job)
        view.job_details[number] = details
        view.job_allocations[number], view.job_gpus[number] = allocation_of(text)
    view.node_lines = [node_of(text) for text in re.split(r"\n\n", printed["scontrol show nodes"].out.strip())]
    view.partition_lines = [
        partition_of(text) for text in re.split(r"\n\n", printed["scontrol show partition"].out.strip())
    ]
    view.reservation_lines = [
        reservation_of(text) for text in re.split(r"\n\n", printed["scontrol show reservation"].out.strip())
    ]
    view.license_lines = [LicenseLine(name="matlab", total=4, used=2)]
    _add_accounting(view, recorded(accounting)["sacct -P -o ALL"].out)
    return view


def _add_accounting(view: Snapshot, table: str) -> None:
    """Add steps and what accounting had of the jobs."""
    jobs = {job.job_id: job for job in view.job_lines}
    rows = _table(table)
    for row in rows:
        number, _, step = row["JobIDRaw"].partition(".")
        job_id = int(number)
        if not step:
            view.job_details[job_id] = replace(
                view.job_details[job_id], submit_line=row["SubmitLine"], wckey=row["WCKey"]
            )
            requested = counts(row["ReqTRES"])
            jobs[job_id] = jobs[job_id]._replace(tres_requested=requested, priority=int(row["Priority"]))
            continue
        state = row["State"].replace("SUSPENDED", "RUNNING")
        code, _, signal = row["ExitCode"].partition(":")
        view.job_steps.setdefault(job_id, []).append(
            StepRecord(
                step_id=step,
                name=row["JobName"],
                state=JobState(state),
                nodes=hosts(row["NodeList"]),
                tasks=int(row["NTasks"]),
                cpus=int(row["NCPUS"]),
                start_time=unix(row["Start"]) or 0,
                end_time=unix(row["End"]),
                exit_code=int(code),
                signal=int(signal),
                usage=Usage(
                    user_seconds=_cpu(row["UserCPU"]),
                    system_seconds=_cpu(row["SystemCPU"]),
                    max_rss=int(row["MaxRSS"][:-1]) * 1024 if row["MaxRSS"] else 0,
                    read_bytes=11087 if row["MaxRSS"] else 0,  # as TRESUsageInMax says
                    written_bytes=1 if row["MaxRSS"] else 0,
                ),
            )
        )
    view.records = [
        AccountingRecord(
            job=jobs[job_id],
            details=view.job_details[job_id],
            steps=tuple(view.job_steps.get(job_id, ())),
        )
        for job_id in jobs
    ]


def answer_of(view: Snapshot, command: str, now: int) -> Answer:
    """Evaluate a recorded command line, with the variables before it."""
    import shlex

    from rota.listings import run

    words = shlex.split(command)
    environ = {}
    while words and re.match(r"[A-Z_0-9]+=", words[0]):
        name, _, value = words.pop(0).partition("=")
        environ[name] = value
    return run(words, environ, replace(view, now=now))
