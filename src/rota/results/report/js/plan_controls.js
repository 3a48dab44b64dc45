// Choosing the moment of the plan, and asking about jobs: by pointer, touch and keyboard.

/** A pointer that moved so little has not dragged. */
const CLICK_REACH = 4;

class PlanControls {
  /** `busiest`: the window to begin with; `onMove`: told of every new moment. */
  constructor(picture, { onMove }) {
    Object.assign(this, { picture, onMove, moments: picture.plan.moments, facts: new PlanFacts(picture), pinned: null });
    this.canvas = picture.canvas;
    byId("plan-moment").max = this.moments.length - 1;
    byId("plan-rows").closest("label").hidden = picture.roomy;
    picture.length = this.suitableLength();
    byId("plan-length").value = picture.length;
    this.bindInputs();
    this.bindPointer();
    this.canvas.addEventListener("keydown", (e) => this.key(e));
    this.go(this.fullest());
  }

  /** The moment with the most planned jobs or, where nothing is planned, the longest queue. */
  fullest() {
    const weight = ({ planned, waiting }) => planned.length * 1e9 + waiting;
    return this.moments.reduce((best, moment, i) => (weight(moment) > weight(this.moments[best]) ? i : best), 0);
  }

  /** A window that shows most of the fullest plan. */
  suitableLength() {
    const { time, planned } = this.moments[this.fullest()];
    const { jobs } = this.picture;
    const ends = planned.map((one) => one.start + jobs.limit[one.job] - time).sort((a, b) => a - b);
    const reach = (ends[Math.floor(ends.length * 0.75)] ?? DAY) / (1 - NOW_AT);
    const lengths = [...byId("plan-length").options].map((option) => Number(option.value));
    return lengths.find((length) => length >= reach * 0.9) ?? lengths.at(-1);
  }

  /** Shows a moment by its number. */
  go(number) {
    this.number = Math.min(Math.max(number, 0), this.moments.length - 1);
    this.picture.shift = 0;
    this.picture.show(this.moments[this.number]);
    const slider = byId("plan-moment");
    slider.value = this.number;
    slider.setAttribute("aria-valuetext", clockTime(this.time, this.picture.dated));
    this.pin(null);
    this.onMove();
  }

  get time() {
    return this.moments[this.number].time;
  }

  /** Shows the last moment at or before a time. */
  pick(time) {
    this.go(lastAtMost(this.moments.map((moment) => moment.time), time));
  }

  /** Shows a job at the first moment that says something of it: while it waits, or else while it runs. */
  find(id) {
    const { jobs } = this.picture;
    const i = jobs.id.indexOf(id);
    const number = this.moments.findIndex(({ planned }) => planned.some((one) => one.job === i));
    if (number >= 0) this.go(number);
    else if (i >= 0 && jobs.start[i] >= 0) this.pick(Math.max(jobs.start[i], this.moments[0].time));
    const item = this.picture.shown.find((one) => one.job === i);
    if (item) this.pin(item);
    else byId("plan-status").textContent = i < 0 ? `There is no job ${id}.` : `Job ${id} is in no plan that was kept.`;
  }

  refresh() {
    this.picture.draw();
    showKey(byId("plan-key"), this.picture.paint.key);
  }

  /** Keeps a job marked, and says all about it below the picture; `null`: none. */
  pin(item) {
    this.pinned = item;
    this.mark(item);
    byId("plan-status").textContent = item
      ? this.facts.of(item).map(([name, text]) => `${name} ${text}`.trim()).join(" · ")
      : this.overview();
  }

  overview() {
    const { moment, running } = this.picture;
    const planned = moment.planned.length;
    const words = [`${count(running.length)} job${running.length === 1 ? "" : "s"} running`, `${count(moment.waiting)} waiting`];
    if (planned) words.push(`${count(planned)}${planned === this.picture.plan.most ? " or more" : ""} of them with a planned start`);
    return `${clockTime(moment.time, this.picture.dated)} · ${words.join(", ")}`;
  }

  mark(item) {
    const job = item?.job ?? null;
    this.picture.marked = job;
    this.picture.waitsFor = item?.kind === "planned" ? this.facts.waitsFor(item).slice(0, this.picture.oneRow ? MOST_TOLD : undefined).map((one) => one.job) : [];
    this.refresh();
  }

