"""``rota explain``: one job at one moment, and that it is a job of the very schedule that ``rota replay`` makes.

The small log and what is expected of it follow by hand: eight processors, which job 1 has from 0 to 600. Then start
job 2 of user 2, who has used nothing, and job 3 of user 1; both wait with half of the machine each.

Over 400 lines: all that is said of one job is here, of logs as of accounting files.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from rota.config import interchangeable
from rota.inspect.explain import explain
from rota.model import InputError
from rota.replays import ReplayOptions, Scenario, replay
from rota.replays.run import Replay
from rota.workload import read_swf

from .conftest import PROCS, kth_head

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Outcome, Rota

#: 2022-01-01T00:00:00 UTC.
START = 1640995200
LOG = f"""\
; MaxProcs: 8
; UnixStartTime: {START}
1 0 -1 600 8 -1 -1 8 1200 -1 1 1 1 -1 1 1 -1 -1
2 60 -1 600 4 -1 -1 4 600 -1 1 2 2 -1 1 1 -1 -1
3 120 -1 600 4 -1 -1 4 900 -1 1 1 1 -1 1 1 -1 -1
"""
MULTIFACTOR = [
    "--priority=priority/multifactor",
    "--set=PriorityWeightAge=1000",
    "--set=PriorityWeightFairshare=10000",
    "--set=PriorityMaxAge=0-1",
    "--set=PriorityDecayHalfLife=0",
    "--set=PriorityUsageResetPeriod=YEARLY",
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.swf"
    path.write_text(LOG)
    return path


def said(outcome: Outcome) -> str:
    assert (outcome.status, outcome.err) == (0, ""), outcome
    return outcome.out


def data(rota: Rota, *arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said(rota("explain", *arguments, "--json")))
    return found


# ---- when -------------------------------------------------------------------------------------------------------


def test_a_job_that_waits_is_looked_at_just_before_it_starts(rota: Rota, log: Path) -> None:
    # Its age is that of the last period, 180 s of an hour; Fair Tree's worst of two users has 1/2.
    assert (
        said(rota("explain", 3, log, *MULTIFACTOR))
        == """\
Job 3 of user user1 of account group1: 4 CPUs for up to 15:00,
submitted 2022-01-01 00:02:00 to partition all, QOS normal.

At 2022-01-01 00:09:59 it has waited 7:59 and is PENDING (Priority),
place 2 of 2 in the queue, with priority 5,050.
It starts at 2022-01-01 00:10:00, after 8:00.

After all jobs before it, it fits at 2022-01-01 00:20:00, if jobs run to their time limits:
nothing is learned for that from jobs that have ended.
It waits for job 1 of user1, which ends by 2022-01-01 00:20:00.

  factor       value  weight   points
  age         0.0500   1,000     50.0
  fair-share  0.5000  10,000  5,000.0
  sum                         5,050.0
user1 has used 100.00% of the cluster, more than its share of 50.00%.
group1 has used 100.00% of the cluster, more than its share of 50.00%.

Before it: 1 job
  job  user   account  priority  because of
    2  user2  group2     10,066  fair-share (+5,000)
