"""HTML reports: a page for one replay, and a page that compares several.

Figures are computed here with NumPy; templates and scripts only show them. Pages are self-contained: they open from
``file://``, without a network.
"""

from rota.results.report.compare_page import write_comparison
from rota.results.report.comparison import Comparison, compare_results
from rota.results.report.page import write_report

__all__ = ["Comparison", "compare_results", "write_comparison", "write_report"]
