#!/bin/bash
# Carries out the commands of srun_counts.txt, which is its input, and prints them with what they gave: options of
# sbatch, and of srun within that job the exit code, the tasks on each node and what was said on standard error.
# srun_counts.txt is what Slurm 22.05.8 printed, with four nodes of four processors, CR_Core_Memory, DefMemPerCPU=100.
cd "$(mktemp -d)" || exit
cat >steps.sh <<'S'
#!/bin/bash
while read -r command; do
    bash -c "$command sh -c 'echo \$SLURMD_NODENAME'" </dev/null >out 2>err
    code=$?
    tasks=$(sort out | uniq -c | awk '{ print $2 ":" $1 }' | paste -sd ' ')
    said=$(sed "s/job $SLURM_JOB_ID:/job J:/; /step creation temporarily disabled/d; /Step created/d" err | paste -sd '~')
    echo "  $command | $code | $tasks | $said" | sed 's/[ |]*$//'
done <commands
S
job() {
    [ -z "$options" ] && return
    sbatch -Q --wait -o printed $options steps.sh
    echo "$options"
    cat printed
}
while IFS= read -r line; do
    case $line in
    "  "*) line=${line#  } && echo "${line%% | *}" >>commands ;;
    *) job; options=$line; : >commands ;;
    esac
done
job
