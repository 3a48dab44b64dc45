"""Reports, result folders and comparisons."""
