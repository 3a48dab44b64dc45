"""The driver of a live cluster: the wall clock, the journal, and requests of users."""
