"""Each id goes to the plugin whose form it has; the variable that Lustre was told is only a hint."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

import pytest

from rota.interfaces.jobmeta import USUAL_FIELDS
from rota.jobmeta import Lookups
from rota.jobmeta.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rota.jobmeta.plugin import Plugin

    from .conftest import Fakes

    Write = Callable[[str, str], Path]


class Made(NamedTuple):
    """A registry, and what it has reported."""

    registry: Registry
    told: list[str]

    def names(self, *ids: str) -> list[str | None]:
        """Name the plugin of each id."""
        return [plugin.name if (plugin := self.registry.plugin_of(job_id)) else None for job_id in ids]


@pytest.fixture
def make(fake: Fakes, plugins: Path) -> Iterator[Callable[..., Made]]:
    """Make registries, with the test's own directory of plugins and no scheduler on PATH but fake ones."""
    with ExitStack() as stack:

        def make(variable: str = "") -> Made:
            told: list[str] = []
            registry = Registry([plugins], variable=variable, jobid_name="", timeout=1, report=told.append)
            stack.callback(registry.close)
            return Made(registry, told)

        yield make


#: As they are seen on one target: of jobs, of processes on login nodes and servers, and what is neither.
MIXED = ("4103947", "cp.1000", "kworker/0:1.0", "rsync_env.sh.30026", "123.srv", "123[4].srv", "ƒiFkbMhFM", "nonsense")


@pytest.mark.parametrize(
    ("variable", "command", "expected"),
    [
        ("SLURM_JOB_ID", "sacct", "slurm_job_id"), ("JOB_ID", "qconf", "job_id"), ("LSB_JOBID", "bjobs", "lsb_jobid"),
    ],
)  # fmt: skip
def test_one_target_has_ids_of_several_kinds(
    make: Callable[..., Made], fake: Fakes, variable: str, command: str, expected: str
) -> None:
    process = "procname_uid"
    kinds = [expected, process, process, process, None, None, None, None]
    made = make(variable)
    assert made.names(*MIXED) == kinds
    fake(command)
    for unset in ("", "disable", "procname_uid", "nodelocal", "session"):
        made = make(unset)
        assert made.names(*MIXED) == kinds
        assert not made.told


def test_other_schedulers_that_are_there(make: Callable[..., Made], fake: Fakes) -> None:
    fake("pbsnodes")
    fake("flux")
    made = make("SLURM_JOB_ID")
    process = "procname_uid"
    assert made.names(*MIXED) == [
        "slurm_job_id", process, process, process, "pbs_jobid", "pbs_jobid", "flux_job_id", None
    ]  # fmt: skip


def test_a_number_that_may_be_of_two_schedulers_goes_to_neither(make: Callable[..., Made], fake: Fakes) -> None:
    fake("sacct")
    fake("qconf")
    made = make()
    assert made.names("17", "18") == [None, None]
    expected = "ids such as '17' may be of job_id or slurm_job_id: give the variable from which Lustre takes its ids"
    assert made.told == [expected]
    assert make("JOB_ID").names("17") == ["job_id"]


def test_without_any_scheduler_there_are_processes(make: Callable[..., Made], fake: Fakes) -> None:
    assert make().names("17", "cp.0", "a@0@host") == [None, "procname_uid", "jobid_name"]


def test_a_variable_without_a_plugin(make: Callable[..., Made], fake: Fakes) -> None:
    """Lustre's manual lists ALPS_APP_ID, and any variable may be named."""
    made = make("ALPS_APP_ID")
    assert made.names("17", "cp.0") == [None, "procname_uid"]
    (said,) = made.told
    assert said.startswith("there is no plugin jobmeta/alps_app_id in ")


def test_a_module_of_the_original_api_takes_what_is_no_process(
    make: Callable[..., Made], fake: Fakes, write_plugin: Write, plugins: Path
) -> None:
    fake("sacct")
    write_plugin("site_id", "def fetch(ids):\n    return [{'name': job_id} for job_id in ids]\n")
    made = make("SITE_ID")
    assert made.names("17", "-x; y", "cp.0") == ["site_id", "site_id", "procname_uid"]


def test_a_broken_plugin_costs_the_others_nothing(fake: Fakes, write_plugin: Write, plugins: Path) -> None:
    fake("sacct")
    write_plugin("broken", "raise RuntimeError('here')\n")
    write_plugin("half", "def fetch(ids): ...\ndef matches(job_id):\n    raise RuntimeError('there')\n")
    told: list[str] = []
    with Lookups([plugins], variable="BROKEN", report=told.append) as lookups:
        assert lookups.lookup(["cp.0", "x"]).jobs["cp.0"]["user"] == "root"
        assert "name" in lookups.fields()
    assert len(told) == 1
    assert "RuntimeError" in told[0]


