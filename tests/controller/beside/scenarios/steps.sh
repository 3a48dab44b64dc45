# Steps: one after another, side by side, one that fails, one that is cancelled.
cat >steps <<'S'
#!/bin/bash
#SBATCH -N2 -n4 --mem=200 -J steps
srun -J hello true
srun -n1 -N1 false
srun -N1 -n1 --overlap sleep 600 &
until [ $(squeue -h -s -j $SLURM_JOB_ID | wc -l) = 2 ]; do sleep 0.1; done
srun -n2 -N1 -c1 --overlap --mem=50 sleep 601 &
wait
echo done
S
job A steps
until_true 300 eval '[ $(squeue -h -s -j $A | wc -l) = 3 ]'
look running A
look_tables running A
look_steps running A
scancel "$A.2"
until_true 300 eval '[ $(squeue -h -s -j $A | wc -l) = 2 ]'
look one-cancelled A
scancel "$A"
until_job A CANCELLED
look cancelled A
ask output "grep -h 'JOB' slurm-$A.out"
