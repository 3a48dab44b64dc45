// What is asked: kept in the page's address, sent to the service.

const STEPS = 240;

/** What the page shows, as its address says. */
class Asked {
  constructor(search) {
    const given = new URLSearchParams(search);
    this.last = Number(given.get("last")) || 600;
    this.begin = Number(given.get("begin")) || null;
    this.end = this.begin && (Number(given.get("end")) || null);
    this.metric = given.get("metric") in METRICS ? given.get("metric") : "write_bytes";
    this.by = given.get("by") ?? "job";
    this.top = Math.min(Math.max(Number(given.get("top")) || 20, 1), 1000);
    this.where = given.getAll("where").filter((one) => one.includes("="));
  }

  /** The one job that the page is about, if it is about one. */
  get job() {
    const jobs = this.where.filter((one) => one.startsWith("job="));
    return jobs.length === 1 ? jobs[0].slice(4) : null;
  }

  get isLive() {
    return !this.end;
  }

  /** Its address. */
  get search() {
    const said = this.end ? [["begin", this.begin], ["end", this.end]] : [["last", this.last]];
    said.push(["metric", this.metric], ["by", this.by]);
    if (this.top !== 20) said.push(["top", this.top]);
    return `?${new URLSearchParams([...said, ...this.where.map((one) => ["where", one])])}`;
  }

  with(changes) {
    return Object.assign(new Asked(this.search), changes);
  }

  filtered(field, value) {
    const others = this.where.filter((one) => !one.startsWith(`${field}=`));
    return this.with({ where: [...others, `${field}=${value}`], top: 20 });
  }

  /** The address of a question. */
  question(path, more = {}) {
    const said = this.end ? { begin: this.begin, end: this.end } : { last: this.last };
    const words = new URLSearchParams(Object.entries({ ...said, ...more }));
    for (const one of this.where) words.append("where", one);
    return `lustre/v1/${path}?${words}`;
  }
}

/** Fetches JSON; fails with the service's own words. */
async function ask(address, signal) {
  let answer;
  try {
    answer = await fetch(address, { signal, headers: { Accept: "application/json" } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The service does not answer. The page goes on when it does.");
  }
  if (answer.status === 401) {
    location.reload();
    return new Promise(() => {});
  }
  const told = await answer.json().catch(() => ({ detail: `${answer.status} ${answer.statusText}` }));
  if (!answer.ok) throw new Error(told.detail ?? told.title);
  return told;
}
