"""For whom the controller is asked: the user of the token, or whom the kernel tells of a Unix socket."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer

from rota.api.connection import Peer
from rota.api.controller import UnauthorizedError

_BEARER = HTTPBearer(auto_error=False, scheme_name="token", description="A token of `rota token`.")
_SLURM = APIKeyHeader(name="X-SLURM-USER-TOKEN", auto_error=False, scheme_name="slurm token")


def who_asks(
    request: Request,
    bearer: Annotated[HTTPAuthorizationCredentials | None, Security(_BEARER)] = None,
    slurm: Annotated[str | None, Security(_SLURM)] = None,
) -> str:
    """Say who asks, as the controller wants it said.

    Raises:
        UnauthorizedError: nobody knows.
    """
    token = bearer.credentials if bearer is not None else slurm
    if token is not None:
        if "\0" in token:
            raise UnauthorizedError("the token is none")
        return f"token:{token}"
    peer: Peer = request.scope["state"]["peer"]
    if peer.user is None:
        raise UnauthorizedError("a token is needed here: `rota token` makes one")
    return "user:{}:{}".format(*peer.user)


Who = Annotated[str, Depends(who_asks)]
