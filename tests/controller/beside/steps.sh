# The language of the scenarios: bash, with these functions. steps.sh SCENARIO FILE runs one in the directory in which it
# is, with the commands of whatever cluster is on the path, and writes what they printed to FILE, each after a line
# `##### MOMENT<tab>COMMAND<tab>TIME`, and `##### name<tab>NAME<tab>ID` for each job.
scenario=$1 answers=$2
# Tenths of a second that something may take.
PATIENCE=600
LETTERS=aABcCdDeEfFgGhHiIjJkKlLmMnNoOpPqQrRStTuUvVwWxXyYzZ
NAMES=AccrueTime,BatchFlag,CPUs-Per-Task,CPUs-Per-Tres,Deadline,DelayBoot,DerivedEC
NAMES+=,EligibleTime,Exit_Code,LastSchedEval,MaxCPUs,MaxNodes,Mem-Per-Tres,MinTime,NtPerCore,NtPerNode,NtPerSocket
NAMES+=,NumTasks,PreemptTime,Prefer,Reboot,ReqSwitch,Requeue,RestartCnt,StdErr,StdIn,StdOut,Tres-Alloc
NAMES+=,Tres-Per-Job,Tres-Per-Socket,Tres-Per-Task,Tres-Bind,Tres-Freq

# until_true PATIENCE COMMAND...: wait until it succeeds, at most so many tenths of a second.
until_true() {
    local left=$1
    shift
    until "$@" >/dev/null 2>&1; do
        ((left-- > 0)) || { echo "$scenario: this has not become true: $*" >&2; return 1; }
        sleep 0.1
    done
}
said() { printf '##### %s\t%s\t%s\n' "$1" "$2" "$(date +%s)" >>"$answers"; }
# named NAME ID: from here on the job with this id is called so.
named() {
    printf -v "$1" %s "$2"
    printf '##### name\t%s\t%s\n' "$1" "$2" >>"$answers"
}
# job NAME OPTION...: submit a job.
job() {
    local name=$1
    shift
    named "$name" "$(sbatch --parsable "$@" </dev/null)"
}
# until_job NAME PATTERN: wait until a line `TASK STATE REASON NODES` of the job matches.
until_job() { until_true $PATIENCE squeue_matches "${!1}" "$2" || exit 1; }
squeue_matches() { squeue -h -r -t all -j "$1" -o '%K %T %r %N' | grep -Eq -- "$2"; }
# until_planned NAME: wait until it is known when it is to start.
until_planned() { until_true $PATIENCE start_known "${!1}" || exit 1; }
start_known() { ! squeue -h -j "$1" -o %S | grep -q N/A; }
# start_of NAME: when it is planned to start.
start_of() { squeue -h -j "${!1}" -o %S; }
# until_replanned NAME START: wait until it is planned to start at another time than before. What is said of a job that
# waits can be new while its plan is still that of the last backfill cycle.
until_replanned() { until_true $PATIENCE start_differs "$1" "$2" || exit 1; }
start_differs() { start_known "${!1}" && [[ $(start_of "$1") != "$2" ]]; }
# until_before NAME OTHER: wait until one is planned to start before the other.
until_before() { until_true $PATIENCE starts_before "${!1}" "${!2}" || exit 1; }
starts_before() { start_known "$2" && [[ $(squeue -h -j "$1" -o %S) < $(squeue -h -j "$2" -o %S) ]]; }
# until_node NODE PATTERN: wait until its state in sinfo matches.
until_node() { until_true $PATIENCE node_matches "$1" "$2" || exit 1; }
node_matches() { sinfo -h -N -n "$1" -o %T | head -n 1 | grep -Eq -- "$2"; }
until_file() { until_true 300 test -s "$1" || exit 1; }
# What sacct shows comes later than what squeue shows.
settled() { [ "$(accounted "$1")" = "$(squeue -h -a -t all -j "$1" -o '%i|%T|%P' | sed 's/%[0-9]*\]/]/' | sort)" ]; }
accounted() { sacct -n -X -P -j "$1" -o JobID,State,Partition | sed 's/ by [0-9]*//; s/%[0-9]*\]/]/' | sort; }

