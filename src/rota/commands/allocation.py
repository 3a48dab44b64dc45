"""A job without a batch script, as ``salloc`` and ``srun`` ask for it: the request, and what is kept beside it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from rota.commands.mail_options import mail_options
from rota.commands.option_error import OptionError
from rota.commands.option_values import warning_of_allocation
from rota.commands.sbatch import options_of, parse_options, request
from rota.commands.sbatch_options import OPTIONS, SHORT, Flag, Option, in_order
from rota.commands.signals import signal_number
from rota.commands.submission import at_times, check_for_one_component, check_for_oneself, join_path, warning_of
from rota.commands.unused_values import number_as_text
from rota.model.accounting import JobDetails
from rota.model.submission import Submission

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rota.commands.sbatch import Options
    from rota.commands.submission import Client
    from rota.model import JobSpec


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
_SALLOC_VARIABLES = {
    "SALLOC_ACCOUNT": "account",
    "SALLOC_ACCTG_FREQ": "acctg-freq",
    "SALLOC_BELL": "bell",
    "SALLOC_BURST_BUFFER": "bb",
    "SALLOC_CLUSTERS": "clusters",
    "SALLOC_CLUSTER_CONSTRAINT": "cluster-constraint",
    "SALLOC_CONSTRAINT": "constraint",
    "SALLOC_CONTAINER": "container",
    "SALLOC_CORE_SPEC": "core-spec",
    "SALLOC_CPUS_PER_GPU": "cpus-per-gpu",
    "SALLOC_CPU_FREQ_REQ": "cpu-freq",
    "SALLOC_DELAY_BOOT": "delay-boot",
    "SALLOC_EXCLUSIVE": "exclusive",
    "SALLOC_GPUS": "gpus",
    "SALLOC_GPUS_PER_NODE": "gpus-per-node",
    "SALLOC_GPUS_PER_SOCKET": "gpus-per-socket",
    "SALLOC_GPUS_PER_TASK": "gpus-per-task",
    "SALLOC_GPU_BIND": "gpu-bind",
    "SALLOC_GPU_FREQ": "gpu-freq",
    "SALLOC_GRES": "gres",
    "SALLOC_GRES_FLAGS": "gres-flags",
    "SALLOC_HINT": "hint",
    "SALLOC_IMMEDIATE": "immediate",
    "SALLOC_KILL_CMD": "kill-command",
    "SALLOC_MEM_BIND": "mem-bind",
    "SALLOC_MEM_PER_CPU": "mem-per-cpu",
    "SALLOC_MEM_PER_GPU": "mem-per-gpu",
    "SALLOC_MEM_PER_NODE": "mem",
    "SALLOC_NETWORK": "network",
    "SALLOC_NO_BELL": "no-bell",
    "SALLOC_NO_KILL": "no-kill",
    "SALLOC_OVERCOMMIT": "overcommit",
    "SALLOC_PARTITION": "partition",
    "SALLOC_POWER": "power",
    "SALLOC_PROFILE": "profile",
    "SALLOC_QOS": "qos",
    "SALLOC_REQ_SWITCH": "switches",
    "SALLOC_RESERVATION": "reservation",
    "SALLOC_SIGNAL": "signal",
    "SALLOC_SPREAD_JOB": "spread-job",
    "SALLOC_THREADS_PER_CORE": "threads-per-core",
    "SALLOC_THREAD_SPEC": "thread-spec",
    "SALLOC_TIMELIMIT": "time",
    "SALLOC_USE_MIN_NODES": "use-min-nodes",
    "SALLOC_WAIT4SWITCH": "wait4switch",
    "SALLOC_WAIT_ALL_NODES": "wait-all-nodes",
    "SALLOC_WCKEY": "wckey",
}
_NOT_DONE = (
    "container",
    "cpu-freq",
    "gid",
    "gpu-bind",
    "gpu-freq",
    "no-kill",
    "profile",
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
    fields: dict[str, Any] = {}
    texts: dict[str, str] = {}
    for one in (*options_of(environment, _SALLOC_VARIABLES, TABLE), given):
        fields |= one.fields
        texts |= one.texts
    check_for_oneself(texts, uid)
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
