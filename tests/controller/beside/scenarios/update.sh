# A job that is changed while it waits, and another while it runs.
job A -H -n2 -t 10 -J old --wrap 'exec sleep 600'
scontrol update jobid="$A" name=new timelimit=20 numnodes=2
scontrol update jobid="$A" numtasks=4 minmemorycpu=200 partition=high nice=5
scontrol update jobid="$A" features=virt gres=gpu:1 qos=urgent account=other
scontrol update jobid="$A" excnodelist=n01 reqnodelist=n02 licenses=matlab:1
scontrol update jobid="$A" requeue=0 contiguous=yes oversubscribe=no
look changed A
scontrol update jobid="$A" reqnodelist= excnodelist= features= licenses= timelimit=+10
look cleared A
scontrol release "$A"
until_job A RUNNING
scontrol update jobid="$A" timelimit=40
scontrol update jobid="$A" name=third
look running A
refused errors "scontrol update jobid=$A numnodes=9"
refused errors "scontrol update jobid=$A partition=nope"
refused errors "scontrol update jobid=$A qos=nope"
refused errors "scontrol update jobid=$A account=nope"
refused errors "scontrol update jobid=$A starttime=now+1hour"
refused errors "scontrol update jobid=99999 timelimit=5"
refused errors "scontrol update jobid=$A nonsense=5"
refused errors "scontrol update jobid=$A timelimit=x"
