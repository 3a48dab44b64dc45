"""Accounting in the engine: the association of each job, its charges, and its limits."""
