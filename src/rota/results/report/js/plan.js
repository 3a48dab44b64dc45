// The plan at one moment: nodes downwards, time to the right, a line at the moment. Left of it is what ran; right of it
// what is held up to time limits, and what is planned in the rest.

const PLAN_MARGIN = { right: 26, top: 22, bottom: 40 };
/** Pixels: what a picture takes at most, and one whose processors are interchangeable. */
const PLAN_HEIGHT = 560, ONE_ROW_HEIGHT = 360, TALL_ROW = 22, MEDIUM_ROW = 8, OPEN_ROW = 9, MOST_OPEN_ROWS = 5;
/** Where the moment stands, as a share of the width. */
const NOW_AT = 0.3;
const FADED = 0.5, HELD = 0.3, LATER = 0.85;

class PlanPicture {
  /** `pieces`: where each job ran, see lanes.js. `last`: when those that did not end leave. */
  constructor(canvas, { jobs, plan, pieces, owners, machine, dated, last }) {
    Object.assign(this, { canvas, jobs, plan, pieces, owners, dated, last });
    this.scroller = canvas.closest(".nodes");
    this.oneRow = !plan.nodes.length;
    this.rows = this.oneRow ? [["", machine]] : plan.nodes;
    Object.assign(this, { length: DAY, shift: 0, rowSize: "all", colour: "user", right: "plan", marked: null });
    const open = plan.moments.map(({ planned }) => planned.filter(({ nodes }) => !nodes.length).length);
    this.openRows = this.oneRow ? 0 : Math.min(Math.max(...open), MOST_OPEN_ROWS);
    new ResizeObserver(() => this.draw()).observe(this.scroller);
    this.scroller.addEventListener("scroll", () => this.draw());
    onThemeChange(() => this.draw());
  }

  endOf(i) {
    return this.jobs.end[i] >= 0 ? this.jobs.end[i] : this.last;
  }

  limitOf(i) {
    return this.jobs.start[i] + this.jobs.limit[i];
  }

  /** Shows the plan of a moment. */
  show(moment) {
    this.moment = moment;
    const { time, planned } = moment;
    const ran = [];
    for (let i = 0; i < this.jobs.count; i++) {
      if (this.pieces[i] && this.jobs.start[i] <= time && this.endOf(i) > time) ran.push({ job: i, pieces: this.pieces[i] });
    }
    this.running = ran;
    const places = placePlanned(moment, this.rows.map(([, cpus]) => cpus), ran, {
      limitOf: (i) => this.limitOf(i), endOf: (one) => one.start + this.jobs.limit[one.job], anywhere: this.oneRow,
    });
    this.planned = planned.map((one) => ({
      kind: "planned", job: one.job, from: one.start, to: one.start + this.jobs.limit[one.job], pieces: places.get(one), plan: one,
    }));
    this.putOpenOnes();
  }

  /** Jobs whose nodes are open have a strip of their own, each in the first row of it that is free. */
  putOpenOnes() {
    const ends = [];
    for (const item of this.oneRow ? [] : this.planned.filter(({ plan }) => !plan.nodes.length)) {
      const free = ends.findIndex((end) => end <= item.from);
      item.openRow = free < 0 ? ends.length : free;
      ends[item.openRow] = item.to;
    }
  }

  get window() {
    const from = this.moment.time - NOW_AT * this.length + this.shift;
    return [from, from + this.length];
  }

  /** What is in the window, those that are planned last: jobs with what they are at the moment. */
  visible() {
    const [from, to] = this.window;
    const { time } = this.moment;
    const out = [];
    const later = this.right === "real";
    for (let i = 0; i < this.jobs.count; i++) {
      const start = this.jobs.start[i];
      if (!this.pieces[i] || start >= to || (start > time && !later)) continue;
      const end = this.endOf(i);
      const kind = start > time ? "later" : end > time ? "runs" : "ended";
      const reach = kind === "runs" && !later ? Math.max(this.limitOf(i), time) : end;
      if (reach > from) out.push({ kind, job: i, from: start, to: reach, pieces: this.pieces[i] });
    }
    return later ? out : [...out, ...this.planned.filter((item) => item.from < to && item.to > from)];
  }

  layout() {
    const ctx = this.canvas.getContext("2d");
    ctx.font = FONT;
    const names = this.oneRow ? 40 : Math.max(...this.rows.map(([name]) => ctx.measureText(name).width), 24);
    const left = Math.min(Math.ceil(names), 150) + 16;
    const width = Math.max(this.scroller.clientWidth - left - PLAN_MARGIN.right, 1);
    const open = this.openRows ? this.openRows * OPEN_ROW + 12 : 0;
    const rest = PLAN_MARGIN.top + PLAN_MARGIN.bottom + open;
    const rowHeight = this.rowHeight(PLAN_HEIGHT - rest);
    const total = rowHeight * this.rows.length;
    const height = Math.min(total, PLAN_HEIGHT - rest);
    const [from, to] = this.window;
    const top = PLAN_MARGIN.top, scrolled = this.scroller.scrollTop;
    return {
      left, top, width, height, rowHeight, total, rest, names,
      bottom: top + height, end: top + height + open,
      gap: rowHeight >= 6 ? 1 : 0,
      x: (t) => left + ((t - from) / (to - from)) * width,
      y: (row) => top + row * rowHeight - scrolled,
      row: (y) => Math.floor((y - top + scrolled) / rowHeight),
    };
  }

