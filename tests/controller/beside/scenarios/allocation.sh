# Allocations: salloc with a command, srun without one, a task that fails.
ask salloc 'salloc -n2 -J interactive bash -c "echo \$SLURM_NTASKS; srun -l hostname | wc -l; exit 5" 2>&1 | sed "s/[0-9]\{5\}/ID/"'
named ALLOC "$(squeue -h -t all -n interactive -S -i -o %A | head -n 1)"
until_job ALLOC 'COMPLETED|FAILED'
look salloc ALLOC
srun -n2 -J direct true
named DIRECT "$(squeue -h -t all -n direct -S -i -o %A | head -n 1)"
srun -n1 -J fails bash -c 'exit 9' 2>/dev/null
named FAILS "$(squeue -h -t all -n fails -S -i -o %A | head -n 1)"
until_job DIRECT COMPLETED
until_job FAILS FAILED
look srun DIRECT FAILS
salloc --no-shell -N2 -J open 2>/dev/null
named OPEN "$(squeue -h -n open -S -i -o %A | head -n 1)"
until_job OPEN RUNNING
look open OPEN
look_steps open OPEN
scancel "$OPEN"
until_job OPEN CANCELLED
look cancelled OPEN
