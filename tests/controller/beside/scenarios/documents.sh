# Jobs with options that others have not, and nodes, partitions and reservations that are changed.
job A -a '1-10:2%2' -H -J ranged --comment='of all' --wrap true
job B -a '3,4,7-9%1' -J waits --begin=now+1hour --wrap true
job C -H -N1-2 -x 'n[01-02]' -C 'big|fast' --contiguous --mincpus=2 --mail-type=END,FAIL --mail-user=someone --wrap true
job D -H -n4 --ntasks-per-node=2 --ntasks-per-core=1 -B 1:2:1 --mem-per-cpu=10 --nice=-5 --no-requeue --wrap true
job E -H -N1-3 -n3 -c2 --exclusive -t 90 --time-min=60 --wckey=key --wrap true
job F -H -p high,short -t 5 -L matlab:1 --deadline=now+1day -s --wrap true
job G -H --gpus=1 --cpus-per-gpu=2 --wrap true
job I -H -n2 --gpus-per-task=1 --switches=1@10 -w 'n[01-03]' --wrap true
job J -H -w n03 -N1 --ntasks-per-socket=2 --signal=B:USR1@60 --spread-job --prefer=big --wrap true
job K -H -N2 --gpus-per-node=1 -d "after:$A+5,afterany:$C" --nice=7 --wrap true
job M -H -t 1-0 --open-mode=append -e errors -i /dev/zero --wrap true
scontrol update jobid="$C" admincomment='of the administrator'
until_job B BeginTime
look_documents waiting A B C D E F G I J K M
scontrol release "${A}_3"
until_job A '3 COMPLETED'
look_documents part A
scontrol update partitionname=low allowaccounts=lab maxtime=1-0 minnodes=2 state=drain
scontrol update partitionname=high allowqos=normal,urgent maxcpuspernode=2 gracetime=5
look_partitions changed
scontrol update partitionname=low allowaccounts=all maxtime=30 minnodes=0 state=up
scontrol update partitionname=high allowqos=all maxcpuspernode=unlimited gracetime=0
scontrol update nodename=n01 comment='of a node' extra='more of it'
scontrol update nodename=n02 weight=7 availablefeatures=virt,new activefeatures=virt,new
scontrol create reservation=r1 starttime=now duration=10 nodes=n01 users="$(id -un)" flags=maint,ignore_jobs
scontrol create reservation=r2 starttime=now+1hour duration=10 nodecnt=1 accounts=lab,other flags=daily features=big
until_node n01 maint
look_reservations active
document active "sinfo --json"
scontrol delete reservation=r1
scontrol delete reservation=r2
scontrol update nodename=n01 comment= extra=
scontrol update nodename=n02 weight=1 activefeatures=virt
scontrol update nodename=n02 availablefeatures=virt
