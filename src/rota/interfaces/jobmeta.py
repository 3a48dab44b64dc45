"""The job-metadata plugin API: who owns a job, and what it is called, given the id that a file system recorded.

Source: the Scheduler Plugin Developer's Guide of Integrated Manager for Lustre (2017): ``FIELDS`` and ``fetch(ids)``.
A module that was written for it loads unchanged, for nothing else is required, not even identity symbols: the name of
the file is the plugin's, the variable from which Lustre takes its job ids in lower case (``slurm_job_id``).

``fetch`` gives metadata as dicts, in one of three forms:

* a mapping from id to dict, with any of the ids that were asked;
* an iterable of dicts, each with the key ``id``: in any order, any of the ids that were asked;
* an iterable of dicts without ``id``: one for each id, in the order of the ids. If there are fewer or more, nobody can
  know which belongs to which, so none is used.

A plugin that has to run a program does not run it: its ``fetch`` is a generator that yields a `Command` and is sent the
`Answer`; all else that it yields are dicts. rota runs the command without a shell, with limits of time and size, and
never two of one plugin at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from rota.interfaces.plugin import PluginApi, Symbol
from rota.model import PluginError

#: Metadata of one job, by the name of the field.
Metadata = Mapping[str, str | int | float | bool]

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence
    from xml.etree.ElementTree import Element

    #: A ``fetch`` that has programs run.
    Asking = Generator["Command | Metadata", "Answer", None]
    #: What ``fetch`` gives.
    Fetched = Mapping[str, Metadata] | Iterable[Metadata] | Asking

#: Stands in a command for a text that nobody can know beforehand, and in its answer where that text was. As a delimiter
#: it cannot be forged by whoever names a job.
SEPARATOR = "\uf8ff"
#: The fields of rota's own plugins, which may be asked for where none of them is at work. Others may have more.
USUAL_FIELDS = (
    "user", "uid", "group", "gid", "account", "name", "partition", "qos", "state", "ended", "submit", "start", "end",
    "nodes", "nodelist", "cpus", "cwd", "cluster", "host", "pid", "job", "id",
)  # fmt: skip
#: Lustre keeps 31 bytes of an id. An id that is so long may have been longer.
LONGEST_ID = 31
#: Seconds for which metadata of a job is good that may still change, if the plugin does not say.
DEFAULT_TTL = 120.0
#: The largest number of ids in one call of ``fetch``, if the plugin does not say.
DEFAULT_BATCH = 1000
#: Tags of an answer in XML: a thousand jobs of Grid Engine have a million, and each takes 140 bytes once it is read.
_MOST_TAGS = 3_000_000
#: Characters of an answer that are shown to say that it cannot be read.
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Command:
    """A program to run."""

    #: The program, looked up in PATH, and its arguments. Ids may be among them only if the plugin has ``matches``.
    argv: Sequence[str]
    #: Exit statuses that are no failure; 127: neither is it that there is no such program. Another one is reported if
    #: ids are left without an answer.
    ok: Sequence[int] = (0,)
    #: Variables that are added to the environment.
    env: Mapping[str, str] = field(default_factory=dict)
    #: Seconds for which its answer is given again instead, as of a command that lists a whole queue.
    lasts: float = 0.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a program printed.

    If it could not be started (status 127), took too long (124) or printed too much (125), the text is what came until
    then, without the last line if that is not whole.
    """

    stdout: str
    stderr: str = ""
    returncode: int = 0


class LookupFailedError(PluginError):
    """A plugin raises it if its scheduler cannot be asked, or answers what cannot be read. Its text is for people."""


def known(**fields: object) -> dict[str, Any]:
    """Make a dict of the fields that are known: neither ``None`` nor empty."""
    return {name: value for name, value in fields.items() if value is not None and value != ""}


def whole_lines(text: str) -> list[str]:
    """Give the lines of what a command has printed, without a last one that has no end: it was cut off."""
    return text[: text.rfind("\n") + 1].splitlines()


def unreadable(program: str, text: str) -> LookupFailedError:
    """Make the error for an answer that is no empty one, and of which nothing can be read."""
    return LookupFailedError(f"{program} printed what cannot be read: {text.strip()[:_SHOWN]!r}")


def read_xml(program: str, text: str) -> Element:
    """Read XML as it comes from elsewhere: without definitions, and no more than an answer about a batch of jobs has.

    Raises:
        LookupFailedError: it cannot be read.
    """
    from xml.etree.ElementTree import ParseError

    from defusedxml.ElementTree import fromstring

    if text.count("<") > _MOST_TAGS:
        raise LookupFailedError(f"{program} printed XML of more than {_MOST_TAGS:,} tags")
    try:
        root: Element = fromstring(text, forbid_dtd=True)
    except (ParseError, ValueError) as exc:
        raise LookupFailedError(f"{program} printed XML that cannot be read: {exc}") from None
    return root


class JobmetaPlugin(Protocol):
    """A plugin of type ``jobmeta/*``. Only ``fetch`` is required."""

    #: Names of the fields of which it gives metadata. Without it, any are expected.
    FIELDS: tuple[str, ...]
    #: Seconds for which metadata of a job that has not ended is good.
    TTL: float
    #: The largest number of ids in one call.
    BATCH: int
    #: The programs that it runs. It is not chosen by the form of an id alone where none of them is on PATH.
    COMMANDS: tuple[str, ...]

    def fetch(self, ids: Sequence[str]) -> Fetched:
        """Look up jobs; see the top of this module.

        Args:
            ids: Ids without duplicates, each normalized and one that ``matches``.
        """

    def matches(self, job_id: str) -> bool:
        """Whether an id has the form of this scheduler's. Only such ids are asked of it."""

    def normalize(self, job_id: str) -> str:
        """Give the id as the scheduler writes it. Ids in the answers are normalized, too."""

    def parse(self, text: str) -> Iterable[Metadata]:
        """Give the metadata in a text that one of the scheduler's commands has printed, each with its ``id``."""

    def find(self, text: str, ids: Sequence[str]) -> Iterable[Metadata]:
        """Give what such a text has of some ids, each that ``matches``, with ``id`` as it was asked."""

    def use_format(self, jobid_name: str) -> None:
        """Take note of the format from which Lustre makes the ids of processes without a job, such as ``%e.%u``."""


def jobmeta_problems(container: object) -> list[str]:
    """Say what is wrong with the values of a job-metadata plugin."""
    problems = []
    for name in ("FIELDS", "COMMANDS"):
        value: Any = getattr(container, name, ())
        if isinstance(value, str) or not isinstance(value, list | tuple) or not all(isinstance(x, str) for x in value):
            problems.append(f'{name} is {value!r}: expected a tuple of names, such as ("name", "user")')
    for name, default in (("TTL", DEFAULT_TTL), ("BATCH", DEFAULT_BATCH)):
        value = getattr(container, name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            problems.append(f"{name} is {value!r}: expected a number above 0")
    return problems


JOBMETA_API = PluginApi(
    major="jobmeta",
    symbols=(
        Symbol("fetch", ("ids",), generator=True),
        Symbol("matches", ("job_id",), optional=True),
        Symbol("normalize", ("job_id",), optional=True),
        Symbol("parse", ("text",), optional=True, generator=True),
        Symbol("find", ("text", "ids"), optional=True, generator=True),
        Symbol("use_format", ("jobid_name",), optional=True),
    ),
    identity_optional=True,
    problems=jobmeta_problems,
)
