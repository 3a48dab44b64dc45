"""What is free of the machine now, and what a job would be given of it: one pool for each kind of machine."""
