"""What all pages share: the style sheet, scripts, uPlot, and the templates' environment.

A package with pages of its own has folders ``templates`` and ``js`` beside its code; `environment` makes it templates
that can inline what is there and what is here.
"""

from rota.pages.environment import environment, script_json

__all__ = ["environment", "script_json"]
