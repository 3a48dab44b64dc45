"""The columns of ``squeue`` for jobs, by letter (``-o``) and by name (``-O``).

A pending job has no nodes: where nodes are shown, it shows its reason. Where Slurm shows something that rota does not
have, such as federations and burst buffers, the column holds what Slurm shows without these.

Over 400 lines: a table of columns, which is compared with the manual as a whole.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from rota.config.hostlist import fold_sorted
from rota.listings.clock import duration
from rota.listings.columns import Column
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
)
from rota.listings.text import NULL, or_null, plain, size
from rota.model import MAX_PRIORITY
from rota.model.accounting import JobDetails

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rota.listings.clock import Clock
    from rota.listings.view import View
    from rota.model.lines import JobLine

    JobColumn = Column[JobLine]
    Text = Callable[[JobLine], str]

_NOTHING = JobDetails()
#: An array's task ids are cut to so many characters, unless ``SLURM_BITSTR_LEN`` says otherwise.
TASKS_SHOWN = 64
#: Slurm's number for tasks that were never counted.
NO_TASKS = 2**32 - 2
#: Letters in the order of ``%all``.
ALL_LETTERS = "aAbBcCdDeEfFgGhHiIjJkKlLmMnNoOpPqQrRsStTuUvVwWxXyYzZ"
#: Columns of which rota has nothing: heading and text, by name.
_EMPTY = {
    "boardspernode": ("BOARDS_PER_NODE", "0"),
    "burstbuffer": ("BURST_BUFFER", NULL),
    "burstbufferstate": ("BURST_BUFFER_STATE", NULL),
    "clusterfeature": ("CLUSTER_FEATURES", NULL),
    "container": ("CONTAINER", NULL),
    "corespec": ("CORE_SPEC", "N/A"),
    "delayboot": ("DELAY_BOOT", "0:00"),
    "hetjobid": ("HET_JOB_ID", "N/A"),
    "hetjobidset": ("HET_JOB_ID_SET", "N/A"),
    "hetjoboffset": ("HET_JOB_OFFSET", "N/A"),
    "mcslabel": ("MCSLABEL", NULL),
    "network": ("NETWORK", NULL),
    "ntperboard": ("NTASKS_PER_BOARD", "0"),
    "origin": ("ORIGIN", "NA"),
    "originraw": ("ORIGIN_RAW", "NA"),
    "packjobid": ("HET_JOB_ID", "N/A"),
    "packjobidset": ("HET_JOB_ID_SET", "N/A"),
    "packjoboffset": ("HET_JOB_OFFSET", "N/A"),
    "preempttime": ("PREEMPT_TIME", "N/A"),
    "profile": ("PROFILE", "NotSet"),
    "reboot": ("REBOOT", "0"),
    "resizetime": ("RESIZE_TIME", "N/A"),
    "selectjobinfo": ("SELECT_JOBINFO", ""),
    "siblingsactive": ("ACTIVE_SIBLINGS", "NA"),
    "siblingsactiveraw": ("ACTIVE_SIBLINGS_RAW", "NA"),
    "siblingsviable": ("VIABLE_SIBLINGS", "NA"),
    "siblingsviableraw": ("VIALBLE_SIBLINGS_RAW", "NA"),  # as Slurm spells it
    "sperboard": ("SOCKETS_PER_BOARD", "0"),
    "tres-bind": ("TRES_BIND", "N/A"),
    "tres-freq": ("TRES_FREQ", "N/A"),
}
#: Letters by name.
_LETTERS = {
    "account": "a",
    "batchhost": "B",
    "command": "o",
    "comment": "k",
    "contiguous": "O",
    "cores": "I",
    "corespec": "X",
    "dependency": "E",
    "endtime": "e",
    "excnodes": "x",  # Slurm has this name in later versions only; Open OnDemand asks for it
    "feature": "f",
    "groupid": "G",
    "groupname": "g",
    "jobarrayid": "i",
    "jobid": "A",
    "licenses": "W",
    "mincpus": "c",
    "minmemory": "m",
    "mintmpdisk": "d",
    "name": "j",
    "nice": "y",
    "nodelist": "N",
    "numcpus": "C",
    "numnodes": "D",
    "partition": "P",
    "priority": "p",
    "prioritylong": "Q",
    "qos": "q",
    "reason": "r",
    "reasonlist": "R",
    "reqnodes": "n",
    "reservation": "v",
    "schednodes": "Y",
    "sct": "z",
    "sockets": "H",
    "starttime": "S",
    "state": "T",
    "statecompact": "t",
    "submittime": "V",
    "threads": "J",
    "timeleft": "L",
    "timelimit": "l",
    "timeused": "M",
    "tres-per-node": "b",
    "userid": "U",
    "username": "u",
    "wckey": "w",
    "workdir": "Z",
}


class JobColumns:
    """The columns of one listing.

    Args:
        view: The cluster.
        clock: Formats times.
        convert: Whether sizes are shown in larger units.
        tasks_shown: Most characters of an array's task ids.
    """

    def __init__(self, view: View, clock: Clock, *, convert: bool = True, tasks_shown: int = TASKS_SHOWN) -> None:
        self._view = view
        self._clock = clock
        self._now = clock.now
        self._convert = convert
        self._tasks_shown = tasks_shown
        self._details: dict[int, JobDetails] = {}

    def by_letter(self) -> Mapping[str, JobColumn]:
        """Give the columns of ``-o``."""
        return {**self._plain(), **self._times(), **self._requests(), **self._kept()}

    def by_name(self) -> Mapping[str, JobColumn]:
        """Give the columns of ``-O``."""
        letters = self.by_letter()
        named: dict[str, JobColumn] = {name: letters[letter] for name, letter in _LETTERS.items()}
        named |= {name: Column(heading, _always(text)) for name, (heading, text) in _EMPTY.items()}
        named |= self._named()
        # The same values under other headings.
        for name, heading in _HEADINGS.items():
            named[name] = named[name]._replace(heading=heading)
        return named

    # ---- values -----------------------------------------------------------------------------------------------

    def details(self, job: JobLine) -> JobDetails:
        """Give what is kept of a job beside its line."""
        found = self._details.get(job.job_id)
        if found is None:
            found = self._details[job.job_id] = self._view.details(job.job_id) or _NOTHING
        return found

    def _moment(self, time: int | None) -> str:
        return "N/A" if time is None else self._clock.moment(time)

    def _used(self, job: JobLine) -> int:
        return job.time_used(self._now)

    def _left(self, job: JobLine) -> str:
        if job.time_limit is None:
            return "UNLIMITED"
        left = job.time_limit - self._used(job)
        return duration(left) if left >= 0 else "INVALID"

    def _start(self, job: JobLine) -> int | None:
        return start_shown(job, self._now)

    def _end(self, job: JobLine) -> int | None:
        end = end_shown(job, self._now)
        return job.end_time if end is None and not job.pending else end

    def _end_text(self, job: JobLine) -> str:
        end = self._end(job)
        return "NONE" if job.time_limit is None and (end or 0) > self._now else self._moment(end)

    def shown_id(self, job: JobLine) -> str:
        """Give the job id as it is listed."""
        if job.array_job_id is None:
            return str(job.job_id)
        if job.array_task[:1] != "[":
            return f"{job.array_job_id}_{job.array_task}"
        return f"{job.array_job_id}_[{self._tasks(job)}]"

    def _tasks(self, job: JobLine) -> str:
        """Give the task ids of a job array, cut to what is shown."""
        listed, percent, throttle = job.array_task.strip("[]").partition("%")
        if len(listed) > self._tasks_shown:
            room = max(self._tasks_shown - 2, 0)
            listed = listed[: listed.rfind(",", 0, room) + 1] + "..."
        return (listed or "N/A") + percent + throttle

    # ---- columns ----------------------------------------------------------------------------------------------

    def _plain(self) -> dict[str, JobColumn]:
        """Columns of a job's line as it is."""
        reason = _Reasons()
        return {
            "A": Column("JOBID", lambda job: str(job.job_id), attrgetter("job_id")),
            "a": Column("ACCOUNT", attrgetter("account")),
            "C": Column("CPUS", lambda job: str(job.num_cpus), attrgetter("num_cpus")),
            "D": Column("NODES", lambda job: str(job.num_nodes), attrgetter("num_nodes")),
            "E": Column("DEPENDENCY", lambda job: job.dependency or NULL),
            "F": Column("ARRAY_JOB_ID", lambda job: str(job.array_job_id or job.job_id), _array_key),
            "G": Column("GROUP", lambda job: str(job.group_id), attrgetter("group_id")),
            "g": Column("GROUP", lambda job: self._view.group_name(job.group_id)),
            "i": Column("JOBID", self.shown_id, _array_key),
            "j": Column("NAME", lambda job: or_null(job.name)),
            "K": Column("ARRAY_TASK_ID", self._tasks, _array_key),
            "N": Column("NODELIST", lambda job: fold_sorted(job.nodes)),
            "P": Column("PARTITION", attrgetter("partition")),
            "p": Column("PRIORITY", lambda job: f"{job.priority / MAX_PRIORITY:.14f}", attrgetter("priority")),
            "q": Column("QOS", lambda job: job.qos or NULL),
            "Q": Column("PRIORITY", lambda job: str(job.priority), attrgetter("priority")),
            "R": Column("NODELIST(REASON)", reason.or_nodes),
            "r": Column("REASON", reason),
            "T": Column("STATE", _state),
            "t": Column("ST", _compact_state),
            "u": Column("USER", lambda job: plain(job.user)),
            "U": Column("UID", lambda job: str(job.user_id), attrgetter("user_id")),
            "v": Column("RESERVATION", lambda job: or_null(job.request.reservation)),
            "W": Column("LICENSES", lambda job: or_null(job.request.licenses)),
            "y": Column("NICE", lambda job: str(job.nice), attrgetter("nice")),
            "Y": Column("SCHEDNODES", lambda job: fold_sorted(job.planned_nodes) or NULL),
        }

    def _times(self) -> dict[str, JobColumn]:
        return {
            "e": Column("END_TIME", self._end_text, lambda job: _late(self._end(job))),
            "l": Column(
                "TIME_LIMIT", lambda job: _limit(job.time_limit), lambda job: job.time_limit or 2**62, cut=False
            ),
            "L": Column("TIME_LEFT", self._left, lambda job: (job.time_limit or 2**62) - self._used(job), cut=False),
            "M": Column("TIME", lambda job: duration(self._used(job)), self._used, cut=False),
            "S": Column(
                "START_TIME", lambda job: self._moment(self._start(job)), lambda job: self._start(job) or 2**62
            ),
            "V": Column("SUBMIT_TIME", lambda job: self._clock.moment(job.submit_time), attrgetter("submit_time")),
        }

    def _requests(self) -> dict[str, JobColumn]:
        """Columns about what a job asks for."""
        return {
            "b": Column("TRES_PER_NODE", lambda job: gres_text(job.request.gres) or "N/A"),
            "c": Column("MIN_CPUS", lambda job: str(least_cpus(job)), least_cpus),
            "f": Column("FEATURES", lambda job: or_null(job.request.constraint)),
            "H": Column("SOCKETS_PER_NODE", _wanted("sockets_per_node")),
            "h": Column("OVER_SUBSCRIBE", sharing),
            "I": Column("CORES_PER_SOCKET", _wanted("cores_per_socket")),
            "J": Column("THREADS_PER_CORE", _wanted("threads_per_core")),
            "m": Column("MIN_MEMORY", self._memory, lambda job: least_memory(job)[0]),
            "n": Column("REQ_NODES", lambda job: hosts_text(job.request.required_nodes)),
            "O": Column("CONTIGUOUS", lambda job: str(int(job.request.contiguous))),
            "s": Column("", _always("")),
            "x": Column("EXC_NODES", lambda job: hosts_text(job.request.excluded_nodes)),
            "X": Column("CORE_SPEC", _always("N/A")),
            "z": Column("S:C:T", _shape),
        }

    def _memory(self, job: JobLine) -> str:
        memory, _ = least_memory(job)
        return size(memory, "M", convert=self._convert) if memory else "0"

    def _kept(self) -> dict[str, JobColumn]:
        """Columns of what is kept of a job beside its line."""
        return {
            "B": Column("EXEC_HOST", self._host),
            "d": Column("MIN_TMP_DISK", self._disk, lambda job: self.details(job).tmp_disk),
            "k": Column("COMMENT", lambda job: or_null(self.details(job).comment)),
            "o": Column("COMMAND", lambda job: or_null(self.details(job).command)),
            "w": Column("WCKEY", lambda job: or_null(self.details(job).wckey)),
            "Z": Column("WORK_DIR", lambda job: or_null(self.details(job).work_dir)),
        }

    def _host(self, job: JobLine) -> str:
        """Give where the script runs or, of an allocation, where it was asked for."""
        details = self.details(job)
        return plain(details.submit_host) if not details.batch else job.nodes[0] if job.nodes else "n/a"

    def _disk(self, job: JobLine) -> str:
        disk = self.details(job).tmp_disk
        return size(disk, "M", convert=self._convert) if disk else "0"

    def _named(self) -> dict[str, JobColumn]:
        """Columns without a letter."""
        details = self.details
        return {
            "admin_comment": Column("ADMIN_COMMENT", lambda job: or_null(details(job).admin_comment)),
            "system_comment": Column("SYSTEM_COMMENT", lambda job: or_null(system_comment(job))),
            "accruetime": Column("ACCRUE_TIME", lambda job: self._moment(accrue_time(job, details(job), self._view))),
            "allocnodes": Column("ALLOC_NODES", lambda job: or_null(details(job).submit_host)),
            "allocsid": Column("ALLOC_SID", lambda job: str(details(job).alloc_sid)),
            "arrayjobid": Column("ARRAY_JOB_ID", lambda job: str(job.array_job_id or job.job_id), _array_key),
            "arraytaskid": Column("ARRAY_TASK_ID", self._tasks, _array_key),
            "associd": Column("ASSOC_ID", lambda job: str(details(job).assoc_id)),
            "batchflag": Column("BATCH_FLAG", lambda job: str(int(details(job).batch))),
            "cluster": Column("CLUSTER", lambda _: self._view.config.cluster_name),
            "cpus-per-task": Column("CPUS_PER_TASK", _cpus_per_task),
            "cpuspertask": Column("CPUS_PER_TASK", _cpus_per_task),
            "cpus-per-tres": Column("CPUS_PER_TRES", lambda job: per_gpu(job, "cpus_per_gpu")),
            "deadline": Column("DEADLINE", lambda job: self._moment(job.request.deadline or None)),
            "derivedec": Column("DERIVED_EC", lambda job: str(details(job).derived_exit_code)),
            "eligibletime": Column("ELIGIBLE_TIME", lambda job: self._moment(eligible_time(job))),
            "exit_code": Column("EXIT_CODE", lambda job: str(job.exit_code << 8 | job.signal)),
            "lastschedeval": Column("LAST_SCHED_EVAL", lambda job: self._moment(details(job).last_sched_eval or None)),
            "maxcpus": Column("MAX_CPUS", lambda job: str(job.num_cpus)),
            "maxnodes": Column("MAX_NODES", lambda job: str(most_nodes(job) or job.num_nodes)),
            "mem-per-tres": Column("MEM_PER_TRES", lambda job: per_gpu(job, "mem_per_gpu")),
            "mintime": Column("TIME_MIN", lambda job: duration(job.request.time_min or 0)),
            "ntpercore": Column("NTASKS_PER_CORE", _wanted("ntasks_per_core", "N/A")),
            "ntpernode": Column("NTASKS_PER_NODE", _wanted("ntasks_per_node", "0")),
            "ntpersocket": Column("NTASKS_PER_SOCKET", _wanted("ntasks_per_socket", "N/A")),
            "numtasks": Column("TASKS", lambda job: str(tasks_of(job) or NO_TASKS)),
            "oversubscribe": Column("OVER_SUBSCRIBE", sharing),
            "pendingtime": Column("PENDING_TIME", lambda job: str(self._waited(job))),
            "prefer": Column("PREFER", lambda job: or_null(job.request.prefer)),
            "reqswitch": Column("REQ_SWITCH", lambda job: str(job.request.switches)),
            "requeue": Column("REQUEUE", lambda job: str(int(self._requeues(job)))),
            "restartcnt": Column("RESTART_COUNT", lambda job: str(job.restart_count)),
            "shared": Column("OVER_SUBSCRIBE", sharing),
            "stderr": Column("STDERR", self._std_err),
            "stdin": Column("STDIN", lambda job: or_null(details(job).std_in if details(job).batch else "")),
            "stdout": Column("STDOUT", lambda job: or_null(details(job).std_out)),
            "tres-alloc": Column("TRES_ALLOC", self._tres),
            "tres-per-job": Column("TRES_PER_JOB", lambda job: _asked(job, "gres_per_job")),
            "tres-per-socket": Column("TRES_PER_SOCKET", lambda job: _asked(job, "gres_per_socket")),
            "tres-per-task": Column("TRES_PER_TASK", lambda job: _asked(job, "gres_per_task")),
            "wait4switch": Column("WAIT4SWITCH", lambda job: duration(job.request.switch_wait)),
        }

    def _std_err(self, job: JobLine) -> str:
        details = self.details(job)
        return or_null(details.std_err or details.std_out) if details.batch else "N/A"

    def _tres(self, job: JobLine) -> str:
        from rota.listings.text import tres_text

        return tres_text(job.tres_allocated or job.tres_requested, self._view.config.tres())

    def _waited(self, job: JobLine) -> int:
        return max((self._now if job.pending else job.start_time or job.submit_time) - job.submit_time, 0)

    def _requeues(self, job: JobLine) -> bool:
        return requeues(job, self._view)


