// The colours of a map.

// Values over two parameters, turned if they were computed the other way round: m columns, n rows.
function cellsOf(maps, across, up, kind) {
  const own = maps.find(each => each.x === across && each.y === up);
  const map = own ?? maps.find(each => each.x === up && each.y === across);
  const rows = map[kind].length / map.columns;
  return {
    values: map[kind],
    m: own ? map.columns : rows,
    n: own ? rows : map.columns,
    cell: own ? (i, j) => j * map.columns + i : (i, j) => i * map.columns + j,
    sides: own ? map.sides : map.sides.map(([a, b, limit]) => [b, a, limit]),
    blocks: [across, up].map(k => parameters[k].kind === "choice" || parameters[k].steps),
  };
}

// From values to shares of the ramp, and what is written at its ends.
function shadesOf(values, kind, view) {
  if (view.isChance) return { share: value => value, ends: ["0 %", "100 %"], text: percent };
  const isGain = kind === "improvement";
  const known = values.filter(value => value !== null);
  // What the next points promise sets the scale too, so that next to nothing looks like nothing.
  const low = isGain ? 0 : Math.min(...known);
  const high = Math.max(...known, isGain ? model.promise : -Infinity);
  const text = value => (isGain ? number(value, 3) : view.text(value));
  if (!(high / 2 - low / 2 > 0)) return { share: () => 0, ends: [text(low), ""], text };
  const log = !isGain && view.prefersLogarithm && low > 0 && high / low > 50;
  const scale = log ? logarithmic(low, high) : linear(low, high);
  if (isGain) return { share: scale.at, ends: [text(low), text(high)], text };
  const [worst, best] = view.minimize ? [high, low] : [low, high];
  const share = view.minimize ? value => 1 - scale.at(value) : scale.at;
  return { share, ends: [text(worst), `${text(best)} (best)`], text };
}

// Colours every pixel, between the middles of cells where a parameter is continuous.
function paint(canvas, { width, height, box, cells, shares, colour }) {
  const fine = Math.min(window.devicePixelRatio || 1, 2);
  canvas.width = Math.round(width * fine);
  canvas.height = Math.round(height * fine);
  const [left, top] = [Math.round(box.left * fine), Math.round(box.top * fine)];
  const [w, h] = [Math.round(box.right * fine) - left, Math.round(box.bottom * fine) - top];
  if (w < 1 || h < 1) return;
  const { values, cell, sides } = cells;
  const share = values.map(value =>
    value === null ? null : Math.min(Math.max(shares(value), 0), 1),
  );
  const colours = Array.from({ length: 256 }, (_, k) => colour(k / 255));
  const columns = weights(w, cells.m, cells.blocks[0]);
  const rows = weights(h, cells.n, cells.blocks[1]);
  const image = new ImageData(w, h);
  for (let r = 0; r < h; r += 1) {
    const [j, jj, b] = rows[h - 1 - r];
    const v = 1 - (r + 0.5) / h;
    for (let c = 0; c < w; c += 1) {
      const [i, ii, a] = columns[c];
      const u = (c + 0.5) / w;
      if (sides.some(([p, q, limit]) => p * u + q * v > limit + 1e-9)) continue;
      const own = share[cell(a < 0.5 ? i : ii, b < 0.5 ? j : jj)];
      if (own === null) continue;
      const low = mix(share[cell(i, j)] ?? own, share[cell(ii, j)] ?? own, a);
      const high = mix(share[cell(i, jj)] ?? own, share[cell(ii, jj)] ?? own, a);
      const at = 4 * (r * w + c);
      image.data.set(colours[Math.round(255 * mix(low, high, b))], at);
      image.data[at + 3] = 255;
    }
  }
  canvas.getContext("2d").putImageData(image, left, top);
}

function mix(from, to, share) {
  return from + share * (to - from);
}

// For each pixel along a side: the cells it lies between, and how far it is on the way.
function weights(pixels, cells, blocks) {
  return Array.from({ length: pixels }, (_, k) => {
    const place = ((k + 0.5) / pixels) * cells;
    if (blocks) {
      const own = Math.min(Math.floor(place), cells - 1);
      return [own, own, 0];
    }
    const middle = Math.min(Math.max(place - 0.5, 0), cells - 1);
    const first = Math.min(Math.floor(middle), Math.max(cells - 2, 0));
    return [first, Math.min(first + 1, cells - 1), middle - first];
  });
}
