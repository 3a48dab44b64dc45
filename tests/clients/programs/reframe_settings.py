"""What ReFrame knows of a cluster: the ways in which it starts jobs, and hears of them."""

_SRUN = {"launcher": "srun", "environs": ["builtin"], "max_jobs": 8}
site_configuration = {
    "systems": [
        {
            "name": "here",
            "hostnames": [".*"],
            "partitions": [
                {"name": "sacct", "scheduler": "slurm", **_SRUN},
                {"name": "squeue", "scheduler": "squeue", **_SRUN},
                {"name": "big", "scheduler": "slurm", "access": ["-p debug", "-C big"], **_SRUN},
                {"name": "direct", "scheduler": "local", "launcher": "srunalloc", "environs": ["builtin"]},
            ],
            "sched_options": {"slurm_pending_job_reason_poll_freq": 1},
        }
    ],
    "general": [{"poll_rate_min": 2}],
}
