"""Building a tree of associations from the lines of dumps and scripts."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rota.accounting import AssociationTree
from rota.model import Account, Association, InputError, Qos, User
from rota.model.limits import LimitError
from rota.sacctmgr import values
from rota.sacctmgr.keys import LIMITS, OLD_LIMITS, OLD_QOS_LIMITS, QOS_LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Place(NamedTuple):
    """File and line; without a line, what a user has written elsewhere."""

    path: Path
    line: int | None

    def error(self, problem: str, field: str | None = None) -> InputError:
        """Make an error that names this line."""
        return InputError(problem, path=self.path, line=self.line, field=field)


class TreeBuilder:
    """Builds the accounts, users and QOS of a cluster."""

    def __init__(self) -> None:
        #: Name of the cluster; empty until a file names it.
        self.cluster = ""
        self.qos: dict[str, Qos] = {"normal": Qos(name="normal", id=1, description="Normal QOS default")}
        self.accounts: dict[str, Account] = {
            "root": Account(name="root", description="default root account", organization="root")
        }
        self.users: dict[str, User] = {}
        #: Associations by account, user and partition.
        self._made: dict[tuple[str, str, str], Association] = {}
        self._last_id = 0
        self._add(Association(account="root"))

    @classmethod
    def of(cls, tree: AssociationTree) -> TreeBuilder:
        """Begin with a tree, of whose records copies are taken."""
        made = cls()
        made.cluster = tree.cluster
        made.qos = {one.name: replace(one, limits=dict(one.limits)) for one in tree.qos.values()}
        made.accounts = {one.name: replace(one) for one in tree.accounts.values()}
        made.users = {one.name: replace(one) for one in tree.users.values()}
        made._made = {
            (one.account, one.user, one.partition): replace(one, limits=dict(one.limits))
            for one in tree.associations
            if one.account
        }
        made._last_id = max(one.id for one in tree.associations)
        return made

    def tree(self) -> AssociationTree:
        """Make the tree."""
        used = {one.user for one in self._made.values()}
        return AssociationTree(
            self.cluster,
            self._made.values(),
            accounts=self.accounts.values(),
            users=[user for user in self.users.values() if user.name in used],
            qos=self.qos.values(),
        )

    # ---- finding ----------------------------------------------------------------------------------------------

    def account(self, name: str, place: Place, field: str) -> Association:
        """Find the association of an account.

        Raises:
            InputError: the account does not exist.
        """
        found = self._made.get((name.lower(), "", ""))
        if found is None:
            raise place.error(f"there is no account {name!r} so far: add it first", field)
        return found

    def find(self, account: str, user: str = "", partition: str = "") -> Association | None:
        """Find the association of a name, in lower case."""
        return self._made.get((account, user, partition))

    def select(self, accounts: Iterable[str], users: Iterable[str], partitions: Iterable[str]) -> list[Association]:
        """Give the associations of some accounts, users and partitions; an empty list stands for all."""
        wanted = [frozenset(map(str.lower, names)) for names in (accounts, users, partitions)]
        return [
            one
            for one in self._made.values()
            if all(
                not names or value in names
                for names, value in zip(wanted, (one.account, one.user, one.partition), strict=True)
            )
        ]

    # ---- adding -----------------------------------------------------------------------------------------------

    def begin_cluster(self, name: str, place: Place) -> Association:
        """Name the cluster and give its root association.

        Raises:
            InputError: it has another name already.
        """
        if self.cluster and self.cluster != name.lower():
            raise place.error(f"cluster {name!r} after cluster {self.cluster!r}: give each cluster a file of its own")
        if not self.cluster:
            self.cluster = name.lower()
            self.add_user("root", "root", "", place)
            self.users["root"].admin_level = "Administrator"
        return self._made["root", "", ""]

    def add_account(self, name: str, parent: str, place: Place) -> Association:
        """Add an account under another one.

        Raises:
            InputError: the parent does not exist, or the account exists elsewhere.
        """
        above = self.account(parent, place, "Parent")
        name = name.lower()
        known = self._made.get((name, "", ""))
        if known is not None:
            if known.parent_id == above.id:
                raise place.error(f"account {name!r} is there twice", "Account")
            circle = " (and that is under this one: no circles)" if self._is_under(above, known) else ""
            raise place.error(f"account {name!r} is there already, not under {above.account!r}{circle}", "Account")
        organization = above.account if above.parent_id else name
        self.accounts.setdefault(name, Account(name=name, description=name, organization=organization))
        return self._add(Association(account=name, parent_id=above.id))

    def add_user(self, name: str, account: str, partition: str, place: Place) -> Association:
        """Add a user to an account, unless the user is in it already.

        Raises:
            InputError: the account does not exist.
        """
        above = self.account(account, place, "Account")
        key = (above.account, name.lower(), partition)
        if key in self._made:
            return self._made[key]
        self.users.setdefault(key[1], User(name=key[1], default_account=above.account))
        return self._add(Association(account=key[0], user=key[1], partition=partition, parent_id=above.id))

    def add_qos(self, name: str) -> Qos:
        """Give the QOS of a name, which is added if it does not exist."""
        name = name.lower()
        number = max((qos.id for qos in self.qos.values()), default=0) + 1
        return self.qos.setdefault(name, Qos(name=name, id=number, description=name))

    def remove_qos(self, name: str) -> None:
        """Remove a QOS, also from the lists of QOS that others preempt."""
        self.qos.pop(name.lower(), None)
        for qos in self.qos.values():
            qos.preempt = tuple(other for other in qos.preempt if other != name.lower())

    def remove(self, doomed: Iterable[Association]) -> None:
        """Remove associations with everything below them."""
        ids = {one.id for one in doomed}
        while True:
            below = {one.id for one in self._made.values() if one.parent_id in ids} - ids
            if not below:
                break
            ids |= below
        self._made = {key: one for key, one in self._made.items() if one.id not in ids}

    def _add(self, one: Association) -> Association:
        # Ids of removed associations are not used again.
        self._last_id = one.id = self._last_id + 1
        self._made[one.account, one.user, one.partition] = one
        return one

    def _is_under(self, one: Association, other: Association) -> bool:
        by_id = {made.id: made for made in self._made.values()}
        while one.parent_id:
            if one is other:
                return True
            one = by_id[one.parent_id]
        return False

    # ---- setting ----------------------------------------------------------------------------------------------

    def set_association(self, one: Association, key: str, value: str, change: str, place: Place) -> None:
        """Set a key of an association, its account or its user.

        Args:
            one: The association.
            key: Full name of the key.
            value: Value as written.
            change: ``=``, ``+=`` or ``-=``.
            place: File and line, for errors.

        Raises:
            InputError: the value cannot be used.
        """
        with _blame(place, key):
            if key == "Fairshare":
                one.shares_raw = values.shares(value)
            elif key == "Priority":
                one.priority = values.whole(value)
            elif key == "QOS":
                one.qos = values.changed_qos(one.qos, value, change)
            elif key == "DefaultQOS":
                one.default_qos = "" if value == values.UNSET else value.lower()
            elif key == "Parent":
                self._move(one, value, place)
            elif key == "Description":
                self.accounts[one.account].description = value
            elif key == "Organization":
                self.accounts[one.account].organization = value
            elif key == "DefaultAccount" and one.user:
                self.users[one.user].default_account = value.lower()
            elif key == "AdminLevel" and one.user:
                self.users[one.user].admin_level = value
            elif key == "Coordinator" and one.user:
                user = self.users[one.user]
                user.coordinator = values.changed_names(user.coordinator, value, change)
            elif key in LIMITS or key in OLD_LIMITS:
                values.set_limit(one.limits, key, value, OLD_LIMITS)
            elif key not in {"Classification", "Cluster", "Comment", "DefaultWCKey", "WCKeys"}:
                raise place.error("cannot be set here", key)

    def _move(self, one: Association, parent: str, place: Place) -> None:
        above = self.account(parent, place, "Parent")
        if self._is_under(above, one):
            raise place.error(
                f"account {above.account!r} is under {one.account!r}: they cannot be under each other in a circle",
                "Parent",
            )
        one.parent_id = above.id

    def set_qos(self, qos: Qos, key: str, value: str, change: str, place: Place) -> None:
        """Set a key of a QOS. The arguments are those of `set_association`.

        Raises:
            InputError: the value cannot be used.
        """
        with _blame(place, key):
            if key == "Description":
                qos.description = value
            elif key == "Flags":
                qos.flags = values.changed_flags(qos.flags, value, change)
            elif key == "GraceTime":
                qos.grace_time = values.seconds(value)
            elif key == "LimitFactor":
                # Slurm stores "none" as 0.
                qos.limit_factor = values.factor(value) or None
            elif key == "Preempt":
                qos.preempt = values.changed_names(qos.preempt, value, change)
            elif key == "PreemptExemptTime":
                qos.preempt_exempt_time = values.exempt_time(value)
            elif key == "PreemptMode":
                qos.preempt_mode = values.preempt_mode(value)
            elif key == "Priority":
                qos.priority = values.whole(value)
            elif key == "UsageFactor":
                factor = values.factor(value)
                qos.usage_factor = 1.0 if factor is None else factor
            elif key == "UsageThreshold":
                qos.usage_threshold = values.factor(value)
            elif key in QOS_LIMITS or key in OLD_QOS_LIMITS:
                values.set_limit(qos.limits, key, value, OLD_QOS_LIMITS)
            elif key != "Names":
                raise place.error("cannot be set here", key)


def first_tree(cluster: str) -> AssociationTree:
    """Make the tree of a new cluster: the account and the user root, and the QOS normal."""
    builder = TreeBuilder()
    builder.begin_cluster(cluster, Place(Path(cluster), 1)).qos = ("normal",)
    return builder.tree()


@contextmanager
def _blame(place: Place, key: str) -> Iterator[None]:
    """Turn errors about a value into ones that name file and line."""
    try:
        yield
    except LimitError as error:
        raise place.error(error.problem, key) from None
    except ValueError as error:
        raise place.error(str(error), key) from None
