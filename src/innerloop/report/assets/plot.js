// A plot: axes with ticks and titles, and a clipped area to draw in.

let clips = 0;

// options: height, x and y (scales), xTitle, yTitle, label, strips (names of rows below the area),
// bare (whether to leave out the lines across)
function plot(width, options) {
  const { height, x, y, xTitle, yTitle, strips = [] } = options;
  const yTicks = placed(y, Math.max(2, Math.floor(height / 50)));
  const widest = Math.max(
    ...[...yTicks.map(t => t.label), ...strips].map(t => textWidth(t, 11.5)),
    12,
  );
  const box = {
    left: Math.min(Math.ceil(widest) + 9, 0.36 * width),
    right: width - 10,
    top: yTitle ? 24 : 8,
    bottom: height - (xTitle ? 40 : 22) - 18 * strips.length,
  };
  const root = svg("svg", {
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "img",
    "aria-label": options.label,
  });
  const px = value => box.left + x.at(value) * (box.right - box.left);
  const py = value => box.bottom - y.at(value) * (box.bottom - box.top);
  const floor = box.bottom + 18 * strips.length;

  const axes = svg("g", { class: "axes" });
  for (const { value, label } of yTicks) {
    const at = Math.round(py(value)) + 0.5;
    const line = options.bare ? `M${box.left} ${at}h-4` : `M${box.left} ${at}H${box.right}`;
    axes.append(svg("path", { class: options.bare ? "axis" : "grid", d: line }));
    axes.append(
      svg(
        "text",
        { x: box.left - 7, y: at + 4, "text-anchor": "end" },
        shorten(label, box.left - 8, 11.5),
      ),
    );
  }
  strips.forEach((name, k) => {
    const at = box.bottom + 18 * k + 13;
    axes.append(svg("text", { x: box.left - 7, y: at, "text-anchor": "end" }, name));
  });
  axes.append(svg("path", { class: "axis", d: `M${box.left} ${floor + 0.5}H${box.right}` }));
  for (const { at, label, anchor } of labelled(x, box)) {
    axes.append(svg("path", { class: "axis", d: `M${Math.round(at) + 0.5} ${floor}v4` }));
    axes.append(svg("text", { x: at, y: floor + 17, "text-anchor": anchor }, label));
  }
  if (xTitle) {
    const middle = (box.left + box.right) / 2;
    axes.append(
      svg(
        "text",
        { class: "title", x: middle, y: height - 5, "text-anchor": "middle" },
        shorten(xTitle, width),
      ),
    );
  }
  if (yTitle) axes.append(svg("text", { class: "title", x: 0, y: 12 }, shorten(yTitle, width)));

  clips += 1;
  const area = svg("g", { class: "area", "clip-path": `url(#clip${clips})` });
  const clip = svg(
    "clipPath",
    { id: `clip${clips}` },
    svg("rect", {
      x: box.left - 1,
      y: box.top - 5,
      width: Math.max(box.right - box.left + 6, 0),
      height: Math.max(box.bottom - box.top + 10, 0),
    }),
  );
  root.append(svg("defs", {}, clip), axes, area);
  return { root, area, axes, box, px, py, strip: k => box.bottom + 18 * k + 9 };
}

function placed(scale, count) {
  return scale.ticks(count).filter(tick => {
    const at = scale.at(tick.value);
    return at > -1e-6 && at < 1 + 1e-6;
  });
}

// Ticks of a horizontal scale whose labels do not run into each other.
function labelled(x, box) {
  const length = box.right - box.left;
  const ticks = placed(x, Math.max(2, Math.floor(length / 75)));
  const room = x.labels ? Math.max(length / ticks.length - 5, 30) : length;
  const kept = [];
  let end = -Infinity;
  for (const tick of ticks) {
    const label = shorten(tick.label, room, 11.5);
    const half = textWidth(label, 11.5) / 2;
    const at = box.left + x.at(tick.value) * length;
    // Labels at the very ends stay within the drawing.
    const over = at + half > box.right + 9;
    const start = at - (over ? 2 * half : half);
    if (start < end + 6) continue;
    kept.push({ at, label, anchor: over ? "end" : "middle" });
    end = start + 2 * half;
  }
  return kept;
}

// A line with gaps where there is no point.
function gappedLine(points) {
  const starts = k => k === 0 || points[k - 1] === null;
  return points
    .map((point, k) => point && polyline([point]).replace("M", starts(k) ? "M" : "L"))
    .filter(Boolean)
    .join("");
}

function polyline(points) {
  return points.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
}