@pytest.mark.parametrize(
    ("jobid_name", "job_id", "expected"),
    [
        ("%j@%u@%H", "17@0@node1", {"job": "17", "uid": 0, "user": "root", "host": "node1"}),
        ("%j@%u@%H", "@0@login1", {"uid": 0, "user": "root", "host": "login1"}),
        ("%j@%u@%H", "@4294967294@login1", {"uid": 4294967294, "user": "4294967294", "host": "login1"}),
        ("%e@%u@%h", "my@prog@0@n1.example", {"name": "my@prog", "uid": 0, "user": "root", "host": "n1.example"}),
        ("%j:%u:%H", "SLURM_JOB_m1_24:0:mac", {"job": "SLURM_JOB_m1_24", "uid": 0, "user": "root", "host": "mac"}),
        ("%e.%u", "cp.0", {"name": "cp", "uid": 0, "user": "root"}),
        ("%.8e.%g.%p", "cp.5.77", {"name": "cp", "gid": 5, "pid": 77}),
        ("%j?%e@%H", "cp@n1", {"name": "cp", "host": "n1"}),
        ("%j?%e@%H", "123.srv", {"job": "123.srv"}),
        ("", "17@0@node1", {"job": "17", "uid": 0, "user": "root", "host": "node1"}),
        ("", "cp@0@node1", {"name": "cp", "uid": 0, "user": "root", "host": "node1"}),
        # 31 bytes, which is all that Lustre keeps: the last part may be cut, and a cut number is another's.
        ("", "mount.lustre@0@co-es-pm-149.co-", {"name": "mount.lustre", "uid": 0, "user": "root"}),
        ("%h@%j@%u", "a-rather-long-host-name@12345@0", {"host": "a-rather-long-host-name", "job": "12345"}),
        ("%h@%j@%u", "a-rather-long-host-name.org@123", {"host": "a-rather-long-host-name.org"}),
    ],
)  # fmt: skip
def test_composite_ids(
    fake: Fakes, load: Callable[[str], Plugin], jobid_name: str, job_id: str, expected: dict[str, object]
) -> None:
    plugin = load("jobid_name")
    if jobid_name:
        plugin.container.use_format(jobid_name)
    assert plugin.matches(job_id)
    assert plugin.ask([job_id]).found == {job_id: expected}


@pytest.mark.parametrize("job_id", ["17", "cp.0", "a@b@c", "", "@", "x" * 31])
def test_what_is_not_composed_so(load: Callable[[str], Plugin], job_id: str) -> None:
    assert not load("jobid_name").matches(job_id)


def test_the_job_in_a_composite_id_is_looked_up(fake: Fakes) -> None:
    from .test_commands import _sacct

    fake("sacct", _sacct("17", "alice", "simulation"))
    with Lookups(variable="SLURM_JOB_ID", jobid_name="%j@%u@%H") as lookups:
        answers = lookups.lookup(["17@1001@node1", "17", "@0@login1", "18@0@node2"])
        assert lookups.known(["17@1001@node1"]).jobs["17@1001@node1"] == answers.jobs["17@1001@node1"]
    job = answers.jobs["17@1001@node1"]
    assert (job["user"], job["name"], job["host"], job["plugin"]) == ("alice", "simulation", "node1", "slurm_job_id")
    assert answers.jobs["17"]["user"] == "alice"
    assert answers.jobs["@0@login1"]["user"] == "root"
    assert (answers.jobs["18@0@node2"]["user"], answers.jobs["18@0@node2"]["job"]) == ("root", "18")


def test_an_id_that_was_cut(make: Callable[..., Made], fake: Fakes) -> None:
    """Of 31 bytes the last may be missing: what would be another job's or user's id is not used."""
    made = make("LOADL_STEP_ID")
    assert made.names("frontend-node-02-interna.4213.0", "fr2n02.4213.0") == [None, "loadl_step_id"]
    assert made.names("a" * 26 + ".1000") == [None]


def test_what_the_own_plugins_know_can_always_be_asked_for(make: Callable[..., Made]) -> None:
    registry = make().registry
    found = {field for name in registry.names() if (plugin := registry._usable(name)) for field in plugin.fields}
    assert found <= set(USUAL_FIELDS)
    assert "account" in found
