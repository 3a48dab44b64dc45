"""The event that makes one tree of associations another."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from rota.core.events import AssociationKey, AssociationRecord, UpdateAccounting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.accounting import AssociationTree
    from rota.model import Association

T = TypeVar("T")


def difference(old: AssociationTree, new: AssociationTree, *, uid: int, user: str) -> UpdateAccounting:
    """Make the event that changes a tree into another one.

    Args:
        old: The tree as it is.
        new: The tree as it is to be.
        uid: Id of the user who asks; 0: an administrator.
        user: Name of the user who asks.
    """
    before, after = _records(old), _records(new)
    changed = [record for key, record in after.items() if before.get(key) != record]
    gone = [key for key in before if key not in after]
    return UpdateAccounting(
        uid=uid,
        user=user,
        accounts=_changed(old.accounts, {key.account: new.accounts[key.account] for key in after}),
        users=_changed(old.users, new.users),
        # New ones first: others may be moved under them.
        associations=tuple(sorted(changed, key=lambda one: one.key in before)),
        qos=_changed(old.qos, new.qos),
        removed_associations=tuple(reversed(gone)),
        removed_users=tuple(name for name in old.users if name not in new.users),
        removed_qos=tuple(name for name in old.qos if name not in new.qos),
    )


def _changed(old: Mapping[str, T], new: Mapping[str, T]) -> tuple[T, ...]:
    return tuple(one for name, one in new.items() if old.get(name) != one)


def _records(tree: AssociationTree) -> dict[AssociationKey, AssociationRecord]:
    """Give the records of the associations, accounts before what is below them."""
    names = {one.id: one.account for one in tree.associations}
    ordered = sorted((one for one in tree.associations if one.account), key=lambda one: (len(_path(tree, one)), one.id))
    return {
        key: AssociationRecord(
            key=key,
            parent="" if one.user else names.get(one.parent_id, ""),
            shares_raw=one.shares_raw,
            priority=one.priority,
            default_qos=one.default_qos,
            qos=one.qos,
            limits=dict(one.limits),
        )
        for one in ordered
        for key in [AssociationKey(one.account, one.user, one.partition)]
    }


def _path(tree: AssociationTree, one: Association) -> list[int]:
    path: list[int] = tree.path(tree.row(one)).tolist()
    return path
