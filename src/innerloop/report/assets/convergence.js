// Values of all trials with the best so far, by trial or by time.

// How far values are from the best one; its own place is at the end of the axis.
const gapOf = value => 2 * Math.abs(value / 2 - bestValue / 2);
const smallestGap = complete.reduce(
  (least, id) => Math.min(least, gapOf(trials.value[id]) || Infinity),
  Infinity,
);

const valueTitle = data.outcomes ? data.outcomes[0].name : "value";
// Whether a complete trial is beyond some limit.
const isBeyondLimits = id => data.outcomes !== undefined && data.within[id] === false;
// Who has chosen a trial is known of innerloop's own alone.
const wasExpected = id =>
  data.foreign || (data.outcomes ? data.outcomes[0].mean : trials.mean)[id] !== null;

function drawConvergence(host) {
  const controls = html("div", { class: "controls" });
  const drawing = html("div", { class: "figure" });
  const state = { by: "trial", scale: prefersLogarithm ? "log" : "linear" };
  const redraw = () => drawing.replaceChildren(...convergence(drawing.clientWidth, state));
  const control = (label, key, options) => {
    if (options.length < 2) return;
    const change = chosen => {
      state[key] = chosen;
      redraw();
    };
    controls.append(choice(label, options, state[key], change));
  };
  const scales = [["linear", "Linear"]];
  if (canBeLogarithmic) scales.push(["log", "Logarithmic"]);
  if (smallestGap < Infinity && !data.outcomes) scales.push(["gap", "Distance to best"]);
  const axes = [["trial", "By trial"]];
  if (lastTold > 0) axes.push(["time", "By time"]);
  control("Horizontal axis", "by", axes);
  control("Scale of values", "scale", scales);
  host.append(controls, drawing);
  figure(drawing, redraw);
}

// Where trials are from left to right: `of` gives null for those that have no place.
function convergenceAcross(by) {
  if (by === "trial") {
    const end = everyTrial[everyTrial.length - 1];
    return { of: id => id, end, scale: trialScale(), order: complete, title: "trial" };
  }
  const [size, unit] = spanUnit(lastTold);
  const of = id => (trials.told[id] === null ? null : trials.told[id] / size);
  const order = complete.filter(id => trials.told[id] !== null);
  order.sort((a, b) => trials.told[a] - trials.told[b]);
  const end = lastTold / size;
  const title = `time since the start (${unit})`;
  return { of, end, scale: linear(...padded(0, end, 0.02)), order, title };
}

// What is shown of values from below to above.
function convergenceUpwards(scale) {
  if (!complete.length) return { of: value => value, scale: bands([""]), title: null };
  if (scale !== "gap") {
    return { of: value => value, scale: valueScale(scale === "log"), title: valueTitle };
  }
  const largest = complete.reduce((most, id) => Math.max(most, gapOf(trials.value[id])), 0);
  const gaps = paddedLogarithmic(smallestGap / 2, Math.min(largest, Number.MAX_VALUE));
  const of = value => Math.min(gapOf(value) || gaps.low, Number.MAX_VALUE);
  return { of, scale: gaps, title: "distance from the best value found" };
}

function convergence(width, { by, scale }) {
  const across = convergenceAcross(by);
  const upwards = convergenceUpwards(scale);
  const running = by === "trial" ? pending : [];
  const rows = [
    [failed, "cross", "failed"],
    [pruned, "tick", "pruned"],
    [cancelled, "cross", "cancelled"],
    [running, "ring", "running"],
  ].filter(([ids]) => ids.length);
  const drawn = plot(width, {
    height: complete.length
      ? Math.round(Math.min(440, Math.max(250, 0.4 * width)))
      : 64 + 18 * rows.length,
    x: across.scale,
    y: upwards.scale,
    xTitle: across.title,
    yTitle: upwards.title,
    strips: rows.map(([, , name]) => name),
    label: `Values of ${complete.length} trials; ${failed.length} failed`,
  });
  const { root, area, box } = drawn;
  const left = id => drawn.px(across.of(id));
  const top = value => drawn.py(upwards.of(value));

  const groups = { first: [], model: [], infeasible: [], beyond: [] };
  for (const id of across.order) {
    const value = trials.value[id];
    const inside = scale !== "linear" || !better(worstShown, value);
    const edge = data.minimize ? box.top + 4 : box.bottom - 4;
    const kind = wasExpected(id) ? "model" : "first";
    const group = isBeyondLimits(id) ? "infeasible" : inside ? kind : "beyond";
    groups[group].push([left(id), inside ? top(value) : edge, id]);
  }
  const size = crowd(across.order);
  area.append(
    dots(groups.first, { class: `dot first ${size}` }),
    dots(groups.model, { class: `dot ${size}` }),
    triangles(groups.infeasible),
    shapes("diamond", groups.beyond, 3.5, { class: "beyond" }),
    svg("path", { class: "best-line", d: bestSoFar(across, left, top, drawn.px(across.end)) }),
  );
  const marks = Object.values(groups).flat();
  rows.forEach(([ids, shape, name], k) => {
    const known = ids.filter(id => across.of(id) !== null);
    const row = known.map(id => [left(id), drawn.strip(k), id]);
    root.append(shapes(shape, row, 3.5, { class: name }));
    for (const mark of row) marks.push(mark);
  });
  if (data.best !== null && across.of(data.best) !== null) {
    const place = [left(data.best), top(trials.value[data.best])];
    area.append(shapes("ring", [place], 6, { class: "best" }));
  }
  tips(root, width, (x, y) => {
    const mark = nearest(marks, x, y);
    return mark && trialLines(mark[2]);
  });
  return [root, legend(convergenceLegend(groups, running))];
}

function convergenceLegend(groups, running) {
  const beyond = groups.beyond.length;
  return [
    [groups.model.length, "dot", "dot", data.foreign ? "trials" : "chosen by the model"],
    [groups.first.length, "dot", "dot first", "spread evenly, or given"],
    [beyond, "diamond", "beyond", `far worse: beyond the axis (${beyond})`],
    [groups.infeasible.length, "triangle", "infeasible", "not within all limits"],
    [data.best !== null, "line", "best-line", "best so far"],
    [data.best !== null, "ring", "best", "best trial"],
    [failed.length, "cross", "failed", "failed or given up"],
    [pruned.length, "tick", "pruned", "pruned before they finished"],
    [cancelled.length, "cross", "cancelled", "cancelled before they finished, or forgotten"],
    [running.length, "ring", "running", "still running"],
  ]
    .filter(([count]) => count)
    .map(entry => entry.slice(1));
}

function bestSoFar({ order }, left, top, end) {
  let best = null;
  let path = "";
  for (const id of order) {
    const value = trials.value[id];
    if (isBeyondLimits(id) || (best !== null && !better(value, best))) continue;
    const [x, y] = [left(id).toFixed(1), top(value).toFixed(1)];
    path += best === null ? `M${x} ${y}` : `H${x}V${y}`;
    best = value;
  }
  return best === null ? "" : `${path}H${end.toFixed(1)}`;
}
