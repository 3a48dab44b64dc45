# Licences, all of which are in use.
job A -L matlab:2 --wrap 'exec sleep 600'
until_job A RUNNING
job B -L matlab --wrap true
until_job B Licenses
look waiting A B
ask waiting 'scontrol show license'
refused errors 'sbatch -L matlab:3 --wrap true'
refused errors 'sbatch -L nope --wrap true'
scancel "$A"
until_job B COMPLETED
look ended A B
