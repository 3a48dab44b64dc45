// Times, durations and numbers as people read them; wording.py says the same for what is in the page already.

const MINUTE = 60, HOUR = 3600, DAY = 86400;
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

const two = (n) => String(n).padStart(2, "0");

/** Hours, minutes and seconds of the day, in UTC. */
function timeOfDay(seconds, withSeconds = true) {
  const rest = ((Math.floor(seconds) % DAY) + DAY) % DAY;
  const text = `${two(Math.floor(rest / HOUR))}:${two(Math.floor(rest / MINUTE) % 60)}`;
  return withSeconds ? `${text}:${two(rest % 60)}` : text;
}

/** The day of a Unix time: a date, or for a log without dates its number from 0. */
function dayOf(seconds, dated) {
  if (!dated) return `day ${Math.floor(seconds / DAY)}`;
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}

const clockTime = (seconds, dated) => `${dayOf(seconds, dated)} ${timeOfDay(seconds)}`;

/** Slurm's form: 1-02:03:04. */
function duration(seconds) {
  const whole = Math.round(seconds);
  const days = Math.floor(whole / DAY);
  return (days ? `${days}-` : "") + timeOfDay(whole);
}

/** A duration on an axis: its greatest unit only. */
function shortDuration(seconds) {
  for (const [unit, name] of [[DAY, "d"], [HOUR, "h"], [MINUTE, "min"]]) {
    if (seconds >= unit) return `${+(seconds / unit).toFixed(1)} ${name}`;
  }
  return `${seconds} s`;
}

const count = (n) => Math.round(n).toLocaleString("en");
const decimal = (n, digits = 2) =>
  n.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
const percent = (share, digits = 1) => `${(share * 100).toFixed(digits)} %`;
