# A job that is suspended and resumed.
job A -n4 -J paused --wrap 'exec sleep 600'
until_job A RUNNING
scontrol suspend "$A"
until_job A SUSPENDED
look suspended A
look_tables suspended A
look_nodes suspended
scontrol resume "$A"
until_job A RUNNING
look resumed A
job H -H --wrap true
refused errors "scontrol suspend $H"
refused errors "scontrol resume $A"
refused errors "scontrol suspend 99999"
