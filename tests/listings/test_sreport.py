"""``sreport`` on the cluster on which Slurm 22.05.8 answered the commands in data/sreport.txt: see data/README.md."""

from __future__ import annotations

import shlex
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from slurm.release import as_upstream

from rota.accounting import AssociationTree
from rota.listings import run
from rota.model import Association, JobSpec
from rota.model.accounting import AccountingRecord, JobDetails
from rota.model.lines import AssociationLine, JobLine

from .rig import Snapshot, rig


def _at(text: str) -> int:
    return int(datetime.fromisoformat(f"2026-11-22T{text}+00:00").astimezone(UTC).timestamp())


#: User, account, processors, start and end. The last one waited for 20 seconds.
_JOBS = (
    ("root", "phys", 3, "18:30:22", "18:30:52"),
    ("games", "phys", 2, "18:30:22", "18:30:47"),
    ("games", "chem", 4, "18:30:22", "18:30:42"),
    ("proxy", "phys", 8, "18:30:42", "18:31:15"),
)
#: Commands that are meant to be answered in another way, and how: docs/differences.md.
DIFFERENT = {
    "sreport cluster utilization format=nosuch": "nothing is printed before an error",
    "sreport cluster utilization format=Cluster,TRESName": "Planned is the time planned, in Slurm that planned down",
    "sreport cluster AccountUtilizationByUser format=cluster,account,login,proper,used,energy,tresname,tres": (
        "tres is the name of the TRES"
    ),
    "sreport cluster UserUtilizationByWckey": "not supported",
    "sreport job sizesbyaccount": "not supported",
    "sreport reservation utilization": "not supported",
    "sreport -t nosuch": "it is refused",
    "sreport -n user top topcount=3x": "it is refused",
    "sreport cluster utilization start=nosuch": "it is refused",
    "sreport cluster utilization nosuch=3": "nothing is printed before an error",
    "sreport cluster utilization start=2026-11-22T19:30:00": "the hour is not over in Slurm",
    "sreport -nP cluster utilization start=now-1hour": "the hour is not over in Slurm",
}


def _hour() -> Snapshot:
    """The cluster that was registered at 18:29:09, and one node of which was down for 8 seconds."""
    node = rig().node_lines[0]
    names = {"root": 0, "chem": 1, "phys": 1}
    ids = {name: place for place, name in enumerate(names, start=1)}
    accounts = [Association(id=ids[name], account=name, parent_id=up) for name, up in names.items()]
    tree = AssociationTree("rig", accounts)
    return Snapshot(
        now=_at("20:32:00"),
        node_lines=[replace(node, name=f"n{n}", cpus=4, memory=8000, gres=("gpu:2",)) for n in (1, 2, 3, 4)],
        boot_time=_at("18:29:09"),
        downs=[("n4", _at("18:30:22"), _at("18:30:30"))],
        association_lines=[AssociationLine(association=one, depth=depth) for one, depth in tree.hierarchy()],
        records=[_record(job_id, job) for job_id, job in enumerate(_JOBS, start=1)],
        tres=("cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages", "gres/gpu"),
    )


def _record(job_id: int, job: tuple[str, str, int, str, str]) -> AccountingRecord:
    user, account, cpus, start, end = job
    line = JobLine(
        job_id=job_id, name="wrap", user=user, user_id=0, account=account, qos="normal", partition="debug",
        state="COMPLETED", state_compact="CD", base_state="COMPLETED", reason="None", priority=1, nice=0,
        submit_time=_at("18:30:22"), eligible_time=_at("18:30:22"), start_time=_at(start), end_time=_at(end),
        time_limit=3600, num_nodes=1, num_cpus=cpus, request=JobSpec(cpus),
        tres_allocated={"cpu": cpus, "mem": 100 * cpus, "billing": cpus},
    )  # fmt: skip
    return AccountingRecord(job=line, details=JobDetails())


def _recorded() -> dict[str, tuple[int, str, str]]:
    found = {}
    text = as_upstream((Path(__file__).parent / "data" / "sreport.txt").read_text())
    for block in ("\n" + text).split("\n$ ")[1:]:
        command, code, *lines = block.rstrip("\n").split("\n")
        out = "".join(f"{line}\n" for line in lines if not line.startswith("! "))
        err = "".join(f"{line[2:]}\n" for line in lines if line.startswith("! "))
        found[command] = (int(code.removeprefix("# exit ")), out, err)
    return found


RECORDED = _recorded()


@pytest.fixture(scope="module")
def view() -> Snapshot:
    return _hour()


@pytest.mark.parametrize("command", RECORDED)
def test_answer_is_slurms(command: str, view: Snapshot) -> None:
    code, out, err = RECORDED[command]
    answer = run(shlex.split(command), {}, view)
    same = (answer.code, answer.out, answer.err) == (code, out, err)
    if any(command.startswith(one) for one in DIFFERENT):
        assert not same
    else:
        assert (answer.code, answer.out, answer.err) == (code, out, err)
