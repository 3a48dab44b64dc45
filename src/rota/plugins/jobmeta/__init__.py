"""Built-in plugins that say who owns a job."""
