"""A job without a batch script, as ``salloc`` and ``srun`` ask for it: the request, and what is kept beside it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from rota.commands.mail_options import mail_options
from rota.commands.option_error import OptionError
from rota.commands.option_values import warning_of_allocation
from rota.commands.option_variables import OF_SALLOC
from rota.commands.sbatch import options_of, parse_options, request
from rota.commands.sbatch_options import OPTIONS, SHORT, Flag, Option, in_order
from rota.commands.signals import signal_number
from rota.commands.submission import (
    at_times,
    check_for_one_component,
    check_for_oneself,
    check_loudness,
    join_path,
    merged,
    warning_of,
)
from rota.commands.unused_values import number_as_text
from rota.model.accounting import JobDetails
from rota.model.submission import Submission

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rota.commands.sbatch import Options
    from rota.commands.submission import Client
    from rota.model import JobSpec


#: Seconds of ``--immediate`` by which, and without which, it is not waited at all.
AT_ONCE = 1


def immediate_seconds(texts: Mapping[str, str]) -> int:
    """Give for how many seconds a request may wait, by the texts of its options; 0: without a limit."""
    return int(texts.get("immediate", "0") or AT_ONCE)


def _signal_or_nothing(text: str) -> str:
    if text and not re.fullmatch(r"\s*[+-]?\d*[1-9]\d*\s?", text, re.ASCII) and signal_number(text) is None:
        raise ValueError(f"{text!r} is no signal")
    return text


_NOT_SALLOCS = (
    "array batch error export export-file ignore-pbs input kill-on-invalid-dep no-requeue open-mode output parsable "
    "propagate requeue test-only wait wrap"
)
#: The options of ``salloc``, and their letters.
TABLE: dict[str, Option | Flag] = in_order(
    {
        **{name: option for name, option in OPTIONS.items() if name not in _NOT_SALLOCS.split()},
        **{name: Flag("") for name in ("bell", "help", "no-bell", "no-shell", "usage", "version")},
        "immediate": Option("", number_as_text("immediate"), needed=False),
        "signal": Option("", warning_of_allocation),
        "kill-command": Option("", _signal_or_nothing, needed=False),
        "x11": Option("", str, needed=False),
        **{name: Option("", str) for name in ("begin", "deadline")},
    }
)
LETTERS = {**SHORT, "I": "immediate", "K": "kill-command"}
_NOT_DONE = (
    "container",
    "cpu-freq",
    "gid",
    "gpu-freq",
    "reboot",
    "uid",
    "x11",
)


class Allocation(NamedTuple):
    """A request for resources."""

    spec: JobSpec
    submission: Submission
    #: The texts of all options, by long name.
    texts: Mapping[str, str]


def read_salloc(words: Sequence[str], environment: Mapping[str, str], uid: int = 0) -> Options:
    """Read the words after ``salloc``.

    Args:
        words: The words.
        environment: The environment of ``salloc``.
        uid: User id of the user.

    Raises:
        OptionError: an option cannot be used.
        ScriptError: the user may not use it, or it is for a heterogeneous job.
    """
    given = parse_options(words, TABLE, LETTERS)
    check_for_one_component(given.rest[:1])
    fields, texts = merged((*options_of(environment, OF_SALLOC, TABLE), given))
    check_for_oneself(texts, uid)
    check_loudness(texts)
    for option in _NOT_DONE:
        if option in texts:
            raise OptionError(f"--{option}", "is not supported by rota")
    return given._replace(fields=fields, texts=texts)


def allocation(
    command: Sequence[str],
    options: Options,
    client: Client,
    *,
    name: str,
    program: str = "",
    now: int,
    utc_offset: Callable[[int], int],
) -> Allocation:
    """Make the request for an allocation.

    Args:
        command: The command line, with its name.
        options: Its options.
        client: The process that asks.
        name: Name of the job if none is given.
        program: What is to run; empty: it is not known yet.
        now: The time now, Unix seconds.
        utc_offset: Gives local time minus UTC in seconds, at a Unix time.

    Raises:
        OptionError: options contradict each other.
    """
    texts = options.texts
    fields = {"name": name, **options.fields, "user": client.user, "user_id": client.uid, "group_id": client.gid}
    at_times(fields, texts, now, utc_offset)
    number, seconds, batch_only = warning_of(texts)
    mail_user, mail_type = mail_options(texts)
    details = JobDetails(
        command=program,
        submit_line=" ".join(command),
        submit_host=client.host,
        work_dir=join_path(client.work_dir, texts.get("chdir", "")),
        comment=texts.get("comment", ""),
        wckey=texts.get("wckey", ""),
        mail_user=mail_user,
        mail_type=mail_type,
        batch=False,
    )
    submission = Submission(
        details=details,
        umask=client.umask,
        rlimits={} if texts.get("propagate", "").upper() == "NONE" else client.rlimits,
        warning_signal=number,
        warning_seconds=seconds,
        warning_batch_only=batch_only,
    )
    return Allocation(request(fields)._replace(allocation_only=True), submission, texts)
