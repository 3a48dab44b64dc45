// What there is to say of a job at one moment: why it waits, for whom and until when; what it holds; what came of it.

/** Of the jobs that one waits for, those that are told one by one. */
const MOST_TOLD = 3;

class PlanFacts {
  constructor(picture) {
    Object.assign(this, { picture, jobs: picture.jobs, plan: picture.plan, dated: picture.dated });
  }

  /** Who holds what a planned job is to get, the last to end first: running jobs, and planned ones that come before it. */
  waitsFor({ plan, job, pieces }) {
    const { picture } = this;
    if (plan.start <= picture.moment.time) return [];
    const wanted = new Set(plan.nodes.filter((_, k) => k % 2 === 0));
    const meets = (other) => picture.oneRow || !wanted.size || other.some((row, k) => k % 3 === 0 && wanted.has(row));
    const running = picture.running.map((one) => ({ job: one.job, end: picture.limitOf(one.job), runs: true, pieces: one.pieces }));
    const planned = picture.planned.map((one) => ({ job: one.job, end: one.to, runs: false, pieces: one.pieces }));
    return [...running, ...planned]
      .filter((one) => one.job !== job && one.end <= plan.start && meets(one.pieces))
      .sort((a, b) => b.end - a.end || this.jobs.id[a.job] - this.jobs.id[b.job]);
  }

  /** All of it as pairs of name and text. */
  of(item) {
    const told = { planned: () => this.ofPlanned(item), runs: () => this.ofRunning(item) }[item.kind];
    return told ? told() : this.ofEnded(item);
  }

  ofPlanned(item) {
    const { plan, job } = item;
    const { time, waiting } = this.picture.moment;
    const limit = this.jobs.limit[job];
    return [
      ["Job", `${this.jobs.id[job]}, waits`],
      ...this.request(job, plan.cpus),
      ...(this.picture.oneRow ? [] : [["Nodes", this.names(plan.nodes, 2) || "left open"]]),
      ["Submitted", this.clock(this.jobs.submit[job])], ["Waited so far", duration(time - this.jobs.submit[job])],
      ["Place", `${count(plan.place)} of ${count(waiting)} in the queue`], ["Reason", plan.reason],
      ["Planned start", plan.start > time ? `${this.clock(plan.start)} (in ${duration(plan.start - time)})` : "at once"],
      ["Time limit", `${duration(limit)} (to ${this.clock(plan.start + limit)})`],
      ...this.waitingLines(item),
      ["In the end", this.cameOf(job, plan.start)],
    ];
  }

  /** The last to end of them, and in any case the last one that runs already: everything hangs on it. */
  waitingLines(item) {
    const all = this.waitsFor(item);
    const told = all.slice(0, MOST_TOLD);
    const running = all.find((one) => one.runs);
    if (running && !told.includes(running)) told[MOST_TOLD - 1] = running;
    const lines = told.map((one, i) => [
      i ? "" : "Waits for",
      `job ${this.jobs.id[one.job]} (${this.picture.owners.user.name(one.job)}), ${one.runs ? "runs" : "planned"} to ${this.clock(one.end)}`,
    ]);
    const more = all.length - told.length;
    return more > 0 ? [...lines, ["", `and ${count(more)} other${more === 1 ? "" : "s"}`]] : lines;
  }

  /** What the replay made of a plan. */
  cameOf(job, planned) {
    const start = this.jobs.start[job];
    if (start < 0) return "never started";
    const change = start - planned;
    const said = change ? `${duration(Math.abs(change))} ${change < 0 ? "earlier" : "later"}` : "as planned";
    return `started ${this.clock(start)} (${said})`;
  }

  ofRunning({ job, pieces }) {
    const end = this.jobs.end[job];
    const { time } = this.picture.moment;
    const held = this.picture.planned.filter((one) => this.waitsFor(one).some((other) => other.job === job)).length;
    return [
      ["Job", `${this.jobs.id[job]}, runs`],
      ...this.ran(job, pieces),
      ["Runs since", duration(time - this.jobs.start[job])],
      ["Time limit", `${duration(this.jobs.limit[job])} (to ${this.clock(this.picture.limitOf(job))})`],
      ...(held ? [["Holds up", `${count(held)} planned job${held === 1 ? "" : "s"}`]] : []),
      ["In the end", end < 0 ? "has not ended" : `${this.stateOf(job)} ${this.clock(end)}`],
    ];
  }

  ofEnded({ job, pieces }) {
    return [
      ["Job", `${this.jobs.id[job]}, ${this.stateOf(job)}`],
      ...this.ran(job, pieces),
      ["Ended", this.clock(this.jobs.end[job])], ["Time limit", duration(this.jobs.limit[job])],
    ];
  }

  ran(job, pieces) {
    return [
      ...this.request(job, this.jobs.procs[job]),
      ...(this.picture.oneRow ? [] : [["Nodes", this.names(pieces, 3)]]),
      ["Submitted", this.clock(this.jobs.submit[job])],
      ["Started", `${this.clock(this.jobs.start[job])} (waited ${duration(this.jobs.start[job] - this.jobs.submit[job])})`],
    ];
  }

  request(job, processors) {
    return [...ownerFacts(this.picture.owners, job), ["Processors", count(processors)]];
  }

  stateOf(job) {
    return this.jobs.states[this.jobs.state[job]];
  }

  clock(time) {
    return clockTime(time, this.dated);
  }

  /** Names of the nodes in a flat list in which each `step`th number is a place. */
  names(flat, step) {
    const places = [...new Set(flat.filter((_, k) => k % step === 0))];
    return places.length ? `${nodeNames(this.plan.nodes, places)}${places.length > 1 ? ` (${places.length})` : ""}` : "";
  }

  /** Nodes that are closed, and since when it is known. */
  ofClosed({ what, begin, end, nodes }) {
    return [
      ["Nodes", this.picture.oneRow ? "all" : nodeNames(this.plan.nodes, nodes)], ["State", what],
      ["Until", end === Infinity ? "not known" : this.clock(end)],
    ];
  }
}
