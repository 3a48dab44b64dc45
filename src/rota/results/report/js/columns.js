// Unpacks what columns.py has packed: runs of zigzag variable-length integers, one after the other.

/** Gives a function that reads the next numbers, so many a call; arithmetic instead of shifts, for these cut at 32 bits. */
function numberReader(base64) {
  const bytes = atob(base64);
  let at = 0;
  return (count) => {
    const out = new Float64Array(count);
    for (let i = 0; i < count; i++) {
      let value = 0, scale = 1, byte;
      do {
        byte = bytes.charCodeAt(at++);
        value += (byte & 0x7f) * scale;
        scale *= 128;
      } while (byte & 0x80);
      out[i] = value;
    }
    return out;
  };
}

const unzigzag = (n) => (n % 2 ? -(n + 1) / 2 : n / 2);

function running(values) {
  let sum = 0;
  return values.map((n) => (sum += unzigzag(n)));
}

/** The schedule as columns: times in Unix seconds, start and end -1 where unknown. */
function unpackSchedule({ count: size, columns, states, data }) {
  const read = numberReader(data);
  const raw = Object.fromEntries(columns.map((name) => [name, read(size)]));
  const submit = running(raw.submit);
  const start = submit.map((t, i) => (raw.begun[i] ? t + unzigzag(raw.begun[i] - 1) : -1));
  const end = start.map((t, i) => (raw.ended[i] ? (t >= 0 ? t : submit[i]) + unzigzag(raw.ended[i] - 1) : -1));
  return {
    count: size, states, submit, start, end,
    id: running(raw.id), procs: raw.procs.map(unzigzag), user: raw.user.map(unzigzag), limit: raw.limit.map(unzigzag), state: raw.state,
  };
}

/** Wait, run and bounded slowdown of a job in seconds; NaN for what is not known. */
function served(jobs, i) {
  const wait = jobs.start[i] >= 0 ? jobs.start[i] - jobs.submit[i] : NaN;
  const run = jobs.start[i] >= 0 && jobs.end[i] >= 0 ? jobs.end[i] - jobs.start[i] : NaN;
  return { wait, run, slowdown: Math.max(1, (wait + run) / Math.max(run, 10)) };
}
