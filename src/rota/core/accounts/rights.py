"""Who may change accounts, users and QOS.

=============== ======================================================================================================
administrators  may do everything
operators       everything but change QOS and the administrative level of users
coordinators    add users and accounts below the accounts that they coordinate, change these, and name coordinators
all others      choose their own default account among those that they have
=============== ======================================================================================================

Who coordinates an account coordinates those below it. The account itself is for those who coordinate one above it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rota.model import Errno, RequestError, User

if TYPE_CHECKING:
    from rota.accounting import AssociationTree
    from rota.core.events import AssociationKey, UpdateAccounting


def require_rights(tree: AssociationTree, event: UpdateAccounting) -> None:
    """Check that a user may make a change.

    Raises:
        RequestError: they may not.
    """
    who = tree.users.get(event.user, User(name=event.user))
    if event.uid == 0 or who.admin_level == "Administrator":
        return
    allowed = not event.qos and not event.removed_qos and all(_keeps_level(tree, user) for user in event.users)
    if allowed and who.admin_level != "Operator":
        allowed = _coordinates_all(tree, who, event)
    if not allowed:
        raise RequestError(f"Access/permission denied: user {event.uid} may not change this", Errno.ACCESS_DENIED)


def coordinated(tree: AssociationTree, user: User) -> frozenset[str]:
    """Name the accounts that a user coordinates, with those below them."""
    own = set(user.coordinator)
    if not own:
        return frozenset()
    rows = tree.associations
    return frozenset(
        one.account
        for row, one in enumerate(rows)
        if one.account and not one.user and any(rows[above].account in own for above in tree.path(row).tolist())
    )


def _keeps_level(tree: AssociationTree, user: User) -> bool:
    known = tree.users.get(user.name)
    return user.admin_level == ("None" if known is None else known.admin_level)


def _coordinates_all(tree: AssociationTree, who: User, event: UpdateAccounting) -> bool:
    """Whether everything that is changed is below the accounts that a user coordinates."""
    mine = set(coordinated(tree, who))
    for one in event.associations:
        if not one.key.user and one.parent in mine and one.key.account not in tree.accounts:
            mine.add(one.key.account)

    def is_below(key: AssociationKey) -> bool:
        return (key.account if key.user else _account_above(tree, key.account)) in mine

    return (
        all(one.key.account in mine if one.key.user else one.parent in mine for one in event.associations)
        and all(is_below(one.key) for one in event.associations if tree.find(one.key.user, one.key.account))
        and all(is_below(key) for key in event.removed_associations)
        and all(one.name in mine for one in event.accounts)
        and all(_is_users_own(tree, user, who, mine) for user in event.users)
        and {key.user for key in event.removed_associations} >= set(event.removed_users)
    )


def _account_above(tree: AssociationTree, account: str) -> str:
    """Name the account above another one; empty: there is none."""
    one = tree.find("", account)
    if one is None or not one.parent_id:
        return ""
    return tree.associations[int(tree.path(tree.row(one))[1])].account


def _is_users_own(tree: AssociationTree, user: User, who: User, mine: set[str]) -> bool:
    """Whether a user's record changes only as far as it is ``who``'s to change."""
    known = tree.users.get(user.name)
    if known is None:
        return set(user.coordinator) <= mine
    named = set(known.coordinator) ^ set(user.coordinator)
    kept = replace(user, coordinator=known.coordinator, default_account=known.default_account) == known
    default = user.default_account == known.default_account or user.name == who.name
    return kept and named <= mine and (default or not known.default_account)
