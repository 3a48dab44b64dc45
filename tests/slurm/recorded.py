"""Random scenarios with a real Slurm's answers, in one file; and which of their records are known to differ.

``python -m slurm --keep FOLDER`` makes such scenarios, ``python -m slurm --bundle FOLDER`` adds them to the file. After
a change that is meant, ``python -m slurm --again --write`` writes what differs now. Causes are kept; those of new
differences have to be written by hand: the name of a scenario of core/data/real_slurm/causes.txt, which shows it with
as little as there can be.
"""

from __future__ import annotations

import lzma
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .draw import Drawn
from .play import compare
from .shrink import signature

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .play import Outcome

FILE = Path(__file__).parent / "recorded.txt.xz"
#: The scenarios of `FILE` that differ: name and cause, the number of records that do, and how the first one does.
KNOWN = Path(__file__).parent / "known.txt"
_BEGIN = re.compile(r"^== (\S+)$", re.MULTILINE)
#: Before the number of a job in a line of a scenario.
_OF_JOB = re.compile(r"(^(?:end|scancel|scontrol (?:requeue|hold|release)) |\bjobid=|\bafter\w*:)(?=\d)")


class Result(NamedTuple):
    """What came of a scenario."""

    kind: str
    seed: int
    records: int
    #: Records that differ, by the columns by which they do.
    differing: Counter[str]
    #: The number of those that differ in something that counts.
    unequal: int
    #: The sort of its first difference, if it has one.
    sort: tuple[str, ...] = ()
    #: Why there is nothing to compare.
    failed: str = ""

    @property
    def name(self) -> str:
        """The name of the scenario."""
        return f"{self.kind}-{self.seed}"

    @property
    def what(self) -> str:
        """What differs, as in `KNOWN`."""
        return f"{self.unequal} {' '.join(self.sort)}".rstrip()


class Known(NamedTuple):
    """What is known of a scenario that differs."""

    #: Why, as the name of the least scenario that does so.
    cause: str
    #: Number of records that differ, and how the first one does.
    what: str


def result(kind: str, seed: int, outcome: Outcome) -> Result:
    """Count what differs."""
    first = outcome.first
    fields = Counter(name for one in outcome.differences for name in one.fields)
    unequal = sum(one.counts for one in outcome.differences)
    unequal = outcome.records if any("crash" in one.fields for one in outcome.differences) else unequal
    return Result(kind, seed, outcome.records, fields, unequal, () if first is None else signature(first))


def read(path: Path = FILE) -> dict[str, str]:
    """Give the scenarios of a file, or of a folder of such files, by name."""
    if path.is_dir():
        return {one.stem: one.read_text(encoding="utf-8") for one in sorted(path.glob("*.txt"))}
    with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as file:
        text = file.read()
    begins = [*_BEGIN.finditer(text)]
    ends = [*(one.start() for one in begins[1:]), len(text)]
    return {one[1]: text[one.start() : end] for one, end in zip(begins, ends, strict=True)}


def drawn(text: str) -> Drawn:
    """Read a scenario so that it can be carried out again; what Slurm has answered is used for the jobs' numbers."""
    name, *lines = (
        line for line in text.splitlines() if not line.startswith(("#", "clock: ")) and line not in {"", "end"}
    )
    kind, _, seed = name.removeprefix("== ").rpartition("-")
    own: dict[str, list[str]] = {"conf": [], "sacctmgr": []}
    steps: list[tuple[str, str]] = []
    for line, answer in zip(lines, [*lines[1:], ""], strict=True):
        key, _, rest = line.partition(": ")
        if key in own:
            own[key].append(rest)
        elif ": sbatch " in line:
            number = answer.removeprefix("> ")
            steps.append((f"j{number}" if number.isdecimal() else "refused", _OF_JOB.sub(r"\1j", line)))
        elif not line.startswith("> "):
            steps.append(("", _OF_JOB.sub(r"\1j", line)))
    return Drawn(kind, int(seed), tuple(own["conf"]), tuple(own["sacctmgr"]), tuple(steps))


def write(scenarios: Mapping[str, str]) -> None:
    """Write `FILE`."""
    with lzma.open(FILE, "wt", encoding="utf-8", preset=9 | lzma.PRESET_EXTREME) as file:
        file.writelines(scenarios[name] for name in sorted(scenarios))


def again(scenarios: Mapping[str, str]) -> list[Result]:
    """Compare rota with Slurm's answers."""
    results = []
    for name, text in scenarios.items():
        with tempfile.TemporaryDirectory() as folder:
            outcome = compare(text, Path(folder))
        kind, _, seed = name.rpartition("-")
        results.append(result(kind, int(seed), outcome))
    return results


def read_known() -> dict[str, Known]:
    """Give what is known, by the name of the scenario."""
    lines = KNOWN.read_text(encoding="utf-8").splitlines()
    return {name: Known(cause, what) for name, cause, what in (line.split(" ", 2) for line in lines)}


def write_known(results: Iterable[Result]) -> None:
    """Write `KNOWN`."""
    before = read_known()
    lines = [
        (one.name, before[one.name].cause if one.name in before else "?", one.what) for one in results if one.unequal
    ]
    KNOWN.write_text("".join(f"{' '.join(line)}\n" for line in sorted(lines)), encoding="utf-8")
