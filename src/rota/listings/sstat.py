"""``sstat``: what the running steps of jobs use at this moment.

Of a job without a step id the step with the lowest number is shown, and with ``-a`` all of them. Only root and the
user of a job may ask. Memory, processor time and disk accesses are those of the processes that there are now, and
processor time of those that they have waited for too.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from rota.commands.getopt import NEEDED, Option, Parsed, UsageError, parse, table
from rota.config.hostlist import fold_sorted
from rota.listings.answer import Answer
from rota.listings.clock import full_duration
from rota.listings.common import VERBOSE, about
from rota.listings.sacct_table import fields_of, help_format, ids_of, put
from rota.listings.squeue_steps import Step, running_steps
from rota.listings.text import size

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rota.commands.job_ids import JobId
    from rota.listings.view import View
    from rota.model.lines import JobLine
    from rota.model.step import TaskUsage

    #: What is measured of a task; what is made of the numbers of all tasks; the least or the most of something.
    Measure = Callable[[TaskUsage], float]
    Reduce = Callable[[Sequence[float]], float]
    Choose = Callable[..., Any]
    Text = Callable[["_Row"], str]

_OPTIONS = table(
    "sstat",
    [
        Option("allsteps", "a"),
        Option("helpformat", "e"),
        Option("help", "h"),
        Option("pidformat", "i"),
        Option("jobs", "j", NEEDED),
        Option("noheader", "n"),
        Option("format fields", "o", NEEDED),
        Option("parsable", "p"),
        Option("parsable2", "P"),
        Option("noconvert"),
        Option("usage"),
        Option("verbose", "v", ignored=VERBOSE),
        Option("version", "V"),
    ],
    hint=False,
)
_USAGE = "Usage: sstat [options] -j <job(.stepid)>\n\tUse --help for help\n"
_WIDTHS = """
AveCPU 10  AveCPUFreq 10  AveDiskRead 12  AveDiskWrite 12  AvePages 10  AveRSS 10  AveVMSize 10
ConsumedEnergy 14  ConsumedEnergyRaw 17  JobID -12  MaxDiskRead 12  MaxDiskReadNode 15  MaxDiskReadTask 15
MaxDiskWrite 12  MaxDiskWriteNode 16  MaxDiskWriteTask 16  MaxPages 8  MaxPagesNode 12  MaxPagesTask 14
MaxRSS 10  MaxRSSNode 10  MaxRSSTask 10  MaxVMSize 10  MaxVMSizeNode 14  MaxVMSizeTask 14
MinCPU 10  MinCPUNode 10  MinCPUTask 10  Nodelist 20  NTasks 8  Pids 20  ReqCPUFreq 10  ReqCPUFreqMin 13
ReqCPUFreqMax 13  ReqCPUFreqGov 13  TRESUsageInAve 14  TRESUsageInMax 14  TRESUsageInMaxNode 18
TRESUsageInMaxTask 18  TRESUsageInMin 14  TRESUsageInMinNode 18  TRESUsageInMinTask 18  TRESUsageInTot 14
TRESUsageOutAve 15  TRESUsageOutMax 15  TRESUsageOutMaxNode 19  TRESUsageOutMaxTask 19  TRESUsageOutMin 15
TRESUsageOutMinNode 19  TRESUsageOutMinTask 19  TRESUsageOutTot 15
"""
#: Fields in the order of ``--helpformat``, with their widths; negative: aligned to the left.
FIELDS: dict[str, int] = dict(zip(_WIDTHS.split()[::2], map(int, _WIDTHS.split()[1::2]), strict=True))
_DEFAULT = (
    "JobID,MaxVMSize,MaxVMSizeNode,MaxVMSizeTask,AveVMSize,MaxRSS,MaxRSSNode,MaxRSSTask,AveRSS,MaxPages,MaxPagesNode,"
    "MaxPagesTask,AvePages,MinCPU,MinCPUNode,MinCPUTask,AveCPU,NTasks,AveCPUFreq,ReqCPUFreqMin,ReqCPUFreqMax,"
    "ReqCPUFreqGov,ConsumedEnergy,MaxDiskRead,MaxDiskReadNode,MaxDiskReadTask,AveDiskRead,MaxDiskWrite,"
    "MaxDiskWriteNode,MaxDiskWriteTask,AveDiskWrite,TRESUsageInAve,TRESUsageInMax,TRESUsageInMaxNode,"
    "TRESUsageInMaxTask,TRESUsageInMin,TRESUsageInMinNode,TRESUsageInMinTask,TRESUsageInTot,TRESUsageOutAve,"
    "TRESUsageOutMax,TRESUsageOutMaxNode,TRESUsageOutMaxTask,TRESUsageOutMin,TRESUsageOutMinNode,TRESUsageOutMinTask,"
    "TRESUsageOutTot"
)
_PIDS = "JobID,Nodelist,Pids"


class _Row(NamedTuple):
    """A step, and the tasks of it that are shown: with ``-i`` those of one node, else all."""

    one: Step
    tasks: tuple[TaskUsage, ...]


def sstat(argv: Sequence[str], environ: Mapping[str, str], view: View) -> Answer:  # noqa: ARG001 - none is Slurm's
    """Evaluate a command line.

    Args:
        argv: The words after ``sstat``.
        environ: The user's environment.
        view: The cluster.

    Raises:
        UsageError: the command line is refused.
    """
    parsed = parse(argv, _OPTIONS)
    if (told := about(parsed, _USAGE)) is not None:
        return told
    if parsed.has("helpformat"):
        return Answer(help_format(FIELDS))
    ids = _ids(parsed)
    text = _PIDS if parsed.has("pidformat") else parsed.last("format") or _DEFAULT
    fields = fields_of(text, FIELDS, "sstat")
    errors: list[str] = []
    known = _Known(view)
    rows = [row for wanted in ids for row in _rows(wanted, parsed, known, errors)]
    texts = _texts(convert=not parsed.has("noconvert"))
    shown = put([(name, width, texts[name]) for name, width in fields], rows, parsed)
    return Answer(shown, "".join(f"sstat: error: {error}\n" for error in errors))


# ---- which steps ------------------------------------------------------------------------------------------------


def _ids(parsed: Parsed) -> list[JobId]:
    found = ids_of("sstat", (*parsed.all("jobs"), *parsed.words[:1]))
    if not found:
        raise UsageError("sstat: error: You didn't give me any jobs to stat.\n")
    return found


class _Known:
    """What there is, by job id and by the id of the job array, so that a long list of ids does not take its square."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.jobs: defaultdict[int | None, list[JobLine]] = defaultdict(list)
        for job in view.jobs(ended=False):
            for number in {job.job_id, job.array_job_id}:
                self.jobs[number].append(job)
        self.ids = {number for job in view.jobs() for number in (job.job_id, job.array_job_id)}
        self.steps: defaultdict[int, list[Step]] = defaultdict(list)
        for one in running_steps(view):
            self.steps[one.job.job_id].append(one)


