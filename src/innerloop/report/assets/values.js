// The data of the page, how values are coloured, and what tips say.

const data = JSON.parse(document.getElementById("data").textContent);
const { parameters, trials, model } = data;
const [PENDING, COMPLETE, FAILED, EXPIRED, CANCELLED, FORGOTTEN, PRUNED] = [0, 1, 2, 3, 4, 5, 6];
const STATE_NAMES = [
  "running",
  "complete",
  "failed",
  "given up",
  "cancelled",
  "forgotten",
  "pruned",
  "waiting",
  "outside the space",
];
const OUTSIDE = STATE_NAMES.length - 1;
// Those that are shown, by their ids: of very many trials, some.
const everyTrial = data.ids ?? trials.state.map((_, id) => id);

// A property of the trials that are shown, by id; it has gaps where others are left out.
function byId(column) {
  if (data.ids === null) return column;
  const found = [];
  data.ids.forEach((id, k) => {
    found[id] = column[k];
  });
  return found;
}

for (const [name, column] of Object.entries(trials)) {
  trials[name] = name === "params" ? column.map(byId) : byId(column);
}
if (data.outcomes) {
  data.within = byId(data.within);
  for (const each of data.outcomes) {
    for (const name of ["value", "mean", "sd"]) each[name] = byId(each[name]);
  }
}

const inState = (...states) => everyTrial.filter(id => states.includes(trials.state[id]));
const complete = inState(COMPLETE);
const pending = inState(PENDING);
const failed = inState(FAILED, EXPIRED);
const pruned = inState(PRUNED);
// Those that teach nothing.
const cancelled = inState(CANCELLED, FORGOTTEN);

const lastTold = trials.told.reduce((last, time) => Math.max(last, time ?? 0), 0);

// Values of trials that have a place in the figures.
const inside = values =>
  values.map((value, id) => (trials.state[id] === OUTSIDE ? null : (value ?? null)));
const only = measureOf(inside(trials.value), data.minimize);
const { better, bestValue, canBeLogarithmic, prefersLogarithm, worstShown, goodness } = only;
const { text: valueText, scale: valueScale, worstOn } = only;

// What figures show of values: of one objective, or of one of several outcomes.
const theView = { ...(model ?? {}), ...only, values: trials.value, title: "value" };

// How long a trial took, if both ends are known; one that was cut off has none.
function lasted(id) {
  if ([CANCELLED, FORGOTTEN].includes(trials.state[id])) return null;
  if (trials.asked[id] === null || trials.told[id] === null) return null;
  return Math.max(trials.told[id] - trials.asked[id], 0);
}

// From what recedes into the page to what stands out from it.
const RAMPS = {
  light: {
    value: ["#e4e9ef", "#aecbe2", "#5f9ecb", "#1f6bab", "#0a3766"],
    gain: ["#eff2f1", "#c0e0d6", "#6dbca6", "#1c8b70", "#094d3d"],
  },
  dark: {
    value: ["#26313d", "#2b5573", "#3a84b6", "#74b8e2", "#c9e8fb"],
    gain: ["#222c2e", "#1e4c45", "#298170", "#50bfa3", "#bff3e3"],
  },
};

function ramp(name) {
  const stops = RAMPS[document.documentElement.dataset.theme][name].map(hex =>
    [1, 3, 5].map(k => parseInt(hex.slice(k, k + 2), 16)),
  );
  return share => {
    const place = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
    const k = Math.min(Math.floor(place), stops.length - 2);
    return stops[k].map((from, c) => Math.round(from + (place - k) * (stops[k + 1][c] - from)));
  };
}

// A bar that says which colour is which number.
function colourBar(name, left, right) {
  const colour = ramp(name);
  const stops = [0, 0.25, 0.5, 0.75, 1].map(share => `rgb(${colour(share)})`);
  const bar = html("span", { class: "bar" });
  bar.style.background = `linear-gradient(to right, ${stops})`;
  return html("div", { class: "colours" }, left, bar, right);
}

// The numbers of all trials, with some room beyond the ends.
function trialScale() {
  const last = everyTrial[everyTrial.length - 1];
  const room = Math.max(0.02 * last, 0.5);
  return linear(-room, last + room, { whole: true });
}

const MOST_IN_TIP = 8;
// The model may be of some of the parameters only.
const byImportance = [...new Set([...(model?.order ?? []), ...parameters.keys()])];

function paramLine(k, value) {
  const { name } = parameters[k];
  return `${shorten(name, 160)}: ${shorten(parameterText(parameters[k], value), 200)}`;
}

function paramLines(valueOf) {
  const had = byImportance.filter(k => valueOf(k) !== null);
  const lines = had.slice(0, MOST_IN_TIP).map(k => paramLine(k, valueOf(k)));
  const more = had.length - lines.length;
  return more > 0 ? [...lines, `and ${more} more`] : lines;
}

function trialLines(id) {
  if (data.outcomes) return outcomeLines(id);
  const value =
    trials.value[id] === null ? STATE_NAMES[trials.state[id]] : valueText(trials.value[id], 2);
  return [`Trial ${id}: ${value}`, ...paramLines(k => trials.params[k][id])];
}

function nextLines(k) {
  if (data.outcomes) return nextOutcomeLines(k);
  const { params, mean } = data.next[k];
  return [
    `Next point ${k + 1}${mean === undefined ? "" : `: about ${valueText(mean)}`}`,
    ...paramLines(j => params[j]),
  ];
}

// How near trials are to the slice through the best point along some parameters, from 0 to 1,
// as trials go: by the distance that half of them are within.
function nearness(along, offsets) {
  const others = parameters.map((_, k) => k).filter(k => !along.includes(k) && offsets[k].length);
  const squares = model.shown.map((_, row) =>
    others.reduce((sum, k) => sum + offsets[k][row], 0),
  );
  const usual = [...squares].sort((a, b) => a - b)[Math.floor(squares.length / 2)];
  return squares.map(square => (square > 0 ? Math.exp(-square / usual) : 1));
}

// Dots in a few shades, the nearer the stronger. points: [x, y, trial, nearness]
function shadedDots(points, attributes) {
  const shades = points.length > 200 ? [0.1, 0.22, 0.45, 0.85] : [0.18, 0.36, 0.6, 0.9];
  return shades.map((opacity, k) => {
    const own = points.filter(point => Math.min(Math.floor(point[3] * 4), 3) === k);
    return dots(own, { "stroke-opacity": opacity, ...attributes });
  });
}
