// Axes of the pictures that are drawn here and not by uPlot.

/** Marks and words below a picture of `width`; `x` places a time, `bottom` is where the picture ends. */
function drawTimeAxis(ctx, { x, width, bottom }, window, dated) {
  const ticks = timeTicks(...window, width / 80, dated);
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  tickLabels(ticks, dated).forEach((label, i) => {
    ctx.fillRect(x(ticks[i]), bottom, 1, 4);
    label.split("\n").forEach((line, row) => ctx.fillText(line, x(ticks[i]), bottom + 7 + 15 * row));
  });
}

/** Numbers of processors from 0 up to `most`; `y` places one. */
function drawProcessorAxis(ctx, { left, top, height, y }, most) {
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  const least = most / Math.max(height / 40, 1);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = Math.max([1, 2, 5, 10].find((n) => n * power >= least) * power, 1);
  for (let p = 0; p <= most; p += step) {
    ctx.fillRect(left - 5, y(p), 4, 1);
    ctx.fillText(count(p), left - 8, y(p));
  }
  ctx.save();
  ctx.translate(9, top + height / 2);
  ctx.rotate(-Math.PI / 2);
  ctx.textAlign = "center";
  ctx.fillText("processors", 0, 0);
  ctx.restore();
}

/** Names of rows, as many as there is room for; `y` gives the top of a row. */
function drawRowNames(ctx, { left, top, bottom, rowHeight, y }, names) {
  const every = Math.ceil(13 / rowHeight);
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  for (let row = 0; row < names.length; row += every) {
    const middle = y(row) + rowHeight / 2;
    if (middle < top || middle > bottom) continue;
    ctx.fillRect(left - 5, middle, 4, 1);
    ctx.fillText(names[row], left - 8, middle);
  }
}
