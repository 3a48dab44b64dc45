"""``squeue``: jobs, and with ``-s`` steps.

Without ``-t``, jobs that are pending, running, suspended or completing are listed. Jobs are sorted by partition, state
and priority, then by job id. Environment variables set what options do not: ``SQUEUE_FORMAT``, ``SQUEUE_STATES`` and so
on.

``-j`` and ``-s`` take their list attached or as the next word that is no option. Other than in Slurm they may be given
several times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rota.commands.forms import form_of
from rota.commands.getopt import NEEDED, OPTIONAL, Option, Parsed, UsageError, parse, table
from rota.listings.answer import Answer
from rota.listings.columns import parse_format, parse_named_format, sort_records
from rota.listings.columns import table as as_table
from rota.listings.common import ALONE, HIDDEN, VERBOSE, about, clock_of, cluster_heading, seconds_between, words_of
from rota.listings.job_columns import ALL_LETTERS, TASKS_SHOWN, JobColumns
from rota.listings.squeue_filters import in_partition, in_states, named, on_nodes, one_of, with_license
from rota.listings.squeue_ids import choose, parse_ids, partitions_apart, tasks_apart
from rota.listings.squeue_steps import steps_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rota.commands.forms import Form
    from rota.listings.clock import Clock
    from rota.listings.view import View
    from rota.model.lines import JobLine

_DEFAULT = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
_LONG = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R"
_START = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R"
_SORT, _SORT_START = "P,t,-p", "S"
_OPTIONS = table(
    "squeue",
    [
        Option("accounts", "A", NEEDED),
        Option("all", "a", ignored=HIDDEN),
        Option("array", "r"),
        Option("array-unique", ignored="tasks that are pending are one record already"),
        Option("Format", "O", NEEDED),
        Option("format", "o", NEEDED),
        Option("federation", ignored=ALONE),
        Option("help"),
        Option("hide", ignored=HIDDEN),
        Option("iterate", "i", NEEDED),
        Option("jobs", "j", OPTIONAL),
        Option("json"),
        Option("long", "l"),
        Option("licenses", "L", NEEDED),
        Option("local", ignored=ALONE),
        Option("clusters cluster", "M", NEEDED),
        Option("me"),
        Option("names name", "n", NEEDED),
        Option("noconvert"),
        Option("node nodes nodelist", "w", NEEDED),
        Option("noheader", "h"),
        Option("partitions", "p", NEEDED),
        Option("priority", "P"),
        Option("qos", "q", NEEDED),
        Option("reservation", "R", NEEDED),
        Option("sib sibling", ignored=ALONE),
        Option("sort", "S", NEEDED),
        Option("start"),
        Option("steps", "s", OPTIONAL),
        Option("states", "t", NEEDED),
        Option("usage"),
        Option("user users", "u", NEEDED),
        Option("verbose", "v", ignored=VERBOSE),
        Option("version", "V"),
        Option("yaml"),
    ],
)
_USAGE = """\
Usage: squeue [-A account] [--clusters names] [-i seconds] [--job jobid]
              [-n name] [-o format] [-p partitions] [--qos qos]
              [--reservation reservation] [--sort fields] [--start]
              [--step step_id] [-t states] [-u user_name] [--usage]
              [-L licenses] [-w nodes] [--federation] [--local] [--sibling]
