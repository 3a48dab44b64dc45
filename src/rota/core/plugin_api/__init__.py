"""Where plugins meet the engine: guarded calls into them, and the `Controller` that they are handed."""
