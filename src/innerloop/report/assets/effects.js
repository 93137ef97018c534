// What the model expects along each parameter: small figures with the same vertical axis.

const FIRST_EFFECTS = 12;
// So few whole numbers are drawn one by one.
const FEW_LEVELS = 24;

function drawEffects(host) {
  host.append(...effectsOf(theView, data.best, "best trial"));
}

// The figures of one view, with a ring around one trial.
function effectsOf(view, ringed, ringName) {
  const means = view.slices.flatMap(slice => slice.mean);
  // A prediction far beyond the values seen does not set the scale.
  const { bestValue: best, limit } = view;
  const seen = means.filter(mean => view.prefersLogarithm || !view.better(view.worstShown, mean));
  const ends = [Math.min(...seen, best), Math.max(...seen, best)];
  if (limit !== undefined) ends.push(limit);
  const scale = view.scale(view.prefersLogarithm, ends);
  const cards = view.slices.map(slice => {
    const { name } = parameters[slice.parameter];
    const drawing = html("div", { class: "figure" });
    figure(drawing, width => drawing.replaceChildren(effect(width, slice, scale, view, ringed)));
    return html("div", { class: "card" }, html("h3", { title: name }, name), drawing);
  });
  const entries = [
    ["line", "mean-line", "expected value"],
    ["block", "band", "likely range of the true value"],
    ["dot", "dot", "trials"],
    ["ring", "best", ringName],
  ];
  if (failed.length) entries.push(["cross", "failed", "failed"]);
  if (limit !== undefined) entries.push(["line", "limit-line", "limit"]);
  const grid = html("div", { class: `multiples${cards.length < 3 ? " wide" : ""}` });
  return [legend(entries), withMore(grid, cards, FIRST_EFFECTS, "parameters")];
}

function effect(width, slice, y, view, ringed) {
  const parameter = parameters[slice.parameter];
  const isChoice = parameter.kind === "choice";
  const values = trials.params[slice.parameter];
  const crosses = failed.filter(id => values[id] !== null);
  const { root, area, px, py, box, strip } = plot(width, {
    height: crosses.length ? 228 : 210,
    strips: crosses.length ? ["failed"] : [],
    x: isChoice ? bands(slice.x.map(k => parameter.values[k])) : parameterScale(parameter),
    y,
    yTitle: view.title,
    label: `Expected ${view.title} along ${parameter.name}`,
  });
  // What is beyond the axis, or has no logarithm, goes to its end.
  const top = value => {
    const place = view.prefersLogarithm && !(value > 0) ? Infinity : py(value);
    return Math.min(Math.max(place, box.top - 9), box.bottom + 9);
  };
  const column = new Map(slice.x.map((value, k) => [value, k]));
  const left = value => {
    if (value === null) return null;
    return !isChoice ? px(value) : column.has(value) ? px(column.get(value)) : null;
  };
  const at = slice.x.map(left);
  const line = at.map((x, k) => [x, top(slice.mean[k])]);
  const high = at.map((x, k) => [x, top(slice.high[k])]);
  const low = at.map((x, k) => [x, top(slice.low[k])]);
  const apart = isChoice || (parameter.steps && slice.x.length <= FEW_LEVELS);

  const near = nearness([slice.parameter], view.offsets);
  const seen = model.shown
    .map((id, row) => [left(values[id]), top(view.values[id]), id, near[row]])
    .filter(([x]) => x !== null);
  const strokes = line.map(([x, y]) => `M${x - 9} ${y}h18`).join("");
  area.append(
    svg("path", { class: "band", d: apart ? bars(low, high) : between(low, high) }),
    ...shadedDots(seen, { class: `dot ${crowd(seen)}` }),
    svg("path", { class: "mean-line", d: isChoice ? strokes : polyline(line) }),
  );
  if (apart && !isChoice) area.append(dots(line, { class: "level" }));
  if (view.limit !== undefined) {
    const at = Math.round(py(view.limit)) + 0.5;
    area.append(svg("path", { class: "limit-line", d: `M${box.left} ${at}H${box.right}` }));
  }
  const best = [left(values[ringed]), top(view.values[ringed])];
  if (best[0] !== null) area.append(shapes("ring", [best], 5.5, { class: "best" }));
  const fails = crosses
    .map(id => [left(values[id]), strip(0), id])
    .filter(([x]) => x !== null && x > box.left - 1 && x < box.right + 6);
  root.append(shapes("cross", fails, 3, { class: "failed" }));

  tips(root, width, (x, y) => {
    const fail = y > box.bottom && nearest(fails, x, y, 8);
    if (fail) return trialLines(fail[2]);
    const gaps = at.map(place => Math.abs(place - x));
    const k = gaps.indexOf(Math.min(...gaps));
    const mark = nearest(seen, x, y, 8);
    const here = [
      paramLine(slice.parameter, slice.x[k]),
      `expected ${view.text(slice.mean[k])}`,
      `likely ${view.text(slice.low[k])} to ${view.text(slice.high[k])}`,
    ];
    return mark ? [...here, "", ...trialLines(mark[2])] : here;
  });
  return root;
}

function bars(low, high) {
  return low.map(([x, y], k) => `M${x - 5} ${y}h10V${high[k][1]}h-10Z`).join("");
}

function between(low, high) {
  return `${polyline(high)}${polyline([...low].reverse()).replace("M", "L")}Z`;
}
