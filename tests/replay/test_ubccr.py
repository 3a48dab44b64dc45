"""A production cluster whole: slurm.conf, sacctmgr script and 5,000 jobs of UB-HPC, from UB CCR's Slurm simulator.

How Slurm itself scheduled them is not known; this is what must hold of any schedule, computed from the log anew.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest

from rota.cli.main import main
from rota.config import read_slurm_conf
from rota.replays import ReplayOptions, Scenario
from rota.replays.run import Replay
from rota.resources import SharedNodePool
from rota.results.store import RESULT_FILES, read_result
from rota.sacctmgr import read_associations
from rota.workload import read_swf, read_workload

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from rota.core.job_view import PluginJob
    from rota.results.schedule import ReplayResult, Schedule
    from rota.workload import Workload

pytestmark = pytest.mark.slow
JOBS = 5000
#: CPUs of the two partitions, which share no node: 87 nodes of 32 and 128 of 40; 2 of 32.
CPUS = {"general-compute": 87 * 32 + 128 * 40, "debug": 2 * 32}


class Files(NamedTuple):
    """What the cluster's administrators wrote, and the jobs."""

    conf: Path
    script: Path
    events: Path


@pytest.fixture(scope="module")
def files(traces: Path) -> Files:
    folder = traces / "slurm"
    found = Files(
        folder / "ubccr_medium_slurm.conf",
        folder / "ubccr_medium_sacctmgr.script",
        folder / "ubccr_workload_5k.events.gz",
    )
    for path in found:
        if not path.is_file():
            pytest.skip(f"the cluster is not there: {path}")
    return found


@pytest.fixture(scope="module")
def log(files: Files) -> Workload:
    return read_workload(files.events)


