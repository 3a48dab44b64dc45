"""Changes of accounts, users, associations and QOS: checked as a whole, then carried out.

A change must not make the tree worse: names that do not exist may be in it, since files of sacctmgr have such, but no
new ones.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rota.accounting import AssociationTree
from rota.accounting.tree import ROOT
from rota.core.events import AssociationKey
from rota.model import SHARES_PARENT, Association, Errno, RequestError
from rota.model.limits import LimitError, Limits
from rota.model.tres import MAX_FACTOR

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rota.core.accounts.charging import Accounts
    from rota.core.events import AssociationRecord, UpdateAccounting
    from rota.core.job import Job
    from rota.model import Qos

ADMIN_LEVELS = ("None", "Operator", "Administrator")
_MOST = 2**32 - 3
#: Characters that would break a list of names, or a line of a dump.
_BAD = frozenset(",:='\"|%+ ")


def after(tree: AssociationTree, event: UpdateAccounting, tres: Sequence[str]) -> AssociationTree:
    """Make the tree as it is after a change, from copies of the records.

    Raises:
        RequestError: the change cannot be made.
    """
    _check_records(event, tres)
    made = {key_of(one): replace(one) for one in tree.associations if one.account}
    for key in event.removed_associations:
        if key == AssociationKey(ROOT) or made.pop(key, None) is None:
            raise _refusal(f"association {_name(key)} is not there, or cannot be removed", Errno.INVALID_ACCOUNT)
    first = max(one.id for one in tree.associations) + 1  # ids are not used again
    for number, record in enumerate(event.associations, start=first):
        made[record.key] = _changed(made, record, number)
    users = {user.name: user for user in (*tree.users.values(), *event.users)}
    for name in event.removed_users:
        if users.pop(name, None) is None or any(key.user == name for key in made):
            raise _refusal(f"user {name!r} is not there, or has associations", Errno.INVALID_ACCOUNT)
    qos = {one.name: one for one in (*tree.qos.values(), *event.qos)}
    for name in event.removed_qos:
        if qos.pop(name, None) is None:
            raise _refusal(f"there is no QOS {name!r}", Errno.INVALID_QOS)
    names = {key.account for key in made}
    accounts = {one.name: one for one in (*tree.accounts.values(), *event.accounts) if one.name in names}
    if lost := [one.name for one in event.accounts if one.name not in names]:
        raise _refusal(f"account {lost[0]!r} has no association", Errno.INVALID_ACCOUNT)
    try:
        future = AssociationTree(
            tree.cluster,
            made.values(),
            accounts=map(replace, accounts.values()),
            users=map(replace, users.values()),
            qos=map(replace, qos.values()),
        )
    except ValueError as error:
        raise _refusal(str(error), Errno.INVALID_ACCOUNT) from None
    if worse := sorted(set(_problems(future)) - set(_problems(tree))):
        raise _refusal(worse[0], Errno.INVALID_ACCOUNT)
    return future


def require_unused(event: UpdateAccounting, accounts: Accounts, jobs: Mapping[int, Job]) -> None:
    """Check that no live job needs what is removed.

    Raises:
        RequestError: one does.
    """
    removed, qos = set(event.removed_associations), set(event.removed_qos)
    if not removed and not qos:
        return
    for job in jobs.values():
        for record in (job, *job.records):
            one, own = accounts.association_of(record), accounts.qos_of(record)
            if (one is not None and key_of(one) in removed) or (own is not None and own.name in qos):
                raise _refusal(f"job {job.job_id} is charged to it: cancel it first", Errno.ACCOUNTING_POLICY)


def shape_of_tree(tree: AssociationTree) -> list[object]:
    """Give what priorities depend on: associations, shares and priorities, and the QOS apart from their limits."""
    return [
        *((one.id, one.parent_id, one.shares_raw, one.priority) for one in tree.associations),
        *((one.name, one.priority, one.usage_factor, one.flags) for one in tree.qos.values()),
    ]


def key_of(one: Association) -> AssociationKey:
    """Give what an association is found by."""
    return AssociationKey(one.account, one.user, one.partition)


def _changed(made: Mapping[AssociationKey, Association], record: AssociationRecord, number: int) -> Association:
    """Make an association from its record, under one of those made so far."""
    key = record.key
    known = made.get(key)
    one = known or Association(id=number, account=key.account, user=key.user, partition=key.partition)
    if key.user or record.parent:
        above = made.get(AssociationKey(key.account if key.user else record.parent))
        if above is None:
            raise _refusal(f"there is no account above {_name(key)}", Errno.INVALID_ACCOUNT)
        one.parent_id = above.id
    elif key.account != ROOT:
        raise _refusal(f"{_name(key)} is under no account", Errno.INVALID_ACCOUNT)
    if not key.user and ((key.account == ROOT) is bool(record.parent) or key.partition):
        raise _refusal(f"{_name(key)} cannot be there", Errno.INVALID_ACCOUNT)
    one.shares_raw, one.priority = record.shares_raw, record.priority
    one.default_qos, one.qos, one.limits = record.default_qos, record.qos, dict(record.limits)
    return one


def _problems(tree: AssociationTree) -> Iterator[str]:
    """Say which names in a tree are of nothing that is there."""
    for one in tree.associations:
        for name in filter(None, (*one.qos, one.default_qos)):
            if name.lstrip("+-") not in tree.qos:
                yield f"there is no QOS {name!r}, which {_name(key_of(one))} has"
    for qos in tree.qos.values():
        for name in qos.preempt:
            if name not in tree.qos:
                yield f"there is no QOS {name!r}, which {qos.name} preempts"
    charged = {(one.user, one.account) for one in tree.associations}
    for user in tree.users.values():
        if user.default_account and (user.name, user.default_account) not in charged:
            yield f"user {user.name!r} is not in the default account {user.default_account!r}"
        for name in user.coordinator:
            if name not in tree.accounts:
                yield f"there is no account {name!r}, which {user.name!r} coordinates"


def _check_records(event: UpdateAccounting, tres: Sequence[str]) -> None:
    """Check each record by itself."""
    keys = [one.key for one in event.associations]
    several = ([one.name for one in event.users], [one.name for one in event.accounts], [one.name for one in event.qos])
    if any(len(set(names)) < len(names) for names in (keys, *several)):
        raise _refusal("a record is there twice", Errno.INVALID_EVENT)
    for key in keys:
        _check_name(key.account)
        _check_name(key.user or "x")
        _check_name(key.partition or "x")
    for name in (name for names in several for name in names):
        _check_name(name)
    for record in event.associations:
        if not 0 <= record.shares_raw <= SHARES_PARENT or not 0 <= record.priority <= _MOST:
            raise _refusal(f"the shares or the priority of {_name(record.key)} are no such number", Errno.INVALID_EVENT)
        if "" in record.qos:
            raise _refusal(f"{_name(record.key)} has a QOS without a name", Errno.INVALID_EVENT)
        _check_limits(_name(record.key), record.limits, tres)
    texts = [text for one in event.accounts for text in (one.description, one.organization)]
    if not all(text.isprintable() for text in (*texts, *(one.description for one in event.qos))):
        raise _refusal("a description has characters that cannot be printed", Errno.INVALID_EVENT)
    for user in event.users:
        if user.admin_level not in ADMIN_LEVELS:
            raise _refusal(f"{user.admin_level!r} is none of {', '.join(ADMIN_LEVELS)}", Errno.INVALID_EVENT)
    for qos in event.qos:
        _check_qos(qos, tres)


def _check_qos(qos: Qos, tres: Sequence[str]) -> None:
    factors = [one for one in (qos.usage_factor, qos.limit_factor, qos.usage_threshold) if one is not None]
    times = [qos.grace_time, qos.preempt_exempt_time or 0]
    if not all(0 <= one <= MAX_FACTOR for one in factors) or not all(0 <= one <= _MOST for one in (*times, qos.id)):
        raise _refusal(f"a factor or time of QOS {qos.name!r} is no such number", Errno.INVALID_EVENT)
    if not 0 <= qos.priority <= _MOST:
        raise _refusal(f"the priority of QOS {qos.name!r} is no such number", Errno.INVALID_EVENT)
    _check_limits(f"QOS {qos.name!r}", qos.limits, tres)


def _check_limits(whose: str, limits: Mapping[str, str], tres: Sequence[str]) -> None:
    try:
        Limits.of(limits, tres)
    except LimitError as error:
        raise _refusal(f"{whose}: {error}", Errno.INVALID_EVENT) from None


def _check_name(name: str) -> None:
    if not name or not name.isprintable() or not _BAD.isdisjoint(name) or name[0] == "-":
        raise _refusal(f"{name!r} is no name", Errno.INVALID_EVENT)


def _name(key: AssociationKey) -> str:
    return f"user {key.user!r} in account {key.account!r}" if key.user else f"account {key.account!r}"


def _refusal(problem: str, errno: Errno) -> RequestError:
    return RequestError(f"the change of accounts cannot be made: {problem}", errno)
