#!/bin/sh
# `sbatch --parsable` prints the job id for scripts, and `--quiet` hides what is said to people: together they print
# nothing at all. The job is submitted and the status is 0, so that a script goes on with an empty id.
# Seen with Slurm 22.05.8 (Debian 12), one slurmctld and one slurmd of its own on loopback, without munge.
# Needs root, Debian 12's package sources, and the ports 27817 and 27818. Fails if that changes.
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
SlurmctldPort=27817
SlurmdPort=27818
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
ask() { # submits a job, and shows what is printed, the status, and how many jobs there are now
  code=0
  said=$("$@" -o /dev/null --wrap true 2>&1) || code=$?
  echo "$* | $said | $code | $(squeue -h -t all | wc -l)"
}
ask sbatch --parsable | tee -a "$folder/found"
ask sbatch --parsable --quiet | tee -a "$folder/found"
diff - "$folder/found" <<'FOUND'
sbatch --parsable | 1 | 0 | 1
sbatch --parsable --quiet |  | 0 | 2
FOUND
