"""The known differences from Slurm: the file data/differences_from_slurm.txt, and how it is written.

``python -m tests.core.differences`` runs every scenario and writes the file. Reasons are kept; those of new differences
have to be written by hand.
"""

from __future__ import annotations

from difflib import ndiff
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from rota.testing import Harness

from .scenarios import Player, read_scenarios

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .scenarios import Scenario

_DATA = Path(__file__).parent / "data"
FILE = _DATA / "differences_from_slurm.txt"
_HEADER = """\
# Scenarios of real_slurm/ that end otherwise with rota, and why. Of each step with another answer there is its number
# in the scenario and its line, then the lines that differ: - what Slurm said, + what rota says. A test compares them
# all, so that a difference more shows, and one less. After a change that is meant, in the project's folder:
#
#     python -m tests.core.differences
"""


class Known(NamedTuple):
    """The known differences of a scenario; empty: there are none."""

    why: str = ""
    lines: tuple[str, ...] = ()


def scenarios() -> dict[str, Scenario]:
    """Read all scenarios, by file and name."""
    files = sorted((_DATA / "real_slurm").glob("*.txt"))
    return {f"{path.stem}/{one.name}": one for path in files for one in read_scenarios(path)}


def differences(scenario: Scenario, directory: Path, harness: type[Harness] = Harness) -> tuple[str, ...]:
    """Run a scenario with rota; give the lines of the file for its differences.

    Raises:
        NotImplementedError: rota does not have a request of the scenario.
    """
    if any("SUSPEND" in line for line in scenario.own):
        raise NotImplementedError("SUSPEND")
    lines: list[str] = []
    for step, slurm, rota in Player(scenario, directory, harness).play():
        lines += [f"step {step}", *(line for line in ndiff(slurm, rota) if line.startswith(("- ", "+ ")))]
    return tuple(lines)


def read_known() -> dict[str, Known]:
    """Read the file."""
    known: dict[str, Known] = {}
    name = ""
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            name = line[3:]
            known[name] = Known()
        elif line.startswith("why: "):
            known[name] = Known(line[5:])
        elif line and not line.startswith("#"):
            known[name] = known[name]._replace(lines=(*known[name].lines, line))
    return known


def write_known(known: Mapping[str, Known]) -> None:
    """Write the file."""
    parts = ["\n".join((f"== {name}", f"why: {why}", *lines)) for name, (why, lines) in known.items()]
    FILE.write_text("\n".join([_HEADER, *(part + "\n" for part in parts)]), encoding="utf-8")


def main() -> None:
    """Write the file with the present differences."""
    before, now = read_known(), dict[str, Known]()
    for name, scenario in scenarios().items():
        with TemporaryDirectory() as directory:
            try:
                lines = differences(scenario, Path(directory))
            except NotImplementedError:
                continue
        if lines:
            now[name] = before.get(name, Known())._replace(lines=lines)
    write_known(now)


if __name__ == "__main__":
    main()
