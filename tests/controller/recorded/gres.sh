#!/bin/bash
# Which GRES scontrol -d and squeue show of jobs, on four nodes of four processors and two GPUs of type a100. gres.txt is
# what Slurm 22.05.8 printed.
while read -r options; do
    echo "##### $options"
    job=$(sbatch --parsable -o /dev/null $options --wrap 'exec sleep 600')
    until [[ $options == *-H* ]] || squeue -h -j "$job" -t R | grep -q .; do sleep 0.2; done
    scontrol -d show job "$job" | grep -Eo '(JOB_GRES|Tres[A-Z][a-zA-Z]*)=.*|GRES=.*'
    squeue -h -j "$job" -O tres-per-node:40,tres-per-job:40,tres-per-task | sed 's/ *$//'
    scancel "$job"
    until squeue -h -j "$job" -t CA -o %T | grep -q CANCELLED; do sleep 0.2; done # COMPLETING before
done <<'O'
--gres=gpu:1 -N1
--gpus=3 -N2
--gpus-per-node=2 -N2
--gpus-per-task=1 -n3
--gres=gpu:a100:1 -N2
--gpus=a100:1 -n1
-n1
--gres=gpu:0 -n1
--gpus=3 -H
--gres=gpu:2 -N2 --exclusive
O
