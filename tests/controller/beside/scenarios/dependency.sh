# Jobs that wait for others, and one whose dependency will never be satisfied.
job A --wrap 'exec sleep 600'
until_job A RUNNING
job OK -d "afterok:$A" --wrap true
job ANY -d "afterany:$A" --wrap true
job NOTOK -d "afternotok:$A" --wrap true
job AFTER -d "after:$A" --wrap 'exec sleep 600'
job BOTH -d "afterok:$A,afterany:$OK" --wrap true
job EITHER -d "afterok:$A?afternotok:$A" --wrap true
job LATE -d "after:$A+60" --wrap true
until_job AFTER RUNNING
for one in OK ANY NOTOK BOTH EITHER LATE; do until_job $one Dependency; done
look waiting OK ANY NOTOK AFTER BOTH EITHER LATE
scancel "$A"
until_job ANY COMPLETED
until_job NOTOK COMPLETED
until_job OK DependencyNeverSatisfied
until_job BOTH DependencyNeverSatisfied
look ended OK ANY NOTOK BOTH EITHER LATE
