# Jobs that are requeued, one of them to be held.
job A -n2 -J again --wrap 'exec sleep 600'
job B -J held --wrap 'exec sleep 600'
job NO --no-requeue --wrap 'exec sleep 600'
until_job A RUNNING
until_job B RUNNING
until_job NO RUNNING
scontrol requeue "$A"
scontrol requeuehold "$B"
until_job A 'PENDING BeginTime'
until_job B 'PENDING .*[Hh]eld'
look requeued A B NO
ask requeued "cat slurm-$A.out"
scontrol release "$B"
scontrol update jobid="$A" starttime=now
scontrol update jobid="$B" starttime=now
until_job A RUNNING
until_job B RUNNING
look running A B
refused errors "scontrol requeue $NO"
refused errors "scontrol requeue 99999"
