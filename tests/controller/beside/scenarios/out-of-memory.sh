# Jobs and steps that have too much memory: the script itself, one that goes on, its step, one that goes on after it.
printf '#!/bin/bash\nhead -c 300M /dev/zero | tail >/dev/null\n' >greedy
chmod +x greedy
job SCRIPT --mem=50 -w n01 greedy
job ON --mem=50 -w n01 --wrap './greedy; true'
job STEP --mem=50 -w n02 --wrap 'exec srun ./greedy'
job LAST --mem=50 -w n02 --wrap 'srun ./greedy'
job AFTER --mem=50 -w n02 --wrap 'srun ./greedy; exit 3'
job TASKS -a 1-2 --mem=50 -w n03 --wrap '[ $SLURM_ARRAY_TASK_ID = 1 ] && exec ./greedy; exec sleep 0.1'
job OK -d afterok:$SCRIPT -w n03 --wrap true
job NOTOK -d afternotok:$SCRIPT -w n03 --wrap true
for one in SCRIPT ON; do until_job $one OUT_OF_MEMORY; done
for one in STEP LAST AFTER; do until_job $one "FAILED|OUT_OF_MEMORY"; done
until_job TASKS '1 OUT_OF_MEMORY'
until_job TASKS '2 COMPLETED'
until_job OK DependencyNeverSatisfied
until_job NOTOK COMPLETED
look ended SCRIPT ON STEP LAST AFTER TASKS OK NOTOK
look_tables ended SCRIPT STEP LAST AFTER TASKS
ask codes "scontrol -o show job $SCRIPT | grep -o 'ExitCode=[^ ]*'"
ask states "sacct -X -n -s OOM -j $SCRIPT,$STEP,$AFTER -o State%20,ExitCode,DerivedExitCode"
ask states "squeue -h -t OOM -j $SCRIPT,$STEP,$AFTER -o '%t %T %r'"
