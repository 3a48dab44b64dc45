"""Command lines of ``scancel`` and ``scontrol``: what cannot be parsed gets the message that Slurm 22.05.8 printed.

data/changes.txt has what Slurm printed on a cluster of our own. Where Slurm asked its controller, the controller's
message is not this module's: those command lines have to be parsed.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest
from slurm.release import as_upstream

from rota.commands.getopt import UsageError
from rota.commands.job_ids import JobId
from rota.commands.node_update import NodeUpdate
from rota.commands.partition_update import PartitionUpdate
from rota.commands.scancel import ScancelRequest, parse_scancel
from rota.commands.scontrol import Change, JobsRequest, Other, Show, parse_scontrol
from rota.commands.scontrol_update import JobUpdate, LimitChange

NOW = 1_795_365_600


class Recorded(NamedTuple):
    code: int
    out: str
    err: str


def _recorded() -> dict[str, Recorded]:
    text = as_upstream((Path(__file__).parent / "data" / "changes.txt").read_text(errors="surrogateescape"))
    found = {}
    for block in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, head, *lines = block.split("\n")
        code = int(head.partition("rc=")[2].rstrip("]"))
        err = "".join(f"{line[2:]}\n" for line in lines if line.startswith("! "))
        found[command] = Recorded(code, "\n".join(line for line in lines if not line.startswith("! ")), err)
    return found


RECORDED = _recorded()
#: Messages of the controller, which come after the command line was parsed.
CONTROLLER = (
    "Kill job error", r"for job \d", r"\d: No error", "Job has already finished", "Invalid job id specified\n",
    "No jobs with name", "Error updating", "Error creating", "delete_", "slurm_update error: Invalid partition",
    "A start time must be given", "must be specified", "Invalid start time", "Unknown parameter", "Invalid duration",
    "Invalid MinMemoryNode value: 100G", "Invalid MinMemoryCPU value: 200M", "Invalid input: partition",
    "Invalid user name", "loaded", "known by database",
)  # fmt: skip
#: Command lines that are meant to be answered in another way, and how.
DIFFERENT = {
    "scancel '7_[x]'": "one line is enough",
    "scancel -t CD": "a state of ended jobs is taken and chooses none",
    "scancel -s 99 1": "signals are taken as numbers",
    "scancel -i 99999 </dev/null": "--interactive is refused",
    "scontrol hold x": "the second line is printed too",
    "scontrol update jobid=12 nice=x": "a nice value that is no number is refused",
    "scontrol update jobid=12 numnodes=x": "a number of nodes that is none is refused",
    "scontrol update jobid=12 numcpus=x": "one line is enough",
    "scontrol update jobid=7 arraytaskthrottle=x": "a throttle that is no number is refused",
    "scontrol update jobid=12 endtime=x": "a time that is none is refused",
    "scontrol update jobid=12 starttime=x": "one line is enough",
    "scontrol update jobid=12 deadline=x": "one line is enough",
    "scontrol update jobid=12 userid=x": "keys that rota cannot change are refused",
    "scontrol update nodename=nosuch state=drain": "as recorded",
    "scontrol update reservationname=nosuch duration=5": "left to the controller",
    "scontrol update partitionname=short": "as recorded",
    "scontrol -Q hold 99999": "left to the controller",
    "scontrol update jobid=99999 priority=5 -Q": "left to the controller",
    "scontrol version x": "words after it are passed over",
    "scontrol create partition": "left to the controller",
    "scontrol delete reservation nosuch": "left to the controller",
    "scontrol create reservation=x starttime=bogus duration=5 users=root nodes=n01": "left to the controller",
    "scontrol update jobid=x timelimit=5": "as recorded",
}  # fmt: skip


def parse(command: str) -> ScancelRequest | object:
    words = [one for one in shlex.split(command) if one != "</dev/null"]
    if words[0] == "scancel":
        return parse_scancel(words[1:], {}, "root")
    return parse_scontrol(words[1:], NOW, lambda _: 0)


@pytest.mark.parametrize("command", [one for one in RECORDED if one not in DIFFERENT])
def test_message_is_slurms(command: str) -> None:
    expected = RECORDED[command]
    refused = expected.code and not any(re.search(text, expected.err) for text in CONTROLLER)
    if not refused:
        parse(command)
        return
    with pytest.raises(UsageError) as error:
        parse(command)
    assert (error.value.err, error.value.code) == (expected.err, expected.code)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("scancel 12", ScancelRequest(jobs=(JobId(12),))),
        ("scancel 7_3 8", ScancelRequest(jobs=(JobId(7, (3,)), JobId(8)))),
        ("scancel '7_[1-3,9]'", ScancelRequest(jobs=(JobId(7, (1, 2, 3, 9), bracketed=True),))),
        ("scancel 7.0 8.12", ScancelRequest(jobs=(JobId(7, step="0"), JobId(8, step="12")))),
        ("scancel 7_,8.", ScancelRequest(jobs=(JobId(7, (0,)), JobId(8, step="0")))),
        ("scancel 1 --signal SIGUSR2", ScancelRequest(jobs=(JobId(1),), signal=12)),
        ("scancel --signal=TERM -b 1", ScancelRequest(jobs=(JobId(1),), signal=15, batch=True)),
        ("scancel -s 2 -f 1", ScancelRequest(jobs=(JobId(1),), signal=2, full=True)),
        ("scancel -Q -vv 1,2", ScancelRequest(jobs=(JobId(1), JobId(2)), quiet=True, verbose=2)),
        ("scancel --me -t pd", ScancelRequest(user="root", state="PENDING")),
        (
            "scancel -u ann -n x -p p -A a -q q",
            ScancelRequest(user="ann", name="x", partition="p", account="a", qos="q"),
        ),
        ("scancel -w n[1-2]", ScancelRequest(nodes=("n1", "n2"))),
        ("scancel --clusters=rig 1", ScancelRequest(jobs=(JobId(1),), clusters="rig")),
    ],
)
def test_scancel(command: str, expected: ScancelRequest) -> None:
    assert parse(command) == expected


@pytest.mark.parametrize(
    ("word", "named"),
    [
        *((word, word) for word in ("5_[", "5.x", "5_x", "5_[1", "5_[]", "5_[x]", "5_1x", "5x", "0", "5_-1", "5.-1")),
        *((word, word) for word in ("5.batch", "5.extern", "5.batchx", "5.batch.0", "5_1_2", "5.0.0", "5 6", ",5")),
        ("", ""),
        ("5,", ""),
        ("5,,6", ",6"),
        ("5_[1-2],,6", ",6"),
    ],
)
def test_scancel_of_what_is_no_id(word: str, named: str) -> None:
    """As Slurm 22.05.8 says it, which then cancels nothing."""
    with pytest.raises(UsageError) as error:
        parse_scancel([word, "7"], {}, "ann")
    assert (error.value.err, error.value.code) == (f"scancel: error: Invalid job id {named}\n", 1)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("hold 1 2,3", JobsRequest(command="hold", jobs=(JobId(1), JobId(2), JobId(3)))),
        ("release 1 2 3", JobsRequest(command="release", jobs=(JobId(1), JobId(2), JobId(3)))),
        ("uhold 7_[2-3]", JobsRequest(command="uhold", jobs=(JobId(7, (2, 3), bracketed=True),))),
        ("hold jobname=big", JobsRequest(command="hold", name="big")),
        ("requeue 5", JobsRequest(command="requeue", jobs=(JobId(5),))),
        ("requeue Incomplete 5", JobsRequest(command="requeue", jobs=(JobId(5),), incomplete=True)),
        ("requeuehold State=SpecialExit 5", JobsRequest(command="requeuehold", jobs=(JobId(5),), special_exit=True)),
        ("suspend 5", JobsRequest(command="suspend", jobs=(JobId(5),))),
        ("resume 5", JobsRequest(command="resume", jobs=(JobId(5),))),
        ("ping", Other(command="ping")),
        ("reconfigure", Other(command="reconfigure")),
        ("show jobid=7", Show(entity="jobs", name="7")),
        ("show jobid 7", Show(entity="jobs", name="7")),
        ("show node", Show(entity="nodes")),
        ("SHOW HOSTNAME n[1-2]", Show(entity="hostnames", name="n[1-2]")),
        (
            "update JobId=7 TimeLimit=+10 Nice Partition=a,b",
            JobUpdate(jobs=(JobId(7),), time_limit=LimitChange("+", 600), nice=100, partition="a,b"),
        ),
        # As Slurm 22.05.8 then showed them: 0:30 is a minute.
        ("update jobid=7 switches=1", JobUpdate(jobs=(JobId(7),), switches=1)),
        ("update jobid=7 switches=0", JobUpdate(jobs=(JobId(7),), switches=0)),
        ("update jobid=7 switches=1@0:30", JobUpdate(jobs=(JobId(7),), switches=1, switch_wait=60)),
        (
            "update jobid=7 Switches=2@2 Wait-For-Switch=20",
            JobUpdate(jobs=(JobId(7),), switches=2, switch_wait=20),
        ),
        (
            "update job=7_2 numnodes=2-4 minmemorynode=2G dependency= requeue=0",
            JobUpdate(
                jobs=(JobId(7, (2,)),), min_nodes=2, max_nodes=4, mem_per_node=2048, dependency="", requeue=False
            ),
        ),
        ("update jobname=x priority=7", JobUpdate(of_name="x", priority=7)),
        ("update jobid=1 jobname=x", JobUpdate(jobs=(JobId(1),), name="x")),
        ("update jobid=1 starttime=now+1hour", JobUpdate(jobs=(JobId(1),), start_time=NOW + 3600)),
        ("update jobid=1 comment='a b=c'", JobUpdate(jobs=(JobId(1),), comment="a b=c")),
        ("update jobid=1 arraytaskthrottle=0", JobUpdate(jobs=(JobId(1),), array_throttle=0)),
        (
            "update nodename=n[1-2] state=drain reason='bad disk'",
            NodeUpdate(nodes="n[1-2]", state="DRAIN", reason="bad disk"),
        ),
        ("update nodename=n1 state=resume", NodeUpdate(nodes="n1", state="RESUME")),
        ("update partitionname=p state=down", PartitionUpdate(name="p", state="DOWN")),
        (
            "create reservation reservationname=r nodes=n1 users=ann",
            Change(
                command="create",
                entity="reservation",
                name="r",
                words=("reservation", "reservationname=r", "nodes=n1", "users=ann"),
            ),
        ),
        (
            "delete reservation=r",
            Change(command="delete", entity="reservation", name="r", words=("reservation=r",)),
        ),
        (
            "delete ReservationName r",
            Change(command="delete", entity="reservation", name="r", words=("ReservationName", "r")),
        ),
    ],
)
def test_scontrol(command: str, expected: object) -> None:
    assert parse_scontrol(shlex.split(command), NOW, lambda _: 0).request == expected
