"""What ``sbatch``, ``srun`` and ``salloc`` say about an option that cannot be used, with the exit status of each.

Slurm 22.05 tells bad numbers from other bad values, and has its controller refuse some of the latter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rota.commands.option_error import FAILURE, USAGE, Problem
from rota.commands.slurm_messages import MESSAGES
from rota.model import Errno

if TYPE_CHECKING:
    from rota.commands.option_error import OptionError

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
    status: int = USAGE
    #: What is printed before, as it is.
    heading: str = ""
    #: What is printed on standard output.
    listed: str = ""


def refusal(command: str, error: OptionError) -> Refusal:
    """Say what is wrong with an option of a command, in Slurm's words, and in rota's if it has any."""
    if error.kind is not Problem.VALUE:
        return Refusal((_of_syntax(error),))
    if (worded := error.worded) is not None:
        lines = [line if line.startswith("fatal: ") else f"error: {line}" for line in worded.lines]
        if worded.own:
            lines.append(f"error: {error.option}: {worded.own}")
        if worded.errno is not None:
            lines.append(f"error: {FAILED[command]}: {MESSAGES[worded.errno]}")
        return Refusal(tuple(lines), worded.status, worded.heading, worded.listed)
    own = (f"error: {error.option}: {error}",) if str(error) else ()
    if (errno := BY_CONTROLLER.get(error.name)) is not None:
        return Refusal((*own, f"error: {FAILED[command]}: {MESSAGES[errno]}"), FAILURE)
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
