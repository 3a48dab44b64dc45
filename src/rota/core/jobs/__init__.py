"""Submission, start, end and changes of jobs."""
