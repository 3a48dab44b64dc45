"""The engine's side of plugins: guarded calls of their functions, and the `Controller` that they get."""
