"""QCG-PilotJob in a job of two nodes: tasks on one processor, one over both nodes by `srun`, one that fails."""

import sys

from qcg.pilotjob.api.job import Jobs
from qcg.pilotjob.api.manager import LocalManager

manager = LocalManager(["--wd", ".", *sys.argv[1:]], {"wdir": "."})
print(manager.resources())
jobs = Jobs()
jobs.add(name="each", exec="/bin/sh", args=["-c", "echo $SLURM_JOB_ID"], iteration=4, stdout="each.${it}")
jobs.add(
    name="both",
    exec="/bin/sh",
    args=["-c", "echo $SLURM_PROCID $SLURMD_NODENAME $SLURM_DISTRIBUTION"],
    numCores={"exact": 2},
    numNodes={"exact": 2},
    stdout="both",
    model="srunmpi",
)
jobs.add(name="failing", exec="/bin/false")
names = manager.submit(jobs)
manager.wait4(names)
print({name: facts["data"]["status"] for name, facts in sorted(manager.info(names)["jobs"].items())})
manager.finish()
manager.cleanup()
