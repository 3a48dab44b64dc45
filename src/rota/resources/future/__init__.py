"""What will be free when, as far as the time limits of running jobs and the plans made so far tell."""
