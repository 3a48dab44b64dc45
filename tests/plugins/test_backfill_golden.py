"""One backfill cycle of real Slurm, job by job.

data/backfill-cases.txt has inputs and results of cycles that SchedMD's code made (HEAD of 2026-08-20); the other cases
are its unit test's (slurm_unit/backfill) and variants of these, run with the same code.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from rota.config import read_slurm_conf
from rota.replays import ReplayOptions, Scenario
from rota.replays.run import Replay
from rota.workload import read_workload

if TYPE_CHECKING:
    from collections.abc import Sequence

CASES = (Path(__file__).parent / "data" / "backfill-cases.txt").read_text()
_HEAD = re.compile(r"case (\d+) seed \d+ over=(\w+) params=(\S+) s60=(\d+) s300=(\d+)")


class Case(NamedTuple):
    over: str
    params: str
    now: int
    jobs: list[tuple[int, ...]]
    results: list[tuple[int, str, str, int | None]]


def _read() -> dict[str, Case]:
    found = {}
    for block in CASES.split("== ")[1:]:
        head, jobs, *rows = block.strip().splitlines()
        match = _HEAD.fullmatch(head)
        assert match is not None, head
        number, over, params, _, now = match.groups()
        results: list[tuple[int, str, str, int | None]] = []
        for row in rows:
            job, state, nodes, offset = row.split()
            results.append((int(job), state, nodes, 0 if state == "RUNNING" else int(offset)))
        listed = [tuple(map(int, one.split())) for one in jobs.removeprefix("jobs: ").split("; ")]
        found[number] = Case(over, params, int(now), listed, results)
    return found


def plan(
    folder: Path,
    jobs: Sequence[str],
    *,
    nodes: str,
    over: str = "EXCLUSIVE",
    params: str = "bf_interval=30",
    now: int = 221,
    cores: int = 4,
    version: str = "26.05",
) -> list[tuple[int, str, str, int | None]]:
    """Plan a queue of sbatch lines, of root, who may set priorities: job, state, nodes, offset of its start."""
    (folder / "slurm.conf").write_text(
        f"SlurmVersion={version}\nSelectTypeParameters=CR_Core\nSchedulerParameters={params}\nLicenses=lic1:1\n"
        f"NodeName={nodes} CPUs={cores} CoresPerSocket={cores}\n"
        f"PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE OverSubscribe={over}\n"
    )
    lines = [f"-dt {now} -e submit_batch_job | -sim-walltime -1 --uid=root {one} x\n" for one in jobs]
    (folder / "log.events").write_text("".join(lines))
    config = read_slurm_conf(folder / "slurm.conf").config
    options = ReplayOptions(scheduler="sched/backfill", plugin_dir=())
    with Replay(Scenario(read_workload(folder / "log.events"), config, options)) as replay:
        return [(one.job_id, one.state, one.nodes, one.start) for one in replay.plan(now)]


@pytest.mark.parametrize(("number", "case"), _read().items(), ids=lambda value: value if isinstance(value, str) else "")
def test_a_cycle_is_slurms(number: str, case: Case, tmp_path: Path) -> None:
    jobs = [
        f"--priority={priority} -N {nodes} -n {tasks} -t {minutes}" for _, priority, nodes, tasks, minutes in case.jobs
    ]
    planned = plan(tmp_path, jobs, nodes="node[01-16]", over=case.over, params=case.params, now=case.now)
    assert sorted(planned) == case.results


def test_a_batch_of_ends_goes_on_past_jobs_on_other_nodes(tmp_path: Path) -> None:
    """As recorded: priority, nodes, tasks, minutes; the fourteenth is planned on node12 at 900 s.

    Of the two nodes that it may have, node01 has jobs that end at 600 and 900 s, and node12 one that ends at 900 s. The
    first batch begins at 600 s. In it is an end on other nodes too, after which Slurm takes the next job of these nodes
    whenever that ends, and it is the one on node12.
    """
    queue = """145 6 6 30; 327 4 8 7; 106 3 6 15; 451 3 12 7; 142 16 32 60; 269 6 6 7; 179 16 32 1; 341 1 4 15;
        450 1 2 10; 126 8 32 5; 297 8 24 60; 235 3 6 5; 391 1 2 45; 226 1 4 5; 17 6 12 1; 381 6 24 10; 66 2 8 10;
        493 1 2 15"""
    jobs = ["--priority={} -N {} -n {} -t {}".format(*one.split()) for one in queue.split(";")]
    planned = {job: (nodes, start) for job, _, nodes, start in plan(tmp_path, jobs, nodes="node[01-16]", over="NO")}
    assert planned[14] == ("node12", 900)


@pytest.mark.parametrize("version", ["22.05", "26.05"])
def test_far_ends_are_taken_together(version: str, tmp_path: Path) -> None:
    """As recorded from 22.05.8 on nodes of one core: two nodes are free after 120 minutes, and planned from 122 on.

    The windows in which ends are taken together begin at the first of all ends, and grow until they reach the next one:
    after an hour they are longer than two minutes.
    """
    limits = enumerate((60, 120, 122, 240, 241), start=1)
    running = [f"--priority=9 -w n{place} -N 1 -n 1 -t {limit}" for place, limit in limits]
    jobs = [*running, "--priority=1 -N 2 -n 2 -t 10"]
    planned = plan(tmp_path, jobs, nodes="n[1-5]", over="NO", cores=1, version=version)
    assert planned[5:] == [(6, "PENDING", "n[1-2]", 122 * 60)]


@pytest.mark.parametrize(("version", "node"), [("22.05", "n2"), ("26.05", "n1")])
def test_what_is_free_now_comes_before_what_ends(version: str, node: str, tmp_path: Path) -> None:
    """As recorded from 22.05.8; the code of 2026 takes a job as ended that ends before the start that is looked for.

    The last job can start when the reservation of the second ends, on either node: n2 is free now.
    """
    jobs = ["--priority=9 -w n1 -N 1 -n 1 -t 60", "--priority=8 -N 2 -n 2 -t 10", "--priority=7 -N 1 -n 1 -t 90"]
    planned = plan(tmp_path, jobs, nodes="n[1-2]", over="NO", cores=1, version=version)
    assert planned[2][:3] == (3, "PENDING", node)


NOW = 221


def grid(offset: int, resolution: int = 60) -> int:
    """Give R(offset): now + offset, rounded up to the grid, as an offset again."""
    return -(-(NOW + offset) // resolution) * resolution - NOW


def _lines(text: str) -> list[str]:
    """Read ``priority:nodes/tasks x minutes`` as sbatch's options; without tasks one a node."""
    found = []
    for one in text.split():
        match = re.fullmatch(r"(\d+):(\d+)(?:/(\d+))?x(\d+)", one)
        assert match is not None, one
        priority, nodes, tasks, minutes = match.groups()
        found.append(f"--priority={priority} -N {nodes} -n {tasks or nodes} -t {minutes}")
    return found


