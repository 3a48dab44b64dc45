// Exact step functions over time, for zooming in further than the prepared bins go. steps.py says what they are.

/** Sums up intervals [begin, end) with weights: `values[i]` holds from `times[i]` on. */
function stepFunction(begin, end, weight) {
  const size = begin.length;
  const order = new Uint32Array(2 * size).map((_, i) => i);
  const time = (e) => (e < size ? begin[e] : end[e - size]);
  order.sort((a, b) => time(a) - time(b));
  const times = [], values = [];
  let value = 0;
  for (const e of order) {
    value += e < size ? weight[e] : -weight[e - size];
    if (times.at(-1) === time(e)) values[values.length - 1] = value;
    else { times.push(time(e)); values.push(value); }
  }
  return { times, values };
}

/** Peak, and mean over time, in each bin; the last bin's are repeated to close the line. */
function rebin({ times, values }, edges) {
  const means = [], peaks = [];
  let i = lastAtMost(times, edges[0]);
  for (let bin = 0; bin + 1 < edges.length; bin++) {
    const to = edges[bin + 1];
    let now = edges[bin], sum = 0, most = 0;
    while (now < to) {
      const value = i < 0 ? 0 : values[i];
      const next = Math.min(times[i + 1] ?? Infinity, to);
      sum += value * (next - now);
      most = Math.max(most, value);
      now = next;
      if (times[i + 1] === now) i++;
    }
    means.push(sum / (to - edges[bin]));
    peaks.push(most);
  }
  return [[...peaks, peaks.at(-1)], [...means, means.at(-1)]];
}

/** Processors in use, jobs waiting and processors waiting. `last`: when those still running or waiting leave. */
function scheduleSteps(jobs, last) {
  const all = Array.from({ length: jobs.count }, (_, i) => i);
  const begun = all.filter((i) => jobs.start[i] >= 0);
  const ended = (i) => (jobs.end[i] >= 0 ? jobs.end[i] : last);
  const left = all.map((i) => (jobs.start[i] >= 0 ? jobs.start[i] : ended(i)));
  return {
    busy: stepFunction(begun.map((i) => jobs.start[i]), begun.map(ended), begun.map((i) => jobs.procs[i])),
    jobs: stepFunction(jobs.submit, left, all.map(() => 1)),
    procs: stepFunction(jobs.submit, left, jobs.procs),
  };
}
