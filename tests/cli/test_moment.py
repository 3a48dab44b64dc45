"""``rota replay --until``: when that is, and what squeue, sprio and sshare say of the moment.

The log is two jobs that share a machine of eight processors after a third, so that what is shown follows by hand.
"""

from __future__ import annotations

import json
from dataclasses import replace as with_changes
from typing import TYPE_CHECKING, Any

import pytest

from rota.config import interchangeable
from rota.inspect.view import EngineView
from rota.replays import ReplayOptions, Scenario, replay
from rota.replays.run import Replay
from rota.workload import read_swf

from .conftest import PROCS

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Outcome, Rota

#: 2022-01-01T00:00:00 UTC, which is 01:00 in Stockholm.
START = 1640995200
#: Job 1 fills the machine from 0 to 600; 2 waits from 60 and 3 from 120. Users 1, 2, 1 of groups 1, 2, 1.
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


def shown(outcome: Outcome) -> str:
    assert (outcome.status, outcome.err) == (0, ""), outcome
    return outcome.out


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


# ---- when -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("until", "zone", "local"),
    [
        ("90", "", "Sat Jan 01 00:01:30 2022"),
        ("1:30", "", "Sat Jan 01 00:01:30 2022"),
        ("0-0:1:30", "", "Sat Jan 01 00:01:30 2022"),
        ("2022-01-01T00:01:30", "", "Sat Jan 01 00:01:30 2022"),
        ("2022-01-01 00:01:30", "", "Sat Jan 01 00:01:30 2022"),
        ("2022-01-01T00:01:30Z", "Europe/Stockholm", "Sat Jan 01 01:01:30 2022"),
        ("2022-01-01T01:01:30", "Europe/Stockholm", "Sat Jan 01 01:01:30 2022"),
        ("90", "America/New_York", "Fri Dec 31 19:01:30 2021"),
    ],
)
def test_notations(rota: Rota, log: Path, until: str, zone: str, local: str) -> None:
    listing = shown(rota("replay", log, "--until", until, "--show", "squeue -l", "--time-zone", zone))
    assert listing.splitlines()[0] == local
    # Job 2 was submitted 30 s before, job 3 comes 30 s later.
    assert [row[0] for row in rows(listing)[2:]] == ["2", "1"]


def test_local_time_is_that_of_the_log_unless_told_otherwise(rota: Rota, log: Path) -> None:
    log.write_text(f"; TimeZoneString: Europe/Stockholm\n{LOG}")
    for zone, local in (("", "01:01:30"), ("UTC", "00:01:30")):
        moment = f"2022-01-01T{local}"
        listing = shown(rota("replay", log, "--until", moment, "--show", "squeue -l", "--time-zone", zone))
        assert listing.splitlines()[0] == f"Sat Jan 01 {local} 2022"
        assert [row[0] for row in rows(listing)[2:]] == ["2", "1"]


@pytest.mark.parametrize(
    ("until", "jobs"),
    [("2021-12-31T23:59:59", []), ("0", ["1"]), ("59", ["1"]), ("60", ["2", "1"]), ("600", ["2", "3"]), ("1200", [])],
)
def test_all_up_to_the_moment_has_happened(rota: Rota, log: Path, until: str, jobs: list[str]) -> None:
    assert [row[0] for row in rows(shown(rota("replay", log, "--until", until)))] == ["JOBID", *jobs]


def test_a_moment_after_the_end_is_shown(rota: Rota, log: Path) -> None:
    listing = shown(rota("replay", log, "--until", "2030-06-01", "--show", "squeue -l"))
    assert listing.startswith("Sat Jun 01 00:00:00 2030\n")
    assert listing.count("\n") == 2


# ---- what -------------------------------------------------------------------------------------------------------


