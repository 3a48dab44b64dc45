# Signals to jobs and steps, and a job that is to be warned.
cat >catch <<'S'
#!/bin/bash
trap 'echo script caught USR1' USR1
srun bash -c 'trap "echo step caught USR2" USR2; echo ready >ready; for i in $(seq 40); do sleep 0.1; done; exit 0' &
for i in $(seq 3); do wait; done
S
job A catch
until_file ready
scancel -b -s USR1 "$A"
scancel -s USR2 "$A"
until_true 100 grep -q 'step caught' "slurm-$A.out"
scancel -s CONT "$A"
job WARN -t 30 --signal=TERM@120 -H --wrap true
look signalled A WARN
until_job A COMPLETED
look ended A
ask output "sort slurm-$A.out"
