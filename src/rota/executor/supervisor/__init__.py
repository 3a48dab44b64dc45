"""The supervisor: a small program that starts the processes of runs, outlives the daemon, and notes every exit on disk.

It is started as ``python -I -S main.py STATE_DIR`` and imports nothing of rota but this package, and of the standard
library only what loads quickly: it has to start in milliseconds, and every run is a fork of it. So there are no
dataclasses, no `typing` and no `pathlib` here. It has no policy: what runs when, and for how long, the caller says.

It is two processes. The *supervisor* starts runs, waits for them and answers callers; the *keeper* is its parent, does
nothing but start it again when it has been killed, and notes how orphaned runs end meanwhile. See
docs/concepts/processes.md for what happens when which of them is killed.
"""
