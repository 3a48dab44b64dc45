"""Schedulers that print what nobody can read, as if all were well."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.jobmeta import Lookups

if TYPE_CHECKING:
    from .conftest import Fakes


@pytest.mark.parametrize(
    ("plugin", "job_id", "programs"),
    [
        ("slurm_job_id", "12", ("sacct", "squeue")),
        ("job_id", "12", ("qstat",)),
        ("pbs_jobid", "12.srv", ("qstat",)),
        ("lsb_jobid", "12", ("bjobs", "bacct")),
        ("loadl_step_id", "fr2n02.32.0", ("llq", "llsummary")),
        ("flux_job_id", "ƒiFkbMhFM", ("flux",)),
    ],
)
@pytest.mark.parametrize("text", ["<html>proxy\n", "\x00\x01 \ufffd garbage {[<\n", "12 12 12\n" * 9])
def test_an_answer_of_which_nothing_can_be_read_is_a_failure(
    fake: Fakes, plugin: str, job_id: str, programs: tuple[str, ...], text: str
) -> None:
    """And not that the scheduler does not know the job, though its exit status says that all is well."""
    for program in programs:
        fake(program, text)
    with Lookups() as lookups:
        answers = lookups.lookup([job_id], plugin)
    assert answers.failed == [job_id]
    assert "printed" in answers.faults[0]


@pytest.mark.parametrize(("plugin", "job_id"), [("job_id", "12"), ("pbs_jobid", "12.srv")])
def test_xml_is_not_read_without_limits(fake: Fakes, monkeypatch: pytest.MonkeyPatch, plugin: str, job_id: str) -> None:
    """The 64 MiB that a program may print would be five gigabytes of elements."""
    monkeypatch.setattr("rota.interfaces.jobmeta._MOST_TAGS", 1000)
    fake("qstat", "<a><b>" * 501)
    with Lookups() as lookups:
        answers = lookups.lookup([job_id], plugin)
    assert answers.failed == [job_id]
    assert "printed XML of more than 1,000 tags" in answers.faults[0]
