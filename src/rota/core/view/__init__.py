"""The view: read access to the engine, with copies of records and queries that change nothing."""
