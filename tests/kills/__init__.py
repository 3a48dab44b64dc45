"""Random ``kill -9`` of a live cluster's daemons under all kinds of commands, and whether anything untrue came of it.

`play` runs users (`users`) and kills (`killer`) beside each other. Jobs and steps write down themselves what they do
(`ledger`); afterwards that is compared with what clients, ``sacct``, ``squeue`` and ``sinfo`` say (`oracle`).
"""
