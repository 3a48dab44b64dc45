"""The null node selection plugin: jobs get the lightest nodes, the first ones first."""

from rota.interfaces.stubs.select import *

plugin_type = "select/none"
plugin_name = "null node selection plugin"
plugin_version = 100
