"""Runs that differ in anything but their policies are told to, and no difference between them is marked."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import rota
from rota.model import InputError
from rota.results.side_by_side import compare

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rota.results.result import Result
    from rota.results.side_by_side import Comparison

#: Four nodes; jobs of nine users have to wait for them.
CONF = """\
ClusterName=c
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
SchedulerType=sched/backfill
Licenses=matlab:4
NodeName=n[1-4] CPUs=8 RealMemory=16000 Gres=gpu:2 Feature=old
PartitionName=main Nodes=n[1-4] Default=YES MaxTime=1-0
PartitionName=other Nodes=n[1-4] MaxTime=1-0
"""
PLUGIN = '''\
"""priority/mine: {what}."""
from rota.interfaces.stubs.priority import *

plugin_type = "priority/mine"
plugin_name = "Mine"
plugin_version = 100


def priority_p_set(last_prio, job_ptr):
    return {priority}
'''


@dataclass
class Job:
    """A line of an event file."""

    at: int
    run: int
    options: dict[str, str]

    def line(self) -> str:
        words = " ".join(
            f"{name} {value}" if len(name) == 2 else f"{name}={value}" for name, value in self.options.items()
        )
        return f"-dt {self.at}.0 -e submit_batch_job | -sim-walltime {self.run} {words} job.sh\n"


@dataclass
class Case:
    """What is replayed: every part can be changed."""

    jobs: list[Job]
    conf: str = CONF
    plugin: str = ""
    failures: str = ""
    options: dict[str, Any] | None = None

    def result(self, folder: Path) -> Result:
        folder.mkdir()
        (folder / "jobs.events").write_text("".join(job.line() for job in self.jobs))
        (folder / "slurm.conf").write_text(self.conf)
        given: dict[str, Any] = dict(self.options or {})
        if self.plugin:
            (folder / "priority_mine.py").write_text(self.plugin)
            given |= {"plugin_dir": [folder], "priority": "priority/mine"}
        if self.failures:
            (folder / "failures.txt").write_text(self.failures)
            given["node_failures"] = folder / "failures.txt"
        scenario = rota.Scenario.from_files(folder / "jobs.events", folder / "slurm.conf", report=str, **given)
        return rota.replay(scenario)


def first_case(random: Random) -> Case:
    jobs = [
        Job(
            at=random.randrange(20),
            run=random.randrange(300, 3000),
            options={
                "--uid": f"u{random.randrange(12)}",
                "-n": str(random.choice((1, 2, 4, 8, 16))),
                "-t": str(random.randrange(50, 120)),
                "--mem-per-cpu": "500",
            },
        )
        for _ in range(70)
    ]
    return Case(jobs)


def with_job(case: Case, random: Random, change: Callable[[Job], Job]) -> Case:
    """Change some of the jobs."""
    chosen = set(random.sample(range(len(case.jobs)), random.choice((1, 10, 50))))
    return replace(case, jobs=[change(job) if i in chosen else job for i, job in enumerate(case.jobs)])


def with_option(case: Case, random: Random, name: str, value: str) -> Case:
    return with_job(case, random, lambda job: replace(job, options=job.options | {name: value}))


#: What else than the policy can differ: the parts of a workload, of a machine, and of what happens to it.
OTHERS: dict[str, Callable[[Case, Random], Case]] = {
    "run time": lambda case, random: with_job(case, random, lambda job: replace(job, run=job.run // 2)),
    "submit time": lambda case, random: with_job(case, random, lambda job: replace(job, at=job.at + 1)),
    "processors": lambda case, random: with_option(case, random, "-n", "3"),
    "time limit": lambda case, random: with_option(case, random, "-t", "200"),
    "user": lambda case, random: with_option(case, random, "--uid", "v1"),
    "account": lambda case, random: with_option(case, random, "-A", "physics"),
    "partition": lambda case, random: with_option(case, random, "-p", "other"),
    "memory": lambda case, random: with_option(case, random, "--mem-per-cpu", "1000"),
    "GPUs": lambda case, random: with_option(case, random, "--gres", "gpu:1"),
    "feature": lambda case, random: with_option(case, random, "-C", "old"),
    "licence": lambda case, random: with_option(case, random, "-L", "matlab:2"),
    "nice": lambda case, random: with_option(case, random, "--nice", "100"),
    "begin": lambda case, random: with_option(case, random, "--begin", "now+600"),
    "dependency": lambda case, _: replace(
        case, jobs=[*case.jobs[:-1], replace(case.jobs[-1], options=case.jobs[-1].options | {"-d": "afterany:1"})]
    ),
    "one job less": lambda case, _: replace(case, jobs=case.jobs[:-1]),
    "nodes": lambda case, _: replace(case, conf=case.conf.replace("n[1-4]", "n[1-5]")),
    "processors of nodes": lambda case, _: replace(case, conf=case.conf.replace("CPUs=8", "CPUs=16")),
    "memory of nodes": lambda case, _: replace(case, conf=case.conf.replace("16000", "32000")),
    "GPUs of nodes": lambda case, _: replace(case, conf=case.conf.replace("gpu:2", "gpu:4")),
    "features of nodes": lambda case, _: replace(case, conf=case.conf.replace("Feature=old", "Feature=old,new")),
    "licences": lambda case, _: replace(case, conf=case.conf.replace("matlab:4", "matlab:8")),
    "failures": lambda case, _: replace(case, failures="600 n1 1800\n"),
    "seed": lambda case, random: replace(case, options={"shorter": 0.5, "seed": random.randrange(1, 99)}),
    "thinned": lambda case, _: replace(case, options={"thin": 0.8}),
    "load": lambda case, _: replace(case, options={"load": 1.2}),
    "actual limits": lambda case, _: replace(case, options={"estimate": "actual"}),
}
#: Those after which rows of two schedules are of different jobs.
REFUSED = frozenset({"submit time", "one job less", "thinned", "load"})
#: Policies: what a site decides.
POLICIES: dict[str, Callable[[Case, Random], Case]] = {
    "scheduler": lambda case, _: replace(case, options={"scheduler": "sched/builtin"}),
    "setting": lambda case, _: replace(case, options={"settings": ["bf_max_job_test=2"]}),
    "slurm.conf": lambda case, _: replace(case, conf=f"{case.conf}SchedulerParameters=bf_max_job_test=2\n"),
    "release": lambda case, _: replace(case, conf=f"{case.conf}SlurmVersion=25.11\n"),
    "limit of a partition": lambda case, _: replace(case, conf=case.conf.replace("MaxTime=1-0", "MaxTime=2-0")),
    "plugin file": lambda case, _: replace(
        case, plugin=PLUGIN.format(what="last in, first out", priority="job_ptr.job_id")
    ),
}
FIRST_PLUGIN = PLUGIN.format(what="first in, first out", priority="2**31 - job_ptr.job_id")


def told(comparison: Comparison) -> bool:
    """Whether a comparison says that the runs differ, where a user looks: in front, or in their names."""
    return bool(comparison.doubts()) or len({name.rpartition(" (2)")[0] or name for name in comparison.names}) > 1


def would_be_marked(comparison: Comparison) -> bool:
    """Whether chance alone would explain none of the differences."""
    rows = comparison.figures.rows()
    return any(
        one is not None and one.interval is not None and one.interval.excludes_none
        for row in rows
        for one in row.differences
    )


def is_marked(comparison: Comparison) -> bool:
    rows = [*comparison.figures.rows(), *(row.wait for row in comparison.by_size())]
    return any(one is not None and one.is_marked for row in rows for one in row.differences)


@pytest.mark.seeds(12, 200)
def test_only_policies_are_marked(seeds: range, tmp_path: Path) -> None:
    """In random pairs of runs that differ in one thing, that is told, and nothing is marked unless it is a policy."""
    kinds = [*OTHERS.items()] * 3 + [*POLICIES.items()]
    counts = dict.fromkeys(("marked policies", "unmarked others", "refused"), 0)
    for seed in seeds:
        random = Random(seed)  # noqa: S311 - cases, not secrets
        name, change = random.choice(kinds) if seed >= len(OTHERS) else [*OTHERS.items()][seed * 7 % len(OTHERS)]
        case = first_case(random)
        if name == "plugin file":
            case = replace(case, plugin=FIRST_PLUGIN)
        results = [case.result(tmp_path / f"{seed}a"), change(case, random).result(tmp_path / f"{seed}b")]
        if name in REFUSED:
            with pytest.raises(InputError, match="another workload"):
                compare(*results)
            counts["refused"] += 1
            continue
        found = compare(*results)
        assert told(found), (seed, name)
        if name in POLICIES:
            assert not any("different" in doubt or "not of the same" in doubt for doubt in found.doubts()), (seed, name)
            counts["marked policies"] += is_marked(found)
            continue
        assert found.doubts(), (seed, name)
        assert not is_marked(found), (seed, name)
        counts["unmarked others"] += would_be_marked(found)
    assert counts["unmarked others"], counts
    assert counts["refused"], counts
    assert counts["marked policies"] or len(seeds) < 100, counts


def test_the_same_numbers_with_half_the_run_times(tmp_path: Path) -> None:
    """The attack: ids and submit times are equal. The first job that differs is named, in the page and in JSON, too."""
    random = Random(1)  # noqa: S311 - cases, not secrets
    case = first_case(random)
    other = replace(case, jobs=[replace(job, run=job.run // 2) for job in case.jobs])
    first, second = case.result(tmp_path / "a"), other.result(tmp_path / "b")
    found = compare(first, second)
    (doubt,) = found.doubts()
    assert "the run time of 70 of 70 differs (job 1: " in doubt
    assert doubt.endswith("Nothing is marked.")
    assert found.as_dict()["doubts"] == [doubt]
    assert not is_marked(found)
    assert would_be_marked(found)
    assert doubt[:60] in found.report(tmp_path / "compare.html").read_text()


def test_results_of_an_older_rota_are_compared_by_their_schedules(tmp_path: Path) -> None:
    random = Random(2)  # noqa: S311 - cases, not secrets
    case = first_case(random)
    other = replace(case, jobs=[replace(job, run=job.run // 2) for job in case.jobs])
    results = [replace(one.result(tmp_path / name), inputs=None) for one, name in ((case, "a"), (other, "b"))]
    assert "the run time of 70 of 70 differs" in compare(*results).doubts()[0]
    longer = replace(case, jobs=[replace(job, options=job.options | {"--mem-per-cpu": "600"}) for job in case.jobs])
    third = replace(longer.result(tmp_path / "c"), inputs=None)
    assert "the content of the workload’s file differs" in compare(results[0], third).doubts()[0]


def test_modules_that_a_plugin_imports_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plugin's own file is the same."""
    monkeypatch.syspath_prepend(str(tmp_path))
    plugin = PLUGIN.format(what="by a helper", priority="own_helper.order(job_ptr)")
    case = replace(first_case(Random(1)), plugin=plugin)  # noqa: S311 - cases, not secrets
    case.plugin = case.plugin.replace("\nplugin_type", "\nimport own_helper\n\nplugin_type", 1)
    results: list[Result] = []
    for way in ("2**31 - job.job_id", "job.job_id"):
        (tmp_path / "own_helper.py").write_text(f"def order(job):\n    return {way}  # {'x' * len(results)}\n")
        monkeypatch.delitem(sys.modules, "own_helper", raising=False)
        importlib.invalidate_caches()
        results.append(case.result(tmp_path / f"{len(results)}"))
    found = compare(*results)
    assert all("own_helper" in name for name in found.names)
    (row,) = found.policies()
    assert row[0] == "File of priority/mine"


