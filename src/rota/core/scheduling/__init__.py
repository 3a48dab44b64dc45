"""Who starts when: the main pass and its times, preemption, what will be available."""
