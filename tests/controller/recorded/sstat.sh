#!/bin/bash
# Asks sstat, and others, about running jobs of a real Slurm with four nodes of four processors, as root.
# sstat.txt is what it printed with Slurm 22.05.8. Ids of jobs are replaced by names.
cd "$(mktemp -d)" && chmod 777 .
printf '#!/bin/bash\nsrun -n2 --exact --mem=500 sleep 600 &\nsleep 2; srun -n1 --exact --mem=100 sleep 600 &\nwait\n' >two.sh
printf '#!/bin/bash\nsleep 600\n' >batch.sh
printf '#!/bin/bash\nsrun -N2 -n4 sleep 600\n' >nodes.sh
TWO=$(sbatch --parsable -n4 --mem=2000 two.sh)
BATCH=$(sbatch --parsable -n1 --mem=200 batch.sh)
NODES=$(sbatch --parsable -N2 -n4 --mem=200 nodes.sh)
HELD=$(sbatch --parsable -H batch.sh)
until [ "$(squeue -h -t R | wc -l)" = 3 ]; do sleep 1; done
sleep 8
while read -r command; do
    echo "##### $command"
    for name in TWO BATCH NODES HELD; do command=${command//$name/${!name}}; done
    bash -c "$command" >out 2>err
    code=$?
    { sed 's/^/o| /' out; sed 's/^/e| /' err; } >both
    for name in TWO BATCH NODES HELD; do sed -i -E "s/^(o\| *|.*job |.*StepId=)${!name}\b/\1$name/" both; done
    cat both
    echo "rc=$code"
done <<'C'
sstat TWO
sstat -j TWO
sstat -a TWO
sstat -a -P TWO
sstat -a -p -o JobID,NTasks,MaxRSSNode,ReqCPUFreq TWO
sstat -a -n -P -o JobID,NTasks,AveCPU,AveRSS,MaxRSS,MaxRSSNode,MinCPU TWO
sstat -i TWO
sstat -i -a TWO
sstat -a -i -P NODES
sstat -a -P -o JobID,NTasks,MinCPUNode NODES
sstat -P -o JobID,NTasks BATCH
sstat -P -o JobID,NTasks TWO.batch
sstat -P -o JobID,NTasks TWO.1,TWO.0
sstat -P -o JobID,NTasks -j TWO.0 -j TWO.1
sstat -P -o JobID,NTasks TWO.0 TWO.1
sstat -P -o JobID,NTasks -j TWO.1,TWO.batch,TWO.extern
sstat -P -o JobID,NTasks TWO.7
sstat -P -o JobID,NTasks 99999
sstat -P -o JobID,NTasks 99999.0
sstat -P -o JobID,NTasks HELD
sstat foo
sstat -j TWO_[1-2]
sstat
sstat -j ""
sstat --helpformat
sstat -e
sstat --version
sstat --usage
sstat -o foo TWO
sstat -o all TWO
sstat -o JobID%30,ntasks TWO
sstat -o jobid,NT TWO
sstat -o , -P TWO
sstat -o jobid,,ntasks -P TWO
sstat --fields=JobID,NTasks TWO
sstat --noconvert -P -o JobID,MaxRSS,MaxVMSize TWO
sstat --json TWO
sstat -x TWO
C
scancel $TWO $BATCH $NODES $HELD
