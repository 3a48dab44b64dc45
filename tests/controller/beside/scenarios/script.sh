# Options in the script, from the environment and from the command line; what is in the script is shown.
cat >script <<'S'
#!/bin/bash
#SBATCH --job-name=from-script
#SBATCH -n 3 -t 0:30:00
#SBATCH --output=script.out --open-mode=append
#SBATCH -w n01 --requeue --comment='from the script'
echo hello
S
printf 'before\n' >script.out
job A script
until_job A COMPLETED
export SBATCH_TIMELIMIT=20 SBATCH_JOB_NAME=from-environment SBATCH_COMMENT=from-environment
job B script
until_job B COMPLETED
job C -J from-line -t 10 script argument
unset SBATCH_TIMELIMIT SBATCH_JOB_NAME SBATCH_COMMENT
until_job C COMPLETED
look ended A B C
ask output 'cat script.out'
