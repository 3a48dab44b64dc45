"""The objects of Slurm's REST plugins v0.0.38 and dbv0.0.38, which ``--json`` and ``--yaml`` of Slurm 22.05 print.

Functions make plain dictionaries of lines, with Slurm's keys in Slurm's order, and with its types: a text that is not
there is empty, a number that is not set is ``None``. They read nothing but the `View`, so that an HTTP API can use
them. Where rota does not have what Slurm shows, the value is what Slurm shows without it; docs/differences.md says
what is different.
"""
