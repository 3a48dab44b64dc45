// Choosing the window of the schedule, and looking at single jobs: by pointer, keyboard and from the tables.

/** What there is to say of a job, as pairs of name and text. */
function jobFacts({ jobs, owners, dated }, i) {
  const { wait, run, slowdown } = served(jobs, i);
  const time = (t) => (t >= 0 ? clockTime(t, dated) : "–");
  return [
    ["Job", jobs.id[i]], ...ownerFacts(owners, i), ["Processors", count(jobs.procs[i])],
    ["Submitted", time(jobs.submit[i])], ["Started", time(jobs.start[i])],
    ["Wait", Number.isNaN(wait) ? "–" : duration(wait)], ["Run", Number.isNaN(run) ? "–" : duration(run)],
    ["Requested", duration(jobs.limit[i])], ["Slowdown", Number.isNaN(slowdown) ? "–" : decimal(slowdown)],
    ["State", jobs.states[jobs.state[i]]],
  ];
}

/** Fills a tip with facts and puts it beside a point of a canvas. */
function showTip(tip, facts, x, y, canvas) {
  const table = document.createElement("table");
  for (const [name, text] of facts) {
    const row = table.insertRow();
    row.append(Object.assign(document.createElement("th"), { textContent: name }));
    row.insertCell().textContent = text;
  }
  tip.replaceChildren(table);
  tip.hidden = false;
  const room = canvas.clientWidth - x - tip.offsetWidth - 14;
  tip.style.left = `${room > 0 ? x + 14 : Math.max(x - tip.offsetWidth - 14, 0)}px`;
  tip.style.top = `${Math.max(Math.min(y + 10, canvas.clientHeight - tip.offsetHeight), 0)}px`;
}

/** Coloured squares with what they mean. */
function showKey(element, key) {
  element.replaceChildren(...key.map(([colour, label]) => {
    const span = document.createElement("span");
    span.style.setProperty("--swatch", colour);
    span.textContent = label;
    return span;
  }));
}

class GanttControls {
  /** `span`: first and last second of the log; `busiest`: the window to begin with; `onMove`: told of every new window. */
  constructor(gantt, { span, busiest, onMove }) {
    Object.assign(this, { gantt, span, busiest, onMove });
    this.rowOf = new Map(Array.from(gantt.jobs.id, (id, i) => [id, i]));
    this.bindInputs();
    this.bindPointer();
    this.show(...busiest);
  }

  /** Shows `length` seconds from `from`, kept so that some of the log is in it. */
  show(from, length) {
    const latest = Math.max(this.span[1] - length / 2, this.span[0]);
    const start = Math.round(Math.min(Math.max(from, this.span[0] - length / 2), latest));
    this.gantt.window = [start, start + length];
    const slider = byId("gantt-start");
    Object.assign(slider, { min: this.span[0] - Math.round(length / 2), max: latest, step: Math.max(Math.round(length / 48), 1) });
    slider.value = start;
    slider.setAttribute("aria-valuetext", clockTime(start, this.gantt.dated));
    byId("gantt-length").value = length;
    this.refresh();
    this.onMove(this.gantt.window);
  }

  get length() {
    return this.gantt.window[1] - this.gantt.window[0];
  }

  centre(time) {
    this.show(time - this.length / 2, this.length);
  }

  refresh() {
    this.gantt.draw();
    showKey(byId("gantt-key"), this.gantt.paint.key);
    const { dated, window: [from, to], shown, marked } = this.gantt;
    byId("gantt-status").textContent = marked >= 0
      ? jobFacts(this.gantt, marked).map(([name, text]) => `${name} ${text}`).join(" · ")
      : `${clockTime(from, dated)} – ${clockTime(to, dated)} · ${count(shown.length)} job${shown.length === 1 ? "" : "s"}`;
  }

  /** Marks a job and brings it into the window. */
  find(id) {
    const i = this.rowOf.get(id);
    if (i === undefined || this.gantt.jobs.start[i] < 0) {
      byId("gantt-status").textContent = i === undefined ? `There is no job ${id}.` : `Job ${id} never started.`;
      return;
    }
    this.gantt.marked = i;
    this.centre((this.gantt.jobs.start[i] + this.gantt.endOf(i)) / 2);
    byId("gantt").scrollIntoView({ block: "center" });
  }

  bindInputs() {
    byId("gantt-length").addEventListener("change", (e) => {
      const middle = (this.gantt.window[0] + this.gantt.window[1]) / 2;
      this.show(middle - e.target.value / 2, Number(e.target.value));
    });
    byId("gantt-start").addEventListener("input", (e) => this.show(Number(e.target.value), this.length));
    byId("gantt-back").addEventListener("click", () => this.show(this.gantt.window[0] - this.length / 2, this.length));
    byId("gantt-on").addEventListener("click", () => this.show(this.gantt.window[0] + this.length / 2, this.length));
    byId("gantt-busiest").addEventListener("click", () => this.show(...this.busiest));
    byId("gantt-colour").addEventListener("change", (e) => { this.gantt.colour = e.target.value; this.refresh(); });
    byId("gantt-job").addEventListener("change", (e) => { if (e.target.value.trim()) this.find(Number(e.target.value)); });
  }

  bindPointer() {
    const { canvas } = this.gantt;
    canvas.addEventListener("pointerdown", (e) => {
      this.grip = { x: e.offsetX, from: this.gantt.window[0], moved: false };
      canvas.setPointerCapture(e.pointerId);
    });
    canvas.addEventListener("pointermove", (e) => (this.grip ? this.drag(e) : this.hover(e)));
    canvas.addEventListener("pointerup", (e) => {
      if (this.grip && !this.grip.moved) this.mark(this.gantt.jobAt(e.offsetX, e.offsetY));
      this.release();
    });
    canvas.addEventListener("pointercancel", () => this.release());
    canvas.addEventListener("pointerleave", () => { byId("gantt-tip").hidden = true; });
  }

  drag(event) {
    const shift = event.offsetX - this.grip.x;
    if (!this.grip.moved && Math.abs(shift) < 4) return;
    this.grip.moved = true;
    this.gantt.canvas.classList.add("moving");
    byId("gantt-tip").hidden = true;
    this.show(this.grip.from - (shift / this.gantt.layout().width) * this.length, this.length);
  }

  release() {
    this.grip = null;
    this.gantt.canvas.classList.remove("moving");
  }

  mark(i) {
    this.gantt.marked = i;
    this.refresh();
  }

  hover(event) {
    const tip = byId("gantt-tip");
    const i = this.gantt.jobAt(event.offsetX, event.offsetY);
    tip.hidden = i < 0;
    if (i < 0) return;
    showTip(tip, jobFacts(this.gantt, i), event.offsetX, event.offsetY, this.gantt.canvas);
  }
}
