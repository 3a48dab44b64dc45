"""What is varied, as the command line and a file say it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.model import InputError
from rota.sweep.axes import Axis, read_axis
from rota.sweep.spec import read_spec

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "name", "values"),
    [
        ("bf_max_job_test=50,100,500", "bf_max_job_test", ["50", "100", "500"]),
        ("PriorityWeightAge=0:10000:2000", "PriorityWeightAge", ["0", "2000", "4000", "6000", "8000", "10000"]),
        ("load=0.8:1.2:0.1", "load", ["0.8", "0.9", "1", "1.1", "1.2"]),  # exact: 0.1 is no binary fraction
        ("seed=1:3", "seed", ["1", "2", "3"]),
        ("PartitionName=long MaxTime=1-0,2-0", "PartitionName=long MaxTime", ["1-0", "2-0"]),
        ("qos normal GrpTRES=cpu=50,100", "qos normal GrpTRES=cpu", ["50", "100"]),
        ("scheduler=sched/easy, sched/backfill", "scheduler", ["sched/easy", "sched/backfill"]),
    ],
)
def test_an_axis_is_read(text: str, name: str, values: list[str]) -> None:
    assert read_axis(text) == Axis(name, tuple(values))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("50,100", "--vary: '50,100' is not NAME=VALUE,… or NAME=FROM:TO:STEP"),
        ("=1,2", "--vary: '=1,2' is not NAME=VALUE,… or NAME=FROM:TO:STEP"),
        ("load=1,,2", "--vary load: '1,,2' has an empty value"),
        ("load=", "--vary load: '' has an empty value"),
        ("load=1,2,1", "--vary load: 1 is there twice"),
        (
            "seed=9:1",
            "--vary seed: 9:1 is no range: write FROM:TO:STEP, with a step above 0 and at most 1,000,000 values",
        ),
        (
            "seed=0:1:0",
            "--vary seed: 0:1:0 is no range: write FROM:TO:STEP, with a step above 0 and at most 1,000,000 values",
        ),
    ],
)
def test_a_wrong_axis_is_told(text: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        read_axis(text)
    assert str(caught.value) == problem


SPEC = """\
workload = "month.swf"
set = ["bf_interval=60"]

[vary]
bf_max_job_test = [50, 100]
"PartitionName=long MaxTime" = ["1-0", "2-0"]
PriorityWeightAge = "0:10:5"
think-time = [true, false]
"""


def test_a_file_is_read(log_file: Callable[..., Path]) -> None:
    spec = read_spec(log_file(SPEC, "spec.toml"))
    assert spec.options == {"workload": "month.swf", "set": ["bf_interval=60"]}
    assert {axis.name: axis.values for axis in spec.axes} == {
        "bf_max_job_test": ("50", "100"),
        "PartitionName=long MaxTime": ("1-0", "2-0"),
        "PriorityWeightAge": ("0", "5", "10"),
        "think-time": ("yes", "no"),
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("workload = x\n", "1: is no TOML: Invalid value"),
        ("[vary]\nload = [1, 1]\n", "2: load: 1 is there twice"),
        ("[vary]\n\nload = []\n", "3: load: has no value"),
        ("[vary]\nload = [[1]]\n", "2: load: [1] is no value: write numbers and texts"),
        ('[vary]\n"load" = "1,"\n', "2: load: '1,' has an empty value"),
        ("vary = 3\n", "1: vary: is no table: write [vary], and a line for each parameter below it"),
        ("a = 1\n[vary]\nload = [1", "3: is no TOML: Unclosed array"),
    ],
)
def test_a_mistake_in_a_file_is_told_with_its_line(log_file: Callable[..., Path], text: str, problem: str) -> None:
    path = log_file(text, "spec.toml")
    with pytest.raises(InputError) as caught:
        read_spec(path)
    assert str(caught.value).startswith(f"{path}:{problem}")


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "spec.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"spec\.toml: cannot be read"):
        read_spec(path)
