"""Advance reservations: nodes that a job cannot use, and when a job in a reservation may start.

Over 400 lines: each rule reads or changes the same few reservations.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from rota.core.plain import shape_of
from rota.core.timers import Timer, TimerKind
from rota.model import Errno, JobState, Reason, RequestError
from rota.model.constraint import parse_constraint
from rota.model.reservation import FLAGS, Reservation
from rota.resources.nodeset import indices, lowest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rota.core.accounts.charging import Accounts
    from rota.core.job import Job
    from rota.core.machine import NodeMapping
    from rota.core.queue.job_queue import JobQueue
    from rota.core.state import ClusterState


class Reservations:
    """All reservations.

    Args:
        state: The machine and its jobs.
        queue: The pending jobs.
        accounts: The associations of jobs.
        utc_offset: Gives local time minus UTC in seconds, at a Unix time.
    """

    def __init__(
        self, state: ClusterState, queue: JobQueue, accounts: Accounts, utc_offset: Callable[[int], int]
    ) -> None:
        self._state = state
        self._queue = queue
        self._accounts = accounts
        self._utc_offset = utc_offset
        #: Reservations by name, each in its current or next occurrence.
        self.all: dict[str, Reservation] = {}

    # ---- changes ----------------------------------------------------------------------------------------------

    def create(self, one: Reservation) -> None:
        """Add a reservation.

        Raises:
            RequestError: the name is used, the end has passed, nodes do not exist, or are reserved or in use at that
                time, or there are too few nodes to choose from.
        """
        one = self._of_partition(self._dated(one))
        self._check(one)
        if one.node_cnt:
            one = replace(one, nodes=self._choose(one, one.nodes, one.node_cnt), choice=one.nodes)
        self._check_others(one)
        if one.name in self.all:
            raise RequestError(f"Duplicate reservation name: there is a {one.name}", Errno.RESERVATION_NAME_DUP)
        self._set(one)

    def update(self, one: Reservation) -> None:
        """Change the reservation of a name.

        Raises:
            RequestError: there is none; and as `create` does.
        """
        if one.name not in self.all:
            raise RequestError(f"Requested reservation is invalid: there is no {one.name}", Errno.RESERVATION_INVALID)
        one = self._of_partition(self._dated(one))
        self._check(one)
        more = one.node_cnt - one.nodes.bit_count() if one.node_cnt else 0
        if more < 0:
            one = replace(one, nodes=lowest(one.nodes, one.node_cnt))
        elif more:
            choice = one.choice or (1 << len(self._state.nodes)) - 1
            found = self._choose(one, choice & ~one.nodes, more)
            if found.bit_count() < more:
                raise RequestError(f"Requested nodes are busy: {more} more are asked for", Errno.NODES_BUSY)
            one = replace(one, nodes=one.nodes | found, choice=choice)
        self._check_others(one)
        self._set(one)

    def _check(self, one: Reservation) -> None:
        """Check a reservation by itself.

        Raises:
            RequestError: it cannot be.
        """
        state = self._state
        if any(nodes < 0 or nodes >> len(state.nodes) for nodes in (one.nodes, one.choice)):
            raise RequestError(
                f"Invalid node name specified: reservation {one.name} has nodes that there are not",
                Errno.INVALID_NODE_NAME,
            )
        if not one.name or not one.flags.issubset(FLAGS):
            raise RequestError("a reservation has no name, or a flag that there is not", Errno.RESERVATION_INVALID)
        if one.end_time <= max(one.start_time, state.now) or not one.nodes:
            raise RequestError(f"reservation {one.name} has no time or no nodes", Errno.RESERVATION_INVALID)

    def _check_others(self, one: Reservation) -> None:
        """Check a reservation against the others, and against running jobs.

        Raises:
            RequestError: its nodes are reserved or in use at that time.
        """
        state = self._state
        if not one.flags & {"MAINT", "OVERLAP"}:
            for other in self.all.values():
                if other.name == one.name:
                    continue
                free = other.flags & {"MAINT", "OVERLAP"}
                if not free and one.nodes & other.nodes and other.overlaps(one.start_time, one.end_time):
                    text = f"Requested reservation overlaps with another reservation: {one.name} with {other.name}"
                    raise RequestError(text, Errno.RESERVATION_OVERLAP)
        if "IGNORE_JOBS" not in one.flags:
            used = self._used(one.start_time, besides=one.name)
            for index in indices(one.nodes):
                if index in used:
                    name = state.nodes[index].name
                    text = f"Requested nodes are busy: {name} of {one.name} is in use by job {used[index]} then"
                    raise RequestError(text, Errno.NODES_BUSY)

    def _set(self, one: Reservation) -> None:
        self.all[one.name] = one
        self._changed()
        self._set_timer(one)

    def _choose(self, one: Reservation, nodes: int, wanted: int) -> int:
        """Choose nodes of a bitmap for a reservation, as Slurm 22.05 does; give their bitmap.

        Nodes that are down are chosen for ``MAINT`` only, and last; before them reserved nodes, if that is allowed;
        before these nodes with running jobs, beginning with the oldest job's. Otherwise the order is that of
        slurm.conf. If fewer nodes are up and not reserved, and no features are asked for, the reservation gets these.

        Raises:
            RequestError: too few nodes have the features, or are without jobs.
        """
        down, reserved = self._state.down, 0
        for other in self.all.values():
            if other.overlaps(one.start_time, one.end_time):
                reserved |= other.nodes
        if "MAINT" not in one.flags:
            nodes &= ~down if "OVERLAP" in one.flags else ~(down | reserved)
        count = min(wanted, nodes.bit_count())
        if one.features:
            nodes &= self._with_features(one.features)
            count = wanted
            if nodes.bit_count() < count:
                raise RequestError(
                    f"Requested node configuration is not available: {one.name} asks for {count} nodes with "
                    f"{one.features}, and there are {nodes.bit_count()}",
                    Errno.REQUESTED_NODE_CONFIG_UNAVAILABLE,
                )
        used = self._used(one.start_time)
        found = [index for index in indices(nodes) if index not in used or "IGNORE_JOBS" in one.flags]
        if not 0 < count <= len(found):
            raise RequestError(
                f"Requested nodes are busy: {one.name} asks for {wanted} nodes, and {len(found)} are free then",
                Errno.NODES_BUSY,
            )
        found.sort(key=lambda index: (down >> index & 1, reserved >> index & 1, used.get(index, 0)))
        return sum(1 << index for index in found[:count])

    def replace_nodes(self) -> bool:
        """Replace chosen nodes that are down, as far as other nodes are available; return whether any were replaced."""
        down, before = self._state.down, dict(self.all)
        for one in [one for one in self.all.values() if one.choice and one.nodes & down]:
            lost = one.nodes & down
            try:
                found = self._choose(one, one.choice & ~(one.nodes | down), lost.bit_count())
            except RequestError:
                continue
            self.all[one.name] = replace(one, nodes=one.nodes & ~lowest(lost, found.bit_count()) | found)
            self._changed()
        return self.all != before

    def _with_features(self, features: str) -> int:
        """Give the bitmap of the nodes with some features.

        Raises:
            RequestError: no node has one of the features, or the syntax is wrong.
        """
        nodes = list(enumerate(self._state.nodes))

        def having(name: str) -> int:
            return sum(1 << index for index, node in nodes if name in node.features)

        try:
            constraint = parse_constraint(features)
        except ValueError as error:
            raise RequestError(f"Invalid feature specification: {error}", Errno.INVALID_FEATURE) from None
        if constraint.counted or constraint.options or not all(map(having, constraint.features)):
            problem = "counts, brackets or a feature that no node has"
            raise RequestError(f"Invalid feature specification: {problem}: {features}", Errno.INVALID_FEATURE)
        return constraint.nodes(having)

    def _used(self, time: int, besides: str = "") -> dict[int, int]:
        """Give the indices of nodes on which jobs run beyond a time, with the oldest job of each.

        Args:
            time: Unix seconds.
            besides: Name of a reservation whose jobs do not count; empty: all count.
        """
        used: dict[int, int] = {}
        for job in self._state.running:
            if (job.end_time or 0) > time and not (besides and job.spec.reservation == besides):
                for index in indices(job.alloc_nodes):
                    used[index] = min(used.get(index, job.job_id), job.job_id)
        return used

    def delete(self, name: str) -> None:
        """Remove a reservation.

        Raises:
            RequestError: there is no such reservation, or it has jobs.
        """
        if name not in self.all:
            raise RequestError(f"Requested reservation is invalid: there is no {name}", Errno.RESERVATION_INVALID)
        if self._has_jobs(name):
            raise RequestError(f"Requested reservation is in use: {name} has jobs", Errno.RESERVATION_BUSY)
        del self.all[name]
        self._state.timers.cancel(_timer(name))
        self._changed()

    def _dated(self, one: Reservation) -> Reservation:
        """Give a reservation with the day of the week on which it starts."""
        if one.flags.isdisjoint(("WEEKDAY", "WEEKEND")):
            return one
        day = (one.start_time + self._utc_offset(one.start_time)) // 86400
        return replace(one, weekday=(day + 3) % 7)  # the first day of Unix was a Thursday

    def _of_partition(self, one: Reservation) -> Reservation:
        """Give a reservation with the nodes that its partition has now, if it has ``PART_NODES``."""
        part = self._state.partitions.get(one.partition) if "PART_NODES" in one.flags else None
        return one if part is None else replace(one, nodes=part.nodes, choice=0, node_cnt=0)

    def _set_timer(self, one: Reservation) -> None:
        time = one.start_time if one.start_time > self._state.now else min(one.end_time, self._purge_time(one))
        self._state.timers.set(time, _timer(one.name))

    def _purge_time(self, one: Reservation) -> int:
        """Give when a reservation that has begun ends as it has no jobs; without `PURGE_COMP` its end."""
        if "PURGE_COMP" not in one.flags or self._has_jobs(one.name):
            return one.end_time
        return max(one.idle_since, one.start_time) + one.purge_after

    def left(self, name: str) -> None:
        """Note that a job is no more one of a reservation."""
        one = self.all.get(name)
        if one is not None and "PURGE_COMP" in one.flags:
            self.all[name] = one = replace(one, idle_since=self._state.now)
            self._set_timer(one)

    def _has_jobs(self, name: str) -> bool:
        """Whether jobs run in a reservation, or wait for it."""
        return any(job.spec.reservation == name for job in self._state.jobs.values())

    def begin_or_end(self, name: str) -> None:
        """Handle the begin or end of a reservation. At the end it recurs, or it is removed and its jobs leave it."""
        one, now = self.all[name], self._state.now
        if one.start_time <= now and min(one.end_time, self._purge_time(one)) <= now:
            del self.all[name]
            if (later := one.next_after(max(now, one.end_time))) is not None:
                one = replace(one, start_time=one.start_time + later, end_time=one.end_time + later)
                self.all[name] = one = self._dated(one)
            else:
                self._remove_from_jobs(one)
        if name in self.all:
            self._set_timer(one)
        self._changed()

    def _remove_from_jobs(self, reservation: Reservation) -> None:
        """Remove the jobs from a reservation that has ended, and hold the pending ones, as Slurm does.

        With ``NO_HOLD_JOBS_AFTER_END`` none is held. The time for which jobs may run beyond their limits ends, too.
        """
        state = self._state
        for job in [job for job in state.jobs.values() if job.spec.reservation == reservation.name]:
            if job.state is JobState.PENDING and not job.alloc:
                self._queue.remove(job)
            job.spec = job.spec._replace(reservation="")
            if job.state is JobState.RUNNING and "FLEX" not in reservation.flags and (job.end_time or 0) <= state.now:
                state.to_end.append(job)
            if job.state is JobState.PENDING:
                if "NO_HOLD_JOBS_AFTER_END" not in reservation.flags:
                    job.hold_all_records()
                    job.reason = Reason.RESERVATION_DELETED
                if not job.alloc:
                    self._queue.insert(job)

    def _changed(self) -> None:
        """Reconsider the pending jobs in reservations, and have all others tested again."""
        self._queue.touch()
        for job in [job for job in self._state.jobs.values() if job.spec.reservation and self._queue.contains(job)]:
            self._queue.reconsider(job)

    def move_nodes(self, move: NodeMapping) -> None:
        """Map the nodes of all reservations to new indices. A reservation without nodes is removed."""
        for before in list(self.all.values()):
            moved = replace(before, nodes=move.bitmap(before.nodes), choice=move.bitmap(before.choice))
            one = self._of_partition(moved)
            if one.nodes:
                self.all[one.name] = one
            else:
                self._state.timers.cancel(_timer(one.name))
                del self.all[one.name]
                self._remove_from_jobs(one)

    # ---- effects on jobs --------------------------------------------------------------------------------------

    def admit(self, job: Job) -> None:
        """Check the reservation that a new job asks for.

        Raises:
            RequestError: there is none, the job may not use it, or it has begun or is FLEX, and its nodes can never
                serve the job, which is not held.
        """
        name = job.spec.reservation
        one = self.all.get(name)
        if one is None:
            raise RequestError(f"Requested reservation is invalid: there is no {name}", Errno.RESERVATION_INVALID)
        if not self._allows(one, job):
            account = self._accounts.account_of(job)
            raise RequestError(
                f"Access denied to requested reservation: {name} is not for user {job.user_name} of account {account}",
                Errno.RESERVATION_ACCESS,
            )
        is_held = job.spec.hold or job.spec.priority == 0
        is_early = one.start_time > self._state.now and "FLEX" not in one.flags and not self._state.refuses_impossible
        if not (is_held or is_early or any(self._could_serve(one, record) for record in job.records or (job,))):
            raise RequestError(
                f"Requested node configuration is not available: the nodes of reservation {name} could never serve it",
                Errno.REQUESTED_NODE_CONFIG_UNAVAILABLE,
            )

    def _allows(self, one: Reservation, job: Job) -> bool:
        """Whether a job may use a reservation."""
        account, associations = self._accounts.account_of(job), self._accounts.tree.associations
        above = [associations[row].account for row in self._accounts.path_of(job).tolist()]
        return one.allows(job.user_name, [account, *above])

    def attracting(self) -> list[Reservation]:
        """Give the reservations in which jobs may start now that do not name them, in order of creation."""
        now = self._state.now
        magnetic = (one for one in self.all.values() if "MAGNETIC" in one.flags)
        return [one for one in magnetic if one.start_time <= now or "FLEX" in one.flags]

    def attracted(self, jobs: Iterable[Job], attracting: list[Reservation]) -> Iterator[tuple[Job, str]]:
        """Give the queued jobs that name no reservation and may use some, with the name of each."""
        for job in jobs:
            if job.sort_key and not job.spec.reservation:
                yield from ((job, one.name) for one in attracting if self._allows(one, job))

    def _could_serve(self, one: Reservation, job: Job) -> bool:
        """Whether its reservation could serve a job: as in Slurm without nodes of others, though not for ever."""
        state, nodes = self._state, job.partition.nodes
        if not state.refuses_impossible:
            nodes &= ~self.closed(job, state.now, job.time_limit)
            if not nodes and not job.spec.required_nodes:  # all are reserved, as for maintenance
                return True
        elif "FLEX" not in one.flags:
            nodes &= one.nodes
        return state.pool.units(job.spec, replace(job.partition, nodes=nodes)) > 0

    def _own(self, job: Job) -> Reservation | None:
        return self.all[job.spec.reservation] if job.spec.reservation else None

    def reason(self, job: Job) -> Reason | None:
        """Say why a job cannot start in its reservation now; ``None``: it can, or asks for none."""
        one = self._own(job)
        is_early = one is not None and self._state.now < one.start_time and "FLEX" not in one.flags
        return Reason.RESERVATION if is_early else None

    def time_left(self, job: Job) -> int | None:
        """Give the seconds from now to the end of a job's reservation; ``None``: no bound.

        Jobs in a recurring reservation may run beyond its end, as in Slurm.
        """
        one = self._own(job)
        if one is None or one.recurs or "FLEX" in one.flags:
            return None
        return max(one.end_time - self._state.now, 1)

    def closed(self, job: Job, start: int, duration: int) -> int:
        """Give the bitmap of the nodes that are reserved against a job from ``start`` for ``duration`` seconds."""
        if not self.all:
            return 0
        own = self._own(job)
        closed = 0
        if own is not None and "FLEX" not in own.flags:
            closed = ((1 << len(self._state.nodes)) - 1) & ~own.nodes
        return reduce(or_, self._withheld(job, start, duration), closed)

    def _withheld(self, job: Job, start: int, duration: int) -> Iterator[int]:
        """Give the bitmap of the nodes that each reservation except the job's own withholds.

        Args:
            job: The job.
            start: When it would start, Unix seconds.
            duration: For how many seconds.
        """
        own = self._own(job)
        for one in self.all.values():
            if one is not own and one.overlaps(start, start + duration):
                yield one.withheld_from(own)

    def maintains_all(self, job: Job) -> bool:
        """Whether Slurm says that all nodes are reserved for maintenance against a job that would start now.

        Of a job in a reservation, others withhold all its nodes. Of another job, the nodes of one were given as
        ``ALL``, or it has the job's partition, or all of it and the flag MAINT.
        """
        own, now = self._own(job), self._state.now
        if own is not None:
            return not own.nodes & ~reduce(or_, self._withheld(job, now, job.time_limit), 0)
        nodes = job.partition.nodes
        return any(
            "ALL_NODES" in one.flags
            or ("PART_NODES" in one.flags and one.partition == job.partition.name)
            or ("MAINT" in one.flags and not nodes & ~one.nodes)
            for one in self.all.values()
            if one.overlaps(now, now + job.time_limit)
        )

    def nodes_of(self, job: Job) -> int:
        """Give the bitmap of the nodes of a job's reservation; 0: it asks for none."""
        own = self._own(job)
        return 0 if own is None else own.nodes

    def select(self, job: Job, avail: int) -> int:
        """Give what a job gets of a resource set if it starts now; other nodes than its reservation's are heavier."""
        pool = self._state.pool
        avail = pool.without(avail, self.closed(job, self._state.now, job.time_limit))
        own = self._own(job)
        outside = (1 << len(self._state.nodes)) - 1 & ~own.nodes if own is not None and "FLEX" in own.flags else 0
        return pool.select(job, avail, outside)

    def change_times(self) -> set[int]:
        """Give the times at which reservations end or begin, when more resources may become available."""
        both = (time for one in self.all.values() for time in (one.start_time, one.end_time))
        return {time for time in both if time > self._state.now}

    # ---- saving -----------------------------------------------------------------------------------------------

    def save(self) -> list[dict[str, Any]]:
        """Give the reservations as JSON data."""
        return [shape_of(Reservation).encode(one) for one in self.all.values()]

    def restore(self, saved: list[dict[str, Any]]) -> None:
        """Restore the saved reservations."""
        for data in saved:
            one: Reservation = shape_of(Reservation).decode(data)
            self.all[one.name] = one


def _timer(name: str) -> Timer:
    return Timer(TimerKind.RESERVATION, name=name)
