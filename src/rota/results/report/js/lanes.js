// Who has which processors of a node. What is recorded is how many: here each job takes the lowest that are free when it
// starts, in several pieces where need be. A piece is a row, and the processors from low to high on it.

/** The processors of one row. Those who ask must ask in the order of time. */
class Lanes {
  constructor(size) {
    this.size = size;
    this.held = [];
  }

  /** Holds processors from low to high until a time. */
  hold(low, high, until) {
    this.held.push({ low, high, until });
  }

  /** Takes the lowest `count` processors that are free; gives pieces [low, high], fewer where there is no room. */
  take(count, now, until) {
    this.held = this.held.filter((one) => one.until > now).sort((a, b) => a.low - b.low);
    const pieces = [];
    let missing = count, low = 0;
    for (const { low: taken, high } of [...this.held, { low: this.size, high: this.size }]) {
      const got = Math.min(taken - low, missing);
      if (got > 0) {
        pieces.push([low, low + got]);
        missing -= got;
      }
      low = Math.max(low, high);
      if (!missing) break;
    }
    for (const [from, to] of pieces) this.hold(from, to, until);
    return pieces;
  }
}

/** Pieces of all jobs whose nodes are known, by job; undefined for the others. `last`: when those that did not end leave. */
function placeJobs(jobs, { nodes, given }, last) {
  const endOf = (i) => (jobs.end[i] >= 0 ? jobs.end[i] : last);
  const drawn = [];
  for (let i = 0; i < jobs.count; i++) {
    if (given[i].length && jobs.start[i] >= 0 && endOf(i) > jobs.start[i]) drawn.push(i);
  }
  const rows = nodes.map(([, cpus]) => new Lanes(cpus));
  const pieces = new Array(jobs.count);
  for (const i of drawn.sort((a, b) => jobs.start[a] - jobs.start[b] || a - b)) {
    pieces[i] = takeNodes(rows, given[i], jobs.start[i], endOf(i));
  }
  return pieces;
}

/** Takes processors of several rows: a flat list row, low, high, row, low, high, … */
function takeNodes(rows, given, now, until) {
  const pieces = [];
  for (let k = 0; k < given.length; k += 2) {
    for (const [low, high] of rows[given[k]].take(given[k + 1], now, until)) pieces.push(given[k], low, high);
  }
  return pieces;
}

/** The same for one row of interchangeable processors, from what packing.js has packed. */
function onOneRow(packed) {
  return packed.map((ranges) => {
    const pieces = [];
    for (let k = 0; k < ranges.length; k += 2) pieces.push(0, ranges[k], ranges[k + 1]);
    return pieces;
  });
}

/**
 * Pieces of the jobs of a plan: in what is left when those that run keep theirs up to their time limit. Jobs whose nodes
 * are open get none.
 */
function placePlanned(plan, sizes, ran, { limitOf, endOf, anywhere }) {
  const rows = sizes.map((size) => new Lanes(size));
  for (const { job, pieces } of ran) {
    for (let k = 0; k < pieces.length; k += 3) rows[pieces[k]].hold(pieces[k + 1], pieces[k + 2], limitOf(job));
  }
  const placed = new Map();
  for (const one of [...plan.planned].sort((a, b) => a.start - b.start || a.place - b.place)) {
    const given = anywhere ? [0, one.cpus] : one.nodes;
    placed.set(one, takeNodes(rows, given, one.start, endOf(one)));
  }
  return placed;
}
