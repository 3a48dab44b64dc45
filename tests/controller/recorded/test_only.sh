#!/bin/bash
# Asks when jobs would start in a real Slurm with four nodes of four processors: debug and high have all of them, short
# two. First nothing runs, then one job has everything for 30 minutes. test_only.txt is what Slurm 22.05.8 printed.
cd "$(mktemp -d)" && chmod 777 .
printf '#!/bin/bash\nsleep 600\n' >b.sh
printf '#!/bin/bash\nsrun --test-only true; sbatch --test-only b.sh\n' >in.sh
ask() {
    while read -r command; do
        echo "##### $1 $command"
        bash -c "$command" >out 2>err
        code=$?
        sed 's/^/o| /' out
        sed 's/^/e| /' err
        echo "rc=$code"
    done
}
ask idle <<'C'
sbatch --test-only b.sh
sbatch --test-only -N2 -n8 b.sh
sbatch --test-only -N4 --exclusive b.sh
sbatch --test-only -n6 b.sh
sbatch --test-only -p high --wrap true
sbatch --test-only -p high,short b.sh
sbatch --test-only -a 1-3 b.sh
sbatch --test-only -H b.sh
sbatch --test-only -d afterok:1 b.sh
sbatch --test-only -w n03 b.sh
sbatch --test-only --gres=gpu:2 b.sh
sbatch --test-only --parsable b.sh
sbatch --test-only -Q b.sh
sbatch --test-only -W b.sh
sbatch --test-only -p nopart b.sh
sbatch --test-only -C nofeature b.sh
sbatch --test-only -A nope b.sh
sbatch --test-only --qos nope b.sh
sbatch --test-only -L foo b.sh
sbatch --test-only --reservation=r1 b.sh
sbatch --test-only nofile.sh
sbatch --test-only -t foo b.sh
srun --test-only true
srun --test-only -n 3 true
srun --test-only -p nopart true
srun --test-only
srun --test-only -Q true
salloc --test-only true
squeue -h
sbatch -Q -W in.sh; cat slurm-*.out
C
sbatch -Q -N4 -n16 -t 30 b.sh
until [ "$(squeue -h -t R | wc -l)" = 1 ]; do sleep 1; done
ask full <<'C'
sbatch --test-only b.sh
sbatch --test-only -N2 -n8 b.sh
sbatch --test-only -b now+1hour b.sh
srun --test-only true
C
scancel -u root
scontrol update nodename=n01 state=drain reason=x
ask drained <<'C'
sbatch --test-only -w n01 b.sh
C
scontrol update nodename=n01 state=resume