def _starts(folder: Path, text: str, **options: str) -> list[int | None]:
    """Give the offsets of all jobs' starts, in the order of the text."""
    params = ",".join(["bf_interval=30", *(f"{key}={value}" for key, value in options.items())])
    return [start for _, _, _, start in sorted(plan(folder, _lines(text), nodes="n[01-32]", params=params))]


def test_the_jobs_of_slurms_own_test(tmp_path: Path) -> None:
    assert _starts(tmp_path, "10:1x10 5:32x10 1:31x5") == [0, grid(600), 0]
    first = grid(600)
    jobs = "10:6x10 9:27x15 8:28x14 7:29x13 6:30x12 5:5x10 5:5x10 1:30x11"
    assert _starts(tmp_path, jobs) == [0, first, first + 900, first + 1740, first + 2520, 0, 0, first + 3240]
    planned = {job: nodes for job, _, nodes, _ in plan(tmp_path, _lines(jobs), nodes="n[01-32]")}
    assert (planned[1], planned[6], planned[7]) == ("n[01-06]", "n[07-11]", "n[12-16]")


#: J1 to J5 of the variants.
FIVE = "10:20x10 9:22x10 8:32x10 7:10x30 6:12x10"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [0, grid(600), grid(600) + 600, grid(600) + 600 + 600, 0]),
        ({"bf_job_part_count_reserve": "1"}, [0, grid(600), None, 0, None]),
        ({"bf_min_prio_reserve": "9"}, [0, grid(600), None, 0, None]),
        ({"bf_window": "20"}, [0, grid(600), None, 0, None]),
        ({"bf_max_job_test": "2"}, [0, None, None, None, None]),
        ({"bf_max_job_start": "1"}, [0, None, None, None, None]),
        ({"bf_resolution": "300"}, [0, grid(600, 300), grid(600, 300) + 600, grid(600, 300) + 1200, 0]),
    ],
    ids=lambda value: ",".join(value) or "defaults" if isinstance(value, dict) else "",
)
def test_what_the_options_do(options: dict[str, str], expected: list[int | None], tmp_path: Path) -> None:
    assert _starts(tmp_path, FIVE, **options) == expected