  bindInputs() {
    byId("plan-moment").addEventListener("input", (e) => this.go(Number(e.target.value)));
    byId("plan-back").addEventListener("click", () => this.go(this.number - 1));
    byId("plan-on").addEventListener("click", () => this.go(this.number + 1));
    byId("plan-fullest").addEventListener("click", () => this.go(this.fullest()));
    byId("plan-job").addEventListener("change", (e) => { if (e.target.value.trim()) this.find(Number(e.target.value)); });
    byId("plan-length").addEventListener("change", (e) => {
      Object.assign(this.picture, { length: Number(e.target.value), shift: 0 });
      this.refresh();
    });
    for (const [id, name] of [["plan-rows", "rowSize"], ["plan-colour", "colour"], ["plan-right", "right"]]) {
      byId(id).addEventListener("change", (e) => { this.picture[name] = e.target.value; this.refresh(); });
    }
  }

  bindPointer() {
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (e) => {
      this.grip = { x: e.offsetX, shift: this.picture.shift, moved: false };
      canvas.setPointerCapture(e.pointerId);
    });
    canvas.addEventListener("pointermove", (e) => (this.grip ? this.drag(e) : this.hover(e.offsetX, e.offsetY)));
    canvas.addEventListener("pointerup", (e) => {
      if (this.grip && !this.grip.moved) {
        this.pin(this.picture.boxAt(e.offsetX, e.offsetY)?.item ?? null);
        this.hover(e.offsetX, e.offsetY);
      }
      this.release();
    });
    canvas.addEventListener("pointercancel", () => this.release());
    canvas.addEventListener("pointerleave", (e) => { if (e.pointerType !== "touch") this.leave(); });
    canvas.addEventListener("blur", () => this.leave());
  }

  drag(event) {
    const moved = event.offsetX - this.grip.x;
    if (!this.grip.moved && Math.abs(moved) < CLICK_REACH) return;
    this.grip.moved = true;
    this.canvas.classList.add("moving");
    this.hideTip();
    this.picture.shift = this.grip.shift - (moved / this.picture.layout().width) * this.picture.length;
    this.refresh();
  }

  release() {
    this.grip = null;
    this.canvas.classList.remove("moving");
  }

  /** Tells of what is at a point of the canvas. */
  hover(x, y) {
    const box = this.picture.boxAt(x, y);
    if (!box) {
      this.leave();
      return;
    }
    if (box.item && box.item.job !== this.picture.marked) this.mark(box.item);
    showTip(byId("plan-tip"), box.item ? this.facts.of(box.item) : this.facts.ofClosed(box.closed), x, y, this.canvas);
  }

  leave() {
    this.hideTip();
    if (this.picture.marked !== (this.pinned?.job ?? null)) this.mark(this.pinned);
  }

  hideTip() {
    byId("plan-tip").hidden = true;
  }

  /** Up and down go from job to job, planned ones first; left and right from moment to moment. */
  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const moments = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step && !moments && event.key !== "Escape") return;
    event.preventDefault();
    if (moments) this.go(this.number + moments);
    if (event.key === "Escape") this.pin(null);
    this.hideTip();
    if (step) this.next(step);
  }

  next(step) {
    const { shown } = this.picture;
    const order = [...shown.filter(({ kind }) => kind === "planned"), ...shown.filter(({ kind }) => kind === "runs")];
    if (!order.length) return;
    const at = order.findIndex(({ job }) => job === this.pinned?.job);
    const item = order[(at < 0 ? (step > 0 ? 0 : order.length - 1) : at + step + order.length) % order.length];
    this.reveal(item);
    this.pin(item);
    const box = this.picture.boxes.find((one) => one.item?.job === item.job);
    if (box) showTip(byId("plan-tip"), this.facts.of(item), box.x + Math.min(box.width / 2, 40), box.y + box.height / 2, this.canvas);
  }

  /** Scrolls so that the first row of a job is in sight. */
  reveal({ pieces }) {
    const at = this.picture.layout();
    if (!pieces.length || this.picture.oneRow) return;
    const y = at.y(pieces[0]);
    if (y < at.top || y + at.rowHeight > at.bottom) this.picture.scroller.scrollTop += y - at.top - at.height / 2;
  }
}
