"""What all paths of slurmrestd have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi.routing import APIRoute

if TYPE_CHECKING:
    from starlette.routing import Match
    from starlette.types import Scope


class SlurmRoute(APIRoute):
    """A path, which is the same with slashes at its end, as it is to slurmrestd."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Say whether it is asked for."""
        return super().matches({**scope, "path": scope["path"].rstrip("/")})
