# How jobs end by themselves: exit codes and signals, in scripts and in steps.
printf '#!/bin/bash\nsrun false\nsrun bash -c "exit 7"\ntrue\n' >steps
printf '#!/bin/bash\nsrun bash -c '"'"'kill -USR1 $$'"'"'\n' >signal
printf '#!/bin/nothing\n' >interpreter
job ZERO -w n01 --wrap 'exit 0'
job THREE -w n01 --wrap 'exit 3'
job BIG -w n01 --wrap 'exit 255'
job KILLED -w n01 --wrap 'kill -9 $$'
job TERM -w n01 --wrap 'kill -TERM $$'
job STEPS -w n01 steps
job SIGNAL -w n01 signal
job MISSING -w n01 --wrap 'no-such-program'
job INTERPRETER -w n01 interpreter
job DIR -D /tmp/no-such-folder -w n01 --wrap pwd
for one in ZERO STEPS; do until_job $one COMPLETED; done
for one in THREE BIG KILLED TERM SIGNAL MISSING INTERPRETER DIR; do until_job $one 'FAILED'; done
look ended ZERO THREE BIG KILLED TERM STEPS SIGNAL MISSING INTERPRETER DIR
look_tables ended THREE KILLED TERM STEPS SIGNAL
ask output "grep -h error slurm-$STEPS.out slurm-$SIGNAL.out"
