"""Requests of jobs, evaluated for one machine."""
