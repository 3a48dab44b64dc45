#!/bin/bash
# What scontrol says and shows when partitions are changed, created and deleted: bash partitions.sh, as root, with the
# nodes and partitions of test_partitions.py and a QOS urgent. partitions.txt is what Slurm 22.05.8 with slurmdbd printed.
cd "$(mktemp -d)" || exit 1
ask() {
    echo "##### $*"
    bash -c "$*" >out 2>err
    status=$?
    sed 's/^/o| /' out
    sed 's/^/e| /' err
    echo "rc=$status"
}
set_() { ask "scontrol update partitionname=low $*"; }
# What is shown afterwards.
seen() {
    set_ "$@"
    ask "scontrol -o show partition low"
}
seen maxtime=20
seen defaulttime=3 maxtime=UNLIMITED
seen maxnodes=2 minnodes=2
seen maxnodes=UNLIMITED minnodes=0
seen maxnodes=2-3
seen minnodes=1-2
seen default=yes
ask "scontrol -o show partition | grep -o 'PartitionName=[a-z]*\|Default=[A-Z]*'"
ask "sinfo -h -o %P"
seen default=no
ask "scontrol update partitionname=debug default=y"
seen rootonly=yes reqresv=yes lln=yes
ask "sinfo -h -p low -o '%P %r'"
seen rootonly=no reqresv=n lln=no hidden=no exclusiveuser=no disablerootjobs=no
seen oversubscribe=force:3
seen oversubscribe=yes
seen oversubscribe=exclusive
seen shared=no
seen overtimelimit=5
seen overtimelimit=UNLIMITED
seen priority=7
seen priorityjobfactor=3 prioritytier=2
seen state=dow
seen state=up
seen nodes=n01,n04
seen nodes=
seen nodes=ALL
seen "nodes=n[03-04]"
seen allowgroups=root,daemon
seen allowgroups=nosuchgroup
seen allowgroups=
seen allowaccounts=phys,chem
seen denyaccounts=phys
seen allowaccounts=ALL
seen denyaccounts=
seen allowqos=urgent,normal
seen denyqos=urgent
seen allowqos=
seen allowqos=all
seen gracetime=30
seen defmempercpu=50
seen defmempernode=70
seen defmempernode=0
seen maxmempercpu=500
seen maxmempernode=700
seen maxmempernode=0
seen maxcpuspernode=2
seen maxcpuspernode=UNLIMITED
seen qos=urgent
seen qos=
seen jobdefaults=defcpupergpu=2
seen jobdefaults=
seen tresbillingweights=cpu=2,mem=0.25G
seen tresbillingweights=
seen maxt=30 defaultt=10 st=up prioritytie=1 minn=0
ask "scontrol update partition=low maxtime=29"
ask "scontrol update PartitionN=low maxtime=30"
ask "scontrol show partition low"
# What cannot be read.
for word in maxtime=x maxtime=-5 maxtime=1:x defaulttime=x defaulttime=NONE maxnodes=x default=maybe rootonly=x \
    reqresv=x lln=x oversubscribe=x overtimelimit=x priority=x priorityjobfactor=x prioritytier=70000 prioritytier=-1 \
    state=x nodes=n99 'nodes=n[01-99]' nodes+=n02 nodes-=n02 gracetime=x defmempercpu=x defmempernode=1G \
    maxmempernode=x maxmempernode=UNLIMITED maxcpuspernode=x qos=nosuch tresbillingweights=x \
    selecttypeparameters=CR_CORE foo=1 foo ''; do
    set_ "$word"
done
seen "nodes=n[03-04]"
ask "scontrol update p=low maxtime=30"
ask "scontrol update partitionname=nosuch maxtime=3"
ask "scontrol update partitionname= maxtime=3"
# Partitions come and go.
ask "scontrol create partitionname=new"
ask "scontrol -o show partition new"
ask "scontrol create partitionname=new nodes=n01"
ask "scontrol create partitionname=new2 nodes=n01 maxtime=10 state=down default=yes prioritytier=3"
ask "scontrol -o show partition"
ask "scontrol update partitionname=debug default=yes"
ask "scontrol create partition nodes=n01"
ask "scontrol create partition"
ask "scontrol create partitionname=DEFAULT nodes=n01"
ask "scontrol create partitionname=new5 foo=1"
ask "scontrol create partitionname=new5 maxtime=x"
ask "scontrol create partitionname=new5 qos=nosuch"
ask "scontrol create partitionname=new6 nodes=n99"
ask "scontrol create partitionname=new7 nodes=ALL defmempercpu=10"
ask "scontrol -o show partition new7"
job=$(sbatch -p new7 -o /dev/null --parsable --wrap 'sleep 300')
held=$(sbatch -p new7 -H -o /dev/null --parsable --wrap 'sleep 300')
ask "scontrol delete partitionname=new7"
scancel "$job"
until squeue -h -t all -j "$job" -o %T | grep -q CANCELLED; do sleep 0.1; done
ask "scontrol delete partitionname=new7"
scancel "$held"
until squeue -h -t all -j "$held" -o %T | grep -q CANCELLED; do sleep 0.1; done
ask "scontrol delete partitionname=new7"
ask "squeue -h -t all -p new7 -o '%P %T'"
ask "scontrol -o show partition new7"
ask "sbatch -p new7 --wrap true"
ask "scontrol delete partitionname=nosuch"
ask "scontrol delete partition"
ask "scontrol delete partitionname=new2 foo=1"
ask "scontrol delete partitionname=new2,new"
# As somebody else.
chmod 755 .
other() { ask "setpriv --reuid 65534 --regid 65534 --clear-groups $*"; }
other scontrol update partitionname=low maxtime=3
other scontrol update partitionname=low maxtime=x
other scontrol update partitionname=nosuch maxtime=3
other scontrol create partitionname=mine nodes=n01
other scontrol delete partitionname=new
# What has been set has effects.
ask "scontrol update partitionname=debug oversubscribe=exclusive"
job=$(sbatch -n1 -o /dev/null --parsable --wrap 'sleep 300')
until squeue -h -j "$job" -o %T | grep -q RUNNING; do sleep 0.1; done
ask "squeue -h -p debug -o '%T %C'"
ask "scontrol delete partitionname=debug"
scancel "$job"
until squeue -h -t all -j "$job" -o %T | grep -q CANCELLED; do sleep 0.1; done
job=$(sbatch -p low -H -t 20 -o /dev/null --parsable --wrap 'sleep 300')
ask "scontrol update partitionname=low maxtime=15 defaulttime=5"
scontrol release "$job"
until squeue -h -j "$job" -o %r | grep -q PartitionTimeLimit; do sleep 0.1; done
ask "sbatch -p low -t 20 -H -o /dev/null --wrap true | tr -d 0-9"
ask "scontrol update partitionname=low maxtime=20"
until squeue -h -j "$job" -o %T | grep -q RUNNING; do sleep 0.1; done
ask "squeue -h -j $job -o '%T %l'" | sed "s/$job/JOB/"
scancel -p low
until ! squeue -h -p low | grep -q .; do sleep 0.1; done
# Until slurm.conf is read again.
ask "scontrol delete partitionname=low"
ask "scontrol update partitionname=debug maxtime=3"
ask "scontrol reconfigure"
sleep 1
ask "scontrol -o show partition"
