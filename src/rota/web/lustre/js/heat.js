// Targets over time: a row for each target, a field for each step, darker where more was done.

const HEAT_LEFT = 150, HEAT_TOP = 7, HEAT_BOTTOM = 40, HEAT_RIGHT = 30;
/** So many powers of ten below the largest rate can be told apart. */
const HEAT_DECADES = 3;
/** Clicks on a field ask about at least so many seconds. */
const LEAST_SPAN = 30;

class HeatMap {
  /** `onPick(target, begin, end)`: told of a click on a field; `onZoom(begin, end)`: of a stretch of time. */
  constructor(figure, { onPick, onZoom }) {
    Object.assign(this, { figure, onPick, onZoom, data: null, drag: null, at: null });
    [this.canvas, this.keyCanvas] = figure.querySelectorAll("canvas");
    this.tip = figure.querySelector(".tip");
    [this.mark, this.band] = figure.querySelectorAll(".heat-mark, .heat-band");
    this.ramp = rampOf(SEQUENTIAL);
    new ResizeObserver(() => this.draw()).observe(figure);
    onThemeChange(() => this.draw());
    this.canvas.addEventListener("pointerdown", (e) => this.press(e));
    this.canvas.addEventListener("pointermove", (e) => this.move(e));
    this.canvas.addEventListener("pointerup", (e) => this.release(e));
    this.canvas.addEventListener("pointerleave", () => this.leave());
    this.canvas.addEventListener("keydown", (e) => this.key(e));
  }

  /** Takes an answer of the service. */
  show(data) {
    this.data = data;
    this.most = data.rates.reduce((most, row) => row.reduce((a, b) => (b > a ? b : a), most), 0);
    this.picture = this.painted();
    if (this.at && (this.at.row >= data.targets.length || this.at.step >= (data.rates[0]?.length ?? 0))) this.point(null);
    this.draw();
  }

  /** One pixel for each field; it is stretched when it is drawn. */
  painted() {
    const { rates } = this.data;
    const steps = rates[0]?.length ?? 0;
    if (!rates.length || !steps) return null;
    const image = new ImageData(steps, rates.length);
    const pixels = new Uint32Array(image.data.buffer);
    rates.forEach((row, r) => row.forEach((rate, s) => {
      pixels[r * steps + s] = rate > 0 ? this.ramp[this.shade(rate)] : 0;
    }));
    const canvas = new OffscreenCanvas(steps, rates.length);
    canvas.getContext("2d").putImageData(image, 0, 0);
    return canvas;
  }

  /** Place of a rate in the ramp: even steps are even ratios. */
  shade(rate) {
    const share = 1 + Math.log10(rate / this.most) / HEAT_DECADES;
    return Math.round(Math.min(Math.max(share, 0), 1) * 255);
  }

  draw() {
    if (!this.data) return;
    const rows = this.data.targets.length;
    const width = Math.max(this.figure.clientWidth, 320);
    this.rowHeight = Math.min(Math.max(Math.floor(480 / Math.max(rows, 1)), 5), 22);
    const height = rows * this.rowHeight;
    this.plot = { left: HEAT_LEFT, top: HEAT_TOP, width: width - HEAT_LEFT - HEAT_RIGHT, height, bottom: HEAT_TOP + height };
    const ctx = sized(this.canvas, width, this.plot.bottom + HEAT_BOTTOM);
    ctx.fillStyle = cssColour("--panel");
    ctx.fillRect(this.plot.left, this.plot.top, this.plot.width, this.plot.height);
    if (this.picture) {
      ctx.imageSmoothingEnabled = false;
      ctx.drawImage(this.picture, this.plot.left, this.plot.top, this.plot.width, this.plot.height);
    }
    ctx.fillStyle = cssColour("--muted");
    drawRowNames(ctx, { ...this.plot, rowHeight: this.rowHeight, y: (row) => this.y(row) }, this.data.targets);
    drawTimeAxis(ctx, { ...this.plot, x: (t) => this.x(t) }, [this.data.begin, this.data.end], true);
    this.placeMarks();
    this.drawKey(width);
  }

  /** Puts what follows the pointer where it belongs. These are elements above the picture, which is not drawn again. */
  placeMarks() {
    const { step } = this.data;
    this.band.hidden = !this.drag?.moved;
    if (this.drag?.moved) this.place(this.band, ...this.dragged(), this.plot.top, this.plot.height);
    this.mark.hidden = !this.at;
    if (!this.at) return;
    const begin = this.timeOf(this.at);
    this.place(this.mark, begin, begin + step, this.y(this.at.row), this.rowHeight);
  }

  place(mark, begin, end, top, height) {
    mark.style.transform = `translate(${this.x(begin)}px, ${top}px)`;
    mark.style.width = `${this.x(end) - this.x(begin)}px`;
    mark.style.height = `${height}px`;
  }

