"""``scontrol update`` of a job, key by key, beside Slurm 22.05.8.

``recorded/job_updates.txt`` is what Slurm said and did, made by ``recorded/job_updates.py``.
``data/job-updates-different.txt`` names all that differs, and why. rota may say more about what it refuses.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from controller.direct import call
from controller.recorded.job_updates import changed, fields, submitted, words_of
from controller.rig import CONF
from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONF = f"{CONF}AccountingStorageTRES=gres/gpu\nLicenses=lic:4\n"
_HERE = Path(__file__).parent


class _Recorded(NamedTuple):
    state: str
    asked: str
    status: str
    said: str = ""
    changed: str = ""


_LINES = (_HERE / "recorded" / "job_updates.txt").read_text().splitlines()
_RECORDED = [_Recorded(*line.split(" | ")) for line in _LINES]


def _different() -> set[tuple[str, str]]:
    lines = (_HERE / "data" / "job-updates-different.txt").read_text().splitlines()
    told = (line.split(" | ") for line in lines if line and not line.startswith("#"))
    return {(state, asked) for states, asked in told for state in states.split()}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    """A cluster like the one that was recorded."""
    with LiveCluster(tmp_path_factory.mktemp("job-updates"), _CONF) as found:
        found.run("sacctmgr", "-i", "add", "account", "phys")
        found.run("sacctmgr", "-i", "add", "qos", "urgent")
        found.run("sacctmgr", "-i", "modify", "user", "root", "set", "qos+=urgent")
        yield found


@pytest.mark.parametrize("state", ["PENDING", "RUNNING"])
def test_each_key_as_recorded(cluster: LiveCluster, state: str) -> None:
    differ = []
    job = ""
    for one in (row for row in _RECORDED if row.state == state):
        if not job:
            job = cluster.run(*submitted(state)).stdout.strip()
            cluster.wait(lambda job=job: _shown(cluster, job)["JobState"] == state)  # type: ignore[misc] # of this turn
        before = _shown(cluster, job)
        done = call(cluster, words_of(one.asked, job), {})
        said = [re.sub(rf"\b{job}\b", "@", line) for line in done.text.strip().splitlines()]
        found = (done.status, changed(before, _shown(cluster, job), job))
        if found != (one.status, one.changed) or one.said not in {said[0] if said else "", " / ".join(said)}:
            differ.append((state, one.asked))
        if done.status == "0" or found[1]:
            call(cluster, ["scancel", job], {})
            job = ""
    assert set(differ) == {row for row in _different() if row[0] == state}


def _shown(cluster: LiveCluster, job: str) -> dict[str, str]:
    return fields(call(cluster, ["scontrol", "-o", "show", "job", job], {}).text)


def test_what_differs_is_of_the_recording() -> None:
    assert _different() <= {(row.state, row.asked) for row in _RECORDED}
