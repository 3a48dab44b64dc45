#!/bin/bash
# Asks a real Slurm of four nodes for `scontrol show assoc_mgr`: accounts phys and chem, QOS normal and urgent, without
# users but root. RUN is the directory of its slurm.conf. assoc_mgr.txt is what Slurm 22.05.8 printed: `+` is what was
# set up, `@games` who submitted or asked, `! ` standard error. Of what users were shown with PrivateData, the first line
# of each record is kept.
cd /tmp
out=$PWD/assoc_mgr.txt
: >"$out"
setup() { echo "+ $*" >>"$out"; "$@"; }
as() { setpriv --reuid "$1" --regid "$1" --clear-groups bash -c "cd /tmp; $2"; }
submit() { echo "@$1 sbatch -o /dev/null $2" >>"$out"; as "$1" "sbatch -o /dev/null $2"; sleep 1.5; }
ask() {
    echo "\$ $1" >>"$out"
    case $1 in @*) user=${1%% *} && as "${user#@}" "${1#* }" ;; *) eval "$1" ;; esac >>"$out" 2>err.txt
    code=$?
    sed 's/^/! /' err.txt >>"$out"
    echo "rc=$code" >>"$out"
}
setup sacctmgr -i add user games account=phys fairshare=10
setup sacctmgr -i add user bin account=phys fairshare=parent
setup sacctmgr -i add user sys account=chem fairshare=10
setup sacctmgr -i modify user games,bin,sys set qos+=urgent
group="GrpTRES=cpu=12,gres/gpu=4 GrpJobs=5 GrpSubmitJobs=20 GrpTRESMins=cpu=10000 GrpTRESRunMins=cpu=5000 GrpWall=600"
each="MaxJobs=4 MaxSubmitJobs=9 MaxTRESPerJob=cpu=8 MaxTRESPerNode=cpu=4 MaxTRESMinsPerJob=cpu=300 MaxWall=100"
setup sacctmgr -i modify account phys set $group $each
setup sacctmgr -i modify user games where account=phys set MaxJobs=3 GrpTRES=mem=4000 Priority=7 MaxJobsAccrue=4
group="GrpTRES=cpu=10 GrpJobs=6 MaxJobsPU=2 MaxSubmitJobsPU=5 MaxTRESPU=cpu=6,mem=3000 MaxJobsPA=3 MaxTRESPA=cpu=9"
group+=" MaxSubmitJobsPA=8 GrpSubmitJobs=30 GrpWall=500 MaxWall=50 MinTRES=cpu=1 MaxTRESPerJob=cpu=5"
each="GrpTRESMins=cpu=900 GrpTRESRunMins=cpu=800 MaxTRESMinsPerJob=cpu=700 MaxTRESPerNode=cpu=3 MaxJobsAccruePU=3"
each+=" MaxJobsAccruePA=4 GrpJobsAccrue=7 UsageFactor=2 Preempt=normal PreemptMode=requeue"
setup sacctmgr -i modify qos urgent set $group $each
setup sacctmgr -i add user games account=chem partition=debug
setup sacctmgr -i add coordinator account=phys names=bin
setup sacctmgr -i modify user sys set AdminLevel=Operator
submit games "-n3 -t 20 -A phys --wrap 'sleep 300'"
submit games "-n2 --mem=500 -t 20 -q urgent -A phys --gpus=1 --wrap 'sleep 300'"
submit bin "-n2 -t 20 --wrap 'sleep 300'"
submit sys "-n1 -t 20 -q urgent --wrap 'sleep 300'"
submit sys "-n1 -t 20 -q urgent -H --wrap 'sleep 300'"
submit bin "-n1 -t 20 -a 1-3 -b now+1hour --wrap 'sleep 300'"
grep '^\$ scontrol' "${0%.sh}.txt" | cut -c3- | while read -r command; do ask "$command"; done
for kind in users,usage,accounts users usage; do
    sed -i '/^PrivateData=/d' "$RUN/slurm.conf"
    echo "PrivateData=$kind" >>"$RUN/slurm.conf"
    scontrol reconfigure
    sleep 1.5
    echo "# PrivateData=$kind" >>"$out"
    for user in games bin sys; do ask "@$user scontrol show assoc_mgr flags=users,assoc"; done
done
