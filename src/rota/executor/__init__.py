"""Running jobs as real processes: the protocol of executors, and the one for processes of this machine.

`rota.executor.protocol` is what a driver needs to know, `rota.executor.local` the executor for this machine, and
`rota.executor.supervisor` the program that starts the processes and outlives the driver. This module imports nothing:
that program is a small one.
"""
