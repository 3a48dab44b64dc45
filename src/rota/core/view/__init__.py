"""The engine's view for others: records as copies, and answers that change nothing."""
