// Tables, made of texts only: what users call their jobs is never read as HTML.

/** An element with a text, properties and children. */
function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** What is known of a job, beside its id, in the first columns of the table. */
const KNOWN = [["user", "User"], ["account", "Account"], ["name", "Name"]];

/** Whom the first column of a table names: of nobody that is known, say so. */
function labelText(by, label) {
  return label === "" ? `${by || "all"} not known` : printable(label);
}

/** A text in which nothing is hidden: control characters and those that turn lines around are shown as numbers. */
function printable(text) {
  return String(text).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
}

/** Fills the table of groups. `onSort(metric)` and `onPick(label)` are told of clicks. */
function fillWho(table, told, { by, metric, colours, onSort, onPick }) {
  const known = by === "job" ? KNOWN : [];
  const metrics = Object.keys(METRICS);
  const head = (text, properties, ...children) => element("th", { textContent: text, scope: "col", ...properties }, ...children);
  const headings = [
    head(by === "job" ? "Job" : capital(by), { className: "text" }),
    ...known.map(([, text]) => head(text, { className: "text" })),
    ...metrics.map((one) => sortHeading(one, metric, onSort)),
    head("Total", { title: `${METRICS[metric].name} during the time that is shown` }),
    head("Share"),
  ];
  const all = told.all.totals[metric] ?? 0;
  const cells = (row) => [
    ...metrics.map((one) => element("td", { textContent: rateText(one, row.rates[one]) })),
    element("td", { textContent: amountText(metric, row.totals[metric]) }),
    shareCell(row.totals[metric], all),
  ];
  const rows = told.rows.map((row) => {
    const name = element("button", { className: "link", textContent: labelText(by, row.label), title: printable(row.label) });
    name.addEventListener("click", () => onPick(row.label));
    const first = element("th", { scope: "row" }, row.label === "" ? labelText(by, "") : name);
    first.style.setProperty("--swatch", `var(${colours.property(row.label)})`);
    const facts = known.map(([field]) => {
      const text = printable(row.fields?.[field] ?? "–");
      return element("td", { className: "text", textContent: text, title: text });
    });
    return element("tr", {}, first, ...facts, ...cells(row));
  });
  const below = (text, row) =>
    element("tr", {}, element("th", { scope: "row", textContent: text, colSpan: 1 + known.length }), ...cells(row));
  const foot = [...(told.more ? [below(`${count(told.more)} others`, told.others)] : []), below("All", told.all)];
  table.replaceChildren(
    element("thead", {}, element("tr", {}, ...headings)),
    element("tbody", {}, ...rows),
    element("tfoot", {}, ...foot),
  );
}

function sortHeading(one, metric, onSort) {
  const button = element("button", { textContent: METRICS[one].name, title: "Sort by this, and draw it" });
  button.addEventListener("click", () => onSort(one));
  const heading = element("th", { scope: "col" }, button);
  if (one === metric) heading.setAttribute("aria-sort", "descending");
  return heading;
}

function shareCell(value, all) {
  const share = all > 0 ? value / all : 0;
  const bar = element("span", { className: "share" });
  bar.style.setProperty("--share", `${share * 100}%`);
  return element("td", { textContent: all > 0 ? percent(share) : "–" }, bar);
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** Fills a table with a heading and rows of texts; the first `texts` columns are no numbers, and the first names the row. */
function fillPlain(table, headings, rows, texts = 1) {
  const body = rows.map(([first, ...others]) => element("tr", {},
    element("th", { scope: "row", textContent: first }),
    ...others.map((text) => (text instanceof Node ? text : element("td", { textContent: text })))));
  const head = headings.map((text, i) => element("th", { scope: "col", textContent: text, className: i < texts ? "text" : "" }));
  table.replaceChildren(element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body));
}
