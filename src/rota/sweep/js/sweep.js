// The page of a sweep: response curves with bands, and settings as dots, two figures against each other.

const data = JSON.parse(byId("data").textContent);
const DASHES = [[], [7, 3], [2, 2], [9, 3, 2, 3], [4, 4], [12, 4], [2, 5]];
const CURVE_HEIGHT = 224, FRONT_HEIGHT = 280;
const SAY = {
  mean_wait_s: duration,
  mean_bounded_slowdown: (v) => decimal(v),
  utilisation: (v) => percent(v, 2),
  fairness: (v) => v.toFixed(3),
};
const sayOf = (place) => SAY[data.metrics[place].key];

/** A colour of the palette, so thin that lines show through. */
function thin(colour) {
  return `color-mix(in srgb, ${colour} 18%, transparent)`;
}

/** An axis of a metric; durations have marks at round hours and minutes. */
function metricAxis(place, more) {
  const isTime = data.metrics[place].key === "mean_wait_s";
  return axis({ values: (_, ticks) => ticks.map(sayOf(place)), size: 74, ...(isTime && { incrs: TICK_STEPS }), ...more });
}

/** Room at either side, so that nothing is cut off at the first and the last value. */
function roomy(_, min, max) {
  const room = (max - min) * 0.06 || Math.abs(max) * 0.06 || 1;
  return [min - room, max + room];
}

/** The same for figures, none of which is below 0. */
const roomyFigures = (u, min, max) => roomy(u, min, max).map((v) => Math.max(v, 0));

function drawCurve(id, curve, place) {
  const key = data.metrics[place].key;
  const series = [{}], bands = [], columns = [curve.x];
  const dots = { show: true, size: 6 };
  const names = curve.labels && { splits: () => curve.x, values: () => curve.labels, grid: { show: false } };
  curve.lines.forEach((line, i) => {
    const colour = () => seriesColour(i);
    if (i === 0) {
      const hidden = { stroke: "transparent", points: { show: false } };
      bands.push({ series: [2, 1], fill: () => thin(seriesColour(0)) });
      series.push(hidden, hidden);
      columns.push(...[1, 2].map((which) => line.cells[key].map((cell) => cell[which])));
    }
    series.push({ stroke: colour, width: i ? 1 : 2.5, dash: i ? DASHES[i % DASHES.length] : [], points: { ...dots, fill: colour } });
    columns.push(line.cells[key].map(([value]) => value));
  });
  if (curve.dots.length) {
    columns[0] = curve.dots.map((dot) => dot[0]);
    columns.push(curve.dots.map((dot) => dot[1 + place]));
    series.push({ paths: () => null, stroke: () => seriesColour(0), points: { ...dots, fill: () => seriesColour(0) } });
  }
  chart(byId(id), CURVE_HEIGHT, {
    scales: { x: { time: false, range: curve.labels ? [-0.5, curve.x.length - 0.5] : roomy }, y: { range: roomyFigures } },
    axes: [axis({ size: 34, ...names }), metricAxis(place)],
    series, bands, legend: { show: false }, cursor: { show: false },
  }, columns);
}

data.curves.forEach((curve, number) => {
  data.metrics.forEach((_, place) => drawCurve(`curve-${number}-${place}`, curve, place));
  if (curve.lines.length < 2 && !curve.lines[0]?.name) return;
  byId(`key-${number}`).append(...curve.lines.map((line, i) => {
    const entry = document.createElement("span");
    entry.textContent = line.name;
    entry.style.setProperty("--swatch", `var(--c${(i % 8) + 1})`);
    return entry;
  }));
});

const byWait = [...data.settings].sort((a, b) => a.values[0] - b.values[0]);

/** Writes the places of the settings of the front beside their dots; of those that are close together, the first. */
function writePlaces(u, place) {
  const near = 16 * devicePixelRatio, written = [];
  u.ctx.fillStyle = cssColour("--ink");
  u.ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
  for (const one of data.settings.filter((setting) => setting.onFront)) {
    const [x, y] = [u.valToPos(one.values[0], "x", true), u.valToPos(one.values[place], "y", true)];
    if (written.some((other) => Math.hypot(other[0] - x, other[1] - y) < near)) continue;
    written.push([x, y]);
    u.ctx.fillText(one.place, x + 6 * devicePixelRatio, y - 6 * devicePixelRatio);
  }
}

/** Says what setting is nearest to the pointer. */
function point(u, place) {
  const { left, top } = u.cursor;
  if (left < 0 || !byWait.length) return;
  const far = (one) => Math.hypot(u.valToPos(one.values[0], "x") - left, u.valToPos(one.values[place], "y") - top);
  const nearest = byWait.reduce((a, b) => (far(b) < far(a) ? b : a));
  const values = data.metrics.map((metric, i) => `${metric.label.toLowerCase()} ${sayOf(i)(nearest.values[i])}`);
  byId("pointed").textContent = `${nearest.place}. ${nearest.name}: ${values.join(", ")}`;
}

data.metrics.forEach((_, place) => {
  if (!place) return;
  const of = (isChosen) => byWait.map((one) => (isChosen(one) ? one.values[place] : null));
  const dots = (colour, fill) => ({ paths: () => null, stroke: colour, points: { show: true, size: 8, width: 1.5, fill } });
  const colour = () => seriesColour(0);
  chart(byId(`front-${place}`), FRONT_HEIGHT, {
    scales: { x: { time: false, range: roomy }, y: { range: roomyFigures } },
    axes: [
      metricAxis(0, { size: 30, space: 80, label: "mean wait", labelSize: 18 }),
      metricAxis(place),
    ],
    series: [{}, dots(() => cssColour("--rest"), () => cssColour("--bg")), dots(colour, colour)],
    legend: { show: false },
    cursor: { x: false, y: false, points: { show: false }, drag: { x: false, y: false } },
    hooks: { draw: [(u) => writePlaces(u, place)], setCursor: [(u) => point(u, place)] },
  }, [byWait.map((one) => one.values[0]), of((one) => !one.onFront), of((one) => one.onFront)]);
});
window.rota = { data };
