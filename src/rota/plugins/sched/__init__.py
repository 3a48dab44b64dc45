"""Scheduler plugins."""
