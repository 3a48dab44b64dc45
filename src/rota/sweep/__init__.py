"""Sweeps: many replays that differ in parameters, plugins, workloads and seeds, and what comes of it.

`axes` (what is varied), `search` (which points of it are run), `runs` (one replay), `workers` (processes, or a Dask
cluster), `figures` (what is kept of a replay), `folder` (what is on disk, and going on after a kill), `effects`
(averages, intervals, Pareto front), `page` (the page).
"""
