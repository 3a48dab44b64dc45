// The page that puts waits as recorded beside those of the replay.

const data = JSON.parse(document.getElementById("data").textContent);
const { dated } = data.clock;
const charts = new TimeCharts({ t: data.series.t, dated });

ecdfChart("chart-wait", {
  x: data.ecdf.x,
  series: data.names.map((label, i) => ({ label, stroke: () => seriesColour(i), width: 1.5, dash: DASHES[i] })),
  lines: data.ecdf.y, marks: LOG_WAITS, say: shortDuration, label: "wait",
});

/** Both queues on the same axes; behind the second stands the first. */
const stepped = { paths: uPlot.paths.stepped({ align: 1 }), merge: mean };
const pale = () => cssColour("--behind");
const top = Math.max(...data.series.jobs.flat(), 1) * 1.05;
data.series.jobs.forEach((curve, i) => {
  const own = { ...stepped, label: data.names[i], stroke: () => seriesColour(i), width: 1.5 };
  const behind = { ...stepped, label: data.names[0], stroke: pale, fill: pale, width: 0.5 };
  charts.add(`chart-jobs-${i}`, {
    series: i ? [behind, own] : [{ ...own, fill: pale }],
    data: i ? [data.series.jobs[0], curve] : [curve],
    label: "jobs", say: sayCount, top: () => top, bare: i === 0, height: i ? ROW_HEIGHT + 36 : ROW_HEIGHT,
  });
});
charts.onZoom = () => { document.getElementById("bin-width").textContent = shortDuration(charts.binWidth); };
charts.onZoom();
window.rota = { data, charts };
