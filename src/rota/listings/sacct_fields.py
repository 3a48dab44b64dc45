"""The fields of ``sacct``: widths, and the text for a job or a step.

Over 400 lines: a table of fields, which is compared with the manual as a whole.

TRES are listed by name. A job's own exit code is 0:0 if it was cancelled or exceeded its time limit, as in Slurm.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from rota.config.hostlist import fold
from rota.listings.clock import full_duration
from rota.listings.job_facts import eligible_time, least_memory, system_comment
from rota.listings.text import or_null, plain, size, tres_text
from rota.model.tres import gres_counts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rota.listings.clock import Clock
    from rota.listings.view import View
    from rota.model.accounting import Accounted
    from rota.model.lines import JobLine
    from rota.model.step import StepRecord, Usage

    Text = Callable[["Row"], str]

_WIDTHS = """
Account 10  AdminComment 15  AllocCPUS 10  AllocNodes 10  AllocTRES 10  AssocID 7  AveCPU 10  AveCPUFreq 10
AveDiskRead 14  AveDiskWrite 14  AvePages 10  AveRSS 10  AveVMSize 10  BlockID 16  Cluster 10  Comment 14
Constraints 19  ConsumedEnergy 14  ConsumedEnergyRaw 17  Container 19  CPUTime 10  CPUTimeRAW 10  DBIndex 10
DerivedExitCode 15  Elapsed 10  ElapsedRaw 10  Eligible 19  End 19  ExitCode 8  Flags 19  GID 6  Group 9
JobID -12  JobIDRaw -12  JobName 10  Layout 9  MaxDiskRead 12  MaxDiskReadNode 15  MaxDiskReadTask 15
MaxDiskWrite 12  MaxDiskWriteNode 16  MaxDiskWriteTask 16  MaxPages 8  MaxPagesNode 12  MaxPagesTask 14
MaxRSS 10  MaxRSSNode 10  MaxRSSTask 10  MaxVMSize 10  MaxVMSizeNode 14  MaxVMSizeTask 14  McsLabel 12
MinCPU 10  MinCPUNode 10  MinCPUTask 10  NCPUS 10  NNodes 8  NodeList 15  NTasks 8  Partition 10  Priority 10
QOS 10  QOSRAW 6  Reason 22  ReqCPUFreq 10  ReqCPUFreqGov 13  ReqCPUFreqMax 13  ReqCPUFreqMin 13  ReqCPUS 8
ReqMem 10  ReqNodes 8  ReqTRES 10  Reservation 20  ReservationId 8  Reserved 10  ResvCPU 10  ResvCPURAW 10
Start 19  State 10  Submit 19  SubmitLine 20  Suspended 10  SystemComment 15  SystemCPU 10  Timelimit 10
TimelimitRaw 10  TotalCPU 10  TRESUsageInAve 14  TRESUsageInMax 14  TRESUsageInMaxNode 18
TRESUsageInMaxTask 18  TRESUsageInMin 14  TRESUsageInMinNode 18  TRESUsageInMinTask 18  TRESUsageInTot 14
TRESUsageOutAve 15  TRESUsageOutMax 15  TRESUsageOutMaxNode 19  TRESUsageOutMaxTask 19  TRESUsageOutMin 15
TRESUsageOutMinNode 19  TRESUsageOutMinTask 19  TRESUsageOutTot 15  UID 6  User 9  UserCPU 10  WCKey 10
WCKeyID 10  WorkDir 20
"""
#: Fields in the order of ``--helpformat``, with their widths; negative: aligned to the left.
FIELDS: dict[str, int] = dict(zip(_WIDTHS.split()[::2], map(int, _WIDTHS.split()[1::2]), strict=True))
DEFAULT = "JobID,JobName,Partition,Account,AllocCPUS,State,ExitCode"
BRIEF = "JobID,State,ExitCode"
LONG = (
    "jobid,jobidraw,jobname,partition,maxvmsize,maxvmsizenode,maxvmsizetask,avevmsize,maxrss,maxrssnode,maxrsstask,averss,"
    "maxpages,maxpagesnode,maxpagestask,avepages,mincpu,mincpunode,mincputask,avecpu,ntasks,alloccpus,elapsed,state,"
    "exitcode,avecpufreq,reqcpufreqmin,reqcpufreqmax,reqcpufreqgov,reqmem,consumedenergy,maxdiskread,maxdiskreadnode,"
    "maxdiskreadtask,avediskread,maxdiskwrite,maxdiskwritenode,maxdiskwritetask,avediskwrite,reqtres,alloctres,"
    "tresusageinave,tresusageinmax,tresusageinmaxnode,tresusageinmaxtask,tresusageinmin,tresusageinminnode,"
    "tresusageinmintask,tresusageintot,tresusageoutmax,tresusageoutmaxnode,tresusageoutmaxtask,tresusageoutave,"
    "tresusageouttot"
)


class Row(NamedTuple):
    """A row: a job, or one of its steps."""

    record: Accounted
    #: ``None``: the job itself.
    step: StepRecord | None


class Rows:
    """Gives the texts of rows.

    Args:
        view: The cluster.
        clock: Formats times.
        convert: Whether sizes are shown in larger units.
        target: The unit of sizes; empty: the largest that fits.
        truncate: ``-T``: start and end of the time that is shown.
        allocations: ``-X``: only jobs are shown, without the usage of their steps.
    """

    def __init__(
        self,
        view: View,
        clock: Clock,
        *,
        convert: bool = True,
        target: str = "",
        truncate: tuple[int, int] | None = None,
        allocations: bool = False,
    ) -> None:
        self._view = view
        self._clock = clock
        self._now = view.now
        self._convert = convert
        self._target = target
        self._truncate = truncate
        self._allocations = allocations
        self._texts: dict[str, Text] = {}

    def text(self, name: str) -> Text:
        """Give the function for a field; fields of which rota has nothing are empty."""
        if not self._texts:
            self._texts = {**_identity(self), **self._times(), **self._sizes(), **self._usage()}
        return self._texts.get(name, _nothing)

    # ---- times ------------------------------------------------------------------------------------------------

    def start(self, row: Row) -> int | None:
        """Give the start of a job or step."""
        if row.step is not None:
            found: int | None = row.step.start_time
        else:
            job = row.record.job
            found = None if job.pending else job.start_time
            if found is None and not job.pending:
                found = job.end_time
        if self._truncate is None:
            return found
        return max(self._truncate[0], self._truncate[1] if found is None else found)

    def end(self, row: Row) -> int | None:
        """Give the end of a job or step; ``None``: it has not ended."""
        job = row.record.job
        if row.step is not None:
            found = row.step.end_time
        else:
            found = None if job.pending or job.base_state in {"RUNNING", "SUSPENDED"} else job.end_time
        return (
            found if self._truncate is None else min(self._truncate[1], self._truncate[1] if found is None else found)
        )

    def elapsed(self, row: Row) -> int:
        """Give the seconds for which a job or step has run."""
        job = row.record.job
        if row.step is None and self._truncate is None:
            return job.time_used(self._now)
        start, end = self.start(row), self.end(row)
        if start is None or (row.step is None and job.start_time is None):
            return 0
        if end is None:
            end = self._now if job.suspended_since is None else job.suspended_since
        return max(end - start - (job.suspended if row.step is None else 0), 0)

    def _moment(self, time: int | None) -> str:
        return "Unknown" if time is None else self._clock.moment(time)

    def _start(self, row: Row) -> str:
        """Give the start as text; a job that has missed its deadline has none, as in Slurm."""
        if row.step is None and row.record.job.base_state == "DEADLINE" and self._truncate is None:
            return "None"
        return self._moment(self.start(row))

    def _reserved(self, row: Row) -> int:
        job = row.record.job
        if row.step is not None or job.eligible_time is None:
            return 0
        begun = (self._now if job.pending else job.end_time or self._now) if job.start_time is None else job.start_time
        return max(begun - job.eligible_time, 0)

    def suspended(self, row: Row) -> int:
        """Give the seconds for which a job has been suspended."""
        job = row.record.job
        since = 0 if job.suspended_since is None else self._now - job.suspended_since
        return job.suspended + since

    def _times(self) -> dict[str, Text]:
        of_job = _job_only
        return {
            "CPUTime": lambda row: full_duration(self.elapsed(row) * _cpus(row)),
            "CPUTimeRAW": lambda row: str(self.elapsed(row) * _cpus(row)),
            "Elapsed": lambda row: full_duration(self.elapsed(row)),
            "ElapsedRaw": lambda row: str(self.elapsed(row)),
            "Eligible": lambda row: self._moment(row.step.start_time if row.step else eligible_time(row.record.job)),
            "End": lambda row: self._moment(self.end(row)),
            "Reserved": of_job(lambda row: full_duration(self._reserved(row))),
            "ResvCPU": of_job(lambda row: full_duration(self._reserved(row) * _cpus(row))),
            "ResvCPURAW": of_job(lambda row: str(self._reserved(row) * _cpus(row))),
            "Start": self._start,
            "Submit": lambda row: self._moment(row.step.start_time if row.step else row.record.job.submit_time),
            "Suspended": lambda row: full_duration(self.suspended(row)),
            "Timelimit": of_job(_limit),
            "TimelimitRaw": of_job(_limit_minutes),
        }

    # ---- sizes ------------------------------------------------------------------------------------------------

    def _tres(self, counts: Mapping[str, int]) -> str:
        names = tuple(sorted(counts))
        return tres_text(counts, names, convert=self._convert, target=self._target)

    def _bytes(self, count: int) -> str:
        return size(count, "", convert=self._convert, target=self._target)

    def _disk(self, count: int) -> str:
        if not self._convert:
            return str(count)
        return f"{count / 2**20:.2f}M" if not self._target else size(count, "", target=self._target)

    def _asked_memory(self, row: Row) -> str:
        memory = row.record.job.tres_requested.get("mem", 0)
        return size(memory, "M", convert=self._convert, target=self._target) if memory else "0"

    def _sizes(self) -> dict[str, Text]:
        return {
            "AllocTRES": lambda row: self._tres(allocated(row)),
            "ReqMem": _job_only(self._asked_memory),
            "ReqTRES": _job_only(lambda row: self._tres(row.record.job.tres_requested)),
        }

    # ---- usage ------------------------------------------------------------------------------------------------

    def seconds(self, row: Row) -> tuple[float, float]:
        """Give the processor time of user and system."""
        if row.step is not None:
            return row.step.usage.user_seconds, row.step.usage.system_seconds
        if self._allocations:
            return 0.0, 0.0
        each = [step.usage for step in row.record.steps]
        return sum(one.user_seconds for one in each), sum(one.system_seconds for one in each)

    def _usage(self) -> dict[str, Text]:
        def measured(text: Callable[[Usage, StepRecord], str]) -> Text:
            def of_row(row: Row) -> str:
                step = row.step
                return "" if step is None or not step.usage.max_rss else text(step.usage, step)

            return of_row

        def where(_: Usage, step: StepRecord) -> str:
            return step.nodes[0] if step.nodes else ""

        rss = measured(lambda usage, _: self._bytes(usage.max_rss))
        read = measured(lambda usage, _: self._disk(usage.read_bytes))
        written = measured(lambda usage, _: self._disk(usage.written_bytes))
        cpu = measured(lambda usage, step: full_duration(int(_total(usage)) // max(step.tasks, 1)))
        taken = measured(self._taken)
        given = measured(lambda usage, _: f"energy={int(usage.energy or 0)},fs/disk={usage.written_bytes}")
        task = measured(lambda _usage, _step: "0")
        return {
            **dict.fromkeys(("AveCPU", "MinCPU"), cpu),
            **dict.fromkeys(("AveRSS", "MaxRSS"), rss),
            **dict.fromkeys(("AveDiskRead", "MaxDiskRead"), read),
            **dict.fromkeys(("AveDiskWrite", "MaxDiskWrite"), written),
            **dict.fromkeys(("MaxRSSNode", "MaxDiskReadNode", "MaxDiskWriteNode", "MinCPUNode"), measured(where)),
            **dict.fromkeys(("MaxRSSTask", "MaxDiskReadTask", "MaxDiskWriteTask", "MinCPUTask"), task),
            **dict.fromkeys(("TRESUsageInAve", "TRESUsageInMax", "TRESUsageInMin", "TRESUsageInTot"), taken),
            **dict.fromkeys(("TRESUsageOutAve", "TRESUsageOutMax", "TRESUsageOutMin", "TRESUsageOutTot"), given),
            **dict.fromkeys(("ConsumedEnergy", "ConsumedEnergyRaw"), _energy),
            "SystemCPU": lambda row: cpu_time(self.seconds(row)[1]),
            "TotalCPU": lambda row: cpu_time(sum(self.seconds(row))),
            "UserCPU": lambda row: cpu_time(self.seconds(row)[0]),
        }

    def _taken(self, usage: Usage, _: StepRecord) -> str:
        return (
            f"cpu={full_duration(int(_total(usage)))},energy={int(usage.energy or 0)},fs/disk={usage.read_bytes},"
            f"mem={self._bytes(usage.max_rss)}"
        )

    # ---- names ------------------------------------------------------------------------------------------------

    def cluster(self, _: Row) -> str:
        """Give the cluster's name."""
        return self._view.config.cluster_name

    def group(self, row: Row) -> str:
        """Give the name of a job's group."""
        return self._view.group_name(row.record.job.group_id)


