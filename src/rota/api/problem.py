"""The form of a problem (RFC 9457)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi.responses import JSONResponse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import FastAPI

MEDIA_TYPE = "application/problem+json"
NO_JSON = "The body has to be JSON, with Content-Type: application/json"


def problem(
    status: int, title: str, headers: Mapping[str, str] | None = None, *, errno: int = 0, field: str = ""
) -> JSONResponse:
    """Tell a problem.

    Args:
        status: Of HTTP.
        title: What is wrong.
        headers: More headers.
        errno: Slurm's error number; 0: there is none.
        field: The option or parameter that it is about; empty: none.
    """
    content = {"type": "about:blank", "title": title, "status": status}
    content |= {"errno": errno} if errno else {}
    content |= {"field": field} if field else {}
    return JSONResponse(content, status, headers, MEDIA_TYPE)


def document_problems(app: FastAPI, *, besides: str) -> None:
    """Have the OpenAPI of an application say which operations tell problems: all do.

    Args:
        app: The application.
        besides: Begin of the paths that have their own form of problems beside it.
    """
    make = app.openapi
    form = {"schema": {"$ref": "#/components/schemas/Problem"}}

    def openapi() -> dict[str, Any]:
        found = make()
        for path, operations in found["paths"].items():
            for operation in operations.values():
                operation["responses"].pop("422", None)  # FastAPI's own form, which nothing has here
                told = operation["responses"].setdefault("default", {"description": "It was not done."})
                content = told.setdefault("content", {})
                if not path.startswith(besides):
                    content.clear()
                content[MEDIA_TYPE] = form
        return found

    app.openapi = openapi  # type: ignore[method-assign] # as FastAPI's documentation says