SMALL = "10:1/3x10 9:1/2x10 8:1/1x20 7:2/8x5 6:1/2x5 5:4/16x10 4:1/1x30 3:1/2x10"


def test_nodes_that_are_shared(tmp_path: Path) -> None:
    planned = sorted(plan(tmp_path, _lines(SMALL), nodes="n[1-4]", over="NO"))
    starts = {job: (nodes, start) for job, _, nodes, start in planned}
    assert starts[1] == ("n1", 0)
    assert starts[2] == ("n2", 0)
    assert starts[3] == ("n1", 0)
    assert starts[4] == ("n[3-4]", 0)
    assert starts[5] == ("n2", 0)
    assert starts[6] == ("n[1-4]", 1200)
    assert starts[8] == ("n2", 300)
    assert starts[7][1] is not None
    assert starts[7][1] >= 1200 + 600


def test_the_same_nodes_given_out_whole(tmp_path: Path) -> None:
    planned = sorted(plan(tmp_path, _lines(SMALL), nodes="n[1-4]"))
    assert [(job, nodes, start) for job, _, nodes, start in planned] == [
        (1, "n1", 0),
        (2, "n2", 0),
        (3, "n3", 0),
        (4, "n[1-2]", grid(600)),
        (5, "n4", 0),
        (6, "n[1-4]", grid(1200)),
        (7, "n1", grid(1800)),
        (8, "n4", grid(300)),
    ]


def test_licences_are_planned_as_nodes_are(tmp_path: Path) -> None:
    jobs = [f"--priority={priority} -N 1 -n 1 -t 10 {wanted}" for priority, wanted in
            ((10, "-L lic1:1"), (9, "-L lic1"), (8, "-L lic1:1"), (7, ""))]  # fmt: skip
    planned = plan(tmp_path, jobs, nodes="n[01-32]", params="bf_interval=30,bf_licenses")
    starts = [(state, start) for _, state, _, start in sorted(planned)]
    first = grid(600)
    assert starts == [("RUNNING", 0), ("PENDING", first), ("PENDING", first + 600), ("RUNNING", 0)]


def test_without_the_option_jobs_that_wait_for_licences_are_passed_over(tmp_path: Path) -> None:
    jobs = ["--priority=9 -n 1 -t 10 -L lic1:1", "--priority=8 -n 1 -t 10 -L lic1:1"]
    planned = plan(tmp_path, jobs, nodes="n[01-32]", params="bf_interval=30")
    assert [(state, start) for _, state, _, start in sorted(planned)] == [("RUNNING", 0), ("PENDING", None)]
