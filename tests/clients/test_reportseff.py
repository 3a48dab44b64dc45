"""reportseff: how well jobs have used what they asked for, by id, by output file, and of a user since a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.testing.live import LiveCluster

    from .conftest import Program


def test_report(program: Program, cluster: LiveCluster) -> None:
    cluster.run(
        "sbatch",
        "--wait",
        "-n2",
        "-t1",
        "-o",
        "/dev/null",
        "--wrap",
        "timeout 3 sh -c 'while :; do :; done'",
        check=False,
    )
    cluster.run("sbatch", "--wait", "-a", "0-1", "-o", "out_%A_%a", "--wrap", "true")

    def report(*words: str) -> list[str]:
        found = program("reportseff", "reportseff", "--no-color", "--parsable", *words).stdout.splitlines()
        assert found[0] == "JobID|State|Elapsed|TimeEff|CPUEff|MemEff"
        return found[1:]

    (line,) = report("1")
    job, state, elapsed, time_used, cpu_used, memory_used = line.split("|")
    assert (job, state) == ("1", "FAILED")  # timeout's status is 124
    # With -X, which leaves steps out, sacct tells of no processor time.
    total, *_ = cluster.run("sacct", "-nPj1", "-o", "TotalCPU").stdout.split()
    seconds = int(elapsed[-2:])
    assert 3 <= seconds <= 30
    assert float(time_used) == round(100 * seconds / 60, 1)
    used = int(float(total.partition(":")[2]))  # it reads whole seconds
    assert (float(cpu_used) if cpu_used != "---" else 0.0) == round(100 * used / 2 / seconds, 1)  # of two processors
    assert 0 < float(memory_used) < 100
    assert [one.split("|")[:2] for one in report("2")] == [["2_0", "COMPLETED"], ["2_1", "COMPLETED"]]
    assert [one.split("|")[0] for one in report()] == ["out_2_0", "out_2_1"]  # those of the files here
    assert [one.split("|")[0] for one in report("--since", "d=1", "-u", "root", "--state", "F")] == ["1"]
    assert [one.split("|")[0] for one in report("--since", "d=1", "-u", "root", "--partition", "debug")] == [
        "1",
        "2_0",
        "2_1",
    ]
