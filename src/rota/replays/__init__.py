"""Replaying recorded workloads in virtual time.

`scenario` (what is replayed), `files` (reading it), `options`, `trace` (the workload as requests), `driver` (the event
heap), `run` (engine, plugins and trace together), `failures` and `reservation_file` (node failures and reservations),
`recorder` (what becomes of each job), `allocations` and `history` (records for the report), `moment` (the state of a
moment in a file).
"""

from rota.replays.options import ReplayOptions, ReplayWarning
from rota.replays.run import replay
from rota.replays.scenario import Scenario
from rota.results.schedule import ReplayResult, Schedule, Summary

__all__ = ["ReplayOptions", "ReplayResult", "ReplayWarning", "Scenario", "Schedule", "Summary", "replay"]
