"""What a cluster has kept is damaged, older than it was, or gone."""