  rowHeight(room) {
    if (this.oneRow) return ONE_ROW_HEIGHT;
    const fitting = Math.max(Math.min(room / this.rows.length, TALL_ROW), 1);
    return Math.max(fitting, { all: 0, medium: MEDIUM_ROW, tall: TALL_ROW }[this.rowSize]);
  }

  /** Whether all rows are as tall as can be without scrolling. */
  get roomy() {
    return this.oneRow || this.rows.length * TALL_ROW <= PLAN_HEIGHT - PLAN_MARGIN.top - PLAN_MARGIN.bottom;
  }

  draw() {
    if (!this.moment || !this.scroller.clientWidth) return;
    const at = this.layout();
    this.size(at);
    const ctx = this.canvas.getContext("2d");
    ctx.scale(devicePixelRatio, devicePixelRatio);
    this.shown = this.visible();
    this.paint = this.owners[this.colour].paint(this.shown.map(({ job }) => job));
    this.hatches = new Hatches(ctx);
    this.boxes = [];
    this.drawAxes(ctx, at);
    clipped(ctx, at.left, at.top, at.width, at.height, () => {
      for (const closed of this.right === "plan" ? this.moment.closed : []) this.drawClosed(ctx, at, closed);
      for (const item of this.shown) if (item.openRow === undefined) this.drawItem(ctx, at, item);
    });
    if (this.openRows) this.drawOpen(ctx, at);
    this.drawNow(ctx, at);
    this.outline(ctx, at);
  }

  size(at) {
    const height = at.height + at.rest;
    this.scroller.style.height = `${height}px`;
    this.canvas.parentElement.style.height = `${at.total + at.rest}px`;
    this.canvas.style.height = `${height}px`;
    this.canvas.width = Math.round(this.scroller.clientWidth * devicePixelRatio);
    this.canvas.height = Math.round(height * devicePixelRatio);
  }

  drawAxes(ctx, at) {
    ctx.font = FONT;
    ctx.fillStyle = cssColour("--muted");
    ctx.strokeStyle = cssColour("--line");
    ctx.strokeRect(at.left - 0.5, at.top - 0.5, at.width + 1, at.height + 1);
    drawTimeAxis(ctx, { ...at, bottom: at.end }, this.window, this.dated);
    if (this.oneRow) {
      const most = this.rows[0][1];
      drawProcessorAxis(ctx, { ...at, y: (p) => at.bottom - (p / most) * at.height }, most);
    } else drawRowNames(ctx, at, this.rows.map(([name]) => name));
    ctx.fillStyle = cssColour("--line");
    for (let row = 1; at.rowHeight >= 12 && row < this.rows.length; row++) {
      if (at.y(row) > at.top && at.y(row) < at.bottom) ctx.fillRect(at.left, Math.round(at.y(row)) - 1, at.width, 1);
    }
  }

  drawNow(ctx, at) {
    const x = Math.round(at.x(this.moment.time));
    if (x < at.left || x > at.left + at.width) return;
    ctx.fillStyle = cssColour("--ink");
    ctx.fillRect(x - 0.75, at.top - 4, 1.5, at.end - at.top + 4);
    ctx.textBaseline = "bottom";
    ctx.textAlign = x > at.left + at.width / 2 ? "right" : "left";
    ctx.fillText(clockTime(this.moment.time, this.dated), x, at.top - 5);
  }

  drawItem(ctx, at, item) {
    const colour = this.paint.of(item.job);
    const { time } = this.moment;
    if (item.kind === "planned") {
      this.rectangles(at, item, item.from, item.to, (...box) => this.drawPlanned(ctx, colour, ...box));
      return;
    }
    ctx.fillStyle = colour;
    const solid = item.kind === "runs" && this.right === "plan" ? time : item.to;
    ctx.globalAlpha = { ended: FADED, runs: 1, later: LATER }[item.kind];
    this.rectangles(at, item, item.from, solid, (...box) => fill(ctx, ...box));
    if (solid < item.to) {
      ctx.globalAlpha = HELD;
      this.rectangles(at, item, solid, item.to, (...box) => fill(ctx, ...box));
    }
    ctx.globalAlpha = 1;
  }

