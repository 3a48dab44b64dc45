// uPlot as every page has it: in the page's colours, and as wide as there is room.

/** Common look of an axis; colours are functions so that a redraw follows the theme. */
function axis(more) {
  return {
    stroke: () => cssColour("--muted"),
    grid: { stroke: () => cssColour("--line"), width: 1 },
    ticks: { stroke: () => cssColour("--line"), width: 1, size: 4 },
    font: FONT,
    labelFont: FONT,
    ...more,
  };
}

/** A piece of a line as a background, with its dash. */
function lineSample(colour, dash = []) {
  let at = 0;
  const pieces = dash.map((length, i) => `${i % 2 ? "transparent" : colour} ${at}px ${(at += length)}px`);
  return pieces.length ? `repeating-linear-gradient(to right, ${pieces.join(", ")})` : colour;
}

/** Makes a chart that takes the width of its element and follows the theme. */
function chart(element, height, options, data) {
  const width = () => Math.max(element.clientWidth, 240);
  const sample = (u, i) => lineSample((u.series[i].stroke(u, i) ?? u.series[i].fill(u, i)), u.series[i].dash);
  const legend = { markers: { fill: sample, width: 0 } };
  const plot = new uPlot({ width: width(), height, legend, ...options }, data, element);
  const resized = new ResizeObserver(() => {
    if (plot.width !== width()) plot.setSize({ width: width(), height });
  });
  resized.observe(element);
  const forget = onThemeChange(() => {
    plot.redraw(false, true);
    plot.root.querySelectorAll(".u-marker").forEach((mark, i) => { if (i) mark.style.background = sample(plot, i); });
  });
  (plot.hooks.destroy ??= []).push(() => { resized.disconnect(); forget(); });
  return plot;
}
