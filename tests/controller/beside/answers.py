"""What a cluster's commands told at the moments of a scenario, as fields that can be compared.

What must differ between two clusters is replaced here and nowhere else: a job id by the name that the scenario gives
the job, a time by how many tens of minutes it is ahead (with two minutes of grace, as scenarios take seconds), the
directory, the user and the host by words. How long something took, what it has used, and ids that only one of them
knows are left out.

The recording is in lines ``MOMENT COMMAND RECORD FIELD=VALUE …``, quoted as in a shell. It has only the fields that are
not as in ``usual.txt``, which has the most common value of each field of each command.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter, defaultdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .documents import documents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

HERE = Path(__file__).parent
SCENARIOS = sorted(path.stem for path in (HERE / "scenarios").glob("*.sh"))
#: Seconds in what times are counted, and how much later than recorded something may be.
_UNIT, _GRACE = 600, 120


class Key(NamedTuple):
    """Where a value was told."""

    moment: str
    command: str
    record: str
    field: str


#: What is left out, by command.
_ASIDE = {
    "squeue": {"L", "M"},
    "scontrol show job": {"AllocNode:Sid", "RunTime", "Scheduler", "SecsPreSuspend"},
    "scontrol show node": {
        *("Arch", "BootTime", "CPULoad", "FreeMem", "LastBusyTime", "NodeHostName", "OS", "Port", "SlurmdStartTime"),
        *("Version", "NodeAddr"),
    },
    "scontrol show step": {"SrunHost:Pid"},
    "sacct": {
        *(
            "AssocID",
            "AveCPU",
            "AveCPUFreq",
            "AveDiskRead",
            "AveDiskWrite",
            "AvePages",
            "AveRSS",
            "AveVMSize",
            "CPUTime",
        ),
        *("CPUTimeRAW", "DBIndex", "Elapsed", "ElapsedRaw", "MaxDiskRead", "MaxDiskReadNode", "MaxDiskReadTask"),
        *("MaxDiskWrite", "MaxDiskWriteNode", "MaxDiskWriteTask", "MaxPages", "MaxPagesNode", "MaxPagesTask", "MaxRSS"),
        *("MaxRSSNode", "MaxRSSTask", "MaxVMSize", "MaxVMSizeNode", "MaxVMSizeTask", "MinCPU", "MinCPUNode"),
        *("MinCPUTask", "QOSRAW", "Reserved", "ResvCPU", "ResvCPURAW", "Suspended", "SystemCPU", "TotalCPU"),
        *("TRESUsageInAve", "TRESUsageInMax", "TRESUsageInMaxNode", "TRESUsageInMaxTask", "TRESUsageInMin"),
        *("TRESUsageInMinNode", "TRESUsageInMinTask", "TRESUsageInTot", "TRESUsageOutAve", "TRESUsageOutMax"),
        *("TRESUsageOutMaxNode", "TRESUsageOutMaxTask", "TRESUsageOutMin", "TRESUsageOutMinNode"),
        *("TRESUsageOutMinTask", "TRESUsageOutTot", "UserCPU"),
        # Slurm sometimes has it, and sometimes not.
        "DerivedExitCode",
        *("ConsumedEnergy", "ConsumedEnergyRaw", "ReservationId", "WCKeyID", "TimelimitRaw", "Flags"),
    },
    "sinfo": {"e"},
}
#: Where it is shown which signal has ended a step. When its job ends, SIGTERM or SIGKILL does, as chance has it.
_OF_STEPS = {("sacct step", "ExitCode"), ("squeue -O", "DerivedEC")}
_ENDED = re.compile(r"(^| )(0:)?(9|15)$|(?<=\.batch batch lab 1 FAILED )(9|15):0$", re.MULTILINE)
#: The same of a script that has become the srun of such a step, and of its job: 128 and the signal.
_OF_SCRIPTS = {("scontrol show job", "ExitCode"), ("squeue -O", "Exit_Code"), ("sacct step", "ExitCode")}
_AS_STEP = re.compile(r"\w+ ((137|143):0|35072|36608)|\w+\.batch (9|15):0")
#: Numbers of users and groups.
_UIDS = {"U", "G", "UID", "GID", "UserId", "user_id", "group_id"}
_LETTERS = "aABcCdDeEfFgGhHiIjJkKlLmMnNoOpPqQrRStTuUvVwWxXyYzZ"
_SINFO = "NAbcCdeEfGmtTuUwXYzZ"
_SINFO_PARTITIONS = "RaBDFghIlLMprsS"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_DATE = re.compile(r"\w{3} \w{3} +\d+ [\d:]{8} \d{4}")
_NUMBER = re.compile(r"(?<![\d.])7\d{4}(?!\d)")


def read(raw: str, words: Mapping[str, str]) -> dict[Key, str]:
    """Read what ``steps.sh`` has written.

    Args:
        raw: The text.
        words: Words for texts that belong to the place where the scenario ran, longest text first.
    """
    names = dict(re.findall(r"(?m)^##### name\t(\w+)\t(\d+)$", raw))
    names = {number: name for name, number in names.items()}
    found: dict[Key, str] = {}
    for block in re.split(r"(?m)^##### (?!name\t)", raw)[1:]:
        head, *lines = [line for line in block.split("\n") if line.strip() and not line.startswith("##### name\t")]
        moment, command, asked = head.split("\t")
        known = _Replace(names, words, int(asked))
        reader = next((reader for start, reader in _READERS.items() if command.startswith(start)), _lines)
        for record, field, text in reader(command, lines):
            short = re.split(" Array|(?<=--json) -j ", command)[0]
            if short in {"sacct", "sacct --json"} and "." in record:
                short += " step"
            if field in _ASIDE.get("sacct" if short == "sacct step" else short, ()):
                continue
            value = known(re.sub(r"\d+", "UID", text) if field in _UIDS else text)
            if (short, field) in _OF_SCRIPTS and _AS_STEP.fullmatch(f"{known(record)} {value}"):
                value = "KILLED"
            elif (short, field) in _OF_STEPS or "table" in short:
                value = _ENDED.sub(r"\g<1>KILLED", value)
            found[Key(moment, known(short), known(record), field)] = (
                _SPAN.sub(_span, value) if "table" in short else value
            )
    return found


class _Replace:
    """Replaces what belongs to one cluster and one moment."""

    def __init__(self, names: Mapping[str, str], words: Mapping[str, str], now: int) -> None:
        self._names = names
        self._words = words
        self._now = now

    def __call__(self, text: str) -> str:
        for one, word in self._words.items():
            text = re.sub(rf"(?<![\w/]){re.escape(one)}(?![\w])", word, text)
        text = re.sub(r"\bslurmstepd-n\d+:", "slurmstepd:", text)  # with several on a machine each says its node
        text = re.sub(r"(?<=CANCELLED by )\d+", "UID", text)
        text = _DATE.sub("DATE", _TIME.sub(self._ahead, text))
        return _NUMBER.sub(lambda match: self._names.get(match[0], "ID"), text)

    def _ahead(self, match: re.Match[str]) -> str:
        ahead = int(datetime.fromisoformat(match[0]).astimezone().timestamp()) - self._now
        return f"{(ahead + _GRACE) // _UNIT * 10:+d}min"


# ---- the forms of answers ---------------------------------------------------------------------------------------


def _lines(command: str, lines: list[str]) -> Iterator[tuple[str, str, str]]:
    """Tables and the output of other commands: lines without their padding; those of tables in any order."""
    shown = [re.sub(r" +", " ", line).strip() for line in lines]
    if " table" in command:
        shown.sort()
    yield "", "text", "\n".join(shown)


_SPAN = re.compile(r"(?<![+\d])(\d+-)?(\d+:)?\d?\d:\d\d(?![\w:])")


def _span(match: re.Match[str]) -> str:
    """Leave limits, which are whole minutes, and replace how long something took."""
    return match[0] if match[0].endswith("0:00") and match[0] != "0:00" else "SPAN"


def _squeue(command: str, lines: list[str]) -> Iterator[tuple[str, str, str]]:
    for line in lines:
        cells = dict(zip(_LETTERS, line.split("^"), strict=True))
        if "_" in cells["i"]:
            cells["A"] = "its own"
        yield from ((cells["i"], name, cell) for name, cell in cells.items())


def _squeue_named(command: str, lines: list[str]) -> Iterator[tuple[str, str, str]]:
    names = command.split(" -O ")[1].split(",")
    for line in lines:
        cells = dict(
            zip(names, (line[place : place + 150].strip() for place in range(0, len(line), 150)), strict=False)
        )
        task = cells.pop("ArrayTaskId")
        record = cells.pop("ArrayJobId") + ("" if task == "N/A" else f"_{task}")
        yield from ((record, name, cell) for name, cell in cells.items())


#: Keys of jobs whose value is the rest of the line.
_REST = "JobName|Command|WorkDir|Comment|StdErr|StdIn|StdOut|Power"
_PAIRS = re.compile(rf"({_REST})=(.*)|([A-Z][\w:/]*)=(\S*)")


def _job(command: str, lines: list[str]) -> Iterator[tuple[str, str, str]]:
    for block in re.split(r"\n(?=JobId=)", "\n".join(lines)):
        cells = {str(long or short): str(rest or word).strip() for long, rest, short, word in _PAIRS.findall(block)}
        record = cells.get("JobId", block)
        if "ArrayJobId" in cells:
            record = f"{cells['ArrayJobId']}_{cells['ArrayTaskId']}"
            cells["JobId"] = "its own"
        yield from ((record, name, cell) for name, cell in cells.items())
        if not cells:
            yield block, "text", block


def _pairs(command: str, lines: list[str]) -> Iterator[tuple[str, str, str]]:
    for line in lines:
        cells = re.findall(r"(?:^| )([A-Z][\w:/]*)=(.*?)(?=\s+[A-Z][\w:/]*=|\s*$)", line)
        record = cells[0][1] if cells else line
        yield from ((record, name, cell) for name, cell in cells)
        if not cells:
            yield line, "text", line


def _sacct(command: str, lines: list[str]) -> Iterator[tuple[str, str, str]]:
    header = lines[0].split("^")
    seen: Counter[str] = Counter()
    for line in lines[1:]:
        cells = dict(zip(header, line.split("^"), strict=True))
        record = cells["JobID"]
        if "_" in record:
            cells["JobIDRaw"] = "its own"
        seen[record] += 1
        again = f"#{seen[record]}" if seen[record] > 1 else ""  # a requeued job has several
        yield from ((record + again, name, cell) for name, cell in cells.items())


def _sinfo(command: str, lines: list[str]) -> Iterator[tuple[str, str, str]]:
    names = _SINFO_PARTITIONS if command == "sinfo -s" else _SINFO
    for line in lines:
        (_, record), *cells = zip(names, line.split("^"), strict=True)
        yield from ((record, name, cell) for name, cell in cells)


_READERS: dict[str, Callable[[str, list[str]], Iterator[tuple[str, str, str]]]] = {
    **dict.fromkeys(("squeue --json", "sacct --json", "sinfo --json", "objects"), documents),
    "squeue table": _lines,
    "squeue -O": _squeue_named,
    "squeue": _squeue,
    "scontrol show job": _job,
    "scontrol show": _pairs,
    "sacct table": _lines,
    "sacct": _sacct,
    "sinfo table": _lines,
    "sinfo": _sinfo,
}


# ---- the recording ----------------------------------------------------------------------------------------------


def usual_of(every: Iterable[Mapping[Key, str]]) -> dict[tuple[str, str], str]:
    """Give the most common value of each field that most records of its command have."""
    values: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    records: Counter[str] = Counter()
    for one in every:
        records.update(command for _, command, _ in {key[:3] for key in one})
        for key, value in one.items():
            if key.record:
                values[key.command, key.field][value] += 1
    return {
        (command, field): max(sorted(found), key=found.__getitem__)
        for (command, field), found in sorted(values.items())
        if found.total() > records[command] / 2
    }


def write(found: Mapping[Key, str], usual: Mapping[tuple[str, str], str]) -> str:
    """Give the text of a recording: what is not usual; ``-FIELD`` is a field that is not there."""
    records: dict[tuple[str, str, str], dict[str, str]] = defaultdict(dict)
    for key, value in found.items():
        records[key[:3]][key.field] = value
    lines = []
    for record, values in records.items():
        parts = [
            f"{field}={line}"
            for field, value in values.items()
            if value != usual.get((record[1], field))
            for line in value.split("\n")
        ]
        lacks = [f"-{field}" for command, field in usual if command == record[1] and field not in values]
        lines.append(shlex.join([*record, *parts, *(lacks if record[2] else [])]))
    return "".join(f"{line}\n" for line in lines)


def write_usual(usual: Mapping[tuple[str, str], str]) -> str:
    """Give the text of ``usual.txt``."""
    return "".join(shlex.join((command, f"{field}={value}")) + "\n" for (command, field), value in usual.items())


def read_usual(text: str) -> dict[tuple[str, str], str]:
    """Read ``usual.txt``."""
    lines = (shlex.split(line) for line in text.splitlines())
    return {
        (command, field): value for command, (field, _, value) in ((one[0], one[1].partition("=")) for one in lines)
    }


def read_recording(text: str, usual: Mapping[tuple[str, str], str]) -> dict[Key, str]:
    """Read a recording. A field that is given several times has several lines."""
    fields: dict[str, dict[str, str]] = defaultdict(dict)
    for (command, field), value in usual.items():
        fields[command][field] = value
    found: dict[Key, str] = {}
    for line in text.splitlines():
        moment, command, record, *unusual = shlex.split(line)
        given: dict[str, list[str]] = defaultdict(list)
        for one in unusual:
            field, equals, value = one.partition("=")
            given[field if equals else field.removeprefix("-")] += [value] if equals else []
        values = {**(fields[command] if record else {}), **{field: "\n".join(each) for field, each in given.items()}}
        found |= {
            Key(moment, command, record, field): value for field, value in values.items() if given.get(field) != []
        }
    return found
