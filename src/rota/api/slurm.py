"""The paths of slurmrestd that its users call most, v0.0.38 and two older versions, as Slurm 22.05.8 answers them.

A refusal has the status that slurmrestd gives it, 500 for most, and a list ``errors`` with Slurm's numbers. Bodies are
read by the controller: what slurmrestd takes is wider than what its OpenAPI says.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, HTTPException, Path, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from rota.api import slurm_models as m
from rota.api.caller import Who
from rota.api.controller import RefusedError
from rota.api.older import OLDER, later_body, older_route
from rota.api.own import json_of
from rota.api.problem import NO_JSON
from rota.api.slurm_route import SlurmRoute
from rota.commands.job_ids import parse_job_id
from rota.listings.openapi.document import slurm_errors
from rota.listings.openapi.submission import NO_DESCRIPTION, NO_ENVIRONMENT, NO_SCRIPT, PARSING, UNKNOWN_KEY
from rota.model import Errno

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.api.controller import Controller

_Name = Annotated[str, Path(min_length=1, max_length=200)]
_Time = Annotated[int, Query(ge=0, le=2**40, description="Only if something has changed since; Unix seconds.")]
_ERRORS: dict[int | str, dict[str, Any]] = {"default": {"model": m.Errors, "description": "It was not done."}}
_UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "Nothing has changed."}}
_UNREADABLE = {NO_DESCRIPTION, NO_ENVIRONMENT, int(Errno.INVALID_EVENT)}
#: slurmrestd's number and sentence for a query that cannot be used.
QUERY = (9000, "Query empty or not RFC7320 compliant")
#: The last of the three versions that Slurm 22.05 serves.
_VERSION = 38
#: Its number for what has none.
_UNSPECIFIED = -1
_NO_JOB = "Jobs description entry not found, empty or not dictionary or list"


def slurm_paths(controller: Controller) -> APIRouter:
    """Return the paths."""

    def add(router: APIRouter, version: int) -> None:
        _lists(router, controller)
        _one(router, controller)
        _orders(router, controller, version)
        if version > OLDER[0]:
            _reservations(router, controller)
        if version == _VERSION:
            _licenses(router, controller)

    return in_versions("slurm", add)


def in_versions(service: str, add: Callable[[APIRouter, int], None]) -> APIRouter:
    """Return the paths of a service in each version, those of older ones without OpenAPI.

    Args:
        service: ``slurm`` or ``slurmdb``.
        add: Adds the paths of a version to a router.
    """
    paths = APIRouter()
    for version in (*OLDER, _VERSION):
        router = APIRouter(
            prefix=f"/{service}/v0.0.{version}",
            tags=["slurm"],
            responses=_ERRORS,
            route_class=SlurmRoute if version == _VERSION else older_route(version),
            include_in_schema=version == _VERSION,
        )
        add(router, version)
        paths.include_router(router)
    return paths


def told(model: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    """Give the answer of a path for the OpenAPI."""
    return {200: {"model": model, "description": "As slurmrestd answers."}}


def _lists(router: APIRouter, controller: Controller) -> None:
    @router.get("/ping", responses=told(m.Pings))
    async def ping(who: Who) -> Response:
        """Say that the controller is there."""
        return json_of(await controller.ask(who, "slurm-ping"))

    @router.get("/diag", responses=told(m.Diagnostics))
    async def diag(who: Who) -> Response:
        """Give the statistics of sdiag."""
        return json_of(await controller.ask(who, "slurm-diag"))

    @router.get("/jobs", responses={**told(m.Jobs), **_UNCHANGED})
    async def jobs(who: Who, update_time: _Time = 0) -> Response:
        """List the jobs, also those that have ended a short time ago."""
        return _or_unchanged(await controller.ask(who, "slurm-jobs", update_time=update_time))

    @router.get("/nodes", responses={**told(m.Nodes), **_UNCHANGED})
    async def nodes(who: Who, update_time: _Time = 0) -> Response:
        """List the nodes."""
        return _or_unchanged(await controller.ask(who, "slurm-nodes", update_time=update_time))

    @router.get("/partitions", responses=told(m.Partitions))
    async def partitions(who: Who) -> Response:
        """List the partitions."""
        return json_of(await controller.ask(who, "slurm-partitions"))


def _or_unchanged(data: bytes) -> Response:
    return Response(status_code=304) if data == b"null" else json_of(data)


def _one(router: APIRouter, controller: Controller) -> None:
    @router.get("/job/{job_id}", responses=told(m.Jobs))
    async def job(who: Who, job_id: _Name) -> Response:
        """Describe a job."""
        if job_id == "submit":
            raise HTTPException(405, headers={"Allow": "POST"})
        if (wanted := parse_job_id(job_id)) is None or not wanted.job_id:
            error = {"description": f"Unable to find JobId={job_id}", "error_number": NO_DESCRIPTION, "error": _NO_JOB}
            return _errors(400, {**error, "source": "_handle_job_get"})
        return await _found(controller, who, "slurm-job", job_id)

    @router.get("/node/{name}", responses=told(m.Nodes))
    async def node(who: Who, name: _Name) -> Response:
        """Describe a node."""
        return await _found(controller, who, "slurm-node", name)

    @router.get("/partition/{name}", responses=told(m.Partitions))
    async def partition(who: Who, name: _Name) -> Response:
        """Describe a partition."""
        return await _found(controller, who, "slurm-partitions", name)


def _licenses(router: APIRouter, controller: Controller) -> None:
    @router.get("/licenses", responses=told(m.Licenses))
    async def licenses(who: Who) -> Response:
        """List the licences."""
        return json_of(await controller.ask(who, "slurm-licenses"))


def _reservations(router: APIRouter, controller: Controller) -> None:
    @router.get("/reservations", responses=told(m.Reservations))
    async def reservations(who: Who) -> Response:
        """List the reservations."""
        return json_of(await controller.ask(who, "slurm-reservations"))

    @router.get("/reservation/{name}", responses=told(m.Reservations))
    async def reservation(who: Who, name: _Name) -> Response:
        """Describe a reservation."""
        return await _found(controller, who, "slurm-reservations", name)


async def _found(controller: Controller, who: str, question: str, name: str) -> Response:
    data = await controller.ask(who, question, name=name)
    status = 500 if json.loads(data)["errors"] else 200
    return Response(data, status, media_type="application/json")


def _orders(router: APIRouter, controller: Controller, version: int) -> None:
    @router.post("/job/submit", responses=told(m.Submitted), openapi_extra=m.body_of(m.Submission))
    async def submit(who: Who, request: Request) -> Response:
        """Submit a batch job."""
        try:
            body = later_body(await _text(request), version)
            found = json.loads(await controller.ask(who, "slurm-submit", body=body))
        except RefusedError as error:
            return _refused(error)
        told = [{"error_code": found["told"][0], "error": found["told"][1]}] if found["told"] else []
        rest = {"job_id": found["job_id"], "step_id": "BATCH", "job_submit_user_msg": ""}
        return JSONResponse({**slurm_errors(*told), **rest})

    @router.post("/job/{job_id}", responses=told(m.Errors), openapi_extra=m.body_of(m.JobProperties))
    async def update(who: Who, job_id: _Name, request: Request) -> Response:
        """Change a job."""
        try:
            await controller.ask(who, "slurm-update", job=job_id, body=later_body(await _text(request), version))
        except RefusedError as error:
            if error.errno == Errno.INVALID_EVENT:
                return _refused(error)
            return _failed(error, f"job update of JobId={job_id} failed", "_parse_job_list")
        return _errors(200)

    @router.delete("/job/{job_id}", responses=told(m.Errors))
    async def cancel(
        who: Who, job_id: _Name, signal: Annotated[str, Query(max_length=20, description="9, KILL or SIGKILL.")] = ""
    ) -> Response:
        """Cancel a job, or send it a signal."""
        try:
            await controller.ask(who, "end", job=job_id, signal=signal)
        except RefusedError as error:
            if error.errno == Errno.ALREADY_DONE:
                return _errors(200)
            if error.errno == Errno.INVALID_EVENT:
                number, text = QUERY
                about = {"description": f"invalid signal: {signal}", "error_number": number, "error": text}
                return _errors(400, {**about, "source": "HTTP request: signal"})
            return _failed(error, f"unable to kill JobId={job_id}: {error}", "slurm_kill_job")
        return _errors(200)


async def _text(request: Request) -> str:
    """Read a body that has to be JSON.

    Raises:
        HTTPException: it is none.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    text, found = "", None
    try:
        text = (await request.body()).decode()
        found = json.loads(text)
    except (ValueError, RecursionError):
        pass  # it is nothing then
    if kind != "application/json" or not isinstance(found, dict | list):
        raise HTTPException(400, f"Unable to parse query. {NO_JSON}")
    return text


def _refused(error: RefusedError) -> Response:
    """Tell why a submission was refused: it could not be read, or the controller did not want it."""
    if error.errno == NO_SCRIPT or error.errno not in _UNREADABLE:
        return _errors(500, {"error_code": error.errno, "error": str(error)})
    about: list[dict[str, Any]] = [{"error_code": error.errno, "error": str(error)}]
    if error.errno == Errno.INVALID_EVENT:
        about = [{"error_code": _UNSPECIFIED, "error": str(error)}]
    if error.field:
        key = f'Unable to process key "{error.field}"'
        about.append({"description": key, "error_number": _UNSPECIFIED, "error": str(error), "source": "rota"})
    if str(error).startswith(UNKNOWN_KEY):
        about = [{"description": str(error), "error": str(error), "source": "rota"}]
    if error.errno != NO_DESCRIPTION:
        about.append({"error_code": PARSING, "error": "Failure during parsing"})
    return _errors(400, *about)


def _failed(error: RefusedError, text: str, source: str) -> Response:
    return _errors(500, {"description": text, "error_number": error.errno, "error": str(error), "source": source})


def _errors(status: int, *errors: dict[str, Any]) -> Response:
    return JSONResponse(slurm_errors(*errors), status)
