"""Priority plugins."""
