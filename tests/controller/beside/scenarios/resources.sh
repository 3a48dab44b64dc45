# Jobs that run, wait for resources, and wait behind others.
job A -N4 --exclusive -t 30 --wrap 'exec sleep 600'
until_job A RUNNING
job B -n16 -t 20 -J second --wrap 'exec sleep 600'
until_job B Resources
job C -n2 -c2 -t 10 -J third --wrap 'exec sleep 600'
until_job C Priority
until_planned B
until_planned C
look waiting A B C
look_tables waiting A B C
look_nodes waiting
before=$(start_of C)
scancel "$A"
until_job B RUNNING
until_job C Resources
until_replanned C "$before"
look running A B C
look_nodes running
