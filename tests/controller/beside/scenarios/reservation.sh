# Reservations: one that is active, one in the future, jobs in them and beside them.
scontrol create reservation=now starttime=now duration=60 nodes=n[01-02] users="$(id -un)"
scontrol create reservation=later starttime=now+2hours duration=30 nodes=n03 accounts=lab flags=maint
scontrol create reservation=some starttime=now+3hours duration=30 nodecnt=2 users="$(id -un)"
look_reservations made
until_node n01 reserved
look_nodes made
job IN --reservation=now -t 10 --wrap 'exec sleep 600'
until_job IN RUNNING
job FUTURE --reservation=later -t 10 --wrap true
until_job FUTURE 'Reservation'
job BESIDE -N3 -t 30 --wrap true
until_job BESIDE 'Resources|Reserved|ReqNode|Priority'
job LONG -w n03 -t 300 --wrap true
until_job LONG 'Resources|ReqNode|Reserved|Priority'
until_planned BESIDE
until_planned LONG
look running IN FUTURE BESIDE LONG
look_tables running IN FUTURE BESIDE LONG
refused errors 'scontrol create reservation=bad starttime=now duration=60 nodes=n99 users=root'
refused errors 'scontrol delete reservation=nope'
refused errors 'sbatch --reservation=nope --wrap true'
refused errors 'scontrol create reservation=now starttime=now duration=60 nodes=n04 users=root'
scontrol update reservation=now endtime=now+5hours
look_reservations updated
scancel "$IN" "$FUTURE" "$BESIDE" "$LONG"
until_job IN CANCELLED
scontrol delete reservation=later
scontrol delete reservation=some
scontrol delete reservation=now
look_reservations deleted
