#!/bin/bash
# Has a real Slurm send mail about jobs of an ordinary user, with two nodes of four processors. MailProg is a script that
# appends "SUBJECT -> ADDRESS" to the file $LETTERS. mail.txt is what it wrote with Slurm 22.05.8, in order of the alphabet.
until='until_it_shows() { until [ "$(squeue -h -j "$1" -o "$2")" = "$3" ]; do sleep 0.1; done; }'
cd /tmp || exit
while IFS= read -r command; do
    : >"$LETTERS"
    bash -c "$until; $command" </dev/null >/dev/null 2>&1
    until [ -z "$(squeue -h)" ]; do sleep 0.5; done
    sleep 3
    echo "##### $command"
    sort "$LETTERS"
done <<'C'
sbatch --mail-type=ALL -o /dev/null --wrap 'sleep 1'
sbatch --mail-type=ALL -o /dev/null --wrap 'exit 3'
sbatch --mail-type=FAIL -o /dev/null --wrap true
sbatch --mail-type=END -o /dev/null --wrap 'exit 3'
sbatch --mail-type=END,FAIL -o /dev/null --wrap 'kill -9 $$'
sbatch --mail-type=END,NONE -o /dev/null --wrap true
sbatch --mail-user=bob@example.org -o /dev/null --wrap true
sbatch --mail-type=begin --mail-user=bob@example.org,eve -o /dev/null --wrap true
sbatch --mail-type=BEGIN -o /dev/null -J "-s it's \"all\" \$HOME" --wrap true
sbatch --mail-type=FOO -o /dev/null --wrap true
sbatch --mail-type= -o /dev/null --wrap true
j=$(sbatch --parsable --mail-type=ALL -o /dev/null --wrap 'sleep 100'); until_it_shows $j %t R; scancel $j
j=$(sbatch --parsable -H --mail-type=ALL -o /dev/null --wrap true); scancel $j
j=$(sbatch --parsable --mail-type=ALL -o /dev/null --wrap 'sleep 100'); until_it_shows $j %t R; scontrol requeuehold $j; until_it_shows $j %t PD; scancel $j
sbatch -a 0-2 --mail-type=ALL -o /dev/null --wrap 'exit $SLURM_ARRAY_TASK_ID'
sbatch -a 0-1 --mail-type=ALL -o /dev/null --wrap true
sbatch -a 0-1 --mail-type=FAIL -o /dev/null --wrap 'exit 7'
sbatch -a 0-1 --mail-type=END -o /dev/null --wrap 'exit $SLURM_ARRAY_TASK_ID'
sbatch -a 0-1 --mail-type=ALL,ARRAY_TASKS -o /dev/null --wrap 'exit $SLURM_ARRAY_TASK_ID'
sbatch -a 0-1 --mail-type=FAIL -o /dev/null --wrap 'kill -9 $$'
sbatch -a 0-1 --mail-type=FAIL -o /dev/null --wrap '[ $SLURM_ARRAY_TASK_ID = 1 ] && exit 4; kill -9 $$'
sbatch -a 0-2%1 --mail-type=BEGIN -o /dev/null --wrap true
j=$(sbatch --parsable -o /dev/null --wrap 'exit 1'); k=$(sbatch --parsable --mail-type=ALL -d afterok:$j --wrap true); until_it_shows $k %r DependencyNeverSatisfied; scancel $k
j=$(sbatch --parsable -o /dev/null --wrap 'sleep 1; exit 1'); sbatch --mail-type=INVALID_DEPEND --kill-on-invalid-dep=yes -d afterok:$j --wrap true
srun --mail-type=ALL true
salloc --mail-type=ALL -n1 true
C