"""
    )


def test_the_first_of_the_queue(rota: Rota, log: Path) -> None:
    text = said(rota("explain", 2, log, *MULTIFACTOR))
    assert "is PENDING (Resources),\nplace 1 of 2 in the queue, with priority 10,066.\n" in text
    # Job 1 asked for 20 minutes, and ends after ten.
    assert "The scheduler plans to start it at 2022-01-01 00:20:00.\n" in text
    assert "It starts at 2022-01-01 00:10:00, after 9:00.\n" in text
    assert "user2 has used 0.00% of the cluster, less than its share of 50.00%.\n" in text
    assert text.endswith("\n\nNo job stands before it.\n")


@pytest.mark.parametrize("options", [[], MULTIFACTOR])
def test_a_job_that_starts_at_once(rota: Rota, log: Path, options: list[str]) -> None:
    text = said(rota("explain", 1, log, *options))
    assert "At 2022-01-01 00:00:00 it is RUNNING: it started after 0:00, with priority " in text
    found = data(rota, 1, log, *options)
    assert (found["state"], found["now"], found["starts"]) == ("RUNNING", START, START)
    assert (found["place"], found["before"], found["factors"]) == (0, [], [])


def test_a_job_that_starts_at_the_beginning_of_unix_time(rota: Rota, log: Path) -> None:
    log.write_text(LOG.replace(str(START), "0"))
    assert "it is RUNNING: it started after 0:00, with" in said(rota("explain", 1, log))
    assert data(rota, 1, log)["starts"] == 0


def test_a_job_that_never_starts_is_looked_at_as_it_is_submitted(rota: Rota, tmp_path: Path) -> None:
    log, conf = tmp_path / "log.events", tmp_path / "slurm.conf"
    log.write_text("-dt 5 -e submit_batch_job | -sim-walltime 9 --uid=ann -H job\n")
    conf.write_text("NodeName=n[1-2] CPUs=4\nPartitionName=p Nodes=n[1-2] Default=YES\n")
    text = said(rota("explain", 1, log, "--config", conf))
    assert "At 1970-01-01 00:00:05 it has waited 0:00 and is PENDING (JobHeldUser),\nnot in the queue, with" in text
    assert "It starts" not in text
    assert data(rota, 1, log, "--config", conf)["starts"] is None


@pytest.mark.parametrize("at", ["300", "5:00", "2022-01-01T00:05:00", "2022-01-01T00:05:00Z"])
def test_at_a_moment(rota: Rota, log: Path, at: str) -> None:
    found = data(rota, 3, log, *MULTIFACTOR, "--at", at)
    assert (found["now"], found["state"], found["place"], found["queue_length"]) == (START + 300, "PENDING", 2, 2)
    text = said(rota("explain", 3, log, *MULTIFACTOR, "--at", at))
    assert "At 2022-01-01 00:05:00 it has waited 3:00 and is PENDING (Priority)," in text
    assert "It starts" not in text, "the replay has been played to that moment only"


def test_local_time(rota: Rota, log: Path) -> None:
    at = ["--at", "2022-01-01T01:05:00", "--time-zone", "Europe/Stockholm"]
    assert data(rota, 3, log, *at)["now"] == START + 300
    assert "At 2022-01-01 01:05:00 it has waited 3:00 and is PENDING" in said(rota("explain", 3, log, *at))


def test_a_job_that_runs(rota: Rota, log: Path) -> None:
    found = data(rota, 3, log, *MULTIFACTOR, "--at", "700")
    assert (found["state"], found["start_time"], found["starts"]) == ("RUNNING", START + 600, START + 600)
    text = said(rota("explain", 3, log, *MULTIFACTOR, "--at", "700"))
    # Just before it started a period ended, by which it had waited 480 s of an hour.
    assert text.endswith("At 2022-01-01 00:11:40 it is RUNNING: it started after 8:00, with priority 5,133.\n")


def test_a_priority_plugin_without_factors(rota: Rota, log: Path) -> None:
    text = said(rota("explain", 3, log))
    assert "\nThe priority plugin gives no factors: its order is that of the priorities alone.\n" in text
    assert "has used" not in text
    found = data(rota, 3, log)
    assert (found["factors"], found["shares"]) == ([], [])
    # Each job gets one less than the one before it.
    assert [(one["job_id"], one["because"], one["points"]) for one in found["before"]] == [(2, "priority", 1.0)]


def test_json_is_all_of_it(rota: Rota, log: Path) -> None:
    found = data(rota, 3, log, *MULTIFACTOR)
    assert found == {
        "job_id": 3, "now": START + 599, "user": "user1", "account": "group1", "partition": "all", "qos": "normal",
        "state": "PENDING", "reason": "Priority", "priority": 5050, "direct": False, "submit_time": START + 120,
        "eligible_time": START + 120, "start_time": None, "planned_start": None, "num_cpus": 4, "time_limit": 900,
        "factors": [
            {"name": "age", "weight": 1000, "points": pytest.approx(50)},
            {"name": "fair-share", "weight": 10000, "points": 5000},
        ],
        "shares": [["user1", 1.0, 0.5], ["group1", 1.0, 0.5]],
        "place": 2,
        "queue_length": 2,
        "before": [
            {
                "job_id": 2, "user": "user2", "account": "group2", "partition": "all", "priority": 10066,
                "because": "fair-share", "points": 5000,
            }
        ],
        # Job 1 asked for 20 minutes; after it there is room for both that wait.
        "held_by": None,
        "dependency": "",
        "start_estimate": {
            "start": START + 1200, "nodes": "", "sooner": [], "backfilled": [], "start_without": START + 1200,
            "waits_for": [{"job_id": 1, "user": "user1", "end_time": START + 1200}],
        },
        "starts": START + 600,
    }  # fmt: skip


def test_many_jobs_before_it_are_counted(rota: Rota, log: Path) -> None:
    # Thirteen jobs of the whole machine: the first runs, and between it and the last wait eleven.
    lines = [f"{n} {n} -1 100 8 -1 -1 8 100 -1 1 1 1 -1 1 1 -1 -1" for n in range(1, 14)]
    log.write_text("\n".join(["; MaxProcs: 8", *lines, ""]))
    text = said(rota("explain", 13, log, "--at", "20"))
    assert "\nBefore it: 11 jobs\n" in text
    assert text.endswith("\nand 1 more\n")
    assert len(data(rota, 13, log, "--at", "20")["before"]) == 11


def test_a_partition_of_a_higher_tier_goes_first(rota: Rota, tmp_path: Path) -> None:
    log, conf = tmp_path / "log.events", tmp_path / "slurm.conf"
    line = "-dt {} -e submit_batch_job | -sim-walltime 60 --uid=ann -N 2 -p {} -t 5 job\n"
    log.write_text(line.format(0, "low") + line.format(1, "low") + line.format(2, "high"))
    conf.write_text(
        "NodeName=n[1-2] CPUs=4\nPartitionName=low Nodes=n[1-2]\nPartitionName=high Nodes=n[1-2] PriorityTier=9\n"
    )
    (before,) = data(rota, 2, log, "--config", conf, "--at", "30")["before"]
    assert (before["job_id"], before["partition"], before["because"]) == (3, "high", "PriorityTier")


# ---- what cannot be ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["9"], "JOB: the workload has no job 9 that is replayed"),
        (["9", "--at", "0"], "JOB: job 9 is not in the cluster at that time: not submitted yet, or over"),
        (["2", "--at", "59"], "JOB: job 2 is not in the cluster at that time: not submitted yet, or over"),
        (["1", "--at", "600"], "JOB: job 1 is not in the cluster at that time: not submitted yet, or over"),
        (["2", "--at", "noon"], "time: 'noon' is no moment: write a date such as 2022-01-01T12:00:00, or the time"),
        (["2", "--time-zone", "here"], "--time-zone: 'here' is no time zone: write one such as Europe/Stockholm or"),
    ],
)
def test_what_cannot_be_explained(rota: Rota, log: Path, arguments: list[str], problem: str) -> None:
    number, *options = arguments
    assert rota("explain", number, log, *options).problem.startswith(problem)


@pytest.mark.parametrize("arguments", [["one"], ["1.5"], ["2", "--until", "0"], ["2", "--show", "squeue"]])
def test_a_usage_error_shows_the_usage(rota: Rota, log: Path, arguments: list[str]) -> None:
    number, *options = arguments
    outcome = rota("explain", number, log, *options)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith("Usage: rota explain ")


def test_warnings_are_given_once(rota: Rota, log: Path) -> None:
    log.write_text(LOG + "4 130 -1 -1 4 -1 -1 4 900 -1 1 1 1 -1 1 1 -1 -1\n")
    outcome = rota("explain", 3, log)
    assert outcome.status == 0
    assert outcome.err.startswith("rota: 1 of 4 jobs is left out: ")
    assert outcome.err.count("\n") == 1
    assert rota("explain", 4, log).err.endswith("rota: error: JOB: the workload has no job 4 that is replayed\n")


# ---- it is the schedule of the replay ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "scheduler",
    [
        "sched/backfill",
        *(pytest.param(f"sched/{one}", marks=pytest.mark.slow) for one in ("builtin", "easy", "conservative")),
    ],
)
@pytest.mark.parametrize("priority", [pytest.param("priority/basic", marks=pytest.mark.slow), "priority/multifactor"])
def test_starts_are_those_of_the_schedule(small_log: Path, scheduler: str, priority: str) -> None:
    workload, config = read_swf(small_log), interchangeable(PROCS)
    options = ReplayOptions(scheduler=scheduler, priority=priority)
    schedule = replay(Scenario(workload, config, options)).schedule
    found = []
    for job_id in schedule.job_id.tolist():
        with Replay(Scenario(workload, config, options)) as run:
            found.append(run.find_start(job_id))
    assert found == schedule.start.tolist()


def test_the_command_says_when_the_replay_starts_a_job(rota: Rota, tmp_path: Path) -> None:
    log = kth_head(tmp_path / "head.swf", 400)
    options = [*MULTIFACTOR, "--scheduler", "sched/backfill"]
    assert rota("replay", log, *options, "--out", tmp_path / "out").status == 0
    scheduled = read_swf(tmp_path / "out" / "schedule.swf.gz")
    longest = scheduled.wait_time.argsort()[-3:].tolist()
    assert scheduled.wait_time[longest[0]] > 0
    for row in longest:
        found = data(rota, scheduled.job_number[row], log, *options)
        assert found["starts"] - found["submit_time"] == scheduled.wait_time[row]
        assert found["now"] == found["starts"] - 1
        assert found["state"] == "PENDING"
        # Only those before it, and it itself, have been compared.
        assert found["place"] == len(found["before"]) + 1


# ---- what holds it back ----------------------------------------------------------------------------------------

#: Job 2 waits for both nodes. Jobs 3 and 4 are behind it; 3 ends before job 1 does, and starts ahead of job 2.
EVENTS = """\
-dt 0 -e submit_batch_job | -sim-walltime 900 --uid=ann -N 1 -t 20 x
-dt 1 -e submit_batch_job | -sim-walltime 900 --uid=bob -N 2 -t 20 x
-dt 2 -e submit_batch_job | -sim-walltime 300 --uid=eve -N 1 -t {minutes} x
-dt 3 -e submit_batch_job | -sim-walltime 300 --uid=eve -n 1 -t 30 -L matlab x
-dt 4 -e submit_batch_job | -sim-walltime 300 --uid=eve -n 1 -t 30 -L matlab -d afterok:1 x
"""


def scene(tmp_path: Path, *more: str, minutes: int = 10) -> list[object]:
    events, conf = tmp_path / "log.events", tmp_path / "slurm.conf"
    events.write_text(EVENTS.format(minutes=minutes))
    lines = ["ClusterName=c", "SelectType=select/linear", "Licenses=matlab:1", "NodeName=n[1-2]", *more]
    conf.write_text("\n".join([*lines, "PartitionName=p Nodes=ALL Default=YES", ""]))
    return [events, "--config", conf]


def test_jobs_that_were_started_ahead_cost_nothing_under_backfill(rota: Rota, tmp_path: Path) -> None:
    given = [*scene(tmp_path, "SchedulerParameters=bf_interval=10"), "--scheduler", "sched/backfill", "--at", "100"]
    text = said(rota("explain", 2, *given))
    assert (
        "Job 3 of eve behind it started meanwhile. That costs it nothing: without them it would fit no sooner." in text
    )
    estimate = data(rota, 2, *given)["start_estimate"]
    assert estimate["backfilled"] == [{"job_id": 3, "user": "eve", "start_time": 10, "end_time": 610}]
    assert (estimate["start"], estimate["start_without"]) == (1200, 1200)


def test_jobs_that_a_careless_scheduler_started_ahead_cost_it_time(rota: Rota, tmp_path: Path) -> None:
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "sched_greedy.py").write_text(GREEDY)
    given = [*scene(tmp_path, minutes=60), "--plugin-dir", tmp_path / "plugins", "--scheduler", "sched/greedy"]
    text = said(rota("explain", 2, *given, "--at", "100"))
    assert "Job 3 of eve behind it started meanwhile. Without them it would fit at 1970-01-01 00:20:00." in text


#: Starts whatever fits.
GREEDY = """
from rota.interfaces import *
from rota.interfaces.stubs.sched import *

