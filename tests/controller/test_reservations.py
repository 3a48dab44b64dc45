"""Reservations that are created, changed and deleted, beside what Slurm 22.05.8 printed.

``recorded/reservations.txt``, by ``recorded/reservations.sh``.
"""

from __future__ import annotations

import re
import shlex
from difflib import ndiff
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_RECORDED = Path(__file__).parent / "recorded"
_CONF = """
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
AccountingStorageEnforce=associations,limits,qos
Licenses=matlab:2
NodeName=n[01-04] CPUs=4 Sockets=1 CoresPerSocket=4 RealMemory=8000
PartitionName=debug Nodes=ALL Default=YES DefMemPerCPU=100 MaxTime=INFINITE
PartitionName=half Nodes=n[03-04] MaxTime=INFINITE
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path, _CONF) as found:
        found.run("sacctmgr", "-i", "add", "account", "phys,chem")
        found.run("sacctmgr", "-i", "add", "user", "root", "account=root", check=False)
        yield found


#: What rota does otherwise on purpose (docs/differences.md): the last words of a command, and why.
_DIFFERENT = {
    "endtime=2035-01-01T10:00:00": "one without a time is refused",
    "duration=0": "one without a time is refused",
    "nodes=n01 flags=MAINT": "one for maintenance needs no users",
    "nodes=n01 users=0": "the user is shown by name",
    "nodecnt=1 flags=replace_down": "that holds in any case, and is not shown",
    "nodes+=n04": "nodes can be added",
    "nodes-=n01": "nodes can be taken away",
    "nodecnt=1": "its nodes were given",
    "nodecnt=+1": "nodes can be added",
    "reservationname=other skip": "rota has no such key",
    "nodecnt=9": "more than there are is refused",
    "flags=purge_comp=0": "that is five minutes, as without a number",
    "flags=purge_comp=-1": "that is five minutes",
}
#: The reservation beside which others are made.
_OTHER = (
    "scontrol create reservation reservationname=other starttime=2035-01-01T10:00:00 duration=60 users=root "
    "nodes=n[01-02]"
)
#: What rota refuses by name.
_REFUSED = {
    *("BurstBuffer", "CoreCnt", "Groups", "Licenses", "MaxStartDelay", "TRES", "Watts", "Another partition"),
    *("REPLACE", "STATIC_ALLOC", "FIRST_CORES", "LICENSE_ONLY", "ANY_NODES", "TIME_FLOAT"),
}


def _answers(text: str) -> list[tuple[str, list[str]]]:
    """Give each command that changes something, with what was said and shown then.

    Left out is what only one of both says besides. Numbers in names are the next ones.
    """
    text = re.sub(r"\broot_\d+", "root_#", text)
    found: list[tuple[str, list[str]]] = []
    for block in re.split(r"(?m)^##### ", text)[1:]:
        command, *lines = block.splitlines()
        kept: list[str] = []
        for line in lines:
            more = kept and kept[-1].startswith(("e| Error ", "e| delete_")) and line.startswith("e| ")
            if not more and not line.startswith(("e| slurm_update error: ", "o| Note, ", "o| If no partition ")):
                kept.append(line)
        if command.startswith("scontrol -o show"):
            found[-1][1].extend(kept)
        else:
            found.append((command, kept))
    return found


def _played(cluster: LiveCluster, commands: Iterable[str]) -> Iterator[str]:
    """Give the commands as the script does, and what is printed.

    Each finds what it would in the script: of those made before it only ``other``, and this as it was made if it is
    to change.
    """
    made = ""
    for command in commands:
        shows = command.startswith("scontrol -o show")
        changes = command.startswith("scontrol update reservation")
        if made and not shows and not (changes and f"={made} " in command):
            cluster.run("scontrol", "delete", f"reservation={made}")
            made = ""
        if changes:
            cluster.run("scontrol", "delete", "reservation=other", check=False)
        if changes and not made:
            cluster.run(*shlex.split(_OTHER))
        done = cluster.run(*shlex.split(re.sub(r"(?<=reservation root_)\S+", "1", command)), check=False)
        if done.stdout.startswith("Reservation created: ") and command != _OTHER:
            made = done.stdout.rstrip().removeprefix("Reservation created: ")
        yield f"##### {command}"
        yield from (f"o| {line}" for line in done.stdout.splitlines())
        yield from (f"e| {line}" for line in done.stderr.splitlines())
        yield f"rc={done.returncode}"


def test_a_job_that_is_attracted_knows_where_it_is(cluster: LiveCluster) -> None:
    """As recorded in ../core/data/real_slurm/magnetic.txt, but that sacct of Slurm does not name the reservation."""
    cluster.run(*shlex.split(_OTHER.replace("2035-01-01T10:00:00", "now")), "flags=magnetic")
    job = str(cluster.submit("--wait", "-o", "out", "--wrap", "echo $SLURM_JOB_RESERVATION $SLURM_JOB_NODELIST"))
    assert (cluster.directory / "out").read_text() == "other n01\n"
    assert " Reservation=other " in cluster.run("scontrol", "-o", "show", "job", job).stdout.replace("\n", " ")
    assert cluster.run("squeue", "-h", "-t", "all", "-o", "%v").stdout == "other\n"
    assert cluster.run("sacct", "-nXP", "-o", "Reservation").stdout == "other\n"


def test_as_recorded(cluster: LiveCluster) -> None:
    text = (_RECORDED / "reservations.txt").read_text()
    commands = [line.removeprefix("##### ") for line in text.splitlines() if line.startswith("##### ")]
    for node, features in (("n[01-02]", "old"), ("n03", "old,new"), ("n04", "new")):
        cluster.run("scontrol", "update", f"nodename={node}", f"features={features}")
    found, recorded = _answers("\n".join(_played(cluster, commands))), _answers(text)
    assert [command for command, _ in found] == [command for command, _ in recorded]
    differing, different, refused = [], set(), set()
    for (command, answer), (_, slurms) in zip(found, recorded, strict=True):
        if match := re.search(r"scontrol: error: (.*) of a reservation is not supported by rota\.", answer[0]):
            assert "rc=1" in answer
            refused.add(match[1])
        elif answer != slurms:
            known = next((words for words in _DIFFERENT if command.endswith(f" {words}")), "")
            different.add(known)
            if not known:
                differing.append("\n".join([command, *ndiff(slurms, answer)]))
    assert not differing, "\n".join(differing)
    assert different == set(_DIFFERENT)
    assert refused == _REFUSED
