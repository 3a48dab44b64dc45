"""What differs from Slurm on purpose, and why. docs/differences.md has those that users meet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .compare import Difference


class Intended(NamedTuple):
    """Differences that are meant to be. All but the last are regular expressions for the whole of a text."""

    #: The scenario and moment, and the command.
    where: str
    command: str
    field: str
    slurms: str
    rotas: str
    why: str


def intended(scenario: str, one: Difference) -> Intended | None:
    """Give why something differs; ``None``: it should not."""
    texts = (f"{scenario} {one.key.moment}", one.key.command, one.key.field, one.slurms, one.rotas)
    for row in INTENDED:
        if all(re.fullmatch(pattern, text, re.DOTALL) for pattern, text in zip(row, texts, strict=False)):
            return row
    return None


_ANY = ".*"
_JOBS = "squeue|squeue -O|scontrol show job"
_MACHINE = "sinfo|sinfo table.*|sinfo --json|scontrol show node"
_QUEUED = "squeue --json"
_ENDED = "sacct --json.*"
_REFUSED = "refused .*"
#: What a job and its script are in Slurm if only a step has had too much memory.
_OVER = r".*(FAILED|NonZeroExitCode|[13]:0).*|F|253|256|768|-"

INTENDED = (
    # The machine.
    Intended("suspend suspended", _MACHINE, _ANY, ".*", ".*", "a suspended job keeps its processors"),
    # What is not kept of jobs.
    Intended(_ANY, "sacct", "Reason", _ANY, _ANY, "why it waits now; in Slurm why it waited last, but for resources"),
    Intended(_ANY, "sacct", "Comment", "", ".+", "comments are kept whatever AccountingStoreFlags says"),
    Intended(_ANY, "sacct", "Priority", _ANY, _ANY, "the present one; in Slurm that of the submission"),
    Intended(_ANY, "sacct step", "SubmitLine", "srun .*", "", "the command lines of steps are not kept"),
    Intended(_ANY, "sacct step", "State", "CANCELLED by UID", "CANCELLED", "who has cancelled a step is not kept"),
    Intended("suspend resumed", _JOBS, "SuspendTime", r"\+0min", "None", "when a job was last resumed is not kept"),
    Intended("(requeue|node-failure) .*", "sacct", "Alloc.*", ".+", "0|", "a requeued job that waits has nothing"),
    # Memory is that of the whole job, whichever of its steps has had too much: its script and it have, too.
    Intended(
        "out-of-memory .*",
        f"{_JOBS}|{_QUEUED}|sacct.*|ask .*",
        _ANY,
        _OVER,
        ".*(OOM|OUT_OF_ME|OutOfMemory|125).*",
        "memory is a job's",
    ),
    # Numbers.
    Intended(_ANY, _JOBS, "NumTasks", "N/A|4294967294", "1", "jobs that never ran have tasks too"),
    Intended(_ANY, _JOBS, "Priority|Q|p", "4294967294|0.9999.*", _ANY, "a job that is cancelled at once has one"),
    Intended(_ANY, "squeue -O", "Exit_Code|DerivedEC", "4021|253", "53|125", "an error number of Slurm's own"),
    Intended("node-failure .*", "sacct step", "ExitCode", "", "0:0", "a batch step on a lost node has one"),
    Intended("allocation srun", "sacct step", "Layout", "Block", "Cyclic", "of one task on one node"),
    Intended("memory .*", "sacct", "ReqMem|ReqTRES", ".*8000M.*", _ANY, "--mem=0 asks for what there is"),
    Intended("priority .*", "sacct", "Timelimit", "Partition_Limit", "01:00:00", "it is known from the submission on"),
    Intended("listings .*", "ask squeue .*", "text", ".*UNLIMITED", ".*1:00:00", "likewise"),
    Intended("priority .*", _JOBS, "Nice|y", "0", "10", "kept for when the priority is computed again"),
    Intended("steps.*", "sacct step|scontrol show step", ".*TRES", _ANY, _ANY, "a step has the memory of its job"),
    Intended("update .*", "sacct", "Constraints", "virt", "", "features that were removed are gone"),
    Intended("update .*", _JOBS, "Licenses|W", "", r"\(null\)", "removed licences are none"),
    Intended("update .*", _JOBS, "OverSubscribe|h", "NO", "OK", "NO stands for --exclusive alone"),
    # Files.
    Intended(_ANY, _JOBS, "Std(Out|Err)", ".*%.*|.*4294967294.*", "DIR/.*", "names of files are expanded"),
    Intended(_ANY, "squeue -O", "Std(Out|Err)", r"DIR/slurm-\w+.out", r"DIR/slurm-\w+_\d+.out", "the task's own file"),
    Intended(_ANY, "squeue -O", "StdOut", r"DIR/slurm-\w+.out", r"\(null\)", "an allocation has no output"),
    Intended("names files", "ask find.*", "text", ".*-HOST-.*", ".*-n01-.*", "%N is the node, which is virtual here"),
    # Arrays.
    Intended("array.*", ".*", "record", "-", "there", "a pending task that is cancelled is listed"),
    Intended("array-waiting changed", "sacct", "record", _ANY, _ANY, "the throttle is shown: A_[0,3,6,9%1]"),
    Intended("array.*", ".*", "Eligible(Time)?", "Unknown|N/A", r"\+0min", "tasks become eligible as jobs do"),
    Intended("array-waiting .*", _JOBS, "S|e|.*Time", r"\+(240|300)min", _ANY, "only the next task is planned"),
    # Jobs of several partitions.
    Intended("several-partitions .*", _JOBS, "Priority|Q|p", _ANY, _ANY, "the highest of all partitions"),
    Intended("several-partitions .*", _JOBS, "SchedNodeList|Y", _ANY, _ANY, "the last plan of several"),
    Intended("requeue .*", _JOBS, "Reason|R|r", ".*held.state.*", ".*JobHeldAdmin.*", "some reasons are shown by name"),
    # What is refused.
    Intended("suspend .*", _REFUSED, "text", "Unexpected message.*", "Invalid job id.*", "other words"),
    Intended("update .*", _REFUSED, "text", _ANY, "Job is no longer pending.*", "another of two reasons comes first"),
    # Documents: jobs.
    Intended(_ANY, _QUEUED, "standard_(out|err).*", _ANY, _ANY, "names of files are expanded, and shown in any case"),
    Intended(_ANY, _QUEUED, "cpus|tasks", "null", r"\d+", "jobs that never ran have processors and tasks, too"),
    Intended(_ANY, _QUEUED, "exit_code", "4021", "53", "an error number of Slurm's own"),
    Intended(_ANY, _QUEUED, "nice", r"42949\d+", r"-\d+", "a negative number is one"),
    Intended(_ANY, _QUEUED, "priority", "null", _ANY, "a job that is cancelled at once has one"),
    Intended("priority .*", _QUEUED, "nice", "null", "10", "kept for when the priority is computed again"),
    Intended("array .*", _QUEUED, "eligible_time", "0", r"\+0min", "tasks become eligible as jobs do"),
    Intended("array-waiting .*", _QUEUED, "(start|end)_time", r"\+\d+min", _ANY, "only the next task is planned"),
    Intended("several-partitions .*", _QUEUED, "priority", _ANY, _ANY, "the highest of all partitions"),
    Intended("(requeue|node-failure) .*", _QUEUED, "billable_tres|tres_alloc_str", _ANY, 'null|""', "it has nothing"),
    Intended("requeue .*", _QUEUED, "state_description", ".*held state.*", '""', "some reasons are shown by name"),
    Intended("memory .*", _QUEUED, "tres_req_str", ".*8000M.*", _ANY, "--mem=0 asks for what there is"),
    Intended("suspend resumed", _QUEUED, "suspend_time", r"\+0min", "0", "when a job was last resumed is not kept"),
    Intended(_ANY, _QUEUED, r"job_resources.*\.(cpus|memory)_used", _ANY, "0", "what steps have of it is not shown"),
    Intended("odd-characters .*", _QUEUED, "comment", r'"(\\ufffd)+"', r'"(\\ufffd)+"', "each byte is replaced"),
    Intended("requeue .*", _QUEUED, "state_reason", '"JobHeldUser"', '"JobHeldAdmin"', "root has held it"),
    Intended("array-waiting changed", _QUEUED, "state_reason", '"None"', _ANY, "after a change until the next pass"),
    Intended("update .*", _QUEUED, "shared", '"none"', "null", "NO stands for --exclusive alone"),
    # Documents: the accounting.
    Intended(_ANY, _ENDED, "(state.reason|priority)", _ANY, _ANY, "the present ones"),
    Intended(_ANY, _ENDED, r"exit_code\.(status|return_code)", '"(SUCCESS|PENDING)"|0|null', _ANY, "the true ones"),
    Intended(_ANY, _ENDED, r"comment\..*", "null", '".*"', "comments are kept in any case, and known at once"),
    Intended(_ANY, _ENDED, "time.start", "null", r"\+0min", "of some jobs that never ran Slurm does not tell it"),
    Intended(_ANY, _ENDED, "time.eligible", "null", r"\+0min", "tasks become eligible as jobs do"),
    Intended(_ANY, _ENDED, r"reservation\..*", _ANY, _ANY, "its name; in Slurm an address. Its number is not kept"),
    Intended("array.*", _ENDED, r"array\.limits.*", _ANY, _ANY, "of what waits, as it is now"),
    Intended(
        "(requeue|node-failure) .*",
        _ENDED,
        r"allocation_nodes|tres\.allocated.*",
        _ANY,
        _ANY,
        "a requeued job that waits has nothing",
    ),
    Intended("priority .*", _ENDED, "time.limit", "null", "60", "it is known from the submission on"),
    Intended("memory .*", _ENDED, r"tres\.requested\.mem.*", _ANY, "-", "--mem=0 asks for what there is"),
    Intended("update .*", _ENDED, "constraints", '"virt"', '""', "features that were removed are gone"),
    Intended("odd-characters .*", _ENDED, "name|working_directory", _ANY, _ANY, "Slurm's database changes them"),
    Intended(_ANY, "sacct --json step", r"CPU\..*|task\.distribution", _ANY, _ANY, "they are not known"),
    Intended(_ANY, "sacct --json step", "kill_request_user", '"USER"', "null", "who has cancelled a step is not kept"),
    Intended(_ANY, "sacct --json step", r"tres\.allocated\.mem.*", _ANY, _ANY, "a step has the memory of its job"),
    # Documents: the machine.
)
