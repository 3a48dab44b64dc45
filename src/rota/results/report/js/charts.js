// uPlot, set up the way both pages use it: curves over time that zoom together, and distributions over a log axis.

const CHART_HEIGHT = 200, ECDF_HEIGHT = 280, SHARES_HEIGHT = 300, ROW_HEIGHT = 110;
/** Points of a curve over time: more only make it restless. Zooming in shows finer ones. */
const CURVE_POINTS = 400;
const DASHES = [[], [7, 3], [2, 2], [9, 3, 2, 3], [4, 4], [12, 4]];

/** Steps of an axis that counts: never half a job. */
const WHOLE_STEPS = [0, 1, 2, 3, 4, 5, 6, 7, 8].flatMap((power) => [1, 2, 5].map((n) => n * 10 ** power));

const mean = (values) => values.reduce((sum, v) => sum + v, 0) / values.length;
const peak = (values) => Math.max(...values);

/** Joins each `every` bins of a curve; its last value only repeats the one before, to close the line. */
function coarser(curve, every, merge) {
  const out = [];
  for (let i = 0; i < curve.length - 1; i += every) out.push(merge(curve.slice(i, Math.min(i + every, curve.length - 1))));
  return [...out, out.at(-1)];
}

/** Charts over one axis of time: cursor and zoom are common to all of them. */
class TimeCharts {
  /**
   * @param {{t: number[], dated: boolean, full?: [number, number], detail?: (min: number, max: number) => Object,
   *          band?: () => [number, number], marks?: () => number[], onPick?: (t: number) => void}} options
   *   `detail` gives data by chart for a stretch of time; `band` is shaded, `marks` are lines; `onPick` is told of a click.
   *   `full` is the stretch of time to begin with, where that is not the one of `t`.
   */
  constructor(options) {
    Object.assign(this, { onZoom: () => {} }, options);
    this.full ??= [this.t[0], this.t.at(-1)];
    this.range = this.full;
    this.plots = new Map();
  }

  /**
   * Adds a chart: `series` as uPlot takes them, with `merge` to join bins of each (`mean` or `peak`); `say` words a
   * value, `top` fixes the upper end or computes it (without it the axis counts), `decades` makes it logarithmic between
   * two powers of ten, `bands` are uPlot's, `bare` leaves out the times below, `onDraw` may draw over it.
   */
  add(id, { series, data, label, say, top, decades, bands, bare, height = CHART_HEIGHT, onDraw = () => {} }) {
    const element = document.getElementById(id);
    const entry = { data, merges: series.map((s) => s.merge) };
    const options = this.options(series, { label, say, top, bare });
    if (decades) makeLogarithmic(options, ...decades);
    options.hooks.draw = [onDraw, (u) => this.drawMarks(u)];
    entry.plot = chart(element, height, { ...options, bands }, this.prepared(entry, ...this.range));
    this.plots.set(id, entry);
    const { plot } = entry;
    plot.over.addEventListener("mousedown", (e) => { this.pressed = e.clientX; });
    plot.over.addEventListener("click", (e) => {
      if (this.onPick && Math.abs(e.clientX - this.pressed) < 3) this.onPick(plot.posToVal(e.offsetX, "x"));
    });
  }

  /** Takes a chart away, if it is there. */
  remove(id) {
    this.plots.get(id)?.plot.destroy();
    this.plots.delete(id);
  }

  options(series, { label, say, top, bare }) {
    const highest = typeof top === "function" ? top : () => top;
    return {
      scales: {
        x: { time: false, range: () => this.range },
        y: { range: (_, __, max) => [0, highest() ?? Math.max(max, 1) * 1.05] },
      },
      axes: [
        axis({
          splits: (u) => timeTicks(...this.range, u.bbox.width / devicePixelRatio / 75, this.dated),
          values: (_, ticks) => (bare ? ticks.map(() => "") : tickLabels(ticks, this.dated)),
          size: bare ? 6 : 42,
        }),
        axis({ values: (_, ticks) => ticks.map((v) => say(v)), size: 62, label, labelSize: 18, ...(typeof top === "number" ? {} : { incrs: WHOLE_STEPS }) }),
      ],
      series: [{ label: this.dated ? "UTC" : "Time", value: (_, v) => (v == null ? "" : clockTime(v, this.dated)) },
        ...series.map((s) => ({ value: (_, v) => (v == null ? "" : say(v)), points: { show: false }, ...s }))],
      cursor: {
        y: false,
        drag: { x: true, y: false, setScale: false },
        sync: { key: "time", scales: ["x", null] },
        bind: { dblclick: () => () => this.zoom(...this.full) },
      },
      hooks: { setSelect: [(u) => this.selected(u)], drawClear: [(u) => this.shade(u)] },
    };
  }

  /** How many prepared bins make one point while a stretch of time is shown. */
  joined(min, max) {
    const shown = lastAtMost(this.t, max) - lastAtMost(this.t, min);
    return 2 ** Math.max(Math.ceil(Math.log2(shown / CURVE_POINTS)), 0);
  }

