"""What a user gets wrong, through the whole command: one line that says where and what, status 2, nothing written."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from .conftest import job_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Rota

GOOD = job_line(1, 0, 10, 4, 10)
#: The folder of the test, in what is expected.
HERE = "{here}"


def log_with(*lines: str) -> str:
    return "\n".join(["; MaxProcs: 8", GOOD, *lines, ""])


def log_of_one(line: str) -> str:
    """Give a log in which nothing is right: else the line is left out."""
    return f"; MaxProcs: 8\n\n{line}\n"


def with_field(place: int, value: str) -> str:
    """Give a job whose field at ``place``, from 1, has another value."""
    words = job_line(2, 0, 10, 4, 10).split()
    words[place - 1] = value
    return log_of_one(" ".join(words))


#: Content of the log, further arguments, and the line.
LOGS: dict[str, tuple[str | bytes, list[str], str]] = {
    "binary data": (b"\x7fELF\0\0", [], "{here}/log.swf: not SWF: binary data"),
    "text": ("Dear all,\n", [], "{here}/log.swf:1: not SWF: expected a comment (;) or a job of 18 numbers, found "),
    "nothing": ("", [], "{here}/log.swf: no jobs in it: check that it is the right file, and whole"),
    "a header alone": ("; MaxProcs: 8\n", [], "{here}/log.swf: no jobs in it: "),
    "17 fields": (log_of_one(GOOD.rpartition(" ")[0]), [], "{here}/log.swf:3: 17 fields instead of 18: write -1 for"),
    "19 fields": (log_of_one(GOOD + " 1"), [], "{here}/log.swf:3: 19 fields instead of 18: take out"),
    "letters in a number": (with_field(4, "1o"), [], "{here}/log.swf:3: field 4 (run time): '1o' is not a number: "),
    "a negative size": (
        with_field(8, "-4"),
        [],
        "{here}/log.swf:3: field 8 (requested processors): '-4' is negative: correct it, or write -1 for unknown",
    ),
    "a fraction of a processor": (
        with_field(8, "0.5"),
        [],
        "{here}/log.swf:3: field 8 (requested processors): '0.5' is not a ",
    ),
    "a number beyond reason": (with_field(4, "1e300"), [], "{here}/log.swf:3: field 4 (run time): '1e300' is too "),
    "a job larger than the machine": (
        log_with(job_line(2, 5, 10, 9, 10)),
        ["--strict"],
        "{here}/log.swf:3: field 8 (requested processors): job 2 cannot be replayed: More processors requested ",
    ),
    "half a gzip file": (
        gzip.compress(log_with().encode())[:-9],
        [],
        "{here}/log.swf: the gzip data is cut short: get the file again",
    ),
    "no size of the machine": (GOOD + "\n", [], "{here}/log.swf: the header names neither MaxProcs nor MaxNodes: name"),
    "no run times": (
        f"; MaxProcs: 8\n{job_line(1, 0, -1, 4, 10)}\n",
        [],
        "{here}/log.swf: no job to replay: none has both a run time and processors",
    ),
    "a filter that leaves nothing": (
        f"; MaxProcs: 8\n{job_line(1, 0, 10, 4, -1)}\n",
        ["--filter", "sc15"],
        "{here}/log.swf: --filter sc15 leaves no job",
    ),
}  # fmt: skip

#: Arguments after a good log, and the line.
ARGUMENTS: dict[str, tuple[list[str], str]] = {
    "an unknown scheduler": (["--scheduler", "sched/esay"], "there is no plugin sched/esay in "),
    "an unknown priority plugin": (["--priority", "priority/fifo"], "there is no plugin priority/fifo in "),
    "an unknown API": (["--scheduler", "gres/gpu"], "gres/gpu: there is no API 'gres'"),
    "a scheduler's name alone": (["--scheduler", "easy"], "'easy'"),
    "a priority plugin as scheduler": (
        ["--scheduler", "priority/basic"],
        "scheduler: priority/basic is a plugin of type priority: name one of type sched",
    ),
    "no such plugin directory": (["--plugin-dir", f"{HERE}/none"], "{here}/none: PluginDir: No such file or directory"),
    "no such slurm.conf": (["--config", f"{HERE}/none.conf"], "{here}/none.conf: "),
    "a setting without =": (["--set", "PriorityWeightAge"], "--set: 'PriorityWeightAge' is not KEY=VALUE"),
    "a setting without a key": (["--set", "=30"], "--set: '=30' is not KEY=VALUE"),
    "an unknown order": (
        ["--set", "SchedulerParameters=easy_order=x"],
        "SchedulerParameters: easy_order=x is none of fcfs, sjf",
    ),
    "an interval that is no number": (
        ["--scheduler", "sched/backfill", "--set", "SchedulerParameters=bf_interval=abc"],
        "SchedulerParameters: bf_interval=abc is not an integer from -1 to 10800",
    ),
    "a truth that is no number": (
        ["--set", "JobRequeue=maybe"],
        "JobRequeue: 'maybe' is not a whole number from 0 to 1",
    ),
    "a negative number of requeues": (
        ["--set", "MaxBatchRequeue=-1"],
        "MaxBatchRequeue: '-1' is not a whole number from 0 to 4294967295",
    ),
    "an interval out of range": (
        ["--scheduler", "sched/backfill", "--set", "SchedulerParameters=bf_interval=0"],
        "SchedulerParameters: bf_interval=0: write seconds, or -1 for no cycles",
    ),
    "a half-life that is no time": (
        ["--set", "PriorityDecayHalfLife=week", "--priority", "priority/multifactor"],
        "PriorityDecayHalfLife: 'week' is not a time: ",
    ),
    "a result that is a file": (["--out", f"{HERE}/log.swf"], "{here}/log.swf: is a file, and a result is a folder"),
    "a result below a file": (["--out", f"{HERE}/log.swf/out"], "{here}/log.swf/out: cannot be written: Not a dir"),
    "a result in somebody's folder": (
        ["--out", HERE],
        "{here}: holds log.swf, which is no part of a result: choose another folder",
    ),
    "a result where nothing can be written": (["--out", "/proc/rota/out"], "/proc/rota/out: cannot be written: "),
}

#: slurm.conf, and the line.
CONFIGURATIONS: dict[str, tuple[str, str]] = {
    "a bad range": ("NodeName=n[1-\n", "{here}/slurm.conf:1: NodeName: 'n[1-' is not a list of nodes: "),
    "a range the wrong way round": (
        "NodeName=n[3-1]\n",
        "{here}/slurm.conf:1: NodeName: 'n[3-1]' is not a list of nod",
    ),
    "no nodes": ("ClusterName=c\n", "{here}/slurm.conf: no nodes are defined: add a NodeName line"),
    "a scheduler that is none": (
        "SchedulerType=easy\nNodeName=n1\nPartitionName=all Nodes=n1\n",
        "{here}/slurm.conf:1: SchedulerType: 'easy' is not a plugin type",
    ),
    "a priority plugin as scheduler": (
        "NodeName=n1\nSchedulerType=priority/basic\nPartitionName=all Nodes=n1\n",
        "{here}/slurm.conf:2: SchedulerType: priority/basic is a plugin of type priority: name one of type sched",
    ),
    "a priority plugin that is not there": (
        "NodeName=n1\nPartitionName=all Nodes=n1\nPriorityType=priority/fifo\n",
        "{here}/slurm.conf:3: PriorityType: there is no plugin priority/fifo in ",
    ),
    "no partitions": ("NodeName=n1\n", "{here}/slurm.conf: no partitions are defined: add a PartitionName line"),
    "a node that is not there": (
        "NodeName=n1 CPUs=8\n\nPartitionName=p Nodes=n[1-2]\n",
        "{here}/slurm.conf:3: Nodes: node n2 is not defined: ",
    ),
    "letters in a number": ("NodeName=n1 CPUs=eight\n", "{here}/slurm.conf:1: CPUs: 'eight' is not a whole number"),
    "not Key=Value": ("NodeName=n1 CPUs 8\n", "{here}/slurm.conf:1: "),
}


@pytest.fixture
def problem(rota: Rota, tmp_path: Path) -> Callable[..., str]:
    """Replay a log under the test's own folder, and give the one line; all files are as they were."""

    def run(content: str | bytes, *arguments: str) -> str:
        (tmp_path / "log.swf").write_bytes(content if isinstance(content, bytes) else content.encode())
        before = {path: path.read_bytes() for path in tmp_path.iterdir()}
        filled = [argument.format(here=tmp_path) for argument in arguments]
        out = [] if "--out" in filled else ["--out", str(tmp_path / "out")]
        found = rota("replay", tmp_path / "log.swf", *filled, *out).problem
        assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
        return found

    return run


