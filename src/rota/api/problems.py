"""Problems: which status they have, and how they are told (RFC 9457)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from rota.api.controller import AwayError, DefectError, RefusedError, UnauthorizedError
from rota.api.problem import NO_JSON, problem
from rota.model import Errno

if TYPE_CHECKING:
    from fastapi import FastAPI, Request, Response

_DEFECT = "this is a defect of rota: see controller.log in its state directory"
_STATUS = {
    Errno.ACCESS_DENIED: 403,
    Errno.INVALID_USER_ID: 403,
    Errno.INVALID_JOB_ID: 404,
    Errno.TRANSITION_STATE_NO_UPDATE: 409,
    Errno.ALREADY_DONE: 409,
    Errno.JOB_PENDING: 409,
    Errno.JOB_NOT_PENDING: 409,
    Errno.JOB_FINISHED: 409,
    Errno.JOB_NOT_RUNNING: 409,
    Errno.JOB_NOT_SUSPENDED: 409,
    Errno.INTERNAL: 503,
}
#: What is not there if one asks for it, and is wrong in what is submitted.
_NAMES = frozenset({Errno.INVALID_NODE_NAME, Errno.INVALID_PARTITION_NAME})


def tell(app: FastAPI) -> None:
    """Have an application tell its problems."""
    app.add_exception_handler(Exception, _told)
    for kind in (RefusedError, UnauthorizedError, AwayError, DefectError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _told)


async def _told(request: Request, error: Exception) -> Response:
    if isinstance(error, RefusedError):
        status = 404 if error.errno in _NAMES and request.method == "GET" else _status_of(error.errno)
        return problem(status, str(error), errno=error.errno, field=error.field)
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        if first["loc"] == ("body",) and "json" not in request.headers.get("content-type", "json").lower():
            return problem(415, NO_JSON)
        return problem(422, first["msg"], field=".".join(str(one) for one in first["loc"]))
    if isinstance(error, HTTPException):
        return problem(error.status_code, error.detail, error.headers)
    if isinstance(error, UnauthorizedError):
        return problem(401, str(error), {"WWW-Authenticate": "Bearer"})
    if isinstance(error, AwayError):
        return problem(503, str(error))
    return problem(500, _DEFECT)


def _status_of(errno: int) -> int:
    return next((status for one, status in _STATUS.items() if one == errno), 400)
