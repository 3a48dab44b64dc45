# Jobs that reach their time limit: in a step, in the script, in spite of SIGTERM, with a signal before.
PATIENCE=1800
cat >step <<'S'
#!/bin/bash
exec srun sleep 600
S
cat >deaf <<'S'
#!/bin/bash
trap '' TERM
while :; do sleep 1; done
S
cat >warned <<'S'
#!/bin/bash
trap 'echo warned' USR1
for i in $(seq 200); do sleep 0.5; done
S
job STEP -t 1 step
job SCRIPT -t 1 --wrap 'exec sleep 600'
job DEAF -t 1 deaf
job WARNED -t 1 --signal=B:USR1@50 -n2 warned
job TASKS -t 1 -a 1-2 --wrap 'exec sleep 600'
for one in STEP SCRIPT DEAF WARNED TASKS; do until_job $one RUNNING; done
for one in STEP SCRIPT DEAF WARNED TASKS; do until_job $one TIMEOUT; done
look ended STEP SCRIPT DEAF WARNED TASKS
look_tables ended STEP SCRIPT DEAF WARNED TASKS
ask output "grep -h 'JOB' slurm-$STEP.out"
ask output "cat slurm-$SCRIPT.out"
ask output "cat slurm-$WARNED.out"
