# Nodes that are drained while a job runs, and set down and failing; jobs that ask for them.
job A -w n01 -N1 -n1 --wrap 'exec sleep 600'
until_job A RUNNING
scontrol update nodename=n01 state=drain reason='bad memory'
scontrol update nodename=n02 state=drain reason=kernel
scontrol update nodename=n03 state=down reason='does not answer'
scontrol update nodename=n04 state=fail reason='will fail'
until_node n03 down
look_nodes drained
look_tables drained A
job B -w n02 --wrap true
until_job B ReqNodeNotAvail
job C -N2 -x n[03-04] --wrap true
until_job C 'Resources|DOWN|Priority|ReqNode'
look waiting A B C
scancel "$A"
until_job A CANCELLED
until_node n01 drained
look_nodes free
scontrol update nodename=n[01-02,04] state=resume
scontrol update nodename=n03 state=idle
until_job B COMPLETED
until_job C COMPLETED
look_nodes resumed
look ended B C
refused errors 'scontrol update nodename=n01 state=drain'
refused errors 'scontrol update nodename=n99 state=resume'
refused errors 'scontrol update nodename=n01 state=broken'
