# Nice values and priorities, given at first and changed later.
job R -N4 --exclusive --wrap 'exec sleep 600'
until_job R RUNNING
job NICE -N4 --nice=50 --wrap true
job HIGH -N4 -p high --wrap true
job URGENT -N4 -q urgent --wrap true
job SET -N4 --priority=5000 --wrap true
for one in NICE HIGH URGENT SET; do until_job $one 'Resources|Priority|DOWN'; done
look submitted NICE HIGH URGENT SET
scontrol update jobid="$NICE" nice=-100
scontrol update jobid="$HIGH" priority=7
scontrol update jobid="$SET" nice=10
scontrol top "$URGENT"
until_job HIGH 'Resources|Priority|DOWN'
until_before NICE HIGH
look changed NICE HIGH URGENT SET
look_tables changed NICE HIGH URGENT SET
