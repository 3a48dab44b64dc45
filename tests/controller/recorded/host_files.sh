#!/bin/bash
# Names nodes by files, in a real Slurm with four nodes of four processors, as root: `==` within a job with two
# processors on n01 and two on n02 (sbatch -N2 -n4 -w n01,n02), `$$` outside of one. host_files.txt is what Slurm
# 22.05.8 printed, its standard error marked; output that comes from several tasks is sorted.
printf 'n01\nn01\nn02\nn02\n' >hf4
printf 'n02\nn01\nn02\n' >hf3
printf 'n01\nn03\n' >hfout
printf '# c\nn02,n01 # x\n\n n03\nn01*2\n' >hfodd
printf 'n[01-02]\nn02\n' >hfrange
S='echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID $SLURMD_NODENAME $SLURM_STEP_NODELIST $SLURM_STEP_TASKS_PER_NODE \
$SLURM_NTASKS $SLURM_CPUS_ON_NODE'
grep -E '^(==|\$\$) ' host_files.txt | while read -r where command; do
    echo "$where $command"
    [ "$where" = == ] && command="$command sh -c '$S'"
    bash -c "$command" >out 2>err </dev/null
    code=$?
    sort out
    sed 's/^/e| /' err
    echo "rc $code"
done
