// Several studies: how far each has come, in one figure and in one table.

const data = JSON.parse(document.getElementById("data").textContent);
const { studies } = data;
// So many kinds of lines are told apart.
const KINDS = 8;
const kindOf = k => `study-line study-${k % KINDS}`;
const measure = measureOf(
  studies.flatMap(({ steps }) => steps.map(([, , value]) => value)),
  data.minimize,
);
const begun = studies.filter(({ steps }) => steps.length);

function drawComparison(host) {
  if (!begun.length) {
    host.append(note("No trial has given a value yet."));
    return;
  }
  const state = { by: "trial", scale: measure.prefersLogarithm ? "log" : "linear" };
  const drawing = html("div", { class: "figure" });
  const redraw = () => drawing.replaceChildren(courses(drawing.clientWidth, state));
  const controls = html("div", { class: "controls" });
  const control = (label, key, options) => {
    if (options.length < 2) return;
    const change = chosen => {
      state[key] = chosen;
      redraw();
    };
    controls.append(choice(label, options, state[key], change));
  };
  const timed = begun.some(({ seconds }) => seconds > 0);
  control("Horizontal axis", "by", [["trial", "By trial"], ...(timed ? [["time", "By time"]] : [])]);
  const scales = [["linear", "Linear"]];
  if (measure.canBeLogarithmic) scales.push(["log", "Logarithmic"]);
  control("Scale of values", "scale", scales);
  host.append(controls, drawing, legend(studies.map(({ name }, k) => ["line", kindOf(k), name])));
  figure(drawing, redraw);
}

function courses(width, { by, scale }) {
  const last = Math.max(...studies.map(({ trials }) => trials - 1), 0);
  const longest = Math.max(...studies.map(({ seconds }) => seconds ?? 0));
  const [size, unit] = spanUnit(longest);
  const isTime = by === "time";
  const { root, area, px, py } = plot(width, {
    height: Math.round(Math.min(520, Math.max(260, 0.42 * width))),
    x: isTime
      ? linear(...padded(0, longest / size || 1, 0.02))
      : linear(...padded(0, Math.max(last, 1), 0.02), { whole: true }),
    y: measure.scale(scale === "log"),
    xTitle: isTime ? `time since the start (${unit})` : "trial",
    yTitle: data.what,
    label: `Best ${data.what} so far of ${studies.length} studies`,
  });
  const marks = [];
  studies.forEach(({ steps, timed, trials, seconds }, k) => {
    const own = (isTime ? timed : steps).map(step => [px(isTime ? step[1] / size : step[0]), py(step[2]), k, step]);
    if (!own.length) return;
    const end = px(isTime ? (seconds ?? 0) / size : trials - 1);
    const path = own.map(([x, y], j) =>
      j ? `H${x.toFixed(1)}V${y.toFixed(1)}` : `M${x.toFixed(1)} ${y.toFixed(1)}`,
    );
    area.append(svg("path", { class: kindOf(k), d: `${path.join("")}H${end.toFixed(1)}` }));
    marks.push(...own);
  });
  tips(root, width, (x, y) => {
    const mark = nearest(marks, x, y, 30);
    if (!mark) return null;
    const [, , k, [trial, time, value]] = mark;
    const when = time === null ? "" : `, after ${span(time)}`;
    return [studies[k].name, `${measure.text(value, 2)}, trial ${trial}${when}`];
  });
  return root;
}

function drawStudies(host) {
  const best = k => (studies[k].steps.length ? studies[k].steps.at(-1) : [null, null, null]);
  const numeric = (name, key, cell = k => number(key(k))) => ({ name, key, cell, numeric: true });
  const count = name => numeric(name, k => studies[k][name]);
  const mark = k =>
    svg(
      "svg",
      { width: 26, height: 12, "aria-hidden": "true", class: "key" },
      svg("path", { class: kindOf(k), d: "M1 6H25" }),
    );
  const columns = [
    {
      name: "study",
      key: k => studies[k].name,
      cell: k => html("span", {}, mark(k), studies[k].name),
    },
    numeric(`best ${data.what}`, k => best(k)[2], k => measure.text(best(k)[2], 2)),
    numeric("at trial", k => best(k)[0]),
    numeric("after", k => best(k)[1], k => span(best(k)[1])),
    ...["trials", "complete", "failed", "pruned", "running"].map(count),
    numeric("time in all", k => studies[k].seconds, k => span(studies[k].seconds)),
  ];
  const sign = data.minimize ? 1 : -1;
  const rows = studies.map((_, k) => k);
  const place = k => (best(k)[2] === null ? Infinity : sign * best(k)[2]);
  rows.sort((a, b) => place(a) - place(b) || a - b);
  table(host, columns, rows);
}

drawComparison(document.querySelector("#comparison > .content"));
drawStudies(document.querySelector("#studies > .content"));
document.documentElement.dataset.drawn = "yes";
