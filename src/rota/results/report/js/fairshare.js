// How accounts fared against their shares: used share and fair-share of a few accounts over time.

/** A fair-share in few places: it goes over many powers of ten. */
const sayFairshare = (v) => (v === null ? "∞" : String(+v.toPrecision(3)));

/** One chart, drawn anew when the reader chooses another measure or other accounts. */
class ShareChart {
  /** @param {Object} shares what shares.py prepares; `accounts` are the owners; `options` are those of `TimeCharts`. */
  constructor(shares, accounts, options) {
    Object.assign(this, { shares, accounts });
    this.level = shares.level;
    this.measure = "used";
    this.charts = new TimeCharts({ ...options, t: shares.t });
    byId("shares-measure").addEventListener("change", (e) => { this.measure = e.target.value; this.draw(); });
    byId("shares-level")?.addEventListener("change", (e) => { this.level = Number(e.target.value); this.draw(); });
    this.draw();
  }

  /** What is drawn now: accounts, and the others where they have a value. */
  get lines() {
    const { accounts, others } = this.shares.levels[this.level];
    const lines = accounts.map((place) => ({ ...this.shares.accounts[place], ...this.accounts.line(this.shares.accounts[place].name) }));
    if (others && this.measure === "used") {
      const name = others.count ? `others (${count(others.count)})` : "others";
      lines.push({ ...others, name, stroke: () => cssColour("--rest"), dash: DASHES[2] });
    }
    return lines;
  }

  draw() {
    const { lines } = this;
    this.charts.remove("chart-shares");
    if (this.measure === "used") this.drawUsed(lines);
    else this.drawFairshare(lines);
  }

  drawUsed(lines) {
    byId("shares-caption").textContent = "Used share of the cluster";
    const greatest = Math.max(...lines.flatMap(({ used, target }) => [...used, target]), 0.01);
    this.charts.add("chart-shares", {
      series: lines.map(({ name, target, stroke, dash }) => ({
        label: `${name}, target ${percent(target)}`, stroke, width: 1.5, dash, merge: mean, value: (_, v) => (v == null ? "" : percent(v)),
      })),
      data: lines.map(({ used }) => used),
      label: "share of the cluster",
      say: (v) => percent(v, greatest < 0.05 ? 1 : 0),
      top: greatest * 1.08,
      height: SHARES_HEIGHT,
      onDraw: (u) => lines.forEach(({ target, stroke }, i) => { if (u.series[i + 1].show) levelLine(u, target, stroke()); }),
    });
  }

  drawFairshare(lines) {
    const { fairTree, limits } = this.shares;
    const [low, high] = limits;
    const clip = (v) => (v === null ? high : Math.min(Math.max(v, low), high));
    byId("shares-caption").textContent = fairTree
      ? `Level fair-share, logarithmic, drawn from ${low} to ${high}; ∞ (nothing used yet) is at the top edge` : "Fair-share factor";
    this.charts.add("chart-shares", {
      series: lines.map(({ name, stroke, dash, fairshare }) => ({
        label: name, stroke, width: 1.5, dash, merge: mean, value: (_, v, __, i) => (v == null ? "" : sayFairshare(fairshare[i])),
      })),
      data: lines.map(({ fairshare }) => fairshare.map(clip)),
      label: fairTree ? "level fair-share" : "factor",
      say: String,
      height: SHARES_HEIGHT,
      onDraw: (u) => { if (fairTree) levelLine(u, 1, cssColour("--ink")); },
      ...(fairTree ? { decades: limits } : { top: 1, say: (v) => decimal(v, 1) }),
    });
  }
}

/** A thin broken line across a chart. */
function levelLine(u, value, colour) {
  const { left, top, width, height } = u.bbox;
  const y = Math.round(u.valToPos(value, "y", true)) + 0.5;
  if (y < top || y > top + height) return;
  u.ctx.save();
  u.ctx.strokeStyle = colour;
  u.ctx.globalAlpha = 0.6;
  u.ctx.lineWidth = devicePixelRatio;
  u.ctx.setLineDash([6, 5].map((v) => v * devicePixelRatio));
  u.ctx.beginPath();
  u.ctx.moveTo(left, y);
  u.ctx.lineTo(left + width, y);
  u.ctx.stroke();
  u.ctx.restore();
}