def allocated(row: Row) -> Mapping[str, int]:
    """Give the allocated TRES of a job or step."""
    job, step = row.record.job, row.step
    return job.tres_allocated if step is None else step_tres(job, step)


def step_tres(job: JobLine, step: StepRecord) -> Mapping[str, int]:
    """Give what a step has of its job: all that is on its nodes, but for what is known better."""
    share = len(step.nodes) / len(job.nodes) if job.nodes else 1.0
    memory, per_cpu = least_memory(job)
    counts = {
        name: int(count * share) for name, count in job.tres_allocated.items() if name not in {"cpu", "node", "billing"}
    }
    if per_cpu:
        counts["mem"] = int(memory * step.cpus)
    if step.gres:
        counts = {name: number for name, number in counts.items() if not name.startswith("gres/")}
        counts |= _gres(step, job.tres_allocated)
    return {"cpu": step.cpus, "node": len(step.nodes), **counts}


def _gres(step: StepRecord, of_job: Mapping[str, int]) -> dict[str, int]:
    """Count the GRES of a step, those that its job is accounted for."""
    found = Counter[str]()
    for text in step.gres:
        found.update(gres_counts(text))
    return {name: found[kind] for name in of_job if (kind := name.removeprefix("gres/")) in found}


def _energy(row: Row) -> str:
    if row.step is not None:
        return str(int(row.step.usage.energy or 0))
    return "" if row.record.job.start_time is not None else "0"


