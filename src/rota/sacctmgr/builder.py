"""A tree in the making: what dumps and scripts do to it, line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rota.accounting import AssociationTree
from rota.model import SHARES_PARENT, Account, Association, InputError, Qos, User
from rota.sacctmgr.keys import LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_MAX_32 = 2**32 - 1
#: What sacctmgr takes for "no limit".
_UNSET = "-1"


class Place(NamedTuple):
    """Where something stands."""

    path: Path
    line: int

    def error(self, problem: str, field: str | None = None) -> InputError:
        """Make the error that points here."""
        return InputError(problem, path=self.path, line=self.line, field=field)


class TreeBuilder:
    """Accounts, users and QOS of one cluster."""

    def __init__(self) -> None:
        #: Empty until a file has named it.
        self.cluster = ""
        self.qos: dict[str, Qos] = {"normal": Qos(name="normal", id=1, description="Normal QOS default")}
        self.accounts: dict[str, Account] = {}
        self.users: dict[str, User] = {}
        #: By account, user and partition.
        self._made: dict[tuple[str, str, str], Association] = {}
        self._add(Association(id=1, account="root"))

    def tree(self) -> AssociationTree:
        """Give the tree."""
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
        """Find an account's association.

        Raises:
            InputError: there is none.
        """
        found = self._made.get((name.lower(), "", ""))
        if found is None:
            raise place.error(f"there is no account {name!r} so far: add it first", field)
        return found

    def select(self, accounts: Iterable[str], users: Iterable[str], partitions: Iterable[str]) -> list[Association]:
        """Give the associations of these accounts, users and partitions; of none given, all."""
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
        """Name the cluster; give its root.

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
        """Add an account under another.

        Raises:
            InputError: the parent is not there, or the account is there already, elsewhere.
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
        return self._add(Association(id=len(self._made) + 1, account=name, parent_id=above.id))

    def add_user(self, name: str, account: str, partition: str, place: Place) -> Association:
        """Add a user to an account; one who is there already is given as is.

        Raises:
            InputError: the account is not there.
        """
        above = self.account(account, place, "Account")
        key = (above.account, name.lower(), partition)
        if key in self._made:
            return self._made[key]
        self.users.setdefault(key[1], User(name=key[1], default_account=above.account))
        return self._add(
            Association(id=len(self._made) + 1, account=key[0], user=key[1], partition=partition, parent_id=above.id)
        )

    def add_qos(self, name: str) -> Qos:
        """Add a QOS, or give the one of that name."""
        name = name.lower()
        number = max((qos.id for qos in self.qos.values()), default=0) + 1
        return self.qos.setdefault(name, Qos(name=name, id=number))

    def remove(self, doomed: Iterable[Association]) -> None:
        """Remove associations, and all that is under them."""
        ids = {one.id for one in doomed}
        while True:
            below = {one.id for one in self._made.values() if one.parent_id in ids} - ids
            if not below:
                break
            ids |= below
        self._made = {key: one for key, one in self._made.items() if one.id not in ids}

    def _add(self, one: Association) -> Association:
        # Numbers of removed associations are not given again.
        one.id = max((other.id for other in self._made.values()), default=0) + 1
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
        """Set a key of an association, and of its account or user.

        Args:
            one: The association.
            key: Full name.
            value: As written.
            change: ``=``, ``+=`` or ``-=``.
            place: For messages.

        Raises:
            InputError: the value cannot be used.
        """
        if key == "Fairshare":
            one.shares_raw = _shares(value, place)
        elif key == "Priority":
            one.priority = _whole(value, key, place)
        elif key == "QOS":
            one.qos = _changed(one.qos, _list(value), change)
        elif key == "DefaultQOS":
            one.default_qos = "" if value == _UNSET else value.lower()
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
            self.users[one.user].coordinator = _changed(self.users[one.user].coordinator, _list(value), change)
        elif key in LIMITS:
            if value == _UNSET:
                one.limits.pop(key, None)
            else:
                one.limits[key] = value
        elif key not in {"Cluster", "Comment", "DefaultWCKey"}:
            raise place.error("cannot be set here", key)

    def _move(self, one: Association, parent: str, place: Place) -> None:
        above = self.account(parent, place, "Parent")
        if self._is_under(above, one):
            raise place.error(
                f"account {above.account!r} is under {one.account!r}: they cannot be under each other in a circle",
                "Parent",
            )
        one.parent_id = above.id

    def set_qos(self, qos: Qos, key: str, value: str, place: Place) -> None:
        """Set a key of a QOS.

        Raises:
            InputError: the value cannot be used.
        """
        if key == "Priority":
            qos.priority = _whole(value, key, place)
        elif key == "UsageFactor":
            qos.usage_factor = _factor(value, key, place)
        elif key == "Flags":
            qos.flags = tuple(word.strip() for word in value.split(",") if word.strip() not in {"", _UNSET})
        elif key == "Description":
            qos.description = value
        elif value == _UNSET:
            qos.limits.pop(key, None)
        else:
            qos.limits[key] = value


def _shares(text: str, place: Place) -> int:
    if text.lower() == "parent":
        return SHARES_PARENT
    if not text.isascii() or not text.isdigit() or int(text) > SHARES_PARENT:
        if text == _UNSET:
            return 1
        raise place.error(f"{text!r} is not a number of shares: a whole number of at least 0, or parent", "Fairshare")
    return int(text)


def _whole(text: str, key: str, place: Place) -> int:
    if text == _UNSET:
        return 0
    if not text.isascii() or not text.isdigit() or int(text) > _MAX_32:
        raise place.error(f"{text!r} is not a whole number from 0 to {_MAX_32}", key)
    return int(text)


def _factor(text: str, key: str, place: Place) -> float:
    try:
        factor = float(text)
    except ValueError:
        factor = -1.0
    if not 0 <= factor < float("inf"):
        raise place.error(f"{text!r} is not a number of at least 0", key)
    return factor


def _list(text: str) -> tuple[str, ...]:
    return tuple(word.strip().lower() for word in text.split(",") if word.strip())


def _changed(old: tuple[str, ...], words: tuple[str, ...], change: str) -> tuple[str, ...]:
    """Change a list of names, sorted. To what is inherited (``+x``, ``-x``, or nothing) changes are noted."""
    if change == "=":
        return tuple(sorted(words))
    sign = change[0]
    if old and old[0][0] not in "+-":
        kept = tuple(name for name in old if name not in words)
        return tuple(sorted(kept + words)) if sign == "+" else kept
    noted = tuple(name for name in old if name[1:] not in words)
    return noted + tuple(f"{sign}{name}" for name in words)
