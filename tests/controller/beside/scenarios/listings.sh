# Filters and formats of listings, over jobs in several states.
job DONE -J done --wrap true
until_job DONE COMPLETED
job BAD -J bad --wrap false
until_job BAD FAILED
job R -J runs -N4 --exclusive -t 20 --wrap 'exec sleep 600'
until_job R RUNNING
job W -J waits -p high,debug -N2 --wrap true
until_job W 'Resources|Priority|DOWN'
job H -J holds -p short -H --wrap true
until_true 100 settled "$W"
ids=$DONE,$BAD,$R,$W,$H
for options in '-t all' '-t R' '-t PD,CD' '-t F -S -i' '-n waits,runs' '-p high' '-p short' '-q normal' '-A lab' '-A other' '-w n01' '-L matlab' '-u nobody'; do
    ask "squeue" "squeue $options -j $ids -o '%.8i %.10P %.9j %.2t %.6D %R'"
done
for options in '-s CD' '-s F' '-s R,PD' '-s CA' '-N n01' '-r short' '--name=bad' '-q urgent'; do
    ask "sacct" "sacct -X -P $options -j $ids -o JobID,JobName,Partition,State,ExitCode,NNodes"
done
ask sacct "sacct -n -X -j $ids --format=JobName%5,State%-12,NCPUS"
ask sacct "sacct -b -n -j $ids"
ask squeue "squeue --array --states=all --sort=-i -h -j $ids -o '%i|%T|%M|%l' | sed 's/|0:[0-9]*|/|some|/'"
ask squeue "squeue --only-job-state 2>&1 | head -n 1"
refused squeue 'squeue -t nope'
ask squeue "squeue -O jobid:8,name:.10,state -h -j $W"
