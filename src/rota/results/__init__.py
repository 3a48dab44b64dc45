"""The results of a replay.

`schedule` (a row for each job, and figures), `priority_history` and `plan_history` (samples over time), `store` (a
folder with all of it), `export` (the schedule as SWF), `report` (HTML pages), `usage_file` (usage for a later replay).
"""
