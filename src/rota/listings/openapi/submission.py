"""The properties of jobs in ``/job/submit`` and ``/job/ID``, as options of ``sbatch`` and keys of ``scontrol update``.

Values are taken as text, number or truth value, whatever the layout says, as slurmrestd does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.model import Errno, RequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

#: slurmrestd's numbers for a body that cannot be read, and for one without a job.
PARSING, NO_DESCRIPTION = 9001, 9002
#: Slurm's numbers for a job without script, and without environment.
NO_SCRIPT, NO_ENVIRONMENT = 2009, 2127
UNKNOWN_KEY = "Unknown key"

#: Options by property: those that take a value, and those that are said or not.
_OPTIONS = {
    "account": "account",
    "account_gather_frequency": "acctg-freq",
    "array": "array",
    "begin_time": "begin",
    "cluster_constraint": "cluster-constraint",
    "comment": "comment",
    "constraints": "constraint",
    "container": "container",
    "core_specification": "core-spec",
    "cores_per_socket": "cores-per-socket",
    "cpu_binding_hint": "hint",
    "cpu_frequency": "cpu-freq",
    "cpus_per_gpu": "cpus-per-gpu",
    "cpus_per_task": "cpus-per-task",
    "current_working_directory": "chdir",
    "deadline": "deadline",
    "delay_boot": "delay-boot",
    "dependency": "dependency",
    "distribution": "distribution",
    "gpu_binding": "gpu-bind",
    "gpu_frequency": "gpu-freq",
    "gpus": "gpus",
    "gpus_per_node": "gpus-per-node",
    "gpus_per_socket": "gpus-per-socket",
    "gpus_per_task": "gpus-per-task",
    "gres": "gres",
    "gres_flags": "gres-flags",
    "licenses": "licenses",
    "mail_type": "mail-type",
    "mail_user": "mail-user",
    "mcs_label": "mcs-label",
    "memory_binding": "mem-bind",
    "memory_per_cpu": "mem-per-cpu",
    "memory_per_gpu": "mem-per-gpu",
    "memory_per_node": "mem",
    "minimum_cpus_per_node": "mincpus",
    "name": "job-name",
    "nice": "nice",
    "nodelist": "nodelist",
    "open_mode": "open-mode",
    "partition": "partition",
    "prefer": "prefer",
    "priority": "priority",
    "profile": "profile",
    "qos": "qos",
    "reservation": "reservation",
    "signal": "signal",
    "sockets_per_node": "sockets-per-node",
    "standard_error": "error",
    "standard_input": "input",
    "standard_output": "output",
    "tasks": "ntasks",
    "tasks_per_core": "ntasks-per-core",
    "tasks_per_node": "ntasks-per-node",
    "tasks_per_socket": "ntasks-per-socket",
    "thread_specification": "thread-spec",
    "threads_per_core": "threads-per-core",
    "time_limit": "time",
    "time_minimum": "time-min",
    "wckey": "wckey",
}
_FLAGS = {
    "hold": "hold",
    "minimum_nodes": "use-min-nodes",
    "no_kill": "no-kill",
    "oversubscribe": "oversubscribe",
    "spread_job": "spread-job",
}
#: Keys of ``scontrol update`` by property.
_KEYS = {
    "account": "Account",
    "array": "ArrayTaskThrottle",
    "begin_time": "StartTime",
    "comment": "Comment",
    "constraints": "Features",
    "deadline": "Deadline",
    "dependency": "Dependency",
    "gres": "Gres",
    "licenses": "Licenses",
    "mail_type": "MailType",
    "mail_user": "MailUser",
    "memory_per_cpu": "MinMemoryCPU",
    "memory_per_node": "MinMemoryNode",
    "minimum_cpus_per_node": "MinCPUsNode",
    "name": "JobName",
    "nice": "Nice",
    "nodelist": "ReqNodeList",
    "nodes": "NumNodes",
    "partition": "Partition",
    "priority": "Priority",
    "qos": "QOS",
    "reservation": "Reservation",
    "standard_error": "StdErr",
    "standard_input": "StdIn",
    "standard_output": "StdOut",
    "tasks": "NumTasks",
    "time_limit": "TimeLimit",
    "time_minimum": "TimeMin",
    "wckey": "WCKey",
}
_NO = frozenset({"", "0", "false", "no"})


class PropertyError(RequestError):
    """A property that is not known, or cannot be used.

    Args:
        name: The property.
        problem: What is wrong with it.
    """

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(problem, Errno.INVALID_EVENT)
        self.name = name


def sbatch_words(properties: Mapping[str, Any]) -> list[str]:
    """Give the options of ``sbatch`` for the properties of a job; those that are ``None`` are not set.

    Raises:
        PropertyError: one is not known, or is no text, number or truth value.
    """
    words = []
    for name, value in properties.items():
        if name in {"environment", "argv"} or value is None:
            continue
        if name in _OPTIONS:
            words.append(f"--{_OPTIONS[name]}={text_of_value(name, value)}")
        elif name in _FLAGS:
            words += [f"--{_FLAGS[name]}"] if is_true(name, value) else []
        elif name == "requeue":
            words.append("--requeue" if is_true(name, value) else "--no-requeue")
        elif name == "kill_on_invalid_dependency":
            words.append(f"--kill-on-invalid-dep={'yes' if is_true(name, value) else 'no'}")
        elif name == "nodes":
            words.append(f"--nodes={_range(name, value)}")
        elif name == "exclusive":
            words += _exclusive(text_of_value(name, value))
        elif name == "get_user_environment":
            words += (
                ["--get-user-env"]
                if value is True
                else []
                if value is False
                else [f"--get-user-env={text_of_value(name, value)}"]
            )
        elif name == "wait_all_nodes":
            words.append(f"--wait-all-nodes={int(value) if isinstance(value, bool) else text_of_value(name, value)}")
        else:
            raise PropertyError(name, f'{UNKNOWN_KEY} "{name}"')
    return words


def property_of(option: str) -> str:
    """Give the property for an option of ``sbatch``; the option if there is none."""
    name = option.lstrip("-")
    return next((one for one, other in {**_OPTIONS, **_FLAGS}.items() if other == name), name)


def update_words(properties: Mapping[str, Any]) -> dict[str, str]:
    """Give the keys and values of ``scontrol update`` for properties of a job, without ``hold``.

    ``open_mode`` changes nothing, as in Slurm: clients that were generated from its OpenAPI always send it.

    Raises:
        PropertyError: one is not known or cannot be changed, or is no text, number or truth value.
    """
    words = {}
    for name, value in properties.items():
        if name in {"environment", "hold", "open_mode"} or value is None:
            continue
        if name == "requeue":
            words["Requeue"] = "1" if is_true(name, value) else "0"
        elif name == "oversubscribe":
            words["OverSubscribe"] = "yes" if is_true(name, value) else "no"
        elif name not in _KEYS:
            raise PropertyError(name, f'{UNKNOWN_KEY} "{name}"')
        else:
            words[_KEYS[name]] = _range(name, value) if name == "nodes" else text_of_value(name, value)
    return words


def is_true(name: str, value: object) -> bool:
    """Say whether a property is true."""
    return text_of_value(name, value).lower() not in _NO


def text_of_value(name: str, value: object) -> str:
    """Give a value as text.

    Raises:
        PropertyError: it is no text, number or truth value.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else str(value)
    if isinstance(value, str | int):
        return str(value)
    raise PropertyError(name, f'Unable to process key "{name}"')


def _range(name: str, value: object) -> str:
    if isinstance(value, list) and 1 <= len(value) <= 2:
        return "-".join(text_of_value(name, one) for one in value)
    return text_of_value(name, value)


def _exclusive(value: str) -> list[str]:
    if value.lower() in _NO:
        return []
    return ["--exclusive"] if value.lower() in {"true", "exclusive"} else [f"--exclusive={value}"]