\t      [-ahjlrsv]
"""
#: Environment variables by option.
_ENVIRON = {
    "accounts": "SQUEUE_ACCOUNT",
    "licenses": "SQUEUE_LICENSES",
    "names": "SQUEUE_NAMES",
    "partitions": "SQUEUE_PARTITION",
    "qos": "SQUEUE_QOS",
    "sort": "SQUEUE_SORT",
    "states": "SQUEUE_STATES",
    "user": "SQUEUE_USERS",
    "clusters": "SLURM_CLUSTERS",
}


class _Query(NamedTuple):
    """What is to be listed."""

    parsed: Parsed
    environ: Mapping[str, str]
    #: Values of ``-j`` and ``-s``; ``None``: not given.
    jobs: str | None
    steps: str | None

    def value(self, key: str) -> str | None:
        """Give the value of an option, or else of its environment variable."""
        given = self.parsed.last(key)
        return given if given is not None else self.environ.get(_ENVIRON[key])

    def has(self, key: str, variable: str = "") -> bool:
        """Whether an option or its environment variable is given."""
        return self.parsed.has(key) or variable in self.environ


#: What is said of a value of ``--iterate`` that cannot be used.
_ITERATE = "squeue: error: --iterate={}\n\n"


def squeue(argv: Sequence[str], environ: Mapping[str, str], view: View) -> Answer:
    """Evaluate a command line.

    Args:
        argv: The words after ``squeue``.
        environ: The user's environment.
        view: The cluster.

    Raises:
        UsageError: the command line is refused.
    """
    parsed = parse(argv, _OPTIONS)
    if (told := about(parsed, _USAGE)) is not None:
        return told
    dated = bool(seconds_between(parsed, _ITERATE))
    answer = _answer(parsed, environ, view, dated=dated)
    return answer._replace(out=f"{answer.out}\n") if dated else answer


def every(argv: Sequence[str]) -> int:
    """Give the seconds after which a command line is to be answered again; 0: once is enough.

    Raises:
        UsageError: the command line is refused.
    """
    return seconds_between(parse(argv, _OPTIONS), _ITERATE)


def _answer(parsed: Parsed, environ: Mapping[str, str], view: View, *, dated: bool) -> Answer:
    query = _with_words(parsed, environ)
    _check_formats(query)
    heading = cluster_heading("squeue", parsed, view)
    if (form := form_of(parsed)) is not None:
        return _document(query, view, form)
    clock = clock_of(view, environ)
    if (query.has("long") or dated) and not query.has("noheader"):
        heading += f"{clock.heading()}\n"
    if query.steps is not None:
        answer = steps_table(query.steps, query.jobs, parsed, view, clock)
        return answer._replace(out=heading + answer.out)
    return _jobs(query, view, clock, heading)


def check(argv: Sequence[str]) -> None:
    """Check the options of a command line without a view.

    Raises:
        UsageError: the command line is refused.
    """
    _check_formats(_with_words(parse(argv, _OPTIONS), {}))


def _with_words(parsed: Parsed, environ: Mapping[str, str]) -> _Query:
    """Give ``-j`` and ``-s`` the words that are no options; where there are too few, ``-j`` comes first."""
    words = list(parsed.words)
    lists: dict[str, list[str]] = {}
    options = [(key, value) for key, value in parsed.options if key in {"jobs", "steps"}]
    if len(words) < sum(value is None for _, value in options):
        options.sort()
    for key, value in options:
        given = words.pop(0) if value is None and words else value
        lists.setdefault(key, []).extend([] if given is None and key == "jobs" else [given or ""])
    if words:
        raise UsageError(f"squeue: error: Unrecognized option: {words[0]}\n", _USAGE)
    jobs, steps = (
        ",".join(lists[key]) if (key == "steps" and key in lists) or lists.get(key) else None
        for key in ("jobs", "steps")
    )
    return _Query(parsed, environ, jobs, steps)


def _check_formats(query: _Query) -> None:
    if query.parsed.has("format") and query.parsed.has("Format"):
        raise UsageError("squeue: error: -O (--Format) is incompatible with -o (--format)\n")
    if query.parsed.has("format") and query.parsed.has("long"):
        raise UsageError(
            "squeue: fatal: Options -o(--format) and -l(--long) are mutually exclusive. Please remove one and retry.\n"
        )
    if query.jobs and query.steps:
        raise UsageError("squeue: fatal: Printing job steps with job filter\n")


# ---- jobs -------------------------------------------------------------------------------------------------------


def _jobs(query: _Query, view: View, clock: Clock, heading: str) -> Answer:
    columns = _columns(query, view, clock)
    letters = columns.by_letter()
    named, fmt = _format(query)
    form = parse_named_format(fmt, columns.by_name()) if named else parse_format(fmt, letters)
    err = "".join(f"squeue: error: Invalid job format specification: {one}\n" for one in form.unknown)
    shown, complaint = _chosen(query, view, ended=query.jobs is not None or query.value("states") is not None)
    sort = query.value("sort") or (_SORT_START if query.has("start") else _SORT)
    header = not query.has("noheader")
    unknown = sort_records(shown, sort, letters)
    if unknown is not None:
        return Answer(
            heading + as_table(form, [], header=header),
            f"{err}{complaint}squeue: error: Invalid sort specification: {unknown[:1]}\n",
            1,
        )
    return Answer(heading + as_table(form, shown, header=header), err + complaint)


def _document(query: _Query, view: View, form: Form) -> Answer:
    """Give the jobs as a document; without ``-t`` in all states, as Slurm does."""
    from rota.listings.openapi.document import document, text_of
    from rota.listings.openapi.jobs import job_object

    shown, complaint = _chosen(query, view, ended=True)
    return Answer(text_of(document("jobs", (job_object(job, view) for job in shown)), form), complaint)


def _chosen(query: _Query, view: View, *, ended: bool) -> tuple[list[JobLine], str]:
    """Choose jobs, in the order of their ids, and give complaints.

    Args:
        query: What is to be listed.
        view: The cluster.
        ended: Whether jobs that have ended are considered.
    """
    wanted, complaint = _filters(query, view)
    everything = list(view.jobs(ended=ended))
    shown = [job for job in everything if all(one(job) for one in wanted)] if wanted else everything
    if query.jobs is not None:
        shown = choose(parse_ids(query.jobs), shown, everything)
    if query.has("array", "SQUEUE_ARRAY"):
        shown = [task for job in shown for task in tasks_apart(job)]
    if query.has("priority", "SQUEUE_PRIORITY"):
        shown = [part for job in shown for part in partitions_apart(job)]
    shown.sort(key=_by_id)
    return shown, complaint


def _columns(query: _Query, view: View, clock: Clock) -> JobColumns:
    shown = query.environ.get("SLURM_BITSTR_LEN", "")
    limit = int(shown[:6]) if shown.isascii() and shown.isdigit() else TASKS_SHOWN
    return JobColumns(view, clock, convert=not query.has("noconvert"), tasks_shown=limit or 2**20)


def _format(query: _Query) -> tuple[bool, str]:
    """Give the format, and whether it is one of ``-O``."""
    given, named = query.parsed.last("format"), query.parsed.last("Format")
    if named is not None:
        return True, named
    if given is None and not query.has("long") and not query.has("start"):
        given = query.environ.get("SQUEUE_FORMAT")
        if given is None and "SQUEUE_FORMAT2" in query.environ:
            return True, query.environ["SQUEUE_FORMAT2"]
    if given is None:
        given = _START if query.has("start") else _LONG if query.has("long") else _DEFAULT
    if "%all" in given:
        given = given.replace("%all", "|".join(f"%{one}" for one in sorted(ALL_LETTERS, key=_lower_first)))
    return False, given


def _lower_first(letter: str) -> tuple[bool, str]:
    return letter.isupper(), letter


def _by_id(job: JobLine) -> int:
    return job.job_id


# ---- filters ----------------------------------------------------------------------------------------------------


def _filters(query: _Query, view: View) -> tuple[list[Callable[[JobLine], bool]], str]:
    """Give the conditions on jobs, and complaints about values that cannot be met."""
    found: list[Callable[[JobLine], bool]] = []
    complaint = ""
    asked = "PENDING" if query.has("start") else query.value("states")
    if (asked is not None or form_of(query.parsed) is None) and (in_them := in_states(asked)) is not None:
        found.append(in_them)
    if (accounts := query.value("accounts")) is not None:
        found.append(one_of("account", words_of(accounts.lower())))
    if (names := query.value("names")) is not None:
        found.append(named(words_of(names)))
    if (partitions := query.value("partitions")) is not None:
        found.append(in_partition(words_of(partitions)))
    if (qos := query.value("qos")) is not None:
        found.append(one_of("qos", words_of(qos)))
    if (reservation := query.parsed.last("reservation")) is not None:
        found.append(lambda job: job.request.reservation == reservation)
    if (licenses := query.value("licenses")) is not None:
        found.append(with_license(words_of(licenses)))
    if (nodes := query.parsed.last("node")) is not None:
        found.append(on_nodes(nodes, view))
    users = view.user if query.has("me") else query.value("user")
    if users is not None:
        wanted = words_of(users)
        unknown = [] if query.has("me") else sorted(name for name in wanted if not view.knows_user(name))
        complaint = "".join(f"squeue: error: Invalid user: {name}\n\n" for name in unknown)
        found.append(lambda job: job.user in wanted or str(job.user_id) in wanted)
    return found, complaint
