"""A Lustre to try things on: ``job_stats`` that change as those of a real one do, of jobs that are not running.

=================================== ===================================================================
`rota.lustre.simulation.jobs`       which jobs there are: of a log, of a live queue, at login nodes
`rota.lustre.simulation.behaviour`  what a job reads, writes and asks for, and when
`rota.lustre.simulation.targets`    the entries of each target at a given time
`rota.lustre.simulation.texts`      entries as each generation of Lustre writes them
=================================== ===================================================================

All follows from the jobs and a seed: the same give the same bytes.
"""
