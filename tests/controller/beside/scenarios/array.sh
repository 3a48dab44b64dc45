# A job array of which two tasks run at a time: cancelled, failed and completed ones.
job A -a 1-6%2 -o out-%A-%a -J tasks --wrap '[ $SLURM_ARRAY_TASK_ID = 2 ] && exit 3; [ $SLURM_ARRAY_TASK_ID -lt 3 ] || exec sleep 600'
until_job A '3 RUNNING'
until_job A '4 RUNNING'
until_job A '1 COMPLETED'
until_job A '2 FAILED'
until_job A 'JobArrayTaskLimit'
look running A
look_tables running A
scancel "${A}_6"
scancel "${A}_3"
until_job A '5 RUNNING'
until_job A '3 CANCELLED'
look cancelled A
scancel "$A"
until_job A '5 CANCELLED'
look ended A
