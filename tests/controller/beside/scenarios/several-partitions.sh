# Jobs that may start in any of several partitions.
job A -N4 --exclusive --wrap 'exec sleep 600'
until_job A RUNNING
job B -p debug,high,short -t 10 -N2 --wrap 'exec sleep 600'
until_job B 'Resources|Priority|DOWN'
look waiting B
scancel "$A"
until_job B RUNNING
look running B