def test_squeue(rota: Rota, log: Path) -> None:
    listing = shown(rota("replay", log, "--until", "300", *MULTIFACTOR))
    # Job 1 has run for five minutes. User 2 has used nothing and goes first; easy plans job 2 for 1's limit.
    assert rows(listing) == [
        ["JOBID", "PARTITION", "NAME", "USER", "ST", "TIME", "NODES", "NODELIST(REASON)"],
        ["2", "all", "(null)", "user2", "PD", "0:00", "1", "(Resources)"],
        ["3", "all", "(null)", "user1", "PD", "0:00", "1", "(Priority)"],
        ["1", "all", "(null)", "user1", "R", "5:00", "1", "processors"],
    ]
    start = shown(rota("replay", log, "--until", "300", "--show", "squeue --start", *MULTIFACTOR))
    assert [row[5] for row in rows(start)[1:]] == ["2022-01-01T00:20:00", "N/A"]


def test_sprio(rota: Rota, log: Path) -> None:
    listing = shown(rota("replay", log, "--until", "300", "--show", "sprio -o '%i %Y %A %F %u'", *MULTIFACTOR))
    # Age: 240 and 180 s of an hour, times 1,000. Fair Tree ranks two users: 1 and 1/2, times 10,000.
    assert rows(listing)[1:] == [["2", "10066", "67", "10000", "user2"], ["3", "5050", "50", "5000", "user1"]]


def test_sshare(rota: Rota, log: Path) -> None:
    listing = shown(rota("replay", log, "--until", "300", "--show", "sshare -a -P", *MULTIFACTOR))
    # Eight CPUs for 300 s, which do not fade; group 1 and its only user have all of it.
    assert listing.splitlines() == [
        "Account|User|RawShares|NormShares|RawUsage|EffectvUsage|FairShare",
        "root|||0.000000|2400|1.000000|",
        " group1||1|0.500000|2400|1.000000|",
        "  group1|user1|1|1.000000|2400|1.000000|0.500000",
        " group2||1|0.500000|0|0.000000|",
        "  group2|user2|1|1.000000|0|0.000000|1.000000",
    ]


def test_usage_is_of_the_last_period(rota: Rota, log: Path) -> None:
    def used(until: int, *options: str) -> str:
        show = ["--show", "sshare -a -n -P -o RawUsage -u nobody -A root"]
        return shown(rota("replay", log, "--until", until, *show, *MULTIFACTOR, *options)).strip()

    # PriorityCalcPeriod is five minutes; 600 s of eight CPUs by job 1, then 300 s of eight by 2 and 3.
    assert [used(until) for until in (299, 300, 599, 600, 900)] == ["0", "2400", "2400", "4800", "7200"]
    assert used(299, "--set=PriorityCalcPeriod=1") == "1920"


def test_several_listings_say_which_they_are(rota: Rota, log: Path) -> None:
    options = ["--until", "300", *MULTIFACTOR]
    queue = shown(rota("replay", log, *options, "--show", "squeue -l -t R,PD"))
    shares = shown(rota("replay", log, *options, "--show", "sshare -A group1,group2 -a"))
    both = shown(rota("replay", log, *options, "--show", "squeue -l -t R,PD, sshare -A group1,group2 -a"))
    assert both == f"$ squeue -l -t R,PD\n{queue}\n$ sshare -A group1,group2 -a\n{shares}"


def test_json_is_of_everything(rota: Rota, log: Path) -> None:
    def refuse(name: str) -> Any:
        raise AssertionError(f"{name} is no JSON")

    options = ["--until", "300", "--show", "squeue,sprio -l,sshare", *MULTIFACTOR]
    found = json.loads(shown(rota("replay", log, *options, "--json")), parse_constant=refuse)
    assert list(found) == ["squeue", "sprio -l", "sshare"]
    jobs = {job["job_id"]: job for job in found["squeue"]}
    assert [jobs[number]["state"] for number in (1, 2, 3)] == ["RUNNING", "PENDING", "PENDING"]
    assert (jobs[1]["start_time"], jobs[1]["end_time"]) == (START, START + 1200)
    assert (jobs[2]["start_time"], jobs[2]["submit_time"]) == (START + 1200, START + 60)
    assert [one["priority_fs"] for one in found["sprio -l"]] == [10000, 5000]
    shares = {one["user"] or one["account"]: one for one in found["sshare"]}
    assert {name: one["usage_raw"] for name, one in shares.items()} == {
        "root": 2400, "group1": 2400, "user1": 2400, "group2": 0, "user2": 0
    }  # fmt: skip
    # Half of the shares, and all of the usage or none of it: sshare prints the latter as inf.
    assert [shares[name]["level_fs"] for name in ("group1", "group2")] == [0.5, "inf"]


