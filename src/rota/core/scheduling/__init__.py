"""Scheduling: the main pass and its timing, preemption, availability over time."""
