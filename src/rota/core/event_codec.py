"""Events as plain data: into what JSON can hold, back, and whether their fields are what their types promise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.core.events import EVENTS, JobEnded, Submit, UpdateJob
from rota.core.plain import PlainError, Record, shape_of
from rota.model import JobSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.core.events import Event


def encode(event: Event) -> dict[str, Any]:
    """Turn an event into what JSON can hold: its name as ``event``, and the fields that do not have their defaults."""
    return {"event": type(event).__name__, **shape_of(type(event)).encode(event)}


def decode(data: Mapping[str, Any]) -> Event:
    """Turn that back into the event.

    Raises:
        PlainError: it is of no event, or a field is missing, unknown, or not of its kind.
    """
    name = data.get("event")
    if name not in EVENTS:
        raise PlainError(f"{name!r} is no event")
    shape = shape_of(EVENTS[name])
    try:
        event: Event = shape.decode({key: value for key, value in data.items() if key != "event"})
    except PlainError as error:
        raise PlainError(f"{name}{error}") from None
    if problem := shape.problem(event):
        raise PlainError(f"{name}{problem}")
    return event


#: Types of the fields of events that were found to be right.
_RIGHT: set[tuple[object, ...]] = set()
#: Of the fields of a request, the first ones are nearly always asked for, the others hardly ever.
_USUAL = JobSpec._fields.index("user") + 1
_UNUSUAL = JobSpec()[_USUAL:]


def problem_of(event: Event) -> str:
    """Say what is wrong with the fields of an event: ``Submit.spec.num_cpus: 'x' is no whole number``; empty: nothing.

    Whether they make sense is the engine's to say.
    """
    # Of the events that come by the hundred thousand it is enough to know that the types are those of one before.
    types: tuple[object, ...] = ()
    if type(event) is JobEnded:
        types = (JobEnded, *map(type, event))
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
