"""The jobs that wait: their order, what they wait for, and why."""
