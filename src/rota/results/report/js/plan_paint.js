// How the plan is painted: hatched rectangles, and what is cut off at their edges.

/** Slanted lines of each colour, made once a drawing. */
class Hatches {
  constructor(ctx) {
    this.ctx = ctx;
    this.made = new Map();
  }

  of(colour) {
    let pattern = this.made.get(colour);
    if (!pattern) {
      pattern = this.ctx.createPattern(slantedLines(colour), "repeat");
      pattern.setTransform(new DOMMatrix().scale(1 / devicePixelRatio));
      this.made.set(colour, pattern);
    }
    return pattern;
  }
}

/** A rectangle with a gap to its neighbours, as far as there is room for one. */
function fill(ctx, x, y, width, height) {
  ctx.fillRect(x, y, Math.max(width - (width > 3 ? 1 : 0), 0.6), Math.max(height - (height > 6 ? 0.5 : 0), 0.6));
}

function clipped(ctx, x, y, width, height, draw) {
  ctx.save();
  ctx.beginPath();
  ctx.rect(x, y, width, height);
  ctx.clip();
  draw();
  ctx.restore();
}

/** One tile of slanted lines over a pale ground. */
function slantedLines(colour) {
  const size = Math.round(6 * devicePixelRatio);
  const tile = Object.assign(document.createElement("canvas"), { width: size, height: size });
  const ctx = tile.getContext("2d");
  ctx.fillStyle = colour;
  ctx.globalAlpha = 0.14;
  ctx.fillRect(0, 0, size, size);
  ctx.globalAlpha = 0.75;
  ctx.strokeStyle = colour;
  ctx.lineWidth = size / 5;
  ctx.beginPath();
  for (const shift of [-size, 0, size]) {
    ctx.moveTo(shift - 1, size + 1);
    ctx.lineTo(shift + size + 1, -1);
  }
  ctx.stroke();
  return tile;
}
