"""``rota jobstats lookup`` and ``rota plugin`` as a user runs them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rota.testing.forks import forks

from .conftest import DATA
from .test_commands import _sacct

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from rota.jobmeta.plugin import Plugin

    from .conftest import Fakes

    Write = Callable[[str, str], Path]


def run(*words: str, status: int = 0, stdin: str = "") -> subprocess.CompletedProcess[str]:
    done = forks().run(["rota", *words], directory=Path.cwd(), environment=os.environ, patience=60, stdin=stdin)
    assert done.returncode == status, done
    return done


def run_json(*words: str, status: int = 0, stdin: str = "") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*words, "--json", status=status, stdin=stdin).stdout)
    return found


def test_json(fake: Fakes) -> None:
    fake("sacct", _sacct("17", name="x"))
    fake("squeue")
    assert run_json("jobstats", "lookup", "SLURM_JOB_ID", "17", "18", "cp.0") == {
        "plugin": "SLURM_JOB_ID",
        "jobs": {
            "17": {
                "id": "17", "plugin": "slurm_job_id", "user": "alice", "uid": 1001, "group": "users",
                "account": "phys", "name": "x", "partition": "debug", "qos": "normal", "state": "RUNNING",
                "ended": False, "submit": 1795401324, "start": 1795401330, "nodes": 2, "cpus": 8,
                "nodelist": "n[1-2]", "cwd": "/home", "cluster": "test",
            },
        },
        "unknown": ["18"], "refused": ["cp.0"], "failed": [], "faults": [],
    }  # fmt: skip


def test_a_table_of_ids_of_any_kind(fake: Fakes) -> None:
    fake("sacct", _sacct("17", name="x"))
    fake("squeue")
    done = run("jobstats", "lookup", "auto", "--format", "%j@%u@%H", "--", "17", "cp.0", "17@0@n1", "18", "-x\n")
    assert done.stdout.splitlines() == [
        "id       plugin        user   account  name  partition  state    host",
        "17       slurm_job_id  alice  phys     x     debug      RUNNING  -",
        "cp.0     procname_uid  root   -        cp    -          -        -",
        "17@0@n1  slurm_job_id  alice  phys     x     debug      RUNNING  n1",
        '"18": not known to its scheduler',
        '"-x\\n": not an id of this scheduler: nobody was asked',
    ]


def test_a_scheduler_that_hangs(fake: Fakes) -> None:
    fake("qstat", body="sleep 60")
    done = run("jobstats", "lookup", "job_id", "17", "--timeout", "0.2", status=1)
    assert done.stdout == '"17": could not be looked up\n'
    assert "plugin jobmeta/job_id: qstat took longer than 0.2 s and was killed" in done.stderr


def test_missing_broken_and_failing(write_plugin: Write, plugins: Path) -> None:
    write_plugin("broken", "import no_such_module\n")
    write_plugin("failing", "def fetch(ids):\n    raise OSError('no connection')\n")
    where = ("--plugin-dir", str(plugins))
    missing = run("jobstats", "lookup", "nope", "1", *where, status=2).stderr
    assert missing.startswith("rota: error: there is no plugin jobmeta/nope in ")
    broken = run("jobstats", "lookup", "broken", "1", *where, status=2).stderr
    assert "rota: error: plugin jobmeta/broken (" in broken
    assert "loading it raised ModuleNotFoundError" in broken
    failing = run("jobstats", "lookup", "failing", "1", *where, status=1).stderr
    assert failing.startswith("rota: plugin jobmeta/failing: fetch raised OSError at ")


def test_what_was_recorded_is_read(fake: Fakes) -> None:
    """Where the collector's host has none of the scheduler's commands, somebody else's output will do."""
    file = DATA / "uge-8.6-qstat-xml-j.xml"
    found = run_json("jobstats", "lookup", "job_id", "748172", "5", "x", "--from", str(file))
    assert found["jobs"]["748172"]["user"] == "johrstrom"
    assert (found["unknown"], found["refused"]) == (["5"], ["x"])
    text = run("jobstats", "lookup", "job_id", "748172", "--from", "-", stdin=file.read_text()).stdout
    assert "johrstrom" in text


PBS = "".join(
    f"Job Id: {job_id}\n    Job_Name = {name}\n    Job_Owner = ann@h\n    job_state = R\n\n"
    for job_id, name in (("123[4].srv.example.org", "element"), ("123[].srv.example.org", "all"), ("125-4.srv", "old"))
)
TWO = "".join(f"Job Id: 9.{one}\n    Job_Name = {one}\n    job_state = R\n\n" for one in ("srv1", "srv2"))
LSF = json.dumps(
    {
        "RECORDS": [
            {"JOBID": "1234", "JOBINDEX": "5", "USER": "ann", "STAT": "RUN", "JOB_NAME": "a[5]"},
            {"JOBID": "1234", "JOBINDEX": "6", "USER": "ann", "STAT": "PEND", "JOB_NAME": "a[6]"},
        ]
    }
)
FLUX = json.dumps({"jobs": [{"id": 91088924704768, "jobid": "ƒiFkbMhFM", "username": "ann", "name": "sleep"}]})


