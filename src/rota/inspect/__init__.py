"""Questions to a cluster, for replay and live. They read its view, and change nothing.

`view` (what the listings show), `explain` (why a job stands where it stands), `start_estimate` (when it could start,
and what would let it start sooner), `plan_reader` (what the scheduler plans).
"""
