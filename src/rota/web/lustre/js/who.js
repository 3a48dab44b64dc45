// The table of groups. However many there are, it has rows for those in sight only; and these stay, when what they say
// changes, so that neither the keyboard's focus nor a click is lost.

/** So many rows are all there; of more, those in sight, and so many above and below, of which at least some are left. */
const ALL_ROWS = 100, ROWS_BEYOND = 20, LEAST_BEYOND = 6;
/** What is known of a job, beside its id, in the first columns of the table. */
const KNOWN = [["user", "User"], ["account", "Account"], ["name", "Name"]];

class WhoTable {
  /** `onSort(metric)` and `onPick(label)` are told of clicks. */
  constructor(table, { colours, onSort, onPick }) {
    Object.assign(this, { table, colours, onSort, onPick, told: null, by: null, drawn: new Map(), spare: [], rowHeight: 30, pressed: null });
    this.head = element("thead");
    this.body = element("tbody");
    this.foot = element("tfoot");
    [this.above, this.below] = [0, 1].map(() => element("tr", { className: "space", ariaHidden: "true" }, element("td")));
    table.replaceChildren(this.head, this.body, this.foot);
    this.body.addEventListener("pointerdown", ({ target }) => { this.pressed = pressedAt(target); });
    this.body.addEventListener("click", ({ target }) => this.click(pressedAt(target)));
    this.body.addEventListener("keydown", () => { this.pressed = null; });
    let waits = false;
    const moved = () => {
      if (waits) return;
      waits = true;
      requestAnimationFrame(() => { waits = false; this.follow(); });
    };
    addEventListener("scroll", moved, { passive: true });
    addEventListener("resize", moved, { passive: true });
  }

  /** Takes an answer of the service. */
  show(told, by, metric) {
    const isNew = by !== this.by;
    Object.assign(this, { told, by, metric, known: by === "job" ? KNOWN : [], all: told.all.totals[metric] ?? 0 });
    this.table.classList.toggle("long", told.rows.length > ALL_ROWS);
    this.table.setAttribute("aria-rowcount", told.rows.length + 1);
    if (isNew) {
      this.drawHead();
      this.drawn.clear();
      this.spare = [];
      this.body.replaceChildren();
    }
    this.markSorted();
    const foot = [...(told.more ? [this.sumRow(`${count(told.more)} others`, told.others)] : []), this.sumRow("All", told.all)];
    this.foot.replaceChildren(...foot);
    this.rowHeight = foot[0].getBoundingClientRect().height || this.rowHeight; // as high as each other row
    this.draw(true);
  }

  /** Has other rows when those at the edge come into sight. */
  follow() {
    const length = this.told?.rows.length ?? 0;
    const [from, to] = this.range(length, LEAST_BEYOND);
    if (from < this.from || to > this.to) this.draw();
  }

  /** Has a row for each group in sight, and space for the others; those that stay are only filled when all is `anew`. */
  draw(anew = false) {
    const { rows } = this.told;
    const [from, to] = this.range(rows.length, ROWS_BEYOND);
    Object.assign(this, { from, to });
    for (const [i, row] of this.drawn) {
      if (i >= from && i < to) continue;
      row.remove();
      this.drawn.delete(i);
      this.spare.push(row);
    }
    this.space(this.above, from, this.body.firstChild);
    this.space(this.below, rows.length - to, null);
    let next = from ? this.above.nextSibling : this.body.firstChild;
    for (let i = from; i < to; i++) {
      const old = this.drawn.get(i);
      const row = old ?? this.rowAt(i, next);
      if (!old || anew) this.fill(row, rows[i]);
      next = row.nextSibling;
    }
  }

  /** The rows that are to be there, with so many beyond those in sight: from which, and to in front of which. */
  range(length, beyond) {
    if (length <= ALL_ROWS) return [0, length];
    const { top } = this.body.getBoundingClientRect();
    const within = (i) => Math.min(Math.max(i, 0), length);
    return [
      within(Math.floor(-top / this.rowHeight) - beyond),
      within(Math.ceil((innerHeight - top) / this.rowHeight) + beyond),
    ];
  }

