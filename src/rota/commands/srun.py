"""The command line of ``srun``: the options of a step, and of the job that it starts outside of one.

Options of the command line count more than variables of the environment.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from rota.commands.allocation import immediate_seconds
from rota.commands.distribution import Distribution, read_distribution
from rota.commands.gpus import check_tasks_of_gpus
from rota.commands.option_error import OptionError, Problem
from rota.commands.option_values import not_supported, number_of, warning_of_allocation
from rota.commands.sbatch import options_of, parse_options
from rota.commands.sbatch_options import OPTIONS, SHORT, Flag, Option, in_order
from rota.commands.submission import ScriptError, check_for_one_component, check_for_oneself, check_loudness, merged
from rota.commands.unused_values import accelerator_binding, cpu_binding, number_as_text
from rota.config.hostlist import hosts_in_order
from rota.model.tres import kinds_of_gres

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rota.commands.sbatch import Options

#: Options of ``sbatch`` that ``srun`` does not have.
_NOT_OURS = frozenset({"array", "batch", "export-file", "get-user-env", "ignore-pbs", "kill-on-invalid-dep"})
_NOT_OURS |= {"no-requeue", "parsable", "requeue", "wait", "wait-all-nodes", "wrap"}
#: Options with values, with optional ones, and without.
_WITH_VALUE = "begin deadline epilog het-group mpi pack-group prolog slurmd-debug task-epilog task-prolog"
_OPTIONAL_VALUE = ("bcast", "compress", "resv-ports", "send-libs", "x11")
_FLAGS = (
    "debugger-test disable-status exact help interactive label multi-prog no-allocate overlap preserve-env pty quiet "
    "quit-on-interrupt test-only unbuffered usage verbose version whole"
)
#: The options of ``srun``, and their letters.
TABLE: dict[str, Option | Flag] = in_order(
    {
        **{name: option for name, option in OPTIONS.items() if name not in _NOT_OURS},
        **{name: Option("", str) for name in _WITH_VALUE.split()},
        **{name: Option("", str, needed=False) for name in _OPTIONAL_VALUE},
        "accel-bind": Option("", accelerator_binding),
        "bcast-exclude": Option("", not_supported),
        **dict.fromkeys(("cpu-bind", "cpu_bind"), Option("", cpu_binding)),
        "immediate": Option("", number_as_text("immediate"), needed=False),
        "kill-on-bad-exit": Option("", number_as_text("--kill-on-bad-exit"), needed=False),
        **{name: Option("", number_as_text(f"--{name}", least=1)) for name in ("jobid", "msg-timeout", "threads")},
        "signal": Option("", warning_of_allocation),
        "wait": Option("", number_as_text("--wait")),
        "relative": Option("relative", number_of("--relative", least=0)),
        **{name: Flag("") for name in _FLAGS.split()},
    }
)
LETTERS = {
    **SHORT,
    "E": "preserve-env",
    "I": "immediate",
    "K": "kill-on-bad-exit",
    "T": "threads",
    "W": "wait",
    "X": "disable-status",
    "Z": "no-allocate",
    "l": "label",
    "r": "relative",
    "u": "unbuffered",
}
#: Options that rota does not carry out.
_NOT_DONE = [
    "bcast",
    "container",
    "cpu-freq",
    "epilog",
    "gid",
    "gpu-freq",
    "het-group",
    "no-allocate",
    "preserve-env",
    "prolog",
    "reboot",
    "resv-ports",
    "send-libs",
    "task-epilog",
    "task-prolog",
    "uid",
    "x11",
]
#: Options of a step by variable. Those that a job sets are for ``srun`` within it.
_OF_STEPS = {
    "SLURM_DISTRIBUTION": "distribution",
    "SLURM_EXACT": "exact",
    "SLURM_EXPORT_ENV": "export",
    "SLURM_GPUS_PER_TASK": "gpus-per-task",
    "SLURM_GPU_BIND": "gpu-bind",
    "SLURM_HINT": "hint",
    "SLURM_KILL_BAD_EXIT": "kill-on-bad-exit",
    "SLURM_LABELIO": "label",
    "SLURM_MEM_BIND": "mem-bind",
    "SLURM_MPI_TYPE": "mpi",
    "SLURM_NNODES": "nodes",
    "SLURM_JOB_NUM_NODES": "nodes",  # which counts more, as SLURM_NTASKS does
    "SLURM_NPROCS": "ntasks",
    "SLURM_NTASKS": "ntasks",
    "SLURM_NTASKS_PER_GPU": "ntasks-per-gpu",
    "SLURM_NTASKS_PER_NODE": "ntasks-per-node",
    "SLURM_OPEN_MODE": "open-mode",
    "SLURM_OVERCOMMIT": "overcommit",
    "SLURM_OVERLAP": "overlap",
    "SLURM_STDERRMODE": "error",
    "SLURM_STDINMODE": "input",
    "SLURM_STDOUTMODE": "output",
    "SLURM_THREADS_PER_CORE": "threads-per-core",
    "SLURM_TIMELIMIT": "time",
    "SLURM_UNBUFFEREDIO": "unbuffered",
    "SLURM_WAIT": "wait",
    "SLURM_WORKING_DIR": "chdir",
    "SRUN_CPUS_PER_TASK": "cpus-per-task",
}
#: Further ones for ``srun`` that starts a job.
OF_JOBS = {
    "SLURM_ACCOUNT": "account",
    "SLURM_ACCTG_FREQ": "acctg-freq",
    "SLURM_BURST_BUFFER": "bb",
    "SLURM_CLUSTERS": "clusters",
    "SLURM_CLUSTER_CONSTRAINT": "cluster-constraint",
    "SLURM_COMPRESS": "compress",
    "SLURM_CONSTRAINT": "constraint",
    "SLURM_CORE_SPEC": "core-spec",
    "SLURM_CPUS_PER_GPU": "cpus-per-gpu",
    "SLURM_CPU_BIND": "cpu-bind",
    "SLURM_DELAY_BOOT": "delay-boot",
    "SLURM_DEPENDENCY": "dependency",
    "SLURM_EPILOG": "epilog",
    "SLURM_EXCLUSIVE": "exclusive",
    "SLURM_GPUS": "gpus",
    "SLURM_GPUS_PER_NODE": "gpus-per-node",
    "SLURM_GPUS_PER_SOCKET": "gpus-per-socket",
    "SLURM_GRES": "gres",
    "SLURM_GRES_FLAGS": "gres-flags",
    "SLURM_IMMEDIATE": "immediate",
    "SLURM_JOB_NAME": "job-name",
    "SLURM_MEM_PER_CPU": "mem-per-cpu",
    "SLURM_MEM_PER_GPU": "mem-per-gpu",
    "SLURM_MEM_PER_NODE": "mem",
    "SLURM_NCORES_PER_SOCKET": "cores-per-socket",
    "SLURM_NETWORK": "network",
    "SLURM_NO_KILL": "no-kill",
    "SLURM_NSOCKETS_PER_NODE": "sockets-per-node",
    "SLURM_PARTITION": "partition",
    "SLURM_POWER": "power",
    "SLURM_PROFILE": "profile",
    "SLURM_PROLOG": "prolog",
    "SLURM_QOS": "qos",
    "SLURM_REQ_SWITCH": "switches",
    "SLURM_RESERVATION": "reservation",
    "SLURM_RESV_PORTS": "resv-ports",
    "SLURM_SEND_LIBS": "send-libs",
    "SLURM_SIGNAL": "signal",
    "SLURM_SPREAD_JOB": "spread-job",
    "SLURM_SRUN_MULTI": "multi-prog",
    "SLURM_TASK_EPILOG": "task-epilog",
    "SLURM_TASK_PROLOG": "task-prolog",
    "SLURM_THREADS": "threads",
    "SLURM_THREAD_SPEC": "thread-spec",
    "SLURM_USE_MIN_NODES": "use-min-nodes",
    "SLURM_WAIT4SWITCH": "wait4switch",
    "SLURM_WCKEY": "wckey",
}
#: Those for ``srun`` that starts a job; this one only a job sets.
_OF_JOBS_ALONE = {**_OF_STEPS, **OF_JOBS}
del _OF_JOBS_ALONE["SLURM_NNODES"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepGres:
    """The GRES that a step asks for: numbers by kind, ``gpu``, ``gpu:a100``."""

    per_node: Mapping[str, int] = field(default_factory=dict)
    per_task: Mapping[str, int] = field(default_factory=dict)
    #: Of all its nodes together; where it asks for some of each task, too, these count.
    total: Mapping[str, int] = field(default_factory=dict)

    @property
    def kinds(self) -> set[str]:
        """All kinds of which it asks for any."""
        every = (self.per_node, self.per_task, self.total)
        return {kind for each in every for kind, number in each.items() if number}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRequest:
    """What a step asks for. Zero and empty: not given."""

    #: The program and its arguments; with ``multi_prog`` the path of a file.
    argv: tuple[str, ...]
    name: str
    num_tasks: int = 0
    cpus_per_task: int = 0
    min_nodes: int = 0
    max_nodes: int = 0
    #: Whether the number of nodes was given on the command line.
    wants_nodes: bool = False
    ntasks_per_node: int = 0
    threads_per_core: int = 0
    required_nodes: tuple[str, ...] = ()
    #: The node of each task; empty: it follows from the distribution.
    places: tuple[str, ...] = ()
    excluded_nodes: tuple[str, ...] = ()
    #: Number of nodes of the job that are skipped.
    relative: int = 0
    distribution: Distribution
    #: Whether it takes just what it asks for, instead of all processors of its nodes.
    exact: bool = False
    #: Whether it shares processors with other steps.
    overlap: bool = False
    overcommit: bool = False
    #: For how many seconds it may wait for room; 0: without a limit.
    immediate: int = 0
    #: ``None``: it asks for none by name, and gets what its job asked for.
    gres: StepGres | None = None
    ntasks_per_gpu: int = 0
    #: Memory on each node and of each processor, MiB; 0: as much as the job has.
    mem_per_node: int = 0
    mem_per_cpu: int = 0
    #: Seconds.
    time_limit: int = 0
    #: The texts of all options by long name.
    texts: Mapping[str, str]


class SrunLine(NamedTuple):
    """The command line of ``srun``, with the environment."""

    options: Options
    #: The options of the command line alone.
    given: Options

    @property
    def texts(self) -> Mapping[str, str]:
        """The texts of all options by long name."""
        return self.options.texts


def read_srun(words: Sequence[str], environment: Mapping[str, str], uid: int = 0, *, within: bool) -> SrunLine:
    """Read the words after ``srun``.

    Args:
        words: The words.
        environment: The environment of ``srun``.
        uid: User id of the user.
        within: Whether it is for a job that there is already.

    Raises:
        OptionError: an option cannot be used.
        ScriptError: the user may not use it, or it is for a heterogeneous step.
    """
    given = parse_options(words, TABLE, LETTERS)
    check_for_one_component(given.rest)
    variables = _OF_STEPS if within else _OF_JOBS_ALONE
    if (size := environment.get("SLURM_DIST_PLANESIZE")) and environment.get("SLURM_DISTRIBUTION") == "plane":
        environment = {**environment, "SLURM_DISTRIBUTION": f"plane={size}"}
    fields, texts = merged((*options_of(environment, variables, TABLE), given))
    check_for_oneself(texts, uid)
    check_loudness(texts)
    for option in _NOT_DONE:
        if option in texts:
            raise OptionError(f"--{option}", "is not supported by rota", Problem.VALUE)
    check_tasks_of_gpus(fields, texts.keys() - given.texts.keys())
    if fields.get("arbitrary") and (within or texts.get("nodelist")):  # else it is no request for a job
        _settle_places(fields, texts, given)
    return SrunLine(given._replace(fields=fields, texts=texts), given)


def contradictions(texts: Mapping[str, str]) -> list[str]:
    """Say which options of a step exclude each other, in Slurm's words.

    Args:
        texts: The texts of its options by long name.
    """
    found = []
    if "relative" in texts and {"nodelist", "exclude"} & texts.keys():
        found.append("-r,--relative not allowed with -w,--nodelist or -x,--exclude.")
    if "whole" in texts and {"exact", "exclusive"} & texts.keys():
        found.append("--exact and --whole are mutually exclusive.")
    return found


def without_odd_ntasks_per_node(options: Options) -> Options:
    """Give the options for a job of its own: without a number of tasks on each node that the step will not heed."""
    tasks, nodes = options.fields.get("num_tasks", 0), options.fields.get("nodes", (0, 0))[0]
    per_node = options.fields.get("ntasks_per_node", 0)
    if not (tasks > per_node > 0 and nodes) or tasks // min(nodes, tasks) == per_node:
        return options
    return options._replace(fields={**options.fields, "ntasks_per_node": 0})


def _settle_places(fields: dict[str, Any], texts: Mapping[str, str], given: Options) -> None:
    """Let there be a task for each node that ``--nodelist`` names."""
    names = _places(texts)
    if "ntasks" in given.texts and fields["num_tasks"] != len(names):
        asked = fields["num_tasks"]
        raise ScriptError(f"You asked for {asked} tasks but hostlist specified {len(names)} nodes")
    if not names:
        raise ScriptError("invalid number of tasks (-n 0)")
    nodes = len(set(names))
    fields |= {"num_tasks": len(names), "nodes": (nodes, nodes)}


def _places(texts: Mapping[str, str]) -> tuple[str, ...]:
    """Give the nodes of ``--nodelist``, each as often as it is named."""
    named = ",".join(texts.get("nodelist", "").split())
    return tuple(hosts_in_order(named)) if named else ()


def step_request(line: SrunLine) -> StepRequest:
    """Make the request of a step."""
    fields, texts, given = line.options.fields, line.texts, line.given.texts
    least, most = fields.get("nodes", (0, 0))
    argv = tuple(line.options.rest)
    tasks = fields.get("num_tasks", 0)
    places = _places(texts) if fields.get("arbitrary") else ()
    return StepRequest(
        argv=argv,
        name=given.get("job-name", "") or argv[0].rpartition("/")[2],
        num_tasks=tasks,
        cpus_per_task=fields.get("cpus_per_task", 0),
        min_nodes=least,
        max_nodes=most,
        wants_nodes="nodes" in given,
        ntasks_per_node=0 if places else fields.get("ntasks_per_node", 0),
        threads_per_core=fields.get("threads_per_core") or fields.get("hint", 0),
        required_nodes=fields.get("required_nodes", ()),
        places=places,
        excluded_nodes=fields.get("excluded_nodes", ()),
        relative=fields.get("relative", 0),
        distribution=read_distribution(texts.get("distribution", "")),
        exact=bool({"exact", "exclusive", "cpus-per-task"} & texts.keys()),
        overlap="overlap" in texts,
        overcommit="overcommit" in texts,
        immediate=immediate_seconds(texts),
        gres=_step_gres(fields, texts),
        ntasks_per_gpu=fields.get("ntasks_per_gpu", 0),
        mem_per_node=max(fields.get("mem_per_node", 0), 0),
        mem_per_cpu=max(fields.get("mem_per_cpu", 0), 0),
        time_limit=fields.get("time_limit") or 0,
        texts=texts,
    )


def _step_gres(fields: Mapping[str, Any], texts: Mapping[str, str]) -> StepGres | None:
    """Read what a step asks for; ``None``: nothing. GPUs of each node count more than those of tasks and of all."""
    if not {"gres", "gpus", "gpus-per-node", "gpus-per-task"} & texts.keys():
        return None
    per_node, per_task, total = (
        kinds_of_gres(fields.get(name, "")) for name in ("gpus_per_node", "gpus_per_task", "gpus")
    )
    per_node |= kinds_of_gres(fields.get("gres", ""))
    if per_node or texts.get("gres", ""):
        per_task = {}
    return StepGres(per_node=per_node, per_task=per_task, total={} if per_node else total)
