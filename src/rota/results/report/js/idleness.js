// Why a part of the machine is idle while jobs wait: the queue by reason, and what of each part is in use.

const REASONS_HEIGHT = 260;

/** Curves on top of each other, the first at the bottom: `sums` are where each ends. */
function stacked(curves) {
  const sums = [];
  for (const curve of curves) sums.push(curve.map((v, i) => v + (sums.at(-1)?.[i] ?? 0)));
  return sums;
}

/** Pending jobs by reason, drawn anew when the reader counts something else. */
class ReasonChart {
  /** @param {Object} reasons what idleness.py prepares; `options` are those of `TimeCharts`. */
  constructor(reasons, options) {
    this.reasons = reasons;
    this.measure = "jobs";
    this.charts = new TimeCharts({ ...options, t: reasons.t });
    byId("reasons-measure").addEventListener("change", (e) => { this.measure = e.target.value; this.draw(); });
    this.draw();
  }

  draw() {
    const { lines } = this.reasons;
    const curves = lines.map((line) => line[this.measure]);
    const colour = (i) => (lines[i].other ? cssColour("--rest") : seriesColour(i));
    this.charts.remove("chart-reasons");
    this.charts.add("chart-reasons", {
      // The highest first: each is painted over by those below it.
      series: lines.map(({ name }, i) => ({
        label: name, stroke: () => colour(i), fill: () => colour(i), width: 1, merge: mean,
        paths: uPlot.paths.stepped({ align: 1 }), value: (_, __, ___, at) => (at == null ? "" : this.said(i, at)),
      })).reverse(),
      data: stacked(curves).reverse(),
      label: this.measure === "jobs" ? "jobs" : "processors",
      say: sayCount,
      height: REASONS_HEIGHT,
    });
  }

  /** What a reason's own value is, and not the sum that is drawn. */
  said(i, at) {
    const { plot } = this.charts.plots.get("chart-reasons");
    const row = this.reasons.lines.length - i;
    return sayCount(plot.data[row][at] - (plot.data[row + 1]?.[at] ?? 0));
  }
}

/** One picture for each node type and GRES, on the same axes; behind them the whole machine. */
function addParts(charts, parts, whole) {
  const stepped = { paths: uPlot.paths.stepped({ align: 1 }), merge: mean };
  const pale = () => cssColour("--behind");
  parts.forEach((part, i) => {
    const last = i + 1 === parts.length;
    charts.add(`chart-part-${i}`, {
      series: [{ ...stepped, label: "whole machine", stroke: pale, fill: pale, width: 0.5 },
        { ...stepped, label: part.name, stroke: () => seriesColour(0), width: 1.5 }],
      data: [whole, part.mean],
      say: (v) => percent(v, 0), label: "in use", top: 1, bare: !last, height: last ? ROW_HEIGHT + 36 : ROW_HEIGHT,
    });
  });
}
