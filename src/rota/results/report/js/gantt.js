// The schedule: processors upwards, time to the right, a job as one or several rectangles on a canvas.

const MARGIN = { left: 64, right: 26, top: 8, bottom: 40 };
const WAIT_STEPS = [[MINUTE, "≤ 1 min"], [10 * MINUTE, "≤ 10 min"], [HOUR, "≤ 1 h"], [6 * HOUR, "≤ 6 h"], [DAY, "≤ 1 d"], [3 * DAY, "≤ 3 d"], [Infinity, "> 3 d"]];
const SLOWDOWN_STEPS = [[1, "1"], [2, "≤ 2"], [5, "≤ 5"], [10, "≤ 10"], [100, "≤ 100"], [1000, "≤ 1000"], [Infinity, "> 1000"]];

class Gantt {
  constructor(canvas, { jobs, owners, machine, dated, last, window }) {
    Object.assign(this, { canvas, jobs, owners, dated, last, window, colour: "wait", marked: -1 });
    const { pieces, top } = packJobs(jobs, last);
    this.pieces = pieces;
    this.height = Math.max(machine, top, 1);
    new ResizeObserver(() => this.draw()).observe(canvas);
    onThemeChange(() => this.draw());
  }

  endOf(i) {
    return this.jobs.end[i] >= 0 ? this.jobs.end[i] : this.last;
  }

  /** Jobs that run at some time in the window. */
  visible() {
    const out = [];
    for (let i = 0; i < this.jobs.count; i++) {
      if (this.pieces[i] && this.jobs.start[i] < this.window[1] && this.endOf(i) > this.window[0]) out.push(i);
    }
    return out;
  }

  layout() {
    const box = this.canvas.getBoundingClientRect();
    const width = Math.max(box.width - MARGIN.left - MARGIN.right, 1);
    const height = Math.max(box.height - MARGIN.top - MARGIN.bottom, 1);
    const [from, to] = this.window;
    return {
      box, width, height,
      x: (t) => MARGIN.left + ((t - from) / (to - from)) * width,
      y: (processor) => MARGIN.top + height - (processor / this.height) * height,
      time: (x) => from + ((x - MARGIN.left) / width) * (to - from),
      processor: (y) => ((MARGIN.top + height - y) / height) * this.height,
    };
  }

  draw() {
    const at = this.layout();
    const ctx = this.canvas.getContext("2d");
    this.canvas.width = Math.round(at.box.width * devicePixelRatio);
    this.canvas.height = Math.round(at.box.height * devicePixelRatio);
    ctx.scale(devicePixelRatio, devicePixelRatio);
    this.shown = this.visible();
    this.paint = this.palette();
    this.drawAxes(ctx, at);
    ctx.save();
    ctx.beginPath();
    ctx.rect(MARGIN.left, MARGIN.top, at.width, at.height);
    ctx.clip();
    for (const i of this.shown) this.drawJob(ctx, at, i);
    if (this.marked >= 0) this.outline(ctx, at, this.marked);
    ctx.restore();
  }

  drawJob(ctx, at, i) {
    ctx.fillStyle = this.paint.of(i);
    this.rectangles(at, i, (x, y, width, height) => {
      // A gap between neighbours, as far as there is room for one.
      const gapX = width > 3 ? 1 : 0, gapY = height > 3 ? 1 : 0;
      ctx.fillRect(x, y, Math.max(width - gapX, 0.6), Math.max(height - gapY, 0.6));
    });
  }

  outline(ctx, at, i) {
    ctx.strokeStyle = cssColour("--ink");
    ctx.lineWidth = 2;
    this.rectangles(at, i, (x, y, width, height) => ctx.strokeRect(x, y, Math.max(width, 2), Math.max(height, 2)));
  }

  rectangles(at, i, each) {
    const pieces = this.pieces[i];
    if (!pieces) return;
    const left = at.x(this.jobs.start[i]);
    const width = at.x(this.endOf(i)) - left;
    for (let k = 0; k < pieces.length; k += 2) {
      const top = at.y(pieces[k + 1]);
      each(left, top, width, at.y(pieces[k]) - top);
    }
  }

  drawAxes(ctx, at) {
    ctx.font = FONT;
    ctx.fillStyle = cssColour("--muted");
    ctx.strokeStyle = cssColour("--line");
    ctx.strokeRect(MARGIN.left - 0.5, MARGIN.top - 0.5, at.width + 1, at.height + 1);
    drawTimeAxis(ctx, { ...at, bottom: MARGIN.top + at.height }, this.window, this.dated);
    drawProcessorAxis(ctx, { ...at, left: MARGIN.left, top: MARGIN.top }, this.height);
  }

  /** How jobs are coloured now: `of` gives a job's colour, `key` lists colours with what they mean. */
  palette() {
    if (this.owners[this.colour]) return this.owners[this.colour].paint(this.shown);
    const steps = this.colour === "wait" ? WAIT_STEPS : SLOWDOWN_STEPS;
    return {
      of: (i) => {
        const value = served(this.jobs, i)[this.colour];
        return SEQUENTIAL[Math.max(steps.findIndex(([limit]) => value <= limit), 0)];
      },
      key: steps.map(([, label], i) => [SEQUENTIAL[i], label]),
    };
  }

  /** The job at a point of the canvas, -1 where there is none. */
  jobAt(x, y) {
    const at = this.layout();
    const time = at.time(x), processor = at.processor(y);
    const slack = (this.window[1] - this.window[0]) / at.width;
    const hit = (i, reach) => this.jobs.start[i] <= time + reach && this.endOf(i) > time - reach &&
      this.pieces[i].some((low, k, all) => k % 2 === 0 && low <= processor && processor < all[k + 1]);
    return this.shown.find((i) => hit(i, 0)) ?? this.shown.find((i) => hit(i, slack)) ?? -1;
  }
}
