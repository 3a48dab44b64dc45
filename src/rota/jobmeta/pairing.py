"""Which answer belongs to which id: nothing that a plugin does may put one job's metadata on another.

See `rota.interfaces.jobmeta` for the forms of an answer. What cannot be attributed with certainty is not used:

* answers by position, unless there are exactly as many as ids;
* answers about ids that were not asked: a plugin may have read the whole queue;
* several answers about one id that contradict each other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rota.interfaces.jobmeta import Metadata

#: Characters of a text that are kept.
LONGEST_TEXT = 4096


class Item(NamedTuple):
    """An item of a mapping from id to metadata."""

    name: Any
    fields: Any


class Paired(NamedTuple):
    """Metadata by id, and what could not be used, a sentence each."""

    found: dict[str, Metadata]
    faults: list[str]


def pair(ids: Sequence[str], answers: Sequence[Any], normalize: Callable[[str], str], *, whole: bool) -> Paired:
    """Attribute answers to ids.

    Args:
        ids: What was asked, without duplicates.
        answers: What the plugin gave, in its order; `Item` for those of a mapping.
        normalize: As the plugin's.
        whole: Whether the plugin ended without an error. Only then can answers count by position.
    """
    if any(isinstance(answer, Item) or (isinstance(answer, Mapping) and "id" in answer) for answer in answers):
        return _by_id(set(ids), answers, normalize)
    return _by_position(ids, answers, whole=whole)


def _by_position(ids: Sequence[str], answers: Sequence[Any], *, whole: bool) -> Paired:
    if not whole or not answers:
        return Paired({}, [])
    if len(answers) != len(ids):
        return Paired({}, [f"it gave {len(answers)} answers without `id` for {len(ids)} ids: none is used"])
    wrong = [answer for answer in answers if answer is not None and not isinstance(answer, Mapping)]
    if wrong:
        return Paired({}, [f"it gave {_short(wrong[0])} where a dict was expected: no answer is used"])
    return Paired({asked: clean(answer) for asked, answer in zip(ids, answers, strict=True) if answer}, [])


def _by_id(asked: set[str], answers: Sequence[Any], normalize: Callable[[str], str]) -> Paired:
    found: dict[str, Metadata] = {}
    contradicted: dict[str, None] = {}
    wrong: list[Any] = []
    for answer in answers:
        name, fields = answer if isinstance(answer, Item) else (_id_of(answer), answer)
        if not isinstance(name, str | int) or not isinstance(fields, Mapping):
            wrong.append(fields)
        elif (job_id := normalize(str(name))) in asked:
            metadata = clean(fields)
            if found.setdefault(job_id, metadata) != metadata:
                contradicted[job_id] = None
    faults = [f"it contradicts itself about {job_id!r}: no answer about it is used" for job_id in contradicted]
    if wrong:
        faults.append(f"it gave {_short(wrong[0])} where a dict with `id` was expected")
    return Paired({job_id: fields for job_id, fields in found.items() if job_id not in contradicted}, faults)


def _id_of(answer: Any) -> object:
    return answer.get("id") if isinstance(answer, Mapping) else None


def clean(fields: Mapping[Any, Any]) -> Metadata:
    """Make metadata of whatever a plugin gives: without ``id`` and values that are not known, text in one line."""
    return {str(name): _value(value) for name, value in fields.items() if name != "id" and value is not None}


def _value(value: object) -> str | int | float | bool:
    if isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    text = str(value)[:LONGEST_TEXT]
    return text if text.isprintable() else "".join(sign if sign.isprintable() else "?" for sign in text)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
