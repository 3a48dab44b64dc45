// The page: from its address to its pictures, anew whenever the service has read.

/** Seconds after which it is asked again where no event came. */
const PATIENCE = 15;

let asked = new Asked(location.search);
let running = null;
const colours = new StickyColours();
const heat = new HeatMap(byId("heat"), {
  onPick: (target, begin, end) => go({ ...asked.filtered("target", target), begin, end, by: asked.by === "target" ? "job" : asked.by }),
  onZoom: (begin, end) => go({ begin, end }),
});
const whoTable = new WhoTable(byId("who"), { colours, onSort: (one) => go({ metric: one }), onPick: pick });
const stack = new Stack(byId("stack"), { colours, onZoom: (begin, end) => go({ begin, end }) });

/** Shows something else, and keeps what was for the browser's way back. */
function go(changes) {
  asked = asked.with(changes);
  history.pushState(null, "", asked.search);
  refresh();
}

addEventListener("popstate", () => {
  asked = new Asked(location.search);
  refresh();
});

async function refresh() {
  running?.abort();
  const mine = running = new AbortController();
  const get = (path, more) => ask(asked.question(path, more), mine.signal);
  document.body.setAttribute("aria-busy", "true");
  try {
    const { metric, by, top } = asked;
    const [who, over, field, status, job] = await Promise.all([
      get("top", { by, top, sort: metric }),
      get("series", { by, top: PLACES.length, metrics: metric, points: STEPS }),
      get("heat", { metric, points: STEPS }),
      ask("lustre/v1/status", mine.signal),
      asked.job === null ? null : ask(`lustre/v1/jobs/${encodeURIComponent(asked.job)}?points=2`, mine.signal),
    ]);
    trouble("");
    draw({ who, over, field, status, job });
  } catch (error) {
    if (error.name !== "AbortError") trouble(error.message);
  } finally {
    if (mine === running) document.body.removeAttribute("aria-busy");
  }
}

function draw({ who, over, field, status, job }) {
  const { by, metric } = asked;
  colours.give(over.series.map((one) => one.label));
  drawControls(who);
  drawFigures(who);
  heat.show(field);
  stack.show(over, metric, (one) => seriesName(one));
  whoTable.show(who, by, metric);
  byId("who-title").textContent = `${METRICS[metric].name} by ${by || "all"}`;
  byId("more").hidden = !who.more || asked.top >= 1000;
  byId("more").textContent = `Show more of ${count(who.more)} others`;
  byId("job").hidden = !job;
  if (job) showJob(job);
  drawCollector(status, who);
}

function seriesName({ label, fields }) {
  const owner = fields?.user ? `${printable(label)} (${printable(fields.user)})` : labelText(asked.by, label);
  return owner.length > 40 ? `${owner.slice(0, 39)}…` : owner;
}

/** What a click on a name asks: all of that job, or the jobs of that user, account, target … */
async function pick(label) {
  if (asked.by !== "job") {
    go({ ...asked.filtered(asked.by, label), by: "job" });
    return;
  }
  openJob(label);
}

async function openJob(id) {
  try {
    const { first, last } = await ask(`lustre/v1/jobs/${encodeURIComponent(id)}?points=2`);
    go({ begin: Math.floor(first), end: Math.ceil(Math.max(last, first + 10)), by: "target", where: [`job=${id}`], top: 20 });
  } catch (error) {
    trouble(error.message);
  }
}

function drawControls(who) {
  const moment = (t) => clockTime(t, true);
  byId("when").textContent = `${moment(who.begin)} to ${moment(who.end)} UTC${asked.isLive ? ", and on" : ""}`;
  const last = byId("last");
  last.value = asked.isLive && [...last.options].some((one) => one.value === String(asked.last)) ? String(asked.last) : "";
  last.selectedOptions[0]?.replaceChildren(...(last.value === "" ? [duration(who.end - who.begin)] : [last.selectedOptions[0].textContent]));
  byId("now").hidden = asked.isLive;
  byId("metric").value = asked.metric;
  byId("by").value = asked.by;
  byId("filters").replaceChildren(...asked.where.map((one) => {
    const button = element("button", { className: "filter", textContent: printable(one.replace("=", " ")), title: "Take this filter away" });
    button.addEventListener("click", () => go({ where: asked.where.filter((other) => other !== one), by: one.startsWith("job=") ? "job" : asked.by }));
    return button;
  }));
}

