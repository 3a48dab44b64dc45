"""``sprio``: the factors of pending jobs' priorities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.commands.getopt import NEEDED, OPTIONAL, Option, Parsed, UsageError, parse, table
from rota.commands.job_ids import parse_job_ids
from rota.listings.answer import Answer
from rota.listings.columns import Column, parse_format, sort_records
from rota.listings.columns import table as as_table
from rota.listings.common import ALONE, VERBOSE, about, cluster_heading, words_of
from rota.model import MAX_PRIORITY, PriorityFactors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rota.listings.view import View
    from rota.model import PriorityWeights

#: Letters of the weighted and the normalised factor, heading, and attributes of the weight and the weighted factor.
_FACTORS = (
    ("A", "a", "AGE", "age", "priority_age"),
    ("B", "b", "ASSOC", "assoc", "priority_assoc"),
    ("F", "f", "FAIRSHARE", "fairshare", "priority_fs"),
    ("J", "j", "JOBSIZE", "job_size", "priority_js"),
    ("P", "p", "PARTITION", "partition", "priority_part"),
    ("Q", "q", "QOS", "qos", "priority_qos"),
)
_OPTIONS = table(
    "sprio",
    [
        Option("noheader", "h"),
        Option("help"),
        Option("federation", ignored=ALONE),
        Option("jobs", "j", OPTIONAL),
        Option("long", "l"),
        Option("local", ignored=ALONE),
        Option("clusters cluster", "M", NEEDED),
        Option("norm", "n"),
        Option("format", "o", NEEDED),
        Option("sort", "S", NEEDED),
        Option("sibling", ignored=ALONE),
        Option("partition", "p", NEEDED),
        Option("user users", "u", NEEDED),
        Option("usage"),
        Option("verbose", "v", ignored=VERBOSE),
        Option("version", "V"),
        Option("weights", "w"),
    ],
)
_USAGE = "Usage: sprio [-j jid[s]] [-u user_name[s]] [-o format] [-p partitions] [--usage] [-hlnVw]\n"


def sprio(argv: Sequence[str], environ: Mapping[str, str], view: View) -> Answer:
    """Evaluate a command line.

    Args:
        argv: The words after ``sprio``.
        environ: The user's environment.
        view: The cluster.

    Raises:
        UsageError: the command line is refused.
    """
    parsed, ids = check(argv)
    if (told := about(parsed, _USAGE)) is not None:
        return told
    if strangers := sorted(name for name in words_of(parsed.last("user")) if not view.knows_user(name)):
        return Answer(err="".join(f"sprio: error: Invalid user: {name}\n\n" for name in strangers))
    heading = cluster_heading("sprio", parsed, view)
    weights = view.priority_conf.weights
    columns = _weight_columns(weights) if parsed.has("weights") else _columns(weights)
    users, partitions = words_of(parsed.last("user")), words_of(parsed.last("partition"))
    long = parsed.has("long")
    fmt = parsed.last("format") or environ.get("SPRIO_FORMAT") if not long else parsed.last("format")
    form = parse_format(
        fmt or _default_format(weights, long=long, norm=parsed.has("norm"), with_user=bool(users) or long), columns
    )
    err = "".join(f"sprio: error: Invalid job format specification: {one}\n" for one in form.unknown)
    chosen = [
        one
        for one in view.factors()
        if (not parsed.has("jobs") or one.job_id in ids) and (not users or {one.user, str(one.user_id)} & users)
    ]
    if not chosen and (parsed.has("jobs") or users):
        return Answer(f"{heading}Unable to find jobs matching user/id(s) specified\n")
    shown = [one for one in chosen if not partitions or one.partition in partitions]
    shown.sort(key=lambda one: one.job_id)
    unknown = None
    if parsed.has("weights"):
        shown = [PriorityFactors(job_id=0, user_id=0, priority=0)]
    elif sort := parsed.last("sort"):
        unknown = sort_records(shown, sort, columns)
    text = heading + as_table(form, [] if unknown is not None else shown, header=not parsed.has("noheader"))
    if unknown is not None:
        return Answer(text, f"{err}sprio: error: Invalid sort specification: {unknown[:1]}\n", 1)
    return Answer(text, err)


def check(argv: Sequence[str]) -> tuple[Parsed, frozenset[int]]:
    """Parse a command line; give it with the job ids that it names.

    Raises:
        UsageError: the command line is refused.
    """
    parsed = parse(argv, _OPTIONS)
    words = list(parsed.words)
    texts = [words.pop(0) if value is None and words else value or "" for key, value in parsed.options if key == "jobs"]
    if words:
        raise UsageError(f"sprio: error: Unrecognized option: {words[0]}\n", _USAGE)
    found = parse_job_ids("sprio", ["".join(text.split()) for text in texts], _no_id, steps=False)
    return parsed, frozenset(one.job_id for one in found)


def _no_id(word: str) -> UsageError:
    return UsageError(f"sprio: error: Invalid job id: {word}\n")


def _default_format(weights: PriorityWeights, *, long: bool, norm: bool, with_user: bool) -> str:
    words = ["%.15i %9r", *(["%.8u"] if with_user else []), "%10y" if norm else "%.10Y %.10S"]
    for weighted, normalised, _, weight, _ in _FACTORS:
        if getattr(weights, weight) or (long and not norm):
            words.append(f"%10{normalised}" if norm else f"%.10{weighted}")
    if long and not norm:
        words.append("%.11N")
    if weights.tres or (long and not norm):
        words.append("%20t" if norm else "%.20T")
    return " ".join(words)


def _columns(weights: PriorityWeights) -> dict[str, Column[PriorityFactors]]:
    columns: dict[str, Column[PriorityFactors]] = {
        "c": Column("CLUSTER", lambda _: "(null)"),
        "i": Column("JOBID", lambda one: str(one.job_id), lambda one: one.job_id),
        "n": Column("NICE", lambda one: str(one.nice), lambda one: one.nice),
        "N": Column("NICE", lambda one: str(one.nice), lambda one: one.nice),
        "o": Column("ACCOUNT", lambda one: one.account),
        "r": Column("PARTITION", lambda one: one.partition),
        "S": Column("SITE", lambda one: str(one.priority_site), lambda one: one.priority_site),
        "t": Column("TRES", lambda one: _tres(one, weights, norm=True)),
        "T": Column("TRES", lambda one: _tres(one, weights, norm=False)),
        "u": Column("USER", lambda one: one.user),
        "y": Column("PRIORITY", _normalised_priority, lambda one: one.priority),
        "Y": Column("PRIORITY", lambda one: str(one.priority), lambda one: one.priority),
    }
    for weighted, normalised, heading, weight, attribute in _FACTORS:
        columns[weighted] = Column(heading, _show(attribute, 0), _value(attribute))
        columns[normalised] = Column(heading, _show(attribute, getattr(weights, weight)), _value(attribute))
    return columns


def _value(attribute: str) -> Callable[[PriorityFactors], float]:
    return lambda one: float(getattr(one, attribute))


def _show(attribute: str, weight: float) -> Callable[[PriorityFactors], str]:
    """Format a factor weighted or, if its weight is given, normalised."""
    if weight:
        return lambda one: f"{getattr(one, attribute) / weight:.7f}"
    return lambda one: f"{getattr(one, attribute):.0f}"


def _normalised_priority(one: PriorityFactors) -> str:
    """Format the sum of the factors before it is rounded, or the priority that an administrator has set."""
    if one.direct:
        return f"{one.priority:.14f}"
    factors = sum(getattr(one, attribute) for *_, attribute in _FACTORS) + sum(one.priority_tres.values())
    return f"{(factors + one.priority_site - one.nice) / MAX_PRIORITY:.14f}"


def _tres(one: PriorityFactors, weights: PriorityWeights, *, norm: bool) -> str:
    if norm:
        shown = {name: value / weights.tres[name] for name, value in one.priority_tres.items() if value}
        return ",".join(f"{name}={value:.2f}" for name, value in shown.items())
    return ",".join(f"{name}={value:.0f}" for name, value in one.priority_tres.items() if value)


def _weight_columns(weights: PriorityWeights) -> dict[str, Column[PriorityFactors]]:
    """Give the columns of the row with the weights."""
    columns = {
        letter: Column[PriorityFactors](column.heading, lambda _: "") for letter, column in _columns(weights).items()
    }
    columns["i"] = Column("JOBID", lambda _: "Weights")
    columns["S"] = Column("SITE", lambda _: "1")
    columns["T"] = Column("TRES", lambda _: weights.tres_text)
    for weighted, normalised, heading, weight, _ in _FACTORS:
        text = str(getattr(weights, weight))
        columns[weighted] = columns[normalised] = Column(heading, lambda _, text=text: text)  # type: ignore[misc]
    return columns
