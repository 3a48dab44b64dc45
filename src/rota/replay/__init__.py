"""Replaying recorded workloads in virtual time.

`trace` (the workload as requests), `driver` (the event heap), `run` (engine, plugins and trace together), `failures`
and `reservation_file` (node failures and reservations), `allocations` and `history` (records for the report).
"""

from rota.replay.run import ReplayOptions, replay
from rota.results.schedule import ReplayResult, Schedule, Summary

__all__ = ["ReplayOptions", "ReplayResult", "Schedule", "Summary", "replay"]
