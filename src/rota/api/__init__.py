"""HTTP: a process of its own, `rota http`, that asks the controller as the commands do.

It knows paths, headers and forms. Everything else the controller knows: see `rota.controller.api`. FastAPI and uvicorn
come with ``rota[http]``; nothing else of rota imports this package.
"""
