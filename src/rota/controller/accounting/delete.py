"""``sacctmgr delete``: accounts, users, QOS and coordinators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.commands.getopt import UsageError
from rota.controller.accounting import texts
from rota.controller.accounting.plan import Draft, Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.model import Association

_NO_CONDITIONS = UsageError(" No conditions given to remove, not executing.\n")
_NOTHING = UsageError("", " Nothing deleted\n")
_PROBLEM = " Error with request"
_DISCARDED = " Changes Discarded\n"


def delete_accounts(draft: Draft) -> Plan:
    """Plan to remove accounts with everything below them.

    Raises:
        UsageError: they cannot be removed.
    """
    builder = draft.builder
    where = draft.conditions(
        {"name": "names", "account": "names", "cluster": "clusters", "description": "d", "organization": "o"}
    )
    names = [*draft.words.names, *where.get("names", [])]
    if not names and not where.keys() - {"clusters"}:
        raise _NO_CONDITIONS
    if "root" in names:
        raise UsageError(" You are not allowed to remove the root account.\n Use remove cluster instead.\n")
    chosen = [
        one
        for one in draft.newest_first()
        if not one.user
        and one.parent_id
        and (not names or one.account in names)
        and builder.accounts[one.account].description.lower() in where.get("d", [_description(draft, one)])
        and builder.accounts[one.account].organization.lower() in where.get("o", [_organization(draft, one)])
        and draft.cluster in where.get("clusters", [draft.cluster])
    ]
    if not chosen:
        raise _NOTHING
    left = _without(draft, chosen)
    _keep_defaults(
        draft,
        left,
        " Please either remove the accounts listed above from list and resubmit,\n"
        " or change these users' default accounts to remove the account(s).\n",
    )
    kept = {one.account for one in left}
    for user in builder.users.values():
        user.coordinator = tuple(name for name in user.coordinator if name in kept)
    names = list(dict.fromkeys(one.account for one in chosen))
    return Plan(f" Deleting accounts...\n{texts.names(names)}", builder, _PROBLEM)


def delete_users(draft: Draft) -> Plan:
    """Plan to remove users, or with an account or a partition their associations there.

    Raises:
        UsageError: they cannot be removed.
    """
    builder = draft.builder
    known = {"name": "names", "user": "names", "account": "accounts", "cluster": "clusters", "partition": "partitions"}
    where = draft.conditions(known | {"acct": "accounts"})
    names = [*draft.words.names, *where.get("names", [])]
    if not names and not where.keys() - {"clusters"}:
        raise _NO_CONDITIONS
    accounts, partitions = where.get("accounts", []), where.get("partitions", [])
    chosen = [
        one
        for one in draft.newest_first()
        if one.user
        and (not names or one.user in names)
        and (not accounts or one.account in accounts)
        and (not partitions or one.partition in partitions)
        and draft.cluster in where.get("clusters", [draft.cluster])
    ]
    if not chosen:
        raise _NOTHING
    left = _without(draft, chosen)
    still = {one.user for one in left}
    gone = sorted({one.user for one in chosen} - still)
    if not accounts and not partitions:
        return Plan(f" Deleting users...\n{texts.names(gone)}", builder, _PROBLEM)
    _keep_defaults(
        draft,
        left,
        " You must change the default account of these users or remove the users completely from the affected "
        "clusters to allow these changes.\n",
        still,
    )
    out = f" Deleting user associations...\n{''.join(texts.deleted(one, draft.cluster) for one in chosen)}"
    if gone:
        out += f" Deleting users (No Associations)...\n{texts.names(gone)}"
    return Plan(out, builder, _PROBLEM)


def delete_qos(draft: Draft) -> Plan:
    """Plan to remove QOS, also from all lists of QOS.

    Raises:
        UsageError: they cannot be removed.
    """
    builder, where = draft.builder, draft.conditions({"name": "names", "id": "ids", "description": "descriptions"})
    names = [*draft.words.names, *where.get("names", [])]
    if not names and not where:
        raise _NO_CONDITIONS
    chosen = [
        one.name
        for one in sorted(builder.qos.values(), key=lambda one: one.id)
        if (not names or one.name in names)
        and str(one.id) in where.get("ids", [str(one.id)])
        and one.description.lower() in where.get("descriptions", [one.description.lower()])
    ]
    if not chosen:
        raise _NOTHING
    default = [one for one in draft.newest_first() if one.default_qos in chosen]
    if default:
        lines = "".join(
            f"  DefQOS = {one.default_qos:<10} C = {draft.cluster:<10} A = {one.account:<20}"
            f"{f' U = {one.user:<9}' if one.user else ''}\n"
            for one in default
        )
        raise UsageError(
            f" Associations listed below have these as their Default QOS.\n{lines}"
            " Please either remove the qos' listed above from list and resubmit,\n"
            f" or change the default qos to remove the qos.\n{_DISCARDED}"
        )
    for name in chosen:
        builder.remove_qos(name)
    for one in builder.select((), (), ()):
        one.qos = tuple(name for name in one.qos if name.lstrip("+-") not in chosen)
    return Plan(f" Deleting QOS(s)...\n{texts.names(chosen)}", builder, _PROBLEM)


def delete_coordinators(draft: Draft) -> Plan:
    """Plan to let users coordinate accounts no more.

    Raises:
        UsageError: they do not coordinate them.
    """
    builder = draft.builder
    where = draft.conditions({"name": "names", "user": "names", "account": "accounts"})
    names = [*draft.words.names, *where.get("names", [])]
    accounts = where.get("accounts", [])
    if not names and not accounts:
        raise UsageError(" You need to specify conditions to to remove the coordinator.\n")
    problems = [
        f" You specified a non-existent account '{name}'.\n" for name in accounts if name not in builder.accounts
    ]
    problems += [f" You specified a non-existent user '{name}'.\n" for name in names if name not in builder.users]
    if problems:
        raise UsageError("".join(problems))
    head = f" Removing Coordinators with user name\n{texts.names(names)}" if names else ""
    head += f" From Account(s)\n{texts.names(accounts)}" if accounts else " From all accounts\n"
    lines = ""
    for user in builder.users.values():
        doomed = [one for one in user.coordinator if not accounts or one in accounts]
        if doomed and (not names or user.name in names):
            user.coordinator = tuple(one for one in user.coordinator if one not in doomed)
            lines += "".join(f"  U = {user.name:<9} A = {account:<10}\n" for account in doomed)
    if not lines:
        raise UsageError("", f"{head} Nothing removed\n")
    return Plan(f"{head} Removed Coordinators (sub accounts not listed)...\n{lines}", builder, _PROBLEM)


def _description(draft: Draft, one: Association) -> str:
    return draft.builder.accounts[one.account].description.lower()


def _organization(draft: Draft, one: Association) -> str:
    return draft.builder.accounts[one.account].organization.lower()


def _without(draft: Draft, chosen: Sequence[Association]) -> list[Association]:
    """Remove associations with everything below them; give what is left."""
    draft.builder.remove(chosen)
    return draft.builder.select((), (), ())


def _keep_defaults(draft: Draft, left: Sequence[Association], advice: str, whose: set[str] | None = None) -> None:
    """Check that nobody loses the default account; ``whose``: of these users."""
    charged = {(one.user, one.account) for one in left}
    lost = [
        user
        for user in draft.builder.users.values()
        if user.default_account
        and (user.name, user.default_account) not in charged
        and (whose is None or user.name in whose)
    ]
    if lost:
        lines = "".join(
            f"  C = {draft.cluster:<15} A = {user.default_account:<10} U = {user.name:<9}\n" for user in lost
        )
        raise UsageError(f"{_PROBLEM}: You can not remove the default account of a user\n{lines}{advice}{_DISCARDED}")
