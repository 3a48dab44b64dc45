"""Accounting records are read as everything else that is kept is, only faster."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from rota.controller.kept_record import KeptRecord
from rota.core.plain import shape_of
from rota.model import JobSpec, JobState
from rota.model.accounting import AccountingRecord, JobDetails
from rota.model.lines import JobLine
from rota.model.step import StepRecord, Usage

_SHAPE = shape_of(AccountingRecord)
_JOB = JobLine(
    job_id=7,
    name="café",
    user="ann",
    user_id=1000,
    account="phys",
    qos="normal",
    partition="main",
    state="COMPLETED",
    state_compact="CD",
    base_state="COMPLETED",
    reason="None",
    priority=2**32 - 1,
    nice=0,
    submit_time=1_700_000_000,
    eligible_time=None,
    start_time=1_700_000_001,
    end_time=1_700_000_061,
    time_limit=None,
    num_nodes=2,
    num_cpus=4,
    array_job_id=5,
    array_task="2",
    reason_nodes=("n1", "n2"),
    tres_allocated={"cpu": 4, "mem": 100},
    nodes=("n1", "n2"),
    request=JobSpec(num_cpus=4, array="1-3", requeue=False, priority=5),
)
_STEPS = (
    StepRecord(step_id="batch", state=JobState.COMPLETED, nodes=("n1",), usage=Usage(user_seconds=1.5, max_rss=2**40)),
    StepRecord(step_id="0", held=(1, 1), end_time=1_700_000_060, usage=Usage(user_seconds=2, energy=3)),
)
_DETAILS = JobDetails(comment="x", cancelled_by=0, accrue_time=None)


@pytest.mark.parametrize(
    "record",
    [
        AccountingRecord(job=_JOB, details=_DETAILS, steps=_STEPS),
        AccountingRecord(job=_JOB._replace(array_job_id=None, array_task="", request=JobSpec()), details=JobDetails()),
        # Whole numbers that are too large for JSON are written as text.
        AccountingRecord(job=_JOB._replace(request=JobSpec(mem_per_node=2**60)), details=_DETAILS, steps=_STEPS),
        # A name of a file need not be Unicode.
        AccountingRecord(job=_JOB._replace(name="caf\udce9"), details=replace(_DETAILS, work_dir="/caf\udce9")),
        AccountingRecord(job=_JOB, details=replace(_DETAILS, work_dir="/caf\udce9"), steps=_STEPS),
    ],
    ids=["everything", "defaults", "large", "no-unicode", "details"],
)
def test_a_record_is_what_was_written(record: AccountingRecord) -> None:
    text = json.dumps(_SHAPE.encode(record), separators=(",", ":"))
    found = KeptRecord(text)
    assert AccountingRecord(job=found.job, details=found.details, steps=found.steps) == record
    assert _SHAPE.decode(json.loads(text)) == record
    assert type(found.job) is JobLine
    assert type(found.job.request) is JobSpec
