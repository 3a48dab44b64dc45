"""The null priority plugin: every job has priority 1, so the queue is in order of submission."""

from rota.interfaces.stubs.priority import *  # noqa: F403 - the documented way to take the stubs

plugin_type = "priority/none"
plugin_name = "null priority plugin"
plugin_version = 100
