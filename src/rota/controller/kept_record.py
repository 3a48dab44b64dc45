"""The accounting record of a job that has ended, as the database has it.

Of a day there are tens of thousands, so msgspec reads them: job and steps at once, and the details, at which few look,
when somebody does. What it does not take, such as a number that was too large for JSON and is text there, is read as
everything else is (`rota.core.plain`).
"""

from __future__ import annotations

import json
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, get_type_hints

from msgspec import MsgspecError, Raw, Struct, defstruct
from msgspec.json import Decoder
from msgspec.structs import astuple

from rota.core.plain import shape_of
from rota.model import JobSpec
from rota.model.accounting import AccountingRecord, JobDetails
from rota.model.lines import NO_COUNTS, JobLine
from rota.model.step import StepRecord

if TYPE_CHECKING:
    from collections.abc import Mapping


def _struct_of(kind: Any, others: Mapping[str, tuple[Any, Any]] = MappingProxyType({})) -> type[Struct]:
    """Make a structure with the fields of a named tuple, which msgspec itself would read from a list.

    Args:
        kind: The class.
        others: Fields of other types for msgspec, with their defaults.
    """
    types, defaults = get_type_hints(kind), kind._field_defaults
    fields = [
        others.get(name) or ((types[name], defaults[name]) if name in defaults else (types[name],))
        for name in kind._fields
    ]
    named = [(name, *one) for name, one in zip(kind._fields, fields, strict=True)]
    return defstruct(kind.__name__, named, kw_only=True, frozen=True, forbid_unknown_fields=True, gc=False)


_Spec = _struct_of(JobSpec)
_COUNTS = dict[str, int], NO_COUNTS
_Line = _struct_of(JobLine, {"tres_requested": _COUNTS, "tres_allocated": _COUNTS, "request": (_Spec, _Spec())})
_Record = defstruct(
    "Record",
    [("job", _Line), ("details", Raw), ("steps", tuple[StepRecord, ...], ())],
    forbid_unknown_fields=True,
    gc=False,
)
_RECORD: Decoder[Any] = Decoder(_Record)
_DETAILS: Decoder[JobDetails] = Decoder(JobDetails)
#: Makes a named tuple, and is no method in Python as `_make` is.
_new: Any = tuple.__new__


class KeptRecord:
    """An accounting record; see `rota.model.accounting.Accounted`.

    Args:
        text: An `AccountingRecord` as JSON.
    """

    #: The job, and its steps.
    job: JobLine
    steps: tuple[StepRecord, ...]

    def __init__(self, text: str) -> None:
        try:
            found = _RECORD.decode(text)
        except MsgspecError:
            plain: AccountingRecord = shape_of(AccountingRecord).decode(json.loads(text))
            self.job, self.details, self.steps = plain.job, plain.details, plain.steps
            return
        *line, request = astuple(found.job)
        self.job = _new(JobLine, (*line, _new(JobSpec, astuple(request))))
        self.steps = found.steps
        self._details: Raw = found.details

    @cached_property
    def details(self) -> JobDetails:
        """What is kept of the job besides."""
        try:
            return _DETAILS.decode(self._details)
        except MsgspecError:
            found: JobDetails = shape_of(JobDetails).decode(json.loads(bytes(self._details)))
            return found
