// Where an axis of time has its marks, and what they say. Pure functions: charts and schedule share them.

const TICK_STEPS = [
  1, 5, 15, 30, MINUTE, 2 * MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE,
  HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 4 * DAY, 7 * DAY, 14 * DAY,
];
const MONTH_STEPS = [1, 2, 3, 6, 12, 24, 60];

/** At most `most` times between two, at round places of the clock or the calendar, in Unix seconds. */
function timeTicks(min, max, most, dated) {
  const span = Math.max(max - min, 1);
  const step = TICK_STEPS.find((s) => span / s <= most);
  if (step) return multiples(min, max, step);
  if (dated) return monthTicks(min, max, span, most);
  return multiples(min, max, Math.ceil(span / most / (10 * DAY)) * 10 * DAY);
}

function multiples(min, max, step) {
  const out = [];
  for (let t = Math.ceil(min / step) * step; t <= max; t += step) out.push(t);
  return out;
}

function monthTicks(min, max, span, most) {
  const step = MONTH_STEPS.find((s) => span / (s * 30 * DAY) <= most) ?? MONTH_STEPS.at(-1);
  const first = new Date(min * 1000);
  const out = [];
  for (let month = 0; ; month += step) {
    const aligned = Math.floor(first.getUTCMonth() / step) * step + month;
    const t = Date.UTC(first.getUTCFullYear(), aligned, 1) / 1000;
    if (t > max) return out;
    if (t >= min) out.push(t);
  }
}

/** What the marks say, in two lines; the second line only where it differs from the mark before. */
function tickLabels(ticks, dated) {
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : DAY;
  let previous = null;
  return ticks.map((t) => {
    const [upper, lower] = tickText(t, step, dated);
    const text = lower && lower !== previous ? `${upper}\n${lower}` : upper;
    previous = lower;
    return text;
  });
}

function tickText(t, step, dated) {
  if (!dated) return step < DAY ? [timeOfDay(t, step < MINUTE), dayOf(t, false)] : [dayOf(t, false), ""];
  const date = new Date(t * 1000);
  const month = MONTHS[date.getUTCMonth()];
  const year = String(date.getUTCFullYear());
  if (step < DAY) return [timeOfDay(t, step < MINUTE), `${date.getUTCDate()} ${month} ${year}`];
  return step < 28 * DAY ? [`${date.getUTCDate()} ${month}`, year] : [month, year];
}

/** The last place whose value is at most `limit`, -1 if there is none; `sorted` rises. */
function lastAtMost(sorted, limit) {
  let low = -1, high = sorted.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= limit) low = middle;
    else high = middle;
  }
  return low;
}
