# Whole nodes, contiguous ones, chosen and excluded ones, and more tasks than fit on one.
job EXCLUSIVE --exclusive --wrap 'exec sleep 600'
until_job EXCLUSIVE RUNNING
job ADJACENT -N2 --contiguous --wrap 'exec sleep 600'
until_job ADJACENT RUNNING
job CHOSEN -w n04 -n2 --wrap 'exec sleep 600'
until_job CHOSEN RUNNING
job WITHOUT -x n04 -N1 -n1 --wrap 'exec sleep 600'
until_job WITHOUT RUNNING
look running EXCLUSIVE ADJACENT CHOSEN WITHOUT
look_nodes running
scancel -u "$(id -un)"
for one in EXCLUSIVE ADJACENT CHOSEN WITHOUT; do until_job $one CANCELLED; done
look ended EXCLUSIVE ADJACENT CHOSEN WITHOUT