plugin_type = "sched/greedy"
plugin_name = "whatever fits"
plugin_version = 100


def init(ctld):
    global _ctld
    _ctld = ctld
    ctld.disable_main_pass()
    return SLURM_SUCCESS


def slurm_sched_p_initial_priority(last_prio, job_ptr):
    return _ctld.priority.set(last_prio, job_ptr)


def slurm_sched_p_schedule():
    for job in _ctld.queue:
        _ctld.start(job)
    return SLURM_SUCCESS
"""


def test_the_limit_that_holds_a_job_back_is_named_with_its_figures(rota: Rota, tmp_path: Path) -> None:
    script = tmp_path / "acct.script"
    script.write_text("add cluster c\nadd account a\nadd user ann account=a\nadd user bob account=a\n"
                      "modify account a set GrpTRES=cpu=2\nadd user eve account=a\n")  # fmt: skip
    given = [*scene(tmp_path, "AccountingStorageEnforce=limits"), "--associations", script, "--at", "100"]
    assert "It is held back by GrpTRES=cpu of account a, which is 2: 2 is in use, and the job would add 2." in said(
        rota("explain", 2, *given)
    )
    held = data(rota, 2, *given)["held_by"]
    assert held == {"whose": "account a", "name": "GrpTRES=cpu", "most": 2, "used": 2, "asked": 2}


def test_a_share_that_is_too_small_for_its_qos_is_named(rota: Rota, tmp_path: Path) -> None:
    script = tmp_path / "acct.script"
    script.write_text("add cluster c\nadd account a\nadd qos q UsageThreshold=2 flags=EnforceUsageThreshold\n"
                      "modify account a set qos+=q defaultqos=q\nadd user ann account=a\nadd user bob account=a\n"
                      "add user eve account=a\n")  # fmt: skip
    given = [*scene(tmp_path, "AccountingStorageEnforce=limits", "PriorityCalcPeriod=1"), "--associations", script]
    given += ["--priority", "priority/multifactor", "--at", "100"]
    held = data(rota, 2, *given)["held_by"]
    assert held == {"whose": "QOS q", "name": "UsageThreshold", "most": 2, "used": 1, "asked": 0}
    text = "It is held back by UsageThreshold of QOS q, which is 2: the fair-share that counts is 1."
    assert text in said(rota("explain", 2, *given))


def test_licences_and_other_jobs_are_named(rota: Rota, tmp_path: Path) -> None:
    given = [*scene(tmp_path), "--scheduler", "sched/builtin", "--at", "100"]
    assert "It waits for what its user has asked for: afterok:1(unfulfilled)." in said(rota("explain", 5, *given))
    assert data(rota, 5, *given)["dependency"] == "afterok:1(unfulfilled)"


def test_a_job_that_is_over(small_log: Path) -> None:
    with Replay(Scenario(read_swf(small_log), interchangeable(PROCS))) as run:
        run.run()
        with pytest.raises(InputError, match="job 1 is not in the cluster at that time"):
            explain(run.engine.view, 1)


TASKS = """\
JobID|JobIDRaw|User|Account|Partition|Submit|Start|End|ElapsedRaw|State|NCPUS|Timelimit
300|300|ann|phys|debug|2026-11-01T10:00:00|2026-11-01T10:00:00|2026-11-01T10:10:00|600|COMPLETED|4|01:00:00
301_4|302|ann|phys|debug|2026-11-01T10:00:05|2026-11-01T10:10:00|2026-11-01T10:20:00|600|COMPLETED|4|01:00:00
301_5|301|ann|phys|debug|2026-11-01T10:00:05|2026-11-01T10:20:00|2026-11-01T10:30:00|600|COMPLETED|4|01:00:00
"""


def test_a_task_of_a_job_array_is_named_as_in_its_file(rota: Rota, tmp_path: Path) -> None:
    log = tmp_path / "jobs.txt"
    log.write_text(TASKS)
    first, second = (json.loads(rota("explain", f"301_{task}", log, "--procs=4", "--json").out) for task in (4, 5))
    assert (first["job_id"], second["job_id"]) == (301, 302)  # in the order of the tasks
    assert second["starts"] - first["starts"] == 600
    for other in ("301_6", "300_1", "301+1"):
        outcome = rota("explain", other, log, "--procs=4")
        assert outcome.status == 2
        assert f"JOB: the workload has no job {other}\n" in outcome.err
    for other in ("x", "301_[4-5]", "301_"):
        assert f"'{other}' is no job id of a workload" in rota("explain", other, log, "--procs=4").err
