"""The paths below ``/lustre/v1``."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import StreamingResponse
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException

from rota.api.lustre import answers
from rota.api.lustre import forms as f
from rota.api.lustre.access import Seen
from rota.api.lustre.asked import AskedHeat, AskedJob, AskedSeries, AskedTop, moment_of, names_of
from rota.api.models import Problem
from rota.lustre.grouping import PLACES
from rota.lustre.measures import METRICS
from rota.lustre.query import Question, ask, lives_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pydantic import BaseModel

    from rota.lustre.service import Service
    from rota.lustre.store import Job, Look

#: Seconds between two looks whether something was written, and after which a reader gets a sign of life.
_LOOK, _QUIET = 0.25, 15.0
_PROBLEM: dict[int | str, dict[str, Any]] = {"default": {"model": Problem, "description": "It was not done."}}
_STREAM: dict[int | str, dict[str, Any]] = {200: {"content": {"text/event-stream": {}}}}
_JobId = Annotated[str, Path(min_length=1, max_length=200, description="As Lustre has it, escapes undone.")]


class _Anything(Convertor[str]):
    """A part of a path that may have all signs: job ids do."""

    regex = r"[\s\S]+"

    def convert(self, value: str) -> str:
        """Take it as it is."""
        return value

    def to_string(self, value: str) -> str:
        """Give it as it is."""
        return value


register_url_convertor("anything", _Anything())


def lustre_paths(service: Service) -> APIRouter:
    """Give the paths."""
    router = APIRouter(prefix="/lustre/v1", responses=_PROBLEM, tags=["lustre"])
    _questions(router, service)
    _things(router, service)
    _events(router, service)
    return router


def _told(model: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    return {200: {"model": model, "description": (model.__doc__ or "").strip()}}


def _json(data: Any) -> Response:
    return Response(json.dumps(data, separators=(",", ":"), allow_nan=False), media_type="application/json")


def _questions(router: APIRouter, service: Service) -> None:
    @router.get("/top", responses=_told(f.Top))
    def top(_: Seen, asked: Annotated[AskedTop, Query()]) -> Response:
        """Tell which groups did most, and what all others did together."""
        with service.reader.look() as look:
            question = asked.question(look)
            service.require_fields(look, question)
            return _json(answers.top(look, ask(look, question), question.group, question.by or question.metrics[0]))

    @router.get("/series", responses=_told(f.Series))
    def series(_: Seen, asked: Annotated[AskedSeries, Query()]) -> Response:
        """Tell the rates of the groups that did most over time, and those of all others together."""
        with service.reader.look() as look:
            question = asked.question(look)
            service.require_fields(look, question)
            return _json(answers.series(look, ask(look, question), question.group, question.by or question.metrics[0]))

    @router.get("/heat", responses=_told(f.Heat))
    def heat(_: Seen, asked: Annotated[AskedHeat, Query()]) -> Response:
        """Tell the rates of every target over time."""
        with service.reader.look() as look:
            question = asked.question(look)
            service.require_fields(look, question)
            where = {field: values for field, values in question.where.items() if field in PLACES}
            wanted = [
                one["target"]
                for one in answers.targets(look)
                if all(one[field] in values for field, values in where.items() if field in one)
            ]
            return _json(answers.heat(ask(look, question), asked.metric, wanted))


def _things(router: APIRouter, service: Service) -> None:
    @router.get("/targets", responses=_told(f.Targets))
    def targets(_: Seen) -> Response:
        """List the targets."""
        with service.reader.look() as look:
            return _json({"targets": answers.targets(look)})

    @router.get("/fields", responses=_told(f.Fields))
    def fields(_: Seen) -> Response:
        """Say by what can be grouped and filtered, and what operations there are."""
        known = [*PLACES, "job", *service.fields()]
        with service.reader.look() as look:
            return _json({"fields": known, "operations": look.operations(), "metrics": METRICS})

    @router.get("/jobs/{job:anything}", responses=_told(f.Job))
    def job(_: Seen, job: _JobId, asked: Annotated[AskedJob, Query()]) -> Response:
        """Tell all of one job: what is known of it, what it ever did, and its rates on each target over time."""
        with service.reader.look() as look:
            found = look.job(job)
            if found is None:
                raise HTTPException(404, f"no job {job!r} did anything that was read")
            return _json(_job(look, job, found, asked))

    @router.get("/status", responses=_told(f.Status))
    def status(_: Seen) -> Response:
        """Say how the collector is, and each of its sources."""
        return _json(service.status())


def _events(router: APIRouter, service: Service) -> None:
    @router.get("/events", response_class=StreamingResponse, responses=_STREAM)
    async def events(_: Seen) -> StreamingResponse:
        """Tell whenever a step has been written: `step`, with the moment until which all is there in its data."""
        return StreamingResponse(_steps(service), media_type="text/event-stream")


async def _steps(service: Service) -> AsyncIterator[bytes]:
    told, quiet = -1, 0.0
    while not service.is_ending:
        if service.until != told:
            told, quiet = service.until, 0.0
            yield f'event: step\ndata: {{"until":{told}}}\n\n'.encode()
        elif quiet >= _QUIET:
            quiet = 0.0
            yield b":\n\n"
        await asyncio.sleep(_LOOK)
        quiet += _LOOK


def _job(look: Look, job: str, found: Job, asked: AskedJob) -> dict[str, Any]:
    (life,) = lives_of(look, [found])
    begin = moment_of(asked.begin, "begin") if asked.begin else life.first
    end = moment_of(asked.end, "end") if asked.end else life.last
    question = Question(
        begin,
        end,
        names_of(asked.metrics),
        "target",
        {"job": frozenset({job})},
        asked.points,
        asked.top,
    )
    return {
        "job": job,
        "first": life.first,
        "last": life.last,
        "fields": look.fields([found.code])[0],
        "operations": {name: of._asdict() for name, of in life.operations.items()},
        "history": answers.series(look, ask(look, question), "target", question.metrics[0]),
    }