def test_user_ids_are_told_where_users_have_names(tmp_path: Path) -> None:
    """Plugins see them."""
    columns = "JobID|User|UID|Partition|Submit|ElapsedRaw|Timelimit|ReqTRES"
    (tmp_path / "slurm.conf").write_text(CONF)
    results = []
    for uid in (1001, 1002):
        path = tmp_path / f"{uid}.txt"
        jobs = (f"{n}|ann|{uid}|main|{1790856000 + n}|60|01:00:00|cpu=1,mem=1G,node=1" for n in range(1, 9))
        path.write_text("\n".join([columns, *jobs, ""]))
        results.append(rota.replay(rota.Scenario.from_files(path, config=tmp_path / "slurm.conf", report=str)))
    (doubt,) = compare(*results, names=("a", "b")).doubts()
    assert "the user id differs" in doubt


def test_a_difference_below_the_error_of_the_model_is_not_marked(tmp_path: Path) -> None:
    """The record is far from the replay: what is nearer to the replay than that may be of the model."""
    random = Random(3)  # noqa: S311 - cases, not secrets
    case = first_case(random)
    first = case.result(tmp_path / "a")
    second = replace(case, options={"scheduler": "sched/builtin"}).result(tmp_path / "b")

    def recorded(seconds: int) -> Comparison:
        schedules = [replace(one.schedule, recorded_wait=first.schedule.wait + seconds) for one in (first, second)]
        return compare(*(replace(one, schedule=made) for one, made in zip((first, second), schedules, strict=True)))

    near, far = (recorded(seconds).figures.rows()[0] for seconds in (1, 100_000))
    assert [near.error, far.error] == pytest.approx([1, 100_000])
    assert near.differences[1] is not None
    assert near.differences[1].is_marked
    assert far.differences[1] is not None
    assert not far.differences[1].is_marked
    assert recorded(100_000).as_dict()["model_errors"]["mean_wait_s"] == pytest.approx(100_000)
    classes = recorded(100_000).by_size()
    assert all(row.wait.error == pytest.approx(100_000) for row in classes)


