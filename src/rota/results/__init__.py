"""What a replay leaves behind.

`schedule` (one row a job, and figures), `priority_history` and `plan_history` (what was to be seen meanwhile), `store`
(all of it as a folder), `export` (the schedule as SWF), `report` (pages), `usage_file` (usage for the next replay).
"""
