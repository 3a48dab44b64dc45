# Jobs held when they are submitted, held later, and released.
job A -H -J held-first --wrap 'exec sleep 600'
job B -N4 --exclusive --wrap 'exec sleep 600'
until_job B RUNNING
job C -N2 -J held-later --wrap 'exec sleep 600'
until_job C 'Resources|Priority|DOWN'
scontrol hold "$C"
until_job C JobHeld
look held A C
look_tables held A C
scontrol release "$A"
scontrol uhold "$C"
until_job A 'Resources|Priority|DOWN'
look released A C
scancel "$B"
scontrol release "$C"
until_job A RUNNING
until_job C RUNNING
look running A C
refused errors "scontrol hold $A"
refused errors "scontrol release $A"
refused errors "scontrol hold 99999"
refused errors "scontrol release 99999"
