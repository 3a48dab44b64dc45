"""The command line of ``scontrol``.

Commands and entities may be shortened and are of any case, keys of updates too. Where a command takes jobs, they are
words or lists joined by commas; ``name=NAME`` stands for all jobs of that name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.commands.assoc_mgr import AssocMgrQuery, parse_assoc_mgr
from rota.commands.forms import form_of
from rota.commands.getopt import NEEDED, Option, UsageError, parse, table
from rota.commands.job_ids import parse_job_ids
from rota.commands.partition_update import PartitionUpdate, parse_partition
from rota.commands.scontrol_update import JOB_KEYS, JobUpdate, parse_update
from rota.commands.update_reservation import NOT_UPDATED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rota.commands.forms import Form
    from rota.commands.getopt import Parsed
    from rota.commands.job_ids import JobId
    from rota.commands.node_update import NodeUpdate

_ALONE = "rota has no federation"
_OPTIONS = table(
    "scontrol",
    [
        Option("all", "a", ignored="rota has no hidden partitions"),
        Option("clusters cluster", "M", NEEDED),
        Option("details", "d"),
        Option("federation", ignored=_ALONE),
        Option("future", "F", ignored="rota has no future nodes"),
        Option("help", "h"),
        Option("hide", ignored="rota has no hidden partitions"),
        Option("json"),
        Option("local", ignored=_ALONE),
        Option("oneliner", "o"),
        Option("quiet", "Q"),
        Option("sibling", ignored=_ALONE),
        Option("uid", "u", NEEDED, refused=True),
        Option("usage"),
        Option("verbose", "v", ignored="it is for looking for errors in Slurm"),
        Option("version", "V"),
        Option("yaml"),
    ],
)
#: Commands, and how many letters are needed of each.
_COMMANDS = {
    "abort": 5, "all": 3, "cancel_reboot": 8, "cluster": 2, "completing": 3, "create": 2, "delete": 3, "details": 3,
    "errnumstr": 2, "exit": 1, "fsdampeningfactor": 3, "help": 2, "hide": 2, "hold": 3, "holdu": 4, "listpids": 1,
    "notify": 1, "oneliner": 1, "pidinfo": 3, "ping": 3, "quiet": 4, "quit": 4, "reboot": 3, "reconfigure": 3,
    "release": 3, "requeue": 3, "requeuehold": 8, "resume": 3, "setdebug": 4, "setdebugflags": 9,
    "schedloglevel": 3, "show": 3,
    "shutdown": 2, "suspend": 2, "takeover": 8, "token": 3, "top": 3, "uhold": 2, "update": 1, "verbose": 4,
    "version": 4, "wait_job": 2, "write": 2,
}  # fmt: skip
#: Entities of ``show``, and how many letters are needed of each.
ENTITIES = {
    "aliases": 1, "assoc_mgr": 2, "bbstat": 2, "burstbuffer": 2, "config": 1, "daemons": 1, "dwstat": 2,
    "federation": 1, "frontend": 2, "hostlist": 5, "hostlistsorted": 9, "hostnames": 5, "jobs": 1, "jobid": 1,
    "licenses": 2, "nodes": 1, "partitions": 1, "reservations": 1, "slurmd": 2, "steps": 2, "topology": 1,
}  # fmt: skip
#: Entities of which there are documents.
DOCUMENTED = frozenset({"jobs", "nodes", "partitions", "reservations"})
_REFUSED = frozenset(
    [
        "abort",
        "cancel_reboot",
        "completing",
        "fsdampeningfactor",
        "notify",
        "pidinfo",
        "reboot",
        "setdebug",
        "setdebugflags",
        "schedloglevel",
        "shutdown",
        "takeover",
        "token",
        "top",
    ]
)
#: Commands that only set how those after them work, of which there are none.
_SILENT = frozenset({"all", "cluster", "details", "exit", "hide", "oneliner", "quiet", "quit", "verbose"})
#: Commands that take words, and the most of them.
_ASKING = {"errnumstr": 1, "listpids": 2, "wait_job": 1, "write": 3}
_JOBS = frozenset({"hold", "holdu", "uhold", "release", "requeue", "requeuehold", "suspend", "resume"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Show:
    """``scontrol show``: an entity, as `ENTITIES` names it."""

    entity: str
    #: Which one; ``None``: all.
    name: str | None = None
    #: The filters of ``assoc_mgr``.
    assoc_mgr: AssocMgrQuery | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsRequest:
    """A command about jobs: ``hold``, ``uhold``, ``release``, ``requeue``, ``requeuehold``, ``suspend``, ``resume``."""

    command: str
    #: Jobs by id, or all of a name.
    jobs: tuple[JobId, ...] = ()
    name: str = ""
    #: ``requeue Incomplete``: only jobs that have not completed; ``requeuehold State=SpecialExit``.
    incomplete: bool = False
    special_exit: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """``scontrol create`` and ``update`` of a reservation, and ``delete`` of a reservation or partition."""

    command: str
    #: ``reservation`` or ``partition``.
    entity: str
    #: Its name; empty: not given.
    name: str = ""
    #: Words ``Key=Value`` as written.
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """Another command: ``ping``, ``version``, ``reconfigure``, ``help``, ``listpids`` …, or empty for none at all."""

    command: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scontrol:
    """A command line of ``scontrol``."""

    request: Show | JobsRequest | JobUpdate | NodeUpdate | PartitionUpdate | Change | Other
    one_line: bool = False
    detailed: bool = False
    quiet: bool = False
    #: Names of the clusters; empty: this one.
    clusters: str = ""
    #: The form of the document that ``show`` is to give; ``None``: a text.
    form: Form | None = None


def parse_scontrol(argv: Sequence[str], now: int, utc_offset: Callable[[int], int]) -> Scontrol:
    """Parse the words after ``scontrol``.

    Args:
        argv: The words.
        now: The time now, Unix seconds, for times in updates.
        utc_offset: Gives local time minus UTC in seconds, at a Unix time.

    Raises:
        UsageError: the command line is refused.
    """
    parsed = parse(argv, _OPTIONS)
    request: Show | JobsRequest | JobUpdate | NodeUpdate | PartitionUpdate | Change | Other
    if parsed.has("version"):
        request = Other(command="version")
    elif parsed.has("help") or parsed.has("usage"):
        request = Other(command="help")
    elif not parsed.words:
        request = Other(command="")
    else:
        try:
            request = _request(parsed.words, now, utc_offset)
        except UsageError as error:
            if parsed.has("quiet"):
                raise UsageError("", error.out, error.code) from None
            raise
    return Scontrol(
        request=request,
        one_line=parsed.has("oneliner"),
        detailed=parsed.has("details"),
        quiet=parsed.has("quiet"),
        clusters=parsed.last("clusters") or "",
        form=_form(parsed, request),
    )


def _form(parsed: Parsed, request: object) -> Form | None:
    form = form_of(parsed)
    if form is not None and not (isinstance(request, Show) and request.entity in DOCUMENTED):
        raise UsageError(f"scontrol: error: --{form} is only for show {', '.join(sorted(DOCUMENTED))}\n")
    return form


def find_word(text: str, known: dict[str, int]) -> str | None:
    """Find the word that a text begins; ``None``: there is none.

    Args:
        text: In any case.
        known: Words, and how many letters are needed of each. The first that fits is found.
    """
    low = text.lower()
    if low in known:
        return low
    return next((word for word, least in known.items() if len(low) >= least and word.startswith(low)), None)


def _request(
    words: Sequence[str], now: int, utc_offset: Callable[[int], int]
) -> Show | JobsRequest | JobUpdate | NodeUpdate | PartitionUpdate | Change | Other:
    given, *rest = words
    command = find_word(given, _COMMANDS)
    if command is None:
        raise UsageError(f"invalid keyword: {given}\n")
    if command in _REFUSED:
        raise UsageError(f"scontrol: error: {command} is not supported by rota\n")
    if command == "show":
        return _show(rest)
    if command in _JOBS:
        return _jobs(command, rest)
    if command == "update":
        if not rest:
            raise UsageError("too few arguments for update keyword\n")
        return _change(command, rest) if _is_of_reservation(rest) else parse_update(rest, now, utc_offset)
    if command in {"create", "delete"}:
        if not rest:
            raise UsageError(f"too few arguments for {command} keyword\n")
        change = _change(command, rest)
        is_new = command == "create" and change.entity == "partition"
        return parse_partition(rest, create=True) if is_new else change
    if command == "ping" and rest:
        raise UsageError("too many arguments for keyword:ping\n")
    if command in _ASKING:
        _check_words(command, rest)
    return Other(command="silent" if command in _SILENT else command, words=tuple(rest))


def _check_words(command: str, words: Sequence[str]) -> None:
    """Check the words of a command that asks.

    Raises:
        UsageError: there are too few or too many, or they are none that it takes.
    """
    if command == "errnumstr" and len(words) != 1:
        raise UsageError("one arguments required for keyword:errnumstr\n")
    if not words and command in {"wait_job", "write"}:
        raise UsageError(f"too few arguments for keyword:{command}\n")
    if len(words) > _ASKING[command]:
        raise UsageError(f"too many arguments for keyword:{command}\n")
    if command == "write" and words[0].lower() != "batch_script":
        known = words[0].lower() == "config"
        what = (
            "scontrol: error: write config is not supported by rota" if known else f"invalid write argument:{words[0]}"
        )
        raise UsageError(f"{what}\n")


def _show(words: Sequence[str]) -> Show:
    if not words:
        raise UsageError("too few arguments for keyword:show\n")
    entity, equals, value = words[0].partition("=")
    found = find_word(entity, ENTITIES) or next((one for one in ENTITIES if one == f"{entity.lower()}s"), None)
    if found == "assoc_mgr":
        return Show(entity=found, assoc_mgr=parse_assoc_mgr(words[1:]))
    if len(words) > 2:
        raise UsageError("too many arguments for keyword:show\n")
    if found is None:
        raise UsageError(f"invalid entity:{entity} for keyword:show \n")
    if found == "daemons" and len(words) == 2:
        raise UsageError("too many arguments for keyword:show\n")
    name = value if equals else words[1] if len(words) == 2 else None
    return Show(entity="jobs" if found == "jobid" else found, name=name)


#: What may stand before a job id.
_JOB_ID_KEY = re.compile(r"(?<![^,])jobid=", re.IGNORECASE)
#: Commands for all jobs of a name.
_BY_NAME = frozenset({"hold", "holdu", "uhold", "release"})


def _jobs(command: str, words: Sequence[str]) -> JobsRequest:
    if not words:
        raise UsageError(f"too few arguments for keyword:{command}\n")
    incomplete = special = False
    rest = list(words)
    if command == "requeue" and rest[0].lower() == "incomplete":
        incomplete, rest = True, rest[1:]
    if command == "requeuehold" and rest[0].lower().replace(" ", "") == "state=specialexit":
        special, rest = True, rest[1:]
    if not rest:
        raise UsageError(f"too few arguments for keyword:{command}\n")
    key, equals, value = rest[0].partition("=")
    if equals and key.lower() in {"name", "jobname"} and command in _BY_NAME:
        return JobsRequest(command="uhold" if command == "holdu" else command, name=value)
    also = "slurm_suspend error: Invalid job id specified\n" if command in {"hold", "holdu", "uhold", "release"} else ""

    def no_id(word: str) -> UsageError:
        return UsageError(f"Invalid job id specified for job {word}\n{also}")

    lists = [_JOB_ID_KEY.sub("", words) for words in rest]
    if wrong := next((one for one in lists if "+" in one), ""):
        raise no_id(wrong)
    found = parse_job_ids("scontrol", lists, no_id, steps=False)
    return JobsRequest(
        command="uhold" if command == "holdu" else command,
        jobs=tuple(found),
        incomplete=incomplete,
        special_exit=special,
    )


def _entity(word: str) -> str:
    """Give the entity that a word names, as ``reservation`` or ``ResName=…`` do; empty: none."""
    key = word.partition("=")[0].lower()
    return next((one for one in ("reservation", "partition") if len(key) > 2 and f"{one}name".startswith(key)), "")


def _is_of_reservation(words: Sequence[str]) -> bool:
    """Whether an update is one of a reservation, and not of a job that gets another one."""
    keys = {word.partition("=")[0].lower() for word in words}
    return not keys & JOB_KEYS and any(_entity(key) == "reservation" for key in keys)


def _change(command: str, words: Sequence[str]) -> Change:
    """Parse what ``create``, ``delete`` and an update of a reservation name."""
    found = [(word, entity) for word in words if (entity := _entity(word))]
    if command == "update":
        found = [(word, entity) for word, entity in found if entity == "reservation"]
        if not any("=" in word for word, _ in found):
            raise UsageError(f"scontrol: error: Reservation must be given.{NOT_UPDATED}\n")
    entity = found[0][1] if found else ""
    if command == "delete":
        if "=" not in words[0] and (not entity or len(words) == 1):
            raise UsageError("scontrol: error: Proper format is 'delete <ENTITY>=<ID>' or 'delete <ENTITY> <ID>'\n")
        if not entity or ("=" in words[0] and len(words) > 1):
            raise UsageError(f"Invalid deletion entity: {words[0]}\n")
        if "=" not in words[0]:
            return Change(command=command, entity=entity, name=words[1], words=tuple(words))
    if not entity:
        raise UsageError(f"scontrol: error: Invalid creation entity: {words[0]}\n")
    name = next((word.partition("=")[2] for word, one in reversed(found) if one == entity and "=" in word), "")
    return Change(command=command, entity=entity, name=name, words=tuple(words))
