"""``sacct``: jobs and steps, live and ended.

Without ``-S`` jobs since midnight are listed; with ``-j`` all of them, and with ``-s`` those of now. As in Slurm, jobs
that never became eligible are listed with ``-j`` only, and ``-s`` is passed over beside ``-j`` without a time. Of a job
that was requeued only the last run is listed that is chosen, and all of them with ``-D``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.commands.forms import form_of
from rota.commands.getopt import NEEDED, OPTIONAL, Option, Parsed, UsageError, parse, table
from rota.listings.answer import Answer
from rota.listings.common import ALONE, VERBOSE, about, clock_of, is_here
from rota.listings.sacct_choice import chosen, chosen_steps, named_steps, wanted_by
from rota.listings.sacct_fields import BRIEF, DEFAULT, FIELDS, LONG, Row, Rows
from rota.listings.sacct_order import every_run, last_runs
from rota.listings.sacct_table import Lines, fields_of, help_format, put

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rota.commands.job_ids import JobId
    from rota.listings.sacct_choice import Window
    from rota.listings.view import View
    from rota.model.accounting import Accounted

_OPTIONS = table(
    "sacct",
    [
        Option("allusers", "a"),
        Option("accounts", "A", NEEDED),
        Option("allocations", "X"),
        Option("brief", "b"),
        Option("batch-script", "B", refused=True),
        Option("completion", "c", refused=True),
        Option("constraints", "C", NEEDED, refused=True),
        Option("delimiter", "", NEEDED),
        Option("duplicates", "D"),
        Option("env-vars", refused=True),
        Option("federation", ignored=ALONE),
        Option("helpformat", "e"),
        Option("help-fields", refused=True),
        Option("endtime", "E", NEEDED),
        Option("file", "f", NEEDED, refused=True),
        Option("flags", "F", NEEDED, refused=True),
        Option("gid group", "g", NEEDED),
        Option("help", "h"),
        Option("local", ignored=ALONE),
        Option("name", "", NEEDED),
        Option("nnodes", "i", NEEDED, refused=True),
        Option("ncpus", "I", NEEDED, refused=True),
        Option("jobs", "j", NEEDED),
        Option("json"),
        Option("timelimit-min", "k", NEEDED, refused=True),
        Option("timelimit-max", "K", NEEDED, refused=True),
        Option("long", "l"),
        Option("allclusters", "L", ignored="rota has one cluster"),
        Option("clusters", "M", NEEDED),
        Option("nodelist", "N", NEEDED),
        Option("noconvert"),
        Option("noheader", "n"),
        Option("format fields", "o", NEEDED),
        Option("parsable", "p"),
        Option("parsable2", "P"),
        Option("qos", "q", NEEDED),
        Option("partition", "r", NEEDED),
        Option("reason", "R", NEEDED, refused=True),
        Option("state", "s", NEEDED),
        Option("starttime", "S", NEEDED),
        Option("truncate", "T"),
        Option("units", "", NEEDED),
        Option("usage"),
        Option("use-local-uid", "U", ignored="user ids are those of this machine"),
        Option("user uid", "u", NEEDED),
        Option("verbose", "v", ignored=VERBOSE),
        Option("version", "V"),
        Option("wckeys", "W", NEEDED),
        Option("whole-hetjob", "", OPTIONAL, ignored="rota has no heterogeneous jobs"),
        Option("associations", "x", NEEDED, refused=True),
        Option("yaml"),
    ],
    hint=False,
)
_USAGE = "Usage: sacct [options]\n\tUse --help for help\n"


def sacct(argv: Sequence[str], environ: Mapping[str, str], view: View) -> Answer:
    """Evaluate a command line.

    Args:
        argv: The words after ``sacct``.
        environ: The user's environment.
        view: The cluster.

    Raises:
        UsageError: the command line is refused.
    """
    parsed = parse(argv, _OPTIONS)
    if (told := about(parsed, _USAGE)) is not None:
        return told
    if parsed.has("helpformat"):
        return Answer(help_format(FIELDS))
    if parsed.words:
        listed = "".join(f"sacct: error:  {word}\n" for word in parsed.words)
        raise UsageError(f"sacct: error: Unknown arguments:\n{listed}")
    fields = _fields(parsed, environ)
    if (form := form_of(parsed)) is not None:
        from rota.listings.openapi.document import text_of

        return Answer(text_of(_document(parsed, environ, view), form))
    if not _here(parsed, view):
        return Answer(put([(*one, _nothing) for one in fields], [], parsed))
    wanted = wanted_by(parsed, view)
    rows = _times_and_usage(parsed, wanted.window, environ, view)
    allocations = parsed.has("allocations")
    lines = Lines([(name, width, rows.text(name)) for name, width in fields], parsed)
    # A record is dropped as soon as its lines are made: tens of thousands would not stay in the processor's memory.
    in_order = every_run if parsed.has("duplicates") else last_runs
    found = in_order(
        (record, "".join(map(lines.line, _rows(record, wanted.ids, allocations=allocations))))
        for record in chosen(wanted, view)
    )
    return Answer("".join([lines.head, *found]))


def accounting(argv: Sequence[str], view: View) -> dict[str, Any]:
    """Give the document that ``sacct --json`` shows.

    Args:
        argv: The words after ``sacct``.
        view: The cluster.

    Raises:
        UsageError: the command line is refused.
    """
    return _document(parse(argv, _OPTIONS), {}, view)


def _document(parsed: Parsed, environ: Mapping[str, str], view: View) -> dict[str, Any]:
    from rota.listings.openapi.accounting import AccountingObjects
    from rota.listings.openapi.document import accounting_document

    if not _here(parsed, view):
        return accounting_document([])
    wanted, allocations = wanted_by(parsed, view), parsed.has("allocations")
    make = AccountingObjects(view, _times_and_usage(parsed, wanted.window, environ, view))
    in_order = every_run if parsed.has("duplicates") else last_runs
    jobs = in_order((one, one) for one in chosen(wanted, view))
    return accounting_document(make.job(one, chosen_steps(one, wanted.ids, allocations=allocations)) for one in jobs)


def _times_and_usage(parsed: Parsed, window: Window, environ: Mapping[str, str], view: View) -> Rows:
    return Rows(
        view,
        clock_of(view, environ),
        convert=not parsed.has("noconvert"),
        target=_units(parsed),
        truncate=(window.start, window.end) if parsed.has("truncate") else None,
        allocations=parsed.has("allocations"),
    )


def _nothing(_: object) -> str:
    return ""


# ---- what is shown of it ---------------------------------------------------------------------------------------


def _here(parsed: Parsed, view: View) -> bool:
    """Whether ``-M`` names this cluster; a cluster that is not known has no jobs."""
    given = parsed.last("clusters")
    return not given or any(is_here(name, view.config) or name.strip() == "-1" for name in given.split(","))


def _rows(record: Accounted, ids: list[JobId], *, allocations: bool) -> list[Row]:
    """Give the rows of a job: its own and, unless ``-X`` is given, those of its steps."""
    rows = [Row(record, step) for step in chosen_steps(record, ids, allocations=allocations)]
    if not ids or allocations or "" in named_steps(record, ids):
        rows.insert(0, Row(record, None))
    return rows


# ---- the format -------------------------------------------------------------------------------------------------


def _units(parsed: Parsed) -> str:
    text = parsed.last("units")
    if text is None:
        return ""
    if len(text) != 1 or text.upper() not in "KMGTP":
        raise UsageError(
            f"sacct: error: Invalid unit type '{text}'. Possible options are 'KMGTP'\nsacct: fatal: Invalid unit type\n"
        )
    return text.upper()


def _fields(parsed: Parsed, environ: Mapping[str, str]) -> list[tuple[str, int]]:
    """Give the fields of the format: name and width, negative: aligned to the left."""
    text = ",".join(parsed.all("format")) if parsed.has("format") else None
    if text is not None and parsed.has("long"):
        both = "Options -o(--format) and -l(--long) are mutually exclusive. Please remove one and retry."
        raise UsageError(f"sacct: fatal: {both}\n")
    if text is None:
        text = LONG if parsed.has("long") else BRIEF if parsed.has("brief") else environ.get("SACCT_FORMAT", DEFAULT)
    if "all" in text.lower():
        words = (word.strip() for word in text.split(","))
        text = ",".join(",".join(FIELDS) if word.partition("%")[0].lower() == "all" else word for word in words)
    return fields_of(text, FIELDS, "sacct")
