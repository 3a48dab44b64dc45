#!/bin/bash
# What scontrol says and shows when reservations are created and updated: bash reservations.sh, as root, with the nodes,
# partitions and accounts of test_reservations.py. reservations.txt is what Slurm 22.05.8 with slurmdbd printed.
cd "$(mktemp -d)" || exit 1
ask() {
    echo "##### $*"
    bash -c "$*" >out 2>err </dev/null
    status=$?
    sed 's/^/o| /' out
    sed 's/^/e| /' err
    echo "rc=$status"
}
# Creates one, shows it, and deletes it.
made() {
    ask "scontrol create $*"
    [ $status = 0 ] || return
    name=$(sed -n 's/Reservation created: //p' out)
    ask "scontrol -o show reservation $name"
    scontrol delete reservation="$name"
}
at=starttime=2035-01-01T10:00:00
for_root="$at duration=60 users=root"

scontrol update nodename=n[01-02] availablefeatures=old activefeatures=old
scontrol update nodename=n03 availablefeatures=old,new activefeatures=old,new
scontrol update nodename=n04 availablefeatures=new activefeatures=new
# Times.
made reservation reservationname=r users=root nodes=n01 starttime=2035-01-01T10:00:00
made reservation reservationname=r users=root nodes=n01 duration=60
made reservation reservationname=r users=root nodes=n01 starttime=foo duration=60
made reservation reservationname=r users=root nodes=n01 "$at" duration=foo
made reservation reservationname=r users=root nodes=n01 "$at" endtime=foo
made reservation reservationname=r users=root nodes=n01 "$at" endtime=2035-01-01T11:30:00
made reservation reservationname=r users=root nodes=n01 "$at" endtime=2035-01-01T11:00:00 duration=60
made reservation reservationname=r users=root nodes=n01 "$at" endtime=2035-01-01T11:00:00 duration=30
made reservation reservationname=r users=root nodes=n01 "$at" endtime=2035-01-01T09:00:00
made reservation reservationname=r users=root nodes=n01 "$at" endtime=2035-01-01T10:00:00
made reservation reservationname=r users=root nodes=n01 starttime=2020-01-01 duration=60
made reservation reservationname=r users=root nodes=n01 starttime=2020-01-01 endtime=2020-01-02
made reservation reservationname=r users=root nodes=n01 "$at" duration=0
made reservation reservationname=r users=root nodes=n01 "$at" duration=-5
made reservation reservationname=r users=root nodes=n01 "$at" duration=1:00:00
made reservation reservationname=r users=root nodes=n01 "$at" duration=2-0
made reservation reservationname=r users=root nodes=n01 "$at" duration=90:30
made reservation reservationname=r users=root nodes=n01 "$at" duration=infinite
made reservation reservationname=r users=root nodes=n01 "$at" duration=UNLIMITED
made reservation reservationname=r users=root nodes=n01 "$at" duration=+60
# For whom.
made reservation reservationname=r "$at" duration=60 nodes=n01
made reservation reservationname=r "$at" duration=60 nodes=n01 users=
made reservation reservationname=r "$at" duration=60 nodes=n01 flags=MAINT
made reservation reservationname=r "$at" duration=60 nodes=n01 users=nosuch
made reservation reservationname=r "$at" duration=60 nodes=n01 users=root,nosuch
made reservation reservationname=r "$at" duration=60 nodes=n01 users=root,daemon
made reservation reservationname=r "$at" duration=60 nodes=n01 users=-daemon
made reservation reservationname=r "$at" duration=60 nodes=n01 users=root,-daemon
made reservation reservationname=r "$at" duration=60 nodes=n01 users=0
made reservation reservationname=r "$at" duration=60 nodes=n01 accounts=nosuch
made reservation reservationname=r "$at" duration=60 nodes=n01 accounts=phys
made reservation reservationname=r "$at" duration=60 nodes=n01 accounts=-phys
made reservation reservationname=r "$at" duration=60 nodes=n01 accounts=phys,chem users=root
made reservation reservationname=r "$at" duration=60 nodes=n01 users+=root
made reservation reservationname=r "$at" duration=60 nodes=n01 groups=root
made reservation reservationname=r "$at" duration=60 nodes=n01 groups=nosuch
# Which nodes.
made reservation reservationname=r "$for_root"
made reservation reservationname=r "$for_root" nodes=n09
made reservation reservationname=r "$for_root" nodes=n[01-02
made reservation reservationname=r "$for_root" nodes=
made reservation reservationname=r "$for_root" nodes=ALL
made reservation reservationname=r "$for_root" nodes=all
made reservation reservationname=r "$for_root" nodes=n[02-03]
made reservation reservationname=r "$for_root" nodes=n03,n01
made reservation reservationname=r "$for_root" nodecnt=2
made reservation reservationname=r "$for_root" nodecnt=5
made reservation reservationname=r "$for_root" nodecnt=0
made reservation reservationname=r "$for_root" nodecnt=x
made reservation reservationname=r "$for_root" nodecnt=-1
made reservation reservationname=r "$for_root" nodecount=1
made reservation reservationname=r "$for_root" nodecnt=2 partitionname=half
made reservation reservationname=r "$for_root" nodecnt=3 partitionname=half
made reservation reservationname=r "$for_root" partitionname=half
made reservation reservationname=r "$for_root" partitionname=nosuch
made reservation reservationname=r "$for_root" partitionname=nosuch nodecnt=1
made reservation reservationname=r "$for_root" partitionname=half nodes=n01
made reservation reservationname=r "$for_root" partitionname=half nodes=n03
made reservation reservationname=r "$for_root" partitionname=half nodes=ALL
made reservation reservationname=r "$for_root" partitionname=half nodes=ALL flags=PART_NODES
made reservation reservationname=r "$for_root" nodes=ALL flags=PART_NODES
made reservation reservationname=r "$for_root" nodes=n01 nodecnt=2
made reservation reservationname=r "$for_root" nodes=n01 features=old
made reservation reservationname=r "$for_root" nodecnt=1 features=old
made reservation reservationname=r "$for_root" nodecnt=1 features=nosuch
made reservation reservationname=r "$for_root" features=old
made reservation reservationname=r "$for_root" nodecnt=2 'features=old\&new'
made reservation reservationname=r "$for_root" nodecnt=4 'features=old\|new'
# Keys.
made reservation reservationname=r "$for_root" nodes=n01 foo=1
made reservation reservationname=r "$for_root" nodes=n01 foo
made reservation reservationname=r "$for_root" nodes=n01 =foo
made reservation r=r s=2035-01-01T10:00:00 d=60 u=root nodes=n01
made reservation res=r start=2035-01-01T10:00:00 dur=60 user=root node=n01
made reservation reservationname=r start=2035-01-01T10:00:00 dur=60 user=root nodec=1
made reservation Name=r "$for_root" nodes=n01
made reservation "$for_root" nodes=n01
made reservation reservationname= "$for_root" nodes=n01
made res reservationname=r "$for_root" nodes=n01
made reservationname=r "$for_root" nodes=n01
made reservation=r "$for_root" nodes=n01
made reserv=r "$for_root" nodes=n01
made res=r "$for_root" nodes=n01
made "$for_root" nodes=n01
made reservation
made
made reservation reservationname=1 "$for_root" nodes=n01
made reservation reservationname=a,b "$for_root" nodes=n01
made reservation "reservationname='a b'" "$for_root" nodes=n01
# Flags.
made reservation reservationname=r "$for_root" nodes=n01 flags=
made reservation reservationname=r "$for_root" nodes=n01 flags=NOSUCH
made reservation reservationname=r "$for_root" nodes=n01 flags=SPEC_NODES
made reservation reservationname=r "$for_root" nodes=n01 flags=maint
made reservation reservationname=r "$for_root" nodes=n01 flags=maint,ignore_jobs,overlap
made reservation reservationname=r "$for_root" nodes=n01 flags=maint,nosuch
made reservation reservationname=r "$for_root" nodes=n01 flags=ign
made reservation reservationname=r "$for_root" nodes=n01 flags=i
made reservation reservationname=r "$for_root" nodes=n01 flags=f
made reservation reservationname=r "$for_root" nodes=n01 flags=o
made reservation reservationname=r "$for_root" nodes=n01 flags=daily
made reservation reservationname=r "$for_root" nodes=n01 flags=daily,weekly
made reservation reservationname=r "$for_root" nodes=n01 flags=hourly
made reservation reservationname=r "$for_root" nodes=n01 flags=weekday
made reservation reservationname=r "$for_root" nodes=n01 flags=weekend
made reservation reservationname=r "$for_root" nodes=n01 flags=week
made reservation reservationname=r "$for_root" nodes=n01 flags=purge_comp
made reservation reservationname=r "$for_root" nodes=n01 flags=purge_comp=10
made reservation reservationname=r "$for_root" nodes=n01 flags=purge_comp=1:00:00
made reservation reservationname=r "$for_root" nodes=n01 flags=purge_comp=x
made reservation reservationname=r "$for_root" nodecnt=1 flags=replace
made reservation reservationname=r "$for_root" nodes=n01 flags=replace
made reservation reservationname=r "$for_root" nodecnt=1 flags=replace_down
made reservation reservationname=r "$for_root" nodes=n01 flags=replace_down
made reservation reservationname=r "$for_root" nodecnt=1 flags=replace,replace_down
made reservation reservationname=r "$for_root" nodecnt=1 flags=static
made reservation reservationname=r "$for_root" nodecnt=1 flags=static_alloc
made reservation reservationname=r "$for_root" nodecnt=1 flags=static_alloc,replace
made reservation reservationname=r "$for_root" nodecnt=1 flags=magnetic
made reservation reservationname=r "$for_root" nodecnt=1 flags=user_delete
made reservation reservationname=r "$for_root" nodecnt=1 flags=no_hold_jobs_after_end
made reservation reservationname=r "$for_root" nodecnt=1 flags=no_hold_jobs
made reservation reservationname=r "$for_root" nodecnt=1 flags=first_cores
made reservation reservationname=r "$for_root" nodecnt=1 flags=flex
made reservation reservationname=r "$for_root" nodecnt=1 flags=license_only
made reservation reservationname=r "$for_root" nodecnt=1 flags=any_nodes
made reservation reservationname=r "$for_root" nodecnt=1 flags=all_nodes
made reservation reservationname=r starttime=now+600 duration=60 users=root nodecnt=1 flags=time_float
made reservation reservationname=r "$for_root" nodes=n01 flags+=maint
# What else it may have.
made reservation reservationname=r "$for_root" nodecnt=1 corecnt=2
made reservation reservationname=r "$for_root" corecnt=2
made reservation reservationname=r "$for_root" nodes=n01 corecnt=x
made reservation reservationname=r "$for_root" licenses=matlab:1
made reservation reservationname=r "$for_root" licenses=matlab:1 flags=any_nodes
made reservation reservationname=r "$for_root" licenses=nosuch:1 flags=any_nodes
made reservation reservationname=r "$for_root" nodes=n01 licenses=matlab:1
made reservation reservationname=r "$for_root" tres=node=2
made reservation reservationname=r "$for_root" tres=cpu=2
made reservation reservationname=r "$for_root" tres=foo=2
made reservation reservationname=r "$for_root" nodes=n01 maxstartdelay=60
made reservation reservationname=r "$for_root" nodes=n01 maxstartdelay=x
made reservation reservationname=r "$for_root" nodes=n01 burstbuffer=x
made reservation reservationname=r "$for_root" watts=10
made reservation reservationname=r "$for_root" nodes=n01 comment=hello
# Beside another.
ask scontrol create reservation reservationname=other "$for_root" nodes=n[01-02]
ask scontrol create reservation reservationname=other "$at" duration=60 users=root nodes=n04
made reservation reservationname=r "$for_root" nodes=n02
made reservation reservationname=r "$for_root" nodes=n03
made reservation reservationname=r "$for_root" nodecnt=3
made reservation reservationname=r "$for_root" nodecnt=2
made reservation reservationname=r "$for_root" nodes=n02 flags=overlap
made reservation reservationname=r "$for_root" nodes=n02 flags=maint
made reservation reservationname=r starttime=2035-01-01T11:00:00 duration=60 users=root nodes=n02
# Changes of one that is made anew each time.
changed() {
    scontrol delete reservation=other 2>made
    scontrol create reservation reservationname=other $for_root nodes=n[01-02] >made 2>&1
    ask "scontrol update $*"
    ask "scontrol -o show reservation other"
}
changed reservationname=other
changed reservationname=nosuch duration=10
changed reservation duration=10
changed reservationname= duration=10
changed reservationname=other duration=30
changed res=other duration=30
changed reservation=other dur=40
changed reservationname=other foo=1
changed reservationname=other foo
changed reservationname=other duration=foo
changed reservationname=other duration+=20
changed reservationname=other duration-=10
changed reservationname=other endtime=2035-01-01T12:00:00
changed reservationname=other endtime=2035-01-01T09:00:00
changed reservationname=other endtime=foo
changed reservationname=other starttime=foo
changed reservationname=other starttime=2035-01-01T08:00:00
changed reservationname=other starttime=2020-01-01
changed reservationname=other users=daemon
changed reservationname=other accounts+=root
changed reservationname=other users-=daemon
changed reservationname=other users=nosuch
changed reservationname=other users-=root
changed reservationname=other users=
changed reservationname=other users= accounts=phys
changed reservationname=other users= accounts=-phys
changed reservationname=other accounts=phys
changed reservationname=other accounts=
changed reservationname=other accounts=nosuch
changed reservationname=other users+=-daemon
changed reservationname=other flags=maint
changed reservationname=other flags=maint flags-=maint
changed reservationname=other flags+=flex,ignore_jobs
changed reservationname=other flags=no_flex
changed reservationname=other flags=nosuch
changed reservationname=other flags+=magnetic
changed reservationname=other flags=no_magnetic
changed reservationname=other flags=purge_comp=20
changed reservationname=other flags+=purge_comp
changed reservationname=other nodes=n09
changed reservationname=other nodes=n[01-03]
changed reservationname=other nodes+=n04
changed reservationname=other nodes-=n01
changed reservationname=other nodecnt=1
changed reservationname=other nodecnt=+1
changed reservationname=other nodecnt=9
changed reservationname=other nodecnt=0
changed reservationname=other nodecnt=x
changed reservationname=other features=old
changed reservationname=other features=nosuch
changed reservationname=other partitionname=half
changed reservationname=other partitionname=nosuch
changed reservationname=other licenses=matlab:1
changed reservationname=other skip
changed reservationname=other maxstartdelay=60
ask scontrol delete reservationname=nosuch
ask scontrol delete reservation=other
ask scontrol delete reservation other
ask scontrol show reservation nosuch
ask scontrol show reservation
# Flags together, and those of a partition.
made reservation reservationname=r "$for_root" partitionname=half flags=magnetic,purge_comp,no_hold_jobs_after_end,daily
made reservation reservationname=r "$for_root" partitionname=half flags=part_nodes
made reservation reservationname=r "$for_root" partitionname=half nodecnt=1 flags=part_nodes
made reservation reservationname=r "$for_root" nodes=n03 partitionname=half flags=part_nodes
made reservation reservationname=r "$for_root" nodecnt=1 flags=part_nodes
made reservation reservationname=r "$for_root" nodes=n01 flags=purge_comp=0
made reservation reservationname=r "$for_root" nodes=n01 flags=purge_comp=0:30,daily
made reservation reservationname=r "$for_root" nodes=n01 flags=purge_comp=-1
made reservation reservationname=r "$for_root" nodes=n01 flags=magnetic=3
made reservation reservationname=r "$for_root" nodes=n01 flags=weekday,weekend
changed reservationname=other flags+=part_nodes
changed reservationname=other flags=part_nodes nodes=ALL
changed reservationname=other nodes=ALL
changed reservationname=other flags-=purge_comp
changed reservationname=other flags=magnetic,weekday
scontrol delete reservation=other
halved() {
    ask scontrol create reservation reservationname=halved "$for_root" partitionname=half
    ask "scontrol update reservationname=halved $*"
    ask scontrol -o show reservation halved
    scontrol delete reservation=halved
}
halved nodes=n03
halved nodes=ALL
halved flags-=part_nodes
halved flags-=part_nodes nodes=n01
halved flags+=magnetic,purge_comp=3
halved nodecnt=1
