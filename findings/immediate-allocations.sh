#!/bin/sh
# `--immediate` of srun and salloc means five things. Without a number an allocation is refused at once, and its job is
# recorded as FAILED with exit code 1; with `=2` it waits two seconds, and its job is CANCELLED; with `=0` it is not
# immediate at all, and waits for ever. After the two seconds srun says 'Requested nodes are busy' and salloc
# 'Connection timed out', though nothing but the time is over; and both exit with 1, as if the command had failed.
# Seen with Slurm 22.05.8 (Debian 12), one slurmctld and one slurmd of its own on loopback, without munge.
# Needs root, Debian 12's package sources, and the ports 26817 and 26818. Fails if that changes.
set -eu
folder=$(mktemp -d)
controller=
daemon=
trap 'kill $daemon $controller 2>/dev/null || true; sleep 1; rm -rf "$folder"' EXIT
chmod 755 "$folder"
slurm=22.05.8-4+deb12u3
(
  cd "$folder"
  apt-get download -q slurmctld=$slurm slurmd=$slurm slurm-client=$slurm slurm-wlm-basic-plugins=$slurm \
    libhwloc15 libnuma1 liblua5.3-0 libpmix2 libbpf1 libltdl7 2> "$folder/apt.log" || { cat "$folder/apt.log"; exit 1; }
  for package in *.deb; do dpkg -x "$package" root; done
)
library=$(dirname "$(find "$folder/root" -name libslurmfull.so)")
export LD_LIBRARY_PATH="$library:$(dirname "$library")" SLURM_CONF="$folder/slurm.conf"
export PATH="$folder/root/usr/bin:$folder/root/usr/sbin:$PATH"
cat > "$SLURM_CONF" <<CONF
ClusterName=one
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=26817
SlurmdPort=26818
SlurmUser=root
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
PluginDir=$library
SelectType=select/linear
MinJobAge=300
NodeName=n1 NodeHostname=$(hostname) NodeAddr=127.0.0.1 CPUs=1
PartitionName=all Nodes=n1 Default=YES
CONF
mkdir "$folder/state" "$folder/spool"
slurmctld-wlm -D > "$folder/slurmctld.log" 2>&1 &
controller=$!
wait_for() { # the state of the node, for half a minute at most
  left=60
  until [ "$(sinfo -h -o %t 2> /dev/null)" = "$1" ]; do
    left=$((left - 1))
    [ "$left" -gt 0 ] || { cat "$folder"/*.log; exit 1; }
    sleep 0.5
  done
}
wait_for unk
slurmd-wlm -D -N n1 -d "$folder/root/usr/sbin/slurmstepd-wlm" > "$folder/slurmd.log" 2>&1 &
daemon=$!
wait_for idle
salloc -N1 --no-shell -t 5 # the node is busy from now on
ask() { # asks for the node, and shows how long that took, what came of it, and what became of the job
  before=$(date +%s)
  code=0
  timeout 5 "$@" > "$folder/out" 2>&1 || code=$?
  took=$(($(date +%s) - before))
  case $took in 0 | 1) waited=no ;; 2 | 3) waited=two ;; *) waited=long ;; esac
  said=$(sed -n 's/.*Unable to allocate resources: //p' "$folder/out")
  job=$(squeue -h -t all -S i -o '%i %T' | tail -n 1)
  echo "$* | waited: $waited | $code | $said | ${job#* }"
}
ask srun --immediate true | tee -a "$folder/found"
ask srun --immediate=1 true | tee -a "$folder/found"
ask srun --immediate=2 true | tee -a "$folder/found"
ask salloc --immediate=2 true | tee -a "$folder/found"
ask srun --immediate=0 true | tee -a "$folder/found"
diff - "$folder/found" <<'FOUND'
srun --immediate true | waited: no | 1 | Requested nodes are busy | FAILED
srun --immediate=1 true | waited: no | 1 | Requested nodes are busy | FAILED
srun --immediate=2 true | waited: two | 1 | Requested nodes are busy | CANCELLED
salloc --immediate=2 true | waited: two | 1 | Connection timed out | CANCELLED
srun --immediate=0 true | waited: long | 124 |  | CANCELLED
FOUND
