"""What ``sbatch``, ``srun`` and ``salloc`` say about an option that cannot be used, with the exit status of each.

Slurm 22.05 tells bad numbers from other bad values, and has its controller refuse some of the latter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rota.commands.option_error import Problem
from rota.commands.slurm_messages import MESSAGES
from rota.model import Errno

if TYPE_CHECKING:
    from rota.commands.option_error import OptionError

#: Exit status for options that cannot be used.
_USAGE = 255
_NUMBERS = frozenset({"cores-per-socket", "cpus-per-gpu", "cpus-per-task", "jobid", "mincpus", "ntasks"})
_NUMBERS |= {f"ntasks-per-{part}" for part in ("core", "gpu", "node", "socket")}
_NUMBERS |= {"kill-on-bad-exit", "msg-timeout", "relative", "sockets-per-node", "threads", "threads-per-core"}
#: Options that the controller refuses.
BY_CONTROLLER = {
    "account": Errno.INVALID_ACCOUNT,
    "array": Errno.INVALID_ARRAY,
    "constraint": Errno.INVALID_FEATURE,
    "dependency": Errno.DEPENDENCY,
    "licenses": Errno.INVALID_LICENSES,
    "partition": Errno.INVALID_PARTITION_NAME,
    "qos": Errno.INVALID_QOS,
}
#: What each command says when the controller refuses its request.
FAILED = {
    "salloc": "Job submit/allocate failed",
    "sbatch": "Batch job submission failed",
    "srun": "Unable to allocate resources",
}


class Refusal(NamedTuple):
    """Lines for standard error, without the name of the command, and the exit status."""

    lines: tuple[str, ...]
    status: int = _USAGE


def _of_frequency(value: str) -> Refusal:
    return Refusal((f"error: Invalid --acctg-freq specification: {value}",))


def _of_hint(value: str) -> Refusal:
    return Refusal((f'error: unrecognized --hint argument "{value}", see --hint=help',), 1)


def _of_memory(value: str) -> Refusal:
    return Refusal((f'error: unrecognized --mem-bind argument "{value}"',))


def _of_immediate(value: str) -> Refusal:
    return Refusal((f'error: Invalid numeric value "{value}" for immediate.',), 1)


def _of_limits(value: str) -> Refusal:
    return Refusal((f"error: Bad rlimit name: {value}", f"error: --propagate={value} is not valid."), 1)


def _of_arbitrary(_value: str) -> Refusal:
    why = "With Arbitrary distribution you need to specify a nodelist or hostfile with the -w option"
    return Refusal((f"error: {why}",), 1)


#: Options about whose values Slurm has words of its own.
_OTHERS = {
    "arbitrary": _of_arbitrary,
    "acctg-freq": _of_frequency,
    "hint": _of_hint,
    "immediate": _of_immediate,
    "mem-bind": _of_memory,
    "propagate": _of_limits,
}


def refusal(command: str, error: OptionError) -> Refusal:
    """Say what is wrong with an option of a command, first as Slurm does, and then in rota's words if it has any."""
    if error.kind is not Problem.VALUE:
        return Refusal((_of_syntax(error),))
    own = (f"error: {error.option}: {error}",) if str(error) else ()
    if error.name == "switches":  # of a wrong time Slurm says nothing
        return Refusal((f'error: Invalid numeric value "{error.value.partition("@")[0]}" for --switches.', *own), 1)
    if (lines := _OTHERS.get(error.name)) is not None and error.value:
        return lines(error.value)
    if error.name in _NUMBERS and error.value:
        return Refusal((f'error: Invalid numeric value "{error.value}" for --{error.name}.',), 1)
    if (errno := BY_CONTROLLER.get(error.name)) is not None:
        return Refusal((*own, f"error: {FAILED[command]}: {MESSAGES[errno]}"), 1)
    return Refusal((f"error: Invalid --{error.name} specification", *own))


def _of_syntax(error: OptionError) -> str:
    option = error.option
    long = option.startswith("--")
    if error.kind is Problem.UNKNOWN:
        return f"unrecognized option '{option}'" if long else f"invalid option -- '{option[1:]}'"
    if error.kind is Problem.AMBIGUOUS:
        return f"option '{option}' is ambiguous; possibilities: {error}"
    if error.kind is Problem.NO_VALUE:
        return f"option '{option}' requires an argument" if long else f"option requires an argument -- '{option[1:]}'"
    return f"option '{option}' doesn't allow an argument"
