"""Availability over time, from the time limits of running jobs and from plans."""