function drawFigures(who) {
  byId("figures").replaceChildren(...Object.entries(METRICS).map(([metric, { name }]) => {
    const box = element("div", { className: metric === asked.metric ? "chosen" : "", title: "Draw this" },
      element("dt", { textContent: name }),
      element("dd", { textContent: rateText(metric, who.all.rates[metric]) },
        element("small", { textContent: `  ${amountText(metric, who.all.totals[metric])}` })));
    box.addEventListener("click", () => go({ metric }));
    return box;
  }));
}

function drawCollector({ sources, store, writing, lookups, now, until }, who) {
  const rows = sources.map((one) => {
    const state = element("td", { className: `text${one.error ? " bad" : ""}`, textContent: printable(one.error || one.remark) || (one.last ? "well" : "not read so far") });
    const bad = element("td", { textContent: count(one.bad_lines), title: printable(one.bad_line) });
    return [printable(one.name), state, one.last ? clockTime(one.last, true) : "–", count(one.readings), count(one.failures + one.missed),
      count(one.jobs), bad, count(one.unread), `${one.seconds.toFixed(2)} s`];
  });
  fillPlain(byId("sources"), ["Source", "State", "Last read", "Readings", "Failed or missed", "Jobs", "Bad lines", "Not known", "Took"], rows, 2);
  const late = writing.error ? ` It cannot write: ${printable(writing.error)}.` : "";
  const times = who.all.totals["unread.samples"];
  const unread = times ? ` What jobs did is not all known: entries were made anew or went unread ${count(times)} times.` : "";
  byId("store").textContent = `The store has ${prefixed(store.bytes, "B")}, and all until ${clockTime(until, true)}.${late}${unread}`;
  const unknown = Object.values(lookups.plugins ?? {}).map((one) => one.fault).filter(Boolean);
  byId("lookups").textContent = unknown.length ? `Jobs cannot be looked up: ${unknown.map(printable).join("; ")}.` : "";
  const failing = sources.filter((one) => one.error);
  if (failing.length) trouble(`${failing.length} of ${sources.length} sources cannot be read: ${printable(failing[0].name)}: ${printable(failing[0].error)}`);
  else if (!Object.values(who.all.totals).some(Boolean) && !sources.some((one) => one.jobs)) {
    trouble("No target has statistics of jobs. They may be switched off: see `lctl get_param jobid_var`, and set it with `lctl set_param -P jobid_var=SLURM_JOB_ID`.");
  }
}

function trouble(text) {
  byId("trouble").hidden = !text;
  byId("trouble").textContent = text;
}

async function begin() {
  byId("metric").append(...Object.entries(METRICS).map(([value, { name }]) => element("option", { value, textContent: name })));
  try {
    const { fields } = await ask("lustre/v1/fields");
    const first = ["job", "user", "account", "name", "host", "target", "kind", "operation"];
    const ordered = [...first.filter((one) => fields.includes(one)), ...fields.filter((one) => !first.includes(one))];
    byId("by").append(...ordered.map((value) => element("option", { value, textContent: value })));
  } catch (error) {
    trouble(error.message);
    setTimeout(begin, 5000);
    return;
  }
  byId("last").addEventListener("change", (e) => go({ last: Number(e.target.value), begin: null, end: null }));
  byId("now").addEventListener("click", () => go({ begin: null, end: null }));
  byId("metric").addEventListener("change", (e) => go({ metric: e.target.value }));
  byId("by").addEventListener("change", (e) => go({ by: e.target.value, top: 20 }));
  byId("more").addEventListener("click", () => go({ top: Math.min(asked.top * 5, 1000) }));
  byId("find").addEventListener("submit", (e) => {
    e.preventDefault();
    if (byId("find-job").value.trim()) openJob(byId("find-job").value.trim());
  });
  await refresh();
  follow();
}

/** Asks again whenever the service has read, as long as the page is looked at and shows now. */
function follow() {
  let next = setTimeout(again, PATIENCE * 1000);
  const events = new EventSource("lustre/v1/events");
  events.addEventListener("step", () => again());
  document.addEventListener("visibilitychange", () => again());
  function again() {
    clearTimeout(next);
    next = setTimeout(again, PATIENCE * 1000);
    if (asked.isLive && !document.hidden && !document.body.hasAttribute("aria-busy") && !heat.drag) refresh();
  }
}

window.rota = { heat, stack, whoTable, get asked() { return asked; }, go, refresh };
begin();