  drawPlanned(ctx, colour, x, y, width, height) {
    ctx.fillStyle = cssColour("--bg");
    ctx.fillRect(x, y, width, height);
    ctx.fillStyle = this.hatches.of(colour);
    ctx.fillRect(x, y, width, height);
    if (height < 4 || width < 4) return;
    ctx.strokeStyle = colour;
    ctx.lineWidth = 1;
    ctx.strokeRect(x + 0.5, y + 0.5, width - 2, height - 1);
  }

  drawClosed(ctx, at, { what, begin, end, nodes }) {
    const [from, to] = this.window;
    if (end <= from || begin >= to) return;
    const [left, right] = [at.x(Math.max(begin, from)), at.x(Math.min(end, to))];
    const colour = cssColour("--muted");
    for (const row of this.oneRow ? [0] : nodes) {
      const top = at.y(row), height = Math.max(at.rowHeight - at.gap, 1);
      ctx.fillStyle = cssColour("--panel");
      ctx.fillRect(left, top, right - left, height);
      ctx.globalAlpha = 0.5;
      ctx.fillStyle = this.hatches.of(colour);
      ctx.fillRect(left, top, right - left, height);
      ctx.globalAlpha = 1;
      this.boxes.push({ x: left, y: top, width: right - left, height, closed: { what, begin, end, nodes } });
      if (at.rowHeight < 12 || ctx.measureText(what).width > right - left - 12) continue;
      ctx.fillStyle = cssColour("--ink");
      ctx.textAlign = "right";
      ctx.textBaseline = "middle";
      ctx.fillText(what, right - 6, top + height / 2);
    }
  }

  /** Planned jobs whose nodes are open, below the nodes. */
  drawOpen(ctx, at) {
    ctx.fillStyle = cssColour("--muted");
    ctx.textAlign = "right";
    ctx.textBaseline = "middle";
    ctx.fillText("open", at.left - 8, (at.bottom + at.end) / 2);
    clipped(ctx, at.left, at.bottom + 2, at.width, at.end - at.bottom - 2, () => {
      for (const item of this.shown) {
        if (item.openRow === undefined) continue;
        const [x, y] = [at.x(item.from), at.bottom + 6 + item.openRow * OPEN_ROW];
        const box = { x, y, width: Math.max(at.x(item.to) - x, 1), height: OPEN_ROW - 1, item };
        this.boxes.push(box);
        this.drawPlanned(ctx, this.paint.of(item.job), box.x, box.y, box.width, box.height);
      }
    });
  }

  /** Gives each rectangle of a job between two times, as far as its rows are in sight; neighbours make one. */
  rectangles(at, item, from, to, each) {
    const x = at.x(from), width = Math.max(at.x(to) - x, 0.6);
    if (x > at.left + at.width || x + width < at.left) return;
    const { pieces } = item;
    for (let k = 0; k < pieces.length; k += 3) {
      const [row, low, high] = [pieces[k], pieces[k + 1], pieces[k + 2]];
      const size = this.rows[row][1];
      let rows = 1;
      if (!at.gap && low === 0 && high === size) {
        while (pieces[k + 3] === row + rows && !pieces[k + 4] && pieces[k + 5] === this.rows[row + rows][1]) { rows++; k += 3; }
      }
      const inner = at.rowHeight - at.gap;
      const top = at.y(row) + inner * (1 - high / size);
      const height = rows > 1 ? rows * at.rowHeight : (inner * (high - low)) / size;
      if (top > at.bottom || top + height < at.top) continue;
      each(x, top, width, height);
      this.boxes.push({ x, y: top, width, height, item });
    }
  }

  /** Frames the job that is pointed at, and with broken lines those that it waits for. */
  outline(ctx, at) {
    if (this.marked === null) return;
    const waitsFor = new Set(this.waitsFor ?? []);
    clipped(ctx, at.left, at.top, at.width, at.end - at.top, () => {
      ctx.strokeStyle = cssColour("--ink");
      for (const { x, y, width, height, item } of this.boxes) {
        const own = item?.job === this.marked;
        if (!own && !waitsFor.has(item?.job)) continue;
        const around = height < 6 ? 0.5 : 0; // so that something of a thin one is left
        ctx.lineWidth = height < 6 ? 1 : 2;
        ctx.setLineDash(own ? [] : [4, 3]);
        ctx.strokeRect(x, y - around, Math.max(width, 2), Math.max(height, 2) + 2 * around);
      }
      ctx.setLineDash([]);
    });
  }

  /** What is at a point of the canvas: a box with its item or what is closed; the last one drawn is on top. */
  boxAt(x, y) {
    const within = (box, slack) => x >= box.x - slack && x < box.x + box.width + slack && y >= box.y - slack && y < box.y + box.height + slack;
    return this.boxes.findLast((box) => within(box, 0)) ?? this.boxes.findLast((box) => within(box, 2)) ?? null;
  }
}
