"""Processor time of `squeue` for 10,000 jobs and `sacct` for 10,000 records, ms: the first and the least of ten runs.

Half of the jobs run, on one to four nodes each.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rota.listings import run
from rota.model import ClusterConfig, JobState, MultifactorConf
from rota.model.accounting import AccountingRecord, JobDetails
from rota.model.lines import JobLine

if TYPE_CHECKING:
    from collections.abc import Callable

JOBS = 10_000
NOW = 1_800_000_000
_TRES = {"cpu": 4, "mem": 4000, "node": 1, "billing": 4}


def _job(number: int) -> JobLine:
    runs = number % 2
    state = JobState.RUNNING if runs else JobState.PENDING
    first = number % 995
    return JobLine(
        job_id=number,
        name=f"job-{number % 97}",
        user=f"user{number % 50}",
        user_id=1000 + number % 50,
        account="phys",
        qos="normal",
        partition="debug" if number % 3 else "long",
        state=state.value,
        state_compact=state.compact,
        base_state=state.value,
        reason="None" if runs else "Priority",
        priority=number * 7919 % 100_003,
        nice=0,
        submit_time=NOW - number,
        eligible_time=NOW - number,
        start_time=NOW - number // 2 if runs else None,
        end_time=NOW + 3600 if runs else None,
        time_limit=7200,
        num_nodes=1 + number % 4,
        num_cpus=4,
        tres_requested=_TRES,
        nodes=tuple(f"n{one:04}" for one in range(first, first + 1 + number % 4)) if runs else (),
    )


class _View:
    """As much of a `View` as these commands need."""

    now = NOW
    config = ClusterConfig(nodes=(), partitions=())
    priority_conf = MultifactorConf.of(config, ())
    user = "root"

    def __init__(self) -> None:
        self._jobs = [_job(number) for number in range(1, JOBS + 1)]
        self._records = [AccountingRecord(job=job, details=JobDetails()) for job in self._jobs]

    def utc_offset(self, _time: int, /) -> int:
        return 3600

    def jobs(self) -> list[JobLine]:
        return self._jobs

    def details(self, _job_id: int) -> JobDetails | None:
        return None

    def accounted(self, _query: object) -> list[AccountingRecord]:
        return self._records


def _least(call: Callable[[], object]) -> tuple[float, float]:
    times = []
    for _ in range(10):
        began = time.process_time()
        call()
        times.append((time.process_time() - began) * 1000)
    return times[0], min(times)


def main() -> None:
    """Measure."""
    view = _View()
    print(f"{'':50}  first  least")
    for line in (
        "squeue",
        "squeue -h -o %i|%T",
        "squeue -l",
        "squeue -h -o %i^^^%t^^^%r^^^%B^^^%u^^^%D^^^%C^^^%R^^^%P^^^%l^^^%M^^^%S^^^%j^^^%V",
        "sacct -a -S 2020-01-01",
        "sacct -a -X -P -n -S 2020-01-01 -o JobIDRaw,State,ExitCode,Start,End,NodeList",
    ):
        first, least = _least(lambda line=line: run(line.split(" "), {}, view))  # type: ignore[arg-type,misc]
        print(f"{line[:50]:50} {first:6.1f} {least:6.1f}")


if __name__ == "__main__":
    main()