def _rows(wanted: JobId, parsed: Parsed, known: _Known, errors: list[str]) -> list[_Row]:
    """Give the rows of a job or step, and add what is wrong with it."""
    number = wanted.job_id
    task = str(wanted.tasks[0]) if wanted.tasks else None
    jobs = known.jobs.get(number, ())
    jobs = [job for job in jobs if task is None or (job.array_job_id == number and job.array_task == task)]
    if not jobs:
        is_over = number in known.ids
        errors.append(f"No steps running for job {number}" if is_over else f"couldn't get steps for job {number}")
        return []
    steps = [one for job in jobs for one in known.steps.get(job.job_id, ())]
    if not steps:
        errors.append(f"No steps running for job {number}")
        return []
    if wanted.step:
        steps = [one for one in steps if one.step.step_id == wanted.step]
        if not steps:
            errors.append(f"StepId={number}.{wanted.step} not found running.")
    elif not parsed.has("allsteps"):
        steps = [min(some, key=_number) for some in _numbered(steps).values()]
    steps.sort(key=lambda one: one.step.step_id.isdigit())  # the batch step first
    return [row for one in steps for row in _rows_of(one, parsed, known.view, errors)]


def _numbered(steps: list[Step]) -> dict[int, list[Step]]:
    """Give the steps that have a number, by job id."""
    found: dict[int, list[Step]] = {}
    for one in steps:
        if one.step.step_id.isdigit():
            found.setdefault(one.job.job_id, []).append(one)
    return found


def _number(one: Step) -> int:
    return int(one.step.step_id)


def _rows_of(one: Step, parsed: Parsed, view: View, errors: list[str]) -> list[_Row]:
    if view.user not in {"root", one.job.user}:
        name = f"{one.job.job_id}.{one.step.step_id}"
        node = one.step.nodes[0] if one.step.nodes else ""
        why = "Invalid user id"
        errors.append(f"slurm_job_step_stat: there was an error with the request to {node} rc = {why}")
        errors.append(f"problem getting step_layout for StepId={name}: {why}")
        return []
    tasks = tuple(task for task in view.tasks(one.job.job_id) if task.step_id == one.step.step_id)
    if not parsed.has("pidformat"):
        return [_Row(one, tasks)]
    nodes = dict.fromkeys(task.node for task in tasks) or dict.fromkeys(one.step.nodes)
    return [_Row(one, tuple(task for task in tasks if task.node == node)) for node in nodes]


# ---- the fields -------------------------------------------------------------------------------------------------

