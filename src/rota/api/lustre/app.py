"""The application: its paths, its guard, and its OpenAPI at ``/openapi.json``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from rota import __version__
from rota.api.guard import Guard
from rota.api.lustre.exporter import exporter
from rota.api.lustre.original import original_paths
from rota.api.lustre.paths import lustre_paths
from rota.api.problem import document_problems, problem
from rota.model import InputError

if TYPE_CHECKING:
    from fastapi import APIRouter
    from starlette.types import ASGIApp

    from rota.lustre.service import Service

_ABOUT = "Who loads a Lustre file system. Problems are those of RFC 9457."


def make_app(service: Service, token: str, pages: APIRouter | None = None) -> ASGIApp:
    """Make the application.

    Args:
        service: What is served.
        token: What has to be said on TCP; empty: nothing.
        pages: Paths of pages that ask them.
    """
    app = FastAPI(title="rota jobstats", version=__version__, description=_ABOUT, docs_url=None, redoc_url=None)
    app.state.token = token
    app.include_router(lustre_paths(service))
    app.include_router(exporter(service))
    app.include_router(original_paths(service))
    if pages is not None:
        app.include_router(pages)
    for kind in (Exception, InputError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _told)
    document_problems(app, besides="/api")
    return Guard(app, lambda *_: None)


async def _told(_: Request, error: Exception) -> Response:
    if isinstance(error, InputError):
        return problem(400, error.problem, field=error.field or "")
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        return problem(422, first["msg"], field=".".join(str(one) for one in first["loc"]))
    if isinstance(error, HTTPException):
        return problem(error.status_code, error.detail, error.headers)
    return problem(500, "this is a defect of rota: see the log of `rota jobstats serve`")
