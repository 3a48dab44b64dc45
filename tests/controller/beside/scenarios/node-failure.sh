# Nodes that fail under jobs: one is requeued, one may not be, one keeps the job's other node.
job AGAIN -w n01 --wrap 'exec sleep 600'
job NOT -w n02 --no-requeue --wrap 'exec sleep 600'
job TWO -w n[03-04] -N2 -n2 --no-requeue --wrap 'exec sleep 600'
for one in AGAIN NOT TWO; do until_job $one RUNNING; done
scontrol update nodename=n01 state=down reason=power
scontrol update nodename=n02 state=down reason=power
until_job AGAIN PENDING
until_job NOT NODE_FAIL
look failed AGAIN NOT TWO
look_nodes failed
ask output "cat slurm-$NOT.out"