# ask MOMENT COMMAND: what a command prints, line by line.
ask() {
    said "$1" "${3:-ask} $2"
    bash -c "$2" </dev/null >asked 2>&1
    echo "status $?" >>asked
    cat asked >>"$answers"
}
# refused MOMENT COMMAND: the same of a command that is expected to fail.
refused() { ask "$@" "refused"; }
# look MOMENT NAME...: all that is known of jobs and their steps.
look() {
    local moment=$1 name ids list
    shift
    ids=$(for name; do echo "${!name}"; done | paste -sd,)
    for name; do
        until_true 150 settled "${!name}"
        squeue_matches "${!name}" 'Resources|Priority|DOWN' && until_true 50 start_known "${!name}"
    done
    list=$(sed 's/./%&^/g; s/.$//' <<<"$LETTERS")
    said "$moment" squeue
    squeue -h -a -t all -j "$ids" -o "$list" >>"$answers"
    said "$moment" "squeue -O ArrayJobId,ArrayTaskId,$NAMES"
    squeue -h -a -t all -j "$ids" -O "ArrayJobId:150,ArrayTaskId:150,${NAMES//,/:150,}:150" >>"$answers"
    for name; do
        said "$moment" "scontrol show job"
        scontrol show job "${!name}" >>"$answers" 2>&1
    done
    said "$moment" sacct
    sacct -a -P --delimiter=^ -j "$ids" -o ALL >>"$answers"
    ask_documents "$moment" "$ids"
}
# look_documents MOMENT NAME...: the same as JSON alone, of jobs whose texts break lines.
look_documents() {
    local moment=$1 name
    shift
    for name; do until_true 150 settled "${!name}"; done
    ask_documents "$moment" "$(for name; do echo "${!name}"; done | paste -sd,)"
}
ask_documents() {
    document "$1" "squeue --json -j $2"
    document "$1" "sacct --json -j $2"
}
# document MOMENT COMMAND: what a command prints, whose last line Slurm does not end.
document() {
    said "$1" "$2"
    { $2; echo; } >>"$answers"
}
# objects KIND: all partitions or reservations as JSON. In Slurm 22.05 its REST daemon has them, which is not for root.
objects() {
    if scontrol --json show partitions >/dev/null 2>&1; then
        scontrol --json show "$1"
    else
        runuser -u nobody -- sh -c 'printf "GET $1 HTTP/1.1\r\nConnection: close\r\n\r\n" |
            slurmrestd -a rest_auth/local 2>/dev/null' sh "/slurm/v0.0.38/$1" | sed -n '/^{/,/^}/{s/^}.*/}/;p}'
    fi
}
# look_tables MOMENT NAME...: jobs, their steps, and nodes as users mostly see them.
look_tables() {
    local moment=$1 option ids name
    shift
    ids=$(for name; do echo "${!name}"; done | paste -sd,)
    for name; do until_true 150 settled "${!name}"; done
    for option in "" "-l" "--start" "-r" "-s"; do
        said "$moment" "squeue table $option"
        # shellcheck disable=SC2086 # nothing is nothing
        squeue -a $option -j "$ids" >>"$answers"
    done
    for option in "" "-X"; do
        said "$moment" "sacct table $option"
        # shellcheck disable=SC2086
        sacct -a $option -j "$ids" >>"$answers"
    done
    for option in "" "-N -l" "-R" "-s" "-l"; do
        said "$moment" "sinfo table $option"
        # shellcheck disable=SC2086
        sinfo $option >>"$answers"
    done
}
# look_steps MOMENT NAME...: the running steps of jobs.
look_steps() {
    local moment=$1 name
    shift
    for name; do
        said "$moment" "scontrol show step"
        scontrol -o show step "${!name}" >>"$answers" 2>&1
    done
}
# look_nodes MOMENT: all nodes.
look_nodes() {
    said "$1" sinfo
    sinfo -h -p debug -N -o '%N^%A^%b^%c^%C^%d^%e^%E^%f^%G^%m^%t^%T^%u^%U^%w^%X^%Y^%z^%Z' >>"$answers"
    said "$1" "scontrol show node"
    scontrol -o show node >>"$answers"
    document "$1" "sinfo --json"
}
# look_partitions MOMENT: all partitions.
look_partitions() {
    said "$1" "sinfo -s"
    sinfo -h -s -o '%R^%a^%B^%D^%F^%g^%h^%I^%l^%L^%M^%p^%r^%s^%S' >>"$answers"
    said "$1" "scontrol show partition"
    scontrol -o show partition >>"$answers"
    document "$1" "objects partitions"
}
# look_reservations MOMENT: all reservations.
look_reservations() {
    said "$1" "scontrol show reservation"
    scontrol -o show reservation >>"$answers"
    document "$1" "objects reservations"
}
. "$scenario"