  /** Has space for some rows in front of an element, or at the end. */
  space(row, rows, before) {
    if (!rows) row.remove();
    else if (!row.isConnected) this.body.insertBefore(row, before);
    row.firstChild.style.height = `${rows * this.rowHeight}px`;
  }

  /** Puts a row in front of an element, or at the end: one that is not needed any more, or a new one. */
  rowAt(i, before) {
    const row = this.spare.pop() ?? element("tr", {},
      element("th", { scope: "row" }),
      ...this.known.map(() => element("td", { className: "text" })),
      ...[...Object.keys(METRICS), "total", "share"].map(() => element("td")));
    row.setAttribute("aria-rowindex", i + 2);
    this.drawn.set(i, row);
    this.body.insertBefore(row, before);
    return row;
  }

  fill(row, told) {
    const [first, ...cells] = row.cells;
    if (row.label !== told.label) {
      row.label = told.label;
      const text = labelText(this.by, told.label);
      const button = first.querySelector("button") ?? element("button", { className: "link" });
      Object.assign(button, { textContent: text, title: printable(told.label) });
      first.replaceChildren(told.label === "" ? text : button);
    }
    const swatch = `var(${this.colours.property(told.label)})`;
    if (first.style.getPropertyValue("--swatch") !== swatch) first.style.setProperty("--swatch", swatch);
    this.known.forEach(([field], i) => {
      const text = printable(told.fields?.[field] ?? "–");
      if (say(cells[i], text)) cells[i].title = text;
    });
    this.fillNumbers(cells.slice(this.known.length), told);
  }

  fillNumbers(cells, told) {
    const metrics = Object.keys(METRICS);
    metrics.forEach((one, i) => say(cells[i], rateText(one, told.rates[one])));
    const [total, share] = cells.slice(metrics.length);
    say(total, amountText(this.metric, told.totals[this.metric]));
    const part = this.all > 0 ? told.totals[this.metric] / this.all : 0;
    if (!share.firstChild) share.append("", element("span", { className: "share" }));
    const [text, bar] = share.childNodes;
    const said = this.all > 0 ? percent(part) : "–";
    if (text.data !== said) text.data = said;
    bar.style.setProperty("--share", `${part * 100}%`);
  }

  sumRow(text, told) {
    const row = element("tr", {},
      element("th", { scope: "row", textContent: text, colSpan: 1 + this.known.length }),
      ...[...Object.keys(METRICS), "total", "share"].map(() => element("td")));
    this.fillNumbers([...row.cells].slice(1), told);
    return row;
  }

  drawHead() {
    const head = (text, properties) => element("th", { textContent: text, scope: "col", ...properties });
    this.head.replaceChildren(element("tr", {},
      head(this.by === "job" ? "Job" : capital(this.by), { className: "text" }),
      ...this.known.map(([, text]) => head(text, { className: "text" })),
      ...Object.keys(METRICS).map((one) => this.sortHeading(one)),
      head("Total"),
      head("Share")));
  }

  sortHeading(one) {
    const button = element("button", { textContent: METRICS[one].name, title: "Sort by this, and draw it" });
    button.addEventListener("click", () => this.onSort(one));
    const heading = element("th", { scope: "col" }, button);
    heading.metric = one;
    return heading;
  }

  /** Says in the heading what it is sorted by. */
  markSorted() {
    const headings = [...this.head.rows[0].cells];
    for (const one of headings) {
      if (one.metric === this.metric) one.setAttribute("aria-sort", "descending");
      else one.removeAttribute("aria-sort");
    }
    headings.at(-2).title = `${METRICS[this.metric].name} during the time that is shown`;
  }

  /** Takes a click: on whom it began, if the order has changed since then. */
  click(at) {
    if (!at) return;
    const label = this.pressed?.row === at.row ? this.pressed.label : at.label;
    this.pressed = null;
    this.onPick(label);
  }
}

/** The row whose button something is in, and whom it names. */
function pressedAt(target) {
  const row = target.closest("button")?.closest("tr");
  return row && { row, label: row.label };
}

/** Has a cell say something, and tells whether it did not before. */
function say(cell, text) {
  if (cell.textContent === text) return false;
  cell.textContent = text;
  return true;
}
