"""``rota sweep``: one table and one page of many replays; it goes on after a kill, and without the runs that fail."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .conftest import Rota, WritePlugin

VARY = ("--vary", "scheduler=sched/builtin,sched/easy", "--vary", "load=1,2")
#: What a scheduler does whose process dies.
DIES = """
def slurm_sched_p_schedule():
    import os
    os.kill(os.getpid(), 9)
"""
#: Runs that take long enough to be ended in their middle.
LONG = ("KTH-SP2", "--filter", "sc15", "--part", "0.2", "--vary", "load=1:1.7:0.1")


def told(rota: Rota, *args: object) -> dict[str, Any]:
    outcome = rota("sweep", *args, "--jobs", "1", "--json")
    assert outcome.status == 0, outcome
    found: dict[str, Any] = json.loads(outcome.out)
    return found


def test_a_sweep_gives_what_replays_give(rota: Rota, small_log: Path, tmp_path: Path) -> None:
    found = told(rota, small_log, *VARY, "--out", tmp_path / "out")
    assert found["runs"] == 4
    assert found["failed"] == []
    for one in found["settings"]:
        options = [word for key, value in one["point"].items() for word in (f"--{key}", value)]
        alone = json.loads(rota("replay", small_log, *options, "--json").out)
        for key in ("mean_wait_s", "mean_bounded_slowdown"):
            assert one["figures"][key]["value"] == alone[key]
    scores = [one["figures"]["mean_bounded_slowdown"]["value"] for one in found["settings"]]
    assert scores == sorted(scores)


@pytest.mark.parametrize(
    ("vary", "option"),
    [
        ("qos normal GrpTRES=cpu=8,4", ("--set-qos", "normal", "GrpTRES=cpu=4")),
        ("PartitionName=day MaxTime=9,1", ("--set", "PartitionName=day MaxTime=1")),
    ],
)
def test_limits_can_be_varied(rota: Rota, small_log: Path, tmp_path: Path, vary: str, option: tuple[str, ...]) -> None:
    conf = tmp_path / "slurm.conf"
    conf.write_text(
        "ClusterName=x\nAccountingStorageEnforce=limits\nEnforcePartLimits=ALL\nSchedulerType=sched/builtin\n"
        "NodeName=n[1-2] CPUs=4\nPartitionName=day Nodes=ALL Default=YES\n"
    )
    dump = tmp_path / "dump.cfg"
    users = "".join(f"User - 'user{number}':DefaultAccount='group1'\n" for number in range(3))
    dump.write_text(f"Cluster - 'x'\nParent - 'root'\nAccount - 'group1'\nParent - 'group1'\n{users}")
    scenario = (small_log, "--config", conf, "--associations", dump)
    found = told(rota, *scenario, "--vary", vary, "--out", tmp_path / "out")
    alone = json.loads(rota("replay", *scenario, *option, "--json").out)
    first, last = sorted(found["settings"], key=lambda one: one["point"].popitem()[1], reverse=True)
    assert last["figures"]["mean_wait_s"]["value"] == alone["mean_wait_s"] != first["figures"]["mean_wait_s"]["value"]
    assert last["not_run"] == alone["refused"] + alone["unfinished"]


def test_it_writes_one_table_and_one_page_and_a_file_for_each_run(rota: Rota, small_log: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    told(rota, small_log, *VARY, "--out", out)
    assert sorted(path.name for path in out.iterdir()) == ["runs", "sweep.html", "sweep.parquet"]
    table = pq.read_table(out / "sweep.parquet").to_pylist()
    assert [(row["scheduler"], row["load"]) for row in table] == [
        (scheduler, load) for scheduler in ("sched/builtin", "sched/easy") for load in (1.0, 2.0)
    ]
    assert all(row["error"] == "" and row["jobs"] == 40 for row in table)
    assert len(list((out / "runs").iterdir())) == 4


def test_what_is_done_is_not_done_again(rota: Rota, small_log: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = told(rota, small_log, *VARY, "--out", out)
    before = {path: path.stat().st_mtime_ns for path in (out / "runs").iterdir()}
    one = next(iter(before))
    one.write_text(one.read_text()[:100])  # as if the disk had been full
    (out / "runs" / ".draft.json.new").write_text("{")
    assert told(rota, small_log, *VARY, "--out", out) == first
    after = {path: path.stat().st_mtime_ns for path in before}
    assert [path for path in before if before[path] != after[path]] == [one]
    more = told(rota, small_log, *VARY[:2], "--vary", "load=1,2,3", "--out", out)
    assert more["runs"] == 6
    assert all(path.stat().st_mtime_ns == when for path, when in after.items())


def test_a_file_that_has_changed_makes_all_runs_anew(rota: Rota, small_log: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    told(rota, small_log, *VARY, "--out", out)
    lines = small_log.read_text().splitlines(keepends=True)
    small_log.write_text("".join(lines[:-1]))
    assert told(rota, small_log, *VARY, "--out", out)["runs"] == 4
    assert {row["jobs"] for row in pq.read_table(out / "sweep.parquet").to_pylist()} == {39}


def test_a_file_says_what_the_command_line_says(rota: Rota, small_log: Path, tmp_path: Path) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text(
        f'workload = "{small_log}"\nset = ["MaxJobCount=500"]\nby = "mean_wait_s"\n[vary]\nload = [1, 2]\n'
        'scheduler = ["sched/builtin", "sched/easy"]\n'
    )
    found = told(rota, spec, "--out", tmp_path / "out")
    assert (found["by"], found["runs"]) == ("mean_wait_s", 4)
    assert told(rota, spec, "--by", "fairness", "--vary", "load=3", "--out", tmp_path / "out")["by"] == "fairness"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("schedular = 'x'\n[vary]\nload = 1", "1: schedular: no option of a sweep; did you mean scheduler?"),
        ("scheduler = 'x'\n\n[vary]\nload = ['much']", "4: load: load: 'much' is not a valid float."),
        ("search = 'all'\n[vary]\nload = 1", "1: search: 'all' is not one of 'grid', 'random', 'halving'."),
        ("[vary]\nbf_max_job_tset = [1]", "2: bf_max_job_tset: --set: bf_max_job_tset is no key"),
        ("[vary]\nload = [-1]", "2: load: --load: -1.0 is not above 0"),
        ("estimate = ['actual']\n[vary]\nload = 1", "1: estimate: takes one value; to have several, vary it"),
    ],
)
def test_a_mistake_in_a_file_is_told_with_its_line(
    rota: Rota, small_log: Path, tmp_path: Path, text: str, problem: str
) -> None:
    spec = tmp_path / "spec.toml"
    # Behind the rest, so that lines are as written above.
    spec.write_text(f"{text.replace('[vary]', f'workload = {json.dumps(str(small_log))}; [vary]', 0)}\n")
    spec.write_text(f"{text}\nworkload = [{json.dumps(str(small_log))}]\n")
    assert rota("sweep", spec, "--out", tmp_path / "out").problem.startswith(f"{spec}:{problem}")


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (("--vary", "load=1,2"), "--out: name the folder of the results"),
        (("--out", "x"), "--vary: nothing is varied: write --vary NAME=VALUES, or a table [vary] in a file"),
        (("--out", "x", "--vary", "bf_max=1"), "--vary bf_max: --set: bf_max is no key of slurm.conf"),
        (("--out", "x", "--vary", "seed=1:3"), "--vary seed: --seed: draws nothing: give --resample"),
        (("--out", "x", "--vary", "qos normal=1"), "--vary qos normal: qos normal: write qos NAME KEY"),
    ],
)
def test_what_cannot_be_swept_is_told(rota: Rota, small_log: Path, args: tuple[str, ...], problem: str) -> None:
    assert rota("sweep", small_log, *args).problem.startswith(problem)


def test_without_joblib_it_says_what_to_install(
    rota: Rota, small_log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "joblib", None)
    outcome = rota("sweep", small_log, *VARY, "--out", tmp_path / "out")
    assert outcome.problem == "sweeps need joblib: pip install 'rota[sweep]'"


def test_a_run_that_fails_is_a_row_and_the_others_go_on(rota: Rota, small_log: Path, tmp_path: Path) -> None:
    args = (small_log, "--vary", "scheduler=sched/nobody,sched/easy", "--out", tmp_path / "out", "--jobs", "1")
    outcome = rota("sweep", *args)
    assert outcome.status == 2
    assert "1 of 2 runs has failed; the first, scheduler=sched/nobody: " in outcome.err
    errors = [row["error"] for row in pq.read_table(tmp_path / "out" / "sweep.parquet").to_pylist()]
    assert "sched/nobody" in errors[0]
    assert errors[1] == ""
    assert "sched/nobody" in (tmp_path / "out" / "sweep.html").read_text()
    assert rota("sweep", *args, "--tolerate-failures").status == 0


def test_a_sweep_of_which_all_runs_fail_says_so(rota: Rota, small_log: Path, tmp_path: Path) -> None:
    outcome = rota("sweep", small_log, "--vary", "scheduler=sched/nobody", "--out", tmp_path / "out", "--jobs", "1")
    assert outcome.status == 2
    assert "1 of 1 runs has failed" in outcome.err
    assert (tmp_path / "out" / "sweep.html").exists()


def test_halving_ends_with_the_best_of_all_on_the_whole_log(rota: Rota, small_log: Path, tmp_path: Path) -> None:
    found = told(
        rota, small_log, "--vary", "load=1:4:1", "--search", "halving", "--by", "mean_wait_s", "--out", tmp_path / "out"
    )
    table = pq.read_table(tmp_path / "out" / "sweep.parquet").to_pylist()
    assert [row["part"] for row in table] == [0.25] * 4 + [0.5] * 2 + [1.0]
    (best,) = found["settings"]
    by_part = sorted((row["mean_wait_s"], row["load"]) for row in table if row["part"] == 0.5)
    assert float(best["point"]["load"]) == by_part[0][1]


@pytest.mark.slow
def test_processes_give_what_one_gives(rota: Rota, small_log: Path, tmp_path: Path) -> None:
    one = told(rota, small_log, *VARY, "--out", tmp_path / "one")
    outcome = rota("sweep", small_log, *VARY, "--out", tmp_path / "two", "--jobs", "2", "--json")
    assert json.loads(outcome.out) == one


@pytest.mark.slow
def test_a_sweep_that_is_killed_goes_on_where_it_was(rota: Rota, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "rota", "sweep", *LONG, "--out", str(out), "--jobs", "2"]
    with subprocess.Popen(command, start_new_session=True) as sweep:
        wait_until(lambda: len(list(out.glob("runs/*.json"))) >= 2)
        os.killpg(sweep.pid, signal.SIGKILL)
    done = {path: path.stat().st_mtime_ns for path in out.glob("runs/*.json")}
    assert 2 <= len(done) < 8
    assert all(json.loads(path.read_text())["error"] == "" for path in done)
    assert not (out / "sweep.parquet").exists()
    assert told(rota, *LONG, "--out", out)["runs"] == 8
    assert all(path.stat().st_mtime_ns == when for path, when in done.items())


@pytest.mark.slow
def test_a_run_whose_process_dies_is_a_row_and_the_others_go_on(
    rota: Rota, small_log: Path, write_plugin: WritePlugin, tmp_path: Path
) -> None:
    folder = write_plugin("sched/dies", DIES).parent
    vary = ("--vary", "scheduler=sched/easy,sched/dies,sched/builtin", "--vary", "load=1,2")
    outcome = rota("sweep", small_log, "--plugin-dir", folder, *vary, "--out", tmp_path / "out", "--jobs", "2")
    assert outcome.status == 2
    assert "2 of 6 runs have failed" in outcome.err
    for row in pq.read_table(tmp_path / "out" / "sweep.parquet").to_pylist():
        assert ("has died" in row["error"]) is (row["scheduler"] == "sched/dies")


@pytest.mark.slow
def test_a_dask_cluster_gives_what_processes_give(rota: Rota, small_log: Path, tmp_path: Path) -> None:
    one = told(rota, small_log, *VARY, "--out", tmp_path / "one")
    with dask_cluster(tmp_path) as address:
        outcome = rota("sweep", small_log, *VARY, "--out", tmp_path / "dask", "--dask", address, "--json")
    assert json.loads(outcome.out) == one
    assert len(list((tmp_path / "dask" / "runs").glob("*.json"))) == 4


@pytest.mark.slow
def test_a_dask_cluster_that_is_not_there_is_told(rota: Rota, small_log: Path, tmp_path: Path) -> None:
    outcome = rota("sweep", small_log, *VARY, "--out", tmp_path / "out", "--dask", "tcp://127.0.0.1:1")
    assert outcome.status == 2
    assert "--dask: tcp://127.0.0.1:1 does not answer" in outcome.err


@pytest.mark.slow
def test_the_examples_of_the_documentation_run_and_say_the_same(
    rota: Rota, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "sweeps.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^\$ rota sweep (KTH-SP2(?:.*\\\n)*.*)$", page, re.MULTILINE)
    (spec,) = re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("spec.toml").write_text(spec)
    one = told(rota, *shlex.split(command.replace("\\\n", "")))
    assert one["runs"] == 6
    # The file sets bf_interval, which is 30 by default.
    assert one == told(rota, "spec.toml", "--set", "bf_interval=30", "--out", "other")


@contextmanager
def dask_cluster(tmp_path: Path) -> Iterator[str]:
    """A Dask scheduler and two workers, each a process; gives the scheduler's address."""
    from distributed import Client

    found, dask = tmp_path / "scheduler.json", Path(sys.executable).with_name("dask")
    of_scheduler = ["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(found)]
    of_worker = ["worker", "--nthreads", "1", "--no-dashboard", "--scheduler-file", str(found)]
    with ExitStack() as stack:
        for words in (of_scheduler, of_worker, of_worker):
            process = stack.enter_context(subprocess.Popen([dask, *words], cwd=tmp_path, stderr=subprocess.DEVNULL))
            stack.callback(process.terminate)
            wait_until(found.exists)
        address = str(json.loads(found.read_text())["address"])
        with Client(address, set_as_default=False) as client:  # type: ignore[no-untyped-call]
            client.wait_for_workers(2, timeout=60)
        yield address


def wait_until(holds: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)
