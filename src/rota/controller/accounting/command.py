"""``sacctmgr`` of a live cluster, from the command line to the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.commands.getopt import UsageError
from rota.commands.sacctmgr import Line, not_supported, parse_sacctmgr, parse_words
from rota.controller.accounting.add import add_accounts, add_coordinators, add_qos, add_users
from rota.controller.accounting.delete import delete_accounts, delete_coordinators, delete_qos, delete_users
from rota.controller.accounting.difference import difference
from rota.controller.accounting.files import dump, plan_load
from rota.controller.accounting.modify import modify_accounts, modify_cluster, modify_qos, modify_users
from rota.controller.accounting.plan import Draft, Plan
from rota.controller.listing import listing
from rota.controller.live_view import LiveView
from rota.core.accounts.rights import require_rights
from rota.core.events import UpdateAccounting
from rota.model import Errno, RequestError
from rota.users import user_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.controller.cluster import Cluster
    from rota.controller.wire import Call, Terminal
    from rota.core.effects import Refused

_QUESTION = "Would you like to commit changes? (You have 30 seconds to decide)\n(N/y): "
_NO_PRIVILEGE = "sacctmgr: error: Your user doesn't have privilege to perform this action\n"
#: Characters of a command line beyond which it is not even planned for others than operators: that takes time.
_MOST_WORDS = 10_000
_PLANS: dict[tuple[str, str], Callable[[Draft], Plan]] = {
    ("add", "account"): add_accounts,
    ("add", "coordinator"): add_coordinators,
    ("add", "qos"): add_qos,
    ("add", "user"): add_users,
    ("delete", "account"): delete_accounts,
    ("delete", "coordinator"): delete_coordinators,
    ("delete", "qos"): delete_qos,
    ("delete", "user"): delete_users,
    ("modify", "account"): modify_accounts,
    ("modify", "cluster"): modify_cluster,
    ("modify", "qos"): modify_qos,
    ("modify", "user"): modify_users,
}


async def sacctmgr(cluster: Cluster, call: Call, terminal: Terminal) -> int | None:
    """Answer ``sacctmgr``; give the exit status, ``None``: it has been given."""
    line = parse_sacctmgr(call.words[1:])
    if line.command in {"list", "help", "version"}:
        return await listing(cluster, call, terminal)
    if line.command == "dump":
        if LiveView(cluster, call.uid).privacy.kinds & {"accounts", "usage", "users"}:
            raise UsageError("sacctmgr: error: Access/permission denied\n")
        return dump(cluster, line, terminal)
    text = ""
    if cluster.rights.as_operator(call.uid) and sum(map(len, call.words)) > _MOST_WORDS:
        raise UsageError(_NO_PRIVILEGE)
    if line.command == "load":
        if cluster.rights.as_administrator(call.uid):
            raise UsageError(" Your user does not have sufficient privileges to load files.\n")
        name = _file_of(line)
        try:
            text = (await terminal.read(name)).decode(errors="replace")
        except OSError as error:
            raise UsageError(f' Unable to read "{name}": {error}\n') from None
    return await _change(cluster, call, terminal, line, text)


async def _change(cluster: Cluster, call: Call, terminal: Terminal, line: Line, text: str) -> int:
    plan, event = _plan(cluster, call, line, text)
    if line.command in {"modify", "delete"}:
        try:
            require_rights(cluster.driver.engine.view.tree, event)
        except RequestError:
            raise UsageError(f"{_NO_PRIVILEGE}{plan.problem}: Access/permission denied\n") from None
    terminal.out(plan.out)
    if line.command == "load" and event == UpdateAccounting(uid=event.uid, user=event.user):
        terminal.out(" Nothing new added.\n")
        return 0
    if not line.options.has("immediate"):
        terminal.out(_QUESTION)
        answer = await terminal.ask()
        terminal.out("\n")
        if answer[:1] not in {"y", "Y"}:
            terminal.out(" Changes Discarded\n")
            return 0
        # Others may have changed something meanwhile.
        plan, event = _plan(cluster, call, line, text)
    refused = await cluster.driver.request(event)
    if refused is None:
        return 0
    terminal.error(f"{plan.problem}: {_sentence(refused)}\n")
    return 1


def _plan(cluster: Cluster, call: Call, line: Line, text: str) -> tuple[Plan, UpdateAccounting]:
    """Plan a command, and make its event."""
    view = cluster.driver.engine.view
    draft = Draft.of(view.tree, parse_words(line.words, setting=line.command == "add"), view.tres)
    if line.command == "load":
        plan = plan_load(draft, text, clean="clean" in draft.words.names)
    elif line.entity == "cluster" and line.command != "modify":
        raise _of_clusters(line, draft)
    else:
        plan = _PLANS[line.command, line.entity](draft)
    uid = cluster.rights.as_administrator(call.uid)
    event = difference(view.tree, plan.builder.tree(), uid=uid, user=user_name(call.uid))
    return plan, event


def _of_clusters(line: Line, draft: Draft) -> UsageError:
    names = draft.words.names
    if line.command == "delete" and draft.cluster not in names:
        return UsageError("", " Nothing deleted\n")
    if line.command == "add" and names == [draft.cluster]:
        return UsageError("", f" This cluster {draft.cluster} already exists.  Not adding.\n")
    return not_supported(f"{line.command} cluster")


def _file_of(line: Line) -> str:
    """Give the path of the file that is to be loaded."""
    for word in line.words:
        key, equals, value = word.partition("=")
        if equals and key and "file".startswith(key.lower()):
            return value.strip("'\"")
        if equals and key and "cluster".startswith(key.lower()):
            raise not_supported("load with cluster=")
    names = [word for word in line.words if word.lower() != "clean"]
    if not names:
        raise UsageError(" No filename given, specify one with file=''\n")
    return names[0]


def _sentence(refused: Refused) -> str:
    """Say why a change was refused."""
    if refused.errno is Errno.ACCESS_DENIED:
        return "Access/permission denied"
    if refused.errno is Errno.ACCOUNTING_POLICY:
        return f"Job(s) active, cancel job(s) before remove\n  {refused.message}"
    return refused.message
