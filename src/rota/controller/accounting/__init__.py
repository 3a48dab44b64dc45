"""``sacctmgr`` in a live cluster: the commands that change accounts, users, associations and QOS.

A command is planned on a copy of the tree (`rota.controller.accounting.plan`), shown, and handed to the engine as one
event once the user has agreed.
"""
