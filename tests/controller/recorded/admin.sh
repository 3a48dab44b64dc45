#!/bin/bash
# What the administrator's commands answer to words that are odd: bash admin.sh, as root, with the nodes, partitions and
# accounts of test_admin.py. admin.txt is what Slurm 22.05.8 with slurmdbd printed. Ids of jobs are replaced by names.
cd "$(mktemp -d)" || exit 1
printf '#!/bin/bash\nsleep 600\n' >batch.sh
RUNS=$(sbatch --parsable -n1 --mem=200 -t 60 batch.sh)
HELD=$(sbatch --parsable -H --mem=100 batch.sh)
until [ "$(squeue -h -t R | wc -l)" = 1 ]; do sleep 1; done
while read -r command; do
    [ -n "$command" ] || continue
    echo "##### $command"
    for name in RUNS HELD; do command=${command//$name/${!name}}; done
    bash -c "$command" >out 2>err </dev/null
    code=$?
    { sed 's/^/o| /' out; sed 's/^/e| /' err; } | sed "s/\b$RUNS\b/RUNS/g; s/\b$HELD\b/HELD/g"
    echo "rc=$code"
done <<'C'
sprio -h -j RUNS
sprio -j 99999
sprio -h -j ,
sprio -h -j RUNS,99999
sprio -h -j -1
sprio -h -j 1.5
sprio -h -u nosuch
sprio -h -u root,nosuch
sprio -h -p nosuch
sprio -p nosuch
sprio -h -S nosuch
sprio -h -S @
sprio -h -S i,u
sprio -h -o foo
sprio -h -o %Z
sprio -h -o '%.5u|%10r|%'
sprio -h -o ''
sprio -M nosuch
sprio -w -h -o foo
sprio -w -j RUNS
sprio -w -n
sprio --nosuch
sprio extra
sprio --usage
sprio -V
sprio --json
sshare -h
sshare -A nosuch
sshare -hn -A nosuch
sshare -n -A phys,nosuch -o account,user
sshare -n -A , -o account
sshare -n -u nosuch -o account,user
sshare -n -u games,nosuch -o account,user
sshare -n -u 0 -o account,user
sshare -n -a -A theory -o account,user
sshare -n -U -o account,user
sshare -n -U -u games -o account,user
sshare -n -a -u games -o account,user
sshare -nP -o account%3,user%-5
sshare -nP -o account%0
sshare -nP -o account,nosuch
sshare -nP -o ,
sshare -nP -o ''
sshare -nP -o account,,user
sshare -np -o account,user
sshare -nP -p -o account,user
sshare -n -o account%5,user%5
sshare -n -o account%-5,user%-5
sshare -nPl -A theory
sshare -l -n -o account
sshare -e
sshare -m -n -o account
sshare -nP -M nosuch
sshare extra
sshare -nP -A theory extra -o account
sshare --nosuch
sshare --usage
sshare -V
sdiag -x
sdiag extra >/dev/null
sdiag -r; sdiag --reset --all | sed -n 1p
sdiag -i extra >/dev/null
sdiag -V
sdiag --usage
sdiag -t -i >/dev/null
sdiag -M nosuch
sdiag --sort-by-id >/dev/null
sdiag -T >/dev/null
sdiag -I >/dev/null
sacctmgr show runawayjobs
sacctmgr -n show runaway
sacctmgr show problem
sacctmgr -nP show problem
sacctmgr show problem nosuch=1
sacctmgr show event where nosuch=1
sacctmgr show event format=nosuch
sacctmgr show transaction where nosuch=1
sacctmgr show transaction format=nosuch
sacctmgr show stats extra >/dev/null
sacctmgr show stats >/dev/null
sacctmgr show config extra >/dev/null
sacctmgr show config | sed -n '/^AccountingStorage/p' | grep -v Host
sacctmgr show federation
sacctmgr -nP show federation
sacctmgr show federation nosuch
sacctmgr show resource
sacctmgr show resource nosuch
sacctmgr show reservation nosuch
sacctmgr show wckey
sacctmgr -nP show wckey
sacctmgr show wckey where nosuch=1
sacctmgr archive
sacctmgr archive nosuch
sacctmgr archive load
sacctmgr ping
sacctmgr clear
sacctmgr clear stats nosuch
sacctmgr reconfigure extra
sacctmgr version
sacctmgr -V
sacctmgr version extra
sacctmgr help >/dev/null
sacctmgr exit
sacctmgr quit
sacctmgr !!
sacctmgr verbose
sacctmgr quiet
sacctmgr oneliner
sacctmgr readonly
sacctmgr readonly -i add account x
sacctmgr -r -i add account x
sacctmgr -Q -i add account x1 parent=nosuch
sacctmgr -Q -n show user nosuch
sacctmgr -o -nP show account phys format=account
sacctmgr -x
sacctmgr -p show account phys format=account,org
sacctmgr -p -n show account phys format=account,org
sacctmgr -n -P show account phys format=account,org
sacctmgr -s -nP show account theory format=account,user
sacctmgr -a -nP show account theory format=account
sacctmgr --immediate delete account nosuch
sacctmgr -i remove user nosuch
sacctmgr -i delete qos nosuch
sacctmgr -i delete cluster nosuch
sacctmgr -i delete nosuch
sacctmgr -i modify nosuch
sacctmgr -i modify account nosuch set fairshare=3
sacctmgr -i modify qos nosuch set priority=3
sacctmgr -i modify cluster nosuch set fairshare=3
sacctmgr -i add nosuch
sacctmgr -i add association
sacctmgr -i add tres x
sacctmgr -i show
sacctmgr add cluster
sacctmgr -i add account ''
sacctmgr -i add user '' account=phys
sacctmgr -i add qos ''
sacctmgr -i add user games account=phys nosuch
sacctmgr -i modify user games set
sacctmgr -i modify user games where account=phys
sacctmgr -i modify user games set fairshare
sacctmgr -i modify user games set fairshare=x
sacctmgr -i modify user games set maxjobs=x
sacctmgr -i modify user games set maxjobs=-5
sacctmgr -i modify user games set maxjobs=3x
sacctmgr -i modify user games set maxwall=x
sacctmgr -i modify user games set grptres=x
sacctmgr -i modify user games set grptres=cpu
sacctmgr -i modify user games set grptres=cpu=x
sacctmgr -i modify user games set grptres=cpu=1,nosuch=2
sacctmgr -i modify user games set grptres=node=-1
sacctmgr -nP show account phys nosuch
sacctmgr -nP show user games nosuch=1 format=user
sacctmgr -nP show user where user=games nosuch format=user
sacctmgr -nP list users games format=user
sacctmgr -nP list user user=games,root format=user
sacctmgr -nP list user USER=games FORMAT=USER
sacctmgr -nP list user where name=games format=user,nosuch
sacctmgr -nP list associations cluster=nosuch format=user
sacctmgr -nP list associations where account=theory format=account,user%4,
sacctmgr -nP list qos where nosuch=1
sacctmgr -nP list tres nosuch=1
sacctmgr -nP list coordinators
sacctmgr -nP list cluster where nosuch=1
sacctmgr -nP list config nosuch | head -1
sreport
sreport foo bar
sreport cluster utilization start=nosuch
sreport -n cluster utilization end=nosuch
sreport -nP cluster utilization start=2030-01-01 end=2030-01-02
sreport -nP cluster utilization start=2020-01-01 end=2020-01-01
sreport -nP cluster utilization start=2020-13-01
sreport -nP cluster utilization cluster=nosuch
sreport -nP cluster utilization clusters=rig,nosuch start=2020-01-01 end=2020-01-02
sreport -nP -M nosuch cluster utilization
sreport -nP -T nosuch cluster utilization start=2020-01-01 end=2020-01-02
sreport -nP -T cpu,nosuch cluster utilization start=2020-01-01 end=2020-01-02
sreport -nP -T '' cluster utilization start=2020-01-01 end=2020-01-02
sreport -nP -t foo cluster utilization start=2020-01-01 end=2020-01-02
sreport -nP -t '' cluster utilization start=2020-01-01 end=2020-01-02
sreport -nP --local cluster utilization start=2020-01-01 end=2020-01-02
sreport -nP --federation cluster utilization start=2020-01-01 end=2020-01-02
sreport -nP cluster utilization all_clusters start=2020-01-01 end=2020-01-02
sreport -nP user top all_clusters start=2020-01-01 end=2020-01-02
sreport -nP user top users=nosuch start=2020-01-01 end=2020-01-02
sreport -nP user top accounts=nosuch start=2020-01-01 end=2020-01-02
sreport -nP user top topcount=0 start=2020-01-01 end=2020-01-02
sreport -nP user top topcount=-1 start=2020-01-01 end=2020-01-02
sreport -nP user top nosuch start=2020-01-01 end=2020-01-02
sreport -nP user top format=login,used% start=2020-01-01 end=2020-01-02
sreport -n cluster utilization format=cluster%5 start=2020-01-01 end=2020-01-02
sreport ping
sreport help >/dev/null
sreport usage >/dev/null
sreport exit
sreport quit
sreport parsable
sreport time
sreport time foo
sreport version extra
sreport time hours
sstat -j
sstat -j RUNS.5 -n
sstat -nP -o jobid -j RUNS.batch
sstat -nP -o jobid RUNS.batch,HELD
sstat -nP -o jobid -j HELD
sstat -nP -o jobid -j RUNS.x
sstat -nP -o jobid -j -1
sstat -nP -o jobid -j RUNS+1
sstat -nP -o jobid -a -j RUNS
scontrol ping extra
scontrol -o ping extra
scontrol show hostnames n[1
scontrol show hostnames n[3-1]
scontrol show hostnames n[1-3],m
scontrol show hostnames ''
scontrol show hostnames n1 n2
scontrol show hostnames n[01-03,07]x[1-2]
scontrol show hostname n1,n1
scontrol show hostlist n1
scontrol show hostlist ''
scontrol show hostlist n3,n1,n2,n1
scontrol show hostlist n1 n2
scontrol show hostlist nosuch.txt
scontrol show hostlist /nosuch.txt
scontrol show hostlistsorted n3,n1,n1,n2
scontrol show hostlistsorted
scontrol show hostlistsorted ''
scontrol show hostl n1,n2
scontrol show hostn n[1-2]
scontrol show daemons extra
scontrol show topology nosuch
scontrol show topology unit=1
scontrol show steps
scontrol show steps 99999
scontrol show steps x
scontrol show step RUNS.batch extra
scontrol show step RUNS.x
scontrol show federation extra
scontrol show config extra >/dev/null
scontrol show conf >/dev/null
scontrol show jobs RUNS extra
scontrol show job RUNS,HELD >/dev/null
scontrol -o show job x
scontrol show job -1
scontrol show job RUNS.0 >/dev/null
scontrol show node n01,nosuch >/dev/null
scontrol show node 'n[1'
scontrol show node n01 n02 >/dev/null
scontrol show partition debug,high >/dev/null
scontrol show part
scontrol show licenses nosuch
scontrol show lic extra more
scontrol show aliases nosuch
scontrol show aliases n01
scontrol show assoc_mgr flags=nosuch
scontrol show assoc_mgr nosuch
scontrol show bbstat
scontrol show frontend nosuch
scontrol show nosuch
scontrol show job=RUNS >/dev/null
scontrol show job=99999
scontrol show node=n01 >/dev/null
scontrol show partition=nosuch
scontrol show reservation=nosuch
scontrol sho job 99999
scontrol s job 99999
scontrol listpids x
scontrol listpids RUNS.x
scontrol listpids RUNS nosuch
scontrol listpids RUNS extra more
scontrol getent
scontrol getent nosuch
scontrol top
scontrol top x
scontrol top 99999
scontrol hold
scontrol hold x
scontrol hold 99999
scontrol hold RUNS
scontrol hold HELD extra
scontrol release 99999
scontrol release x
scontrol release RUNS
scontrol uhold 99999
scontrol suspend 99999
scontrol suspend HELD
scontrol resume 99999
scontrol resume HELD
scontrol resume RUNS
scontrol requeue x
scontrol requeue
scontrol requeue HELD
scontrol requeuehold 99999
scontrol requeuehold
scontrol notify
scontrol notify RUNS
scontrol notify 99999 hello
scontrol pidinfo
scontrol pidinfo x
scontrol completing
scontrol completing extra
scontrol setdebug
scontrol setdebug nosuch
scontrol setdebug 99
scontrol setdebugflags
scontrol setdebugflags nosuch
scontrol schedloglevel
scontrol schedloglevel 5
scontrol fsdampeningfactor
scontrol fsdampeningfactor x
scontrol token username=nosuch
scontrol token nosuch
scontrol reconfigure extra
scontrol reboot
scontrol cancel_reboot
scontrol write config
scontrol write batch_script RUNS a b
scontrol checkpoint
scontrol version
scontrol version extra
scontrol -V
scontrol help >/dev/null
scontrol -x
scontrol --nosuch
scontrol -Q update jobid=99999 priority=1
scontrol -Q show job 99999
scontrol -o -d -a show job 99999
scontrol -v show job 99999
scontrol update jobid
scontrol update jobid=
scontrol update job=HELD
scontrol update JobId=HELD
scontrol update jobid=HELD priority
scontrol update jobid=HELD priority=
scontrol update jobid=HELD priority=x
scontrol update jobid=HELD nosuch=1
scontrol update jobid=HELD nosuch
scontrol update jobid=HELD comment=a nosuch=1
scontrol update jobid=HELD comment=a timelimit=x
scontrol update jobid=HELD timelimit=
scontrol update jobid=HELD timelimit=+x
scontrol update jobid=HELD timelimit=-5
scontrol update jobid=HELD timelimit=10 timelimit=20; squeue -h -j HELD -o %l
scontrol update jobid=HELD timel=15; squeue -h -j HELD -o %l
scontrol update jobid=HELD time=16; squeue -h -j HELD -o %l
scontrol update jobid=HELD partition=nosuch
scontrol update jobid=HELD part=high; squeue -h -j HELD -o %P
scontrol update jobid=HELD account=nosuch
scontrol update jobid=HELD qos=nosuch
scontrol update jobid=HELD features=nosuch
scontrol update jobid=HELD reqnodelist=nosuch
scontrol update jobid=HELD excnodelist=nosuch
scontrol update jobid=HELD dependency=nosuch
scontrol update jobid=HELD dependency=afterok:HELD
scontrol update jobid=HELD licenses=nosuch
scontrol update jobid=HELD gres=nosuch
scontrol update jobid=HELD reservation=nosuch
scontrol update jobid=HELD starttime=x
scontrol update jobid=HELD deadline=x
scontrol update jobid=HELD minmemorynode=x
scontrol update jobid=HELD mincpusnode=x
scontrol update jobid=HELD numcpus=x
scontrol update jobid=HELD numtasks=x
scontrol update jobid=HELD oversubscribe=x
scontrol update jobid=HELD contiguous=x
scontrol update jobid=HELD requeue=x
scontrol update jobid=HELD delayboot=x
scontrol update jobid=HELD,RUNS comment=both; squeue -h -o %k
scontrol update jobid=HELD,99999 comment=c
scontrol update jobid=99999,HELD comment=d; squeue -h -j HELD -o %k
scontrol update jobid=RUNS numnodes=2
scontrol update jobid=RUNS partition=high
scontrol update jobid=RUNS timelimit=30; squeue -h -j RUNS -o %l
scontrol update jobname=nosuch comment=x
scontrol update jobname=batch.sh comment=e; squeue -h -o %k
scontrol update nodename
scontrol update nodename=
scontrol update nodename=nosuch state=drain reason=x
scontrol update nodename=n01
scontrol update nodename=n01 state=
scontrol update nodename=n01 state=nosuch
scontrol update nodename=n01 state=drain
scontrol update nodename=n04 state=drain reason=
scontrol update nodename=n04 state=dra reason=x; sinfo -h -n n04 -p debug -o '%T %E'
scontrol update nodename=n04 state=resume; sinfo -h -n n04 -p debug -o '%T %E'
scontrol update nodename=n04,nosuch state=drain reason=x
scontrol update nodename=n04 nosuch=1
scontrol update nodename=n04 weight=x
scontrol update nodename=n04 weight=-1
scontrol update nodename=n04 comment=a nosuch=1
scontrol update node=n04 comment=b; scontrol show node n04 | grep -o 'Comment=.*'
scontrol update nodename=n04 comment=; scontrol show node n04 | grep -o 'Comment=.*'
scontrol update nodename=n04 extra=e; scontrol show node n04 | grep -o 'Extra=.*'
scontrol update nodename=n04 cpubind=nosuch
scontrol update nodename=n04 gres=nosuch:1
scontrol update partitionname
scontrol update partitionname=
scontrol update partitionname=nosuch state=up
scontrol update partitionname=high
scontrol update partitionname=high nosuch=1
scontrol update partitionname=high state=nosuch
scontrol update partitionname=high maxtime=x
scontrol update step=RUNS.0 timelimit=1
scontrol update stepid=RUNS.batch timelimit=1
scontrol update stepid=x timelimit=1
scontrol update slurmctlddebug=nosuch
scontrol update frontendname=x state=up
scontrol create
scontrol create nosuch=1
scontrol create job=1
scontrol delete
scontrol delete jobid=HELD
scontrol delete partitionname=nosuch
scontrol delete partition
scontrol delete reservation=
C
scancel $RUNS $HELD
