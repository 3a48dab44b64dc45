"""rota's own paths, ``/v1``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from rota.api import models as m
from rota.api.caller import Who

if TYPE_CHECKING:
    from rota.api.controller import Controller
    from rota.api.events import Events
    from rota.api.forecasts import Forecasts

_JobId = Annotated[
    str,
    *m.matching(r"^[0-9]{1,10}(_[0-9]{1,9})?$", "the id of a job or a task: 17, 17_3"),
    Path(description="A job, or a task: 17, 17_3."),
]
_Name = Annotated[str, Path(min_length=1, max_length=200)]
_Limit = Annotated[int, Query(ge=1, le=1000)]
_Offset = Annotated[int, Query(ge=0, le=10**9)]
_PROBLEM: dict[int | str, dict[str, Any]] = {"default": {"model": m.Problem, "description": "It was not done."}}


class EventStream(StreamingResponse):
    """Server-sent events."""

    media_type: str | None = "text/event-stream"


def own_paths(controller: Controller, events: Events, forecasts: Forecasts) -> APIRouter:
    """Give the paths."""
    router = APIRouter(prefix="/v1", responses=_PROBLEM, dependencies=[Depends(_check_query)])
    _jobs(router, controller)
    _orders(router, controller)
    _machine(router, controller)
    _queue(router, controller, forecasts)
    _events(router, controller, events)
    return router


def _check_query(request: Request) -> None:
    """Refuse parameters that a path does not have: passing over ``sig`` would cancel a job in place of signalling it.

    Raises:
        RequestValidationError: there is one, or one is given twice.
    """
    operation = request.app.openapi()["paths"][request.scope["route"].path][request.method.lower()]
    known = [one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"]
    for name in request.query_params:
        if name not in known:
            text = f"there is no such parameter, but {', '.join(known) or 'none'}"
        elif len(request.query_params.getlist(name)) > 1:
            text = "it is given twice"
        else:
            continue
        raise RequestValidationError([{"loc": ("query", name), "msg": text}])


def _told(model: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    """Say which form an answer has."""
    return {200: {"model": model, "description": (model.__doc__ or "").strip()}}


def json_of(data: bytes) -> Response:
    """Pass an answer of the controller on."""
    return Response(data, media_type="application/json")


def _jobs(router: APIRouter, controller: Controller) -> None:
    @router.get("/jobs", tags=["jobs"], responses=_told(m.Jobs))
    async def jobs(who: Who, asked: Annotated[m.JobsAsked, Query()]) -> Response:
        """List the jobs that have not ended, in the order of their ids."""
        return json_of(await controller.ask(who, "jobs", **asked.model_dump()))

    @router.get("/jobs/{job}", tags=["jobs"], responses=_told(m.Job))
    async def job(who: Who, job: _JobId) -> Response:
        """Describe a job, also one that has ended, and its steps."""
        return json_of(await controller.ask(who, "job", name=job))

    @router.get("/jobs/{job}/explain", tags=["jobs"], responses=_told(m.Explanation))
    async def explain(who: Who, job: _JobId) -> Response:
        """Say why a job waits, and what its priority is made of."""
        return json_of(await controller.ask(who, "explain", name=job))

    @router.get("/accounting/jobs", tags=["accounting"], responses=_told(m.AccountedJobs))
    async def accounting(who: Who, asked: Annotated[m.AccountedAsked, Query()]) -> Response:
        """List jobs that were there at some time from start to end: first those that have ended, as they did."""
        return json_of(await controller.ask(who, "accounting", **asked.model_dump()))


def _orders(router: APIRouter, controller: Controller) -> None:
    @router.post("/jobs", tags=["jobs"], responses=_told(m.Submitted))
    async def submit(who: Who, submission: m.Submission) -> Response:
        """Submit a batch job, with the options of sbatch."""
        found = await controller.ask(
            who,
            "submit",
            script=submission.script,
            arguments=submission.arguments,
            directory=submission.directory,
            environment=submission.environment,
            options=_words(submission.options),
        )
        return json_of(found)

    @router.delete("/jobs/{job}", tags=["jobs"], responses=_told(m.Done))
    async def cancel(who: Who, job: _JobId, signal: Annotated[str, Query(max_length=20)] = "") -> Response:
        """Cancel a job, or send it a signal, by name or number."""
        return json_of(await controller.ask(who, "end", job=job, signal=signal))

    @router.patch("/jobs/{job}", tags=["jobs"], responses=_told(m.Done))
    async def update(who: Who, job: _JobId, update: m.Update) -> Response:
        """Change a job, with the keys of scontrol update."""
        changes = {key: str(value) for key, value in update.changes.items()}
        return json_of(await controller.ask(who, "update", job=job, changes=changes))

    @router.post("/jobs/{job}/order", tags=["jobs"], responses=_told(m.Done))
    async def order(who: Who, job: _JobId, order: m.Order) -> Response:
        """Hold, release, requeue, suspend or resume a job."""
        return json_of(await controller.ask(who, "order", job=job, command=order.command))


def _words(options: dict[str, str | int | bool | None]) -> list[str]:
    """Give options as words: true stands for one without a value, false and null for none."""
    return [
        f"--{name}" if value is True else f"--{name}={value}"
        for name, value in options.items()
        if value is not None and value is not False
    ]


def _machine(router: APIRouter, controller: Controller) -> None:
    @router.get("/nodes", tags=["machine"], responses=_told(m.Nodes))
    async def nodes(who: Who) -> Response:
        """List the nodes."""
        return json_of(await controller.ask(who, "nodes"))

    @router.get("/nodes/{name}", tags=["machine"], responses=_told(m.Node))
    async def node(who: Who, name: _Name) -> Response:
        """Describe a node."""
        return json_of(await controller.ask(who, "nodes", name=name))

    @router.get("/partitions", tags=["machine"], responses=_told(m.Partitions))
    async def partitions(who: Who) -> Response:
        """List the partitions."""
        return json_of(await controller.ask(who, "partitions"))

    @router.get("/partitions/{name}", tags=["machine"], responses=_told(m.Partition))
    async def partition(who: Who, name: _Name) -> Response:
        """Describe a partition."""
        return json_of(await controller.ask(who, "partitions", name=name))

    @router.get("/diag", tags=["machine"], responses=_told(m.Diagnostics))
    async def diag(who: Who) -> Response:
        """Say what the controller has done."""
        return json_of(await controller.ask(who, "diag"))


def _queue(router: APIRouter, controller: Controller, forecasts: Forecasts) -> None:
    @router.get("/queue", tags=["queue"], responses=_told(m.Queue))
    async def queue(who: Who, limit: _Limit = 100, offset: _Offset = 0) -> Response:
        """List the jobs that wait, in the order in which they are considered."""
        return json_of(await controller.ask(who, "queue", limit=limit, offset=offset))

    @router.get("/plan", tags=["queue"], responses=_told(m.Plan))
    async def plan(who: Who, limit: _Limit = 100, offset: _Offset = 0) -> Response:
        """Show the scheduler's plan."""
        return json_of(await controller.ask(who, "plan", limit=limit, offset=offset))

    @router.get("/forecast", tags=["queue"], responses=_told(m.Forecast))
    async def forecast(who: Who, seconds: Annotated[float, Query(ge=0.1, le=10)] = 1.0) -> Response:
        """Say when jobs that wait will start, as far as can be said in some seconds of computing.

        An answer of the last ten seconds is given again.
        """
        await controller.ask(who, "everything")
        return json_of(await forecasts.make(seconds))


def _events(router: APIRouter, controller: Controller, events: Events) -> None:
    @router.get("/events", tags=["events"], response_class=EventStream)
    async def changes(
        who: Who, last_event_id: Annotated[str | None, Header(max_length=100)] = None
    ) -> StreamingResponse:
        """Tell each change of a job's state as soon as it is on disk.

        The events are `begin`, `state`, with a job in its data, and `missed`: some cannot be told any more. Who sends
        the id of the last event that they have got is told those after it.
        """
        await controller.ask(who, "everything")
        await events.begin()
        return EventStream(events.read(who, last_event_id))
