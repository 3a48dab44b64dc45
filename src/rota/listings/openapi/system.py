"""The documents of the paths ``/ping``, ``/diag`` and ``/licenses``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.listings.openapi.document import document
from rota.listings.show_config import controller_host

if TYPE_CHECKING:
    from rota.listings.view import View
    from rota.model.lines import CallCount

#: What slurmrestd tells, in its order.
_STATISTICS = """
    rpcs_by_message_type rpcs_by_user parts_packed req_time req_time_start server_thread_count agent_queue_size
    agent_count agent_thread_count dbd_agent_queue_size gettimeofday_latency schedule_cycle_max schedule_cycle_last
    schedule_cycle_total schedule_cycle_mean schedule_cycle_mean_depth schedule_cycle_per_minute schedule_queue_length
    jobs_submitted jobs_started jobs_completed jobs_canceled jobs_failed jobs_pending jobs_running job_states_ts
    bf_backfilled_jobs bf_last_backfilled_jobs bf_backfilled_het_jobs bf_cycle_counter bf_cycle_mean bf_depth_mean
    bf_depth_mean_try bf_cycle_last bf_cycle_max bf_queue_len bf_queue_len_mean bf_table_size bf_table_size_mean
    bf_when_last_cycle bf_active
"""


def pings(view: View) -> dict[str, Any]:
    """Say that the controller is up."""
    return document("pings", [{"hostname": controller_host(view), "ping": "UP", "status": 0, "mode": "primary"}])


def licenses(view: View) -> dict[str, Any]:
    """List the licences."""
    return document(
        "licenses",
        [
            {
                "LicenseName": one.name,
                "Total": one.total,
                "Used": one.used,
                "Free": one.free,
                "Remote": False,
                "Reserved": 0,
            }
            for one in view.licenses()
        ],
    )


def diagnostics(view: View) -> dict[str, Any]:
    """Give the statistics of ``sdiag``. Numbers that rota does not count are 0."""
    found = view.statistics()
    main, backfill = found.main, found.backfill
    known = {
        "rpcs_by_message_type": [],
        "rpcs_by_user": [],
        "req_time": found.now,
        "req_time_start": found.boot_time,
        "schedule_cycle_total": main.cycles,
        "schedule_cycle_mean_depth": int(main.mean_depth),
        "schedule_cycle_per_minute": main.cycles * 60 // max(found.now - found.boot_time, 60),
        "schedule_queue_length": main.last_queue_length,
        "jobs_started": main.jobs_started,
        "jobs_pending": found.jobs.get("PENDING", 0),
        "jobs_running": found.jobs.get("RUNNING", 0),
        "job_states_ts": found.now,
        "bf_active": False,
    }
    if backfill is not None:
        known |= {
            "jobs_started": main.jobs_started + backfill.jobs_started,
            "bf_backfilled_jobs": backfill.jobs_started,
            "bf_last_backfilled_jobs": backfill.jobs_started,
            "bf_cycle_counter": backfill.cycles,
            "bf_queue_len": backfill.last_queue_length,
            "bf_table_size": backfill.last_table_size,
        }
    if (done := found.activity) is not None:
        known |= {f"jobs_{name}": done.jobs.get(name, 0) for name in ("submitted", "completed", "canceled", "failed")}
        known |= {
            "req_time_start": done.since,
            "schedule_cycle_max": done.longest_pass,
            "schedule_cycle_last": done.last_pass,
            "schedule_cycle_mean": done.mean_pass,
            "rpcs_by_message_type": [
                {"message_type": one.name, "type_id": one.number, **_count(one)} for one in done.calls
            ],
            "rpcs_by_user": [
                {"user": view.user_name(one.number), "user_id": one.number, **_count(one)} for one in done.calls_by_user
            ],
        }
        if (times := done.backfill) is not None:
            known |= {
                "bf_when_last_cycle": times.last_at,
                "bf_cycle_last": times.last,
                "bf_cycle_max": times.longest,
                "bf_cycle_mean": times.mean,
                "bf_depth_mean": times.mean_depth,
                "bf_depth_mean_try": times.mean_depth,
                "bf_queue_len_mean": times.mean_queue_length,
                "bf_table_size_mean": times.mean_table_size,
            }
    return {**document("statistics", []), "statistics": dict.fromkeys(_STATISTICS.split(), 0) | known}


def _count(one: CallCount) -> dict[str, int]:
    return {
        "count": one.count,
        "average_time": one.microseconds // one.count,
        "total_time": one.microseconds,
    }
