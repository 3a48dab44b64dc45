"""``/api/target/metric/`` with the rules of Integrated Manager for Lustre, whose programs find here what they ask for.

Faults are told all at once, with status 400, as ``{FIELD: [TEXT, …]}``. Targets are called by their names. A point's
time is the begin of its step, and its numbers are rates; what is not told of jobs one by one is under ``other``.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from fastapi import APIRouter, Request, Response

from rota.api.lustre.access import Seen
from rota.api.lustre.asked import moment_of
from rota.lustre.grouping import place_of
from rota.lustre.measures import METRICS
from rota.lustre.query import Question, ask_by_target
from rota.model import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rota.lustre.service import Service
    from rota.lustre.store import Look

#: Jobs, users or names that are told one by one; all others together.
_LABELS = 100
_OTHER = "other"
#: Points, where nothing is said, and at most.
_POINTS, _MOST_POINTS = 1000, 10_000
_MANDATORY = "This field is mandatory when latest=false"
#: What a target can be chosen and grouped by.
_ATTRIBUTES = ("id", "name", "kind", "filesystem")

#: Rates of one target, or of several together, by label.
_Lines = dict[str, "NDArray[Any]"]


@dataclass
class _Asked:
    """What is asked."""

    metrics: Sequence[str]
    job: str
    begin: float
    end: float
    points: int
    #: Whether there are to be exactly so many points.
    exact: bool
    latest: bool
    reduce: str
    group: str
    errors: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))


_REFUSED: dict[int | str, dict[str, Any]] = {
    "default": {"content": {"application/json": {}}, "description": "By parameter, what is wrong with it."}
}


def original_paths(service: Service) -> APIRouter:
    """Give the paths."""
    router = APIRouter(prefix="/api/target", tags=["original"], responses=_REFUSED)

    @router.get("/metric/")
    def metric_list(_: Seen, request: Request) -> Response:
        """Tell metrics of all targets, or of those that are chosen."""
        return _answer(service, request.query_params, None)

    @router.get("/{target}/metric/")
    def metric_detail(_: Seen, request: Request, target: str) -> Response:
        """Tell metrics of one target."""
        return _answer(service, request.query_params, target)

    return router


def _answer(service: Service, given: Mapping[str, str], target: str | None) -> Response:
    with service.reader.look() as look:
        asked = _read(given, float(look.until), is_list=target is None)
        if asked.errors:
            return _json(asked.errors, 400)
        targets = [one for one in look.targets() if _chosen(one, given)] if target is None else [target]
        if target is not None and target not in look.targets():
            return _json({"metrics": [f"there is no target {target!r}"]}, 404)
        try:
            moments, lines = _fetch(look, asked, targets)
        except InputError as error:
            return _json({error.field or "metrics": [error.problem]}, 400)
    if target is not None:
        return _json(_points(moments, lines[target], asked))
    if not asked.reduce:
        return _json({one: _points(moments, lines[one], asked) for one in sorted(targets)})
    if not asked.group:
        return _json(_points(moments, _reduced(list(lines.values()), asked), asked))
    groups = defaultdict(list)
    for one in targets if asked.group in _ATTRIBUTES else ():
        groups[_attribute(one, asked.group)].append(lines[one])
    return _json({name: _points(moments, _reduced(some, asked), asked) for name, some in groups.items()})


def _read(given: Mapping[str, str], until: float, *, is_list: bool) -> _Asked:
    """Read what is asked, and find all faults."""
    latest, update = (given.get(name, "").lower() in {"true", "1"} for name in ("latest", "update"))
    asked = _Asked(
        [one for one in given.get("metrics", "").split(",") if one],
        given.get("job", ""),
        max(until - 1, 0),
        until,
        _POINTS,
        "num_points" in given,
        latest,
        given.get("reduce_fn", "") if is_list else "",
        given.get("group_by", "") if is_list else "",
    )
    if update and latest:
        asked.errors["update"].append("update and latest are mutually exclusive")
    _check_metrics(asked)
    _read_points(asked, given, is_fixed=not latest and not update)
    if not latest:
        _read_time(asked, given, update=update)
    if asked.group and not asked.reduce:
        asked.errors["reduce_fn"].append("This field is mandatory if 'group_by' is specified")
    if asked.reduce not in {"", "sum", "average"}:
        asked.errors["reduce_fn"].append("reduce_fn must be one of sum, average")
    return asked


def _check_metrics(asked: _Asked) -> None:
    unknown = [name for name in asked.metrics if name not in METRICS]
    if asked.job:
        if len(asked.metrics) != 1:
            asked.errors["job"].append("Job metrics must be a single string")
        elif unknown:
            asked.errors["job"].append(f"Job metrics must be one of {', '.join(METRICS)}")
        if asked.latest:
            asked.errors["job"].append("Job metrics and latest are incompatible")
    elif unknown:
        asked.errors["metrics"].append(f"metrics must be some of {', '.join(METRICS)}")
    asked.metrics = tuple(dict.fromkeys(asked.metrics)) or METRICS


def _read_points(asked: _Asked, given: Mapping[str, str], *, is_fixed: bool) -> None:
    for name in ("max_points", "num_points"):
        if name in given:
            try:
                asked.points = int(given[name])
                if not 0 < asked.points <= _MOST_POINTS:
                    asked.errors[name].append(f"{name} must be between 1 and {_MOST_POINTS}")
            except ValueError:
                asked.errors[name].append(f"{name} must be a valid integer")
    if asked.exact and not is_fixed:
        asked.errors["num_points"].append("num_points requires a fixed begin and end")


def _read_time(asked: _Asked, given: Mapping[str, str], *, update: bool) -> None:
    now = time.time()
    found = {"begin": 0.0, "end": now}
    for name in ("begin", "end"):
        if given.get(name):
            try:
                found[name] = moment_of(given[name], name)
            except InputError:
                asked.errors[name].append("Malformed time string")
        elif name == "begin" or update or asked.exact:
            asked.errors[name].append(_MANDATORY)
    asked.begin, asked.end = (found["end"], now) if update else (found["begin"], found["end"])
    if not asked.errors and not 0 <= asked.begin < asked.end:
        asked.errors["end"].append("the time must end after it begins")


def _attribute(target: str, name: str) -> str:
    return place_of(target, "target" if name in {"id", "name"} else name)


def _chosen(target: str, given: Mapping[str, str]) -> bool:
    return all(_attribute(target, name) == given[name] for name in _ATTRIBUTES if name in given)


def _fetch(look: Look, asked: _Asked, targets: Sequence[str]) -> tuple[list[float], dict[str, _Lines]]:
    """Give the moments, and the lines of each target."""
    question = Question(
        asked.begin,
        asked.end,
        asked.metrics,
        asked.job,
        {"target": frozenset(targets)},
        asked.points,
        _LABELS if asked.job else None,
        unknown_by_id=True,
    )
    table = ask_by_target(look, question)
    edges = np.append(table.begin + table.step * np.arange(len(table.seconds)), table.end).clip(max=look.until)
    moments = np.linspace(asked.begin, asked.end, asked.points + 1) if asked.exact else np.unique(edges)
    numbers = {name: _rates(of, edges, moments) for name, of in table.values.items()}
    codes = {name: code for code, name in enumerate(look.targets()) if name in set(targets)}
    if not asked.job:
        lines = {target: {name: of[0, code] for name, of in numbers.items()} for target, code in codes.items()}
        return moments[:-1].tolist(), lines
    of = numbers[asked.metrics[0]]
    lines = {
        target: {label: of[row, code] for row, label in enumerate((*table.labels, _OTHER)) if of[row, code].any()}
        for target, code in codes.items()
    }
    return moments[:-1].tolist(), lines


def _rates(totals: NDArray[Any], edges: NDArray[Any], moments: NDArray[Any]) -> NDArray[Any]:
    """Give mean rates between moments, of the totals between edges, as if each had been done evenly."""
    if len(moments) < 2:
        return np.zeros((*totals.shape[:2], 0))
    done = np.concatenate((np.zeros((*totals.shape[:2], 1)), totals.cumsum(axis=2)), axis=2)
    place = np.interp(moments, edges, np.arange(len(edges)))
    before = np.minimum(place.astype(np.int64), len(edges) - 2)
    part = place - before
    reached = done[..., before] * (1 - part) + done[..., before + 1] * part
    rates: NDArray[Any] = np.diff(reached, axis=2) / np.diff(moments)
    return rates


def _reduced(lines: Sequence[_Lines], asked: _Asked) -> _Lines:
    """Add the lines of targets up, or give their mean."""
    found: _Lines = {}
    for one in lines:
        for label, numbers in one.items():
            found[label] = found[label] + numbers if label in found else numbers
    share = len(lines) if asked.reduce == "average" else 1
    return {label: numbers / share for label, numbers in found.items()}


def _points(moments: Sequence[float], lines: _Lines, asked: _Asked) -> list[dict[str, Any]]:
    """Give points. Of jobs there are those that did something."""
    columns = {label: numbers.tolist() for label, numbers in lines.items()}
    found = []
    for at, moment in enumerate(moments):
        data = {label: numbers[at] for label, numbers in columns.items() if numbers[at] or not asked.job}
        if data or not asked.job:
            found.append({"ts": datetime.fromtimestamp(moment, UTC).isoformat(), "data": data})
    return found


def _json(data: Any, status: int = 200) -> Response:
    return Response(json.dumps(data, allow_nan=False), status, media_type="application/json")