@pytest.mark.parametrize(
    ("plugin", "text", "job_id", "known"),
    [
        ("pbs_jobid", PBS, "123[4].srv", {"name": "element"}),
        ("pbs_jobid", PBS, "123[4]", {"name": "element"}),
        ("pbs_jobid", PBS, "123[].srv.example.org", {"name": "all"}),
        ("pbs_jobid", PBS, "125-4.srv", {"name": "old"}),
        ("pbs_jobid", PBS, "123[5].srv", None),
        ("pbs_jobid", PBS, "123[4].other", None),
        ("lsb_jobid", LSF, "1234[5]", {"state": "RUN"}),
        ("lsb_jobid", LSF, "1234[6]", {"state": "PEND"}),
        ("lsb_jobid", LSF, "1234[7]", None),
        ("lsb_jobid", LSF, "1234", {"name": "a"}),
        ("flux_job_id", FLUX, "91088924704768", {"name": "sleep"}),
        ("flux_job_id", FLUX, "fiFkbMhFM", {"name": "sleep"}),
        ("flux_job_id", FLUX, "91088924704769", None),
    ],
)
def test_an_id_may_be_written_otherwise_than_in_what_was_recorded(
    plugin: str, text: str, job_id: str, known: dict[str, str] | None
) -> None:
    """As of a live scheduler: without the server, as an element of an array, in another base."""
    found = run_json("jobstats", "lookup", plugin, job_id, "--from", "-", stdin=text)
    if known is None:
        assert (found["jobs"], found["unknown"]) == ({}, [job_id])
    else:
        assert found["jobs"][job_id].items() >= {"id": job_id, **known}.items()


def test_of_two_jobs_that_fit_in_what_was_recorded_neither_is_taken() -> None:
    found = run_json("jobstats", "lookup", "pbs_jobid", "125-4.srv", "9", "--from", "-", status=1, stdin=f"{PBS}{TWO}")
    assert (list(found["jobs"]), found["failed"]) == (["125-4.srv"], ["9"])
    assert "contradicts itself about '9'" in found["faults"][0]


def test_a_text_of_another_command_is_not_taken_for_one_without_the_job() -> None:
    done = run("jobstats", "lookup", "slurm_job_id", "1", "--from", "-", stdin="JobID|User\n1|ann\n")
    assert done.stderr == "rota: plugin jobmeta/slurm_job_id: there is no job in the text that was recorded\n"


def test_what_was_recorded_has_to_be_of_a_scheduler_that_is_named() -> None:
    assert "not auto" in run("jobstats", "lookup", "auto", "1", "--from", "-", status=2, stdin="{}").stderr


@pytest.mark.parametrize(
    ("plugin", "text", "problem"),
    [
        ("job_id", "<x", "qstat printed XML that cannot be read"),
        ("lsb_jobid", "", "bjobs printed no JSON that can be read"),
        ("procname_uid", "", "has no parse(text)"),
    ],
)
def test_what_cannot_be_read(plugin: str, text: str, problem: str) -> None:
    assert problem in run("jobstats", "lookup", plugin, "1", "--from", "-", status=2, stdin=text).stderr


def test_a_file_that_is_missing() -> None:
    assert "No such file" in run("jobstats", "lookup", "job_id", "1", "--from", "/nowhere", status=2).stderr


def test_plugin_list_show_and_check(write_plugin: Write, plugins: Path, load: Callable[[str], Plugin]) -> None:
    path = write_plugin("mine", '"""Mine."""\nFIELDS = ("user",)\ndef fetch(ids):\n    yield {}\n')
    listed = run_json("plugin", "list", "--plugin-dir", str(plugins))["plugins"]
    (mine,) = (one for one in listed if one["type"] == "jobmeta/mine")
    assert (mine["state"], mine["name"], mine["where"], mine["warnings"]) == ("chosen", "jobmeta/mine", str(path), [])
    built_in = {one["type"].partition("/")[2] for one in listed if one["type"].startswith("jobmeta/")} - {"mine"}
    assert built_in == {
        "flux_job_id", "job_id", "jobid_name", "loadl_step_id", "lsb_jobid", "none", "pbs_jobid", "procname_uid",
        "slurm_job_id",
    }  # fmt: skip
    shown = run("plugin", "show", "jobmeta/mine", "--plugin-dir", str(plugins)).stdout
    assert "  fetch(ids)\n  matches(job_id)  (optional, and not there)\n" in shown
    checked = run_json("plugin", "check", str(path))
    assert (checked["ok"], checked["type"], checked["functions"]) == (True, "jobmeta/mine", ["fetch"])
    for name in built_in:
        assert load(name).fields


def test_plugin_check_says_what_is_wrong(write_plugin: Write) -> None:
    path = write_plugin("mine", "FIELDS = 'user'\ndef fetch():\n    return []\n")
    checked = run_json("plugin", "check", str(path), status=1)
    assert len(checked["problems"]) == 2
