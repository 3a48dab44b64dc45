"""Who may see what jobs do. Ids have users' names in them, so that it is not for everybody.

Who can open the Unix socket may: it belongs to who runs the service, and to a group if one is named. On TCP, which all
users of the machine reach, a token is asked for, which is in a file beside the store that is theirs to read.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.exceptions import HTTPException

from rota.model import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from rota.api.connection import Peer

#: The token's file, and its cookie.
TOKEN = "token"
COOKIE = "rota_lustre"
_BEARER = HTTPBearer(auto_error=False, scheme_name="token", description="What is in the file `token` of the store.")


def make_token(folder: Path) -> str:
    """Give the token of a store, a new one if there is none.

    Raises:
        InputError: it cannot be read or made.
    """
    path = folder / TOKEN
    try:
        if not path.exists():
            path.touch(0o600, exist_ok=False)
            path.write_text(f"{secrets.token_urlsafe(32)}\n")
        found = path.read_text().strip()
    except OSError as error:
        raise InputError(f"the token cannot be kept: {error.strerror}", path=path) from None
    if not found:
        raise InputError("the token is empty: remove the file for a new one", path=path)
    return found


async def may_see(
    request: Request, bearer: Annotated[HTTPAuthorizationCredentials | None, Security(_BEARER)] = None
) -> None:
    """Refuse who may not see.

    Raises:
        HTTPException: a token is needed, or this is another one.
    """
    peer: Peer = request.scope["state"]["peer"]
    needed: str = request.app.state.token
    if peer.user is not None or not needed:
        return
    given = bearer.credentials if bearer is not None else request.cookies.get(COOKIE, "")
    if not secrets.compare_digest(given.encode(), needed.encode()):
        text = "a token is needed here: it is in the file `token` of the store"
        raise HTTPException(401, text, {"WWW-Authenticate": "Bearer"})


Seen = Annotated[None, Depends(may_see)]
