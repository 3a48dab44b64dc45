"""The Priority… keys of slurm.conf: what they mean, and how a value that cannot be used is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.config import read_slurm_conf
from rota.model import InputError
from rota.model.multifactor import FLAGS, MultifactorConf

if TYPE_CHECKING:
    from pathlib import Path

MACHINE = "NodeName=n[1-2] CPUs=4\nPartitionName=p Nodes=ALL\n"


def _read(tmp_path: Path, *lines: str) -> MultifactorConf:
    """Read keys that stand from line 3 on."""
    path = tmp_path / "slurm.conf"
    path.write_text(MACHINE + "\n".join(lines) + "\n")
    config = read_slurm_conf(path).config
    return MultifactorConf.of(config, config.tres())


def test_slurms_defaults(tmp_path: Path) -> None:
    """From the manual page of slurm.conf: 7 days, 7 days, 5 minutes, no reset, no weights; Fair Tree since 19.05."""
    conf = _read(tmp_path)
    assert (conf.half_life, conf.max_age, conf.calc_period) == (7 * 86400, 7 * 86400, 300)
    assert (conf.reset_period, conf.damping, conf.favor_small) == ("NONE", 1.0, False)
    assert conf.flags == {"FAIR_TREE"}
    weights = conf.weights
    assert not any((weights.age, weights.assoc, weights.fairshare, weights.job_size, weights.partition, weights.qos))
    assert not weights.tres


def test_all_keys(tmp_path: Path) -> None:
    conf = _read(
        tmp_path,
        "PriorityDecayHalfLife=14-0",
        "PriorityMaxAge=1-12",
        "PriorityCalcPeriod=10",
        "PriorityUsageResetPeriod=weekly",
        "FairShareDampeningFactor=2.5",
        "PriorityFavorSmall=Yes",
        "PriorityWeightAge=1",
        "PriorityWeightAssoc=2",
        "PriorityWeightFairshare=3",
        "PriorityWeightJobSize=4",
        "PriorityWeightPartition=5",
        "PriorityWeightQOS=4294967295",
        "AccountingStorageTRES=gres/gpu",
        "PriorityWeightTRES=gres/gpu=-7,CPU=0.5",
    )
    assert (conf.half_life, conf.max_age, conf.calc_period) == (14 * 86400, 36 * 3600, 600)
    assert (conf.reset_period, conf.damping, conf.favor_small) == ("WEEKLY", 2.5, True)
    weights = conf.weights
    assert (weights.age, weights.assoc, weights.fairshare, weights.job_size) == (1, 2, 3, 4)
    assert (weights.partition, weights.qos) == (5, 2**32 - 1)
    assert weights.tres == {"cpu": 0.5, "gres/gpu": -7.0}
    assert weights.tres_text == "gres/gpu=-7,CPU=0.5"


@pytest.mark.parametrize(
    ("written", "in_force"),
    [
        ("", {"FAIR_TREE"}),
        ("fair_tree,Incr_Only", {"FAIR_TREE", "INCR_ONLY"}),
        ("NO_FAIR_TREE", {"NO_FAIR_TREE"}),
        ("FAIR_TREE,NO_FAIR_TREE", {"NO_FAIR_TREE"}),
        ("DEPTH_OBLIVIOUS", {"DEPTH_OBLIVIOUS"}),
        ("V100", {"V100"}),
        ("MAX_TRES,MAX_TRES_GRES", {"FAIR_TREE", "MAX_TRES_GRES"}),
        (
            "NO_NORMAL_ALL",
            {"FAIR_TREE", *(f"NO_NORMAL_{what}" for what in ("ALL", "ASSOC", "PART", "QOS", "TRES"))},
        ),
    ],
)
def test_flags_that_follow_from_others(tmp_path: Path, written: str, in_force: set[str]) -> None:
    conf = _read(tmp_path, f"PriorityFlags={written}" if written else "")
    assert conf.flags == in_force
    assert conf.fair_tree is ("FAIR_TREE" in in_force)


def test_a_maximum_age_of_0_is_a_second(tmp_path: Path) -> None:
    """A job that has not waited at all is not as old as those that have, not even then."""
    assert _read(tmp_path, "PriorityMaxAge=0").max_age == 1


def test_a_half_life_of_0_goes_with_a_reset(tmp_path: Path) -> None:
    conf = _read(tmp_path, "PriorityDecayHalfLife=0", "PriorityUsageResetPeriod=MONTHLY")
    assert (conf.half_life, conf.reset_period) == (0, "MONTHLY")


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        (
            "PriorityDecayHalfLife",
            "0",
            "with 0 usage never fades, and without PriorityUsageResetPeriod it is never reset: set one of the two",
        ),
        ("PriorityDecayHalfLife", "soon", "'soon' is not a time: write minutes, [hours:]minutes:seconds, days-hours "),
        ("PriorityWeightAge", "4294967296", "'4294967296' is not a whole number from 0 to 4294967295"),
        ("PriorityWeightFairshare", "-1", "'-1' is not a whole number from 0 to 4294967295"),
        ("PriorityWeightQOS", "1.5", "'1.5' is not a whole number from 0 to 4294967295"),
        ("PriorityWeightPartition", "٣", "'٣' is not a whole number from 0 to 4294967295"),
        ("PriorityWeightTRES", "CPU=x", "'CPU=x' is not TRES=weight"),
        ("PriorityWeightTRES", "GRES/gpu=1", "'GRES/gpu' is no TRES of this cluster (it has cpu, mem, energy, node, "),
        ("PriorityFlags", "FAIR_TREE,FAIR_BUSH", f"no flag FAIR_BUSH: there are {', '.join(FLAGS)}"),
        ("FairShareDampeningFactor", "0", "'0' is not a number of at least 1"),
        ("FairShareDampeningFactor", "inf", "'inf' is not a number of at least 1"),
        ("FairShareDampeningFactor", "nan", "'nan' is not a number of at least 1"),
        ("PriorityUsageResetPeriod", "HOURLY", "'HOURLY' is none of NONE, NOW, DAILY, WEEKLY, MONTHLY, QUARTERLY, "),
        ("PriorityFavorSmall", "maybe", "'maybe' is none of NO, YES"),
        ("PriorityCalcPeriod", "0", "'0' is shorter than 60 s"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_with_file_line_and_key(
    tmp_path: Path, key: str, value: str, problem: str
) -> None:
    with pytest.raises(InputError) as caught:
        _read(tmp_path, "# keys", f"{key}={value}")
    assert str(caught.value).startswith(f"{tmp_path / 'slurm.conf'}:4: {key}: {problem}")
    assert "\n" not in str(caught.value)
