// The page that puts several replays side by side.

const data = JSON.parse(document.getElementById("data").textContent);
const { dated } = data.clock;
const charts = new TimeCharts({ t: data.series.t, dated });

/** One line a run: told apart by colour, and by dashes for those who do not see the colours. */
const runSeries = (more) => data.names.map((label, i) => ({
  label, stroke: () => seriesColour(i), width: 1.5, dash: DASHES[i % DASHES.length], ...more,
}));

function addCurves(id, curves, options) {
  charts.add(id, { series: runSeries({ paths: uPlot.paths.stepped({ align: 1 }), merge: mean }), data: curves, ...options });
}

addCurves("chart-busy", data.series.busy, { label: "share in use", say: (v) => percent(v, 0), top: 1 });
addCurves("chart-jobs", data.series.jobs, { label: "jobs", say: sayCount });
addCurves("chart-procs", data.series.procs, { label: "processors", say: sayCount });
document.getElementById("zoom-all").addEventListener("click", () => charts.zoom(...charts.full));
charts.onZoom = () => { document.getElementById("bin-width").textContent = shortDuration(charts.binWidth); };
charts.onZoom();

function addDistribution(id, { x, y }, options) {
  ecdfChart(id, { x, series: runSeries(), lines: y, ...options });
}
addDistribution("chart-wait", data.ecdf.wait, { marks: LOG_WAITS, say: shortDuration, label: "wait" });
addDistribution("chart-slowdown", data.ecdf.slowdown, { marks: LOG_DECADES, say: count, label: "bounded slowdown" });
window.rota = { data, charts };
