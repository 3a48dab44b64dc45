"""The built-in plugins, as ``<major>/<minor>.py``. They use nothing but `rota.interfaces`, as anybody's would."""
