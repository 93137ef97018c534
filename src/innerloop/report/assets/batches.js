// Certificates of batches and times, by trial.

function drawCertificates(host) {
  const known = data.batches.filter(([, , fraction]) => fraction !== null);
  if (!known.length) {
    host.append(note("With these settings there are no certificates."));
    return;
  }
  const worst = Math.min(...known.map(([, , fraction]) => fraction));
  scatter(host, {
    points: known.map(([first, size, fraction]) => [first, 100 * fraction, size]),
    y: linear(Math.min(90, Math.floor(10 * worst) * 10), 101),
    yTitle: "guaranteed share of the best choice (%)",
    lines: ([first, share, size]) => [
      size > 1 ? `Trials ${first} to ${first + size - 1}` : `Trial ${first}`,
      `at least ${share.toFixed(1)} % of the best choice`,
    ],
    name: "dot",
  });
  const several = known
    .filter(([, size]) => size > 1)
    .map(([, , fraction]) => fraction)
    .sort((a, b) => a - b);
  if (several.length) {
    const median = several[Math.floor(several.length / 2)];
    const words = [
      `Of ${several.length} batches of two points or more, the middle one has ${percent(median)}`,
      `and the weakest ${percent(several[0])}. A single point has 100 % by itself.`,
    ];
    host.append(note(words.join(" ")));
  } else {
    host.append(note("All points were asked one at a time: the certificate is 100 % by itself."));
  }
}

function drawTimings(host) {
  const timed = everyTrial.filter(id => lasted(id) !== null);
  const grid = html("div", { class: "multiples wide" });
  if (timed.length) {
    const points = timed.map(id => [id, lasted(id), id]);
    grid.append(
      timing("Trials", points, ([, seconds, id]) => [`Trial ${id}: ${span(seconds)}`], "dot"),
    );
  }
  if (data.batches.length) {
    const points = data.batches.map(([first, size, , seconds]) => [first, seconds, size]);
    grid.append(
      timing(
        "Choosing points",
        points,
        ([first, seconds, size]) => [
          `${span(seconds)} for ${size} point${size > 1 ? "s" : ""} from trial ${first}`,
        ],
        "dot gain",
      ),
    );
  }
  if (grid.children.length) host.append(grid);
  else host.append(note("No times are known."));
}

function timing(title, points, lines, name) {
  const seconds = points.map(([, value]) => value).sort((a, b) => a - b);
  const longest = seconds[seconds.length - 1];
  const middle = seconds[Math.floor(seconds.length / 2)];
  const total = seconds.reduce((sum, value) => sum + value, 0);
  const [size, unit] = spanUnit(longest);
  const shortest = seconds.find(value => value > 0);
  const log = seconds[0] > 0 && longest / shortest > 50;
  const card = html("div", { class: "card" }, html("h3", {}, title));
  const words = `Typically ${span(middle)}, at most ${span(longest)}, ${span(total)} added up.`;
  card.append(note(words));
  scatter(card, {
    points: points.map(([at, value, extra]) => [at, value / size, value, extra]),
    y: log
      ? paddedLogarithmic(seconds[0] / size, longest / size)
      : linear(0, (longest / size) * 1.08 || 1),
    yTitle: unit,
    lines: ([at, , value, extra]) => lines([at, value, extra]),
    name,
  });
  return card;
}

// points: [trial, y, ...]; lines(point): what the tip says
function scatter(host, { points, y, yTitle, lines, name }) {
  const drawing = html("div", { class: "figure" });
  host.append(drawing);
  figure(drawing, width => {
    const { root, area, px, py } = plot(width, {
      height: 220,
      x: trialScale(),
      y,
      xTitle: "trial",
      yTitle,
      label: `${yTitle}, by trial`,
    });
    const marks = points.map(point => [px(point[0]), py(point[1]), point]);
    area.append(dots(marks, { class: `${name} ${crowd(marks)}` }));
    tips(root, width, (u, v) => {
      const mark = nearest(marks, u, v);
      return mark && lines(mark[2]);
    });
    drawing.replaceChildren(root);
  });
}
