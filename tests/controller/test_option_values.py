"""Values of all options of sbatch, salloc and srun, of their variables and of directives, beside Slurm 22.05.8.

``recorded/options.txt`` is what Slurm said and did, made by ``recorded/options.py``. ``data/options-different.txt``
names all that differs, and why. rota may say more about what it refuses.
"""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from controller.direct import Said, call
from controller.recorded.options import Case, fields, outcome
from controller.rig import CONF
from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONF = f"{CONF}MailProg=/bin/true\nMaxArraySize=10001\nPropagateResourceLimits=NONE\n"
_HERE = Path(__file__).parent


class _Recorded(NamedTuple):
    """What Slurm did with a value."""

    case: Case
    status: str
    lines: tuple[str, ...]


def _recorded() -> dict[str, list[_Recorded]]:
    """Read what was recorded, by option, variable and so on."""
    found: dict[str, list[_Recorded]] = {}
    for part in (_HERE / "recorded" / "options.txt").read_text().split("##### ")[1:]:
        about, _, rest = part.partition("\n")
        for paragraph in rest.strip("\n").split("\n\n"):
            lines = [line for line in paragraph.split("\n") if not line.startswith("= ")]
            for head in (line for line in paragraph.split("\n") if line.startswith("= ")):
                outer, _, values = head.partition(" | ")
                _, status, *commands = outer.split()
                cases = [
                    Case(command=one, about=about, value=value) for one in commands for value in shlex.split(values)
                ]
                found.setdefault(about, []).extend(_Recorded(case, status, tuple(lines)) for case in cases)
    return {about: _asked(rows) for about, rows in found.items()}


def _asked(rows: list[_Recorded]) -> list[_Recorded]:
    """Leave out allocations with values that ``sbatch`` takes as well: each costs a job that runs."""
    taken = {row.case["value"] for row in rows if row.case["command"] == "sbatch" and row.status == "0"}
    refused = {"1", "255"}
    return [row for row in rows if row.case["command"] == "sbatch" or row.status in refused or not taken]


_RECORDED = _recorded()


def _different() -> dict[str, set[tuple[str, str]]]:
    """Read which commands and values differ, by what they are about."""
    found: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for line in (_HERE / "data" / "options-different.txt").read_text().splitlines():
        about, bar, rest = line.partition(" | ")
        if bar and not line.startswith("#"):
            commands, _, values = rest.partition(" | ")
            found[about] |= {(command, value) for command in commands.split() for value in shlex.split(values)}
    return found


_DIFFERENT = _different()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    """A cluster like the one that was recorded."""
    with LiveCluster(tmp_path_factory.mktemp("values"), _CONF) as found:
        found.run("sacctmgr", "-i", "add", "account", "phys")
        found.run("sacctmgr", "-i", "add", "qos", "urgent")
        found.run("sacctmgr", "-i", "modify", "user", "root", "set", "qos+=urgent")
        yield found


@pytest.fixture(scope="module")
def usual(cluster: LiveCluster) -> dict[str, str]:
    """What is shown of a job without options."""
    said = _given(cluster, Case(command="sbatch", about="{}", value=""))
    shown = _shown(cluster, said)
    call(cluster, ["scancel", said.job], {})
    return shown


#: What is compared in the fast tests.
_FEW = {"{}", "directive {}", "$SBATCH_TIMELIMIT={}"}
_FEW |= {f"--{name}={{}}" for name in ("nodes", "ntasks", "time", "mem", "partition")}


@pytest.mark.parametrize(
    "about", [pytest.param(one, marks=() if one in _FEW else pytest.mark.slow) for one in _RECORDED]
)
def test_values(cluster: LiveCluster, usual: dict[str, str], about: str) -> None:
    differ = set()
    for case, status, lines in _RECORDED[about]:
        said = _given(cluster, case, status)
        shown = _shown(cluster, said) if case["command"] == "sbatch" else {}
        if said.job:
            call(cluster, ["scancel", said.job], {})
        found = outcome(case, said.text, shown, usual, str(cluster.directory))
        fields_ = [line for line in found if line.startswith("->")]
        same = [line for line in lines if line.startswith("->")] == fields_
        more = said.status == "0" and len(found) > len(lines)
        if said.status != status or not same or more or not {*lines} <= {*found}:
            differ.add((case["command"], case["value"]))
    assert differ == _DIFFERENT.get(about, set())


def _given(cluster: LiveCluster, case: Case, status: str = "") -> Said:
    """Give a command line; once more if it should not have to wait, as the job before may not have ended yet."""
    words, variables, script = case.call()
    said = call(cluster, words, variables, script or "")
    if said.status == "waits" and status == "0":
        cluster.run("scancel", "--user=root")
        cluster.idle()
        said = call(cluster, words, variables, script or "")
    found = re.search(r"(?:Submitted batch job|(?:Granted|Pending) job allocation|\bjob) (\d+)", said.text)
    return said._replace(job=found[1]) if found else said


def _shown(cluster: LiveCluster, said: Said) -> dict[str, str]:
    if not said.job:
        return {}
    text = call(cluster, ["scontrol", "show", "job", said.job], {}).text
    return fields(text, said.job, str(cluster.directory))


def test_what_differs_is_of_the_recording() -> None:
    recorded = {(about, row.case["command"], row.case["value"]) for about, rows in _RECORDED.items() for row in rows}
    assert {(about, *row) for about, rows in _DIFFERENT.items() for row in rows} <= recorded


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("salloc --hint=help", 1),
        ("srun --hint=help true", 1),
        ("sbatch --mem-bind=help", 255),
        ("salloc --mem-bind=help", 255),
        ("srun --mem-bind=help true", 255),
        ("srun --cpu-bind=help true", 1),
    ],
)
def test_values_are_listed_on_standard_output(cluster: LiveCluster, words: str, status: int) -> None:
    """Streams and exit codes are those of Slurm 22.05.8; the lists are rota's."""
    done = cluster.run(*words.split(), check=False)
    assert (done.stdout != "", done.stderr, done.returncode) == (True, "", status)
