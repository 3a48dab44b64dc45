# Jobs that are cancelled as their dependency will never be satisfied; one that waits for another of its name.
job A --wrap 'exit 1'
until_job A FAILED
job NEVER -d "afterok:$A" --kill-on-invalid-dep=yes --wrap true
until_job NEVER CANCELLED
look cancelled NEVER
job ONE -J same --wrap 'exec sleep 600'
until_job ONE RUNNING
job TWO -J same -d singleton --wrap true
until_job TWO Dependency
look single ONE TWO
scontrol update jobid="$TWO" dependency=
until_job TWO COMPLETED
look freed TWO
refused errors "sbatch -d afterok:99999 --wrap true | sed 's/[0-9]*$//'"
refused errors "sbatch -d nonsense:1 --wrap true"
refused errors "sbatch -d afterok:x --wrap true"
