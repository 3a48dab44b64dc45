"""The options of ``sbatch`` that rota supports: a table of the field that each sets and how its value is parsed.

Options that Slurm 22.05 takes and rota cannot replay are errors, as are those that Slurm refuses. Options in
`_NO_MEANING` have no influence on when and where a job runs and are ignored. ``--begin`` and ``--deadline`` have to be
``now+COUNT[UNIT]``, since other times have no meaning in a replay.

An empty value of an option whose reader here takes one means what it means without the option, as in Slurm.

``--exclusive=user`` and ``=mcs`` allow some jobs to share a node in Slurm; here they are ``--exclusive``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from rota.commands import option_values as read
from rota.commands import unused_values as unused
from rota.commands.gpu_binding import check_gpu_binding

if TYPE_CHECKING:
    from collections.abc import Callable


class Option(NamedTuple):
    """An option with a value: the field that it sets, and the function that parses the value."""

    target: str
    read: Callable[[str], Any]
    #: Whether a value is required. If not, it can be given as ``--name=VALUE`` and ``-nVALUE`` only, and the empty text
    #: is parsed without it.
    needed: bool = True


class Flag(NamedTuple):
    """An option without a value: the field that it sets, and to what."""

    target: str
    value: bool | str = True


#: Options by long name. `rota.commands.sbatch.parse_request` evaluates the fields that `JobSpec` does not have. A value
#: that is a dictionary sets several fields.
OPTIONS: dict[str, Option | Flag] = {
    "account": Option("account", read.lower_case),
    "array": Option("array", read.array),
    "begin": Option("begin_time", read.moment),
    "constraint": Option("constraint", read.features),
    "contiguous": Flag("contiguous"),
    "cores-per-socket": Option("cores_per_socket", read.number_of("--cores-per-socket")),
    "cpus-per-task": Option("cpus_per_task", read.number_of("--cpus-per-task")),
    "cpus-per-gpu": Option("cpus_per_gpu", read.number_of("--cpus-per-gpu")),
    "deadline": Option("deadline", read.later),
    "dependency": Option("dependency", read.dependency),
    "distribution": Option("plane_size", read.distribution),
    "exclude": Option("excluded_nodes", read.hosts),
    "exclusive": Option("sharing", read.exclusive, needed=False),
    "extra-node-info": Option("extra_node_info", read.node_shape),
    "gpus": Option("gpus", read.gpus),
    "gpus-per-node": Option("gpus_per_node", read.gpus),
    "gpus-per-socket": Option("gpus_per_socket", read.gpus),
    "gpus-per-task": Option("gpus_per_task", read.gpus),
    "gres": Option("gres", read.gres),
    "gres-flags": Option("enforces_binding", read.enforces_binding),
    "hint": Option("hint", read.hint),
    "hold": Flag("hold"),
    "job-name": Option("name", str),
    "kill-on-invalid-dep": Option("kill_on_invalid_dep", read.yes_or_no),
    "licenses": Option("licenses", read.licenses),
    "mem": Option("mem_per_node", read.mebibytes),
    "mem-per-cpu": Option("mem_per_cpu", read.mebibytes),
    "mem-per-gpu": Option("mem_per_gpu", read.mebibytes),
    "mincpus": Option("min_cpus_per_node", read.number_of("--mincpus")),
    "nice": Option("nice", read.nice, needed=False),
    "no-requeue": Flag("requeue", value=False),
    "nodelist": Option("required_nodes", read.hosts),
    "nodes": Option("nodes", read.node_counts),
    "ntasks": Option("num_tasks", read.number_of("--ntasks")),
    "ntasks-per-core": Option("ntasks_per_core", read.number_of("--ntasks-per-core")),
    "ntasks-per-gpu": Option("ntasks_per_gpu", read.number_of("--ntasks-per-gpu")),
    "ntasks-per-node": Option("ntasks_per_node", read.number_of("--ntasks-per-node")),
    "ntasks-per-tres": Option("ntasks_per_gpu", read.number_of("--ntasks-per-tres")),
    "ntasks-per-socket": Option("ntasks_per_socket", read.number_of("--ntasks-per-socket")),
    "overcommit": Flag("overcommit"),
    "oversubscribe": Flag("sharing", "oversubscribe"),
    "partition": Option("partition", read.partitions),
    "prefer": Option("prefer", read.preferred_features),
    "priority": Option("priority", read.priority),
    "qos": Option("qos", read.lower_case),
    "requeue": Flag("requeue"),
    "reservation": Option("reservation", str),
    "sockets-per-node": Option("sockets_per_node", read.number_of("--sockets-per-node")),
    "spread-job": Flag("spread"),
    "switches": Option("switches", read.switches),
    "tasks-per-node": Option("ntasks_per_node", read.number_of("--ntasks-per-node")),
    "threads-per-core": Option("threads_per_core", read.number_of("--threads-per-core")),
    "time": Option("time_limit", read.minutes),
    "time-min": Option("time_min", read.shortest),
    "uid": Option("user", read.some_text),
    "use-min-nodes": Flag("use_min_nodes"),
}
#: What only variables of the environment set.
OF_VARIABLES = {"wait4switch": Option("switch_wait", read.switch_wait)}
#: Options about output, mail, environment and hardware settings.
_NO_MEANING = (
    "chdir cluster clusters comment container context cpu-freq error export export-file gid gpu-freq "
    "input mail-type mail-user mcs-label network output power wckey wrap"
)
OPTIONS.update((name, Option("", str)) for name in _NO_MEANING.split())
OPTIONS["no-kill"] = Option("", unused.no_kill, needed=False)
OPTIONS["propagate"] = Option("", unused.resource_limits, needed=False)
OPTIONS["acctg-freq"] = Option("", unused.measuring)
OPTIONS["cluster-constraint"] = Option("", str)  # for the clusters of a federation
OPTIONS["profile"] = Option("", unused.profiles)
OPTIONS["core-spec"] = Option("", unused.number_as_text("--core-spec"))
OPTIONS["delay-boot"] = Option("", read.boot_delay)
OPTIONS["get-user-env"] = Option("", unused.login_environment, needed=False)
OPTIONS["gpu-bind"] = Option("", check_gpu_binding)
OPTIONS["mem-bind"] = Option("", unused.memory_binding)
OPTIONS["open-mode"] = Option("", read.open_mode)
OPTIONS["signal"] = Option("", read.warning)
OPTIONS["thread-spec"] = Option("", unused.number_as_text("--thread-spec", least=1))
OPTIONS["wait-all-nodes"] = Option("", unused.all_nodes)
OPTIONS.update(
    (name, Flag("")) for name in ["ignore-pbs", "parsable", "quiet", "reboot", "test-only", "verbose", "wait"]
)
OPTIONS.update((name, Option("", read.not_supported)) for name in ["batch", "bb", "bbf", "nodefile", "tmp"])
#: Second names of options.
ALIASES = {
    "cluster": "clusters",
    "cpu_bind": "cpu-bind",
    "pack-group": "het-group",
    "tasks-per-node": "ntasks-per-node",
}
#: The options of Slurm's three commands in its order: in which those are listed for which an abbreviation could stand.
_ORDER = """
accel-bind account acctg-freq array bcast batch bcast-exclude begin bell bb bbf cluster-constraint chdir cluster
clusters comment compress container context contiguous constraint core-spec cores-per-socket cpu-bind cpu_bind
cpu-freq cpus-per-gpu cpus-per-task deadline debugger-test delay-boot dependency disable-status distribution epilog
error exact exclude exclusive export export-file extra-node-info get-user-env gid gpu-bind gpu-freq gpus gpus-per-node
gpus-per-socket gpus-per-task gres gres-flags help het-group hint hold ignore-pbs immediate input interactive jobid
job-name kill-on-invalid-dep kill-command kill-on-bad-exit label licenses mail-type mail-user threads mcs-label mem
mem-bind mem-per-cpu mem-per-gpu mincpus mpi msg-timeout multi-prog network nice no-bell no-allocate no-kill
no-requeue no-shell nodefile nodelist nodes ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket
ntasks-per-tres open-mode output overcommit overlap oversubscribe parsable pack-group partition power prefer
preserve-env priority profile prolog propagate pty qos quiet quit-on-interrupt reboot requeue relative reservation
resv-ports send-libs signal slurmd-debug sockets-per-node spread-job switches task-epilog task-prolog tasks-per-node
test-only thread-spec threads-per-core time time-min tmp uid unbuffered use-min-nodes verbose version usage wait
wait-all-nodes wckey wrap whole x11
"""
_PLACES = {name: place for place, name in enumerate(_ORDER.split())}


def in_order(table: dict[str, Option | Flag]) -> dict[str, Option | Flag]:
    """Put the options of a command into Slurm's order."""
    return dict(sorted(table.items(), key=lambda item: _PLACES[item[0]]))


SHORT = {
    "A": "account",
    "B": "extra-node-info",
    "C": "constraint",
    "D": "chdir",
    "F": "nodefile",
    "G": "gpus",
    "H": "hold",
    "J": "job-name",
    "L": "licenses",
    "M": "clusters",
    "N": "nodes",
    "O": "overcommit",
    "Q": "quiet",
    "S": "core-spec",
    "V": "version",
    "W": "wait",
    "a": "array",
    "b": "begin",
    "d": "dependency",
    "c": "cpus-per-task",
    "e": "error",
    "h": "help",
    "i": "input",
    "k": "no-kill",
    "m": "distribution",
    "n": "ntasks",
    "o": "output",
    "p": "partition",
    "q": "qos",
    "s": "oversubscribe",
    "t": "time",
    "v": "verbose",
    "w": "nodelist",
    "x": "exclude",
}
