"""slurmrestd's paths about jobs of the accounting, as Slurm 22.05.8 answers them: also those that have ended.

They take what the options of ``sacct`` say: see `rota.controller.api.slurmdb`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import JSONResponse

from rota.api import slurm_models as m
from rota.api.caller import Who
from rota.api.controller import RefusedError
from rota.api.own import json_of
from rota.api.slurm import QUERY, in_versions, told
from rota.listings.openapi.document import accounting_errors

if TYPE_CHECKING:
    from rota.api.controller import Controller


def slurmdb_paths(controller: Controller) -> APIRouter:
    """Return the paths."""
    return in_versions("slurmdb", lambda router, _: _jobs(router, controller))


def _jobs(router: APIRouter, controller: Controller) -> None:
    @router.get("/jobs", responses=told(m.Jobs))
    async def jobs(who: Who, asked: Annotated[m.AccountingQuery, Query()]) -> Response:
        """List jobs, also those that have ended: all, or those that the query chooses."""
        return await _found(controller, who, asked.model_dump(exclude_none=True))

    @router.get("/job/{job_id}", responses=told(m.Jobs))
    async def job(who: Who, job_id: Annotated[str, Path(min_length=1, max_length=200)]) -> Response:
        """Describe every run of a job."""
        return await _found(controller, who, {"step": job_id})


async def _found(controller: Controller, who: str, query: dict[str, str]) -> Response:
    try:
        return json_of(await controller.ask(who, "slurmdb-jobs", query=query))
    except RefusedError as error:
        number, text = QUERY
        about = {"description": str(error), "error_number": number, "error": text}
        about |= {"source": error.field} if error.field else {}
        return JSONResponse(accounting_errors(about), 500)
