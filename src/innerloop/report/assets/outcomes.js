// Several outcomes: figures of one at a time, which the reader chooses, and tables of all.

const measures = (data.outcomes ?? []).map(({ value, minimize }) =>
  measureOf(inside(value), minimize),
);

// What figures show of each outcome, and of the chance to be within all limits.
const views = (data.outcomes ?? []).map(({ name, value, limit }, k) => ({
  ...(model ? model.views[k] : {}),
  ...measures[k],
  limit: limit ?? undefined,
  values: value,
  name,
  title: name,
}));
if (model?.within) {
  views.push({
    ...model.within,
    isChance: true,
    offsets: views[0].offsets,
    name: "chance within limits",
    title: "chance to be within all limits",
  });
}

function outcomeLines(id) {
  const told = data.outcomes
    .map(({ name, value }, k) => [name, value[id], k])
    .filter(([, value]) => value !== null)
    .map(([name, value, k]) => `${shorten(name, 160)}: ${measures[k].text(value, 2)}`);
  const state = trials.state[id] === COMPLETE ? standing(id) : STATE_NAMES[trials.state[id]];
  return [`Trial ${id}: ${state}`, ...told, "", ...paramLines(k => trials.params[k][id])];
}

// What a complete trial is among the others.
function standing(id) {
  if (id === data.best) return "best";
  if (data.front.includes(id)) return "on the front";
  if (isBeyondLimits(id)) return "not within all limits";
  return data.objectives > 1 ? "beaten by another one" : "complete";
}

function nextOutcomeLines(k) {
  const { params, outcomes = [], within } = data.next[k];
  const expected = outcomes.map(
    ({ mean }, j) => `${shorten(data.outcomes[j].name, 160)}: about ${measures[j].text(mean)}`,
  );
  if (model?.within) expected.push(`within all limits: ${percent(within)}`);
  return [`Next point ${k + 1}`, ...expected, "", ...paramLines(j => params[j])];
}

// A list of views; change(view) when another one is chosen.
function viewList(label, among, chosen, change) {
  const options = among.map((view, k) => html("option", { value: k }, view.name));
  const list = html("select", {}, ...options);
  list.value = String(among.indexOf(chosen));
  list.addEventListener("change", () => change(among[Number(list.value)]));
  return html("label", { class: "outcome" }, label, list);
}

// Draws what draw(view) gives, of the view that is chosen.
function chosenView(host, among, draw) {
  const content = html("div");
  let own = [];
  const change = view => {
    own.forEach(redraw => redraws.splice(redraws.indexOf(redraw), 1));
    const before = redraws.length;
    content.replaceChildren(...draw(view));
    own = redraws.slice(before);
  };
  host.append(
    html("div", { class: "controls" }, viewList("outcome", among, among[0], change)),
    content,
  );
  change(among[0]);
}

function drawOutcomeImportance(host) {
  const among = views.filter(view => !view.isChance);
  chosenView(host, among, view => [importanceOf(view)]);
}

function drawOutcomeEffects(host) {
  chosenView(host, views, view =>
    view.isChance ? chancesOf(view) : effectsOf(view, model.center, `trial ${model.center}`),
  );
}

// The chance to be within all limits along each parameter.
function chancesOf(view) {
  const cards = view.slices.map(slice => {
    const { name } = parameters[slice.parameter];
    const drawing = html("div", { class: "figure" });
    figure(drawing, width => drawing.replaceChildren(chanceAlong(width, slice, view)));
    return html("div", { class: "card" }, html("h3", { title: name }, name), drawing);
  });
  const entries = [["line", "gain-line", view.title]];
  const grid = html("div", { class: `multiples${cards.length < 3 ? " wide" : ""}` });
  return [legend(entries), withMore(grid, cards, FIRST_EFFECTS, "parameters")];
}

