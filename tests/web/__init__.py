"""The pages that are served, in a browser."""
