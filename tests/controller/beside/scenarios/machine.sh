# An idle machine.
look_nodes idle
look_partitions idle
look_reservations idle
ask idle 'squeue; squeue -l | tail -n +2; squeue -s'
ask idle 'sinfo; sinfo -N; sinfo -R; sinfo -s; sinfo -o "%10P %.5a %.10l %.6D %.6t %N %C %G"'
ask idle 'scontrol show license'
for one in 'scontrol show job 99999' 'scontrol show node n99' 'scontrol show partition nope' 'scontrol show res nope' 'scontrol show step 99999' 'squeue -j 99999' 'sacct -n -j 99999' 'squeue -p nope' 'sinfo -p nope'; do
    refused idle "$one"
done
