"""Command lines of ``sacctmgr``: options, a command, what it is about, and the words after that.

Commands and entities may be abbreviated, options and words may be mixed. Words are ``key=value`` pairs, ``key+=value``
and ``key-=value``, names, and ``where`` and ``set``, after which conditions and settings follow.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from rota.commands.getopt import Option, Parsed, UsageError, parse, table
from rota.model.bounds import MOST_NAMES, TooManyError

if TYPE_CHECKING:
    from collections.abc import Sequence

_VERBOSE = "it is for looking for errors in Slurm"
OPTIONS = table(
    "sacctmgr",
    [
        Option("help", "h"),
        Option("usage"),
        Option("immediate", "i"),
        Option("noheader", "n"),
        Option("oneliner", "o", ignored="it is for the interactive mode"),
        Option("parsable", "p"),
        Option("parsable2", "P"),
        Option("quiet", "Q", ignored="Slurm prints the same with it"),
        Option("readonly", "r"),
        Option("associations", "s"),
        Option("verbose", "v", ignored=_VERBOSE),
        Option("version", "V"),
    ],
)
USAGE = "Usage: sacctmgr [OPTIONS] COMMAND [ENTITY] [WORDS]\n"
#: The commands, with those that rota does not carry out.
_COMMANDS = {
    "add": "add",
    "create": "add",
    "delete": "delete",
    "remove": "delete",
    "modify": "modify",
    "update": "modify",
    "list": "list",
    "show": "list",
    "dump": "dump",
    "load": "load",
    "help": "help",
    "version": "version",
}
_REFUSED = ("archive", "clear", "reconfigure", "shutdown")
#: The entities of each command, in the order in which an abbreviation is looked up.
ENTITIES = {
    "add": ("account", "cluster", "coordinator", "federation", "qos", "resource", "user", "wckey"),
    "delete": ("account", "cluster", "coordinator", "federation", "qos", "resource", "user"),
    "modify": ("account", "cluster", "federation", "job", "qos", "resource", "user"),
    "list": (
        "account", "association", "cluster", "configuration", "event", "federation", "problem", "qos", "resource",
        "reservation", "runawayjobs", "stats", "transaction", "tres", "user", "wckey",
    ),
}  # fmt: skip
#: Entities that rota knows, by command.
SUPPORTED = {
    "add": ("account", "coordinator", "qos", "user", "cluster"),
    "delete": ("account", "coordinator", "qos", "user", "cluster"),
    "modify": ("account", "cluster", "qos", "user"),
    "list": ("account", "association", "cluster", "configuration", "qos", "tres", "user"),
}
_MUST = {
    "add": '"Account", "Cluster", "Coordinator", "Federation", "QOS", "Resource", or "User"',
    "delete": '"Account", "Cluster", "Coordinator", "Federation", "QOS", "Resource", or "User"',
    "modify": '"Account", "Cluster", "Federation", "Job", "QOS", "Resource" or "User"',
    "list": '"Account", "Association", "Cluster", "Configuration",\n"Event", "Federation", "Problem", "QOS", '
    '"Resource", "Reservation",\n"RunAwayJobs", "Stats", "Transaction", "TRES", "User", or "WCKey"',
}
_PAIR = re.compile(r"(?P<key>[^=+-]*)(?P<change>[+-]?=)(?P<value>.*)", re.DOTALL)


class Setting(NamedTuple):
    """A pair of key and value."""

    #: As written, and the whole word.
    key: str
    word: str
    #: ``=``, ``+=`` or ``-=``.
    change: str
    value: str

    @property
    def names(self) -> list[str]:
        """The value as a list of names, in lower case."""
        return split_names(self.value)


class Words(NamedTuple):
    """The words after the entity."""

    #: Words without a key, each a list of names; in lower case.
    names: list[str]
    where: list[Setting]
    settings: list[Setting]


class Line(NamedTuple):
    """A command line."""

    options: Parsed
    #: ``add``, ``delete``, ``modify``, ``list``, ``dump``, ``load``, ``help`` or ``version``.
    command: str
    #: Full name of what it is about; empty for the last four.
    entity: str
    words: tuple[str, ...]


def parse_sacctmgr(argv: Sequence[str]) -> Line:
    """Parse the words after ``sacctmgr``.

    Raises:
        UsageError: the command line is refused.
    """
    options = parse(argv, OPTIONS)
    if options.has("version"):
        return Line(options, "version", "", ())
    if options.has("help") or options.has("usage"):
        return Line(options, "help", "", ())
    if not options.words:
        raise UsageError("sacctmgr: error: rota has no interactive mode: give a command\n")
    first, *rest = options.words
    command = next((full for name, full in _COMMANDS.items() if name.startswith(first.lower())), None)
    if command is None:
        if any(name.startswith(first.lower()) for name in _REFUSED):
            raise not_supported(first)
        raise UsageError(f"invalid keyword: {first}\n")
    if command not in ENTITIES:
        return Line(options, command, "", tuple(rest))
    entity = _entity(command, rest[0] if rest else "")
    if command != "list" and options.has("readonly"):
        raise UsageError("Can't run this command in readonly mode.\n")
    if entity not in SUPPORTED[command]:
        raise not_supported(f"{command} {entity}")
    return Line(options, command, entity, tuple(rest[1:]))


def _entity(command: str, word: str) -> str:
    short = word.lower()
    plural = {f"{name}s": name for name in ENTITIES[command]} | {"accts": "account", "acct": "account"}
    found = plural.get(short) or next((name for name in ENTITIES[command] if short and name.startswith(short)), None)
    if found is None:
        raise UsageError(f"No valid entity in {command} command\nInput line must include {_MUST[command]}\n")
    return found


def parse_words(words: Sequence[str], *, setting: bool) -> Words:
    """Sort the words after the entity.

    Args:
        words: The words.
        setting: Whether pairs are settings from the beginning, and not conditions.
    """
    names: list[str] = []
    where: list[Setting] = []
    settings: list[Setting] = []
    for word in words:
        if word.lower() in {"where", "set"}:
            setting = word.lower() == "set"
            continue
        match = _PAIR.fullmatch(word)
        if match is None:
            names += split_names(word)
        else:
            pair = Setting(match["key"].strip(), word, match["change"], _unquoted(match["value"]))
            (settings if setting else where).append(pair)
    return Words(names, where, settings)


def _unquoted(value: str) -> str:
    """Give a value without the quotes around all of it, which programs leave there and Slurm does not mind."""
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


def split_names(text: str) -> list[str]:
    """Split a list of names, which Slurm turns into lower case.

    Raises:
        UsageError: they are too many.
    """
    if text.count(",") >= MOST_NAMES:
        raise UsageError(f"sacctmgr: error: {TooManyError(text, MOST_NAMES, 'users or accounts')}\n")
    return [name.strip().strip("\"'").lower() for name in text.split(",") if name.strip()]


def not_supported(what: str) -> UsageError:
    """Make the error for something that rota does not do."""
    return UsageError(f"sacctmgr: error: {what} is not supported by rota\n")
