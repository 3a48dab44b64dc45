# Jobs that are to start later.
job A --begin=now+1hour --wrap true
job B --begin=now+30minutes -t 20 -J minutes --wrap true
until_job A BeginTime
until_job B BeginTime
look waiting A B
look_tables waiting A B
scontrol update jobid="$B" starttime=now+2hours
until_job B BeginTime
look later B
scontrol update jobid="$B" starttime=now
until_job B COMPLETED
look ended B
