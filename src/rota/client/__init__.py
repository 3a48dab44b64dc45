"""The client of a live cluster, and the commands that are made of it."""
