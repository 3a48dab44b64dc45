"""The application: its paths, its guard, and its OpenAPI at ``/openapi.json``, and where slurmrestd has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.responses import JSONResponse

from rota import __version__
from rota.api.controller import Controller
from rota.api.events import Events
from rota.api.forecasts import Forecasts
from rota.api.guard import Guard
from rota.api.metrics import Metrics
from rota.api.own import own_paths
from rota.api.problem import document_problems
from rota.api.problems import tell
from rota.api.slurm import slurm_paths
from rota.api.slurmdb import slurmdb_paths

if TYPE_CHECKING:
    from starlette.types import ASGIApp

#: Where slurmrestd has its OpenAPI, too.
_OPENAPI_OF_SLURM = ("/openapi", "/openapi/v3")
_ABOUT = "A live cluster of rota. Problems are those of RFC 9457; `rota token` makes tokens."


def make_app() -> ASGIApp:
    """Make the application for the cluster whose state directory is the working directory."""
    controller, metrics = Controller(), Metrics()
    app = FastAPI(title="rota", version=__version__, description=_ABOUT, docs_url=None, redoc_url=None)
    app.include_router(own_paths(controller, Events(controller), Forecasts()))
    app.include_router(slurm_paths(controller))
    app.include_router(slurmdb_paths(controller))
    app.include_router(metrics.paths(controller))
    tell(app)
    document_problems(app, besides="/slurm")
    for path in _OPENAPI_OF_SLURM:
        app.add_api_route(path, lambda: JSONResponse(app.openapi()), include_in_schema=False)
    return Guard(app, metrics.count)