function chanceAlong(width, slice, view) {
  const parameter = parameters[slice.parameter];
  const isChoice = parameter.kind === "choice";
  const { root, area, px, py } = plot(width, {
    height: 210,
    x: isChoice ? bands(slice.x.map(k => parameter.values[k])) : parameterScale(parameter),
    y: linear(0, 100),
    yTitle: "chance (%)",
    label: `${view.title} along ${parameter.name}`,
  });
  const at = slice.x.map((value, k) => [px(isChoice ? k : value), py(100 * slice.mean[k]), k]);
  const strokes = at.map(([x, y]) => `M${x - 9} ${y}h18`).join("");
  area.append(svg("path", { class: "gain-line", d: isChoice ? strokes : polyline(at) }));
  if (!isChoice && parameter.steps && at.length <= FEW_LEVELS) {
    area.append(dots(at, { class: "dot gain" }));
  }
  tips(root, width, x => {
    const gaps = at.map(([place]) => Math.abs(place - x));
    const k = gaps.indexOf(Math.min(...gaps));
    return [paramLine(slice.parameter, slice.x[k]), `within all limits: ${percent(slice.mean[k])}`];
  });
  return root;
}

// Two maps side by side, each of an outcome or of the chance to be within all limits.
function drawOutcomeMap(host) {
  const { maps } = views[0];
  if (!maps.length) {
    host.append(note("There are too many categories to draw a map."));
    return;
  }
  const axes = { across: maps[0].x, up: maps[0].y };
  const show = (panel, view) => {
    const ramp = view.isChance ? "gain" : "value";
    const title = view.isChance ? "Chance to be within all limits" : `Expected ${view.name}`;
    return Object.assign(panel, { kind: "mean", ringed: model.center, view, ramp, title });
  };
  const panels = [views[0], views[views.length - 1]].map(view => {
    const panel = show({}, view);
    panel.heading = viewList("shown", views, view, chosen => show(panel, chosen).redraw());
    return panel;
  });
  drawMaps(host, panels, axes, `trial ${model.center}`);
}

function drawOutcomeNext(host) {
  const rows = data.next.map((_, k) => k);
  const columns = [];
  if (model) {
    data.outcomes.forEach(({ name }, j) => {
      const { text } = measures[j];
      columns.push(
        {
          name: `${name}, expected`,
          key: k => data.next[k].outcomes[j].mean,
          cell: k => text(data.next[k].outcomes[j].mean),
          numeric: true,
        },
        {
          name: "likely range",
          cell: k => {
            const { low, high } = data.next[k].outcomes[j];
            return `${text(low)} to ${text(high)}`;
          },
          numeric: true,
        },
      );
    });
    if (model.within) {
      columns.push({
        name: "within all limits",
        key: k => data.next[k].within,
        cell: k => percent(data.next[k].within),
        numeric: true,
      });
    }
  }
  table(host, [...columns, ...parameterColumns((k, j) => data.next[k].params[j])], rows);
}

function drawOutcomeTrials(host) {
  const state = id =>
    trials.state[id] === COMPLETE ? standing(id) : STATE_NAMES[trials.state[id]];
  const isMarked = id => data.front.includes(id);
  const columns = [
    { name: "trial", key: id => id, cell: id => String(id), numeric: true },
    {
      name: "state",
      key: state,
      cell: id => (isMarked(id) ? html("b", { class: "best-mark" }, state(id)) : state(id)),
    },
  ];
  data.outcomes.forEach(({ name, value, mean, sd }, k) => {
    const { text } = measures[k];
    columns.push({
      name,
      key: id => value[id],
      cell: id => (value[id] === null ? "–" : text(value[id], 2)),
      numeric: true,
    });
    if (mean.some(each => each !== null)) {
      columns.push({
        name: "expected",
        key: id => mean[id],
        cell: id => (mean[id] === null ? "–" : `${text(mean[id])} ± ${number(sd[id], 2)}`),
        numeric: true,
      });
    }
  });
  columns.push(
    ...parameterColumns((id, k) => trials.params[k][id]),
    { name: "time", key: lasted, cell: id => span(lasted(id)), numeric: true },
  );
  table(host, columns, everyTrial);
}

const OF_OUTCOMES = {
  importance: drawOutcomeImportance,
  effects: drawOutcomeEffects,
  map: drawOutcomeMap,
  next: drawOutcomeNext,
  trials: drawOutcomeTrials,
};