@pytest.fixture(scope="module")
def out(files: Files, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result of the command, invariants checked."""
    folder = tmp_path_factory.mktemp("ubccr") / "out"
    options = ["--config", str(files.conf), "--associations", str(files.script), "--check", "--out", str(folder)]
    assert main(["replay", str(files.events), *options]) == 0
    return folder


@pytest.fixture(scope="module")
def result(out: Path) -> ReplayResult:
    return read_result(out)


def given(run: Replay, job: PluginJob) -> NDArray[np.int64]:
    """Read off what a job was given: processors, memory and GPUs, a row a node."""
    pool = run.engine.state.pool
    assert isinstance(pool, SharedNodePool)
    # Processors, memory, GPUs of any type, and then those of each type.
    return pool.view(job.alloc)[:3].T.astype(np.int64)


def most_at_once(schedule: Schedule, sizes: list[int]) -> int:
    """Sum the sizes of the jobs that run at a time, at the time when that is most; ends come before starts."""
    changes = [(end, -size) for end, size in zip(schedule.end.tolist(), sizes, strict=True)]
    changes += [(start, size) for start, size in zip(schedule.start.tolist(), sizes, strict=True)]
    held = most = 0
    for _, change in sorted(changes):
        held += change
        most = max(most, held)
    return most


def test_policy_and_machine_are_those_of_slurm_conf(result: ReplayResult) -> None:
    assert (result.scheduler, result.priority) == ("sched/backfill", "priority/multifactor")
    # 87 + 2 nodes of 32 processors, 8 + 96 + 24 of 40.
    assert result.machine_procs == 89 * 32 + 128 * 40


def test_all_jobs_run_to_their_end_or_limit(result: ReplayResult, log: Workload) -> None:
    schedule = result.schedule
    assert result.summary.jobs == len(schedule) == len(log) == JOBS
    assert schedule.job_id.tolist() == log.job_number.tolist()
    assert schedule.submit.tolist() == log.submit_time.tolist()
    assert schedule.time_limit.tolist() == log.requested_time.tolist()
    assert schedule.run.tolist() == np.minimum(log.run_time, log.requested_time).tolist()


def test_no_job_starts_before_it_is_submitted(result: ReplayResult) -> None:
    assert (result.schedule.start >= result.schedule.submit).all()
    assert (result.schedule.wait > 0).any()


@pytest.mark.parametrize("partition", CPUS)
def test_no_more_processors_are_used_than_there_are(result: ReplayResult, log: Workload, partition: str) -> None:
    assert log.requests is not None
    rows = np.flatnonzero([one.partition == partition for one in log.requests])
    schedule = result.schedule.take(rows)
    lasting = np.flatnonzero(schedule.run > 0)
    most = most_at_once(schedule.take(lasting), [log.requests[rows[row]].num_cpus for row in lasting])
    assert 0 < most <= CPUS[partition]


@pytest.mark.longest
def test_step_by_step_nothing_is_given_twice_and_the_schedule_is_the_same(files: Files, result: ReplayResult) -> None:
    config = read_slurm_conf(files.conf, ["TopologyPlugin=topology/none"]).config  # its switches are in no file here
    options = ReplayOptions(
        scheduler="sched/backfill",
        priority="priority/multifactor",
        associations=read_associations([files.script], config.cluster_name).tree,
    )
    looked = 0
    with Replay(Scenario(read_workload(files.events), config, options)) as run:
        capacity = [(node.cpus, node.real_memory, 2 * bool(node.gres)) for node in config.nodes]
        moment = run.trace.start
        while run.run(moment):
            used = np.zeros((len(capacity), 3), np.int64)
            for job in run.engine.sched_controller.running:
                held = given(run, job)
                assert held.sum(axis=0)[0] >= job.spec.num_cpus
                for place in np.flatnonzero(held[:, 0]).tolist():
                    assert job.partition.nodes >> place & 1, f"{job} is outside of its partition at {moment}"
                    features = config.nodes[place].features
                    assert not job.spec.constraint or job.spec.constraint in features, f"{job} has not its feature"
                    assert held[place, 1] >= job.spec.mem_per_node
                    assert held[place, 2] >= int(job.spec.gres.removeprefix("gpu:") or 0)
                assert np.count_nonzero(held[:, 0]) >= job.spec.min_nodes
                used += held
                looked += 1
            assert (used <= capacity).all(), f"something is given twice at {moment}"
            moment += 3600
        run.engine.check_invariants()
        again = run.result().schedule
    assert looked > JOBS
    for name in ("job_id", "submit", "start", "end", "time_limit", "state"):
        assert getattr(again, name).tolist() == getattr(result.schedule, name).tolist(), name
    assert (again.user, again.account) == (result.schedule.user, result.schedule.account)


def test_the_result_is_whole(out: Path, result: ReplayResult) -> None:
    assert {path.name for path in out.iterdir()} == RESULT_FILES - {"calibration.html"}  # it has no waits
    waits = read_swf(out / "schedule.swf.gz").wait_time
    assert waits.tolist() == result.schedule.wait.tolist()


def test_jobs_are_charged_to_the_accounts_of_their_users(files: Files, result: ReplayResult, log: Workload) -> None:
    # No job names an account, so it is the user's default one, which the script names once for each.
    pairs = re.findall(r"(?im)^add user name=(\w+) .*?DefaultAccount=(\w+)", files.script.read_text())
    default = dict(pairs)
    assert log.requests is not None
    assert len(default) == len(pairs) > 50
    assert result.schedule.user == tuple(one.user for one in log.requests)
    assert result.schedule.account == tuple(default[one.user] for one in log.requests)


def test_fair_share_is_in_the_result_and_in_the_report(files: Files, out: Path, result: ReplayResult) -> None:
    accounts = re.findall(r"(?im)^add account name=(\w+)", files.script.read_text())
    history = result.priorities
    assert history is not None
    assert sorted(history.accounts) == sorted(accounts)
    assert history.fair_tree
    assert (np.diff(history.times) > 0).all()
    # Parts of the whole, which all accounts together make up once something has been used.
    shares = history.usage_share
    assert shares.sum(axis=1) == pytest.approx(np.where(shares.any(axis=1), 1, 0), abs=1e-4)  # a file has six digits
    assert json.loads((out / "priorities.json").read_text())["accounts"]
    page = (out / "report.html").read_text()
    used = set(result.schedule.account or ())
    assert used
    assert [name for name in used if name not in page] == []
