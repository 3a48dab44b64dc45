// What is known of one job, and what it did in its life.

const FIELD_ORDER = ["user", "account", "name", "state", "partition", "qos", "submit", "start", "end", "nodes", "cpus", "nodelist"];
const MOMENTS = new Set(["submit", "start", "end", "eligible"]);

function showJob(told) {
  byId("job-title").textContent = `Job ${printable(told.job)}`;
  byId("job-life").textContent =
    `First seen ${clockTime(told.first, true)}, last ${clockTime(told.last, true)}: ${duration(told.last - told.first)}.`;
  const place = (field) => (FIELD_ORDER.indexOf(field) + 100) % 100;
  const known = Object.entries(told.fields ?? {}).filter(([field, value]) => field !== "id" && value !== "" && value !== null);
  const fields = known.sort(([a], [b]) => place(a) - place(b) || (a < b ? -1 : 1));
  byId("job-fields").replaceChildren(...fields.map(([field, value]) => element("tr", {},
    element("th", { scope: "row", textContent: field }),
    element("td", { className: "text", textContent: fieldText(field, value) }))));
  if (!fields.length) byId("job-fields").append(element("tr", {}, element("td", { className: "text", textContent: "Nothing so far." })));
  const operations = Object.entries(told.operations).sort(([, a], [, b]) => b.samples - a.samples);
  fillPlain(byId("job-operations"), ["Operation", "Samples", "Total", "Mean"], operations.map(operationRow));
}

function fieldText(field, value) {
  return MOMENTS.has(field) && Number.isFinite(Number(value)) ? clockTime(Number(value), true) : printable(value);
}

/** Bytes for those that move data, time for the others; some are only counted. */
function operationRow([name, { samples, total }]) {
  if (!total) return [name, count(samples), "–", "–"];
  const say = name.endsWith("_bytes") ? (value) => prefixed(value, "B") : timeSpent;
  return [name, count(samples), say(total), say(total / samples)];
}

/** A time that is given in microseconds. */
function timeSpent(us) {
  if (us < 1000) return `${Math.round(us)} µs`;
  if (us < 1e6) return `${(us / 1e3).toFixed(1)} ms`;
  return us < 6e7 ? `${(us / 1e6).toFixed(1)} s` : duration(us / 1e6);
}
