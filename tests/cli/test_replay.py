"""``rota replay``: what it prints, what it writes, and how it takes its machine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from rota.results.store import RESULT_FILES, read_result
from rota.workload import read_swf
from rota.workload.fields import FIELD_NAMES

from .conftest import JOBS, PROCS, job_line

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Rota

FIGURES = [
    "jobs", "refused", "unfinished", "mean_wait_s", "max_wait_s", "mean_bounded_slowdown", "makespan_s", "utilisation",
    "events", "passes", "faults", "wall_s", "us_per_job",
]  # fmt: skip
TIMING = {"wall_s", "us_per_job"}
#: Two partitions of whole nodes, of which the first is the default one, and one node that both share.
SLURM_CONF = """\
ClusterName=small
SchedulerType=sched/builtin
NodeName=DEFAULT CPUs=4
NodeName=n[1-3]
PartitionName=day Nodes=n[1-2] Default=YES MaxTime=1:00:00
PartitionName=night Nodes=n[2-3] MaxTime=UNLIMITED
"""


def figures(rota: Rota, *args: object) -> dict[str, Any]:
    outcome = rota("replay", *args, "--json")
    assert outcome.status == 0, outcome
    found: dict[str, Any] = json.loads(outcome.out)
    return found


def untimed(found: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in found.items() if key not in TIMING}


def test_json_has_just_the_figures(rota: Rota, small_log: Path) -> None:
    outcome = rota("replay", small_log, "--json")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.count("\n") == 1
    found = json.loads(outcome.out)
    assert list(found) == FIGURES
    assert found["jobs"] == JOBS
    assert found.pop("faults") == {}
    assert all(isinstance(value, int | float) for value in found.values())


def test_the_figures_are_those_of_the_schedule(rota: Rota, small_log: Path, tmp_path: Path) -> None:
    found = figures(rota, small_log, "--out", tmp_path / "out")
    log = read_swf(tmp_path / "out" / "schedule.swf.gz")
    wait, run, procs = log.wait_time, log.run_time, log.requested_procs
    makespan = int((log.submit_time + wait + run).max() - log.submit_time.min())
    slowdown = np.maximum(1, (wait + run) / np.maximum(run, 10))
    assert untimed(found) == {
        "jobs": len(log),
        "refused": 0,
        "unfinished": 0,
        "mean_wait_s": pytest.approx(wait.mean()),
        "max_wait_s": wait.max(),
        "mean_bounded_slowdown": pytest.approx(slowdown.mean()),
        "makespan_s": makespan,
        "utilisation": pytest.approx((run * procs).sum() / (PROCS * makespan)),
        "events": found["events"],
        "passes": found["passes"],
        "faults": {},
    }


def test_the_table_is_for_people(rota: Rota, small_log: Path, tmp_path: Path) -> None:
    outcome = rota("replay", small_log, "--out", tmp_path / "out", "--set", "SchedulerParameters=easy_order=sjf")
    assert (outcome.status, outcome.err) == (0, "")
    assert "small.swf, 8 processors" in outcome.out
    assert "sched/easy priority/basic SchedulerParameters=easy_order=sjf" in outcome.out
    assert str(tmp_path / "out" / "report.html") in outcome.out


def test_the_result_is_one_folder(rota: Rota, small_log: Path, tmp_path: Path) -> None:
    out = tmp_path / "a" / "new" / "folder"
    figures(rota, small_log, "--out", out)
    assert {path.name for path in out.iterdir()} == RESULT_FILES - {"priorities.json", "calibration.html"}
    assert [path.name for path in out.parent.iterdir()] == ["folder"]


def test_a_result_is_replaced_by_another(rota: Rota, small_log: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    figures(rota, small_log, "--out", out)
    figures(rota, small_log, "--out", out, "--scheduler", "sched/builtin")
    assert read_result(out).scheduler == "sched/builtin"
    assert {path.name for path in tmp_path.iterdir()} == {"out", "small.swf"}


def test_the_schedule_has_each_jobs_wait_and_all_else_as_it_was(rota: Rota, small_log: Path, tmp_path: Path) -> None:
    figures(rota, small_log, "--out", tmp_path / "out")
    log, scheduled = read_swf(small_log), read_swf(tmp_path / "out" / "schedule.swf.gz")
    schedule = read_result(tmp_path / "out").schedule
    assert scheduled.header[: len(log.header)] == log.header
    assert "simulated by rota" in scheduled.header[-1]
    assert scheduled.job_number.tolist() == schedule.job_id.tolist() == log.job_number.tolist()
    assert scheduled.wait_time.tolist() == (schedule.start - schedule.submit).tolist()
    for name in FIELD_NAMES:
        if name in {"wait_time", "run_time", "status"}:
            continue
        assert getattr(scheduled, name).tolist() == getattr(log, name).tolist()
    # The log has jobs that would run past their limit: these are stopped at it.
    assert scheduled.run_time.tolist() == np.minimum(log.run_time, log.requested_time).tolist()
    assert (log.run_time > log.requested_time).any()


def test_a_schedule_can_be_replayed_and_gives_itself(rota: Rota, small_log: Path, tmp_path: Path) -> None:
    first = figures(rota, small_log, "--out", tmp_path / "first")
    schedule = tmp_path / "first" / "schedule.swf.gz"
    again = figures(rota, schedule, "--out", tmp_path / "again")
    events = {"events": 0, "passes": 0}  # jobs that now end at their limit took one more event to be stopped at it
    assert untimed(again) | events == untimed(first) | events
    waits = read_swf(schedule).wait_time
    assert read_swf(tmp_path / "again" / "schedule.swf.gz").wait_time.tolist() == waits.tolist()


def test_a_job_that_never_ran_has_no_wait(rota: Rota, tmp_path: Path) -> None:
    log = tmp_path / "two.swf"
    log.write_text("; MaxProcs: 4\n" + job_line(1, 0, 10, 4, 10) + "\n" + job_line(2, 0, 10, 4, 7200) + "\n")
    conf = tmp_path / "slurm.conf"
    conf.write_text("NodeName=n1 CPUs=4\nPartitionName=all Nodes=n1 Default=YES MaxTime=60\n")
    outcome = rota("replay", log, "--config", conf, "--out", tmp_path / "out")
    assert outcome.status == 0
    assert "jobs                   1 of 2" in outcome.out
    assert outcome.err == "rota: 1 of 2 jobs has not ended: 1 PENDING, PartitionTimeLimit\n"
    scheduled = read_swf(tmp_path / "out" / "schedule.swf.gz")
    assert scheduled.wait_time.tolist() == [0, -1]
    assert scheduled.run_time.tolist() == [10, -1]
    assert scheduled.status.tolist() == [1, -1]


def test_jobs_that_cannot_be_replayed_are_counted(rota: Rota, tmp_path: Path) -> None:
    log = tmp_path / "two.swf"
    log.write_text("; MaxProcs: 4\n" + job_line(1, 0, -1, 4, 10) + "\n" + job_line(2, 0, 10, 4, 10) + "\n")
    outcome = rota("replay", log, "--json")
    assert outcome.status == 0
    assert json.loads(outcome.out)["jobs"] == 1
    assert outcome.err.startswith("rota: 1 of 2 jobs is left out: ")


def test_slurm_conf_describes_the_machine_and_the_policy(rota: Rota, tmp_path: Path) -> None:
    # Of the default partition's two nodes, with four processors each, jobs get whole ones.
    conf, log = tmp_path / "slurm.conf", tmp_path / "log.swf"
    conf.write_text(SLURM_CONF)
    jobs = [(1, 0, 100, 1, 100), (2, 0, 50, 5, 50), (3, 0, 10, 4, 10), (4, 0, 20, 8, 20)]
    log.write_text("".join(job_line(*job) + "\n" for job in jobs))
    found = figures(rota, log, "--config", conf, "--out", tmp_path / "out", "--check")
    result = read_result(tmp_path / "out")
    assert result.scheduler == "sched/builtin"
    assert result.machine_procs == 12
    # Job 2 needs both nodes, so it waits for job 1's, and FIFO keeps 3 behind it; 4 takes two whole nodes at last.
    assert result.schedule.start.tolist() == [0, 100, 150, 160]
    assert found["makespan_s"] == 180


def test_a_scheduler_sees_the_nodes_of_slurm_conf(rota: Rota, tmp_path: Path) -> None:
    conf, log = tmp_path / "slurm.conf", tmp_path / "log.swf"
    conf.write_text(SLURM_CONF)
    jobs = [(1, 0, 100, 1, 100), (2, 0, 50, 5, 50), (3, 0, 10, 4, 10), (4, 0, 20, 8, 20)]
    log.write_text("".join(job_line(*job) + "\n" for job in jobs))
    for scheduler in ("easy", "conservative"):
        figures(rota, log, "--config", conf, "--scheduler", f"sched/{scheduler}", "--out", tmp_path / "out", "--check")
        assert read_result(tmp_path / "out").schedule.start.tolist() == [0, 100, 0, 150]


def test_set_wins_over_slurm_conf_and_a_plugin_option_over_both(rota: Rota, small_log: Path, tmp_path: Path) -> None:
    conf = tmp_path / "slurm.conf"
    conf.write_text("SchedulerType=sched/none\nNodeName=n1 CPUs=8\nPartitionName=all Nodes=n1 Default=YES\n")
    out = tmp_path / "out"
    used = []
    for options in ([], ["--set", "schedulertype=sched/easy"], ["--scheduler", "sched/builtin"]):
        figures(rota, small_log, "--config", conf, "--out", out, *options)
        used.append(read_result(out).scheduler)
    assert used == ["sched/none", "sched/easy", "sched/builtin"]


def test_a_warning_about_slurm_conf_is_told(rota: Rota, small_log: Path, tmp_path: Path) -> None:
    conf = tmp_path / "slurm.conf"
    conf.write_text("SchedulerTpye=sched/none\nNodeName=n1 CPUs=8\nPartitionName=all Nodes=n1 Default=YES\n")
    outcome = rota("replay", small_log, "--config", conf, "--json")
    assert outcome.status == 0
    assert outcome.err.startswith(f"rota: warning: {conf}:1: SchedulerTpye: ")
    assert list(json.loads(outcome.out)) == FIGURES


def test_pass_per_and_estimate_are_told_apart(rota: Rota, small_log: Path, tmp_path: Path) -> None:
    found = figures(rota, small_log, "--pass-per", "event", "--estimate", "actual", "--out", tmp_path / "out")
    assert read_result(tmp_path / "out").options == "estimate=actual pass_per=event"
    # With the true run times as limits nobody is stopped at one.
    assert read_swf(tmp_path / "out" / "schedule.swf.gz").run_time.tolist() == read_swf(small_log).run_time.tolist()
    # One for each submission, and for each end unless nobody waits.
    assert JOBS < found["passes"] < 2 * JOBS


def test_a_bundled_log_is_found_by_name_in_any_case(rota: Rota) -> None:
    found = figures(rota, "kth-sp2", "--filter", "sc15", "--scheduler", "sched/builtin")
    assert found["jobs"] == 28_481


def test_a_log_without_a_machine_takes_its_processors(rota: Rota, small_log: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.swf"
    bare.write_text(small_log.read_text().replace("; MaxProcs: 8\n", ""))
    assert "name the machine's processors with --procs, or describe it with --config" in rota("replay", bare).problem
    assert untimed(figures(rota, bare, "--procs", "8")) == untimed(figures(rota, small_log))
    assert figures(rota, small_log, "--procs", "16")["mean_wait_s"] < figures(rota, small_log)["mean_wait_s"]
    conf = tmp_path / "slurm.conf"
    conf.write_text(SLURM_CONF)
    assert rota("replay", bare, "--procs", "8", "--config", conf).problem.startswith("--procs: slurm.conf describes")


def test_the_schedule_names_the_processors_of_the_machine(rota: Rota, small_log: Path, tmp_path: Path) -> None:
    """Not those of the log's own machine; and it does of accounting, which names none."""
    rota("replay", small_log, "--procs", "120", "--out", tmp_path / "out")
    assert read_swf(tmp_path / "out" / "schedule.swf.gz").max_procs == 120
    (tmp_path / "slurm.conf").write_text("NodeName=n[1-3] CPUs=8\nPartitionName=main Nodes=ALL Default=YES\n")
    accounting = ("replay", tmp_path / "out" / "sacct.txt.gz", "--config", tmp_path / "slurm.conf")
    assert rota(*accounting, "--out", tmp_path / "again").status in {0, 2}
    assert read_swf(tmp_path / "again" / "schedule.swf.gz").max_procs == 24


@pytest.mark.parametrize("key", ["SlurmctldHost", "ControlMachine"])
def test_the_file_of_a_cluster_without_a_scheduler_is_told(
    rota: Rota, small_log: Path, tmp_path: Path, key: str
) -> None:
    """Slurm would take sched/backfill, as `scontrol show config` of 22.05.8 says."""
    text = SLURM_CONF.replace("SchedulerType=sched/builtin\n", "")
    conf = tmp_path / "slurm.conf"
    conf.write_text(text)
    assert "SchedulerType" not in rota("replay", small_log, "--config", conf).err
    conf.write_text(f"{text}{key}=head\n")
    told = "slurm.conf has no SchedulerType: sched/easy decides, where Slurm would take sched/backfill"
    assert told in rota("replay", small_log, "--config", conf).err
    for more in (["--scheduler", "sched/easy"], ["--set", "SchedulerType=sched/easy"]):
        assert told not in rota("replay", small_log, "--config", conf, *more).err
