// The page of one replay.

const data = JSON.parse(document.getElementById("data").textContent);
const { dated } = data.clock;
const [first, last] = data.span;
const jobs = unpackSchedule(data.schedule);
const owners = ownersOf(jobs, data.names, data.shares);
/** The most bins of one zoomed curve: about one a pixel. */
const DETAIL_BINS = 1000;

let exact = null;
let controls = null;
let planControls = null;

/** Finer curves for a stretch of time; the exact steps are computed at the first zoom. */
function detail(min, max) {
  exact ??= scheduleSteps(jobs, last);
  const width = TICK_STEPS.find((step) => (max - min) / step <= DETAIL_BINS) ?? DAY;
  const begin = Math.floor(min / width) * width;
  const edges = Array.from({ length: Math.ceil((max - begin) / width) + 1 }, (_, i) => begin + i * width);
  const share = (values) => values.map((v) => v / Math.max(data.machine, 1));
  return {
    "chart-busy": [edges, share(rebin(exact.busy, edges)[1])],
    "chart-jobs": [edges, ...rebin(exact.jobs, edges)],
    "chart-procs": [edges, ...rebin(exact.procs, edges)],
  };
}

const charts = new TimeCharts({
  t: data.series.t, dated, detail,
  band: () => controls?.gantt.window ?? [0, 0],
  marks: () => (planControls ? [planControls.time] : []),
  onPick: (t) => { controls.centre(t); planControls?.pick(t); },
});

const meanLine = { label: "Mean", stroke: () => seriesColour(0), width: 1.5, paths: uPlot.paths.stepped({ align: 1 }), merge: mean };
const pale = () => `${seriesColour(0)}55`;

/** Mean and peak: a queue is judged by both. */
function addQueue(id, curve, label) {
  charts.add(id, {
    series: [{ ...meanLine, label: "Peak", stroke: pale, width: 0.75, merge: peak }, meanLine],
    bands: [{ series: [1, 2], fill: pale }],
    data: [curve.peak, curve.mean],
    say: sayCount,
    label,
  });
}

charts.add("chart-busy", {
  series: [{ ...meanLine, fill: pale }],
  data: [data.series.busy.mean],
  label: "share in use",
  say: (v) => percent(v, 0),
  top: Math.max(1, ...data.series.busy.peak),
});
addQueue("chart-jobs", data.series.jobs, "jobs");
addQueue("chart-procs", data.series.procs, "processors");
charts.add("chart-arrivals", {
  series: [{ ...meanLine, fill: pale }], data: [data.arrivals], label: "jobs an hour", say: sayCount,
});
addParts(charts, data.parts, data.series.busy.mean);
const linked = { dated, full: charts.full, band: charts.band, marks: charts.marks, onPick: charts.onPick };
const reasons = data.reasons && new ReasonChart(data.reasons, linked);
const shares = data.shares && new ShareChart(data.shares, owners.account, linked);
/** Charts with times of their own, which zoom with the others. */
const others = [reasons, shares].filter(Boolean).map((one) => one.charts);
charts.onZoom = () => {
  byId("bin-width").textContent = shortDuration(charts.binWidth);
  for (const other of others) other.show(...charts.range);
};
for (const other of others) other.onZoom = () => charts.zoom(...other.range);
charts.onZoom();

const gantt = new Gantt(byId("gantt-canvas"), { jobs, owners, machine: data.machine, dated, last, window: data.window });
const redrawCharts = () => [charts, ...others].forEach((one) => one.redraw());
controls = new GanttControls(gantt, { span: data.span, busiest: data.window, onMove: redrawCharts });
if (data.plan) {
  const plan = unpackPlan(data.plan);
  const pieces = plan.nodes.length ? placeJobs(jobs, plan, last) : onOneRow(gantt.pieces);
  const picture = new PlanPicture(byId("plan-canvas"), { jobs, plan, pieces, owners, machine: gantt.height, dated, last });
  planControls = new PlanControls(picture, { onMove: redrawCharts });
}
byId("zoom-all").addEventListener("click", () => charts.zoom(...charts.full));
byId("zoom-window").addEventListener("click", () => charts.zoom(...gantt.window));

function addDistribution(id, { x, lines }, options) {
  return ecdfChart(id, {
    x,
    series: lines.map(({ label }, i) => ({
      label, stroke: () => (i ? seriesColour(i - 1) : cssColour("--ink")), width: i ? 1.25 : 2.25, dash: i ? DASHES[i - 1] : [],
    })),
    lines: lines.map(({ y }) => y),
    ...options,
  });
}
const distributions = {
  wait: addDistribution("chart-wait", data.ecdf.wait, { marks: LOG_WAITS, say: shortDuration, label: "wait" }),
  slowdown: addDistribution("chart-slowdown", data.ecdf.slowdown, { marks: LOG_DECADES, say: count, label: "bounded slowdown" }),
};

document.querySelectorAll("table.sortable").forEach(makeSortable);
document.querySelectorAll("table.served").forEach(makeExpandable);
document.querySelectorAll("button[data-job]").forEach((button) => {
  button.addEventListener("click", () => controls.find(Number(button.dataset.job)));
});
// For the console of the curious, and for tests.
window.rota = { data, jobs, owners, gantt, controls, charts, reasons, shares, distributions, planControls, first };