@pytest.mark.parametrize("name", LOGS)
def test_log(name: str, problem: Callable[..., str], tmp_path: Path) -> None:
    content, arguments, expected = LOGS[name]
    assert problem(content, *arguments).startswith(expected.format(here=tmp_path))


@pytest.mark.parametrize("name", ARGUMENTS)
def test_argument(name: str, problem: Callable[..., str], tmp_path: Path) -> None:
    arguments, expected = ARGUMENTS[name]
    assert expected.format(here=tmp_path) in problem(log_with(), *arguments)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_slurm_conf(name: str, problem: Callable[..., str], tmp_path: Path) -> None:
    content, expected = CONFIGURATIONS[name]
    (tmp_path / "slurm.conf").write_text(content)
    assert expected.format(here=tmp_path) in problem(log_with(), "--config", f"{HERE}/slurm.conf")


def test_no_such_log_names_those_that_come_with_rota(rota: Rota, tmp_path: Path) -> None:
    path = tmp_path / "KTH-SP3"
    assert rota("replay", path).problem == (f"{path}: no such file: check the name (logs that come with rota: KTH-SP2)")


def test_a_directory_is_no_log(rota: Rota, tmp_path: Path) -> None:
    assert rota("replay", tmp_path).problem == (
        f"{tmp_path}: is an empty folder: name a file, or a folder with files of sacct"
    )


@pytest.mark.parametrize(
    "arguments",
    [["--filter", "sc16"], ["--estimate", "guessed"], ["--pass-per", "hour"], ["--schedular"], ["another.swf"]],
)
def test_a_usage_error_shows_the_usage(arguments: list[str], rota: Rota, small_log: Path) -> None:
    outcome = rota("replay", small_log, *arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith("Usage: rota replay ")
    assert arguments[-1] in outcome.err
