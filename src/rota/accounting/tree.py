"""The tree of associations: a cluster's accounts and their users.

Every association has a *row*, an index that never changes: usage and all that is computed for all associations at once
are arrays by row. `AssociationTree.columns` has the tree itself as such arrays. The row of an association that was
removed stays, with a record that has no account.

An association whose shares are `SHARES_PARENT` has no shares of its own. Fair-share skips such accounts: their children
rank with the accounts' siblings, under the nearest ancestor that has shares of its own, their *fair-share parent*.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rota.model import SHARES_PARENT, Account, Association, Qos, User

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

#: Name of the account at the top.
ROOT = "root"
#: What can be changed of an association.
_CHANGEABLE = ("parent_id", "shares_raw", "priority", "default_qos", "qos", "limits")


class Level(NamedTuple):
    """The associations at one depth below the root, users before accounts, then in lineage order.

    Accounts without shares of their own are in no level: their children take their place.
    """

    rows: NDArray[np.int64]
    #: Row of each one's fair-share parent.
    above: NDArray[np.int64]
    #: Whether each one is an account.
    account: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TreeColumns:
    """The tree as arrays by row."""

    #: Row of the parent account; -1 for the root.
    parent: NDArray[np.int64]
    #: Row of the fair-share parent; -1 for the root.
    fs_parent: NDArray[np.int64]
    is_user: NDArray[np.bool_]
    #: Whether the association has shares of its own.
    has_shares: NDArray[np.bool_]
    #: Shares over the sum of the level's; 0 if that sum is 0 or there are no shares.
    shares_level: NDArray[np.float64]
    #: Position in listings: depth first, users before accounts, then by name.
    lineage: NDArray[np.int64]
    #: Levels from the top, without the root.
    levels: tuple[Level, ...]
    #: Number of users in each subtree, a user itself included; 0 for accounts that are in no level.
    users: NDArray[np.int64]
    #: Rows of all users.
    user_rows: NDArray[np.int64]


class AssociationTree:
    """One cluster's associations, accounts, users and QOS.

    Args:
        cluster: The cluster's name.
        associations: In any order, with unique ids. The root is the account ``root`` with ``parent_id`` 0; it is added
            if it is missing.
        accounts: Records of accounts; those that are missing are added.
        users: Records of users; those that are missing are added, with their first account as the default one.
        qos: All QOS; ``normal`` is added if there are none.

    Raises:
        ValueError: there are two roots or duplicates, a parent is unknown or a user, or there is a cycle.
    """

    def __init__(
        self,
        cluster: str,
        associations: Iterable[Association] = (),
        *,
        accounts: Iterable[Account] = (),
        users: Iterable[User] = (),
        qos: Iterable[Qos] = (),
    ) -> None:
        self.cluster = cluster
        self.accounts = {account.name: account for account in accounts}
        self.users = {user.name: user for user in users}
        self.qos = {one.name: one for one in qos} or {"normal": Qos(name="normal", id=1, description="Normal QOS")}
        #: All associations, by row.
        self.associations: list[Association] = []
        #: Whether any of them has a default QOS.
        self.has_default_qos = False
        self._row: dict[int, int] = {}
        self._find: dict[tuple[str, str, str], Association] = {}
        self._columns: TreeColumns | None = None
        self._paths: dict[int, NDArray[np.int64]] = {}
        given = list(associations)
        if not any(one.parent_id == 0 for one in given):
            given.insert(0, Association(id=_unused_id(given), account=ROOT))
        for one in _in_lineage_order(given):
            self._append(one)

    def restore(
        self, rows: Iterable[Association], accounts: Iterable[Account], users: Iterable[User], qos: Iterable[Qos]
    ) -> None:
        """Replace everything by saved records.

        Args:
            rows: The associations in the order of their rows, the root first.
            accounts: All accounts.
            users: All users.
            qos: All QOS.

        Raises:
            ValueError: the associations form no tree.
        """
        given = list(rows)
        _in_lineage_order(given)
        self.accounts = {account.name: account for account in accounts}
        self.users = {user.name: user for user in users}
        self.qos = {one.name: one for one in qos}
        self.associations, self._row, self._find = [], {}, {}
        self.has_default_qos = False
        self._columns, self._paths = None, {}
        for one in given:
            self._append(one)

    def become(self, other: AssociationTree) -> None:
        """Take over what another tree says that was made from copies of this one's records. Rows and records stay."""
        for row, mine in enumerate(self.associations):
            theirs = other._find.get(_key(mine))
            if theirs is not None:
                for name in _CHANGEABLE:
                    setattr(mine, name, getattr(theirs, name))
            elif mine.account:
                del self._row[mine.id], self._find[_key(mine)]
                self.associations[row] = Association(id=mine.id, account="", shares_raw=SHARES_PARENT)
        for one in other.associations:
            if _key(one) not in self._find:
                self._append(one)
        self.accounts, self.users, self.qos = other.accounts, other.users, other.qos
        self.has_default_qos = other.has_default_qos
        self._columns, self._paths = None, {}

    def __len__(self) -> int:
        """Count the associations."""
        return len(self.associations)

    def __contains__(self, association: Association) -> bool:
        """Whether an association is in the tree: one of its own records, or a copy of one."""
        row = self._row.get(association.id)
        return row is not None and _key(self.associations[row]) == _key(association)

    @property
    def root(self) -> Association:
        """The account at the top."""
        return self.associations[0]

    def row(self, association: Association) -> int:
        """Give the row of an association.

        Raises:
            KeyError: it is not in this tree.
        """
        return self._row[association.id]

    def path(self, row: int) -> NDArray[np.int64]:
        """Give the rows of an association and of all accounts above it, up to and including the root."""
        path = self._paths.get(row)
        if path is None:
            rows = [row]
            while (parent := self.associations[rows[-1]].parent_id) != 0:
                rows.append(self._row[parent])
            path = self._paths[row] = np.array(rows)
            path.flags.writeable = False
        return path

    def target_share(self, row: int) -> float:
        """Give an association's target share of the cluster: the product of shares/level up to the root."""
        path, columns = self.path(row), self.columns
        own = path[:-1][columns.has_shares[path[:-1]]]
        return float(np.prod(columns.shares_level[own]))

    def hierarchy(self) -> Iterator[tuple[Association, int]]:
        """Iterate over the associations in the order of listings, each with its depth (0 for the root)."""
        for row in np.argsort(self.columns.lineage)[: len(self._row)].tolist():
            yield self.associations[row], len(self.path(row)) - 1

    # ---- finding and adding -----------------------------------------------------------------------------------

    def find(self, user: str, account: str = "", partition: str = "") -> Association | None:
        """Find the association of a job.

        Args:
            user: The job's user; empty: find the account's own association.
            account: The job's account; empty: the user's default account.
            partition: The job's partition. An association for this partition is preferred to one for all.
        """
        if not account:
            known = self.users.get(user)
            if known is None:
                return None
            account = known.default_account
        found = self._find.get((account, user, partition)) if partition else None
        return found or self._find.get((account, user, ""))

    def qos_names(self, association: Association) -> tuple[str, ...]:
        """Name the QOS that an association may use: its accounts' lists, changed by its own; ``normal`` without any."""
        names: tuple[str, ...] = ("normal",)
        for row in reversed(self.path(self.row(association)).tolist()):
            for name in (own := self.associations[row].qos):
                if name[0] == "+":
                    names = (*names, name[1:])
                elif name[0] == "-":
                    names = tuple(one for one in names if one != name[1:])
                else:
                    names = own
                    break
        return names

    def add(self, user: str, account: str) -> Association:
        """Add a user to an account, with one share. A missing account is added under the root.

        Users of a workload who have no association are added in this way.

        Args:
            user: The user; empty: add the account only.
            account: The account's name.
        """
        above = self._find.get((account, "", ""))
        if above is None:
            above = Association(id=_unused_id(self.associations), account=account, parent_id=self.root.id)
            self._append(above)
        if not user:
            return above
        one = Association(id=_unused_id(self.associations), account=account, user=user, parent_id=above.id)
        self._append(one)
        return one

    def _append(self, one: Association) -> None:
        key = _key(one)
        if key in self._find or one.id in self._row:
            raise ValueError(f"association {_name(one)} is there twice")
        self._row[one.id] = len(self.associations)
        self._find[key] = one
        self.associations.append(one)
        self.has_default_qos |= bool(one.default_qos)
        self._columns = None
        self.accounts.setdefault(one.account, Account(name=one.account))
        if one.user and one.user not in self.users:
            self.users[one.user] = User(name=one.user, default_account=one.account)

    # ---- the tree as arrays -----------------------------------------------------------------------------------

    @property
    def columns(self) -> TreeColumns:
        """The tree as arrays; a new object after `add`, `become` or `shares_changed`."""
        if self._columns is None:
            self._columns = self._make_columns()
        return self._columns

    def shares_changed(self) -> None:
        """Recompute the arrays after the shares of an association were changed."""
        self._columns = None

    def _make_columns(self) -> TreeColumns:
        ones, row = self.associations, self._row
        count = len(ones)
        parent = np.array([row.get(one.parent_id, -1) for one in ones])  # removed ones have none, like the root
        is_user = np.array([bool(one.user) for one in ones])
        has_shares = np.array([one.shares_raw != SHARES_PARENT for one in ones])
        lineage = np.full(count, count)
        lineage[[row[one.id] for one in _in_lineage_order(one for one in ones if one.account)]] = np.arange(len(row))
        fs_parent = parent.copy()
        while (passed := (fs_parent > 0) & ~has_shares[fs_parent]).any():
            fs_parent[passed] = parent[fs_parent[passed]]
        own = has_shares & (parent >= 0)
        shares = np.array([float(one.shares_raw) for one in ones])
        total = np.bincount(fs_parent[own], shares[own], minlength=count)
        level = np.where(own, total[fs_parent], 0.0)
        levels = []
        users = is_user.astype(np.int64)
        placed = np.flatnonzero(is_user | has_shares)
        placed = placed[np.lexsort((lineage[placed], ~is_user[placed]))]
        rows = np.array([0])
        while len(rows := placed[np.isin(fs_parent[placed], rows)]):
            levels.append(Level(rows, fs_parent[rows], ~is_user[rows]))
        for one in reversed(levels):
            np.add.at(users, one.above, users[one.rows])
        columns = TreeColumns(
            parent=parent,
            fs_parent=fs_parent,
            is_user=is_user,
            has_shares=has_shares,
            shares_level=np.divide(shares, level, out=np.zeros(count), where=level > 0),
            lineage=lineage,
            levels=tuple(levels),
            users=users,
            user_rows=np.flatnonzero(is_user),
        )
        for array in (*(getattr(columns, one.name) for one in fields(columns)), *chain.from_iterable(levels)):
            if isinstance(array, np.ndarray):  # plugins read them as well
                array.flags.writeable = False
        return columns


