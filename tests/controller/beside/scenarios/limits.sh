# Jobs that limits of their QOS and partition keep waiting.
job A -q small -n2 --wrap 'exec sleep 600'
until_job A RUNNING
job CPUS -q small -n1 --wrap true
job WALL -q small -t 120 --wrap true
job PER -q small -n3 --wrap true
until_job CPUS QOSMaxCpuPerUserLimit
until_job WALL QOS
until_job PER QOS
job TIME -p low -t 60 --wrap true
job NODES -p low -N2 --wrap true
until_job TIME Partition
until_job NODES Partition
look waiting A CPUS WALL PER TIME NODES
scancel "$A"
until_job CPUS COMPLETED
scontrol update jobid="$TIME" timelimit=10
until_job TIME COMPLETED
look ended CPUS TIME
