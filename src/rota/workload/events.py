"""Event files of the Slurm simulator of the Center for Computational Research at Buffalo: one ``sbatch`` a line.

::

    -dt 10.50 -e submit_batch_job | -sim-walltime 84805.00 --uid=user001 -N 1 -n 32 -t 3-00:00:00 -p main --mem=500G job

``-dt`` is the submit time in seconds after the log's start; fractions are cut off, and lines of the same second stay in
order. ``-sim-walltime`` is the run time; a job with a negative one runs until its time limit. ``--begin`` and
``--deadline`` are relative to the submission, ``now+2hours``. Blank lines and comments (``#``) are allowed anywhere.
Jobs are numbered from 1; a job array takes as many numbers as it has tasks, all with the same run time.
``--dependency`` refers to these numbers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rota.commands.sbatch import OptionError, parse_request, split_words
from rota.model import YEAR, InputError
from rota.workload.fields import LIMIT
from rota.workload.files import read_bytes
from rota.workload.workload import Workload

if TYPE_CHECKING:
    from pathlib import Path

    from rota.model import JobSpec

_SUBMIT = "submit_batch_job"


def is_event_file(beginning: bytes) -> bool:
    """Whether a file is an event file, by its first line that is neither blank nor a comment."""
    lines = (line.strip() for line in beginning.split(b"\n"))
    first = next((line for line in lines if line and not line.startswith(b"#")), b"")
    return first.startswith(b"-dt")


def read_events(path: Path) -> Workload:
    """Read an event file, gzip or plain.

    Raises:
        InputError: the file cannot be read, or has no jobs or a wrong line; the message names line and option.
    """
    numbers: list[int] = []
    jobs: list[tuple[int, int, JobSpec]] = []
    for number, line in enumerate(read_bytes(path).decode("utf-8", errors="replace").split("\n"), start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            jobs.append(_read_line(text))
        except OptionError as error:
            raise InputError(str(error), path=path, line=number, field=error.option) from None
        numbers.append(number)
    if not jobs:
        raise InputError("no jobs: a line for each is needed, such as -dt 0 -e submit_batch_job | …", path=path)
    return Workload.from_jobs(jobs, name=path.name, lines=numbers, source=path)


def _read_line(text: str) -> tuple[int, int, JobSpec]:
    """Parse a line into submit time, run time and request."""
    event, bar, command = text.partition("|")
    if not bar:
        raise OptionError("", "not an event: write -dt SECONDS -e submit_batch_job | sbatch options")
    head = _pairs(event, ("-dt", "-e"))
    if head["-e"] != _SUBMIT:
        raise OptionError("-e", f"event {head['-e']!r} is not known: only {_SUBMIT} is")
    try:
        words = split_words(command)
    except ValueError as error:
        raise OptionError("", f"{error}: close the quotes") from None
    run = ""
    if "-sim-walltime" in words:
        place = words.index("-sim-walltime")
        run = "".join(words[place + 1 : place + 2])
        del words[place : place + 2]
    request = parse_request(words)
    seconds = math.floor(_number("-sim-walltime", run))
    when = math.floor(_number("-dt", head["-dt"]))
    if request.begin_time or request.deadline:
        begin, deadline = (when + after if after else 0 for after in (request.begin_time, request.deadline))
        request = request._replace(begin_time=begin, deadline=deadline)
    return when, seconds if seconds >= 0 else request.time_limit or YEAR, request


def _pairs(text: str, names: tuple[str, ...]) -> dict[str, str]:
    words = text.split()
    pairs = dict(zip(words[::2], words[1::2], strict=False))
    for name in names:
        if name not in pairs:
            raise OptionError(name, "is missing")
    return pairs


def _number(option: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not abs(number) <= LIMIT or (option == "-dt" and number < 0):
        raise OptionError(option, f"{text!r} is no number of seconds" if text else "is missing, or has no value")
    return number
