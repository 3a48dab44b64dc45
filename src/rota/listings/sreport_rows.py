"""The lines of ``sreport``: what was used in a time, by the cluster, its accounts and users."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from rota.listings.view import AccountingQuery
from rota.model.tres import gres_counts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.commands.getopt import Parsed
    from rota.listings.view import View
    from rota.model.lines import JobLine


class Row(NamedTuple):
    """A line of a report."""

    cluster: str
    tres: str = ""
    #: Seconds by the name of the field.
    seconds: Mapping[str, float] = {}
    #: Seconds that are 100 %.
    total: float = 0.0
    account: str = ""
    user: str = ""
    tres_count: int = 0
    #: Seconds that would have been, if the cluster had been there all the time.
    possible: float = 0.0
    depth: int = 0


class Asked(NamedTuple):
    """What is asked for."""

    parsed: Parsed
    start: int
    end: int
    tres: tuple[str, ...]
    #: Unit in seconds, 0: none; and whether percentages are shown.
    unit: int
    percent: bool
    format: str
    conditions: Mapping[str, frozenset[str]]
    flags: frozenset[str]

    @property
    def top(self) -> int:
        """Number of users of a list of the first ones."""
        text = next(iter(self.conditions.get("topcount", ("10",))))
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 10

    def allows(self, key: str, value: str) -> bool:
        """Whether a value is among those asked for, if any are."""
        wanted = self.conditions.get(key)
        return not wanted or value.lower() in wanted

    def of(self, seconds: float, total: float) -> str:
        """Format a time."""
        share = f"{100 * seconds / total if total else 0:.2f}%"
        number = f"{seconds / self.unit:.0f}" if self.unit else ""
        if not self.percent:
            return number
        return f"{number}({share})" if number else share


def cluster_rows(asked: Asked, view: View) -> list[Row]:
    """Say what the cluster was doing."""
    cluster = view.config.cluster_name
    start, end = max(asked.start, view.statistics().boot_time), min(asked.end, view.now)
    if end <= start or not asked.allows("clusters", cluster):
        return []
    allocated: Counter[str] = Counter()
    planned = 0.0
    for job in _jobs(asked, view):
        allocated.update(_used(job, asked, view))
        if job.eligible_time is not None:
            waited_until = job.start_time or job.end_time or view.now
            planned += job.num_cpus * _overlap(job.eligible_time, waited_until, start, end)
    counts = _totals(view)
    down = dict.fromkeys(asked.tres, 0.0)
    for node, since, over in view.down_times():
        lasted = _overlap(since, view.now if over is None else over, start, end)
        for name in asked.tres:
            down[name] += lasted * counts.get(node, {}).get(name, 0)
    rows = []
    for name in asked.tres:
        count = sum(of_node.get(name, 0) for of_node in counts.values())
        reported = float(count * (end - start))
        idle = max(reported - allocated[name] - down[name], 0.0)
        waiting = min(planned, idle) if name == "cpu" else 0.0
        seconds = {
            "allocated": float(allocated[name]),
            "down": down[name],
            "planned": waiting,
            "idle": idle - waiting,
            "reported": reported,
        }
        possible = float(count * (asked.end - asked.start))
        rows.append(Row(cluster, name, seconds, reported, possible=possible, tres_count=count))
    return rows


def _totals(view: View) -> dict[str, dict[str, int]]:
    """Count the TRES of each node."""
    found = {}
    for node in view.nodes():
        gres = {f"gres/{name}": count for name, count in gres_counts(",".join(node.gres)).items()}
        found[node.name] = {"cpu": node.cpus, "billing": node.cpus, "mem": node.memory, "node": 1, **gres}
    return found


def _whole(asked: Asked, view: View) -> dict[str, float]:
    """Give the seconds of each TRES that are 100 %."""
    seconds = max(min(asked.end, view.now) - max(asked.start, view.statistics().boot_time), 0)
    counts = _totals(view).values()
    return {name: float(seconds * sum(one.get(name, 0) for one in counts)) for name in asked.tres}


def _by_user(asked: Asked, view: View) -> dict[tuple[str, str], Counter[str]]:
    """Add up what was used, by account and user."""
    used: dict[tuple[str, str], Counter[str]] = {}
    for job in _jobs(asked, view):
        seconds = _used(job, asked, view)
        if (
            any(seconds.values())
            and asked.allows("users", job.user)
            and asked.allows("clusters", view.config.cluster_name)
        ):
            used.setdefault((job.account, job.user), Counter()).update(seconds)
    return used


def accounts_rows(asked: Asked, view: View) -> list[Row]:
    """List accounts in the order of their tree, each with its users."""
    used, whole, cluster = _by_user(asked, view), _whole(asked, view), view.config.cluster_name
    lines = [(line.association, line.depth) for line in view.associations()]
    by_id = {one.id: one for one, _ in lines}
    above = {one.account: by_id[one.parent_id].account for one, _ in lines if not one.user and one.parent_id}
    depth = {one.account: depth for one, depth in lines if not one.user}
    # Jobs may have been charged to accounts that are no more, or never were.
    order = [one.account for one, _ in lines if not one.user]
    order += sorted({account for account, _ in used} - set(order))
    sums: dict[str, Counter[str]] = {}
    for (account, _), seconds in used.items():
        place = account
        while place:
            sums.setdefault(place, Counter()).update(seconds)
            place = above.get(place, "" if place == "root" else "root")
    rows = []
    for account in order:
        if account not in sums or not asked.allows("accounts", account):
            continue
        level = depth.get(account, 1)
        of_account = [] if "users" in asked.conditions else [("", sums[account])]
        of_users = sorted(
            (user, seconds) for (name, user), seconds in used.items() if name == account and _shows(view, user, name)
        )
        for user, seconds in [*of_account, *of_users]:
            rows += _rows(asked, whole, seconds, Row(cluster, account=account, user=user, depth=level + bool(user)))
    return rows


def users_rows(asked: Asked, view: View) -> list[Row]:
    """List users with their accounts, those who have used most first."""
    used, whole, cluster = _by_user(asked, view), _whole(asked, view), view.config.cluster_name
    ordered = sorted(used.items(), key=lambda one: (-one[1]["cpu"], one[0][1], one[0][0]))
    return [
        row
        for (account, user), seconds in ordered
        if asked.allows("accounts", account) and _shows(view, user, account)
        for row in _rows(asked, whole, seconds, Row(cluster, account=account, user=user))
    ]


def top_users_rows(asked: Asked, view: View) -> list[Row]:
    """List those who have used most, as many as asked for."""
    whole, cluster = _whole(asked, view), view.config.cluster_name
    used: dict[tuple[str, str], Counter[str]] = {}
    names: dict[str, list[str]] = {}
    for (account, user), seconds in _by_user(asked, view).items():
        if asked.allows("accounts", account) and _shows(view, user, account):
            names.setdefault(user, []).append(account)
            used.setdefault((user, "" if "group" in asked.flags else account), Counter()).update(seconds)
    first = asked.tres[0]
    ordered = sorted(used.items(), key=lambda one: (-one[1][first], one[0]))[: asked.top]
    return [
        row
        for (user, account), seconds in ordered
        for row in _rows(asked, whole, seconds, Row(cluster, account=account or ", ".join(names[user]), user=user))
    ]


def _shows(view: View, user: str, account: str) -> bool:
    """Whether the user who asks may see what another one has used."""
    return all(view.privacy.shows(kind, user, account) for kind in ("usage", "users"))


def _rows(asked: Asked, whole: Mapping[str, float], seconds: Counter[str], row: Row) -> list[Row]:
    """Make a line for each TRES."""
    return [row._replace(tres=name, seconds={"used": float(seconds[name])}, total=whole[name]) for name in asked.tres]


# ---- jobs ------------------------------------------------------------------------------------------------------


def _jobs(asked: Asked, view: View) -> list[JobLine]:
    """Give the runs that there were in the time, each once."""
    records = view.accounted(AccountingQuery(start=asked.start, end=asked.end, every_run=True))
    return [record.job for record in records]


def _used(job: JobLine, asked: Asked, view: View) -> dict[str, int]:
    """Give the seconds of each TRES that a job has used in the time."""
    if job.start_time is None:
        return {}
    until = view.now if job.end_time is None else min(job.end_time, view.now)
    lasted = max(until - job.start_time, 0)
    seconds = _overlap(job.start_time, until, asked.start, asked.end)
    if lasted:
        seconds -= min(job.suspended * seconds // lasted, seconds)
    return {name: seconds * (job.num_cpus if name == "cpu" else job.tres_allocated.get(name, 0)) for name in asked.tres}


def _overlap(start: int, end: int, begin: int, until: int) -> int:
    return max(min(end, until) - max(start, begin), 0)
