"""Mail about the jobs of a live cluster: which letters there are, what they say, and how they are sent."""
