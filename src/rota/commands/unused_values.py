"""Values of options that do nothing here, which Slurm's commands check nevertheless, and what they say about some.

Each reader gives the text as it is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rota.commands.option_error import FAILURE, WordedError
from rota.commands.option_values import node_counts, number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

#: A kind of measurement with seconds; seconds alone are those of tasks. What follows the digits is of no account.
_FREQUENCY = re.compile(r"\s*\+?\d|(?:task|energy|network|filesystem)=\d", re.IGNORECASE | re.ASCII)
_RLIMITS = frozenset(["AS", "CORE", "CPU", "DATA", "FSIZE", "MEMLOCK", "NOFILE", "NPROC", "RSS", "STACK"])
#: Words of ``--mem-bind`` and ``--cpu-bind``.
_MEMORY = frozenset(["q", "quiet", "v", "verbose", "no", "none", "rank", "local", "sort", "nosort", "p", "prefer"])
_CPUS = frozenset(["q", "quiet", "v", "verbose", "no", "none", "rank", "rank_ldom", "one_thread"])
_CPUS |= {"socket", "sockets", "core", "cores", "thread", "threads", "ldom", "ldoms"}
_LOGIN = re.compile(r"\s*[+-]?\d*[SL]?", re.IGNORECASE | re.ASCII)
#: Words of ``--profile``.
_PROFILES = frozenset(["none", "all", "energy", "task", "lustre", "network"])
_COMPRESSION = frozenset(["", "none", "lz4"])
#: Resources that Slurm takes from jobs, unless they may ask for it: the option that it names, and that which was given.
_SPARED = {"core-spec": "-S", "thread-spec": "--thread-spec"}


def measuring(text: str) -> str:
    """Check ``--acctg-freq``: ``30``, ``task=30,energy=60``."""
    if wrong := [word for word in text.split(",") if word and not _FREQUENCY.match(word)]:
        raise WordedError(*(f"Invalid --acctg-freq specification: {word}" for word in wrong))
    return text


def no_kill(text: str) -> str:
    """Check ``--no-kill``: nothing, or ``off`` and ``no`` that take it back."""
    if text.lower() not in {"", "set", "off", "no"}:
        raise ValueError
    return text


def profiles(text: str) -> str:
    """Check ``--profile``: one word that is known is enough."""
    if _PROFILES.isdisjoint(text.lower().split(",")):
        raise WordedError(f"invalid --profile={text} option")
    return text


def resource_limits(text: str) -> str:
    """Check ``--propagate``: ``ALL``, ``NONE``, or names of limits in capitals, with or without ``RLIMIT_``."""
    if text not in {"ALL", "NONE"}:
        for word in filter(None, re.split(r"[,\s]", text)):
            if (name := word.removeprefix("RLIMIT_")) not in _RLIMITS:
                wrong = f"--propagate={text} is not valid."
                raise WordedError(f"Bad rlimit name: {name}", wrong, status=FAILURE)
    return text


def memory_binding(text: str) -> str:
    """Check ``--mem-bind``: what is done, and ``quiet`` or ``verbose``, joined by commas or semicolons."""
    if "help" in re.split("[,;]", text.lower()):
        words = ", ".join(sorted(_MEMORY))
        raise WordedError(listed=f"--mem-bind is checked, but not carried out: {words}, map_mem:LIST, mask_mem:LIST\n")
    if problem := _binding_problem("--mem-bind", text, _MEMORY, ["mem"]):
        raise WordedError(problem)
    return text


def cpu_binding(text: str) -> str:
    """Check ``--cpu-bind``, as `memory_binding` does."""
    if "help" in re.split("[,;]", text.lower()):
        listed = "CPU bind options not supported with current configuration\n"
        raise WordedError(listed=listed, status=FAILURE)
    if problem := _binding_problem("--cpu-bind", text, _CPUS, ["cpu", "ldom"]):
        raise WordedError(problem, "fatal: Failed to parse --cpu-bind= values.", status=FAILURE)
    return text


def _binding_problem(option: str, text: str, words: Iterable[str], kinds: Iterable[str]) -> str:
    """Say what is wrong with how tasks are to be bound; empty: nothing."""
    listed = "|".join(f"(?:map|mask)_?{kind}" for kind in kinds)
    # Commas join the numbers of a list, too.
    for word in re.split(r"[,;](?![\d,])", text):
        match = re.fullmatch(rf"({listed})(?:([:=])(.*))?", word, re.IGNORECASE)
        if match is None and word.lower() not in words:
            return f'unrecognized {option} argument "{word}"'
        if match is not None and not match[3]:
            return f'missing list for "{option}={match[1]}:<list>"'
        if match is not None and (wrong := _wrong_number(match[3], hexadecimal=match[1].lower().startswith("mask"))):
            return wrong
    return ""


def _wrong_number(text: str, *, hexadecimal: bool) -> str:
    known = r"(?:0x)?[\da-f]*" if hexadecimal else r"\d*"
    for number in text.split(","):
        plain = number.partition("*")[0]
        found = re.match(known, plain, re.IGNORECASE | re.ASCII)
        if found is not None and found.end() < len(plain):
            return f"Failed to validate number: {plain}, the offending character is {plain[found.end()]}"
    return ""


def accelerator_binding(text: str) -> str:
    """Check ``--accel-bind``: one of its letters is enough."""
    if not set(text) & set("gnv"):
        raise ValueError
    return text


def login_environment(text: str) -> str:
    """Check ``--get-user-env``: seconds, and ``S`` or ``L``."""
    if not _LOGIN.fullmatch(text):
        raise ValueError
    return text


def all_nodes(text: str) -> str:
    """Check ``--wait-all-nodes``: 0 or 1."""
    if number_of("--wait-all-nodes", least=0)(text) > 1:
        raise ValueError
    return text


def number_as_text(what: str, *, least: int = 0) -> Callable[[str], str]:
    """Give a reader of a number that is not used."""
    number = number_of(what, least=least)

    def read(text: str) -> str:
        number(text)
        return text

    return read


def notes(texts: Mapping[str, str]) -> list[str]:
    """Give the lines in which Slurm says that it does not heed an option; see `rota.commands.refusals.Refusal`."""
    found = [
        f"error: Ignoring {named} since it's not allowed by configuration (AllowSpecResourcesUsage = No)"
        for option, named in _SPARED.items()
        if option in texts
    ]
    levels = [one for one in texts.get("power", "").split(",") if one and one.lower() != "level"]
    found += 2 * [f"error: Ignoring unrecognized power option ({one})" for one in levels]
    library = texts.get("compress", "")
    if library.lower() not in _COMPRESSION:
        found.append(f"error: Compression type '{library}' unknown, disabling compression support.")
    return found


def fewer_nodes(texts: Mapping[str, str]) -> list[str]:
    """Give the line in which Slurm says that a job has no more nodes than tasks."""
    if not texts.get("nodes") or not texts.get("ntasks"):
        return []
    nodes, tasks = node_counts(texts["nodes"])[0], number_of("--ntasks")(texts["ntasks"])
    return [f"Warning: can't run {tasks} processes on {nodes} nodes, setting nnodes to {tasks}"] * (nodes > tasks)
