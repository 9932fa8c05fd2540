// Draws the charts of a report from the data in the page. Colours come from the style sheet, so both
// themes and every chart agree; a change of theme draws again.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const narrow = () => window.innerWidth < 700;
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

function bands() {
  const shapes = [];
  const labels = [];
  for (const band of data.bands) {
    const fault = band.kind === "fault";
    if (!fault && band.label === "fault") continue;
    shapes.push({
      type: "rect", xref: "x", yref: "paper", x0: band.begin, x1: band.end, y0: 0, y1: 1, layer: "below",
      line: { width: 0 }, fillcolor: colour(fault ? "band-fault" : `band-${band.label}`),
    });
    if (narrow() && !fault) continue;
    labels.push({
      x: (band.begin + band.end) / 2, y: 1, xref: "x", yref: "paper", yanchor: "bottom", showarrow: false,
      text: fault ? `<b>${band.label}</b>` : band.label,
      font: { size: 11, color: colour(fault ? "bad" : "muted") },
    });
  }
  return { shapes, annotations: labels };
}

function layout(yTitle, more = {}) {
  const axis = { gridcolor: colour("grid"), zerolinecolor: colour("grid"), linecolor: colour("grid"), automargin: true };
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, sans-serif", size: 13, color: colour("text") },
    margin: { l: narrow() ? 44 : 64, r: 12, t: narrow() ? 24 : 46, b: 40 },
    height: narrow() ? 300 : 342,
    hovermode: "x unified",
    hoverlabel: { bgcolor: colour("card"), bordercolor: colour("grid"), font: { color: colour("text") } },
    legend: { orientation: "h", y: -0.22, x: 0, font: { size: 12 } },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("muted"), activecolor: colour("link") },
    xaxis: { ...axis, title: { text: narrow() ? "" : "seconds of the run" }, range: [0, data.end], ...more.xaxis },
    yaxis: { ...axis, title: { text: narrow() ? "" : yTitle }, rangemode: "tozero", ...more.yaxis },
    ...bands(),
    ...more.layout,
  };
}

const config = () => ({
  displaylogo: false, responsive: true, displayModeBar: narrow() ? false : "hover",
  modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"],
});

function draw(id, traces, its) {
  const element = document.getElementById(id);
  if (element === null) return;
  element.setAttribute("data-drawn", "yes");
  Plotly.react(element, traces, its, config());
}

function line(name, x, y, shade, more = {}) {
  return {
    name, x, y, type: "scatter", mode: "lines", line: { color: colour(shade), width: 2, ...more.line },
    connectgaps: false, ...more.trace,
  };
}

function stacked(name, x, y, shade, text) {
  return {
    name, x, y, type: "scatter", mode: "lines", stackgroup: "ops", line: { width: 0.5, color: colour(shade) },
    fillcolor: colour(shade), customdata: text,
    hovertemplate: text ? "%{y} /s %{customdata}" : "%{y} /s",
  };
}

function drawRate(group) {
  const why = group.why.map((text) => (text ? `(${text})` : ""));
  draw("rate", [
    stacked("ok", group.t, group.ok, "ok"),
    stacked(narrow() ? "shed" : "shed (503 on purpose)", group.t, group.shed, "shed"),
    stacked("failed", group.t, group.failed, "failed", why),
    stacked("unknown", group.t, group.unknown, "unknown"),
  ], layout("ops per second"));
}

function drawLatency(group) {
  const dots = { trace: { mode: "markers", marker: { size: 5, symbol: "x", color: colour("failed") } } };
  draw("latency", [
    line("p50", group.t, group.p50, "p50"),
    line("p90", group.t, group.p90, "p90"),
    line("p99", group.t, group.p99, "p99"),
    line("max", group.t, group.worst, "muted", { line: { width: 1, dash: "dot" } }),
    line("failed, p50", group.t, group.failed_p50, "failed", dots),
  ], layout("milliseconds (log)", {
    yaxis: { type: "log", rangemode: "normal", hoverformat: ".1f", tickformat: "~g", dtick: "D2" },
  }));
}

