# Tasks, processors for each, and nodes in all forms.
job N -n6 --wrap 'exec sleep 600'
until_job N RUNNING
job PER -N2 --ntasks-per-node=2 --wrap 'exec sleep 600'
until_job PER RUNNING
job C -c3 --wrap 'exec sleep 600'
until_job C 'RUNNING|Resources'
look running N PER C
scancel "$N" "$PER" "$C"
for one in N PER C; do until_job $one CANCELLED; done
job RANGE -N1-3 -n8 --wrap 'exec sleep 600'
until_job RANGE RUNNING
job SOCKET -n2 --ntasks-per-socket=1 --wrap 'exec sleep 600'
until_job SOCKET 'RUNNING|Resources'
job CORE -n2 --ntasks-per-core=1 --hint=nomultithread --wrap 'exec sleep 600'
until_job CORE 'RUNNING|Resources'
look more RANGE SOCKET CORE
job MIN -N2 --mincpus=3 --wrap true
until_job MIN 'Resources|COMPLETED|RUNNING|Priority'
look min MIN
