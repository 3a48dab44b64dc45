"""Option parsing as the C library's ``getopt_long`` does it, on which Slurm's commands rely.

Options and words may be mixed; ``--`` ends the options. Long names may be abbreviated as long as they are unambiguous.
Short options without a value can be combined, ``-hl``. A value follows as the next word or attached: ``-j1``,
``--jobs=1``; an optional one is attached only.

Each option says whether rota carries it out. An option that rota does not know how to carry out is refused by name. One
that cannot make a difference here is accepted, with the reason in its table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: What stands in ``Option.value``: a value is needed, or may be given.
NEEDED, OPTIONAL = "=", "?"


class UsageError(Exception):
    """A command line that is answered with an error.

    Args:
        err: What is printed on standard error.
        out: What is printed on standard output.
        code: The exit code.
    """

    def __init__(self, err: str, out: str = "", code: int = 1) -> None:
        super().__init__(err)
        self.err = err
        self.out = out
        self.code = code


class Option(NamedTuple):
    """An option of a command."""

    #: Long names, separated by blanks; the first is the key under which values are found.
    names: str
    #: The letter; empty: none.
    short: str = ""
    #: `NEEDED`, `OPTIONAL`, or empty: it has no value.
    value: str = ""
    #: Why it can be ignored; empty: it is carried out.
    ignored: str = ""
    #: Whether rota refuses it.
    refused: bool = False


class Table(NamedTuple):
    """The options of a command."""

    command: str
    long: dict[str, Option]
    short: dict[str, Option]
    #: Printed after an error about an option.
    hint: str


class Parsed(NamedTuple):
    """A command line, parsed."""

    #: Keys and values in their order; the value of an option without one is ``None``.
    options: tuple[tuple[str, str | None], ...]
    words: tuple[str, ...]

    def has(self, key: str) -> bool:
        """Whether an option was given."""
        return any(name == key for name, _ in self.options)

    def last(self, key: str) -> str | None:
        """Give the value of an option, the last one if there are several; ``None``: it was not given."""
        return next((value or "" for name, value in reversed(self.options) if name == key), None)

    def last_of(self, *keys: str) -> str | None:
        """Give which of some options was given last; ``None``: none of them."""
        return next((name for name, _ in reversed(self.options) if name in keys), None)

    def all(self, key: str) -> list[str]:
        """Give all values of an option, in their order."""
        return [value or "" for name, value in self.options if name == key]


def table(command: str, options: Iterable[Option], *, hint: bool = True) -> Table:
    """Make the table of a command's options.

    Args:
        command: The command's name.
        options: Its options, in the order in which ambiguous names are listed.
        hint: Whether errors end with a hint at ``--help``.
    """
    listed = list(options)
    return Table(
        command,
        {name: option for option in listed for name in option.names.split()},
        {letter: option for option in listed for letter in option.short},
        f'Try "{command} --help" for more information\n' if hint else "",
    )


def parse(argv: Sequence[str], known: Table) -> Parsed:
    """Parse the words after the command's name.

    Raises:
        UsageError: an option is unknown, ambiguous or refused, or its value is missing or too much.
    """
    options: list[tuple[str, str | None]] = []
    words: list[str] = []
    queue = list(reversed(argv))
    while queue:
        word = queue.pop()
        if word == "--":
            words += reversed(queue)
            break
        if word.startswith("--"):
            options.append(_long(word[2:], queue, known))
        elif word.startswith("-") and len(word) > 1:
            options += _short(word[1:], queue, known)
        else:
            words.append(word)
    return Parsed(tuple(options), tuple(words))


def _long(text: str, queue: list[str], known: Table) -> tuple[str, str | None]:
    name, equals, given = text.partition("=")
    option = _find(name, known)
    shown = f"--{name}" if name in known.long else f"--{_full(name, known)}"
    if not option.value:
        if equals:
            raise _error(known, f"option '{shown}' doesn't allow an argument")
        return _checked(option, shown, known), None
    if equals or option.value == OPTIONAL:
        return _checked(option, shown, known), given if equals else None
    if not queue:
        raise _error(known, f"option '{shown}' requires an argument")
    return _checked(option, shown, known), queue.pop()


def _find(name: str, known: Table) -> Option:
    if name in known.long:
        return known.long[name]
    near = {full: option for full, option in known.long.items() if full.startswith(name)}
    if not near or not name:
        raise _error(known, f"unrecognized option '--{name}'")
    if len(set(near.values())) > 1:
        listed = " ".join(f"'--{full}'" for full in near)
        raise _error(known, f"option '--{name}' is ambiguous; possibilities: {listed}")
    return next(iter(near.values()))


def _full(name: str, known: Table) -> str:
    return next((full for full in known.long if full.startswith(name)), name)


def _short(letters: str, queue: list[str], known: Table) -> Iterable[tuple[str, str | None]]:
    for place, letter in enumerate(letters):
        option = known.short.get(letter)
        if option is None:
            raise _error(known, f"invalid option -- '{letter}'")
        key = _checked(option, f"-{letter}", known)
        rest = letters[place + 1 :]
        if not option.value:
            yield key, None
            continue
        if not rest and option.value == NEEDED:
            if not queue:
                raise _error(known, f"option requires an argument -- '{letter}'")
            rest = queue.pop()
            yield key, rest
        else:
            yield key, rest or None
        return


def _checked(option: Option, shown: str, known: Table) -> str:
    if option.refused:
        raise UsageError(f"{known.command}: error: {shown} is not supported by rota\n")
    return option.names.split()[0]


def _error(known: Table, problem: str) -> UsageError:
    return UsageError(f"{known.command}: {problem}\n{known.hint}")
