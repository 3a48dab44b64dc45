"""The command line of ``scancel``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.commands.getopt import NEEDED, Option, UsageError, parse, table
from rota.commands.job_ids import parse_job_ids
from rota.commands.signals import signal_number
from rota.config.hostlist import expand_hostlist, fold
from rota.model import JobState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rota.commands.job_ids import JobId

_OPTIONS = table(
    "scancel",
    [
        Option("account", "A", NEEDED),
        Option("batch", "b"),
        Option("ctld", ignored="all requests go through the controller"),
        Option("full", "f"),
        Option("help"),
        Option("hurry", "H", ignored="rota has no burst buffers"),
        Option("interactive", "i", refused=True),
        Option("me"),
        Option("clusters cluster", "M", NEEDED),
        Option("jobname name", "n", NEEDED),
        Option("nodelist", "w", NEEDED),
        Option("partition", "p", NEEDED),
        Option("qos", "q", NEEDED),
        Option("quiet", "Q"),
        Option("reservation", "R", NEEDED),
        Option("sibling", "", NEEDED, ignored="rota has no federation"),
        Option("signal", "s", NEEDED),
        Option("state", "t", NEEDED),
        Option("usage"),
        Option("user", "u", NEEDED),
        Option("verbose", "v"),
        Option("version", "V"),
        Option("wckey", "", NEEDED),
    ],
)
#: Options that choose jobs by something else than their ids.
_FILTERS = frozenset({"account", "jobname", "nodelist", "partition", "qos", "reservation", "state", "user", "wckey"})
#: States that may be chosen, long and short.
_STATES = {one: state for state in ("PENDING", "RUNNING", "SUSPENDED") for one in (state, JobState(state).compact)}
#: All states by either name: those that have ended match no job that could be cancelled.
_KNOWN = _STATES | {one: state.value for state in JobState for one in (state.value, state.compact)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScancelRequest:
    """What ``scancel`` is asked to do. An empty text stands for a filter that is not set."""

    #: Jobs, tasks and steps; empty: all jobs that pass the filters.
    jobs: tuple[JobId, ...] = ()
    #: Signal to send; ``None``: the jobs are cancelled.
    signal: int | None = None
    account: str = ""
    name: str = ""
    #: Job name filters are exact; nodes by name.
    nodes: tuple[str, ...] = ()
    partition: str = ""
    qos: str = ""
    reservation: str = ""
    #: Base state.
    state: str = ""
    user: str = ""
    wckey: str = ""
    #: ``-b``: only the batch script is signalled; ``-f``: the script, its children and steps, also with ``-b``.
    batch: bool = False
    full: bool = False
    #: How often ``-v`` was given; and ``-Q``: nothing is printed about jobs that have ended.
    verbose: int = 0
    quiet: bool = False
    #: Names of the clusters; empty: this one.
    clusters: str = ""
    #: Whether the command only prints its release or its usage.
    version: bool = False
    usage: bool = False

    @property
    def filters(self) -> dict[str, str]:
        """The properties that jobs must have to be meant, by Slurm's names for them."""
        found = {
            "account": self.account,
            "job_name": self.name,
            "nodelist": fold(self.nodes),
            "partition": self.partition,
            "qos": self.qos,
            "reservation": self.reservation,
            "state": self.state,
            "user_name": self.user,
            "wckey": self.wckey,
        }
        return {name: text for name, text in found.items() if text}

    @property
    def looks_first(self) -> bool:
        """Whether jobs are looked for before they are cancelled; then it is said which are not there."""
        return bool(self.filters) or self.batch or self.signal is not None


def parse_scancel(argv: Sequence[str], environ: Mapping[str, str], user: str) -> ScancelRequest:
    """Parse the words after ``scancel``.

    Args:
        argv: The words.
        environ: The user's environment, ``SCANCEL_ACCOUNT`` and so on.
        user: Name of the user who asks, for ``--me``.

    Raises:
        UsageError: the command line is refused.
    """
    parsed = parse(argv, _OPTIONS)
    given = {
        key: parsed.last(key) or environ.get(f"SCANCEL_{_VARIABLES.get(key, key).upper()}", "") for key in _FILTERS
    }
    jobs = tuple(parse_job_ids("scancel", map(_written_out, parsed.words), _no_id))
    if refused := next((one for one in jobs if not one.job_id or (one.step and not one.step.isdigit())), None):
        raise _no_id(str(refused))
    state = given["state"].upper()
    if state and state not in _KNOWN:
        raise UsageError(
            f"Invalid job state specified: {given['state']}\nValid job states are PENDING, RUNNING, and SUSPENDED\n"
        )
    if parsed.has("me"):
        given["user"] = user
    silent = parsed.has("version") or parsed.has("usage") or parsed.has("help")
    if not jobs and not any(given.values()) and not silent:
        raise UsageError("scancel: error: No job identification provided\n")
    text = parsed.last("signal")
    return ScancelRequest(
        jobs=jobs,
        signal=None if text is None else parse_signal(text),
        account=given["account"],
        name=given["jobname"],
        nodes=_nodes(given["nodelist"]),
        partition=given["partition"],
        qos=given["qos"],
        reservation=given["reservation"],
        state=_KNOWN.get(state, ""),
        user=given["user"],
        wckey=given["wckey"],
        batch=parsed.has("batch"),
        full=parsed.has("full"),
        verbose=sum(key == "verbose" for key, _ in parsed.options),
        quiet=parsed.has("quiet"),
        clusters=parsed.last("clusters") or "",
        version=parsed.has("version"),
        usage=parsed.has("usage") or parsed.has("help"),
    )


_VARIABLES = {"jobname": "name"}


def _written_out(ids: str) -> str:
    """Write out a list of ids as Slurm 22.05 reads it: the task or step of which there is only ``_`` or ``.`` is 0.

    Raises:
        UsageError: an id is empty. Named is what is left of the list from there on.
    """
    flat = _BRACKETS.sub(lambda found: "x" * len(found[0]), ids)
    if empty := re.search(r"(?:^|(?<=,))(?=,|$)", flat):
        raise _no_id(ids[empty.start() :])
    return re.sub(r"(?<=\d)[_.](?=,|$)", r"\g<0>0", ids)


_BRACKETS = re.compile(r"\[[^\]]*\]?")


def _no_id(word: str) -> UsageError:
    return UsageError(f"scancel: error: Invalid job id {word}\n")


def _nodes(text: str) -> tuple[str, ...]:
    if not text:
        return ()
    try:
        return tuple(expand_hostlist(text))
    except ValueError:
        raise UsageError(f"scancel: error: '{text}' invalid entry for --nodelist\n") from None


def parse_signal(text: str) -> int:
    """Parse a signal: a number, or its name with or without SIG.

    Raises:
        UsageError: it is none.
    """
    if re.fullmatch(r"\d{1,3}", text, re.ASCII) and int(text):
        return int(text)
    number = signal_number(text.strip())
    if number is None:
        raise UsageError(f"Unknown job signal: {text}\n")
    return number
