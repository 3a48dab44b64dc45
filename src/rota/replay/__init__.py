"""Replaying recorded workloads in virtual time.

The parts, in the order in which a replay uses them: `tape` (the workload as requests), `driver` (the event heap),
`run` (putting engine, plugins and tape together), `result` (schedule and figures), `export` (the schedule as SWF),
`store` (results as folders), `report` (pages).
"""

from rota.replay.result import ReplayResult, Schedule, Summary
from rota.replay.run import ReplayOptions, replay

__all__ = ["ReplayOptions", "ReplayResult", "Schedule", "Summary", "replay"]
