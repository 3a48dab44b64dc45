"""A simulated Lustre: reproducible, readable in every generation, and with all that a real one does to its entries."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter as Sums
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from rota.cli.main import main
from rota.lustre.deltas import Deltas
from rota.lustre.job_stats import JobStatsParser
from rota.lustre.metrics import metrics, operation
from rota.lustre.simulation.behaviour import bursts
from rota.lustre.simulation.jobs import Job, LoginNodes, QueuedJobs, RecordedJobs, written_id
from rota.lustre.simulation.targets import FileSystem
from rota.lustre.simulation.texts import GENERATIONS
from rota.lustre.sources import parse_source
from rota.testing.live import LiveCluster
from rota.workload import bundled, read_workload

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from rota.lustre.counters import JobStats

OSTS, MDTS = ["lustre-OST0000", "lustre-OST0001"], ["lustre-MDT0000"]
DAY = 86400.0


@pytest.fixture(scope="module")
def recorded() -> RecordedJobs:
    path = bundled("KTH-SP2")
    assert path is not None
    return RecordedJobs(read_workload(path))


class Fixed:
    """Some jobs."""

    def __init__(self, *jobs: Job) -> None:
        self.jobs = jobs

    def between(self, begin: float, end: float) -> Iterable[Job]:
        return [job for job in self.jobs if job.start <= end and job.end >= begin]


def one_job(**values: float) -> FileSystem:
    job = Job(b"2", 1e9, 1e9 + 10_000, processors=64)
    return FileSystem([Fixed(job)], osts=2, restarts=0.0, **values)  # type: ignore[arg-type]


def moments() -> Iterator[float]:
    return (1e9 + seconds for seconds in range(-50, 12_000, 50))


def entry(found: dict[str, list[JobStats]], target: str) -> JobStats | None:
    [*entries] = found[target]
    return entries[0] if entries else None


@pytest.mark.parametrize(
    "generation", [pytest.param(one, marks=pytest.mark.slow if place else ()) for place, one in enumerate(GENERATIONS)]
)
def test_every_generation_is_read_as_it_was_meant(recorded: RecordedJobs, generation: str) -> None:
    file_system = FileSystem([recorded, LoginNodes(20, 1)], osts=2, begin=recorded.begin, cleanup_interval=0)
    form = GENERATIONS[generation]
    found = file_system.entries(recorded.begin + 1.4 * DAY)
    assert sum(map(len, found.values())) > 50
    for target, entries in found.items():
        operations = form.mdt if "MDT" in target else form.ost
        parser = JobStatsParser()
        read = [*parser.feed(form.text(target, entries, boot=recorded.begin - DAY)), *parser.close()]
        assert parser.findings.bad_lines == 0
        assert parser.findings.targets == {target: True}
        for before, after in zip(entries, read, strict=True):
            assert after.job_id == before.job_id
            sums = {operation(name, one.unit): one.samples for name, one in after.counters.items()}
            expected = {name: one.samples for name, one in before.counters.items()}
            known = {operation(name, "usecs" if form.is_timed else "bytes") for name in operations}
            assert sums == {name: samples for name, samples in expected.items() if name in known}


def test_a_text_is_what_that_release_has_written(samples: dict[str, bytes]) -> None:
    """A published text, read, and written again, is the same."""
    same = {
        "iml-lustre-2.3-ost.job_stats": "2.3",
        "telegraf-lustre2-2.12-ost.job_stats": "2.7",
        "hpe-lustre_exporter-2.10-mdt.job_stats": "2.7",
        "gsi-lustre_exporter-mdt.job_stats": "2.7",
        "datadog-2.16-ost.lctl": "2.16",
        "datadog-2.16-mdt.job_stats": "2.16",
    }
    for name, generation in same.items():
        target = "lustre-MDT0000" if "mdt" in name else "lustre-OST0001"
        parser = JobStatsParser(target)
        entries = [*parser.feed(samples[name]), *parser.close()]
        for one in entries:
            one.counters = {operation(key, counter.unit): counter for key, counter in one.counters.items()}
        written = GENERATIONS[generation].text(target, entries, boot=0.0)
        published = samples[name].partition(b"job_stats:\n")[2]
        assert without_times(written.partition(b"job_stats:\n")[2]) == without_times(published), name


def without_times(text: bytes) -> list[bytes]:
    """Its lines, but for the times, of which a floating-point number does not tell the last nanosecond."""
    return [line.rstrip() for line in text.splitlines() if b"_time" not in line and line.strip()]


def test_counters_grow_and_end_where_the_job_has_done_all() -> None:
    job = Job(b"2", 1e9, 1e9 + 10_000, processors=64)
    file_system = one_job(cleanup_interval=0)
    expected: Sums[tuple[str, str]] = Sums()
    for burst in bursts(job, OSTS, MDTS, 0):
        expected.update({(burst.target, one.name): one.samples for one in burst.operations})
    deltas = Deltas()
    counted: Sums[tuple[str, str]] = Sums()
    for moment in moments():
        found = file_system.entries(moment)
        parser = JobStatsParser()
        text = b"".join(GENERATIONS["2.16"].text(target, entries, 0.0) for target, entries in found.items())
        for activity in deltas.activities([*parser.feed(text), *parser.close()], parser.findings, moment):
            assert min(metrics(activity.increases)) >= 0
            counted.update({(activity.target, name): one.samples for name, one in activity.increases.items()})
    assert {key: samples for key, samples in counted.items() if key[1] not in {"read", "write"}} == +expected


def test_an_entry_goes_when_nothing_was_done_for_the_cleanup_interval_and_comes_back_from_zero() -> None:
    file_system = one_job(cleanup_interval=120)
    seen = [entry(file_system.entries(moment), "lustre-MDT0000") for moment in moments()]
    shown = [one for one in seen if one is not None]
    assert None in seen[seen.index(shown[0]) : -1]
    starts = sorted({one.start_time for one in shown if one.start_time is not None})
    assert len(starts) > 1
    for one in shown:
        assert one.start_time is not None
        assert one.snapshot_time is not None
        assert one.start_time <= one.snapshot_time


def test_a_target_that_restarts_makes_its_entries_anew() -> None:
    job = Job(b"1", 1e9, 1e9 + 3 * DAY, processors=64)
    file_system = FileSystem([Fixed(job)], osts=1, restarts=1.0, cleanup_interval=0)
    opened = []
    for hour in range(0, 3 * 24, 3):
        found = entry(file_system.entries(1e9 + hour * 3600 + 1), "lustre-MDT0000")
        opened.append(found.counters["open"].samples if found and "open" in found.counters else 0)
    falls = sum(after < before for before, after in pairwise(opened))
    assert 2 <= falls <= 4  # one a day


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    def write(folder: str) -> dict[str, bytes]:
        assert main(["lustre-sim", str(tmp_path / folder), "--once", "--begin", "90000"]) == 0
        return {path.name: path.read_bytes() for path in (tmp_path / folder).iterdir()}

    first = write("a")
    assert sorted(first) == ["lustre-MDT0000.lctl", *(f"lustre-OST000{number}.lctl" for number in range(4))]
    assert write("b") == first


def test_the_files_change_and_are_whole_whenever_they_are_read(tmp_path: Path) -> None:
    words = ["lustre-sim", str(tmp_path), "--begin", "90000", "--speed", "10000", "--interval", "0.01"]
    seen: set[bytes] = set()
    with subprocess.Popen([sys.executable, "-m", "rota", *words]) as process:
        while len(seen) < 20 and process.poll() is None:
            for stream in parse_source(f"dir:{tmp_path}").streams(60.0):
                text = b"".join(stream.pieces)
                parser = JobStatsParser()
                parser.feed(text)
                parser.close()
                assert parser.findings.bad_lines == 0
                assert len(parser.findings.targets) == 1
                seen.add(text)
        process.send_signal(signal.SIGINT)
    assert process.returncode == 130
    assert len(seen) >= 20


@pytest.mark.slow
def test_the_jobs_of_a_live_cluster_use_it(tmp_path: Path) -> None:
    with LiveCluster(tmp_path) as cluster:
        job_id = cluster.submit("-n", "1", "--wrap", "sleep 600")
        # It has to have run for a moment, or it has done nothing.
        cluster.wait(lambda: cluster.run("squeue", "-h", "-t", "R", "-o", "%M").stdout.strip() > "0:01")
        cluster.rota("lustre-sim", str(tmp_path / "lustre"), "--live", "--once", "--login-users", "0")
        shown = cluster.rota("jobstats", "parse", f"dir:{tmp_path}/lustre", "--json").stdout
    lines = [json.loads(line) for line in shown.splitlines()]
    assert {line["job_id"] for line in lines} == {str(job_id)}
    assert any(line["samples"] for line in lines)


def test_another_seed_gives_others(recorded: RecordedJobs) -> None:
    moment = recorded.begin + DAY
    one, other = (FileSystem([recorded], seed=seed).entries(moment) for seed in (1, 2))
    assert one != other


def test_people_at_login_nodes_are_named_by_program_and_user() -> None:
    day = 1e9 // DAY
    names = {job.job_id.decode() for job in LoginNodes(30, 0).between(day * DAY, (day + 1) * DAY - 1)}
    assert {"cp", "rsync", "vim"} <= {name.partition(".")[0] for name in names}
    assert all(name.partition(".")[2].isdigit() for name in names)


def test_ids_are_written_as_lustre_composes_and_cuts_them() -> None:
    written = written_id("%j@%u@%H%%", 12, 1000, "app", "n1")
    assert written == b"12@1000@n1%"
    long = replace(Job(b"x" * 40, 1e9, 1e9 + 100))
    found = FileSystem([Fixed(long)], restarts=0.0).entries(1e9 + 50)
    text = GENERATIONS["2.16"].text("lustre-MDT0000", found["lustre-MDT0000"], 0.0)
    assert b"- job_id:          " + b"x" * 31 + b"\n" in text


def test_a_live_queue_is_asked_with_squeue(tmp_path: Path) -> None:
    shown = tmp_path / "shown"
    squeue = tmp_path / "squeue"
    squeue.write_text(f"#!/bin/sh\ncat {shown}\n")
    squeue.chmod(0o755)
    jobs = QueuedJobs(str(squeue))
    shown.write_text("7|1000|4|1:00|n1|a|b\n8|1001|1|0:05|n2|c\n")
    jobs.ask(1e9)
    assert {job.job_id: (1e9 - job.start, job.processors) for job in jobs.between(1e9, 1e9)} == {
        b"7": (60, 4),
        b"8": (5, 1),
    }
    shown.write_text("8|1001|1|1:05|n2|c\n")
    jobs.ask(1e9 + 60)
    assert {job.job_id for job in jobs.between(1e9 + 50, 1e9 + 60)} == {b"7", b"8"}
    assert {job.job_id for job in jobs.between(1e9 + 70, 1e9 + 80)} == {b"8"}
    # What a job did not come to do is not done.
    file_system = FileSystem([jobs], restarts=0.0, begin=1e9)
    at_end = file_system.entries(1e9 + 60)["lustre-MDT0000"]
    later = file_system.entries(1e9 + 500)["lustre-MDT0000"]
    assert [one.counters for one in later if one.job_id == "7"] == [one.counters for one in at_end if one.job_id == "7"]
