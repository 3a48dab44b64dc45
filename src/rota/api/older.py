"""The paths v0.0.36 and v0.0.37 of slurmrestd, which Slurm 22.05 serves beside v0.0.38: documents as they were then.

Keys and types are those that Slurm 22.05.8 answers. Values are those of v0.0.38, also where slurmrestd leaves them out
or has others by mistake.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from fastapi import Response

from rota.api.slurm_route import SlurmRoute

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from fastapi import Request

#: The versions.
OLDER = (36, 37)
#: The names of their plugins, by type.
_PLUGINS = {
    "openapi/v0.0.36": "REST v0.0.36",
    "openapi/v0.0.37": "Slurm OpenAPI v0.0.37",
    "openapi/dbv0.0.36": "REST DB v0.0.36",
    "openapi/dbv0.0.37": "Slurm OpenAPI DB v0.0.37",
}
#: Keys that were not there, by kind of object.
_LATER = {
    "jobs": ("container", "group_name", "prefer"),
    "partitions": ("default_memory_per_node", "maximum_memory_per_cpu"),
    "statistics": ("bf_table_size", "bf_table_size_mean", "rpcs_by_message_type", "rpcs_by_user"),
}
_LATER_THAN_36 = {
    "nodes": (
        *("alloc_cpus", "alloc_memory", "extra", "idle_cpus", "last_busy", "next_state_after_reboot_flags"),
        *("partitions", "state_flags", "tres_used", "tres_weighted"),
    ),
    "partitions": ("state",),
}
#: Keys of a job that had other names in v0.0.36; it takes the later ones, too.
_NAMES_OF_36 = {"standard_in": "standard_input", "standard_out": "standard_output"}


def older_route(version: int) -> type[SlurmRoute]:
    """Give the class of the routes of a version."""

    class OlderRoute(SlurmRoute):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handler = super().get_route_handler()

            async def handle(request: Request) -> Response:
                response = await handler(request)
                if not response.body:
                    return response
                # Thousands of jobs take a while, in which others are answered.
                body = await asyncio.to_thread(_converted, bytes(response.body), version)
                return Response(body, response.status_code, media_type="application/json")

            return handle

    return OlderRoute


def later_body(text: str, version: int) -> str:
    """Give the body of a submission as one of v0.0.38."""
    if version != OLDER[0]:
        return text
    data = json.loads(text)
    jobs = [data.get("job"), *_listed(data.get("jobs"))] if isinstance(data, dict) else []
    for job in jobs:
        if isinstance(job, dict):
            for name in _NAMES_OF_36.keys() & job.keys():
                job[_NAMES_OF_36[name]] = job.pop(name)
    return json.dumps(data)


def _converted(body: bytes, version: int) -> bytes:
    data = json.loads(body)
    if "meta" not in data:  # a problem
        return body
    plugin = f"{data['meta']['plugin']['type'].rpartition('.')[0]}.{version}"
    data["meta"]["plugin"] = {"type": plugin, "name": _PLUGINS[plugin]}
    if plugin.startswith("openapi/db"):
        for one in data.get("jobs", ()):
            _set_accounted(one, version)
    else:
        _set_objects(data, version)
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def _set_accounted(job: dict[str, Any], version: int) -> None:
    """Describe a job of the accounting as of an older version."""
    job.pop("container", None)
    if version == OLDER[0]:
        job["state"] = {"current": job["state"]["current"], "previous": job["state"]["reason"]}


def _set_objects(data: dict[str, Any], version: int) -> None:
    for kind in data.keys() & {"jobs", "nodes", "partitions", "statistics"}:
        dropped = (*_LATER.get(kind, ()), *(_LATER_THAN_36.get(kind, ()) if version == OLDER[0] else ()))
        for one in _listed(data[kind]):
            for name in dropped:
                one.pop(name, None)
            if kind == "jobs":
                one["job_resources"] = _resources(one.get("job_resources"))
            elif kind == "partitions":
                _set_partition(one, version)
            elif kind == "nodes" and version == OLDER[0] and one.get("state") == "mixed":
                one["state"] = "allocated"


def _listed(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _resources(found: dict[str, Any] | None) -> dict[str, Any]:
    """Describe the allocation of a job; one without has an empty object."""
    if found is None:
        return {}
    return {
        "nodes": found["nodes"],
        "allocated_cpus": found["allocated_cores"],
        "allocated_hosts": found["allocated_hosts"],
        "allocated_nodes": {str(place): _node(one) for place, one in enumerate(found["allocated_nodes"])},
    }


def _node(one: dict[str, Any]) -> dict[str, Any]:
    return {"sockets": {}, "cores": {}, "memory": one["memory_allocated"]}


def _set_partition(one: dict[str, Any], version: int) -> None:
    for name in ("default_memory_per_cpu", "maximum_memory_per_node"):
        one[name] = one[name] or 0
    if version == OLDER[0]:
        one["min_nodes_per_job"] = one.pop("min nodes per job")
        one["nodes_online"] = one["total_nodes"]
