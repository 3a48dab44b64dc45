"""One replay as a self-contained page, and several side by side.

The figures are prepared with NumPy here; templates and scripts only show them. Everything that a page needs is inlined:
it opens from ``file://``, without a network, years later.
"""

from rota.results.report.compare_page import write_comparison
from rota.results.report.comparison import Comparison, compare_results
from rota.results.report.page import write_report

__all__ = ["Comparison", "compare_results", "write_comparison", "write_report"]
