"""The page, what it loads, and how who has the token signs in."""

from __future__ import annotations

from functools import cache
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException

from rota.api.lustre.access import COOKIE, may_see
from rota.pages import environment

_PACKAGE = "rota.web.lustre"
#: The scripts of all pages, and those of this one.
_SHARED = ("dom", "format", "theme", "ticks", "axes", "plot", "colours")
_OWN = ("units", "asking", "heat", "stack", "table", "who", "job", "page")
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}
#: Seconds for which a browser stays signed in.
_STAYS = 30 * 86400


def lustre_pages() -> APIRouter:
    """Give the paths of the page."""
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def page(request: Request) -> Response:
        """Give the page or, to who may not see, the form for the token. ``?token=`` signs in at once."""
        if (token := request.query_params.get("token")) is not None:
            return _signed_in(
                token, urlencode([one for one in request.query_params.multi_items() if one[0] != "token"])
            )
        try:
            await may_see(request)
        except HTTPException:
            return Response(_rendered("sign_in.html.j2"), 401, _HEADERS, "text/html")
        return Response(_rendered("page.html.j2"), 200, _HEADERS, "text/html")

    @router.post("/")
    async def sign_in(request: Request) -> Response:
        """Take the token from the form."""
        return _signed_in((await request.body()).decode(errors="replace").partition("token=")[2].strip(), "")

    @router.get("/lustre.css")
    async def style() -> Response:
        """Give the style sheet."""
        return Response(_rendered("lustre.css.j2"), media_type="text/css")

    @router.get("/lustre.js")
    async def script() -> Response:
        """Give the scripts as one."""
        return Response(_rendered("lustre.js.j2"), media_type="text/javascript")

    return router


def _signed_in(token: str, query: str) -> Response:
    """Keep a token in the browser, where no script can read it, and out of the address."""
    answer = Response(status_code=303, headers={"Location": f"/?{query}" if query else "/"})
    if token.isascii() and token.isprintable():
        answer.set_cookie(COOKIE, token, max_age=_STAYS, httponly=True, samesite="strict")
    return answer


@cache
def _rendered(template: str) -> str:
    return environment(_PACKAGE).get_template(template).render(shared=_SHARED, own=_OWN)
