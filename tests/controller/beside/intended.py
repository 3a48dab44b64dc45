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
_MACHINE = "sinfo|sinfo table.*|scontrol show node"
_REFUSED = "refused .*"
#: What a job and its script are in Slurm if only a step has had too much memory.
_OVER = r".*(FAILED|NonZeroExitCode|[13]:0).*|F|256|768|-"

INTENDED = (
    # The machine.
    Intended("suspend suspended", _MACHINE, _ANY, ".*", ".*", "a suspended job keeps its processors"),
    Intended("reservation .*", "scontrol show reservation", "PartitionName", "debug", r"\(null\)", "it is not kept"),
    # What is not kept of jobs.
    Intended(_ANY, "sacct", "Reason", _ANY, _ANY, "why it waits now; in Slurm why it waited last, but for resources"),
    Intended(_ANY, "sacct", "Comment", "", ".+", "comments are kept whatever AccountingStoreFlags says"),
    Intended(_ANY, "sacct", "Priority", _ANY, _ANY, "the present one; in Slurm that of the submission"),
    Intended(_ANY, "sacct step", "SubmitLine", "srun .*", "", "the command lines of steps are not kept"),
    Intended(_ANY, "sacct step", "State", "CANCELLED by UID", "CANCELLED", "who has cancelled a step is not kept"),
    Intended(_ANY, _JOBS, "Dependency|E", r"afterok:.\(failed\)", r"\(null\)", "those of ended jobs are not kept"),
    Intended("suspend resumed", _JOBS, "SuspendTime", r"\+0min", "None", "when a job was last resumed is not kept"),
    Intended("(requeue|node-failure) .*", "sacct", "Alloc.*", ".+", "0|", "a requeued job that waits has nothing"),
    # Memory is that of the whole job, whichever of its steps has had too much: its script and it have, too.
    Intended(
        "out-of-memory .*",
        f"{_JOBS}|sacct.*|ask .*",
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
    Intended("steps-exact .*", ".*step", "N?Tasks", "8", "4", "--ntasks-per-node counts more than SLURM_NTASKS"),
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
    Intended("(features|refused) .*", _REFUSED, "text", "Submitted.*|status 0", _ANY, "what can never run is refused"),
    Intended(_ANY, _REFUSED, "text", "sbatch: error: (Memory|CPU|Invalid|invalid).*", "sbatch: .*", "other words"),
    Intended(_ANY, _REFUSED, "text", ".*(time|Node count|Invalid node).*", _ANY, "it is refused earlier"),
    Intended(_ANY, _REFUSED, "text", "status 1", "sbatch: .*", "likewise, with status 255"),
    Intended("suspend .*", _REFUSED, "text", "Unexpected message.*", "Invalid job id.*", "other words"),
    Intended("update .*", _REFUSED, "text", _ANY, "Job is no longer pending.*", "another of two reasons comes first"),
)
