#!/bin/bash
# Which GRES steps get that start one after the other in a job: of each line the job, and its steps. On two nodes of
# eight processors in two sockets, with two GPUs of type a100, two of v100, and four widgets, of which GPUs are accounted
# for; step-gres.txt is what Slurm 22.05.8 printed.
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
cd "$work" || exit
cat >say.sh <<'S'
#!/bin/bash
echo "task $SLURM_PROCID $SLURMD_NODENAME visible=${CUDA_VISIBLE_DEVICES--} step=${SLURM_STEP_GPUS--} on-node=${SLURM_GPUS_ON_NODE--}"
sleep 1.5
S
chmod +x say.sh
while IFS=';' read -r options steps; do
    IFS='|' read -ra each <<<"$steps"
    {
        echo '#!/bin/bash'
        for number in "${!each[@]}"; do
            echo "(srun ${each[number]} ./say.sh 2>&1 | grep -v -e slurmstepd -e still | sort >out.$number) & sleep 0.4"
        done
        echo wait
    } >job.sh
    echo "##### $options;$steps"
    job=$(sbatch --parsable -t 2 -o job.out $options job.sh)
    until [[ -z $(squeue -h -j "$job" 2>/dev/null) ]]; do sleep 0.2; done
    for number in "${!each[@]}"; do
        echo "step $number"
        sed "s/\b[Jj]ob $job\b/job JOB/" "out.$number"
        rm "out.$number"
    done
    until ! sacct -n -P -j "$job" -o state | grep -q RUNNING; do sleep 0.2; done
    sacct -n -P -j "$job" -o jobid,alloctres | sed -E 's/^[0-9]+/JOB/' | grep '^JOB\.' | sort
done <<'O'
-N1 -n4 --gres=gpu:2;-n1 --exact --gpus=1|-n1 --exact --gpus=1|-n1 --exact --gpus=1
-N1 -n4 --gres=gpu:4;-n1 --exact --gpus=1|-n1 --exact
-N1 -n4 --gres=gpu:4;-n1 --exact --gres=none|-n1 --exact --gres=gpu:0|-n1 --overlap --gpus=1|-n1 --exact --gres=gpu:3
-N1 -n4 --gres=gpu:4;-n1 --exact --gpus-per-task=2|-n2 --exact --gpus-per-task=1
-N1 -n4 --gres=gpu:4;-n1 --exact --gpus=2|-n1 --exact --gpus=3 --immediate=1|-n1 --exact --gpus-per-node=2
-N2 -n8 --gres=gpu:4;-N2 -n4 --exact --gpus=4|-N1 -n1 --exact --gpus=3
-N2 -n4 --gres=gpu:2;-N1 -n1 --exact --gpus=1|-N1 -n1 --exact --gpus=1|-N1 -n1 --exact --gpus=1|-N1 -n1 --exact --gpus=3
-N2 -n8 --gres=gpu:4;-N1 -n1 --exact --gpus=1|-N1 -n1 --exact --gpus=4|-N1 -n1 --exact --gpus=3
-N2 -n8 --gpus=6;-N1 -n1 --exact|-N2 -n2 --exact
-N1 -n4 --gres=gpu:a100:1,gpu:v100:1;-n1 --exact --gpus=v100:1|-n1 --exact --gpus=1|-n1 --exact --gpus=a100:2|-n1 --exact --gres=gpu:2
-N1 -n4 --gres=gpu:v100:2;-n1 --exact --gres=gpu:v100:1|-n1 --exact --gpus=a100:1|-n1 --exact
-N1 -n4 --gres=gpu:2;-n1 --exact --gpus=a100:1|-n1 --exact --gres=widget:1|-n1 --exact --gres=nope:1
-N1 -n4 --gres=gpu:2,widget:3;-n1 --exact --gres=widget:2|-n1 --exact --gpus=1|-n1 --exact --gres=widget:2|-n1 --exact --gres=widget:4
-N1 --exclusive;-n1 --exact|-n1 --exact --gpus=1|-n1 --exact --gpus=4 --overlap
-N1 --exclusive --gres=gpu:1;-n1 --exact|-n1 --exact --gpus=2
-n4 -N1 --gpus-per-task=1;-n1 --exact|-n2 --exact|-n1 --exact --gres=gpu:1
-n4 -N1 --gpus-per-task=1;-n2 --exact --gpus=2|-n2 --exact --gpus-per-task=3|-n1 --exact --gpus=5|-n8 --exact -O
-N1 -n4 --gpus=4;-n2 --exact --gpus-per-task=3|-n1 --exact --gpus=5|-n1 --exact --gpus-per-node=5
-N1 -n4 --gpus=4 --ntasks-per-gpu=1;-n4|-n1 --exact --gpus=1
-N1 -n8 --gres=gpu:4;--exact --ntasks-per-gpu=2|-n2 --exact --gpus=2 --ntasks-per-gpu=1
-N1 -n4 --gpus-per-socket=2 --sockets-per-node=2;-n1 --exact
-N1 -n4 --gpus=4 --gpu-bind=single:1;-n2 --exact --gpus=2|-n2 --exact --gpus=2 --gpu-bind=none
-N1 -n4 --gpus=4;-n2 --exact --gpu-bind=per_task:3|-n3 --exact --gpu-bind=map_gpu:3,1
-N1 -n4 --gpus=4;-n2 --exact --gpus=2 --gpu-bind=map_gpu:1,0|-n2 --exact --gpus=2 --gpu-bind=mask_gpu:0xc,4
-N1 -n4 --gpus=4;-n4 --exact --gpu-bind=single:2|-n2 --exact --gpu-bind=closest
-N1 -n4 --gpus=4;-n3 --exact --gpus-per-task=1 --gpu-bind=closest|-n1 --gpu-bind=map_gpu:x
-N1 -n4 --gpus=4;-n3 --gpus=2 --ntasks-per-gpu=2|-n1 --exact --gpus=2 --ntasks-per-gpu=1|-n2 --gpus-per-task=1 --ntasks-per-gpu=1
-N1 -n8 --gres=gpu:4;-n3 --gres=gpu:2 --ntasks-per-gpu=2|-n1 --gpus-per-node=1 --ntasks-per-gpu=2|-n1 --ntasks-per-gpu=2
-n4 --ntasks-per-gpu=2;-n2|-n3|-n1 --exact --gpus=1
-N2 -n4 --ntasks-per-gpu=2 --gpus=2;-n1|-n3|-n1 --gpus=1
-N1 -n4 --gpus-per-task=1;-n2 --ntasks-per-gpu=1
-N1 -n4 --gres=gpu:3;-n4 --gpus-per-task=1|-n2 --gpus-per-task=2|-n1 --gpus-per-task=4|-n2 --gpus-per-task=3
-N1 -n4 --mem=400;-n1 --mem=401|-n4 --mem-per-cpu=101|-n1 --exact --mem=400
O
