"""slurm.conf: includes, a production file, and every kind of mistake."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.config import interchangeable, read_slurm_conf, this_machine
from rota.model import InputError
from rota.model.units import parse_time_seconds

if TYPE_CHECKING:
    from pathlib import Path

MACHINE = "NodeName=n[1-2] CPUs=4\nPartitionName=p Nodes=ALL\n"


def _conf(tmp_path: Path, text: str, name: str = "slurm.conf") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_a_production_file_is_read_whole(traces: Path) -> None:
    loaded = read_slurm_conf(traces / "slurm" / "ubccr_medium_slurm.conf")
    config = loaded.config
    assert len(config.nodes) == 217  # the file's own comment says so
    assert sum(node.cpus for node in config.nodes) == 89 * 32 + 128 * 40
    assert config.scheduler_int("bf_window", 1440, 1, 43200) == 4320
    assert config.get("prioritymaxage") == "7-0"
    assert all("set more than once" in warning for warning in loaded.warnings)
    general = config.partitions[0]
    assert general.nodes.bit_count() == 215
    assert (general.max_time, general.default_time, general.priority_tier) == (72 * 3600, 24 * 3600, 100)


def test_an_included_file_stands_in_place_and_is_found_beside_the_including_one(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    _conf(tmp_path / "sub", "PartitionName=p Nodes=n1\n", "partitions.conf")
    config = read_slurm_conf(_conf(tmp_path, "NodeName=n[1-2]\ninclude sub/partitions.conf\n")).config
    assert [part.nodes for part in config.partitions] == [1]


def test_an_unknown_key_is_kept_and_warned_about_once(tmp_path: Path) -> None:
    loaded = read_slurm_conf(_conf(tmp_path, f"SchedulerTyp=sched/easy\n{MACHINE}"))
    assert loaded.config.get("schedulertyp") == "sched/easy"
    (warning,) = loaded.warnings
    assert warning.startswith(f"{tmp_path / 'slurm.conf'}:1: SchedulerTyp:")


@pytest.mark.parametrize(
    ("text", "line", "field", "problem"),
    [
        (f"NodeName=m[1-\n{MACHINE}", 1, "NodeName", "not a list of nodes"),
        (f"{MACHINE}NodeName=m CPUs=four", 3, "CPUs", "'four' is not a whole number"),
        (f"{MACHINE}NodeName=m CPUs=-4", 3, "CPUs", "not a whole number"),
        (f"{MACHINE}NodeName=m CPUs=0", 3, "CPUs", "at least 1"),
        (f"{MACHINE}NodeName=m State=BROKEN", 3, "State", "no node state"),
        (f"{MACHINE}NodeName=n2", 3, "NodeName", "defined twice"),
        (f"{MACHINE}PartitionName=p Nodes=n1", 3, "PartitionName", "defined twice"),
        (f"{MACHINE}PartitionName=q", 3, "PartitionName", "has no nodes"),
        (f"{MACHINE}PartitionName=q Nodes=n[1-3]", 3, "Nodes", "node n3 is not defined"),
        (f"{MACHINE}PartitionName=q Nodes=n1 State=SIDEWAYS", 3, "State", "no partition state"),
        (f"{MACHINE}PartitionName=q Nodes=n1 MaxTime=soon", 3, "MaxTime", "'soon' is not a time"),
        (f"{MACHINE}PartitionName=q Nodes=n1 MaxNodes=some", 3, "MaxNodes", "not a whole number"),
        (f"{MACHINE}PartitionName=q \\\n Nodes=n1 \\\n MinNodes=x\n", 3, "MinNodes", "not a whole number"),
        (f"{MACHINE}just words\n", 3, None, "is not Key=Value"),
    ],
)
def test_a_mistake_is_named_with_file_line_and_key(
    tmp_path: Path, text: str, line: int, field: str | None, problem: str
) -> None:
    path = _conf(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_slurm_conf(path)
    assert (caught.value.path, caught.value.line, caught.value.field) == (path, line, field)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "ClusterName=x\n", "NodeName=DEFAULT CPUs=4\nPartitionName=p Nodes=ALL\n"])
def test_a_machine_without_nodes_is_none(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="no nodes are defined"):
        read_slurm_conf(_conf(tmp_path, text))


def test_a_machine_without_partitions_is_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no partitions are defined"):
        read_slurm_conf(_conf(tmp_path, "NodeName=n1\n"))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.conf: cannot be read: No such file"):
        read_slurm_conf(tmp_path / "nowhere.conf")


def test_files_that_include_each_other_are_told_apart_by_their_chain(tmp_path: Path) -> None:
    _conf(tmp_path, "Include slurm.conf\n", "other.conf")
    with pytest.raises(InputError, match=r"slurm\.conf includes .*other\.conf includes .*slurm\.conf"):
        read_slurm_conf(_conf(tmp_path, "Include other.conf\n"))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 5400),
        ("10:30", 630),
        ("1:00:01", 3601),
        ("2-0", 172800),
        ("2-3:04", 183840),
        ("2-3:04:05", 183845),
        ("UNLIMITED", None),
        ("infinite", None),
        ("-1", None),
    ],
)
def test_times_are_written_in_slurms_forms(text: str, seconds: int | None) -> None:
    assert parse_time_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "1-", "1:", ":1", "1:2:3:4", "-2", "1.5", "1h"])
def test_other_forms_of_times_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time"):
        parse_time_seconds(text)


def test_a_machine_without_a_file_is_one_node_and_one_default_partition() -> None:
    for config in (interchangeable(100), this_machine()):
        (node,), (part,) = config.nodes, config.partitions
        assert node.cpus >= 1
        assert part.default
        assert part.nodes == 1
