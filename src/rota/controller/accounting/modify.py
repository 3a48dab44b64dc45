"""``sacctmgr modify``: accounts, users, QOS and the cluster's own association."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.commands.getopt import UsageError
from rota.controller.accounting import texts
from rota.controller.accounting.add import admin_level
from rota.controller.accounting.plan import PLACE, Draft, Given, Plan
from rota.model import Association, InputError
from rota.sacctmgr.keys import QOS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_NOTHING_SET = UsageError(" You didn't give me anything to set\n")
_NOTHING = " Nothing modified\n"
_PROBLEM = " Error with request"
#: What the users of an account have too, unless they have their own.
_HANDED_DOWN = ("Max", "MinPrio", "QOS", "DefaultQOS", "Priority")
#: Limits that the association at the top does not have.
_NOT_OF_ROOT = {"GrpTRESMins", "GrpTRESRunMins", "GrpWall"}
_OF_ACCOUNTS = {"Description", "Organization"}
_OF_USERS = {"AdminLevel", "DefaultAccount"}


def modify_accounts(draft: Draft) -> Plan:
    """Plan to change accounts.

    Raises:
        UsageError: they cannot be changed.
    """
    where = draft.conditions(
        {"name": "names", "account": "names", "cluster": "clusters", "parent": "parents", "acct": "names"}
    )
    given = _settings(draft)
    draft.check(given)
    names = [*draft.words.names, *where.get("names", [])]
    chosen = _chosen(draft, where, lambda one: not one.user and (not names or one.account in names))
    if parents := where.get("parents"):
        chosen = [one for one in chosen if draft.account_name(one) in parents]
    own = [one for one in given if one.key in _OF_ACCOUNTS]
    rest = [one for one in given if one.key not in _OF_ACCOUNTS]
    if not chosen:
        raise UsageError("", _NOTHING)
    out = ""
    if own:
        _set(draft, chosen, own)
        out += f" Modified accounts...\n{texts.names(one.account for one in chosen)}"
    if rest:
        lines = _lines(draft, chosen, rest)
        _move(draft, chosen, rest)
        _set(draft, chosen, [one for one in rest if one.key != "Parent"])
        out += f" Modified account associations...\n{lines}"
    return Plan(out, draft.builder, _PROBLEM)


def modify_users(draft: Draft) -> Plan:
    """Plan to change users.

    Raises:
        UsageError: they cannot be changed.
    """
    builder = draft.builder
    known = {"name": "names", "user": "names", "account": "accounts", "cluster": "clusters", "partition": "partitions"}
    where = draft.conditions(known | {"acct": "accounts"})
    given = _settings(draft)
    if bad := next((one.setting.word for one in given if one.key in {"Partition", "Account", "Parent"}), ""):
        raise UsageError(f" Unknown option: {bad}\n Use keyword 'where' to modify condition\n")
    own = [one for one in given if one.key in _OF_USERS]
    rest = [one for one in given if one.key not in _OF_USERS]
    draft.check(rest)
    names = [*draft.words.names, *where.get("names", [])]

    def is_meant(one: Association) -> bool:
        accounts, partitions = where.get("accounts", []), where.get("partitions", [])
        return (
            bool(one.user)
            and (not names or one.user in names)
            and (not accounts or one.account in accounts)
            and (not partitions or one.partition in partitions)
        )

    chosen = _chosen(draft, where, is_meant)
    users = sorted({one.user for one in chosen})
    if not chosen:
        raise UsageError("", _NOTHING)
    out = ""
    for key, one in own:
        if key == "AdminLevel":
            for name in users:
                builder.users[name].admin_level = admin_level(one.value)
        else:
            _set_default(draft, users, one.value.lower())
    if own:
        out += f" Modified users...\n{texts.names(users)}"
    if rest:
        out += f" Modified user associations...\n{_lines(draft, chosen, [])}"
        _set(draft, chosen, rest)
    return Plan(out, builder, _PROBLEM)


def modify_qos(draft: Draft) -> Plan:
    """Plan to change QOS.

    Raises:
        UsageError: they cannot be changed.
    """
    builder, where = draft.builder, draft.conditions({"name": "names", "id": "ids", "description": "descriptions"})
    given = draft.keys(draft.words.settings, QOS)
    if not given or all(one.key == "Names" for one in given):
        raise _NOTHING_SET
    draft.check_qos(given)
    names = [*draft.words.names, *where.get("names", [])]
    chosen = [
        one
        for one in sorted(builder.qos.values(), key=lambda one: one.id)
        if (not names or one.name in names)
        and str(one.id) in where.get("ids", [str(one.id)])
        and one.description.lower() in where.get("descriptions", [one.description.lower()])
    ]
    if not chosen:
        raise UsageError("", _NOTHING)
    for qos in chosen:
        for key, one in given:
            builder.set_qos(qos, key, one.value, one.change, PLACE)
    if any(one.key == "Preempt" for one in given):
        draft.check_preemption()
    return Plan(f" Modified qos...\n{texts.names(one.name for one in chosen)}", builder, _PROBLEM)


def modify_cluster(draft: Draft) -> Plan:
    """Plan to change the association at the top.

    Raises:
        UsageError: it cannot be changed.
    """
    where = draft.conditions({"name": "names", "cluster": "names"})
    given = _settings(draft)
    if refused := next((one.key for one in given if one.key in _NOT_OF_ROOT), ""):
        raise UsageError(f"{refused} is not a valid option for the root association of a cluster.\n")
    scratch = draft.check(given)
    head = f" Setting\n  Default Limits:\n{texts.association_settings(scratch, given)}"
    names = [*draft.words.names, *where.get("names", [])]
    if names and draft.cluster not in names:
        raise UsageError("", head + _NOTHING)
    root = [one for one in [draft.builder.find("root")] if one is not None]
    lines = _lines(draft, root, given)
    _set(draft, root, given)
    return Plan(f"{head} Modified cluster defaults for associations...\n{lines}", draft.builder, _PROBLEM)


def _settings(draft: Draft) -> list[Given]:
    given = draft.keys(draft.words.settings)
    if not given:
        raise _NOTHING_SET
    if any(one.key in {"Names", "Cluster", "Coordinator"} for one in given):
        raise UsageError(" Can't modify the name of a record, nor its coordinators here\n")
    return given


def _chosen(draft: Draft, where: dict[str, list[str]], is_meant: Callable[[Association], bool]) -> list[Association]:
    if any(name != draft.cluster for name in where.get("clusters", [])):
        return []
    return [one for one in draft.newest_first() if is_meant(one)]


def _set(draft: Draft, chosen: Sequence[Association], given: Sequence[Given]) -> None:
    for one in chosen:
        for key, setting in given:
            draft.builder.set_association(one, key, setting.value, setting.change, PLACE)


def _lines(draft: Draft, chosen: Sequence[Association], given: Sequence[Given]) -> str:
    """List the associations that change, with users who have the changed values from their accounts."""
    keys = [one.key for one in given if one.key.startswith(_HANDED_DOWN)]
    mine = {id(one) for one in chosen}
    above = {one.id: one for one in draft.builder.select((), (), ())}

    def inherits(one: Association) -> bool:
        place: Association | None = one
        lacking = list(keys)
        while place is not None and lacking:
            if id(place) in mine:
                return True
            lacking = [key for key in lacking if not _has_own(place, key)]
            place = above.get(place.parent_id)
        return False

    shown = [one for one in draft.newest_first() if id(one) in mine or (one.user and inherits(one))]
    return "".join(
        texts.modified(one, draft.cluster, "" if one.user or not one.parent_id else above[one.parent_id].account)
        for one in shown
    )


def _has_own(one: Association, key: str) -> bool:
    if key == "QOS":
        return bool(one.qos) and one.qos[0][0] not in "+-"
    if key == "DefaultQOS":
        return bool(one.default_qos)
    return bool(one.priority) if key == "Priority" else key in one.limits


def _move(draft: Draft, chosen: Sequence[Association], given: Sequence[Given]) -> None:
    """Put accounts under another one."""
    parent = next((one.setting.value.lower() for one in given if one.key == "Parent"), "")
    if not parent:
        return
    if parent not in draft.builder.accounts:
        raise UsageError(f" Parent Account {parent} doesn't exist.\n")
    if any(not one.parent_id for one in chosen):  # there is nothing above the root
        raise UsageError("", _NOTHING)
    for one in chosen:
        try:
            draft.builder.set_association(one, "Parent", parent, "=", PLACE)
        except InputError:
            raise UsageError("", _NOTHING) from None


def _set_default(draft: Draft, users: Sequence[str], account: str) -> None:
    """Set the default account of users."""
    lacking = [name for name in users if not draft.builder.select([account], [name], ())]
    if lacking:
        lines = "".join(f"  U = {name} C = {draft.cluster}\n" for name in lacking)
        raise UsageError(
            "", f" Can't modify because these users aren't associated with new default account '{account}'...\n{lines}"
        )
    for name in users:
        draft.builder.users[name].default_account = account
