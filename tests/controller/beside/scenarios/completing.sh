# A job whose processes do not end at once.
printf '#!/bin/bash\ntrap "" TERM\ntouch ready; echo 1 >ready\nwhile :; do sleep 1; done\n' >deaf
job A -N2 -n2 deaf
until_file ready
scancel "$A"
until_job A 'COMPLETING|CANCELLED'
until_job A CANCELLED
look ended A
ask output "cat slurm-$A.out"
