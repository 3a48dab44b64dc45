#!/bin/bash
# Asks, as several users, with each word of PrivateData, a real Slurm: accounts phys of alice and bob, chem of carol.
# RUN is the directory of its slurm.conf and slurmdbd.conf. private.txt is what Slurm 22.05.8 printed; ids of jobs are
# replaced by names.
cd "$(mktemp -d)" && chmod 777 .
printf '#!/bin/bash\nsleep 600\n' >b.sh
sacctmgr -i -Q add coordinator account=phys names=alice >/dev/null
set_private() {
    for file in slurm slurmdbd; do
        sed -i '/^PrivateData=/d' "$RUN/$file.conf"
        [ "$1" = none ] || echo "PrivateData=$1" >>"$RUN/$file.conf"
    done
    sed -i 's/^\(PrivateData=.*\)nodes,\(.*\)partitions,/\1\2/; /=nodes$/d; /=partitions$/d' "$RUN/slurmdbd.conf"
    scontrol reconfigure
    sacctmgr -i reconfigure >/dev/null
    sleep 3
}
set_private none
scontrol create reservation=ra nodes=n04 start=now+60minutes duration=10 users=alice >/dev/null
scontrol create reservation=rc nodes=n04 start=now+90minutes duration=10 users=carol >/dev/null
for user in ALICE BOB CAROL; do
    low=${user,,}
    declare "$user=$(su "$low" -c "sbatch -o /dev/null --parsable -n1 --mem=200 -J $low b.sh")"
    declare "H$user=$(su "$low" -c "sbatch -o /dev/null --parsable -H --mem=200 -J held-$low b.sh")"
done
until [ "$(squeue -h -t R | wc -l)" = 3 ]; do sleep 1; done
ask() {
    while read -r command; do
        echo "##### $1 $2 $command"
        for name in HALICE HBOB HCAROL ALICE BOB CAROL; do command=${command//$name/${!name}}; done
        su "$2" -c "$command" >out 2>err </dev/null
        code=$?
        { sed 's/^/o| /' out; sed 's/^/e| /' err; } >both
        for name in ALICE BOB CAROL HALICE HBOB HCAROL; do sed -i "s/\b${!name}\b/$name/g" both; done
        cat both
        echo "rc=$code"
    done <<'C'
squeue -h -S j -o '%j %u'
squeue -h -j CAROL -o %j
squeue -h -j CAROL,BOB -o %j
squeue -h -s -o '%i %u'
scontrol show job CAROL | grep -o 'JobName.*'
scontrol show job BOB | grep -o 'JobName.*'
scontrol -o show job | grep RUNNING | grep -o 'JobName=[^ ]*'
scontrol -o show step | grep -o 'StepId=[^ ]*'
sinfo -h -p debug -o '%R %D'
sinfo -h -N -p debug -o %N
scontrol show node n01 >/dev/null
scontrol show partition debug >/dev/null
scontrol show partition nosuch
scontrol show reservation | grep -o 'ReservationName=[^ ]*'
scontrol show reservation rc | grep -o 'ReservationName=[^ ]*'
sprio -h -S i -o '%u'
sshare -P -n -a -A phys,chem -o account,user
sshare -P -n -o account,user -A phys,chem
sacct -n -P -X -a -s R -o JobName,User
sacct -n -P -X -j CAROL -o JobName,User
sacctmgr -n -P list user format=user
sacctmgr -n -P list account format=account
sacctmgr -n -P list assoc format=account,user
sacctmgr -n -P list account withassoc format=account,user
sacctmgr -n -P list qos format=name
scancel CAROL_7
C
}
every=accounts,events,jobs,nodes,partitions,reservations,usage,users
for kind in none accounts jobs nodes partitions reservations usage users "$every"; do
    set_private "$kind"
    for user in alice bob; do ask "$kind" "$user"; done
done
sacctmgr -i -Q modify user bob set adminlevel=operator >/dev/null
sleep 2
ask "$every" bob | sed '/^#####/s/ bob / bob-as-operator /'
sacctmgr -i -Q modify user bob set adminlevel=none >/dev/null
set_private none
scontrol delete reservation=ra
scontrol delete reservation=rc
for user in alice bob carol; do scancel -u "$user"; done
