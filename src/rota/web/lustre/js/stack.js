// Who did it over time: the first few on top of each other, and all others on top of them, so that the edge is the sum.

const STACK_HEIGHT = 280;
const OTHERS = "all others";

class Stack {
  constructor(element, { colours, onZoom }) {
    Object.assign(this, { element, colours, onZoom, plot: null, key: "" });
  }

  /** Takes an answer of the service; `name(series)` gives the label of one. */
  show(told, metric, name) {
    const layers = told.series.map((one) => ({ name: name(one), label: one.label, rates: one.rates[metric] }));
    if (told.more) layers.push({ name: OTHERS, label: null, rates: told.others[metric] });
    this.rates = layers.map((layer) => layer.rates);
    this.range = [told.begin, told.end];
    const edges = Array.from({ length: (this.rates[0]?.length ?? 0) + 1 }, (_, i) => told.begin + i * told.step);
    const data = [edges, ...sums(this.rates)];
    const key = JSON.stringify([metric, layers.map((layer) => [layer.name, this.colours.property(layer.label)])]);
    if (key === this.key) {
      this.plot.setData(data);
      return;
    }
    this.key = key;
    this.plot?.destroy();
    this.plot = layers.length ? chart(this.element, STACK_HEIGHT, this.options(layers, metric), data) : null;
    this.element.textContent = this.plot ? "" : "Nothing happened.";
    if (this.plot) this.element.append(this.plot.root);
  }

  options(layers, metric) {
    const colour = (layer) => () => cssColour(layer.label === null ? "--rest" : this.colours.property(layer.label));
    return {
      padding: [null, 30, null, null],
      scales: { x: { time: false, range: () => this.range }, y: { range: (_, __, max) => [0, Math.max(max, 1e-9) * 1.05] } },
      axes: [
        axis({
          splits: (u) => timeTicks(...this.range, u.bbox.width / devicePixelRatio / 75, true),
          values: (_, ticks) => tickLabels(ticks, true),
          size: 42,
        }),
        axis({ values: (_, ticks) => ticks.map((v) => rateText(metric, v)), size: 84 }),
      ],
      series: [
        { label: "UTC", value: (_, v) => (v == null ? "" : clockTime(v, true)) },
        ...layers.map((layer, i) => ({
          label: layer.name,
          stroke: colour(layer),
          fill: i ? undefined : colour(layer),
          width: 0.5,
          points: { show: false },
          paths: uPlot.paths.stepped({ align: 1 }),
          value: (_, __, ___, at) => (at == null ? "" : rateText(metric, this.rates[i][at] ?? this.rates[i].at(-1))),
        })),
      ],
      bands: layers.slice(1).map((layer, i) => ({ series: [i + 2, i + 1], fill: colour(layer) })),
      cursor: { y: false, drag: { x: true, y: false, setScale: false } },
      hooks: { setSelect: [(u) => this.selected(u)] },
    };
  }

  selected(u) {
    const { left, width } = u.select;
    if (width < 3) return;
    const range = [u.posToVal(left, "x"), u.posToVal(left + width, "x")];
    u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    this.onZoom(Math.floor(range[0]), Math.ceil(range[1]));
  }
}

/** Sums from the first layer up to each, with the last value again to close the steps. */
function sums(layers) {
  let below = null;
  return layers.map((rates) => {
    below = below ? rates.map((rate, i) => rate + below[i]) : rates;
    return [...below, below.at(-1)];
  });
}