#: What is measured of a task, by the name of its TRES, in Slurm's order: what it takes in, and what it puts out.
_IN: dict[str, Measure] = {
    "cpu": lambda task: task.cpu_seconds,
    "energy": lambda _: 0,
    "fs/disk": lambda task: task.read_bytes,
    "mem": lambda task: task.max_rss,
    "pages": lambda task: task.pages,
    "vmem": lambda task: task.virtual,
}
_OUT: dict[str, Measure] = {"energy": lambda _: 0, "fs/disk": lambda task: task.written_bytes}
#: The part of the names of fields that are about one TRES, and where it is found.
_SINGLE = {
    "VMSize": ("vmem", _IN),
    "RSS": ("mem", _IN),
    "Pages": ("pages", _IN),
    "DiskRead": ("fs/disk", _IN),
    "DiskWrite": ("fs/disk", _OUT),
    "CPU": ("cpu", _IN),
}


def _texts(*, convert: bool) -> dict[str, Text]:
    """Give the function of each field."""

    def shown(name: str, number: float) -> str:
        if name == "cpu":
            return full_duration(int(number))
        return size(int(number), convert=convert) if name in {"mem", "vmem"} else str(int(number))

    def single(name: str, measure: Measure, reduce: Reduce) -> Text:
        return lambda row: shown(name, reduce([measure(task) for task in row.tasks] or [0]))

    def listed(measures: dict[str, Measure], reduce: Reduce) -> Text:
        each = {name: single(name, measure, reduce) for name, measure in measures.items()}
        return lambda row: ",".join(f"{name}={text(row)}" for name, text in each.items())

    def places(measures: dict[str, Measure], choose: Choose) -> tuple[Text, Text]:
        """Give the functions for the nodes and the numbers of tasks; of energy no task is known."""

        def nodes(row: _Row) -> str:
            return ",".join(f"{name}={_node(row, choose, measure)}" for name, measure in measures.items())

        def tasks(row: _Row) -> str:  # as in Slurm, that of the processor time is written as a time
            each = {name: _task(row, choose, one) for name, one in measures.items() if name != "energy"}
            return ",".join(f"{name}={shown(name, number)}" for name, number in each.items())

        return nodes, tasks

    found: dict[str, Text] = {
        "JobID": lambda row: f"{row.one.job.job_id}.{row.one.step.step_id}",
        "NTasks": lambda row: str(row.one.step.tasks),
        "Nodelist": lambda row: fold_sorted(dict.fromkeys(task.node for task in row.tasks) or row.one.step.nodes),
        "Pids": lambda row: ",".join(str(pid) for task in row.tasks for pid in task.pids),
        **dict.fromkeys(("AveCPUFreq", "ConsumedEnergy", "ConsumedEnergyRaw"), lambda _: "0"),
        **dict.fromkeys(("ReqCPUFreq", "ReqCPUFreqMin", "ReqCPUFreqMax", "ReqCPUFreqGov"), _frequency),
    }
    for field, (name, measures) in _SINGLE.items():
        end = "Min" if field == "CPU" else "Max"
        choose: Choose = min if field == "CPU" else max
        found[f"{end}{field}"] = single(name, measures[name], choose)
        found[f"{end}{field}Node"] = partial(_node, choose=choose, measure=measures[name])
        found[f"{end}{field}Task"] = partial(_task_text, choose=choose, measure=measures[name])
        found[f"Ave{field}"] = single(name, measures[name], _average)
    for way, measures in (("In", _IN), ("Out", _OUT)):
        for end, reduce in (("Ave", _average), ("Max", max), ("Min", min), ("Tot", sum)):
            found[f"TRESUsage{way}{end}"] = listed(measures, reduce)
        for end, choose in (("Max", max), ("Min", min)):
            of_nodes, of_tasks = places(measures, choose)
            found[f"TRESUsage{way}{end}Node"], found[f"TRESUsage{way}{end}Task"] = of_nodes, of_tasks
    return found


def _average(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def _chosen(row: _Row, choose: Choose, measure: Measure) -> TaskUsage | None:
    """Give the task with the least or the most; ``None``: nothing is known of any."""
    return choose(row.tasks, key=measure) if row.tasks else None


def _node(row: _Row, choose: Choose, measure: Measure) -> str:
    task = _chosen(row, choose, measure)
    return task.node if task is not None else row.one.step.nodes[0]


def _task(row: _Row, choose: Choose, measure: Measure) -> int:
    task = _chosen(row, choose, measure)
    return 0 if task is None else task.task


def _task_text(row: _Row, choose: Choose, measure: Measure) -> str:
    return str(_task(row, choose, measure))


def _frequency(row: _Row) -> str:
    return "0" if row.one.step.step_id == "batch" else "Unknown"
