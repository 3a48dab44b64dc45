#!/bin/bash
# Starts steps in a batch job from outside of it, in a real Slurm with four nodes of four processors, as root.
# srun_jobid.txt is what Slurm 22.05.8 printed. Ids of jobs are replaced by names.
cd "$(mktemp -d)"
printf '#!/bin/bash\nsleep 600\n' >b.sh
RUNS=$(sbatch --parsable -n2 --mem=500 b.sh)
HELD=$(sbatch --parsable -H b.sh)
until [ "$(squeue -h -t R | wc -l)" = 1 ]; do sleep 1; done
while read -r command; do
    sleep 1 # or sacct does not know yet how a step has ended
    echo "##### $command"
    for name in RUNS HELD; do command=${command//$name/${!name}}; done
    bash -c "$command" >out 2>err </dev/null
    code=$?
    { sed 's/^/o| /' out; sed 's/^/e| /' err; } | sed "s/\b$RUNS\b/RUNS/g; s/\b$HELD\b/HELD/g"
    echo "rc=$code"
done <<'C'
srun --jobid=RUNS -n1 bash -c 'echo $SLURM_STEP_ID $SLURM_JOB_PARTITION'
srun --jobid=RUNS -l -n2 bash -c 'echo $SLURM_PROCID $SLURM_NTASKS $SLURM_STEP_ID $SLURM_JOB_ID $SLURM_NODELIST'
srun --jobid=RUNS -n3 true
srun --jobid=HELD true
srun --jobid=99999 true
srun --jobid=foo true
env SLURM_JOB_ID=RUNS srun -n1 bash -c 'echo $SLURM_STEP_ID'
srun --jobid=RUNS -N2 true
srun --jobid=RUNS -n2 sh -c 'exit 3'
srun --jobid=RUNS -n1 sh -c 'kill -9 $$'
echo input | srun --jobid=RUNS -n1 cat
sacct -P -n -j RUNS -o JobID,State,ExitCode | grep -v '|PENDING'
C
scancel $RUNS $HELD
