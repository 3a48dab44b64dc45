"""Modules that were written for the original's API, and modules that are broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.jobmeta import Lookups
from rota.model import PluginError, RotaError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Write = Callable[[str, str], Path]

#: What the original's plugin for processes did, written anew: no identity symbols, and an answer for each id in order.
PROCNAME = '''
FIELDS = ("name", "user")

def fetch(ids):
    """Generate process names and user ids."""
    for job_id in ids:
        yield dict(zip(FIELDS, job_id.rsplit(".", 1)))
'''
#: The same as other iterables.
FORMS = {
    "generator": PROCNAME,
    "list": PROCNAME.replace("def fetch", "def each") + "def fetch(ids):\n    return list(each(ids))\n",
    "tuple": PROCNAME.replace("def fetch", "def each") + "def fetch(ids):\n    return tuple(each(ids))\n",
    "map": 'FIELDS = "name", "user"\ndef fetch(ids):\n'
    '    return map(lambda job_id: dict(zip(FIELDS, job_id.rsplit(".", 1))), ids)\n',
    "mapping": PROCNAME.replace("def fetch", "def each") + "def fetch(ids):\n    return dict(zip(ids, each(ids)))\n",
    "without FIELDS": PROCNAME.replace("FIELDS", "names"),
}


@pytest.mark.parametrize("form", FORMS)
def test_it_loads_unchanged(write_plugin: Write, plugins: Path, form: str) -> None:
    write_plugin("shell_jobid", FORMS[form])
    with Lookups([plugins]) as lookups:
        answers = lookups.lookup(["cp.0", "dd.1001", "a.b.2", "nothing"], "shell_jobid")
    assert {job_id: (job["name"], job.get("user")) for job_id, job in answers.jobs.items()} == {
        "cp.0": ("cp", "0"), "dd.1001": ("dd", "1001"), "a.b.2": ("a.b", "2"), "nothing": ("nothing", None)
    }  # fmt: skip
    assert not answers.faults


def test_the_file_may_be_a_link(tmp_path: Path, plugins: Path) -> None:
    source = tmp_path / "mine.py"
    source.write_text(PROCNAME)
    (plugins / "jobmeta" / "shell_jobid.py").symlink_to(source)
    with Lookups([plugins]) as lookups:
        assert lookups.lookup(["cp.0"], "shell_jobid").jobs["cp.0"]["name"] == "cp"


def test_where_the_file_should_be_is_told(plugins: Path) -> None:
    """In the original all plugins of its directory were of one kind."""
    (plugins / "shell_jobid.py").write_text(PROCNAME)
    with Lookups([plugins]) as lookups, pytest.raises(PluginError) as refused:
        lookups.lookup(["cp.0"], "shell_jobid")
    assert f"{plugins}/shell_jobid.py would be it as {plugins}/jobmeta/shell_jobid.py" in str(refused.value)


def test_the_file_may_be_named_as_other_plugins_are(plugins: Path) -> None:
    (plugins / "jobmeta_shell_jobid.py").write_text(PROCNAME)
    with Lookups([plugins]) as lookups:
        assert lookups.lookup(["cp.0"], "SHELL_JOBID").jobs["cp.0"]["name"] == "cp"


def test_one_that_leaves_jobs_out_labels_none(write_plugin: Write, plugins: Path) -> None:
    """In the original this put the second job's owner on the first."""
    write_plugin("partial", "def fetch(ids):\n    return [{'user': job_id} for job_id in ids if job_id != '1']\n")
    with Lookups([plugins]) as lookups:
        answers = lookups.lookup(["1", "2", "3"], "partial")
    assert not answers.jobs
    assert answers.failed == ["1", "2", "3"]
    assert answers.faults == ["plugin jobmeta/partial: it gave 2 answers without `id` for 3 ids: none is used"]


