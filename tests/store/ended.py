"""Records of jobs that have ended."""

from __future__ import annotations

from rota.model import JobSpec, JobState
from rota.model.accounting import AccountingRecord, JobDetails
from rota.model.lines import JobLine
from rota.model.step import StepRecord, Usage


def accounting(job_id: int, end: int) -> AccountingRecord:
    """Make the record of a short job."""
    usage = Usage(user_seconds=job_id / 7, max_rss=4096 * job_id)
    nodes = (f"n{job_id % 4}",)
    batch = StepRecord(
        step_id="batch", state=JobState.COMPLETED, start_time=end - 2, end_time=end, nodes=nodes, usage=usage
    )
    line = JobLine(
        job_id=job_id,
        name=f"job{job_id}",
        user="ann",
        user_id=1000,
        account="physics",
        qos="normal",
        partition="main",
        state="COMPLETED",
        state_compact="CD",
        base_state="COMPLETED",
        reason="None",
        priority=10_000 - job_id,
        nice=0,
        submit_time=end - 9,
        eligible_time=end - 9,
        start_time=end - 2,
        end_time=end,
        time_limit=3600,
        num_nodes=1,
        num_cpus=2,
        tres_allocated={"cpu": 2, "node": 1, "billing": 2},
        nodes=nodes,
        request=JobSpec(name=f"job{job_id}", user="ann", payload=str(job_id), num_cpus=2),
    )
    return AccountingRecord(
        job=line,
        details=JobDetails(
            submit_line=f"sbatch job{job_id}",
            work_dir=f"/home/ann/{job_id}",
            std_out=f"/home/ann/{job_id}/out",
        ),
        steps=(batch,),
    )
