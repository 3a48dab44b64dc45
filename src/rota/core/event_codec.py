"""Events as JSON data, and checks of the types of their fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.core.events import EVENTS, JobEnded, Submit, UpdateJob
from rota.core.plain import PlainError, Record, shape_of
from rota.model import JobSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.core.events import Event


def encode(event: Event) -> dict[str, Any]:
    """Convert an event to JSON data: its name as ``event``, and the fields that differ from their defaults."""
    return {"event": type(event).__name__, **shape_of(type(event)).encode(event)}


def decode(data: Mapping[str, Any]) -> Event:
    """Convert JSON data to an event.

    Raises:
        PlainError: there is no such event, or a field is missing, unknown, or of the wrong type.
    """
    name = data.get("event")
    if name not in EVENTS:
        raise PlainError(f"{name!r} is no event")
    shape = shape_of(EVENTS[name])
    try:
        event: Event = shape.decode({key: value for key, value in data.items() if key != "event"})
    except PlainError as error:
        raise PlainError(f"{name}{error}") from None
    if problem := problem_of(event):
        raise PlainError(problem)
    return event


#: Types of the fields of events that have been found valid.
_RIGHT: set[tuple[object, ...]] = set()
#: Number of the first fields of a request, which most requests set, and the defaults of the others.
_USUAL = JobSpec._fields.index("user") + 1
_UNUSUAL = JobSpec()[_USUAL:]


def problem_of(event: Event) -> str:
    """Say what is wrong with the types of an event's fields; empty: they are valid.

    The result begins with the field: ``Submit.spec.num_cpus: 'x' is no whole number``. Values are checked by the
    engine.
    """
    # The most frequent events are valid if an earlier event with fields of the same types was.
    types: tuple[object, ...] = ()
    if type(event) is JobEnded:
        types = tuple(map(type, event))
    elif type(event) is Submit and type(event.spec) is JobSpec:
        spec = event.spec
        types = (*map(type, event), *map(type, spec[:_USUAL] if spec[_USUAL:] == _UNUSUAL else spec))
    if types in _RIGHT:
        return ""
    name = type(event).__name__
    if EVENTS.get(name) is not type(event):
        return f"{name} is no event"
    problem = shape_of(EVENTS[name]).problem(event)
    if not problem and isinstance(event, UpdateJob):
        problem = _problem_of_changes(event.changes)
    if problem:
        return f"{name}{problem}"
    if types:
        _RIGHT.add(types)
    return ""


def _problem_of_changes(changes: Mapping[str, object]) -> str:
    known = shape_of(JobSpec)
    for name, value in changes.items():
        if not isinstance(known, Record) or name not in known.fields:
            return f".changes: JobSpec has no {name}"
        if problem := known.fields[name].problem(value):
            return f".changes.{name}{problem}"
    return ""