def _total(usage: Usage) -> float:
    return usage.user_seconds + usage.system_seconds


def cpu_time(seconds: float) -> str:
    """Format processor time: ``00:00.014``, ``01:02:03``; ``00:00:00`` for none."""
    thousandths = int(seconds * 1000 + 0.5) % 1000
    whole = int(seconds + 0.0005)
    if whole >= 3600 or not thousandths:
        return full_duration(whole)
    return f"{whole // 60:02}:{whole % 60:02}.{thousandths:03}"


def _nothing(_: Row) -> str:
    return ""


def _job_only(text: Text) -> Text:
    return lambda row: text(row) if row.step is None else ""


def _limit(row: Row) -> str:
    limit = row.record.job.time_limit
    return "UNLIMITED" if limit is None else full_duration(limit)


def _limit_minutes(row: Row) -> str:
    limit = row.record.job.time_limit
    return "UNLIMITED" if limit is None else str(limit // 60)


def _cpus(row: Row) -> int:
    return row.step.cpus if row.step is not None else row.record.job.num_cpus


def state(row: Row) -> str:
    """Give the state of a job or step."""
    job, step = row.record.job, row.step
    if step is None or (step.end_time is None and job.base_state == "SUSPENDED"):
        return job.base_state
    return step.state.value


def _state_by(row: Row) -> str:
    found = state(row)
    if found != "CANCELLED" or row.step is not None or (by := row.record.details.cancelled_by) is None:
        return found
    return f"CANCELLED by {by}"


def exit_status(row: Row) -> tuple[int, int]:
    """Give the exit code of a job or step, and the signal that ended it."""
    if row.step is not None:
        return row.step.exit_code, row.step.signal
    job = row.record.job
    if job.base_state == "DEADLINE":
        return 1, 0
    return (0, 0) if job.base_state in {"CANCELLED", "TIMEOUT"} else (job.exit_code, job.signal)


def _exit_code(row: Row) -> str:
    """Give exit code and signal. Of a code above 127, which a shell makes of a signal, Slurm shows the signal."""
    code, signal = exit_status(row)
    return f"{code - 128 if code > 127 else code}:{signal}"


def derived_exit_code(record: Accounted) -> tuple[int, int]:
    """Give the highest exit code and signal of a job's steps as Slurm's database has them, once it has ended.

    Steps that end because their job has to are not counted there, other than in ``scontrol show job``: those that are
    killed then, and those that end with it.
    """
    job = record.job
    if job.base_state in {"PENDING", "RUNNING", "SUSPENDED"}:
        return 0, 0
    if job.base_state not in _HAD_TO_END:
        return divmod(record.details.derived_exit_code, 256)
    ended = (step for step in record.steps if step.step_id.isdigit() and step.end_time and not step.signal)
    return max((step.exit_code for step in ended if (step.end_time or 0) < (job.end_time or 0)), default=0), 0


#: States of jobs that have not ended by themselves.
_HAD_TO_END = frozenset({"CANCELLED", "DEADLINE", "NODE_FAIL", "PREEMPTED", "TIMEOUT"})


def _derived(row: Row) -> str:
    return "{}:{}".format(*derived_exit_code(row.record))


def _layout(row: Row) -> str:
    """Give how tasks are distributed if ``srun`` was not told: cyclic if there are no more than nodes."""
    step = row.step
    if step is None:
        return ""
    return "Unknown" if step.step_id == "batch" else "Cyclic" if step.tasks <= len(step.nodes) else "Block"


def _shown_id(row: Row) -> str:
    job = row.record.job.shown_id
    return job if row.step is None else f"{job}.{row.step.step_id}"


def _raw_id(row: Row) -> str:
    job = str(row.record.job.job_id)
    return job if row.step is None else f"{job}.{row.step.step_id}"


def nodes(row: Row) -> str:
    """Give the nodes of a job or step as a hostlist."""
    return fold(row.record.job.nodes if row.step is None else row.step.nodes) or "None assigned"


def _node_count(row: Row) -> str:
    job = row.record.job
    if row.step is not None:
        return str(len(row.step.nodes))
    return str(len(job.nodes) or job.tres_requested.get("node", job.num_nodes))


def _flags(row: Row) -> str:
    scheduler = row.record.details.scheduler
    began = f"Sched{scheduler}," if scheduler and row.record.job.start_time is not None else ""
    return f"{began}StartRecieved"  # as Slurm spells it


def reason(row: Row) -> str:
    """Give why a job is pending, as accounting has it."""
    job = row.record.job
    return job.reason if job.pending and job.reason not in {"Priority", "Resources"} else "None"


def _asked(name: str) -> Text:
    def text(row: Row) -> str:
        if row.step is not None:
            return str(row.step.cpus if name == "cpu" else len(row.step.nodes))
        job = row.record.job
        return str(job.tres_requested.get(name, job.num_cpus if name == "cpu" else job.num_nodes))

    return text


def _identity(rows: Rows) -> dict[str, Text]:
    """Give the fields that are what the record says."""
    cpus: Text = lambda row: str(_cpus(row))  # noqa: E731 -- a field like the others
    of_job = _job_only
    frequency: Text = lambda row: "0" if row.step is not None and row.step.step_id == "batch" else "Unknown"  # noqa: E731
    return {
        "Account": lambda row: row.record.job.account,
        "AdminComment": of_job(lambda row: plain(row.record.details.admin_comment)),
        "AllocCPUS": cpus,
        "AllocNodes": lambda row: str(len(row.record.job.nodes if row.step is None else row.step.nodes)),
        "SystemComment": of_job(lambda row: system_comment(row.record.job)),
        "AssocID": lambda row: str(row.record.details.assoc_id),
        "AveCPUFreq": lambda row: "" if row.step is None else "0",
        "Cluster": rows.cluster,
        "Comment": of_job(lambda row: plain(row.record.details.comment)),
        "Constraints": of_job(lambda row: plain(row.record.job.request.constraint)),
        "DerivedExitCode": of_job(_derived),
        "ExitCode": _exit_code,
        "Flags": of_job(_flags),
        "GID": of_job(lambda row: str(row.record.job.group_id)),
        "Group": of_job(rows.group),
        "JobID": _shown_id,
        "JobIDRaw": _raw_id,
        "JobName": lambda row: or_null(row.record.job.name) if row.step is None else plain(row.step.name),
        "Layout": _layout,
        "NCPUS": cpus,
        "NNodes": _node_count,
        "NodeList": nodes,
        "NTasks": lambda row: "" if row.step is None else str(row.step.tasks),
        "Partition": of_job(lambda row: row.record.job.partition),
        "Priority": of_job(lambda row: str(row.record.job.priority)),
        "QOS": of_job(lambda row: row.record.job.qos),
        "Reason": of_job(reason),
        **dict.fromkeys(("ReqCPUFreq", "ReqCPUFreqGov", "ReqCPUFreqMax", "ReqCPUFreqMin"), frequency),
        "ReqCPUS": _asked("cpu"),
        "ReqNodes": _asked("node"),
        "Reservation": of_job(lambda row: plain(row.record.job.request.reservation)),
        "State": _state_by,
        "SubmitLine": of_job(lambda row: plain(row.record.details.submit_line)),
        "UID": of_job(lambda row: str(row.record.job.user_id)),
        "User": of_job(lambda row: plain(row.record.job.user)),
        "WCKey": of_job(lambda row: plain(row.record.details.wckey)),
        "WCKeyID": of_job(lambda _: "0"),
        "WorkDir": of_job(lambda row: plain(row.record.details.work_dir)),
    }
