"""The accounting record of a job that has ended, as the database has it.

Who lists many jobs looks at little else of them. So the job is decoded at once, and its details and steps when somebody
looks at them.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from rota.core.plain import shape_of
from rota.model.accounting import JobDetails
from rota.model.lines import JobLine
from rota.model.step import StepRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

_JOB, _DETAILS, _STEPS = shape_of(JobLine), shape_of(JobDetails), shape_of(tuple[StepRecord, ...])


class KeptRecord:
    """An accounting record; see `rota.model.accounting.Accounted`.

    Args:
        data: An `AccountingRecord` as JSON data.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.job: JobLine = _JOB.decode(data["job"])
        self._details = data["details"]
        self._steps = data.get("steps", [])

    @cached_property
    def details(self) -> JobDetails:
        """What is kept of the job besides."""
        found: JobDetails = _DETAILS.decode(self._details)
        return found

    @cached_property
    def steps(self) -> tuple[StepRecord, ...]:
        """Its steps."""
        found: tuple[StepRecord, ...] = _STEPS.decode(self._steps)
        return found
