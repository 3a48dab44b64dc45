"""The commands of a live cluster that only read, and `scontrol` and `sdiag`, of which a part does."""

from __future__ import annotations

import asyncio
import re
from functools import partial
from typing import TYPE_CHECKING

from rota.controller.child import in_child
from rota.controller.live_view import BriefView, LiveView, TakesLongError
from rota.controller.scontrol import change
from rota.controller.zone import utc_offset_for
from rota.listings import run
from rota.listings.run import every
from rota.listings.sdiag import asks_for_reset

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from rota.controller.cluster import Cluster
    from rota.controller.wire import Call, Terminal
    from rota.listings import Answer

#: Number of jobs, or of tasks of job arrays, above which an answer takes long.
_MANY = 1_000
#: Number of nodes above which an answer about them takes long, and the commands that may list them.
_MANY_NODES, _OF_NODES = 300, frozenset({"scontrol", "sinfo"})
#: Largest number of associations, users and QOS that are listed at once: it takes longer to make a child.
_FEW = 100
#: Number of characters of a command line above which an answer takes long, as it may name any number of columns.
_LONG = 2_000
#: Commands that may list jobs that ended a short time ago.
_OF_JOBS = frozenset({"scontrol", "squeue"})
#: Options of ``squeue`` with which it may list them.
_ENDED = re.compile(r"-\w*[jt]|--(?:j|st)")
#: Options with which it lists each pending task of a job array.
_TASKS = re.compile(r"-\w*r|--ar")
#: Options that ask for a document, which takes long to format.
_DOCUMENT = re.compile(r"--(?:j$|js|y)")


async def listing(cluster: Cluster, call: Call, terminal: Terminal) -> int | None:
    """Answer a command that only reads; give the exit status, ``None``: it has been given."""
    brief = BriefView if call.words[0] == "sacct" else LiveView

    def answer(view: type[LiveView] = LiveView) -> Answer:
        return run(call.words, call.environment, view(cluster, call.uid, utc_offset_for(cluster, call)))

    async def tell(*, is_last: bool) -> int | None:
        try:
            if _takes_long(cluster, call):
                raise TakesLongError
            out, err, code = answer(brief)
        except TakesLongError:
            await in_child(cluster, call, terminal, answer, is_last=is_last)
            return None
        terminal.out(out)
        terminal.error(err)
        return code

    if seconds := every(call.words):
        await _repeat(partial(tell, is_last=False), terminal, seconds)
        return None
    return await tell(is_last=True)


async def _repeat(tell: Callable[[], Awaitable[object]], terminal: Terminal, seconds: int) -> None:
    """Answer again and again, until the client has gone."""
    gone = asyncio.ensure_future(terminal.closed())
    try:
        while not gone.done():
            await tell()
            await terminal.drain()
            await asyncio.wait([gone], timeout=seconds)
    finally:
        gone.cancel()
        await asyncio.wait([gone])


def _takes_long(cluster: Cluster, call: Call) -> bool:
    """Whether an answer could be about many jobs, or is a document; `BriefView` knows more of ``sacct``."""
    command, *words = call.words
    jobs = cluster.driver.engine.jobs
    if command in _OF_NODES and len(cluster.driver.engine.view.config.nodes) > _MANY_NODES:
        return True
    listpids = any(word.lower().startswith("listp") for word in words)
    if len(jobs) > _MANY or sum(map(len, words)) > _LONG or command in {"sreport", "sstat"} or listpids:
        return True
    if any(_DOCUMENT.match(word) for word in words):
        return True
    if command == "sacctmgr" or (command == "scontrol" and any(word.lower().startswith("as") for word in words)):
        tree = cluster.driver.engine.view.tree
        return len(tree.associations) + len(tree.users) + len(tree.qos) > _FEW
    if command == "squeue":
        if any(_TASKS.match(word) for word in words) and sum(job.waiting_tasks for job in jobs.values()) > _MANY:
            return True
        if not any(_ENDED.match(word) for word in words):
            return False
    return command in _OF_JOBS and LiveView(cluster, call.uid).recent_count() > _MANY


async def scontrol(cluster: Cluster, call: Call, terminal: Terminal) -> int | None:
    """Answer ``scontrol``; give the exit status, ``None``: it has been given."""
    status = await change(cluster, call, terminal)
    return await listing(cluster, call, terminal) if status is None else status


async def sdiag(cluster: Cluster, call: Call, terminal: Terminal) -> int | None:
    """Answer ``sdiag``, or reset what it shows; give the exit status, ``None``: it has been given."""
    if not asks_for_reset(call.words[1:]):
        return await listing(cluster, call, terminal)
    if cluster.rights.as_operator(call.uid) != 0:
        terminal.error("slurm_reset_statistics: Access/permission denied\n")
        return 255
    cluster.driver.tally.reset(cluster.driver.engine.view.statistics())
    terminal.out("Reset scheduling statistics\n")
    return 0
