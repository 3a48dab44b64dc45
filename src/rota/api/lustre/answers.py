"""Answers of the store in the forms of HTTP, as plain JSON data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rota.lustre.grouping import JOB, place_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rota.lustre.query import Answer
    from rota.lustre.store import Look


def top(look: Look, answer: Answer, by: str, sort: str) -> dict[str, Any]:
    """Give the form `Top`."""
    seconds = answer.seconds
    rows = [
        {"label": label, "fields": fields, **_amount({name: of[row, 0] for name, of in answer.values.items()}, seconds)}
        for row, (label, fields) in enumerate(_named(look, answer, by))
    ]
    return {
        **_window(answer),
        "by": by,
        "sort": sort,
        "rows": rows,
        "more": answer.more,
        "others": _amount({name: numbers[0] for name, numbers in answer.others.items()}, seconds),
        "all": _amount({name: numbers[0] for name, numbers in answer.totals.items()}, seconds),
    }


def series(look: Look, answer: Answer, by: str, sort: str) -> dict[str, Any]:
    """Give the form `Series`."""
    lines = [
        {
            "label": label,
            "fields": fields,
            "rates": {name: rates(name, of[row], answer.seconds) for name, of in answer.values.items()},
        }
        for row, (label, fields) in enumerate(_named(look, answer, by))
    ]
    return {
        **_window(answer),
        "by": by,
        "sort": sort,
        "series": lines,
        "more": answer.more,
        "others": {name: rates(name, numbers, answer.seconds) for name, numbers in answer.others.items()},
        "all": {name: rates(name, numbers, answer.seconds) for name, numbers in answer.totals.items()},
    }


def heat(answer: Answer, metric: str, wanted: Sequence[str]) -> dict[str, Any]:
    """Give the form `Heat` of the targets that are wanted."""
    points = (answer.end - answer.begin) // answer.step
    rows = dict(zip(answer.labels, answer.values[metric], strict=True))
    idle = np.zeros(points, dtype=np.int64)
    return {
        **_window(answer),
        "metric": metric,
        "targets": list(wanted),
        "rates": [rates(metric, rows.get(target, idle), answer.seconds) for target in wanted],
    }


def targets(look: Look) -> list[dict[str, str]]:
    """Give all targets in the form `Target`."""
    return [
        {"target": one, "kind": place_of(one, "kind"), "filesystem": place_of(one, "filesystem")}
        for one in sorted(look.targets())
    ]


def rates(metric: str, numbers: NDArray[Any], seconds: NDArray[Any]) -> list[float | None]:
    """Give numbers by time, rounded to a thousandth; means stay what they are."""
    found = numbers if metric.endswith(".latency") else numbers / seconds
    return [None if one != one else one for one in np.round(found, 3).tolist()]  # noqa: PLR0124 - only nan differs


def _amount(numbers: Mapping[str, Any], seconds: NDArray[Any]) -> dict[str, Any]:
    totals = {name: None if number != number else number.item() for name, number in numbers.items()}  # noqa: PLR0124
    return {"totals": totals, "rates": {name: rates(name, np.array([of]), seconds)[0] for name, of in numbers.items()}}


def _window(answer: Answer) -> dict[str, int]:
    return {"begin": answer.begin, "end": answer.end, "step": answer.step}


def _named(look: Look, answer: Answer, by: str) -> list[tuple[str, Mapping[str, Any] | None]]:
    """Give the groups' names and, if they are jobs, what is known of these."""
    if by not in JOB:
        return [(label, None) for label in answer.labels]
    codes = [job.code for job in map(look.job, answer.labels) if job is not None]
    return list(zip(answer.labels, look.fields(codes), strict=True))
