# GPUs for each node, for the job, for each task.
job NODE --gres=gpu:1 --wrap 'exec sleep 600'
until_job NODE RUNNING
job TASK -n2 --gpus-per-task=1 --wrap 'exec sleep 600'
until_job TASK RUNNING
job JOB --gpus=2 --wrap 'exec sleep 600'
until_job JOB RUNNING
job WAITS -N4 --gpus-per-node=2 -t 10 --wrap true
until_job WAITS 'Resources'
look running NODE TASK JOB WAITS
look_nodes running
refused errors 'sbatch --gres=gpu:3 --wrap true'
refused errors 'sbatch --gres=nope:1 --wrap true'
refused errors 'sbatch --gres=gpu:x --wrap true'
