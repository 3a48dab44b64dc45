"""The cluster as it is now, for those who run a copy of it ahead: see `rota.forecast`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from rota.core.plain import shape_of
from rota.core.snapshot import save
from rota.model import ClusterConfig
from rota.store.database import LAST_RUN, RECORD
from rota.store.schema import jobs as ended

if TYPE_CHECKING:
    from rota.controller.cluster import Cluster

#: Number of the last jobs that have run, of which is told how long they took.
_PAST = 3_000


def present(cluster: Cluster) -> dict[str, Any]:
    """Give time, configuration, state of the engine and past runs, as JSON data.

    All of it everybody may see with ``scontrol show`` and ``sacct``: the state has no scripts and no environments.
    """
    engine, past = cluster.driver.engine, _past(cluster)
    config, state = engine.view.config, save(engine)
    # What an administrator has set of partitions is part of this configuration, in which it can be set otherwise.
    partitions = tuple(replace(one, set_fields=frozenset(), created=False) for one in config.partitions)
    for one in state["partitions"]:
        one.pop("set_fields", None)
        one.pop("created", None)
    return {
        "now": cluster.clock.now(),
        "config": shape_of(ClusterConfig).encode(replace(config, partitions=partitions)),
        "engine": state | {"deleted_partitions": []},
        "past": [_run(job) for job in past],
        "submitted": [[job.get("array_job_id") or job["job_id"], job["submit_time"], job["request"]] for job in past],
        "is_all": len(past) < _PAST,
    }


def _past(cluster: Cluster) -> list[dict[str, Any]]:
    """Give the last jobs that have run and ended, oldest first."""
    last = select(*RECORD).where(ended.c.start_time.is_not(None), LAST_RUN).order_by(ended.c.id.desc()).limit(_PAST)
    return [record["job"] for record in cluster.database.job_records(last)][::-1]


def _run(job: dict[str, Any]) -> list[Any]:
    """Give a run: user, account, name, time limit and run time in seconds, end (Unix)."""
    return [
        job["user"],
        job["request"].get("account", ""),
        job["name"],
        job["time_limit"],
        max(job["end_time"] - job["start_time"] - job.get("suspended", 0), 0),
        job["end_time"],
    ]