function drawStaleness() {
  const shades = { push: "p50", celebrity: "p99", like_count: "shed", follow_count: "unknown" };
  const traces = data.staleness.map((path) => ({
    name: path.path.replace("_", " "), x: path.t, y: path.seconds, type: "scatter", mode: "markers",
    marker: {
      color: colour(shades[path.path]), size: path.breach.map((breach) => (breach ? 11 : 6)),
      symbol: path.breach.map((breach) => (breach ? "x" : "circle")),
    },
    text: path.breach.map((breach) => (breach ? "not seen by its deadline" : "seen")),
    hovertemplate: "%{y:.2f} s, %{text}",
  }));
  draw("staleness", traces, layout("seconds until seen", { layout: { hovermode: "closest" } }));
}

function shadeOf(state, seen) {
  const known = { running: "ok", ready: "ok", paused: "shed", down: "failed", gone: "failed", none: "failed" };
  if (state in known) return known[state];
  if (!seen.includes(state)) seen.push(state);
  return ["p50", "p99", "p90", "unknown"][seen.indexOf(state) % 4];
}

function drawLanes() {
  const seen = [];
  const traces = [];
  for (const lane of data.lanes) {
    for (const span of lane.spans) {
      const name = lane.member === "primary" && span.state === "none" ? "no primary" : span.state;
      traces.push({
        type: "bar", orientation: "h", y: [lane.member], x: [span.end - span.begin], base: [span.begin], width: 0.6,
        marker: { color: colour(shadeOf(span.state, seen)), line: { width: 1, color: colour("card") } },
        text: [name], textposition: "inside", insidetextanchor: "middle", showlegend: false,
        textfont: { color: colour("on-mark") },
        hovertemplate: `${name}, ${span.begin.toFixed(1)} to ${span.end.toFixed(1)} s<extra>${lane.member}</extra>`,
      });
    }
  }
  draw("lanes", traces, layout("", {
    yaxis: { autorange: "reversed", type: "category", title: { text: "" } },
    layout: { barmode: "overlay", hovermode: "closest", height: (narrow() ? 76 : 98) + 34 * data.lanes.length },
  }));
}

function drawGenerator() {
  const its = data.generator;
  draw("generator", [
    line("planned", its.t, its.planned, "muted", { line: { dash: "dot" } }),
    line("sent", its.t, its.sent, "p50"),
    line("CPU of the busiest worker (cores)", its.t, its.cpu, "shed", { trace: { yaxis: "y2" } }),
  ], layout("ops per second", {
    layout: {
      yaxis2: {
        overlaying: "y", side: "right", range: [0, 1.25], dtick: 0.25, showgrid: false, automargin: true, color: colour("muted"),
      },
    },
  }));
}

function drawGauges() {
  const shades = ["p50", "p99", "shed", "unknown", "ok", "p90", "failed"];
  for (const gauge of data.gauges) {
    const lines = gauge.lines.map((its, i) => line(its.member, its.t, its.value, shades[i % shades.length]));
    draw(`gauge-${gauge.name}`, lines, layout(gauge.unit));
  }
}

function drawAll() {
  const select = document.getElementById("group");
  const group = data.groups.find((each) => each.group === select?.value) ?? data.groups[0];
  if (group) {
    drawRate(group);
    drawLatency(group);
  }
  if (data.staleness.length) drawStaleness();
  if (data.lanes.length) drawLanes();
  if (data.generator.t.length) drawGenerator();
  drawGauges();
}

function chooseTheme(theme) {
  document.documentElement.dataset.theme = theme;
  drawAll();
}

const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
const asked = new URLSearchParams(window.location.hash.slice(1)).get("theme");
document.getElementById("group")?.addEventListener("change", drawAll);
document.getElementById("theme").addEventListener("click", () => {
  chooseTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
});
document.getElementById("copy")?.addEventListener("click", (event) => {
  navigator.clipboard.writeText(document.getElementById("command").textContent);
  event.target.textContent = "copied";
});
prefersDark.addEventListener("change", () => chooseTheme(prefersDark.matches ? "dark" : "light"));
chooseTheme(asked ?? (prefersDark.matches ? "dark" : "light"));
