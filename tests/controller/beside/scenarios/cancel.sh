# Jobs that are cancelled: before they start, while they run, by a signal, in spite of SIGTERM.
printf '#!/bin/bash\nexec srun sleep 600\n' >step
printf '#!/bin/bash\ntrap "echo told; exit 4" TERM\nsleep 600 & echo ready >ready\nwait\n' >polite
job WAITS -H --wrap true
job RUNS --wrap 'exec sleep 600'
job STEP -n2 step
job POLITE polite
job USR1 --wrap 'exec sleep 600'
for one in RUNS STEP POLITE USR1; do until_job $one RUNNING; done
until_true 100 eval '[ $(squeue -h -s -j $STEP | wc -l) = 2 ]'
until_file ready
scancel "$WAITS"
scancel "$RUNS"
scancel "$STEP"
scancel "$POLITE"
scancel -f -s USR1 "$USR1"
for one in WAITS RUNS STEP; do until_job $one CANCELLED; done
until_job POLITE 'CANCELLED|FAILED'
until_job USR1 'FAILED|CANCELLED'
look ended WAITS RUNS STEP POLITE USR1
ask output "cat slurm-$RUNS.out"
ask output "grep -h 'JOB' slurm-$STEP.out"
ask output "cat slurm-$POLITE.out"
refused errors "scancel 99999"
refused errors "scancel $RUNS"
refused errors "scancel ${RUNS}_4"
refused errors "scancel nonsense"
