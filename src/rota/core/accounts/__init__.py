"""Accounting as the engine does it: whom a job is charged to and with what, and what it may therefore do."""
