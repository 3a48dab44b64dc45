# Memory for each processor, for each node, all of it, and more than there is.
job CPU --mem-per-cpu=500 -n2 --wrap 'exec sleep 600'
job NODE --mem=1500 -n2 --wrap 'exec sleep 600'
job GIGA --mem=2G -n1 --wrap 'exec sleep 600'
job ALL --mem=0 -N1 -w n03 --wrap 'exec sleep 600'
for one in CPU NODE GIGA ALL; do until_job $one RUNNING; done
job WAITS --mem=7000 -w n03 --wrap true
until_job WAITS Resources
look running CPU NODE GIGA ALL WAITS
look_nodes running
refused errors 'sbatch --mem=9000 --wrap true'
refused errors 'sbatch --mem-per-cpu=9000 --wrap true'
refused errors 'sbatch --mem=x --wrap true'