#: Headings that differ between a letter and a name.
_HEADINGS = {"jobid": "JOBID"}


class _Reasons:
    """Texts of reasons, each put together once."""

    def __call__(self, job: JobLine) -> str:
        return job.reason_text(fold_sorted) if job.reason_sentence else job.reason

    def or_nodes(self, job: JobLine) -> str:
        """Give the nodes or, of a job that waits or has ended badly, the reason."""
        if job.base_state in _REASON_STATES:
            return f"({self(job)})"
        return fold_sorted(job.nodes)


#: Base states in which the reason is shown in place of the nodes.
_REASON_STATES = frozenset({"PENDING", "TIMEOUT", "OUT_OF_MEMORY", "DEADLINE", "FAILED"})


def _late(time: int | None) -> int:
    """Sort what has no time last."""
    return 2**62 if time is None else time


def _state(job: JobLine) -> str:
    return "COMPLETING" if job.completing else job.state


def _compact_state(job: JobLine) -> str:
    return "CG" if job.completing else job.state_compact


def _always(text: str) -> Text:
    return lambda _: text


def _limit(seconds: int | None) -> str:
    return "UNLIMITED" if seconds is None else duration(seconds)


def _array_key(job: JobLine) -> tuple[float, ...]:
    """Sort the tasks of a job array by their ids, those that are pending together last."""
    task = job.array_task
    if job.array_job_id is None:
        return (job.job_id, 0)
    return (job.array_job_id, int(task) if task.isdecimal() else 2**62)


def _wanted(name: str, none: str = "*") -> Text:
    """Give the function for a count of the request, which may not be given."""

    def text(job: JobLine) -> str:
        return str(getattr(job.request, name, 0) or none)

    return text


def _shape(job: JobLine) -> str:
    names = ("sockets_per_node", "cores_per_socket", "threads_per_core")
    return ":".join(_wanted(name)(job) for name in names)


def _asked(job: JobLine, name: str) -> str:
    return gres_text(getattr(job.request, name, "")) or "N/A"


def _cpus_per_task(job: JobLine) -> str:
    return str(job.request.cpus_per_task)
