"""Local time of a user: that of the variable TZ of their command, else this machine's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.config.local_time import utc_offset_by_variable

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.controller.cluster import Cluster
    from rota.controller.wire import Call


def utc_offset_for(cluster: Cluster, call: Call) -> Callable[[int], int]:
    """Give the function from Unix time to local time minus UTC, in seconds, where a command was called."""
    here, zone = cluster.driver.engine.utc_offset, call.environment.get("TZ")
    return here if zone is None else utc_offset_by_variable(zone, here)
