# Names, comments and paths with blanks and other characters; files of output by patterns.
mkdir -p 'a folder'
job QUOTES -J "it's" --comment='a "quoted" word' -w n01 --wrap true
job EQUALS -J 'a=b,c' --comment='k=v x=y' -w n01 --wrap true
job SPACE -J 'two words' -o 'a folder/%x-%j.out' -e 'a folder/%u.err' -w n01 --wrap true
job PATTERNS -J name -o 'out-%5j-%A-%a-%N-%n-%t-%x-%%' -w n01 --wrap 'hostname >/dev/null; echo $SLURM_JOB_ID >/dev/null'
job TASKS -J tasks -a 3-4 -o '%A_%3a.out' -e '%J.err' -i /dev/zero -w n01 --wrap true
job STEPS -J steps -o 'out-%s' -D 'a folder' -w n01 --wrap 'srun -J "in it" -o step-%s-%t true'
job LONG -J a-name-that-is-longer-than-any-column-of-any-table --wckey=key --mail-type=END --mail-user=someone -w n01 --wrap true
for one in QUOTES EQUALS SPACE PATTERNS STEPS LONG; do until_job $one COMPLETED; done
until_job TASKS '3 COMPLETED'
until_job TASKS '4 COMPLETED'
look ended QUOTES EQUALS SPACE PATTERNS TASKS STEPS LONG
look_tables ended SPACE TASKS LONG
ask files "find . -name '*out*' -o -name '*.err' -o -name 'step-*' | sed 's/7[0-9]\{4\}/ID/g' | sort"
