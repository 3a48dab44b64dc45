"""What `rota http` asks of the controller: commands ``rota-api WHO QUESTION JSON``, answered as JSON.

The controller knows users, jobs and rules; that it is HTTP that asks it does not know. See `rota.api`.
"""
