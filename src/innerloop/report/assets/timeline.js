// When trials ran, and who ran them: a lane for each that ran at the same time.

const LANE = [5, 18];
const MOST_LANES = 120;

function drawTimeline(host) {
  const ends = everyTrial.map(id => trials.told[id] ?? trials.asked[id] ?? 0);
  const now = Math.max(0, ...pending.map(id => trials.asked[id] ?? 0), ...ends);
  const spans = everyTrial
    .filter(id => trials.asked[id] !== null)
    .map(id => ({ id, from: trials.asked[id], to: endOf(id, now) }))
    .filter(({ to }) => to !== null);
  const { lanes, groups, concerned } = lanesOf(spans);
  const drawing = html("div", { class: "figure" });
  figure(drawing, width => drawing.replaceChildren(timeline(width, concerned, lanes, groups, now)));
  host.append(drawing, legend(timelineLegend(concerned)));
  const busy = spans.reduce((sum, { from, to }) => sum + to - from, 0);
  const begun = Math.min(...spans.map(({ from }) => from));
  const notes = [];
  if (now > begun) notes.push(`On average ${number(busy / (now - begun), 3)} trials ran at a time.`);
  if (concerned.length < spans.length) {
    notes.push(`The first ${MOST_LANES} lanes are shown, with ${concerned.length} of ${spans.length} trials.`);
  }
  if (notes.length) host.append(note(notes.join(" ")));
}

// When a trial ended, as far as it is known; one that runs has not.
function endOf(id, now) {
  if (trials.told[id] !== null) return Math.max(trials.told[id], trials.asked[id]);
  return trials.state[id] === PENDING ? now : null;
}

// Each trial takes the first lane of its worker that is free.
function lanesOf(spans) {
  const order = [...spans].sort((a, b) => a.from - b.from || a.id - b.id);
  const byWorker = new Map();
  for (const each of order) {
    const worker = data.workers.length ? trials.worker[each.id] : null;
    if (!byWorker.has(worker)) byWorker.set(worker, []);
    const own = byWorker.get(worker);
    let free = own.findIndex(lane => lane[lane.length - 1].to <= each.from);
    if (free < 0) free = own.push([]) - 1;
    own[free].push(each);
  }
  const groups = [];
  const lanes = [];
  for (const [worker, own] of byWorker) {
    if (lanes.length >= MOST_LANES) break;
    groups.push({ first: lanes.length, name: worker === null ? "" : data.workers[worker] });
    lanes.push(...own.slice(0, MOST_LANES - lanes.length));
  }
  return { lanes, groups, concerned: lanes.flat() };
}

function timeline(width, spans, lanes, groups, now) {
  const [size, unit] = spanUnit(now);
  const high = Math.min(Math.max(Math.floor(360 / lanes.length), LANE[0]), LANE[1]);
  const named = groups.filter(({ name }) => name !== "");
  const middle = k => 1 - (k + 0.5) / lanes.length;
  const { root, area, px, py, box } = plot(width, {
    height: lanes.length * high + 48,
    x: linear(...padded(0, now / size || 1, 0.01)),
    y: { at: middle, ticks: () => named.map(({ first, name }) => ({ value: first, label: name })) },
    xTitle: `time since the start (${unit})`,
    bare: true,
    label: `When ${spans.length} trials ran, in ${lanes.length} lanes`,
  });
  const thick = Math.max(high - 3, 3);
  const placed = lanes.flatMap((lane, k) =>
    lane.map(({ id, from, to }) => {
      const left = px(from / size);
      // Bars one after the other can be told apart.
      const length = Math.max(px(to / size) - left - 1, 1.5);
      return { id, left, length, top: py(k) - thick / 2, lane: k };
    }),
  );
  const bar = ({ left, top, length }) =>
    `M${left.toFixed(1)} ${top.toFixed(1)}h${length.toFixed(1)}v${thick}h${-length.toFixed(1)}Z`;
  const end = ({ left, top, length }) => [left + length, top + thick / 2];
  const reach = Math.min(thick / 2 - 0.5, 4);
  for (const [ids, name, shape] of timelineKinds()) {
    const own = new Set(ids);
    const bars = placed.filter(({ id }) => own.has(id));
    area.append(svg("path", { class: `span ${name}`, d: bars.map(bar).join("") }));
    if (shape) area.append(shapes(shape, bars.map(end), reach, { class: `span-end ${name}` }));
  }
  for (const { first } of groups.slice(1)) {
    const at = Math.round((py(first - 1) + py(first)) / 2) + 0.5;
    area.append(svg("path", { class: "grid", d: `M${box.left} ${at}H${box.right}` }));
  }
  tips(root, width, (x, y) => {
    const lane = Math.round((y - py(0)) / high);
    const found = placed.find(
      each => each.lane === lane && x >= each.left - 2 && x <= each.left + each.length + 2,
    );
    return found ? timelineTip(found.id) : null;
  });
  return root;
}

// Trials by what came of them: their class, and the mark at the end of their bars.
function timelineKinds() {
  return [
    [complete, "done", null],
    [failed, "failed", "cross"],
    [pruned, "pruned", "tick"],
    [cancelled, "cancelled", null],
    [pending, "running", null],
  ];
}

function timelineLegend(spans) {
  const ids = new Set(spans.map(({ id }) => id));
  const words = {
    done: "complete",
    failed: "failed or given up, with a cross",
    pruned: "pruned, with a bar at the end",
    cancelled: "cancelled or forgotten",
    running: "still running",
  };
  return timelineKinds()
    .filter(([those]) => those.some(id => ids.has(id)))
    .map(([, name]) => ["block", `span ${name}`, words[name]]);
}

function timelineTip(id) {
  const [first, ...others] = trialLines(id);
  const worker = data.workers.length ? data.workers[trials.worker[id]] : undefined;
  const time = lasted(id);
  const own = [worker, time === null ? undefined : `ran for ${span(time)}`];
  return [first, ...own.filter(text => text !== undefined), "", ...others];
}
