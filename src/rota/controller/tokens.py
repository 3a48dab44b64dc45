"""Tokens: who has one may ask over HTTP as its user, where the kernel cannot tell who asks.

A token is ``rota_ID_SECRET``. Only a hash of the secret is kept, as a fact of the database, so a token is shown once.
"""

from __future__ import annotations

import hmac
import json
import secrets
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from rota.store.writes import drop_fact, set_fact

if TYPE_CHECKING:
    from rota.store import Database, Write

_FACT = "token:"
#: Who is asked for a token that is not there is compared with this, so that the answer takes as long.
_NOBODY = "0" * 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token, without its secret."""

    user_id: int
    #: SHA-256 of the secret, which is random and so long that no slower hash is needed.
    digest: str
    #: Unix seconds; the end is ``None`` if there is none.
    made: int
    until: int | None

    def valid(self, now: int) -> bool:
        """Whether it has not expired."""
        return self.until is None or now < self.until


class Tokens:
    """The tokens of a cluster.

    Args:
        database: Where they are kept.
    """

    def __init__(self, database: Database) -> None:
        self._by_id = {
            name.removeprefix(_FACT): Token(**json.loads(value))
            for name, value in database.facts().items()
            if name.startswith(_FACT)
        }

    def user_of(self, text: str, now: int) -> int | None:
        """Give the user id of who shows a token; ``None``: it is none, was revoked, or has expired.

        Args:
            text: The token.
            now: Unix seconds.
        """
        _, _, rest = text.partition("rota_")
        token_id, _, secret = rest.partition("_")
        found = self._by_id.get(token_id)
        digest = sha256(secret.encode(errors="replace")).hexdigest()
        same = hmac.compare_digest(digest, _NOBODY if found is None else found.digest)
        return found.user_id if found is not None and same and found.valid(now) else None

    def of_user(self, user_id: int | None) -> list[dict[str, Any]]:
        """Describe the tokens of a user, or all of them for ``None``, oldest first."""
        chosen = [(key, one) for key, one in self._by_id.items() if user_id in {None, one.user_id}]
        return [
            {"id": key, "user_id": one.user_id, "made": one.made, "until": one.until}
            for key, one in sorted(chosen, key=lambda pair: pair[1].made)
        ]

    def owner(self, token_id: str) -> int | None:
        """Give the user id of a token's user; ``None``: there is no such token."""
        found = self._by_id.get(token_id)
        return None if found is None else found.user_id

    @staticmethod
    def make(user_id: int, now: int, seconds: int) -> tuple[str, str, Token]:
        """Make a token for a user: its id, its text and what is kept of it. `add` makes it valid.

        Args:
            user_id: The user.
            now: Unix seconds.
            seconds: How long it is valid; 0: for ever.
        """
        token_id, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
        digest = sha256(secret.encode()).hexdigest()
        token = Token(user_id=user_id, digest=digest, made=now, until=now + seconds if seconds else None)
        return token_id, f"rota_{token_id}_{secret}", token

    def add(self, token_id: str, token: Token) -> None:
        """Take a token that has been written down."""
        self._by_id[token_id] = token

    def remove(self, token_id: str) -> None:
        """Forget a token, from now on."""
        self._by_id.pop(token_id, None)


def kept(token_id: str, token: Token) -> list[Write]:
    """Give the writes that keep a token."""
    return set_fact(f"{_FACT}{token_id}", json.dumps(asdict(token)))


def dropped(token_id: str) -> list[Write]:
    """Give the writes that remove a token."""
    return [drop_fact(f"{_FACT}{token_id}")]
