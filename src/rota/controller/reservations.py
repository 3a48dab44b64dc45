"""``scontrol create``, ``update`` and ``delete`` of reservations."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import count, product
from typing import TYPE_CHECKING

from rota.commands.create_reservation import parse_reservation
from rota.commands.getopt import UsageError
from rota.commands.moments import parse_slurm_time
from rota.commands.option_error import OptionError
from rota.commands.slurm_messages import message_of
from rota.commands.update_reservation import NOT_UPDATED, update_reservation
from rota.core import events as ev
from rota.model import Errno, RequestError
from rota.model.bounds import MOST_NAMES
from rota.users import find_user

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rota.commands.reservation_words import Word
    from rota.commands.scontrol import Change
    from rota.controller.cluster import Cluster
    from rota.controller.wire import Terminal
    from rota.model.reservation import Reservation

    #: Reads a point of time; ``after`` says how messages end.
    Moment = Callable[..., int]

#: How what scontrol says ends, where it creates one.
_NOT_CREATED = "  No reservation created."


class _TimeError(UsageError):
    """A time that is none: two lines."""


async def change_reservation(
    cluster: Cluster, request: Change, terminal: Terminal, uid: int, utc_offset: Callable[[int], int]
) -> list[str]:
    """Carry out a command; say what is wrong.

    Args:
        cluster: The cluster.
        request: The command.
        terminal: Where it is told what has been done.
        uid: Who asks; 0: an operator.
        utc_offset: Gives local time minus UTC in seconds, at a Unix time, where the command was called.
    """
    moment = partial(_moment, cluster.clock.now(), utc_offset)
    failed = {
        "create": "Error creating the reservation",
        "update": "Error updating the reservation",
        "delete": f"delete_reservation {request.words[0]}",
    }[request.command]
    event: ev.Event
    try:
        if request.command == "create":
            event = ev.CreateReservation(reservation=_new(cluster, request.words, moment, uid), uid=uid)
            done = f"Reservation created: {event.reservation.name}\n"
        elif request.command == "update":
            event = ev.UpdateReservation(reservation=_changed(cluster, request, moment, uid), uid=uid)
            done = "Reservation updated.\n"
        else:
            event, done = ev.DeleteReservation(name=request.name, uid=uid), ""
    except _TimeError as error:
        return [str(error)]
    except OptionError as error:
        return [f"scontrol: error: {error}"]
    except RequestError as error:
        sentence, _, more = str(error).partition(": ")
    else:
        refused = await cluster.driver.request(event)
        if refused is None:
            terminal.out(done)
            return []
        sentence, more = message_of(refused.errno, refused.message)
    return [f"{failed}: {sentence}", *([more] if more else [])]


def _new(cluster: Cluster, words: Sequence[str], moment: Moment, uid: int) -> Reservation:
    found = parse_reservation(words, cluster.driver.engine.view.config, _NOT_CREATED, uid=uid)
    start, end = (
        moment(found.words[key], after=_NOT_CREATED) if key in found.words else None for key in ("StartTime", "EndTime")
    )
    name = found.value("ReservationName") or _free_name(cluster, (*found.users, *found.accounts, "resv")[0])
    one = found.reservation(name, start or 0, end)  # without a start it has been refused
    if one.start_time < cluster.clock.now() - 60:
        raise RequestError("Invalid time specified: it is over", Errno.INVALID_TIME_VALUE)
    return _of_known(cluster, one)


def _changed(cluster: Cluster, request: Change, moment: Moment, uid: int) -> Reservation:
    if uid:
        raise RequestError("Invalid user id: only operators change reservations", Errno.INVALID_USER_ID)
    engine, now = cluster.driver.engine, cluster.clock.now()
    before = engine.view.reservation(request.name)
    if before is None:
        raise RequestError(f"Requested reservation is invalid: there is no {request.name}", Errno.RESERVATION_INVALID)
    names = [name for name, _ in engine.view.machine]
    one = update_reservation(before, request.words, names, now, partial(moment, after=NOT_UPDATED))
    return one if (one.users, one.accounts) == (before.users, before.accounts) else _of_known(cluster, one)


def _moment(now: int, utc_offset: Callable[[int], int], word: Word, *, after: str) -> int:
    try:
        return parse_slurm_time(word.value, now, utc_offset)
    except UsageError as error:
        kind = word.key.removesuffix("Time").lower()
        raise _TimeError(f"{error}scontrol: error: Invalid {kind} time {word.text}.{after}") from None


def _free_name(cluster: Cluster, who: str) -> str:
    """Name a reservation that has no name after whom it is for."""
    view = cluster.driver.engine.view
    names = (f"{who.lstrip('-')}_{number}" for number in count(1))
    return next(name for name in names if view.reservation(name) is None)


def _of_known(cluster: Cluster, one: Reservation) -> Reservation:
    """Check whom a reservation is for, and name users who are given by number.

    Raises:
        RequestError: users and accounts are not there, or are named both with and without ``-``; or, where associations
            are enforced, users have none, or not in the accounts.
    """
    for names, errno in ((one.users, Errno.INVALID_USER_ID), (one.accounts, Errno.INVALID_ACCOUNT)):
        if len({name.startswith("-") for name in names}) > 1:
            raise _refusal(errno, f"{','.join(names)} mixes names with and without -")
    if max(len(one.users), 1) * max(len(one.accounts), 1) > MOST_NAMES:
        raise _refusal(Errno.INVALID_USER_ID, f"it is for more than {MOST_NAMES:,} users and accounts")
    users = []
    for name in one.users:
        plain = name.removeprefix("-")
        user = find_user(plain)
        if user is None and not plain.isdecimal():  # numbers need no name, as in containers
            raise _refusal(Errno.INVALID_USER_ID, f"there is no user {plain!r}")
        users.append(name if user is None else name.replace(plain, user.pw_name))
    one, view = replace(one, users=tuple(users)), cluster.driver.engine.view
    if "associations" in view.config.enforced():
        known = {(line.account, line.user) for line in view.tree.associations}
        having = {user for _, user in known}
        for account, name in product(one.accounts or ("",), users or ("",)):
            key = account.removeprefix("-"), name.removeprefix("-")
            if key not in known and (account or key[1] not in having):
                raise _refusal(Errno.INVALID_ACCOUNT, f"{key[1] or 'nobody'} is not in {key[0] or 'any account'}")
    return one


def _refusal(errno: Errno, problem: str) -> RequestError:
    return RequestError(f"{message_of(errno, '')[0]}: {problem}", errno)
