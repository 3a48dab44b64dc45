// The page that puts several replays side by side.

const data = JSON.parse(document.getElementById("data").textContent);
const { dated } = data.clock;
const charts = new TimeCharts({ t: data.series.t, dated });

/** One line a run: told apart by colour, and by dashes for those who do not see the colours. */
const runSeries = () => data.names.map((label, i) => ({
  label, stroke: () => seriesColour(i), width: 1.5, dash: DASHES[i % DASHES.length],
}));

/** The greatest value that any of the curves has in a stretch of time. */
function greatest(curves, [from, to]) {
  const [low, high] = [Math.max(lastAtMost(data.series.t, from), 0), lastAtMost(data.series.t, to)];
  return Math.max(...curves.flatMap((curve) => curve.slice(low, high + 1)));
}

/** One picture a run, all on the same axes. Behind the others stands the first, which they are measured against. */
function addRows(id, curves, { top, ...options }) {
  const stepped = { paths: uPlot.paths.stepped({ align: 1 }), merge: mean };
  const pale = () => cssColour("--behind");
  curves.forEach((curve, i) => {
    const own = { ...stepped, label: data.names[i], stroke: () => seriesColour(i), width: 1.5 };
    const behind = { ...stepped, label: data.names[0], stroke: pale, fill: pale, width: 0.5 };
    charts.add(`${id}-${i}`, {
      series: i ? [behind, own] : [{ ...own, fill: pale }],
      data: i ? [curves[0], curve] : [curve],
      top: top ?? (() => Math.max(greatest(curves, charts.range), 1) * 1.05),
      bare: i + 1 < curves.length,
      height: i + 1 < curves.length ? ROW_HEIGHT : ROW_HEIGHT + 36,
      ...options,
    });
  });
}

addRows("chart-busy", data.series.busy, { label: "in use", say: (v) => percent(v, 0), top: 1 });
addRows("chart-jobs", data.series.jobs, { label: "jobs", say: sayCount });
addRows("chart-procs", data.series.procs, { label: "processors", say: sayCount });
document.getElementById("zoom-all").addEventListener("click", () => charts.zoom(...charts.full));
charts.onZoom = () => { document.getElementById("bin-width").textContent = shortDuration(charts.binWidth); };
charts.onZoom();

function addDistribution(id, { x, y }, options) {
  ecdfChart(id, { x, series: runSeries(), lines: y, ...options });
}
addDistribution("chart-wait", data.ecdf.wait, { marks: LOG_WAITS, say: shortDuration, label: "wait" });
addDistribution("chart-slowdown", data.ecdf.slowdown, { marks: LOG_DECADES, say: count, label: "bounded slowdown" });

/** Show the tables of the two runs that are chosen. */
const chosen = ["one", "other"].map((which) => document.getElementById(`pair-${which}`));
function showPair() {
  const [one, other] = chosen.map((select) => select.value);
  document.querySelectorAll("[data-pair]").forEach((part) => { part.hidden = part.dataset.pair !== `${one}-${other}`; });
  document.getElementById("pair-same").hidden = one !== other;
}
chosen.forEach((select) => select.addEventListener("change", showPair));
window.rota = { data, charts };
