"""Stubs of every API function, for plugins that need only some of them."""
