"""The associations that ``sacctmgr list`` shows, with what they inherit from the accounts above them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rota.listings.privacy import Privacy
    from rota.listings.view import View
    from rota.model import Association

#: Limits that the users of an account, and the accounts below it, have too.
_INHERITED = ("Max", "MinPrio")


class Inherited:
    """The associations, with what they inherit from the accounts above them."""

    def __init__(self, view: View) -> None:
        #: In the order of listings.
        self.all: list[Association] = [line.association for line in view.associations()]
        self._by_id = {one.id: one for one in self.all}

    def seen(self, privacy: Privacy) -> set[int]:
        """Give the ids of the associations that a user may see: accounts above them too."""
        found: set[int] = set()
        for one in self.all:
            if privacy.shows("users", one.user or "\0", one.account):
                place: Association | None = one
                while place is not None:
                    found.add(place.id)
                    place = self._by_id.get(place.parent_id)
        return found

    def of_user(self, name: str) -> list[Association]:
        """Give the associations of a user, in the order in which they were made."""
        return sorted((one for one in self.all if one.user == name), key=lambda one: one.id)

    def of_account(self, name: str) -> list[Association]:
        """Give the associations of an account and its users."""
        return [one for one in self.all if one.account == name]

    def below(self, accounts: Iterable[str]) -> list[str]:
        """Name the accounts below some accounts, in lower case."""
        found = {name.lower() for name in accounts}
        for one in self.all:  # accounts above come first
            if self.parent(one).lower() in found:
                found.add(one.account.lower())
        return sorted(found)

    def parent(self, one: Association) -> str:
        """Name the account above an account; empty for users and the root."""
        return "" if one.user or not one.parent_id else self._by_id[one.parent_id].account

    def shown(self, one: Association) -> Association:
        """Give a copy with the values that are in force."""
        path = [one]
        while path[-1].parent_id:
            path.append(self._by_id[path[-1].parent_id])
        limits: dict[str, str] = {}
        names: tuple[str, ...] = ()
        for above in reversed(path):
            own = above is one
            limits |= {name: text for name, text in above.limits.items() if own or name.startswith(_INHERITED)}
            names = _changed(names, above.qos)
        return replace(
            one,
            limits=limits,
            qos=tuple(sorted(names)),
            default_qos=next((above.default_qos for above in path if above.default_qos), ""),
            priority=next((above.priority for above in path if above.priority), 0),
        )

    def coordinated(self, accounts: Sequence[str]) -> set[str]:
        """Name accounts with all accounts below them."""
        found: set[str] = set()
        for one in self.all:
            if not one.user and (one.account in accounts or self.parent(one) in found):
                found.add(one.account)
        return found


def _changed(names: tuple[str, ...], own: tuple[str, ...]) -> tuple[str, ...]:
    """Apply an association's list of QOS to that of the account above it."""
    if not own or own[0][0] not in "+-":
        return own or names
    for change in own:
        names = tuple(name for name in names if name != change[1:])
        if change[0] == "+":
            names = (*names, change[1:])
    return names