def _key(one: Association) -> tuple[str, str, str]:
    return one.account, one.user, one.partition


def _unused_id(associations: Iterable[Association]) -> int:
    return max((one.id for one in associations), default=0) + 1


def _name(one: Association) -> str:
    return f"{one.account}/{one.user}" if one.user else one.account


def _in_lineage_order(associations: Iterable[Association]) -> list[Association]:
    """Sort the associations depth first, users before accounts, then by name.

    Raises:
        ValueError: they do not form a tree.
    """
    children: dict[int, list[Association]] = {}
    by_id = {}
    for one in associations:
        children.setdefault(one.parent_id, []).append(one)
        by_id[one.id] = one
    roots = children.get(0, [])
    if len(roots) != 1:
        raise ValueError(f"{' and '.join(_name(one) for one in roots) or 'nothing'} at the top: one root is needed")
    for one in by_id.values():
        above = by_id.get(one.parent_id)
        if one.parent_id and (above is None or above.user):
            raise ValueError(f"association {_name(one)} is under {one.parent_id}, which is no account's")
    ordered, stack = [], roots
    while stack:
        one = stack.pop()
        ordered.append(one)
        below = children.get(one.id, [])
        below.sort(key=lambda child: (not child.user, child.user or child.account, child.partition), reverse=True)
        stack.extend(below)
    if len(ordered) < len(by_id):
        lost = by_id.keys() - {one.id for one in ordered}
        raise ValueError(f"accounts are under each other in a circle: {', '.join(_name(by_id[id_]) for id_ in lost)}")
    return ordered
