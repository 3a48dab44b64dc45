// Rates and amounts as people read them.

const PREFIXES = ["", "k", "M", "G", "T", "P", "E"];

/** Three figures and a prefix: 1.23 G. */
function prefixed(value, unit, gap = " ") {
  let power = 0;
  while (Math.abs(value) >= 999.5 && power < PREFIXES.length - 1) {
    value /= 1000;
    power++;
  }
  const digits = value >= 99.95 || value === 0 || (power === 0 && Number.isInteger(value)) ? 0 : value >= 9.995 ? 1 : 2;
  return `${value.toFixed(digits)}${gap}${PREFIXES[power]}${unit}`;
}

const METRICS = {
  read_bytes: { name: "Read", unit: "B" },
  write_bytes: { name: "Written", unit: "B" },
  read_iops: { name: "Reads", unit: "" },
  write_iops: { name: "Writes", unit: "" },
  metadata_iops: { name: "Metadata ops", unit: "" },
};

const rateText = (metric, value) => (METRICS[metric].unit ? `${prefixed(value, "B")}/s` : `${prefixed(value, "", "\u202f")}/s`);
const amountText = (metric, value) => (METRICS[metric].unit ? prefixed(value, "B") : prefixed(value, "", "\u202f"));
