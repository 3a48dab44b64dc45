"""Another recorded cluster, of 16 nodes with 4 CPUs: every recorded command prints the same. See data/README.md.

What was not recorded of a job is taken from a similar one.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rota.model import ClusterConfig, JobState, StepRecord
from rota.model.accounting import AccountingRecord, JobDetails

from .rig import USERS, Snapshot, answer_of, hosts, job_of, node_of, partition_of, recorded, seconds, unix

if TYPE_CHECKING:
    from rota.model.lines import JobLine, NodeLine

GOLDEN = recorded("golden-16-nodes.txt")
#: Commands that are compared by themselves.
DIFFERENT = {"sinfo -N -l": "the partitions of a node come in another order"}
_OTHERS = {"stdout": "/dev/null", "stderr": "/dev/null", "wckey": "", "associd": "2"}


def _jobs() -> dict[int, tuple[JobLine, JobDetails]]:
    """Read jobs of ``scontrol``, and the others of ``squeue`` and a similar one."""
    found = {}
    texts = [one.out for name, one in GOLDEN.items() if name.startswith("scontrol show job") and not one.code]
    text = "".join(texts) + GOLDEN["scontrol -o show job 8"].out
    for record in re.split(r"(?:^|\n)(?=JobId=)", text):
        if not record.strip():
            continue
        one = record if "DerivedExitCode" in record else f"{record.strip()}\nDerivedExitCode=0:0"
        why = re.search(r"Reason=(\S+)", one)
        assert why is not None
        line, details = job_of(one, {**_OTHERS, "reason": why[1]})
        found[line.job_id] = line, details
    table = GOLDEN["squeue -O jobid,jobarrayid,state,reason,priority,name:20,username,timelimit,starttime"].out
    for row in table.splitlines()[1:]:
        job_id, _, state, reason, priority, name, user, limit, start = (
            row[place * 20 : place * 20 + 20].strip() for place in range(9)
        )
        if int(job_id) in found:
            continue
        model, details = found[12] if state == "RUNNING" else found[8]
        begun = unix(start)
        line = model._replace(
            job_id=int(job_id),
            array_job_id=None,
            array_task="",
            user_id={name: uid for uid, name in USERS.items()}[user],
            account={"alice": "phys", "carol": "chem"}.get(user, "root"),
            state=state,
            base_state=state,
            state_compact=JobState(state).compact,
            reason=reason,
            start_time=begun,
            time_limit=seconds(f"0:{limit}"),
            priority=round(float(priority) * (2**32 - 1)),
            name=name,
            user=user,
        )
        if state == "RUNNING":
            nodes = hosts({"1": "n[01-02]", "2": "n[03-04]"}[job_id])
            tres = {"cpu": 8, "mem": 800, "node": 2, "billing": 8}
            line = line._replace(
                nodes=nodes, num_nodes=2, num_cpus=8, request=line.request._replace(num_tasks=8), tres_allocated=tres
            )
        found[line.job_id] = line, details
    return found


def _nodes() -> list[NodeLine]:
    first = node_of(GOLDEN["scontrol show node n01"].out)
    second = node_of(GOLDEN["scontrol -o show node n02"].out)
    found = [first, second]
    for number in range(3, 17):
        parts = ("debug", "high", "short") if number < 9 else ("debug", "high")
        node = replace(first, name=f"n{number:02}", partitions=parts)
        if number == 5:
            node = replace(node, state="MIXED", base_state="MIXED", cpus_allocated=2)
        elif number > 5:
            node = replace(node, state="PLANNED", base_state="IDLE", flags=("PLANNED",), cpus_allocated=0)
        found.append(node)
    return found


@pytest.fixture(scope="module")
def view() -> Snapshot:
    jobs = _jobs()
    debug = partition_of(GOLDEN["scontrol show partition debug"].out)
    high = replace(debug, name="high", default=False, max_time=3600)
    short = replace(debug, name="short", default=False, max_time=600, nodes=debug.nodes[:8])
    began = {1: "n01", 2: "n03"}
    batch = StepRecord(step_id="batch", name="batch", cpus=4, start_time=jobs[1][0].start_time or 0)
    steps = {number: [replace(batch, nodes=(node,))] for number, node in began.items()}
    ended = []
    for number, name, state, code in (
        (3, "first", "COMPLETED", 0),
        (4, "fails", "FAILED", 3),
        (5, "kill", "CANCELLED", 0),
    ):
        line = jobs[12][0]._replace(
            job_id=number,
            array_job_id=None,
            array_task="",
            name=name,
            state=state,
            base_state=state,
            state_compact=JobState(state).compact,
            exit_code=code,
            end_time=(jobs[12][0].start_time or 0) + 1,
        )
        ended.append((line, replace(jobs[12][1], cancelled_by=0 if state == "CANCELLED" else None)))
    return Snapshot(
        config=ClusterConfig(cluster_name="rig", nodes=(), partitions=(), parameters={"slurmctldhost": "vm"}),
        job_lines=[line for line, _ in jobs.values()],
        job_details={number: details for number, (_, details) in jobs.items()},
        job_steps=steps,
        node_lines=_nodes(),
        partition_lines=[debug, high, short],
        records=[
            AccountingRecord(job=line, details=details, steps=tuple(steps.get(line.job_id, ())))
            for line, details in (*jobs.values(), *ended)
        ],
    )


@pytest.mark.parametrize("command", [one for one in GOLDEN if one not in DIFFERENT])
def test_answer_is_slurms(command: str, view: Snapshot) -> None:
    expected = GOLDEN[command]
    answer = answer_of(view, command, expected.now)
    assert (answer.err, answer.code) == (expected.err, expected.code)
    if command.startswith(("squeue", "sacct -X")):  # rows of equal keys come in an order that Slurm leaves open
        assert sorted(answer.out.splitlines()) == sorted(expected.out.splitlines())
    else:
        assert answer.out == expected.out


def test_rows_of_nodes_are_slurms(view: Snapshot) -> None:
    expected = GOLDEN["sinfo -N -l"]
    answer = answer_of(view, "sinfo -N -l", expected.now)
    assert sorted(answer.out.splitlines()) == sorted(expected.out.splitlines())
