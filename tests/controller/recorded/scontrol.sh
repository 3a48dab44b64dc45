#!/bin/bash
# Asks scontrol of a real Slurm with four nodes of four processors, as root. scontrol.txt is what Slurm 22.05.8 printed.
# Ids of jobs are replaced by names.
cd "$(mktemp -d)"
printf '#!/bin/bash\nsrun -N2 -n4 sleep 600 &\nsleep 2; srun -N1 -n1 --overlap sleep 600 &\nwait\n' >steps.sh
printf '#!/bin/bash\nsleep 600\n' >batch.sh
STEPS=$(sbatch --parsable -N2 -n4 --mem=200 steps.sh)
BATCH=$(sbatch --parsable -n1 --mem=200 -t 60 batch.sh)
HELD=$(sbatch --parsable -H batch.sh)
until [ "$(squeue -h -s | wc -l)" = 4 ]; do sleep 1; done
while read -r command; do
    echo "##### $command"
    for name in STEPS BATCH HELD; do command=${command//$name/${!name}}; done
    bash -c "$command" >out 2>err </dev/null
    code=$?
    { sed 's/^/o| /' out; sed 's/^/e| /' err; } | sed "s/\b$STEPS\b/STEPS/g; s/\b$BATCH\b/BATCH/g; s/\b$HELD\b/HELD/g"
    echo "rc=$code"
done <<'C'
scontrol show step STEPS
scontrol show step STEPS.0
scontrol -o show step STEPS.1
scontrol show step STEPS.9
scontrol listpids STEPS.1
scontrol listpids 99999
scontrol write batch_script BATCH; cat slurm-BATCH.sh
scontrol write batch_script BATCH -
scontrol write batch_script BATCH other.sh; cat other.sh
scontrol write batch_script 99999
scontrol write batch_script
scontrol write batch_script foo
scontrol write
scontrol write foo
scontrol show hostlistsorted n3,n1,n2,n10
scontrol show hostlist n3,n1,n2
scontrol show licenses
scontrol show topology
scontrol show burstbuffer
scontrol show bbstat
scontrol show dwstat
scontrol show daemons
scontrol show federation
scontrol show frontend
scontrol show aliases
scontrol show foo
scontrol show
scontrol getaddrs
scontrol errnumstr 2015
scontrol errnumstr foo
scontrol errnumstr
scontrol errnumstr 0
scontrol errnumstr 99999
scontrol errnumstr 2
scontrol wait_job BATCH
scontrol wait_job 99999
scontrol wait_job HELD
scontrol cluster
scontrol all
scontrol hide
scontrol oneliner
scontrol verbose
scontrol quiet
scontrol details
scontrol exit
scontrol foo
C
scancel $STEPS $BATCH $HELD
