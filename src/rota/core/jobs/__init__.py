"""A job's life: how it is admitted, made, changed, split, started and ended."""
