"""The environment of a batch script, as far as it is known when the job is submitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.commands.binding import memory_binding_of_job
from rota.commands.distribution import distribution_environment
from rota.commands.option_error import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.model import JobSpec

#: Variables that have the text of an option.
_OF_OPTIONS = {
    "cpus-per-gpu": "SLURM_CPUS_PER_GPU",
    "cpus-per-task": "SLURM_CPUS_PER_TASK",
    "dependency": "SLURM_JOB_DEPENDENCY",
    "gpu-bind": "SLURM_GPU_BIND",
    "gpus": "SLURM_GPUS",
    "gpus-per-node": "SLURM_GPUS_PER_NODE",
    "gpus-per-socket": "SLURM_GPUS_PER_SOCKET",
    "gpus-per-task": "SLURM_GPUS_PER_TASK",
    "hint": "SLURM_HINT",
    "ntasks-per-core": "SLURM_NTASKS_PER_CORE",
    "ntasks-per-gpu": "SLURM_NTASKS_PER_GPU",
    "ntasks-per-node": "SLURM_NTASKS_PER_NODE",
    "ntasks-per-socket": "SLURM_NTASKS_PER_SOCKET",
}
#: Those of them that are no variables of an allocation.
_OF_SCRIPTS = frozenset({"cpus-per-task", "dependency", "ntasks-per-node"})
#: Variables of a user that programs of Slurm read, and that are none of a job.
_KEPT = ("SLURM_CONF", "SLURM_TIME_FORMAT", "SLURM_CLUSTERS", "SLURM_HOSTFILE")
#: What begins the names of variables that a step has in any case: those of its job, and by which ``srun`` finds that.
_OF_STEPS = ("SLURM_", "ROTA_RUN")
_KEPT_PREFIXES = ("SLURM_EXIT_", "SLURM_DEBUG")


def script_environment(
    spec: JobSpec, texts: Mapping[str, str], environment: Mapping[str, str], submit_dir: str, host: str
) -> dict[str, str]:
    """Make the environment of a script, without what depends on its allocation.

    Variables of a job from which it is submitted do not reach it.

    Args:
        spec: The request.
        texts: The texts of its options, by long name.
        environment: The environment of ``sbatch``.
        submit_dir: The directory of ``sbatch``.
        host: The host of ``sbatch``.

    Raises:
        OptionError: ``--export`` cannot be used.
    """
    own = exported(texts.get("export", "ALL"), environment)
    found = {variable: texts[option] for option, variable in _OF_OPTIONS.items() if texts.get(option)}
    found |= _request_environment(spec, texts)
    is_whole = texts.get("export", "ALL").upper() == "ALL"
    if not is_whole and texts["export"]:
        found["SLURM_EXPORT_ENV"] = texts["export"]
    if texts.get("open-mode"):
        found["SLURM_OPEN_MODE"] = texts["open-mode"][0].lower()
    if spec.num_tasks or spec.ntasks_per_node:
        tasks = str(spec.num_tasks or max(spec.min_nodes, 1) * spec.ntasks_per_node)
        found |= {"SLURM_NTASKS": tasks, "SLURM_NPROCS": tasks}
    if spec.overcommit:
        found["SLURM_OVERCOMMIT"] = "1"
    if "get-user-env" in texts or not is_whole:  # what a login gives is added then
        found["SLURM_GET_USER_ENV"] = "1"
    found |= {"SLURM_SUBMIT_DIR": submit_dir, "SLURM_SUBMIT_HOST": host, "SLURM_PRIO_PROCESS": "0"}
    return own | found


def options_environment(spec: JobSpec, texts: Mapping[str, str]) -> dict[str, str]:
    """Give the variables of an allocation that say what was asked for.

    Args:
        spec: The request.
        texts: The texts of its options, by long name.
    """
    named = {name: variable for name, variable in _OF_OPTIONS.items() if name not in _OF_SCRIPTS}
    named["network"] = "SLURM_NETWORK"
    return {named[name]: texts[name] for name in named if texts.get(name)} | _request_environment(spec, texts)


def _request_environment(spec: JobSpec, texts: Mapping[str, str]) -> dict[str, str]:
    """Give the variables of a request for which there are several options, or several ways to write their values."""
    found = distribution_environment(texts.get("distribution", ""))
    found |= memory_binding_of_job(texts.get("mem-bind", ""))
    if texts.get("profile"):
        found["SLURM_PROFILE"] = ",".join(word.capitalize() for word in texts["profile"].split(","))
    if spec.threads_per_core:
        found["SLURM_THREADS_PER_CORE"] = str(spec.threads_per_core)
    if spec.mem_per_cpu:
        found["SLURM_MEM_PER_CPU"] = str(spec.mem_per_cpu)
    elif spec.mem_per_node > 0:
        found["SLURM_MEM_PER_NODE"] = str(spec.mem_per_node)
    elif spec.mem_per_gpu:
        found["SLURM_MEM_PER_GPU"] = str(spec.mem_per_gpu)
    return found


def exported(text: str, environment: Mapping[str, str], *, slurm: bool = False) -> dict[str, str]:
    """Choose variables by ``--export``: ``ALL``, ``NONE``, or names and settings, also after ``ALL``.

    Args:
        text: The value of the option.
        environment: The variables.
        slurm: Whether it is about a step: it has the variables of its job in any case, and nothing behind ``NONE``.

    Raises:
        OptionError: the value cannot be used.
    """
    items = _split(text)
    chosen: dict[str, str] = {}
    if slurm:
        chosen = {name: value for name, value in environment.items() if name.startswith(_OF_STEPS)}
        if items and items[0].upper() in {"NONE", "NIL"}:
            return chosen
    for item in items:
        name, equals, value = item.partition("=")
        if item.upper() == "ALL":
            chosen = {name: value for name, value in environment.items() if slurm or _is_users(name)} | chosen
        elif equals:
            if name:  # no program can have a variable without a name
                chosen[name] = value
        elif name in environment:
            chosen[name] = environment[name]
    return chosen


def _is_users(name: str) -> bool:
    return not name.startswith("SLURM") or name in _KEPT or name.startswith(_KEPT_PREFIXES)


def _split(text: str) -> list[str]:
    """Split at commas that are not within quotes; the quotes stay, as in Slurm."""
    items, item, quote = [], "", ""
    for character in text:
        if character in "'\"" and quote in {"", character}:
            quote = "" if quote else character
        if character == "," and not quote:
            items.append(item)
            item = ""
        else:
            item += character
    if quote:
        raise OptionError("--export", "a quote is not closed")
    return [one for one in [*items, item] if one]
