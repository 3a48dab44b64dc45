"""Who asks through `rota http`.

The kernel says which process asks. One of root's, or of the user who runs the cluster, is believed for whom it asks;
others ask for themselves alone. A token is its own proof, whoever passes it on.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from rota.model import Errno, RequestError
from rota.users import find_user, user_name

if TYPE_CHECKING:
    from rota.controller.cluster import Cluster
    from rota.controller.wire import Call


class UnknownTokenError(Exception):
    """A token is none, was revoked, or has expired."""


class Caller(NamedTuple):
    """The user who asks."""

    uid: int
    gid: int

    @property
    def name(self) -> str:
        """The user's name."""
        return user_name(self.uid)

    @property
    def home(self) -> str:
        """The user's home directory; ``/`` if they have none."""
        found = find_user(self.uid)
        return "/" if found is None else found.pw_dir


def may_be_others(uid: int) -> bool:
    """Whether a user may act for others: root, and who runs the cluster, but no administrator by level."""
    return uid in {0, os.geteuid()}


def caller_of(cluster: Cluster, call: Call, who: str) -> Caller:
    """Say for whom a process asks.

    Args:
        cluster: The cluster.
        call: Its call.
        who: ``user:UID:GID`` or ``token:TOKEN``.

    Raises:
        RequestError: it may not ask for this user.
        UnknownTokenError: the token is not valid.
    """
    kind, _, rest = who.partition(":")
    if kind == "token":
        uid = cluster.tokens.user_of(rest, cluster.clock.now())
        found = None if uid is None else find_user(uid)
        if found is None:
            raise UnknownTokenError
        return Caller(found.pw_uid, found.pw_gid)
    uid_text, _, gid_text = rest.partition(":")
    if kind != "user" or not (uid_text.isdecimal() and gid_text.isdecimal()):
        raise RequestError("who asks is not said", Errno.INVALID_EVENT)
    caller = Caller(int(uid_text), int(gid_text))
    if caller != (call.uid, call.gid) and not may_be_others(call.uid):
        raise RequestError("Access/permission denied", Errno.ACCESS_DENIED)
    return caller