def test_looking_changes_nothing(small_log: Path) -> None:
    # A stop every 50 s, at which everything is asked for, against none.
    workload, config = read_swf(small_log), interchangeable(PROCS)
    weights = {"priorityweightage": "1000", "priorityweightfairshare": "10000", "prioritymaxage": "10"}
    options = ReplayOptions(scheduler="sched/backfill", priority="priority/multifactor")
    config = with_changes(config, parameters=weights)
    with Replay(Scenario(workload, config, options)) as run:
        moment = run.trace.start
        while run.run(moment):
            EngineView(run.engine.view)
            moment += 50
        watched = run.result().schedule
    alone = replay(Scenario(workload, config, options)).schedule
    assert watched.start.tolist() == alone.start.tolist()
    assert watched.end.tolist() == alone.end.tolist()


# ---- what cannot be ---------------------------------------------------------------------------------------------

#: Further arguments, and the line.
WRONG: dict[str, tuple[list[str], str]] = {
    "no moment": (["--until", "noon"], "time: 'noon' is no moment: write a date such as 2022-01-01T12:00:00, or"),
    "no limit": (["--until", "UNLIMITED"], "time: 'UNLIMITED' is no moment: "),
    "never": (["--until", "99999999999999"], "time: '99999999999999' is not from 1970 to 9999: write a moment of"),
    "no time zone": (["--until", "0", "--time-zone", "Mars/Olympus"], "--time-zone: 'Mars/Olympus' is no time zone: "),
    "no time zone without a moment": (["--time-zone", "here"], "--time-zone: 'here' is no time zone: "),
    "a listing of no moment": (["--show", "squeue"], "--show: shows a moment: say which with --until"),
    "a result of a moment": (["--until", "0", "--out", "out"], "--out and --until: a result is of a whole replay: "),
    "an unknown command": (["--until", "0", "--show", "sinfo"], "--show: 'sinfo' is none of squeue, sprio, sshare"),
    "an unknown second command": (["--until", "0", "--show", "squeue,sinfo"], "--show: 'squeue,sinfo' is none of "),
    "an empty command": (["--until", "0", "--show", "squeue,,sprio"], "--show: 'squeue,' is none of squeue, sprio, "),
    "an unknown option": (["--until", "0", "--show", "squeue -Z"], "squeue: invalid option -- 'Z'"),
    "an unknown long option": (["--until", "0", "--show", "sprio --foo=1"], "sprio: unrecognized option '--foo'"),
    "an option without value": (["--until", "0", "--show", "squeue -o"], "squeue: option requires an argument -- 'o'"),
    "a value of an option without": (["--until", "0", "--show", "sprio --long=1"], "sprio: option '--long' doesn't"),
    "an open quote": (["--until", "0", "--show", "sprio -o '%i"], "--show: \"sprio -o '%i\": No closing quotation"),
    "an unknown field": (["--until", "0", "--show", "squeue -o %!"], "squeue: Invalid job format specification: !"),
    "an unknown named field": (["--until", "0", "--show", "squeue -O cpus"], "squeue: Invalid job format "),
    "an unknown sort key": (["--until", "0", "--show", "squeue -S ?"], "squeue: Invalid sort specification: ?"),
    "an unknown state": (["--until", "0", "--show", "squeue -t XX"], "squeue: Invalid job state specified: XX"),
    "no job numbers": (["--until", "0", "--show", "squeue -j one"], "squeue: Invalid job id: one"),
    "an unknown field of a factor": (["--until", "0", "--show", "sprio -o %X"], "sprio: Invalid job format "),
    "an unknown field of a share": (
        ["--until", "0", "--show", "squeue,sshare -o Cpus", "--priority=priority/multifactor"],
        'sshare: Invalid field requested: "Cpus"',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_shown(rota: Rota, log: Path, name: str) -> None:
    arguments, expected = WRONG[name]
    assert rota("replay", log, *arguments).problem.startswith(expected)
