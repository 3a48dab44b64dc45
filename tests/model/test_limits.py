"""Limits as numbers. Units and rounding are what Slurm 22.05.8 showed; see tests/sacctmgr/data/README.md."""

from __future__ import annotations

import pytest

from rota.model.limits import NO_LIMITS, LimitError, Limits

TRES = ("cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages", "gres/gpu", "gres/gpu:a100")


def test_nothing_is_no_limit() -> None:
    assert Limits.of({}, TRES) == NO_LIMITS
    assert NO_LIMITS.grp_jobs is None
    assert NO_LIMITS.grp_tres == {}


def test_numbers() -> None:
    limits = Limits.of(
        {
            "GrpTRES": "gres/gpu:a100=2,node=3,mem=1.50G,CPU=1K",
            "MaxTRESPerNode": "2=1T,4=-1",
            "GrpTRESMins": "mem=10K",
            "GrpWall": "2-0",
            "MaxWallDurationPerJob": "1:30",
            "MaxJobs": "0",
            "MaxSubmitJobs": "-1",
            "MinPrioThreshold": "4294967293",
        },
        TRES,
    )
    assert limits == Limits(
        grp_tres={"cpu": 1024, "mem": 1536, "node": 3, "gres/gpu:a100": 2},
        max_tres_per_node={"mem": 2**20},
        grp_tres_mins={"mem": 10},
        grp_wall=172800,
        max_wall=120,
        max_jobs=0,
        min_prio_thresh=2**32 - 3,
    )
    assert list(limits.grp_tres) == ["cpu", "mem", "node", "gres/gpu:a100"]


def test_any_name_may_be_a_tres_when_those_of_the_cluster_are_not_known() -> None:
    assert Limits.of({"GrpTRES": "license/matlab=3"}, None).grp_tres == {"license/matlab": 3}


@pytest.mark.parametrize(
    ("key", "text", "problem"),
    [
        ("GrpTRES", "gres/tpu=1", "'gres/tpu' is no TRES of this cluster (it has cpu, mem): AccountingStorageTRES"),
        ("GrpTRES", "9=1", "'9' is no TRES of this cluster (it has cpu, mem): AccountingStorageTRES"),
        ("MaxTRESPerUser", "cpu=-2", "'-2' is no count of cpu: a whole number, K, M, G after it or not, or -1"),
        ("MaxJobs", "many", "'many' is not a whole number from 0 to 4294967293, nor -1 for no limit"),
        ("MaxJobs", "٣", "'٣' is not a whole number from 0 to 4294967293, nor -1 for no limit"),
        (
            "MaxWallDurationPerJob",
            "-2",
            "'-2' is not a time: write minutes, [hours:]minutes:seconds, days-hours or UNLIMITED",
        ),
        ("MaxWall", "5", "is no limit of sacctmgr; names are written in full"),
    ],
)
def test_what_cannot_be_read_is_named(key: str, text: str, problem: str) -> None:
    with pytest.raises(LimitError) as caught:
        Limits.of({"GrpJobs": "1", key: text}, ("cpu", "mem"))
    assert (caught.value.key, caught.value.problem) == (key, problem)
    assert str(caught.value) == f"{key}: {problem}"
    assert isinstance(caught.value, ValueError)
