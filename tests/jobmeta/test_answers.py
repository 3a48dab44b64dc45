"""What each scheduler says of one job, of many, of an array and of none, and what becomes of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from rota.interfaces import SEPARATOR
from rota.jobmeta import Lookups

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rota.jobmeta.plugin import Plugin

    from .conftest import Fakes


class Scheduler(NamedTuple):
    """What a scheduler says.

    Each text is what its command prints where the arguments have the word of its key in them, the first that fits.
    """

    plugin: str
    #: By command.
    says: Mapping[str, Mapping[str, str]]
    #: By id.
    jobs: Mapping[str, Mapping[str, object]]


def _row(*fields: object) -> str:
    return "".join(f"{field}{SEPARATOR}" for field in fields) + "\n"


def _sacct(job_id: int, name: str, state: str) -> str:
    times = (1795401324, 1795401330, "Unknown")
    return _row(job_id, "ann", 1001, "users", "phys", "debug", "normal", state, *times, 1, "n1", 8, "c", name, "/h")


def _squeue(job_id: int, name: str, state: str) -> str:
    times = (1795401324, 1795401330, "N/A")
    return _row(job_id, "ann", 1001, "users", "phys", "debug", "normal", state, *times, 1, "n1", 8, name, "/h")


def _flux(number: int, name: str, **more: object) -> dict[str, object]:
    return {
        "id": number, "name": name, "username": "ann", "userid": 1001, "state": "RUN", "status": "RUN",
        "t_submit": 1.5, "t_run": 2.5, "nnodes": 1, "ncores": 8, **more
    }  # fmt: skip


def _bjobs(number: int, name: str, index: int = 0, state: str = "RUN") -> dict[str, str]:
    return {
        "JOBID": str(number), "JOBINDEX": str(index), "USER": "ann", "PROJ_NAME": "phys", "QUEUE": "normal",
        "STAT": state, "NALLOC_SLOT": "8", "JOB_NAME": name
    }  # fmt: skip


def _qstat_j(*jobs: tuple[int, str]) -> str:
    """Give what Son of Grid Engine 8.1.9 prints: neither state nor queue nor slots."""
    elements = "".join(
        f"<element><JB_job_number>{number}</JB_job_number><JB_owner>ann</JB_owner><JB_job_name>{name}</JB_job_name>"
        "<JB_ja_tasks><ulong_sublist><JAT_status>128</JAT_status></ulong_sublist></JB_ja_tasks></element>"
        for number, name in jobs
    )
    return f"<?xml version='1.0'?><detailed_job_info><djob_info>{elements}</djob_info></detailed_job_info>"


def _qstat_list(*tasks: tuple[int, str, str, int]) -> str:
    rows = "".join(
        f"<job_list><JB_job_number>{number}</JB_job_number><JB_owner>ann</JB_owner><state>{state}</state>"
        f"<queue_name>{queue}</queue_name><slots>{slots}</slots></job_list>"
        for number, state, queue, slots in tasks
    )
    return f"<?xml version='1.0'?><job_info><queue_info>{rows}</queue_info></job_info>"


def _torque(*jobs: tuple[str, str]) -> str:
    rows = "".join(
        f"<Job><Job_Id>{job_id}</Job_Id><Job_Name>{name}</Job_Name><Job_Owner>ann@login</Job_Owner>"
        "<job_state>R</job_state><queue>batch</queue><ctime>1435000000</ctime><start_time>1435000060</start_time>"
        "<Resource_List><nodect>3</nodect><nodes>2:ppn=8+n17:ppn=4:gpus=1</nodes></Resource_List></Job>"
        for job_id, name in jobs
    )
    return f"<Data>{rows}</Data>"


def _pbs(**jobs: str) -> str:
    fields = {"Job_Owner": "ann@login", "job_state": "R", "queue": "workq", "Resource_List": {"ncpus": 8, "nodect": 1}}
    return json.dumps({"Jobs": {job_id: {"Job_Name": name, **fields} for job_id, name in jobs.items()}})


_SLURM = {"user": "ann", "partition": "debug", "state": "RUNNING", "cpus": 8}
_FLUX = {"user": "ann", "state": "RUN", "cpus": 8}
_LSF = {"user": "ann", "partition": "normal", "state": "RUN", "cpus": 8}
_TORQUE = {"user": "ann", "partition": "batch", "state": "R", "cpus": 20, "submit": 1435000000, "start": 1435000060}
_PBS = {"user": "ann", "partition": "workq", "state": "R", "cpus": 8}
_ONE, _OTHER = _flux(15032385536, "solo"), _flux(15032385537, "other")
_OLD = {"jobs": [_ONE, _OTHER]}
_NEW = {"jobs": [{**_ONE, "jobid": "\u0192PuMuVy"}, {**_OTHER, "jobid": "\u0192PuMuVz"}]}
CASES = {
    "slurm, one": Scheduler(
        "slurm_job_id", {"sacct": {"": _sacct(7, "solo", "RUNNING")}}, {"7": {**_SLURM, "name": "solo"}}
    ),
    "slurm, many": Scheduler(
        "slurm_job_id",
        {"sacct": {"": _sacct(7, "solo", "RUNNING") + _sacct(8, "other", "COMPLETED")}},
        {"7": {**_SLURM, "name": "solo"}, "8": {**_SLURM, "name": "other", "state": "COMPLETED", "ended": True}},
    ),
    "slurm, an array": Scheduler(
        "slurm_job_id",  # raw ids
        {"sacct": {"": _sacct(7, "sweep", "RUNNING") + _sacct(8, "sweep", "PENDING")}},
        {"7": {**_SLURM, "name": "sweep"}, "8": {**_SLURM, "name": "sweep", "state": "PENDING"}},
    ),
    "slurm, none": Scheduler("slurm_job_id", {"sacct": {"": ""}}, {}),
    "slurm without accounting": Scheduler(
        "slurm_job_id",
        {"sacct": {"": ""}, "squeue": {"": _squeue(7, "solo", "RUNNING") + _squeue(6, "x", "RUNNING")}},
        {"7": {**_SLURM, "name": "solo"}},
    ),
    "flux before 0.83, one": Scheduler(
        "flux_job_id", {"flux": {"": json.dumps(_ONE)}}, {"fPuMuVy": {**_FLUX, "name": "solo"}}
    ),
    "flux before 0.83, many": Scheduler(
        "flux_job_id",
        {"flux": {"": json.dumps(_OLD)}},
        {"fPuMuVy": {**_FLUX, "name": "solo"}, "\u0192PuMuVz": {**_FLUX, "name": "other"}},
    ),
    "flux, one": Scheduler(
        "flux_job_id", {"flux": {"": json.dumps(_NEW["jobs"][0])}}, {"fPuMuVy": {**_FLUX, "name": "solo"}}
    ),
    "flux, many": Scheduler(
        "flux_job_id",
        {"flux": {"": json.dumps(_NEW)}},
        {"fPuMuVy": {**_FLUX, "name": "solo"}, "??PuMuVz": {**_FLUX, "name": "other"}},
    ),
    "flux, none": Scheduler("flux_job_id", {"flux": {"": '{"jobs": []}'}}, {}),
    "lsf, one": Scheduler(
        "lsb_jobid",
        {"bjobs": {"": json.dumps({"RECORDS": [_bjobs(7, "solo")]})}},
        {"7": {**_LSF, "name": "solo"}},
    ),
    "lsf, many": Scheduler(
        "lsb_jobid",
        {"bjobs": {"": json.dumps({"RECORDS": [_bjobs(7, "a[1]"), _bjobs(8, "other")]})}},
        {"7": {**_LSF, "name": "a[1]"}, "8": {**_LSF, "name": "other"}},  # what is no array may be called so
    ),
    "lsf, an array": Scheduler(
        "lsb_jobid",
        {
            "bjobs": {"": json.dumps({"RECORDS": [_bjobs(7, "sweep[1]", 1), _bjobs(7, "sweep[2]", 2)]})},
            "bacct": {"": ""},
        },
        {"7": {**_LSF, "name": "sweep"}, "7[2]": {**_LSF, "name": "sweep"}},
    ),
    "lsf, an array that only the accounting knows": Scheduler(
        "lsb_jobid",
        {
            "bjobs": {"": '{"RECORDS": []}'},
            "bacct": {
                "": "".join(
                    f"Job <7[{index}]>, Job Name <sweep[{index}]>, User <ann>, Project <phys>, Status <DONE>,"
                    f" Queue <normal>, Command <x>\n{'-' * 78}\n\n"
                    for index in (1, 2)
                )
            },
        },
        {"7": {"user": "ann", "name": "sweep", "partition": "normal", "state": "DONE", "ended": True}},
    ),
    "lsf, none": Scheduler("lsb_jobid", {"bjobs": {"": '{"RECORDS": []}'}}, {}),
    "grid engine, one": Scheduler(
        "job_id",
        {"qstat": {"-j": _qstat_j((7, "solo")), "": _qstat_list((7, "r", "all.q@n1", 8), (6, "r", "all.q@n2", 1))}},
        {"7": {"user": "ann", "name": "solo", "state": "r", "partition": "all.q", "cpus": 8}},
    ),
    "grid engine, many": Scheduler(
        "job_id",
        {
            "qstat": {
                "-j": _qstat_j((7, "solo"), (8, "other")),
                "": _qstat_list((7, "r", "all.q@n1", 8), (8, "hqw", "", 2)),
            }
        },
        {
            "7": {"user": "ann", "name": "solo", "state": "r", "partition": "all.q", "cpus": 8},
            "8": {"user": "ann", "name": "other", "state": "hqw", "cpus": 2},
        },
    ),
    "grid engine, an array": Scheduler(
        "job_id",
        {
            "qstat": {
                "-j": _qstat_j((7, "sweep")),
                "": _qstat_list((7, "qw", "", 8), (7, "r", "all.q@n1", 8), (7, "r", "all.q@n2", 8)),
            }
        },
        {"7": {"user": "ann", "name": "sweep", "state": "r", "partition": "all.q", "cpus": 16}},
    ),
    "grid engine, none": Scheduler("job_id", {"qstat": {"": _qstat_j()}}, {}),
    "torque, one": Scheduler(
        "pbs_jobid", {"qstat": {"json": "", "": _torque(("7.srv", "solo"))}}, {"7.srv": {**_TORQUE, "name": "solo"}}
    ),
    "torque, many": Scheduler(
        "pbs_jobid",
        {"qstat": {"json": "", "": _torque(("7.srv", "solo"), ("8.srv", "other"))}},
        {"7": {**_TORQUE, "name": "solo"}, "8.srv": {**_TORQUE, "name": "other"}},
    ),
    "torque, an array": Scheduler(
        "pbs_jobid",  # before and after 3.0
        {"qstat": {"json": "", "": _torque(("123-4.srv", "sweep-4"), ("7[1].srv", "sweep-1"))}},
        {"123-4.srv": {**_TORQUE, "name": "sweep-4"}, "7[1].srv": {**_TORQUE, "name": "sweep-1"}},
    ),
    "torque, none": Scheduler("pbs_jobid", {"qstat": {"json": "", "": ""}}, {}),
    "openpbs, one": Scheduler(
        "pbs_jobid", {"qstat": {"json": _pbs(**{"7.srv": "solo"}), "": ""}}, {"7.srv": {**_PBS, "name": "solo"}}
    ),
    "openpbs, many": Scheduler(
        "pbs_jobid",
        {"qstat": {"json": _pbs(**{"7.srv": "solo", "8.srv": "other"}), "": ""}},
        {"7.srv": {**_PBS, "name": "solo"}, "8": {**_PBS, "name": "other"}},
    ),
    "openpbs, an array": Scheduler(
        "pbs_jobid",
        {"qstat": {"json": _pbs(**{"7[1].srv": "sweep", "7[2].srv": "sweep"}), "": ""}},
        {"7[1].srv": {**_PBS, "name": "sweep"}, "7[2].srv": {**_PBS, "name": "sweep"}},
    ),
    "openpbs, none": Scheduler("pbs_jobid", {"qstat": {"json": '{"Jobs": {}}', "": ""}}, {}),
}
_UNKNOWN = {"flux_job_id": "fAAAA"}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_what_schedulers_say(fake: Fakes, case: Scheduler) -> None:
    for command in ("squeue", "bacct", "qacct"):
        fake(command)
    for command, texts in case.says.items():
        for number, text in enumerate(texts.values()):
            fake(f"{command}.{number}", text)
        cases = " ".join(f'*{word}*) exec {command}.{number} "$@";;' for number, word in enumerate(texts))
        fake(command, body=f'case "$*" in {cases} esac')
    nobody = _UNKNOWN.get(case.plugin, "99")
    with Lookups() as lookups:
        answers = lookups.lookup([*case.jobs, nobody], case.plugin)
    assert answers.faults == []
    assert answers.unknown == [nobody]
    found: dict[str, dict[str, Any]] = {job: {**fields} for job, fields in answers.jobs.items()}
    assert {job: {key: found[job].get(key) for key in fields} for job, fields in case.jobs.items()} == case.jobs
    assert all(job["ended"] is case.jobs[job_id].get("ended", False) for job_id, job in found.items())


def test_an_answer_of_flux_without_ids_is_a_fault(fake: Fakes) -> None:
    fake("flux", '{"jobs": [{"name": "solo"}]}')
    with Lookups() as lookups:
        answers = lookups.lookup(["fPuMuVy"], "flux_job_id")
    assert answers.failed == ["fPuMuVy"]
    assert "printed what cannot be read" in answers.faults[0]


def test_a_list_of_all_jobs_is_asked_for_once(fake: Fakes) -> None:
    """However many batches there are, and again when it does not last any more."""
    fake("sacct", stderr="Slurm accounting storage is disabled\n", status=1)
    fake("squeue", "".join(_squeue(number, "solo", "RUNNING") for number in range(2000, 4000)))
    with Lookups() as lookups:
        answers = lookups.lookup([str(number) for number in range(1000, 6000)], "slurm_job_id")
        assert len(answers.jobs) == 2000
        assert len(answers.unknown) == 3000
    assert len(fake.calls("sacct")) == 5
    assert len(fake.calls("squeue")) == 1


def _parsed(load: Callable[[str], Plugin], name: str, text: str, *fields: str) -> dict[str, tuple[Any, ...]]:
    found = load(name).parse(text)
    return {job_id: tuple(job.get(field) for field in fields) for job_id, job in found.items()}


def test_parts_of_a_heterogeneous_job_of_scontrol(load: Callable[[str], Plugin]) -> None:
    text = "".join(
        f"JobId={number} HetJobId=901 HetJobOffset={place} JobName=JobName=a b\n"
        "   UserId=ann(1001) GroupId=phys(100) MCS_label=N/A\n   JobState=RUNNING Reason=None Dependency=(null)\n\n"
        for place, number in enumerate((901, 902))
    )
    expected = ("JobName=a b", "ann", "RUNNING")
    found = _parsed(load, "slurm_job_id", text, "name", "user", "state")
    assert found == {"901": expected, "902": expected}


def test_jobs_of_scontrol_in_one_line_each(load: Callable[[str], Plugin]) -> None:
    """In which a name could look like another job's owner: such a job is left out."""
    text = (
        "JobId=11 ArrayJobId=9 ArrayTaskId=2 JobName=a b UserId=ann(1001) GroupId=phys(100) Priority=1 Account=acct"
        " JobState=RUNNING NumNodes=1 NumCPUs=8 WorkDir=/home/a b Comment=JobState=FAILED \n"
        "JobId=12 JobName=x UserId=root(0) GroupId=y UserId=bob(1002) GroupId=phys(100) JobState=PENDING\n"
        "JobId=13 JobName=x UserId=bob(1002) GroupId=phys(100) JobState=PENDING\n"
    )
    assert _parsed(load, "slurm_job_id", text, "name", "user", "account", "state", "cpus", "cwd") == {
        "11": ("a b", "ann", "acct", "RUNNING", 8, "/home/a b"),
        "13": ("x", "bob", None, "PENDING", None, None),
    }


