"""Files of node names: ``--nodelist`` and ``--exclude`` with a path, ``--nodefile``, and the variable SLURM_HOSTFILE.

A line has names or hostlists, separated by commas; ``n1*3`` is a node three times, and ``#`` begins a remark. The
variable counts if no nodes are named; then each task runs on the node that is named at its place, as with
``--distribution=arbitrary``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from rota.commands.lists import split_list
from rota.commands.sbatch import parse_options
from rota.commands.sbatch_options import Flag, Option
from rota.config.hostlist import expand_hostlist
from rota.model.bounds import MOST_NODES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VARIABLE = "SLURM_HOSTFILE"
#: Largest file, bytes.
MOST_BYTES = 1 << 20
#: What a command line has that could name a file.
_POSSIBLE = re.compile(r"(?:^|\0)-(?:-(?:ex|nodef|nodel)|\w*[Fwx])")
#: What is said after the reason why a file cannot be used, by what names it.
FAILED = {VARIABLE: "Failure getting NodeNames from hostfile", "nodefile": "Invalid --nodefile node file"}
#: Options that ask about the command, for which no file is read.
_QUESTIONS = frozenset({"help", "usage", "version"})
_TIMES = re.compile(r"(.*?)\*\s*(\d{1,6})")


class HostFile(NamedTuple):
    """A file that a command line, or the variable, names."""

    path: str
    #: ``nodelist``, ``nodefile``, ``exclude`` or the variable: what names it.
    named_by: str
    #: The number of names at which reading ends; 0: at its end.
    most: int = 0

    @property
    def option(self) -> str:
        """The option for its names."""
        return "exclude" if self.named_by == "exclude" else "nodelist"


class Named(NamedTuple):
    """A command line, and the files that it names."""

    #: Its options, without those that name files.
    options: Sequence[str]
    #: The program and its arguments.
    rest: Sequence[str]
    files: Sequence[HostFile]


def files_named(
    words: Sequence[str], environment: Mapping[str, str], table: Mapping[str, Option | Flag], letters: Mapping[str, str]
) -> Named:
    """Find the files that a command line names.

    Args:
        words: The words after the command.
        environment: The environment of the command.
        table: The options by long name.
        letters: The long names of options by their letters.

    Raises:
        OptionError: an option cannot be used.
    """
    if VARIABLE not in environment and not _POSSIBLE.search("\0".join(words)):
        return Named(words, (), ())
    plain = {name: one if isinstance(one, Flag) else Option("", str, one.needed) for name, one in table.items()}
    parsed = parse_options(words, plain | {"nodefile": Option("", str)}, letters)
    texts, files = parsed.texts, list[HostFile]()
    if _QUESTIONS & texts.keys() or texts.get("mpi") == "list":
        return Named(words, (), ())
    if "/" in texts.get("exclude", ""):
        files.append(HostFile(texts["exclude"], "exclude"))
    kind = texts.get("distribution", environment.get("SLURM_DISTRIBUTION", ""))
    arbitrary = kind.lower().startswith("arbitrary")
    tasks = texts.get("ntasks") or texts.get("nodes") or ("" if arbitrary else environment.get("SLURM_NTASKS", ""))
    most = int(tasks) if re.fullmatch(r"\d{1,9}", tasks, re.ASCII) else 0  # others are refused later
    if texts.get("nodefile"):
        files.append(HostFile(texts["nodefile"], "nodefile", most if arbitrary else 0))
    elif "/" in texts.get("nodelist", ""):
        files.append(HostFile(texts["nodelist"], "nodelist", most if arbitrary else 0))
    elif "nodelist" not in texts and (path := environment.get(VARIABLE, "")):
        files.append(HostFile(path if "/" in path else f"./{path}", VARIABLE, most))
    named = {"nodefile", *(file.option for file in files)}
    options = []
    for name, text in texts.items():
        if name not in named:
            has_value = text or (isinstance(one := plain[name], Option) and one.needed)
            options.append(f"--{name}={text}" if has_value else f"--{name}")
    return Named(options, parsed.rest, files)


def with_names(line: Named, names: Sequence[Sequence[str]]) -> list[str]:
    """Give the words of a command line that has names in the place of files.

    Args:
        line: The command line.
        names: The names in each of its files.
    """
    words = list(line.options)
    for file, found in zip(line.files, names, strict=True):
        words += [f"--{file.option}={','.join(found)}"]
        words += ["--distribution=arbitrary"] if file.named_by == VARIABLE else []
    return [*words, "--", *line.rest]


def read_host_file(file: HostFile, text: str) -> list[str]:
    """Read a file of node names.

    Args:
        file: The file.
        text: Its text.

    Raises:
        ValueError: it cannot be used; the text is Slurm's, if Slurm has one.
    """
    names: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line and not re.match(r"[A-Za-z0-9#]", line):
            raise ValueError(f"Invalid hostfile {file.path} contents on line {number}")
        for item in split_list(line.partition("#")[0]):
            match = _TIMES.fullmatch(item.strip())
            name, times = (match[1], int(match[2])) if match else (item.strip(), 1)
            found = expand_hostlist(name) if name else []
            if len(names) + len(found) * times > MOST_NODES:
                raise ValueError(f"it names more than {MOST_NODES:,} nodes")
            names += found * times
        if file.most and len(names) == file.most:
            break
    if not names:
        raise ValueError("Hostlist is empty!")
    if len(names) < file.most:
        raise ValueError("Too few NodeNames in Slurm Hostfile")
    return names
