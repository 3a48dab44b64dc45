// Which processors a job takes. A schedule only says how many: here each takes the lowest that are free when it starts,
// in several pieces where need be. The whole log is packed once, so that a job keeps its place when the window moves.

/** Processors that nobody holds, as ranges [low, high) from the lowest up; there is no upper end. */
class FreeRanges {
  constructor() {
    this.low = [0];
    this.high = [Infinity];
  }

  /** Takes the lowest `size` processors; gives their ranges as a flat list low, high, low, high, … */
  take(size) {
    const pieces = [];
    let used = 0;
    for (let missing = size; missing > 0;) {
      const got = Math.min(missing, this.high[used] - this.low[used]);
      pieces.push(this.low[used], this.low[used] + got);
      missing -= got;
      if (this.low[used] + got === this.high[used]) used++;
      else this.low[used] += got;
    }
    this.low.splice(0, used);
    this.high.splice(0, used);
    return pieces;
  }

  /** Gives one range back, joining it with its neighbours. */
  give(low, high) {
    const before = lastAtMost(this.low, low);
    const joinsBefore = before >= 0 && this.high[before] === low;
    const joinsAfter = this.low[before + 1] === high;
    if (joinsBefore && joinsAfter) {
      this.high[before] = this.high[before + 1];
      this.low.splice(before + 1, 1);
      this.high.splice(before + 1, 1);
    } else if (joinsBefore) this.high[before] = high;
    else if (joinsAfter) this.low[before + 1] = low;
    else {
      this.low.splice(before + 1, 0, low);
      this.high.splice(before + 1, 0, high);
    }
  }
}

/**
 * Packs a schedule. Gives, by job, the flat list of its ranges (undefined for one that took no time or never ran), and
 * the height of the highest. At one instant ends come before starts, and starts in workload order.
 */
function packJobs(jobs, last) {
  const endOf = (i) => (jobs.end[i] >= 0 ? jobs.end[i] : last);
  const drawn = [];
  for (let i = 0; i < jobs.count; i++) {
    if (jobs.start[i] >= 0 && endOf(i) > jobs.start[i] && jobs.procs[i] > 0) drawn.push(i);
  }
  const starts = Uint32Array.from(drawn).sort((a, b) => jobs.start[a] - jobs.start[b] || a - b);
  const ends = Uint32Array.from(drawn).sort((a, b) => endOf(a) - endOf(b) || a - b);
  const free = new FreeRanges();
  const pieces = new Array(jobs.count);
  let top = 0, gone = 0;
  for (const job of starts) {
    while (gone < ends.length && endOf(ends[gone]) <= jobs.start[job]) {
      const left = pieces[ends[gone++]];
      for (let k = 0; k < left.length; k += 2) free.give(left[k], left[k + 1]);
    }
    pieces[job] = free.take(jobs.procs[job]);
    top = Math.max(top, pieces[job].at(-1));
  }
  return { pieces, top };
}
