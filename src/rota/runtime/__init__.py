"""What every driver needs once: `boot` (an engine with its plugins) and `dispatch` (of what the engine wants done)."""