def test_missing_broken_and_failing_are_told_apart(write_plugin: Write, plugins: Path) -> None:
    broken = write_plugin("broken", "import no_such_module\ndef fetch(ids):\n    return {}\n")
    failing = write_plugin("failing", "def fetch(ids):\n    return {job_id: 1 / 0 for job_id in ids}\n")
    with Lookups([plugins]) as lookups:
        with pytest.raises(PluginError, match=r"there is no plugin jobmeta/missing in .*: there is .*jobmeta/failing"):
            lookups.lookup(["1"], "missing")
        with pytest.raises(
            PluginError, match=r"loading it raised ModuleNotFoundError at .*: No module named"
        ) as raised:
            lookups.lookup(["1"], "broken")
        assert f"{broken}:1" in str(raised.value)
        answers = lookups.lookup(["1"], "failing")
    assert answers.failed == ["1"]
    expected = f"plugin jobmeta/failing: fetch raised ZeroDivisionError at {failing}:2: division by zero"
    assert answers.faults == [expected]


def test_one_id_that_a_plugin_cannot_bear_costs_the_others_nothing(write_plugin: Write, plugins: Path) -> None:
    write_plugin("strict", "def fetch(ids):\n    for job_id in ids:\n        yield {'number': int(job_id)}\n")
    ids = [*map(str, range(500)), "poison", *map(str, range(500, 1000))]
    with Lookups([plugins]) as lookups:
        answers = lookups.lookup(ids, "strict")
    assert answers.failed == ["poison"]
    assert all(job["number"] == int(job_id) for job_id, job in answers.jobs.items())
    assert len(answers.jobs) == 1000


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("FIELDS = 'name'\ndef fetch(ids): ...", "FIELDS is 'name': expected a tuple of names"),
        ("FIELDS = ('name', 3)\ndef fetch(ids): ...", r"FIELDS is \('name', 3\): expected a tuple of names"),
        ("TTL = 0\ndef fetch(ids): ...", "TTL is 0: expected a number above 0"),
        ("BATCH = 'x'\ndef fetch(ids): ...", "BATCH is 'x': expected a number above 0"),
        ("def fetch(): ...", r"fetch\(\) cannot be called with 1 argument"),
        ("def matches(job_id): ...", r"fetch\(ids\) is missing"),
        ("def fetch(ids): ...\nmatches = 1", "matches is int, not a function"),
        ("async def fetch(ids): ...", "fetch is a coroutine"),
        (
            "plugin_type = 'jobmeta/other'\nplugin_name = 'x'\ndef fetch(ids): ...",
            "the file must be called jobmeta/other.py",
        ),
    ],
)
def test_what_is_wrong_with_it_is_said_before_it_is_used(
    write_plugin: Write, plugins: Path, source: str, problem: str
) -> None:
    write_plugin("wrong", source)
    with Lookups([plugins]) as lookups, pytest.raises(RotaError, match=problem):
        lookups.lookup(["1"], "wrong")


def test_a_file_that_others_can_write_is_not_run(write_plugin: Write, plugins: Path) -> None:
    write_plugin("open_to_all", PROCNAME).chmod(0o666)
    with Lookups([plugins]) as lookups, pytest.raises(RotaError, match="writable by others: chmod o-w"):
        lookups.lookup(["cp.0"], "open_to_all")


def test_a_plugin_that_never_ends_its_answers(write_plugin: Write, plugins: Path) -> None:
    write_plugin("endless", "def fetch(ids):\n    while True:\n        yield {'user': 'x'}\n")
    with Lookups([plugins]) as lookups:
        answers = lookups.lookup(["1"], "endless")
    assert answers.failed == ["1"]
    assert "answers too many" in answers.faults[0]


def test_unchecked_ids_reach_no_command(write_plugin: Write, plugins: Path) -> None:
    """Who asks for commands has to say which ids are its own."""
    source = "from rota.interfaces import Command\ndef fetch(ids):\n    yield Command(('echo', *ids))\n"
    write_plugin("careless", source)
    with Lookups([plugins]) as lookups:
        answers = lookups.lookup(["-n"], "careless")
    assert answers.failed == ["-n"]
    assert "it asks for a command, but has no matches(job_id)" in answers.faults[0]


def test_answers_that_cannot_even_be_looked_at(write_plugin: Write, plugins: Path) -> None:
    source = """
class Value:
    def __str__(self):
        raise RuntimeError("no text")
def fetch(ids):
    return [{"user": Value()} for _ in ids]
"""
    write_plugin("nasty", source)
    with Lookups([plugins]) as lookups:
        answers = lookups.lookup(["1"], "nasty")
    assert answers.faults == ["plugin jobmeta/nasty: its answers raise RuntimeError"]
