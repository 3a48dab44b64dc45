"""The documents of ``scontrol show``: those of the REST paths ``/jobs``, ``/job/7``, ``/node/n1`` and others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.commands.getopt import UsageError
from rota.listings.openapi.document import document, not_found
from rota.listings.openapi.jobs import job_object
from rota.listings.openapi.machine import node_object, partition_object, reservation_object
from rota.listings.scontrol_choice import choose_jobs, choose_nodes

if TYPE_CHECKING:
    from rota.listings.view import View

    #: Objects, and the names of those that do not exist.
    Found = tuple[list[dict[str, Any]], list[str]]


def show(kind: str, name: str | None, view: View) -> dict[str, Any]:
    """Describe what is asked for.

    Args:
        kind: ``jobs``, ``nodes``, ``partitions`` or ``reservations``.
        name: Which: a job id, a hostlist, a name; ``None``: all. What does not exist is named under ``errors``.
        view: The cluster.
    """
    objects, missing = {"jobs": _jobs, "nodes": _nodes, "partitions": _partitions}.get(kind, _reservations)(name, view)
    return document(kind, objects, *(not_found(kind, one) for one in missing))


def _jobs(name: str | None, view: View) -> Found:
    try:
        found = choose_jobs(name, view)
    except UsageError:
        found = []
    return [job_object(job, view) for job in found], [] if found or name in {None, "0"} else [name or ""]


def _nodes(name: str | None, view: View) -> Found:
    found, missing = choose_nodes(name, view)
    return [node_object(node, view) for node in found], missing


def _partitions(name: str | None, view: View) -> Found:
    found = [partition_object(part) for part in view.partitions() if name in {None, part.name}]
    return found, [] if found or name is None else [name]


def _reservations(name: str | None, view: View) -> Found:
    found = [reservation_object(one, view) for one in view.reservations() if name in {None, one.name}]
    return found, [] if found or name is None else [name]
