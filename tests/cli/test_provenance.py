"""What a result says about how it was made, and what `rota compare` makes of it."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from rota import __version__
from rota.results.store import read_result

from .conftest import JOBS

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Rota

CONF = "Include nodes.conf\nPartitionName=all Nodes=n1 Default=YES\nEnforcePartLimits=ALL\n"
DUMP = "Cluster - 'cluster':Fairshare=1\nParent - 'root'\nAccount - 'group1':Description='p'\n"


def hash_of(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def test_a_result_says_how_it_was_made(rota: Rota, small_log: Path, tmp_path: Path) -> None:
    conf, nodes, dump = tmp_path / "slurm.conf", tmp_path / "nodes.conf", tmp_path / "dump.cfg"
    conf.write_text(CONF)
    nodes.write_text("NodeName=n1 CPUs=8\n")
    dump.write_text(DUMP)
    setting = "PartitionName=all MaxTime=1-0"
    options = ["--config", conf, "--associations", dump, "--set", setting, "--estimate", "actual"]
    assert rota("replay", small_log, "--json", *options, "--out", tmp_path / "out").status == 0
    found = json.loads((tmp_path / "out" / "summary.json").read_text())["provenance"]
    assert found["version"] == __version__
    # Where and how the result is told is left out, so that the same replay gives the same file.
    assert found["command"] == (
        f"rota replay {small_log} --config {conf} --associations {dump} --set 'PartitionName=all MaxTime=1-0' "
        "--estimate actual"
    )
    assert found["settings"] == ["PartitionName=all MaxTime=1-0", "estimate=actual"]
    files = [("workload", small_log), ("config", conf), ("config", nodes), ("associations", dump)]
    assert [(one["role"], one["path"], one["sha256"]) for one in found["files"]] == [
        (role, str(path), hash_of(path)) for role, path in files
    ]
    page = (tmp_path / "out" / "report.html").read_text()
    assert all(hash_of(path) in page for _, path in files)
    assert "PartitionName=all MaxTime=1-0" in page
    assert json.loads(json.dumps(read_result(tmp_path / "out").provenance.as_dict())) == found


@pytest.mark.slow
def test_a_bundled_log_is_named_as_it_was_asked_for(rota: Rota, tmp_path: Path) -> None:
    rota("replay", "kth-sp2", "--filter", "sc15", "--scheduler", "sched/builtin", "--out", tmp_path / "out")
    (log,) = read_result(tmp_path / "out").provenance.files
    assert (log.role, log.path, len(log.sha256)) == ("workload", "kth-sp2", 64)


def test_compare_tells_runs_apart_and_does_not_praise_the_one_that_refused(
    rota: Rota, small_log: Path, tmp_path: Path
) -> None:
    """Of such runs, with MaxTime=24:00:00, the second was called the best, and both had the same name."""
    closed = ("--set", "EnforcePartLimits=ALL", "--set", "PartitionName=all MaxTime=1")
    assert rota("replay", small_log, "--out", tmp_path / "open").status == 0
    refusing = rota("replay", small_log, *closed, "--out", tmp_path / "closed")
    ran = read_result(tmp_path / "closed").summary.jobs
    assert 0 < ran < JOBS
    rows = {line[:22].strip(): line[22:].strip() for line in refusing.out.splitlines()}
    assert (rows["jobs"], rows["refused"]) == (f"{ran} of {JOBS}", str(JOBS - ran))
    page = tmp_path / "page.html"
    outcome = rota("compare", tmp_path / "open", tmp_path / "closed", "--out", page)
    name = "sched/easy, EnforcePartLimits=ALL PartitionName=all MaxTime=1"
    doubt = f"These runs have not run the same jobs. Of {JOBS} ran – sched/easy: {JOBS}; {name}: {ran}."
    assert outcome.out.splitlines()[1].startswith(doubt)
    assert not any(line.endswith("*") for line in outcome.out.splitlines()[2:-1])
    assert doubt in page.read_text()
    assert 'marked"' not in page.read_text()
    data = json.loads(rota("compare", tmp_path / "open", tmp_path / "closed", "--json").out)
    assert [run["jobs"] for run in data["runs"]] == [
        {"ran": JOBS, "refused": 0, "unfinished": 0},
        {"ran": ran, "refused": JOBS - ran, "unfinished": 0},
    ]
    assert data["jobs_compared"] == ran
    assert not data["is_alike"]


def test_jobs_that_were_refused_never_wait(rota: Rota, small_log: Path, tmp_path: Path) -> None:
    closed = ("--set", "EnforcePartLimits=ALL", "--set", "PartitionName=all MaxTime=1")
    rota("replay", small_log, *closed, "--out", tmp_path / "closed")
    schedule = read_result(tmp_path / "closed").schedule
    refused = schedule.start < 0
    assert refused.any()
    assert (schedule.end[refused] == schedule.submit[refused]).all()
