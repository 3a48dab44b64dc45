# Deadlines and least time limits.
job A --deadline=now+2hours -t 60 -H --wrap true
job B --time-min=10 -t 30 -H --wrap true
look waiting A B
refused errors 'sbatch --deadline=now+1minute -t 60 --wrap true'
refused errors 'sbatch --deadline=2020-01-01 --wrap true'
refused errors 'sbatch --time-min=30 -t 10 --wrap true'
