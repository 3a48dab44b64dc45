"""What becomes of a queue: a copy of the cluster's engine is run ahead in virtual time, many times.

`present` (the cluster as it is now), `run_times` (how long jobs will run, from those that have ended), `future` (one
run ahead), `futures` (many of them), `ranges` (when each job starts), `comparison` (the same queue under two policies),
`check` (how often the ranges hold).
"""
