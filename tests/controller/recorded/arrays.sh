#!/bin/bash
# What scontrol answers about job arrays, as root, on four nodes of four processors whose requeued jobs wait for two
# minutes. arrays.txt is what Slurm 22.05.8 printed. Ids of jobs are replaced by names.
cd "$(mktemp -d)"
submit() { sbatch --parsable -o /dev/null "$@"; }
HELD=$(submit -a 1-4 -H --wrap true)
RUNS=$(submit -a 1-4 --wrap '[ "$SLURM_ARRAY_TASK_ID" -lt 3 ] || sleep 600')
ENDS=$(submit -a 0-3 --wrap 'exit $SLURM_ARRAY_TASK_ID')
ONCE=$(submit -a 1-3 --no-requeue --wrap true)
GONE=$(submit -a 1-3 -H --wrap true)
PLAIN=$(submit --wrap true)
OWN=$(submit -a 1-7 --begin=now+9000 --wrap true)
LATE=$(submit --begin=now+9000 --wrap true)
scancel "${HELD}_2" "$GONE"
scontrol hold "${OWN}_2"
scontrol uhold "${OWN}_3"
scontrol update jobid="${OWN}_4" nice=5
scancel "${OWN}_"{1..4} "$LATE"
until [ "$(squeue -h -r -t R,CG,PD -j "$RUNS,$ENDS,$ONCE,$PLAIN" | wc -l)" = 2 ]; do sleep 0.2; done
reasons() { squeue -h -r -t all -j "$1" -o '%i %T %r' | sort; }
states() { squeue -h -t all -j "$1" -o '%i %T' | sort; }
export -f states reasons
while read -r command; do
    echo "##### $command"
    for name in HELD RUNS ENDS ONCE GONE PLAIN OWN LATE; do command=${command//$name/${!name}}; done
    bash -c "$command" >out 2>err </dev/null
    code=$?
    { sed 's/^/o| /' out; sed 's/^/e| /' err; } |
        sed -E "s/\b$HELD(\b|_)/HELD\1/g; s/\b$RUNS(\b|_)/RUNS\1/g; s/\b$ENDS(\b|_)/ENDS\1/g
            s/\b$ONCE(\b|_)/ONCE\1/g; s/\b$GONE(\b|_)/GONE\1/g; s/\b$PLAIN(\b|_)/PLAIN\1/g; s/\b$OWN(\b|_)/OWN\1/g
            s/\b$LATE(\b|_)/LATE\1/g"
    echo "rc=$code"
done <<'C'
scontrol requeue HELD
scontrol requeue HELD_1
scontrol requeue HELD_[1-2]
scontrol requeuehold HELD_[1-9]
scontrol requeue HELD_9
scontrol suspend HELD
scontrol resume HELD
scontrol release HELD_9
scontrol hold HELD_[1-2]
scontrol hold HELD
scontrol update jobid=HELD_[3,7] name=x
scontrol hold RUNS
scontrol release RUNS
scontrol uhold RUNS_1
scontrol hold RUNS_[1-4]
scontrol release RUNS_[1-4]
scontrol hold RUNS_[3,9]
scontrol suspend RUNS_1
scontrol suspend RUNS_3
scontrol suspend RUNS
scontrol resume RUNS_[1-4]
scontrol resume RUNS
scontrol update jobid=RUNS timelimit=5
scontrol update jobid=RUNS_1 timelimit=5
scontrol update jobid=RUNS_[1-4] timelimit=5
scontrol update jobid=RUNS_9 timelimit=5
scontrol update jobid=RUNS_3 timelimit=6
scontrol update jobid=RUNS arraytaskthrottle=2
states RUNS
scontrol requeue ENDS_1
states ENDS
scontrol requeue ENDS_1
scontrol requeue ENDS_[1-2]
scontrol requeue ENDS_7,ENDS_3
scontrol requeue incomplete ENDS
states ENDS
scontrol requeue ENDS
states ENDS
scontrol requeue ENDS
scontrol requeuehold RUNS_[1,3]
scontrol requeue RUNS
scontrol requeue RUNS_[1-4,8]
scontrol requeue ONCE
scontrol requeue ONCE_1
scontrol requeue incomplete ONCE_[1-2]
scontrol requeuehold ONCE_2,ONCE_8
scontrol requeue GONE_2
states GONE
scontrol requeue GONE
scontrol requeue GONE
scontrol requeue PLAIN_1
scontrol requeue PLAIN_[1-2]
scontrol hold PLAIN
scontrol hold PLAIN_1
scontrol release PLAIN
scontrol suspend PLAIN
scontrol resume PLAIN
scontrol update jobid=PLAIN name=x
scontrol requeue PLAIN
scontrol requeue PLAIN
scontrol requeue 99999
scontrol requeue 99999_1
scontrol requeue 99999_[1-2]
scontrol hold 99999
scontrol hold 99999_1
scontrol update jobid=99999_1 name=x
scontrol requeue PLAIN_
scontrol requeue PLAIN_x
scontrol requeue PLAIN_[1
scontrol requeue PLAIN+1
scontrol requeue PLAIN.0
scontrol requeue OWN_[1-2]
scontrol requeue OWN_[3-5]
scontrol requeue OWN_2
reasons OWN | grep Held
scontrol release OWN_2
reasons OWN | grep Held | grep -v _3
scontrol requeue LATE
states LATE
C
scancel "$HELD" "$RUNS" "$ENDS" "$ONCE" "$GONE" "$PLAIN" "$OWN" "$LATE"