def test_processors_of_a_job_that_waits_in_the_json_of_sacct(load: Callable[[str], Plugin]) -> None:
    cpu = {"type": "cpu", "name": "", "id": 1, "count": 4}
    waits = {"job_id": 1, "state": {"current": ["PENDING"]}, "tres": {"allocated": [], "requested": [cpu]}}
    runs = {"job_id": 2, "state": {"current": ["RUNNING"]}}
    runs["tres"] = {"allocated": [{**cpu, "count": 16}], "requested": [cpu]}
    text = json.dumps({"jobs": [waits, runs]})
    assert _parsed(load, "slurm_job_id", text, "state", "cpus") == {"1": ("PENDING", 4), "2": ("RUNNING", 16)}


def test_processors_of_torque(load: Callable[[str], Plugin]) -> None:
    asked = {
        "1.tq": {"nodes": "4", "ncpus": "1"},
        "2.tq": {"procs": "32", "ncpus": "1"},
        "3.tq": {"nodes": "2:ppn=8+n17:ppn=4#shared"},
        "4.tq": {"nodes": "1", "ncpus": "16"},
        "5.tq": {},
    }
    text = "".join(
        f"Job Id: {job_id}\n" + "".join(f"    Resource_List.{name} = {value}\n" for name, value in some.items()) + "\n"
        for job_id, some in asked.items()
    )
    assert _parsed(load, "pbs_jobid", text, "cpus") == {
        "1.tq": (4,), "2.tq": (32,), "3.tq": (20,), "4.tq": (16,), "5.tq": (None,),
    }  # fmt: skip


def test_times_of_pbs_in_seconds(load: Callable[[str], Plugin]) -> None:
    times = {"ctime": 1720000000, "qtime": 1720000001, "stime": 1720000100}
    text = json.dumps({"Jobs": {"7.pbs": {"Job_Owner": "ann@login", "job_state": "R", **times}}})
    assert _parsed(load, "pbs_jobid", text, "user", "submit", "start") == {"7.pbs": ("ann", 1720000000, 1720000100)}


def test_an_element_whose_index_is_in_its_id(load: Callable[[str], Plugin]) -> None:
    record = {"JOBID": "500[3]", "JOBINDEX": "3", "USER": "ann", "STAT": "RUN", "JOB_NAME": "sweep[3]"}
    text = json.dumps({"RECORDS": [record]})
    assert _parsed(load, "lsb_jobid", text, "user", "name") == {"500": ("ann", "sweep")}
