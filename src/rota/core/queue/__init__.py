"""Pending jobs: their order, dependencies, reservations and reasons."""
