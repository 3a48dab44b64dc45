// How the plan is painted: colours that stay with their owners, hatched rectangles.

/** Places in the palette; all others share a grey. */
const PLAN_COLOURS = [0, 1, 2, 3, 6, 7, 4];

/** Colours for those with most of the picture; who has one keeps it as long as that is so. */
class StickyColours {
  constructor() {
    this.slots = new Map();
  }

  /** `of` gives a job's colour, `key` lists colours with what they mean. */
  of(items, [from, to], jobs, owner) {
    const area = new Map();
    for (const item of items) {
      const seconds = Math.min(item.to, to) - Math.max(item.from, from);
      area.set(owner(item.job), (area.get(owner(item.job)) ?? 0) + seconds * jobs.procs[item.job]);
    }
    const top = [...area].sort((a, b) => b[1] - a[1]).slice(0, PLAN_COLOURS.length).map(([one]) => one);
    this.give(top);
    const colours = new Map(top.map((one) => [one, seriesColour(PLAN_COLOURS[this.slots.get(one)])]));
    const rest = cssColour("--rest");
    const key = top.map((one) => [colours.get(one), one]);
    return {
      of: (i) => colours.get(owner(i)) ?? rest,
      key: area.size > top.length ? [...key, [rest, "others"]] : key,
    };
  }

  give(owners) {
    const slots = new Map(owners.filter((one) => this.slots.has(one)).map((one) => [one, this.slots.get(one)]));
    const used = new Set(slots.values());
    const free = PLAN_COLOURS.map((_, slot) => slot).filter((slot) => !used.has(slot));
    for (const one of owners) if (!slots.has(one)) slots.set(one, free.shift());
    this.slots = slots;
  }
}

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
