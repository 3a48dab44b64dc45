# Steps that share the processors of a job, and one that has to wait; a step on chosen nodes; a step of several programs.
cat >steps <<'S'
#!/bin/bash
srun --exact -n1 -c2 --mem=100 sleep 600 &
until [ $(squeue -h -s -j $SLURM_JOB_ID | wc -l) = 2 ]; do sleep 0.1; done
srun --exact -n1 -c1 --mem=50 -w n02 -J chosen sleep 600 &
until [ $(squeue -h -s -j $SLURM_JOB_ID | wc -l) = 3 ]; do sleep 0.1; done
srun -N2 --ntasks-per-node=2 --overlap -J spread sleep 600 &
wait
S
job A -w n[01-02] -N2 -n8 --mem=800 steps
until_true 300 eval '[ $(squeue -h -s -j $A | wc -l) = 4 ]'
look running A
look_steps running A
scancel "$A.1"
until_true 300 eval '[ $(squeue -h -s -j $A | wc -l) = 3 ]'
scancel "$A"
until_job A 'COMPLETED|FAILED|CANCELLED'
look ended A