  /** The prepared bins of a chart, as many at once as suits the stretch of time. */
  prepared({ data, merges }, min, max) {
    const every = this.joined(min, max);
    if (every === 1) return [this.t, ...data];
    const last = this.t.length - 1;
    const edges = [...this.t.filter((_, i) => i % every === 0 && i < last), this.t[last]];
    return [edges, ...data.map((curve, i) => coarser(curve, every, merges[i]))];
  }

  /** Seconds that one point of the curves stands for. */
  get binWidth() {
    const [edges] = this.plots.values().next().value.plot.data;
    return Math.max(Math.round(edges[1] - edges[0]), 1);
  }

  selected(u) {
    const { left, width } = u.select;
    if (width < 3) return;
    const range = [u.posToVal(left, "x"), u.posToVal(left + width, "x")];
    u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    this.zoom(...range);
  }

  /** Shows a stretch of time in all charts, and tells so. */
  zoom(min, max) {
    this.show(min, max);
    this.onZoom();
  }

  /** Shows a stretch of time in all charts, with finer data where there are any. */
  show(min, max) {
    const [first, last] = this.full;
    const low = Math.round(Math.max(Math.min(min, last - 1), first));
    this.range = [low, Math.round(Math.max(Math.min(max, last), low + 1))];
    const finer = this.detail && this.joined(...this.range) === 1 ? this.detail(...this.range) : null;
    for (const [id, entry] of this.plots) entry.plot.setData(finer?.[id] ?? this.prepared(entry, ...this.range));
  }

  shade(u) {
    if (!this.band || (this.band()[0] <= this.range[0] && this.band()[1] >= this.range[1])) return;
    const [from, to] = this.band().map((t) => u.valToPos(t, "x", true));
    const left = Math.max(from, u.bbox.left);
    const right = Math.min(to, u.bbox.left + u.bbox.width);
    if (right <= left) return;
    u.ctx.fillStyle = cssColour("--window");
    u.ctx.fillRect(left, u.bbox.top, Math.max(right - left, 2), u.bbox.height);
  }

  drawMarks(u) {
    for (const t of this.marks?.() ?? []) {
      const x = Math.round(u.valToPos(t, "x", true));
      if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
      u.ctx.fillStyle = cssColour("--ink");
      u.ctx.fillRect(x, u.bbox.top, devicePixelRatio, u.bbox.height);
    }
  }

  redraw() {
    for (const { plot } of this.plots.values()) plot.redraw(false, false);
  }
}

/** Makes a chart's upright axis logarithmic, with a mark at each power of ten. */
function makeLogarithmic({ scales, axes }, low, high) {
  const powers = Math.round(Math.log10(high / low));
  const marks = Array.from({ length: powers + 1 }, (_, i) => Number((low * 10 ** i).toPrecision(3)));
  scales.y = { distr: 3, range: [low, high] };
  Object.assign(axes[1], { splits: () => marks, filter: (_, splits) => splits, incrs: undefined });
}

/** Sharp words for counts that are often small, such as a mean queue of 0.4 jobs. */
const sayCount = (v) => (v >= 100 || Number.isInteger(v) ? count(v) : decimal(v, 1));

const LOG_WAITS = [0, 1, 10, MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY, 7 * DAY, 30 * DAY, 365 * DAY];
const LOG_DECADES = Array.from({ length: 10 }, (_, i) => 10 ** i);

/** Where 0 stands on a logarithmic axis: left of 1. */
const ZERO_AT = -0.5;
const toLog = (v) => (v > 0 ? Math.log10(v) : ZERO_AT);
const fromLog = (at) => (at < 0 ? 0 : Math.round(10 ** at));

/** A distribution: share of jobs up to each value, over a logarithmic axis from 1, or from a dot at 0. */
function ecdfChart(id, { x, series, lines, marks, say, label }) {
  const logs = x.map(toLog);
  const ticks = marks.filter((v) => v >= x[0]).map(toLog).filter((v) => v <= logs.at(-1) + 1e-9);
  const points = x[0] === 0 ? { show: true, filter: () => [0], size: 6, fill: (u, i) => u.series[i].stroke(u, i) } : { show: false };
  return chart(document.getElementById(id), ECDF_HEIGHT, {
    scales: { x: { time: false, range: [x[0] === 0 ? ZERO_AT - 0.2 : 0, logs.at(-1)] }, y: { range: [0, 1] } },
    axes: [
      axis({ splits: () => ticks, values: (_, at) => at.map((v) => say(fromLog(v))), label, labelSize: 18, size: 30 }),
      axis({ values: (_, at) => at.map((v) => percent(v, 0)), size: 52, label: "share of jobs", labelSize: 18 }),
    ],
    series: [{ label: "at most", value: (_, v) => (v == null ? "" : say(fromLog(v))) },
      ...series.map((s) => ({ value: (_, v) => (v == null ? "" : percent(v)), points, ...s }))],
    cursor: { y: false, drag: { x: false, y: false } },
  }, [logs, ...lines]);
}
