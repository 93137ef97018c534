// The front of several objectives, two of them at a time, and how it has grown.

function drawFront(host) {
  const axes = { across: 0, up: 1 };
  const drawing = html("div", { class: "figure" });
  const redraw = () => drawing.replaceChildren(...frontOf(drawing.clientWidth, axes));
  if (data.objectives > 2) {
    const choices = Array.from({ length: data.objectives }, (_, k) => k);
    host.append(pairControls(choices, data.outcomes, axes, redraw));
  }
  host.append(drawing);
  figure(drawing, redraw);
  if (data.front.length) {
    const own = data.outcomes.map(({ name, value }, k) => ({
      name,
      key: id => value[id],
      cell: id => measures[k].text(value[id], 2),
      numeric: true,
    }));
    const first = { name: "trial", key: id => id, cell: id => String(id), numeric: true };
    const others = parameterColumns((id, k) => trials.params[k][id]);
    table(host, [first, ...own, ...others], data.front, 20);
  }
}

// The scale of an objective, with the front and what is expected of the next points.
function objectiveScale(k) {
  const { scale, prefersLogarithm } = measures[k];
  const ahead = data.next.filter(({ outcomes }) => outcomes).map(each => each.outcomes[k].mean);
  return scale(prefersLogarithm, [...data.front.map(id => data.outcomes[k].value[id]), ...ahead]);
}

function frontOf(width, { across, up }) {
  const [x, y] = [objectiveScale(across), objectiveScale(up)];
  const [byX, byY] = [data.outcomes[across], data.outcomes[up]];
  const { root, area, px, py, box } = plot(width, {
    height: Math.round(Math.min(560, Math.max(280, 0.5 * width))),
    x,
    y,
    xTitle: titleOf(byX),
    yTitle: titleOf(byY),
    label: `${byX.name} and ${byY.name} of ${complete.length} trials`,
  });
  const within = (value, low, high) => Math.min(Math.max(value, low), high);
  const spot = (a, b, id) => {
    const [left, top] = [px(a), py(b)];
    const place = [within(left, box.left, box.right), within(top, box.top, box.bottom)];
    const isBeyond = Math.abs(place[0] - left) > 1 || Math.abs(place[1] - top) > 1;
    return [...place, id, isBeyond];
  };
  const isOnFront = new Set(data.front);
  const groups = { front: [], dominated: [], infeasible: [], beyond: [] };
  for (const id of complete) {
    const mark = spot(byX.value[id], byY.value[id], id);
    const kind = isOnFront.has(id) ? "front" : isBeyondLimits(id) ? "infeasible" : "dominated";
    groups[kind === "dominated" && mark[3] ? "beyond" : kind].push(mark);
  }
  const ahead = data.next
    .map(({ outcomes }, k) => outcomes && spot(outcomes[across].mean, outcomes[up].mean, k))
    .filter(Boolean);
  const hasLine = data.objectives === 2 && groups.front.length > 0;
  const line = hasLine ? staircase(groups.front, byX, byY, box) : "";
  area.append(
    triangles(groups.infeasible),
    dots(groups.dominated, { class: `dot ${crowd(complete)}` }),
    shapes("ring", groups.beyond, 3, { class: "beyond" }),
    ...(hasLine ? [svg("path", { class: "best-line", d: line })] : []),
    ...haloed("diamond", ahead, 5.5, "next"),
    shapes("square", groups.front, 4, { class: "on-front" }),
  );
  tips(root, width, (u, v) => {
    const trial = nearest([...groups.front, ...groups.dominated, ...groups.infeasible], u, v, 12);
    const next = nearest(ahead, u, v, 12);
    const far = nearest(groups.beyond, u, v, 12);
    if (trial) return trialLines(trial[2]);
    return next ? nextLines(next[2]) : far && trialLines(far[2]);
  });
  const beyond = groups.beyond.length;
  const entries = [
    [groups.front.length, "square", "on-front", "on the front"],
    [groups.dominated.length, "dot", "dot", "beaten by a trial of the front"],
    [groups.infeasible.length, "triangle", "infeasible", "not within all limits"],
    [beyond, "ring", "beyond", `far worse: beyond the axes (${beyond})`],
    [ahead.length, "diamond", "next", "next points, as they are expected"],
  ];
  return [root, legend(entries.filter(([count]) => count).map(entry => entry.slice(1)))];
}

function titleOf({ name, minimize }) {
  return `${name} (${minimize ? "lower" : "higher"} is better)`;
}

// The edge of what the front beats: from mark to mark by the corner that is worse than both.
function staircase(marks, byX, byY, box) {
  const order = [...marks].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const far = byY.minimize ? box.top : box.bottom;
  const side = byX.minimize ? box.right : box.left;
  const round = value => value.toFixed(1);
  const first = order[0];
  let path = byX.minimize
    ? `M${round(first[0])} ${round(far)}V${round(first[1])}`
    : `M${round(side)} ${round(first[1])}H${round(first[0])}`;
  for (const [x, y] of order.slice(1)) {
    path += byX.minimize ? `H${round(x)}V${round(y)}` : `V${round(y)}H${round(x)}`;
  }
  return path + (byX.minimize ? `H${round(side)}` : `V${round(far)}`);
}

function drawHypervolume(host) {
  const { ids, volumes } = data.growth;
  const drawing = html("div", { class: "figure" });
  const end = everyTrial[everyTrial.length - 1];
  const most = Math.max(...volumes);
  figure(drawing, width => {
    const { root, area, px, py } = plot(width, {
      height: Math.round(Math.min(320, Math.max(220, 0.4 * width))),
      x: trialScale(),
      y: linear(0, most > 0 ? 1.06 * Math.min(most, 1e308) : 1),
      xTitle: "trial",
      yTitle: "hypervolume",
      label: `Hypervolume after each of ${ids.length} trials`,
    });
    const marks = ids.map((id, k) => [px(id), py(volumes[k]), k]);
    const steps = marks.map(([x, y], k) =>
      k ? `H${x.toFixed(1)}V${y.toFixed(1)}` : `M${x.toFixed(1)} ${y.toFixed(1)}`,
    );
    const isLarger = ([, , k]) => volumes[k] > (k ? volumes[k - 1] : 0);
    area.append(
      svg("path", { class: "best-line", d: `${steps.join("")}H${px(end).toFixed(1)}` }),
      dots(marks.filter(isLarger), { class: `dot ${crowd(marks)}` }),
    );
    tips(root, width, (u, v) => {
      const mark = nearest(marks, u, v);
      if (!mark) return null;
      const [heading, ...others] = trialLines(ids[mark[2]]);
      return [heading, `hypervolume ${number(volumes[mark[2]], 6)}`, ...others];
    });
    const entries = [
      ["line", "best-line", "hypervolume so far"],
      ["dot", "dot", "trials that added to it"],
    ];
    drawing.replaceChildren(root, legend(entries));
  });
  host.append(drawing);
}
