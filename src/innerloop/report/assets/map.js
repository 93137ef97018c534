// Expected value and expected improvement over two parameters that the reader chooses.

const PANELS = [
  { kind: "mean", title: "Expected value", ramp: "value" },
  { kind: "improvement", title: "Expected improvement", ramp: "gain" },
];

function drawMap(host) {
  if (!model.maps.length) {
    drawImprovement(host);
    return;
  }
  const axes = { across: model.maps[0].x, up: model.maps[0].y };
  const panels = PANELS.map(about => ({ ...about, view: theView }));
  drawMaps(host, panels, axes, "best trial");
}

// panels: { kind, title, ramp, view, ringed, heading }; each is given its `redraw`.
function drawMaps(host, panels, axes, ringName) {
  const { maps } = panels[0].view;
  for (const each of panels) {
    const drawing = html("div", { class: "figure layered" });
    const bar = html("div");
    const heading = each.heading ?? html("h3", {}, each.title);
    const card = html("div", { class: "card" }, heading, drawing, bar);
    Object.assign(each, { drawing, bar, card });
  }
  const redraw = () => panels.forEach(panel => landscape(panel, axes));
  const choices = [...new Set(maps.flatMap(each => [each.x, each.y]))];
  if (choices.length > 2) host.append(pairControls(choices, parameters, axes, redraw));
  host.append(html("div", { class: "multiples wide" }, ...panels.map(panel => panel.card)));
  const entries = [
    ["dot", "dot", "trials"],
    ["ring", "best", ringName],
  ];
  if (failed.length) entries.push(["cross", "failed", "failed"]);
  if (pending.length) entries.push(["ring", "running", "still running"]);
  if (data.next.length) entries.push(["diamond", "next", "next points"]);
  host.append(legend(entries));
  panels.forEach(panel => {
    panel.redraw = figure(panel.drawing, () => landscape(panel, axes));
  });
}

// Two lists of what is across and upwards; choosing the same one twice swaps them.
function pairControls(choices, named, axes, redraw) {
  const lists = {};
  const show = () => {
    for (const [key, list] of Object.entries(lists)) list.value = String(axes[key]);
  };
  const labels = [
    ["across", "up", "across"],
    ["up", "across", "upwards"],
  ].map(([key, other, label]) => {
    const options = choices.map(k => html("option", { value: k }, named[k].name));
    lists[key] = html("select", {}, ...options);
    lists[key].addEventListener("change", () => {
      const chosen = Number(lists[key].value);
      if (chosen === axes[other]) axes[other] = axes[key];
      axes[key] = chosen;
      show();
      redraw();
    });
    return html("label", {}, label, lists[key]);
  });
  show();
  return html("div", { class: "controls" }, ...labels);
}

function landscape(panel, { across, up }) {
  const { kind, drawing, bar, view, ringed = data.best } = panel;
  const width = drawing.clientWidth;
  if (width === 0) return;
  const height = Math.round(Math.min(Math.max(0.72 * width, 240), 540));
  const names = [parameters[across].name, parameters[up].name];
  const { root, area, px, py, box } = plot(width, {
    height,
    x: parameterScale(parameters[across], false),
    y: parameterScale(parameters[up], false),
    xTitle: names[0],
    yTitle: names[1],
    bare: true,
    label: `${panel.title} over ${names[0]} and ${names[1]}`,
  });
  const cells = cellsOf(view.maps, across, up, kind);
  const shades = shadesOf(cells.values, kind, view);
  const canvas = html("canvas", { "aria-hidden": "true" });
  paint(canvas, { width, height, box, cells, shares: shades.share, colour: ramp(panel.ramp) });

  const near = nearness([across, up], view.offsets);
  // Where one of the two does not apply there is no mark.
  const marks = found => found.filter(([x, y]) => x !== null && y !== null);
  const at = (x, y) => [x === null ? null : px(x), y === null ? null : py(y)];
  const spot = id => [...at(trials.params[across][id], trials.params[up][id]), id];
  const seen = marks(model.shown.map((id, row) => [...spot(id), near[row]]));
  const waiting = marks(pending.map(spot));
  const fails = marks(failed.map(spot));
  const ahead = marks(data.next.map(({ params }, k) => [...at(params[across], params[up]), k]));
  const size = crowd(seen);
  area.append(
    ...shadedDots(seen, { class: `dot ${size} halo` }),
    ...shadedDots(seen, { class: `dot ${size}` }),
    ...haloed("cross", fails, 3.5, "failed"),
    ...haloed("ring", waiting, 4.5, "running"),
    ...haloed("diamond", ahead, 5.5, "next"),
    ...haloed("ring", marks([spot(ringed)]), 6.5, "best"),
  );
  drawing.replaceChildren(canvas, root);
  bar.replaceChildren(colourBar(panel.ramp, ...shades.ends));

  tips(root, width, (x, y) => {
    const next = nearest(ahead, x, y, 10);
    if (next) return nextLines(next[2]);
    const trial = nearest([...seen, ...waiting, ...fails], x, y, 10);
    if (trial) return trialLines(trial[2]);
    const i = Math.floor(((x - box.left) / (box.right - box.left)) * cells.m);
    const j = Math.floor(((box.bottom - y) / (box.bottom - box.top)) * cells.n);
    if (i < 0 || j < 0 || i >= cells.m || j >= cells.n) return null;
    const value = cells.values[cells.cell(i, j)];
    if (value === null) return ["not in the space"];
    return [panel.title, shades.text(value)];
  });
}

function haloed(shape, marks, r, name) {
  return [`${name} halo`, name].map(classes => shapes(shape, marks, r, { class: classes }));
}

// Where no two parameters make a map: expected improvement along the first as a line.
function drawImprovement(host) {
  const slice = model.slices[0];
  const parameter = parameters[slice.parameter];
  const isChoice = parameter.kind === "choice";
  const drawing = html("div", { class: "figure" });
  const entries = [["line", "gain-line", "expected improvement"]];
  if (data.next.length) entries.push(["diamond", "next", "next points"]);
  host.append(drawing, legend(entries));
  figure(drawing, width => {
    const most = Math.max(...slice.improvement);
    const { root, area, px, py } = plot(width, {
      height: 240,
      x: isChoice ? bands(slice.x.map(k => parameter.values[k])) : parameterScale(parameter),
      y: linear(0, most > 0 ? 1.08 * Math.min(most, 1e308) : 1),
      xTitle: parameter.name,
      yTitle: "expected improvement",
      label: `Expected improvement along ${parameter.name}`,
    });
    const left = value => px(isChoice ? slice.x.indexOf(value) : value);
    const at = slice.x.map((value, k) => [left(value), py(slice.improvement[k])]);
    const strokes = at.map(([x, y]) => `M${x - 12} ${y}h24`).join("");
    const ahead = data.next
      .map(({ params }, k) => [params[slice.parameter], py(0) - 6, k])
      .filter(([value]) => value !== null)
      .map(([value, ...rest]) => [left(value), ...rest]);
    area.append(
      svg("path", { class: "gain-line", d: isChoice ? strokes : polyline(at) }),
      shapes("diamond", ahead, 5, { class: "next" }),
    );
    tips(root, width, (x, y) => {
      const mark = nearest(ahead, x, y);
      return mark && nextLines(mark[2]);
    });
    drawing.replaceChildren(root);
  });
}
