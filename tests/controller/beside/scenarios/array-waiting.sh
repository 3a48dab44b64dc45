# Job arrays that wait: for resources, held as a whole and in part, with another limit of tasks at a time.
job R -N4 --exclusive --wrap 'exec sleep 600'
until_job R RUNNING
job A -a 0-9:3 -n4 -w n02 -J waits --wrap true
until_job A 'Resources|Priority|DOWN'
job B -a 1,5,7-9 -w n01 -H -J held --wrap true
until_job B JobHeld
look waiting A B
scontrol update jobid="$A" arraytaskthrottle=1
look changed A
scancel "${B}_[7-8]"
scontrol release "$B"
scancel "$R"
until_job B '9 COMPLETED'
until_job A '0 COMPLETED'
until_job A '9 COMPLETED'
look ended A B
