"""Local time where a command is called, as Slurm 22.05.8's commands tell it.

Open OnDemand asks with ``SLURM_TIME_FORMAT=%Y-%m-%dT%H:%M:%S%z``, as it may be in another zone than the cluster.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOKYO = {"TZ": "Asia/Tokyo", "SLURM_TIME_FORMAT": "%Y-%m-%dT%H:%M:%S%z"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path_factory.mktemp("zone")) as found:
        found.submit("-H", "--wrap", "true")
        yield found


def _submitted(cluster: LiveCluster, **environment: str) -> list[str]:
    told = [
        cluster.run("squeue", "-h", "-j1", "-o", "%V", environment=environment).stdout,
        cluster.run("sacct", "-nPXj1", "-o", "Submit", environment=environment).stdout,
        cluster.run("scontrol", "show", "job", "1", environment=environment).stdout.partition("SubmitTime=")[2],
    ]
    return [text.split()[0] for text in told]


def test_every_command_tells_local_time_and_its_offset(cluster: LiveCluster) -> None:
    [seconds] = set(_submitted(cluster, SLURM_TIME_FORMAT="%s"))
    moment = datetime.fromtimestamp(int(seconds), UTC)
    for zone in ("Asia/Tokyo", "America/New_York", "UTC"):
        there = moment.astimezone(ZoneInfo(zone))
        assert set(_submitted(cluster, TZ=zone)) == {f"{there:%Y-%m-%dT%H:%M:%S}"}
        assert set(_submitted(cluster, **{**_TOKYO, "TZ": zone})) == {f"{there:%Y-%m-%dT%H:%M:%S%z}"}


def test_moments_in_options_are_local_too(cluster: LiveCluster) -> None:
    job_id = cluster.run(
        "sbatch", "--parsable", "--begin=2035-03-01T08:00", "--wrap", "true", environment=_TOKYO
    ).stdout.strip()
    begins = ("squeue", "-h", "-j", job_id, "-o", "%S")
    assert cluster.run(*begins, environment=_TOKYO).stdout == "2035-03-01T08:00:00+0900\n"
    assert cluster.run(*begins, environment={"TZ": "UTC"}).stdout == "2035-02-28T23:00:00\n"
    cluster.run("scontrol", "update", f"jobid={job_id}", "starttime=2035-03-02T08:00", environment=_TOKYO)
    assert cluster.run(*begins, environment={"TZ": "UTC"}).stdout == "2035-03-01T23:00:00\n"
    since = datetime.now(ZoneInfo("Asia/Tokyo")) - timedelta(hours=1)
    listed = ("sacct", "-nXPj1", "-o", "JobID", "-E", "now", "-S")
    assert cluster.run(*listed, f"{since:%Y-%m-%dT%H:%M:%S}", environment=_TOKYO).stdout == "1\n"


def test_times_of_reservations_are_local_too(cluster: LiveCluster) -> None:
    """With these commands, in UTC, Slurm 22.05.8 showed 2035-02-28T23:00:00 and 2035-03-01T23:00:00."""
    create = ("scontrol", "create", "reservation", "reservationname=z", "users=root", "nodes=ALL", "duration=60")
    cluster.run(*create, "starttime=2035-03-01T08:00", environment=_TOKYO)
    shown = ("scontrol", "show", "reservation", "z")
    assert "StartTime=2035-02-28T23:00:00 " in cluster.run(*shown, environment={"TZ": "UTC"}).stdout
    cluster.run("scontrol", "update", "reservationname=z", "starttime=2035-03-02T08:00", environment=_TOKYO)
    assert "StartTime=2035-03-01T23:00:00 " in cluster.run(*shown, environment={"TZ": "UTC"}).stdout
    cluster.run("scontrol", "delete", "reservationname=z")


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York", "AAA-99"])
@pytest.mark.parametrize("moment", ["9999-12-31T23:59:59", "0001-01-01", "uts999999999999"])
def test_ends_of_the_calendar_are_moments_in_any_zone(cluster: LiveCluster, zone: str, moment: str) -> None:
    """`sacct` of Slurm takes them, or says that the start is after the end; others see jobs that begin then."""
    for words in (("sacct", "-X", "-S", moment), ("sacct", "-X", "-E", moment)):
        assert "defect" not in cluster.run(*words, environment={"TZ": zone}, check=False).stderr
    cluster.run("sbatch", f"--begin={moment}", "--wrap", "true", environment={"TZ": zone}, check=False)
    assert "defect" not in cluster.run("squeue", "--start", environment={"TZ": zone}, check=False).stderr
