"""Options by other names, and some that make no difference on one machine; Slurm 22.05.8 takes and refuses them so."""

from __future__ import annotations

import pytest

from rota.commands.sbatch import OptionError, parse_request
from rota.commands.srun import read_srun


def test_other_names() -> None:
    assert parse_request(["--tasks-per-node=3"]) == parse_request(["--ntasks-per-node=3"])
    assert parse_request(["--gpus=2", "--ntasks-per-tres=2"]) == parse_request(["--gpus=2", "--ntasks-per-gpu=2"])
    assert read_srun(["--cpu_bind=none", "true"], {}, within=True).texts == {"cpu-bind": "none"}


def test_waiting_for_all_nodes() -> None:
    assert parse_request(["--wait-all-nodes=1"]) == parse_request([])


@pytest.mark.parametrize(
    ("word", "problem"),
    [
        ("--tmp=1", "is not supported by rota"),
        ("-marbitrary", "With Arbitrary distribution you need to specify a nodelist or hostfile with the -w option"),
    ],
)
def test_refused(word: str, problem: str) -> None:
    with pytest.raises(OptionError, match=problem):
        parse_request([word])
