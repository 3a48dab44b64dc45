"""A submission by ``sbatch``: options of the command line, of the environment and of the script, and the script.

Options of the command line count more than those of the environment (``SBATCH_PARTITION`` and so on), and these more
than the directives ``#SBATCH`` of the script, which end at its first command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from rota.commands.getopt import UsageError
from rota.commands.mail_options import mail_options
from rota.commands.moments import parse_slurm_time
from rota.commands.option_error import FAILURE, USAGE, OptionError, WordedError
from rota.commands.option_values import parse_warning
from rota.commands.option_variables import OF_SBATCH
from rota.commands.sbatch import AGAIN, Options, options_of, parse_options, request
from rota.commands.sbatch_options import OPTIONS, Flag, Option, in_order
from rota.commands.script_environment import script_environment
from rota.model.accounting import JobDetails
from rota.model.submission import Submission
from rota.users import find_user

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rota.model import JobSpec

_DIRECTIVE = "#SBATCH"
#: What stands between the components of a heterogeneous job in a script; the second one did in former times.
_SEPARATORS = ("hetjob", "packjob")
#: Options of which the one that counts more removes the others.
_ALTERNATIVES = ({"mem", "mem-per-cpu", "mem-per-gpu"}, {"exclusive", "oversubscribe"}, {"requeue", "no-requeue"})
#: Options that rota does not carry out.
_NOT_DONE = frozenset({"container", "cpu-freq", "export-file", "gid", "gpu-freq", "reboot"})
#: The options of ``sbatch``; two of them allow points of time when the time now is known.
TABLE: Mapping[str, Option | Flag] = in_order({**OPTIONS, **dict.fromkeys(("help", "usage", "version"), Flag(""))})
_WRAPPER = "#!/bin/sh\n# This script was created by sbatch --wrap.\n\n{}\n"


class Client(NamedTuple):
    """The process that submits."""

    user: str
    uid: int
    gid: int
    host: str
    work_dir: str
    environment: Mapping[str, str]
    umask: int
    #: Soft and hard limits by name; -1: none.
    rlimits: Mapping[str, tuple[int, int]]


class ScriptError(ValueError):
    """The script is none; the text may have several lines."""

    #: The exit status of the command.
    status = 1


class DirectiveError(ScriptError):
    """A directive of the script is none."""

    status = USAGE


class NotRootError(ScriptError):
    """Only root may ask for this."""

    status = USAGE


class Submitted(NamedTuple):
    """A submission, and how its answer is given."""

    spec: JobSpec
    submission: Submission
    #: The texts of all options, by long name.
    texts: Mapping[str, str]


class CommandLine(NamedTuple):
    """A command line of ``sbatch``, before its script is known."""

    words: Sequence[str]
    options: Options

    @property
    def script_path(self) -> str | None:
        """Path of the script; empty: it comes from standard input; ``None``: there is none, because of ``--wrap``."""
        if "wrap" in self.options.texts:
            return None
        return self.options.rest[0] if self.options.rest else ""


def read_command_line(words: Sequence[str], now: int, utc_offset: Callable[[int], int]) -> CommandLine:
    """Read the words after ``sbatch``.

    Args:
        words: The words.
        now: The time now, Unix seconds.
        utc_offset: Gives local time minus UTC in seconds, at a Unix time.

    Raises:
        OptionError: an option cannot be used.
        ScriptError: ``--wrap`` and a script exclude each other, or it is for a heterogeneous job.
    """
    options = parse_options(words, _table(now, utc_offset))
    check_loudness(options.texts)
    check_for_one_component(options.rest[:1])
    if "wrap" in options.texts and options.rest:
        raise ScriptError("Script arguments not permitted with --wrap option")
    return CommandLine(words, options)


def read_submission(
    line: CommandLine,
    script: str,
    client: Client,
    now: int,
    utc_offset: Callable[[int], int],
    *,
    directives: bool = True,
) -> Submitted:
    """Make a submission.

    Args:
        line: The command line.
        script: The script's text; not used with ``--wrap``.
        client: The process that submits.
        now: The time now, Unix seconds.
        utc_offset: Gives local time minus UTC in seconds, at a Unix time.
        directives: Whether the options of the environment and of the script's directives count.

    Raises:
        OptionError: an option cannot be used.
        ScriptError: the script cannot be used.
    """
    table = _table(now, utc_offset)
    if line.script_path is None:
        script, path, arguments = _WRAPPER.format(line.options.texts["wrap"]), "", []
        name = "wrap"
    else:
        _check_script(script)
        path, arguments = line.script_path, line.options.rest[1:]
        name = path.rpartition("/")[2] or "sbatch"
    sources: list[Options] = []
    if directives:
        sources += [_of_directive(words, table) for words in _directives(script, path)]
        sources += options_of(client.environment, OF_SBATCH, table)
    fields, texts = merged([*sources, line.options])
    check_for_oneself(texts, client.uid)
    if problem := next((f"--{option}" for option in texts if option in _NOT_DONE), None):
        raise OptionError(problem, "is not supported by rota")
    fields = {"name": name, **fields, "user": client.user, "user_id": client.uid, "group_id": client.gid}
    if "uid" in texts:
        fields |= _other_user(texts["uid"])
    _from_now(fields, now)
    spec = request(fields)
    number, seconds, batch_only = warning_of(texts)
    submission = Submission(
        details=_details(spec, texts, [path, *arguments] if path else [], line.words, client),
        script=script,
        arguments=tuple(arguments),
        environment=script_environment(spec, texts, client.environment, client.work_dir, client.host),
        umask=client.umask,
        rlimits={} if texts.get("propagate", "").upper() == "NONE" else client.rlimits,
        append=texts.get("open-mode", "")[:1].lower() == "a",
        warning_signal=number,
        warning_seconds=seconds,
        warning_batch_only=batch_only,
    )
    return Submitted(spec, submission, texts)


def at_times(fields: dict[str, Any], texts: Mapping[str, str], now: int, utc_offset: Callable[[int], int]) -> None:
    """Set the fields that are points of time, of options that were read without knowing the time now.

    Raises:
        OptionError: one of them is none.
    """
    table = _table(now, utc_offset)
    for name in ("begin", "deadline"):
        if name in texts:
            fields |= parse_options([f"--{name}={texts[name]}"], table).fields
    _from_now(fields, now)


def _from_now(fields: dict[str, Any], now: int) -> None:
    for moment in ("begin_time", "deadline"):
        if fields.get(moment):
            fields[moment] += now


def check_for_one_component(words: Sequence[str], separators: Sequence[str] = (":",)) -> None:
    """Check that no word begins a further component of a heterogeneous job or step.

    Args:
        words: The words.
        separators: What does; by default, what does on a command line.

    Raises:
        ScriptError: one does.
    """
    if any(word in separators for word in words):
        raise ScriptError("heterogeneous jobs and steps are not supported by rota")


def check_for_oneself(texts: Mapping[str, str], uid: int) -> None:
    """Check that a user, who is not root, does not ask to be somebody else.

    Raises:
        NotRootError: they do.
    """
    if uid and (option := next((one for one in ("uid", "gid") if one in texts), None)):
        raise NotRootError(f"--{option} only permitted by root user")


def quietness(texts: Mapping[str, str]) -> int:
    """Say how quiet a command is to be: 1 for ``-Q``, 2 for ``-QQ``, with which errors are not told either."""
    return ("quiet" in texts) + (texts.get("quiet") == AGAIN)


def check_loudness(texts: Mapping[str, str]) -> None:
    """Check that a command is not to say more and less.

    Raises:
        ScriptError: it is.
    """
    if {"quiet", "verbose"} <= texts.keys():
        raise ScriptError("don't specify both --verbose (-v) and --quiet (-Q)")


def _other_user(name: str) -> dict[str, Any]:
    """Give the user as whom root submits."""
    found = find_user(name)
    if found is None:
        raise OptionError("--uid", "")
    return {"user": found.pw_name, "user_id": found.pw_uid, "group_id": found.pw_gid}


def _table(now: int, utc_offset: Callable[[int], int]) -> dict[str, Option | Flag]:
    """Give the options, of which some allow more than in a replay: points of time."""

    def ahead(option: str, text: str) -> int:
        try:
            return parse_slurm_time(text, now, utc_offset) - now
        except UsageError as error:
            raise WordedError(f"Invalid --{option} specification", heading=error.err if text else "") from None

    return {
        **TABLE,
        "begin": Option("begin_time", lambda text: max(ahead("begin", text), 0)),
        "deadline": Option("deadline", lambda text: ahead("deadline", text) or -1),
    }


def _check_script(script: str) -> None:
    if not script:
        raise ScriptError("Batch script is empty!")
    if not script.strip():
        raise ScriptError("Batch script contains only whitespace!")
    if not script.startswith("#!"):
        raise ScriptError(
            "This does not look like a batch script.  The first\n"
            "line must start with #! followed by the path to an interpreter.\n"
            "For instance: #!/bin/sh"
        )
    if "\0" in script:
        raise ScriptError("The SLURM controller does not allow scripts that\ncontain the NULL character '\\0'.")
    if "\r\n" in script:
        raise ScriptError("Batch script contains DOS line breaks (\\r\\n)\ninstead of expected UNIX line breaks (\\n).")


def _directives(script: str, path: str) -> Iterable[list[str]]:
    """Give the words of the directives before the first command."""
    for number, line in enumerate(script.split("\n"), 1):
        if line.startswith(_DIRECTIVE):
            yield _words_of(line.removeprefix(_DIRECTIVE), f"fatal: {path or 'stdin'}: line {number}")
        elif line.strip() and not line.startswith("#"):
            return


def _words_of(text: str, where: str) -> list[str]:
    """Split a directive, with quotes and comments. A backslash makes a quote or a backslash one of the word.

    Elsewhere backslashes are left out, as that at the end of a line which the user wants to go on.

    Raises:
        OptionError: a quote is not closed.
    """
    words: list[str] = []
    word: str | None = None
    text = text.lstrip()
    quote, escaped, rest = "", False, text
    for place, letter in enumerate(text):
        if escaped and not letter.isspace():
            word, escaped = (word or "") + letter, False
        elif letter == "\\":
            escaped = True
        elif quote:
            quote = "" if letter == quote else quote
            word = (word or "") + (letter if quote else "")
        elif letter in "\"'":
            quote, word = letter, word or ""
        elif letter == "#":
            break
        elif letter.isspace():
            words += [] if word is None else [word]
            word, escaped, rest = None, False, text[place:]
        else:
            word = (word or "") + letter
    if quote:
        worded = WordedError(f"{where}: Unmatched `{quote}` in [{rest}]", status=FAILURE)
        raise OptionError(_DIRECTIVE, str(worded), worded=worded)
    return words if word is None else [*words, word]


def _of_directive(words: Sequence[str], table: Mapping[str, Option | Flag]) -> Options:
    """Give the options of a directive, which has nothing else."""
    options = parse_options(words, table)
    check_for_one_component(options.rest[:1], _SEPARATORS)
    if options.rest:
        raise DirectiveError(f"Invalid directive found in batch script: {options.rest[0]}")
    options.texts.pop("quiet", None)  # what sbatch says is for the command line to decide
    return options


def merged(sources: Iterable[Options]) -> tuple[dict[str, Any], dict[str, str]]:
    """Put options together; later ones count more."""
    fields: dict[str, Any] = {}
    texts: dict[str, str] = {}
    for one in sources:
        for group in _ALTERNATIVES:
            if group & one.texts.keys():
                for name in group & texts.keys():
                    del texts[name]
                    fields.pop(OPTIONS[name].target, None)
        fields |= one.fields
        texts |= one.texts
    return fields, texts


def _details(
    spec: JobSpec, texts: Mapping[str, str], command: Sequence[str], words: Sequence[str], client: Client
) -> JobDetails:
    work_dir = join_path(client.work_dir, texts.get("chdir", ""))
    default = "slurm-%A_%a.out" if spec.array else "slurm-%j.out"
    std_out = join_path(work_dir, texts.get("output") or default)
    mail_user, mail_type = mail_options(texts)
    return JobDetails(
        command=" ".join((join_path(client.work_dir, command[0]), *command[1:])) if command else "",
        submit_line=" ".join(["sbatch", *words]),
        submit_host=client.host,
        work_dir=work_dir,
        std_in=join_path(work_dir, texts.get("input") or "/dev/null"),
        std_out=std_out,
        std_err=join_path(work_dir, texts["error"]) if texts.get("error") else std_out,
        comment=texts.get("comment", ""),
        wckey=texts.get("wckey", ""),
        mail_user=mail_user,
        mail_type=mail_type,
    )


def warning_of(texts: Mapping[str, str]) -> tuple[int, int, bool]:
    """Give what ``--signal`` asks for, of the texts of options by long name; see `parse_warning`."""
    return parse_warning(texts["signal"]) if "signal" in texts else (0, 60, False)


def join_path(directory: str, path: str) -> str:
    """Make a path absolute; an empty one is the directory."""
    if not path:
        return directory
    return path if path.startswith("/") else f"{directory.rstrip('/')}/{path}"