  drawKey(width) {
    const ctx = sized(this.keyCanvas, width, 42);
    const length = Math.min(360, width - HEAT_LEFT - HEAT_RIGHT);
    for (let i = 0; i < length; i++) {
      ctx.fillStyle = cssOf(this.ramp[Math.round((i / (length - 1)) * 255)]);
      ctx.fillRect(HEAT_LEFT + i, 6, 1, 10);
    }
    ctx.fillStyle = cssColour("--muted");
    ctx.font = FONT;
    ctx.textBaseline = "top";
    if (!this.most) ctx.fillText("nothing happened", HEAT_LEFT, 20);
    for (let power = 0; this.most && power <= HEAT_DECADES; power++) {
      ctx.textAlign = power === 0 ? "left" : power === HEAT_DECADES ? "right" : "center";
      const text = rateText(this.data.metric, this.most * 10 ** (power - HEAT_DECADES));
      ctx.fillText(text, HEAT_LEFT + (power / HEAT_DECADES) * length, 20);
    }
  }

  /** The field at a place of the screen; null: there is none. */
  field(event) {
    const box = this.canvas.getBoundingClientRect();
    const steps = this.data?.rates[0]?.length ?? 0;
    const step = Math.floor(((event.clientX - box.left - this.plot?.left) / this.plot?.width) * steps);
    const row = Math.floor((event.clientY - box.top - HEAT_TOP) / this.rowHeight);
    return step >= 0 && step < steps && row >= 0 && row < this.data.targets.length ? { row, step } : null;
  }

  /** The place of a moment. */
  x(t) {
    const { begin, end } = this.data;
    return this.plot.left + ((t - begin) / (end - begin)) * this.plot.width;
  }

  /** The top of a row. */
  y(row) {
    return this.plot.top + row * this.rowHeight;
  }

  timeOf({ step }) {
    return this.data.begin + step * this.data.step;
  }

  dragged() {
    const [a, b] = [this.timeOf(this.drag.from), this.timeOf(this.drag.to)];
    return [Math.min(a, b), Math.max(a, b) + this.data.step];
  }

  press(event) {
    const from = this.field(event);
    if (!from || event.button) return;
    this.drag = { from, to: from, moved: false };
    this.canvas.setPointerCapture(event.pointerId);
  }

  move(event) {
    const at = this.field(event);
    if (this.drag) {
      if (at) this.drag.to = at;
      this.drag.moved ||= this.drag.to.step !== this.drag.from.step;
      this.placeMarks();
    }
    this.point(at, event.clientX);
  }

  release() {
    const { drag } = this;
    if (!drag) return;
    const [begin, end] = this.dragged();
    this.drag = null;
    if (drag.moved) this.onZoom(begin, end);
    else this.pick(drag.from);
  }

  leave() {
    if (!this.drag) this.point(null);
  }

  /** Asks about a field, and what is close to it where it is short. */
  pick(at) {
    const begin = this.timeOf(at);
    const lacking = Math.max(LEAST_SPAN - this.data.step, 0) / 2;
    this.onPick(this.data.targets[at.row], Math.floor(begin - lacking), Math.ceil(begin + this.data.step + lacking));
  }

  key(event) {
    const steps = this.data?.rates[0]?.length ?? 0;
    if (!steps) return;
    const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    if (event.key === "Enter" && this.at) this.pick(this.at);
    if (!moves[event.key]) return;
    event.preventDefault();
    const [down, right] = moves[event.key];
    const { row, step } = this.at ?? { row: 0, step: steps - 1 };
    const within = (value, count) => Math.min(Math.max(value, 0), count - 1);
    this.point({ row: within(row + down, this.data.targets.length), step: within(step + right, steps) });
  }

  /** Marks a field, and says what it is. */
  point(at) {
    const same = at && this.at && at.row === this.at.row && at.step === this.at.step;
    if (same || (!at && !this.at)) return;
    this.at = at;
    this.tip.hidden = !at;
    if (at) this.say(at);
    if (this.plot) this.placeMarks();
  }

  say(at) {
    const begin = this.timeOf(at);
    const rate = rateText(this.data.metric, this.data.rates[at.row][at.step]);
    this.tip.textContent = `${this.data.targets[at.row]} · ${clockTime(begin, true)} to ${timeOfDay(begin + this.data.step)} · ${rate}`;
    const left = this.plot.left + (at.step / this.data.rates[0].length) * this.plot.width;
    const scrolled = this.canvas.parentElement.scrollTop;
    this.tip.style.left = `${Math.min(left + 12, this.figure.clientWidth - this.tip.offsetWidth - 4)}px`;
    this.tip.style.top = `${this.y(at.row + 1) + 6 - scrolled}px`;
  }
}

/** A canvas of so many pixels of the page, cleared. */
function sized(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = `${height}px`;
  const ctx = canvas.getContext("2d");
  ctx.scale(ratio, ratio);
  ctx.font = FONT;
  return ctx;
}

/** 256 colours between given ones, as pixels; the first let the ground through. */
function rampOf(colours) {
  const parts = colours.map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
  return Uint32Array.from({ length: 256 }, (_, i) => {
    const place = (i / 255) * (parts.length - 1);
    const low = Math.min(Math.floor(place), parts.length - 2);
    const [red, green, blue] = parts[low].map((v, k) => Math.round(v + (parts[low + 1][k] - v) * (place - low)));
    const opacity = Math.round(Math.min(0.2 + i / 120, 1) * 255);
    return (opacity << 24) | (blue << 16) | (green << 8) | red;
  });
}

const cssOf = (pixel) => `rgb(${pixel & 255} ${(pixel >> 8) & 255} ${(pixel >> 16) & 255} / ${(pixel >>> 24) / 255})`;
