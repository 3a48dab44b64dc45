"""The command ``rota-api``: one question or order, and its answer.

The answer is JSON on standard output. Its exit status says what it is: see `rota.controller.api.statuses`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rota.commands.getopt import UsageError
from rota.commands.option_error import OptionError
from rota.commands.submission import ScriptError
from rota.controller.api import questions as q
from rota.controller.api.answers import ANSWERS, OF_ALL_JOBS, OF_THE_PAST, require_all
from rota.controller.api.caller import UnknownTokenError, caller_of
from rota.controller.api.feed import feed
from rota.controller.api.orders import ORDERS, SlurmError
from rota.controller.api.statuses import ANSWER, NOBODY, PROBLEM
from rota.controller.child import in_child
from rota.controller.live_view import BriefView, LiveView, TakesLongError
from rota.listings import Answer
from rota.listings.openapi.document import compact_text_of
from rota.listings.openapi.submission import PropertyError
from rota.model import Errno, InputError, RequestError

if TYPE_CHECKING:
    from rota.controller.api.caller import Caller
    from rota.controller.cluster import Cluster
    from rota.controller.wire import Call, Terminal

#: Number of jobs above which an answer about all of them takes long.
_MANY = 500


async def api_call(cluster: Cluster, call: Call, terminal: Terminal) -> int | None:
    """Answer; give the exit status, ``None``: it has been given."""
    if len(call.words) != 4:
        terminal.error("rota-api: error: who asks what how? This is a command of `rota http`\n")
        return 2
    try:
        return await _answer(cluster, call, terminal, caller_of(cluster, call, call.words[1]))
    except UnknownTokenError:
        return NOBODY
    except (RequestError, InputError, OptionError, ScriptError, UsageError) as error:
        terminal.out(compact_text_of(_problem(error)))
        return PROBLEM


async def _answer(cluster: Cluster, call: Call, terminal: Terminal, caller: Caller) -> int | None:
    name, text = call.words[2:]
    if name == "events":
        require_all(LiveView(cluster, caller.uid))
        await feed(cluster, terminal)
        return None
    if name in ORDERS:
        kind, order = ORDERS[name]
        terminal.out(compact_text_of(await order(cluster, caller, q.read(kind, text))))
        return ANSWER
    if name not in ANSWERS:
        raise RequestError(f"there is no question {name!r}", Errno.INVALID_EVENT)
    kind, answer = ANSWERS[name]
    asked, view = q.read(kind, text), LiveView(cluster, caller.uid)
    try:
        if name in OF_ALL_JOBS and _many(cluster, view):
            raise TakesLongError
        brief = BriefView(cluster, caller.uid) if name in OF_THE_PAST else view
        terminal.out(compact_text_of(answer(cluster, brief, asked)))
    except TakesLongError:
        theirs = replace(call, uid=caller.uid)  # whose children are counted
        await in_child(cluster, theirs, terminal, lambda: Answer(compact_text_of(answer(cluster, view, asked))))
        return None
    return ANSWER


def _many(cluster: Cluster, view: LiveView) -> bool:
    return len(cluster.driver.engine.jobs) + view.recent_count() > _MANY


def _problem(error: Exception) -> dict[str, Any]:
    """Describe what is wrong: Slurm's number, a sentence, and the option or property that it is about."""
    number: int = Errno.INVALID_EVENT
    field = ""
    text = " ".join(str(error).split()).removeprefix("scontrol: error: ")
    if isinstance(error, SlurmError):
        number = error.number
    elif isinstance(error, RequestError):
        number = error.errno
    if isinstance(error, PropertyError):
        field = error.name
    elif isinstance(error, OptionError):
        field = error.option.lstrip("-")
        text = f"{error.option}: {text}"
    return {"errno": int(number), "error": text, "field": field}
