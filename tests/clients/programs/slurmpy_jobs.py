"""Jobs by slurmpy, one of which reads what another has written; prints their ids."""

from slurmpy import Slurm

slurm = Slurm("sum of two", {"partition": "debug", "mem": "50M", "n": 1, "time": "0:05:00"})
first = slurm.run("echo 40 > number", name_addition="first")
again = slurm.run("echo 2 > further", name_addition="again")
last = slurm.run(
    "echo $(($(cat number) + $(cat further))) $who > sum",
    cmd_kwargs={"who": "ann"},
    depends_on=[first, again],
    tries=2,  # a second job is for the case that the first one fails
)
print(first, again, last)
