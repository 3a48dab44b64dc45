"""Explanations of a cluster's state, from the engine's view; they change nothing.

`view` (input of the listings), `explain` (why a job is pending and how its priority is made up), `start_estimate` (when
it could start, and what would make it start sooner), `plan_reader` (the scheduler's plan).
"""