def test_names_tell_machines_files_of_plugins_and_folders_apart(tmp_path: Path) -> None:
    random = Random(4)  # noqa: S311 - cases, not secrets
    case = replace(first_case(random), plugin=FIRST_PLUGIN)
    first = case.result(tmp_path / "a")
    newer = POLICIES["plugin file"](case, random).result(tmp_path / "b")
    names = compare(first, newer).names
    assert all("priority_mine.py " in name for name in names)
    assert names[0] != names[1]
    ((label, files),) = compare(first, newer).policies()
    assert label == "File of priority/mine"
    assert [name[: len("priority_mine.py ")] for name in files] == ["priority_mine.py "] * 2
    assert files[0] != files[1]
    other = replace(case, options={"scheduler": "sched/builtin"}).result(tmp_path / "f")
    assert compare(first, other).policies() == [("Scheduler", ("sched/backfill", "sched/builtin"))]
    page = compare(first, other).report(tmp_path / "compare.html").read_text()
    assert '<th scope="row">Scheduler</th><td>sched/backfill</td><td>sched/builtin</td>' in page
    larger = OTHERS["processors of nodes"](case, random).result(tmp_path / "c")
    assert [name.rpartition(", ")[2] for name in compare(first, larger).names] == ["32 processors", "64 processors"]
    assert compare(first, larger).machines() == [("Processors", ("32", "64"))]
    same = case.result(tmp_path / "d")
    assert [name.rpartition(", ")[2] for name in compare(first, same, folders=["a", "d"]).names] == ["a", "d"]
    assert compare(first, same, names=["then", "now"]).names == ("then", "now")
    with pytest.raises(InputError, match="2 runs: give one for each"):
        compare(first, same, names=["then"])
    changed = POLICIES["slurm.conf"](case, random).result(tmp_path / "e")
    found = compare(first, changed)
    assert found.settings() == [("bf_max_job_test", ("", "2"))]
    assert [name.rpartition(", ")[2] for name in found.names] == ["bf_max_job_test=unset", "bf_max_job_test=2"]


def test_withdrawn_jobs_of_one_run_are_told_as_such(tmp_path: Path) -> None:
    """They are in no figure, so the jobs of the figures are the same; digests are of all jobs, and all differ."""
    job = "{} {} {} {} 4 -1 -1 4 600 -1 {} 1 1 -1 1 -1 -1 -1"
    kept = [job.format(1, 0, 0, 300, 1), job.format(3, 20, 0, 300, 1)]
    (tmp_path / "kept.swf").write_text("\n".join(kept) + "\n")
    (tmp_path / "all.swf").write_text("\n".join([kept[0], job.format(2, 10, 90, -1, 5), kept[1]]) + "\n")
    results = [
        rota.replay(rota.Scenario.from_files(tmp_path / name, procs=4, report=str)) for name in ("kept.swf", "all.swf")
    ]
    told = "These runs are not of the same jobs: there were others beside those of the figures, such as withdrawn ones."
    assert compare(*results, names=("a", "b")).doubts() == [f"{told} Nothing is marked."]
