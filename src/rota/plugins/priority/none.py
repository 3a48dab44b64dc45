"""The null priority plugin: every job has priority 1, so the queue is in order of submission."""

from rota.interfaces.stubs.priority import *

plugin_type = "priority/none"
plugin_name = "null priority plugin"
plugin_version = 100
