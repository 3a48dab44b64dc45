# Features, weights, and nodes that have them.
job BIG -C big --wrap 'exec sleep 600'
job BOTH -C 'big&fast' --wrap 'exec sleep 600'
job EITHER -C 'fast|virt' --wrap 'exec sleep 600'
job TWO -N2 -C big --wrap 'exec sleep 600'
until_job BIG RUNNING
until_job BOTH RUNNING
until_job EITHER 'RUNNING|BadConstraints|Resources'
until_job TWO RUNNING
job WAITS -C fast --exclusive --wrap true
until_job WAITS Resources
look running BIG BOTH EITHER TWO WAITS
refused errors 'sbatch -C nope --wrap true'
refused errors 'sbatch -C "virt*5" -N5 --wrap true'
