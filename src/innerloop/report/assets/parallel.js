// All trials as lines through parallel axes: side by side, or below each other where it is narrow.

const NARROWEST = 76;
// More lines than these say no more, and take long to draw: the best, and some of the others.
const MOST_LINES = 800;
const BEST_LINES = 250;

function drawParallel(host) {
  const drawing = html("div", { class: "figure layered" });
  const count = html("output");
  const slider = html("input", {
    type: "range",
    min: 1,
    max: 100,
    value: 100,
    "aria-label": "Share of trials shown",
  });
  const bar = html("div");
  const badness = data.minimize ? 1 : -1;
  const order = [...complete].sort((a, b) => badness * (trials.value[b] - trials.value[a]));
  const kept = () =>
    order.slice(order.length - Math.max(1, Math.round((order.length * slider.value) / 100)));
  const redraw = () => {
    if (drawing.clientWidth === 0) return;
    const ids = kept();
    const lines = thinned(ids);
    const words = ids.length === order.length ? `all ${order.length}` : `the best ${ids.length}`;
    const some = lines.length < ids.length ? `, ${lines.length} of them drawn` : "";
    count.textContent = words + some;
    parallel(drawing, lines);
    const worst = valueText(worstOn(prefersLogarithm));
    bar.replaceChildren(colourBar("value", worst, `${valueText(bestValue)} (best)`));
  };
  slider.addEventListener("input", redraw);
  const label = html("label", { class: "slider" }, "trials shown", slider, count);
  host.append(
    ...(order.length > 4 ? [html("div", { class: "controls" }, label)] : []),
    drawing,
    bar,
  );
  figure(drawing, redraw);
}

// At most so many trials, given from the worst to the best.
function thinned(ids) {
  if (ids.length <= MOST_LINES) return ids;
  const others = ids.length - BEST_LINES;
  const every = Math.ceil(others / (MOST_LINES - BEST_LINES));
  return ids.filter((_, k) => k >= others || k % every === 0);
}

function parallel(drawing, ids) {
  const width = drawing.clientWidth;
  const axes = byImportance.map(k => ({
    name: parameters[k].name,
    scale: parameterScale(parameters[k], false),
    value: id => trials.params[k][id],
    isChoice: parameters[k].kind === "choice",
  }));
  axes.push({
    name: "value",
    scale: valueScale(prefersLogarithm),
    value: id => trials.value[id],
    isValue: true,
  });
  const stacked = width / axes.length < NARROWEST;
  const height = stacked ? 56 * axes.length + 6 : 330;
  const [start, end] = stacked ? [6, width - 6] : [height - 26, 34];
  const along = axis => id => {
    const value = axis.value(id);
    if (value === null) return null;
    return start + Math.min(Math.max(axis.scale.at(value), 0), 1) * (end - start);
  };
  const side = stacked ? 24 : Math.max(30, Math.min(60, width / axes.length / 2));
  const step = (stacked ? height - 46 : width - 2 * side) / Math.max(axes.length - 1, 1);
  const across = axes.map((_, k) => side + k * step);
  const places = axes.map(along);
  // Where a parameter does not apply there is no point.
  const pointOf = (id, k) => {
    const place = places[k](id);
    if (place === null) return null;
    return stacked ? [place, across[k]] : [across[k], place];
  };
  const line = id => gappedLine(axes.map((_, k) => pointOf(id, k)));

  const canvas = html("canvas", { "aria-hidden": "true" });
  const fine = Math.min(window.devicePixelRatio || 1, 2);
  const pen = canvas.getContext("2d");
  canvas.width = width * fine;
  canvas.height = height * fine;
  pen.scale(fine, fine);
  pen.lineJoin = "round";
  const colour = ramp("value");
  const alpha = Math.min(0.75, Math.max(0.12, 40 / ids.length));
  for (const id of ids) {
    const good = goodness(trials.value[id]);
    pen.globalAlpha = Math.min(1, alpha + 0.5 * good ** 4);
    pen.lineWidth = 0.9 + 0.7 * good;
    pen.strokeStyle = `rgb(${colour(0.18 + 0.82 * good)})`;
    pen.stroke(new Path2D(line(id)));
  }
  const root = svg("svg", {
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "img",
    "aria-label": `Parameters and values of ${ids.length} trials`,
  });
  axes.forEach((axis, k) => root.append(...axisMarks(axis, across[k], start, end, step, stacked)));
  root.append(svg("path", { class: "best-line", d: data.best === null ? "" : line(data.best) }));
  const pointed = svg("path", { class: "pointed" });
  root.append(pointed);
  drawing.replaceChildren(canvas, root);

  tips(root, width, (x, y) => {
    const [u, v] = stacked ? [y, x] : [x, y];
    const k = Math.min(Math.max(Math.floor((u - side) / step), 0), axes.length - 2);
    const t = Math.min(Math.max((u - across[k]) / step, 0), 1);
    let found = null;
    let least = 12;
    for (const id of ids) {
      const [from, to] = [places[k](id), places[k + 1](id)];
      if (from === null || to === null) continue;
      const gap = Math.abs((1 - t) * from + t * to - v);
      if (gap <= least) [found, least] = [id, gap];
    }
    pointed.setAttribute("d", found === null ? "" : line(found));
    return found === null ? null : trialLines(found);
  });
  root.addEventListener("pointerleave", () => pointed.setAttribute("d", ""));
}

function axisMarks(axis, at, start, end, step, stacked) {
  const place = Math.round(at) + 0.5;
  const line = svg("path", {
    class: "axis",
    d: stacked ? `M${start} ${place}H${end}` : `M${place} ${start}V${end}`,
  });
  const isLast = axis.isValue;
  const size = 11.5;
  if (stacked) {
    const name = svg(
      "text",
      { class: "title over", x: start, y: at - 6 },
      shorten(axis.name, end - start, size),
    );
    const ticks = labelled(axis.scale, { left: start, right: end }).flatMap(
      ({ at: x, label, anchor }) => [
        svg("path", { class: "axis", d: `M${x} ${place - 3}v6` }),
        svg("text", { class: "tick", x, y: at + 15, "text-anchor": anchor }, label),
      ],
    );
    return [line, ...ticks, name];
  }
  const marks = [
    line,
    svg(
      "text",
      { class: "title", x: at, y: 16, "text-anchor": "middle" },
      shorten(axis.name, step - 8, size),
    ),
  ];
  let ticks = placed(axis.scale, 5);
  const every = Math.ceil(ticks.length / 14);
  ticks = ticks.filter((_, k) => k % every === 0);
  for (const { value, label } of ticks) {
    const y = start + axis.scale.at(value) * (end - start);
    marks.push(svg("path", { class: "axis", d: `M${place - 3} ${y}h6` }));
    const attributes = {
      class: "tick",
      x: isLast ? at - 7 : at + 7,
      y: y + 4,
      "text-anchor": isLast ? "end" : "start",
    };
    marks.push(svg("text", attributes, shorten(label, Math.max(step - 16, 30), size)));
  }
  return marks;
}
