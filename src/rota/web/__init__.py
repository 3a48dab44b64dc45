"""Pages that are served: they ask what `rota.api` tells, and draw it."""
