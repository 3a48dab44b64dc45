"""The controller's side of `rota token`: ``rota-call token make USER SECONDS``, ``list`` and ``revoke ID``.

Everybody may make, list and revoke tokens of their own; administrators may list and revoke those of others, and root
and who runs the cluster may make them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rota.controller.api.caller import may_be_others
from rota.controller.tokens import dropped, kept
from rota.users import find_user, user_name

if TYPE_CHECKING:
    from rota.controller.cluster import Cluster
    from rota.controller.wire import Call, Terminal

#: Seconds have fewer digits.
_DIGITS = 12
_DENIED = "rota: error: Access/permission denied\n"


async def token_call(cluster: Cluster, call: Call, terminal: Terminal, words: list[str]) -> int:
    """Carry the command out; give the exit status."""
    if len(words) == 3 and words[0] == "make" and words[2].isdecimal() and len(words[2]) < _DIGITS:
        return await _make(cluster, call, terminal, words[1], int(words[2]))
    if words == ["list"]:
        mine = call.uid if cluster.rights.as_administrator(call.uid) else None
        found = [{**one, "user": user_name(one["user_id"])} for one in cluster.tokens.of_user(mine)]
        terminal.out(json.dumps(found) + "\n")
        return 0
    if len(words) == 2 and words[0] == "revoke":
        return await _revoke(cluster, call, terminal, words[1])
    terminal.error("rota: error: no such command about tokens\n")
    return 2


async def _make(cluster: Cluster, call: Call, terminal: Terminal, user: str, seconds: int) -> int:
    found = find_user(user or call.uid)
    if found is None:
        terminal.error(f"rota: error: there is no user {user or call.uid}\n")
        return 2
    if found.pw_uid != call.uid and not may_be_others(call.uid):
        terminal.error(_DENIED)
        return 2
    token_id, text, token = cluster.tokens.make(found.pw_uid, cluster.clock.now(), seconds)
    if (refused := await cluster.driver.keep(kept(token_id, token))) is not None:
        terminal.error(f"rota: error: {refused.message}\n")
        return 2
    cluster.tokens.add(token_id, token)
    terminal.out(f"{text}\n")
    return 0


async def _revoke(cluster: Cluster, call: Call, terminal: Terminal, token_id: str) -> int:
    owner = cluster.tokens.owner(token_id)
    if owner is None or (owner != call.uid and cluster.rights.as_administrator(call.uid)):
        terminal.error(f"rota: error: you have no token {token_id}\n")
        return 2
    if (refused := await cluster.driver.keep(dropped(token_id))) is not None:
        terminal.error(f"rota: error: {refused.message}\n")
        return 2
    cluster.tokens.remove(token_id)
    return 0
