"""What Slurm 22.05 did in the same situation; data/real_slurm/README.md says how that was recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from .scenarios import Player, read_scenarios

DATA = Path(__file__).parent / "data" / "real_slurm"
SCENARIOS = {f"{path.stem}/{one.name}": one for path in sorted(DATA.glob("*.txt")) for one in read_scenarios(path)}


#: Scenarios that end otherwise here, and why.
DIFFERENT = {
    "deadlines/missed-while-pending": "with Slurm seconds pass while jobs are submitted",
    "deadlines/refused": "event files tell times from the submission alone",
    "deadlines/time-min": "what is wrong is said in other words",
    "preemption/partition-victim-priority": "squeue forgets the nodes of cancelled jobs",
    **dict.fromkeys(
        ("prefer/ahead", "prefer/constraint", "prefer/free"),
        "with 22.05 a job that prefers nodes waits behind itself: the first in line has the reason Priority",
    ),
    "linear/features-counts-twice": "each count in turn takes the lightest nodes, whatever the next one needs",
    "linear/impossible-waits": "what could never run is refused, and never waits",
    "linear/memory-of-all-CPUs": "what could never run is refused, and never waits",
    "linear_sharing/features-counts": "nodes that are counted are looked for together, not one count after the other",
    "linear_sharing/limit-nodes": "nodes that count for a limit already are not preferred",
    "linear_sharing/memory-unequal-nodes": "Slurm takes the memory of a partition's first node for that of all",
    "placements/two-sockets-tasks-CR_Socket": "sockets are as few as processors need, not one for each task",
    "reservations/FLEX": "a job in it on nodes without and within waits in Slurm, for nothing that it names",
    "reservations/FLEX-now": "of two nodes the one has more of a job's cores here",
    "reservations/job-update": "all nodes are reserved, and they are named: see unavailable/all-reserved-by-name",
    "reservations/no-time-limit": "a job cannot know in rota that a reservation will cut it short",
    "reservations/several": "a job names one reservation",
    "reservations/users-and-accounts": "whether a reservation's users have its accounts is not looked at",
    "arrays/cancel-pending-tasks-by-list": "a request has no user so far who might not be allowed to make it",
    "arrays/hold-array": "tasks that run are not held",
    "arrays/hold-task": "a task that is held waits by itself, and squeue shows it so",
    "arrays/pending-text": "squeue -r of Slurm leaves out the last task of 0-98:2",
    "arrays/priority": "tasks that wait apart are shown apart",
    "arrays/requeue-task": "a job that is queued again may start at once; reasons are codes, not sentences",
    "dependencies/requeued": "reasons are codes, not sentences",
    "licenses/held-with-licence": "reasons are codes, not sentences",
    "unavailable/all-reserved-by-name": "whether the nodes were named does not matter for what is said",
    "limits/qos-GrpTRESMins-used-up": "the job ends when the limit is used up: Slurm looks every 30 s, and it is over",
    "limits/raised-later": "jobs are looked at when limits change",
    "limits/scontrol-update": "a request has no user so far who might not be allowed to make it",
    "licenses/both": "a job that waits for licences says so, also behind one that waits for resources",
    "limits/held-up-assoc_limit_stop": "backfill reserves nothing for what a limit holds back: others get its node",
    "limits/groups-ANY": "with EnforcePartLimits=ANY it is enough if one partition lets a user in",
    "limits/partition-allow": "jobs 6 and 7 fill up node n1, and go to n2 in Slurm",
    "limits/partition-limits-NO": "what could never run is refused, and never waits",
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_it_is_as_with_slurm(name: str, tmp_path: Path) -> None:
    if any("SUSPEND" in line for line in SCENARIOS[name].own):
        pytest.skip("rota suspends no jobs so far")
    try:
        wrong = Player(SCENARIOS[name], tmp_path).play()
    except NotImplementedError as error:
        pytest.skip(f"rota has no such request so far: {error}")
    if name in DIFFERENT:
        assert wrong  # else it is not different
    else:
        assert wrong == []
