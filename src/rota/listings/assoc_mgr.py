"""``scontrol show assoc_mgr``: users, associations and QOS, their limits, and in brackets what is used of these.

``N`` is a limit that there is not. Of limits on each job, which are not used up, only those that there are are shown.
An association has the limits on each job that the accounts above it give it; limits on all its jobs are its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rota.listings.answer import Answer
from rota.listings.live_counts import LiveCounts, Sums
from rota.listings.sacctmgr_tree import Inherited
from rota.listings.text import NULL
from rota.model import SHARES_PARENT
from rota.model.limits import read_count_limit, read_time_limit, read_tres_limit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rota.commands.assoc_mgr import AssocMgrQuery
    from rota.listings.view import View
    from rota.model import Association, Qos, User

#: What Slurm prints as the user id of a user that the system does not know.
_NO_USER = 0xFFFFFFFE
_NO_SUMS = Sums()


def show_assoc_mgr(asked: AssocMgrQuery, view: View, *, one_line: bool) -> Answer:
    """Print what is asked for of what the user may see: of QOS everything.

    Args:
        asked: The filters. Those of users and accounts do not hold back the accounts' own associations, or QOS.
        view: The cluster.
        one_line: Whether each record is a line.
    """
    shown = _Shown(view, one_line=one_line)
    parts = {
        "users": ("User Records", "No users currently cached in Slurm.", shown.users),
        "assoc": ("Association Records", "No associations currently cached in Slurm.", shown.associations),
        "qos": ("QOS Records", "No QOS currently cached in Slurm.", shown.all_qos),
    }
    blank = "" if one_line else "\n"
    text = "Current Association Manager state\n"
    for flag, (heading, none, records) in parts.items():
        if flag in asked.flags:
            found = "".join(f"{record}\n" for record in records(asked))
            text += f"{blank}{heading if found else none}\n{blank}{found}"
    return Answer(text)


class _Limits(NamedTuple):
    """Limits, and what is used of them."""

    texts: Mapping[str, str]
    tres: Sequence[str]

    def number(self, key: str, used: int | None = None, *, shown_as: str = "", none: str = "N") -> str:
        """Write a limit on a number; with ``none`` empty, what is used only where there is a limit."""
        text = self.texts.get(key, "")
        most = read_count_limit(key, text) if text else None
        value = none if most is None else str(most)
        return f"{shown_as or key}={value}{f'({used})' if used is not None and value else ''}"

    def minutes(self, key: str) -> str:
        """Write a limit on time in minutes; empty: there is none."""
        text = self.texts.get(key, "")
        seconds = read_time_limit(key, text) if text else None
        return "" if seconds is None else str(seconds // 60)

    def wall(self, used: float) -> str:
        return f"GrpWall={self.minutes('GrpWall') or 'N'}({used / 60:.2f})"

    def of_tres(self, key: str, shown_as: str, used: Mapping[str, float] | None = None, *, divisor: int = 1) -> str:
        """Write limits on TRES: all of them with what is used, otherwise those that there are."""
        limits = read_tres_limit(key, self.texts.get(key, ""), None)
        several = []
        for name in self.tres:
            most = limits.get(name)
            if used is not None:
                several.append(f"{name}={'N' if most is None else most}({int(used.get(name, 0)) // divisor})")
            elif most is not None:
                several.append(f"{name}={most}")
        return f"{shown_as}={','.join(several)}"

    def group(self, sums: Sums, minutes: Sequence[float], run_seconds: Mapping[str, float]) -> list[str]:
        """Write the lines about the TRES of all jobs together."""
        used = dict(zip(self.tres, minutes, strict=False))
        return [
            self.of_tres("GrpTRES", "GrpTRES", sums.tres),
            self.of_tres("GrpTRESMins", "GrpTRESMins", used, divisor=60),
            self.of_tres("GrpTRESRunMins", "GrpTRESRunMins", run_seconds, divisor=60),
        ]

    def each(self) -> list[str]:
        """Write the lines about the TRES of each job."""
        return [
            self.of_tres("MaxTRESPerJob", "MaxTRESPJ"),
            self.of_tres("MaxTRESPerNode", "MaxTRESPN"),
            self.of_tres("MaxTRESMinsPerJob", "MaxTRESMinsPJ"),
        ]


class _Shown:
    """The records."""

    def __init__(self, view: View, *, one_line: bool) -> None:
        self._view = view
        self._one_line = one_line
        self._lines = " " if one_line else "\n    "
        self._accounting = view.accounting()
        self._tree = Inherited(view)
        self._defaults = {(one.name, one.default_account) for one in self._accounting.users}
        factors = {one.name: one.usage_factor for one in self._accounting.qos}
        self._counts = LiveCounts(view.all_jobs(), self._tree.all, view.now, lambda name: factors.get(name, 1.0))

    # ---- users ------------------------------------------------------------------------------------------------

    def users(self, asked: AssocMgrQuery) -> Iterable[str]:
        view = self._view
        for one in sorted(self._accounting.users, key=lambda user: user.name):
            if asked.users and one.name not in asked.users:
                continue
            if "users" not in view.privacy.kinds or one.name == view.user:
                yield self._user(one)

    def _user(self, one: User) -> str:
        default = one.default_account or NULL
        return f"UserName={self._named(one.name)} DefAccount={default} DefWckey= AdminLevel={one.admin_level}"

    def _named(self, user: str) -> str:
        number = self._view.user_id(user)
        return f"{user}({_NO_USER if number is None else number})"

    # ---- associations -----------------------------------------------------------------------------------------

    def associations(self, asked: AssocMgrQuery) -> Iterable[str]:
        left, level = _left_values(self._tree.all), _level_shares(self._tree.all)
        for one in self._tree.all:
            if asked.accounts and one.account.lower() not in asked.accounts:
                continue
            if asked.users and one.user and one.user not in asked.users:
                continue
            if self._view.privacy.shows_association(one):
                yield self._lines.join(self._association(one, left[one.id], level[one.id]))

    def _association(self, one: Association, left: int, level: int) -> list[str]:
        sums = self._counts.associations.get(one.id, _NO_SUMS)
        limits = _Limits(self._tree.shown(one).limits, self._view.tres)
        root = not one.parent_id
        factor = one.fs_factor if one.user or not self._view.priority_conf.fair_tree else 0.0
        parent = self._tree.parent(one)
        user = f"{self._named(one.user)} " if one.user else " "
        is_default = (one.user, one.account) in self._defaults
        return [
            (
                f"ClusterName={self._view.config.cluster_name} Account={one.account} UserName={user}"
                f"Partition={one.partition} Priority={one.priority} ID={one.id}"
            ),
            f"SharesRaw/Norm/Level/Factor={one.shares_raw}/{0.0 if root else one.shares_norm:.2f}/{level}/{factor:.2f}",
            (
                f"UsageRaw/Norm/Efctv={one.usage_raw:.2f}/{1.0 if root else one.usage_norm:.2f}"
                f"/{1.0 if root else one.usage_efctv:.2f}"
            ),
            (
                f"ParentAccount={f'{parent}({one.parent_id})' if parent else ''} "
                f"Lft={left} DefAssoc={'Yes' if is_default else 'No'}"
            ),
            f"{limits.number('GrpJobs', sums.jobs)} {limits.number('GrpJobsAccrue', 0)}",
            f"{limits.number('GrpSubmitJobs', sums.submitted)} {limits.wall(one.grp_used_wall)}",
            *limits.group(
                sums, one.usage_tres_raw, dict(zip(self._view.tres, one.grp_used_tres_run_secs, strict=False))
            ),
            (
                f"{limits.number('MaxJobs', sums.jobs, none='')} {limits.number('MaxJobsAccrue', 0, none='')} "
                f"{limits.number('MaxSubmitJobs', sums.submitted, none='')} "
                f"MaxWallPJ={limits.minutes('MaxWallDurationPerJob')}"
            ),
            *limits.each(),
            limits.number("MinPrioThreshold", shown_as="MinPrioThresh", none=""),
        ]

    # ---- QOS --------------------------------------------------------------------------------------------------

    def all_qos(self, asked: AssocMgrQuery) -> Iterable[str]:
        for one in sorted(self._accounting.qos, key=lambda qos: qos.id):
            if not asked.qos or one.name.lower() in asked.qos:
                yield self._lines.join(self._qos(one))

    def _qos(self, one: Qos) -> list[str]:
        sums = self._counts.qos.get(one.name, _NO_SUMS)
        usage = self._view.qos_usage(one.name)
        limits = _Limits(one.limits, self._view.tres)
        mode = ",".join(one.preempt_mode).upper() or "OFF"
        accounts = [(name, of) for (qos, name), of in self._counts.accounts.items() if qos == one.name]
        users = [(str(number), of) for (qos, number), of in self._counts.users.items() if qos == one.name]
        return [
            f"QOS={one.name}({one.id})",
            f"UsageRaw={usage.usage_raw:.6f}",
            (
                f"{limits.number('GrpJobs', sums.jobs)} {limits.number('GrpJobsAccrue', 0)} "
                f"{limits.number('GrpSubmitJobs', sums.submitted)} {limits.wall(usage.grp_used_wall)}"
            ),
            *limits.group(sums, usage.usage_tres_raw, sums.run_seconds),
            f"MaxWallPJ={limits.minutes('MaxWallDurationPerJob')}",
            *limits.each(),
            limits.number("MinPrioThreshold", shown_as="MinPrioThresh", none="") + " ",
            limits.of_tres("MinTRESPerJob", "MinTRESPJ"),
            f"PreemptMode={mode}",
            f"Priority={one.priority}",
            self._parts("Account", accounts, limits),
            self._parts("User", users, limits),
        ]

    def _parts(self, whose: str, parts: Sequence[tuple[str, Sums]], limits: _Limits) -> str:
        """Write what each account or user has of a QOS."""
        heading = f"{whose} Limits"
        if not parts:
            return f"{heading}=No {whose}s" if self._one_line else f"{heading}\n        No {whose}s"
        written = []
        for name, sums in parts:
            counts = (("Jobs", sums.jobs), ("JobsAccrue", 0), ("SubmitJobs", sums.submitted))
            numbers = " ".join(
                limits.number(f"Max{what}Per{whose}", used, shown_as=f"Max{what}P{whose[0]}") for what, used in counts
            )
            tres = limits.of_tres(f"MaxTRESPer{whose}", f"MaxTRESP{whose[0]}", sums.tres)
            written.append(
                f" {name}={{{numbers} {tres}}}"
                if self._one_line
                else f"\n      {name}\n        {numbers}\n        {tres}"
            )
        return f"{heading}{'=' if self._one_line else ''}{''.join(written)}"


def _children(associations: Iterable[Association]) -> dict[int, list[Association]]:
    found: dict[int, list[Association]] = {}
    for one in associations:
        found.setdefault(one.parent_id, []).append(one)
    return found


def _left_values(associations: Sequence[Association]) -> dict[int, int]:
    """Number the associations as the accounting database nests them: what was added last comes first."""
    children = _children(associations)
    left: dict[int, int] = {}
    next_value = 1
    # From the end: what is opened, and what is closed after all that is in it.
    open_or_close: list[tuple[Association, bool]] = [(one, True) for one in children.get(0, ())]
    while open_or_close:
        one, opens = open_or_close.pop()
        if opens:
            left[one.id] = next_value
            below = sorted(children.get(one.id, ()), key=lambda child: child.id)
            open_or_close += [(one, False), *((child, True) for child in below)]
        next_value += 1
    return left


def _level_shares(associations: Sequence[Association]) -> dict[int, int]:
    """Add up the shares among which each association has its own; 1 for the root.

    What has its parent's shares passes on its children to the level of the parent, and adds nothing to it.
    """
    above: dict[int, int] = {}
    total: dict[int, int] = {}
    taken_up: set[int] = set()
    for one in associations:  # accounts above come first
        parent = one.parent_id
        above[one.id] = above[parent] if parent in taken_up else parent
        if one.shares_raw == SHARES_PARENT:
            taken_up.add(one.id)
        else:
            total[above[one.id]] = total.get(above[one.id], 0) + one.shares_raw
    return {one.id: total.get(above[one.id], 0) if one.parent_id else 1 for one in associations}
