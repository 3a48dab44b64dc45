"""Pools: free resources and allocation, with one class for each kind of machine."""
