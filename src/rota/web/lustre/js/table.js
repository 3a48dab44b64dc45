// Tables, made of texts only: what users call their jobs is never read as HTML.

/** An element with a text, properties and children. */
function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** Whom the first column of a table names: of nobody that is known, say so. */
function labelText(by, label) {
  return label === "" ? `${by || "all"} not known` : printable(label);
}

/** A text in which nothing is hidden: control characters and those that turn lines around are shown as numbers. */
function printable(text) {
  return String(text).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
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
