// Elements, figures that follow their width, and a tip beside the pointer.
// Text is always set as text: nothing here can become markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter(child => child !== null));
  return element;
}

function html(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

const redraws = [];

// Calls draw(width) now, when the width has changed, and when the colours have.
function figure(host, draw) {
  let drawn = 0;
  const redraw = () => {
    const width = Math.floor(host.clientWidth);
    if (width > 0) {
      drawn = width;
      draw(width);
    }
  };
  new ResizeObserver(() => {
    if (Math.floor(host.clientWidth) !== drawn) requestAnimationFrame(redraw);
  }).observe(host);
  redraws.push(redraw);
  redraw();
  return redraw;
}

document.documentElement.addEventListener("themechange", () => redraws.forEach(redraw => redraw()));

// Many dots as one element: lines of no length with round ends.
function dots(points, attributes) {
  const path = points.map(([x, y]) => `M${x.toFixed(1)} ${y.toFixed(1)}h0`).join("");
  return svg("path", { "stroke-linecap": "round", fill: "none", d: path, ...attributes });
}

function note(text) {
  return html("p", { class: "note" }, text);
}

// Smaller dots where there are many.
function crowd(points) {
  return points.length > 1500 ? "tiny" : points.length > 250 ? "small" : "";
}

const SHAPES = {
  cross: (x, y, r) => `M${x - r} ${y - r}L${x + r} ${y + r}M${x - r} ${y + r}L${x + r} ${y - r}`,
  diamond: (x, y, r) => `M${x} ${y - r}L${x + r} ${y}L${x} ${y + r}L${x - r} ${y}Z`,
  triangle: (x, y, r) => `M${x} ${y - r}L${x + r} ${y + 0.8 * r}H${x - r}Z`,
  square: (x, y, r) => `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}Z`,
  tick: (x, y, r) => `M${x} ${y - r}v${2 * r}`,
  ring: (x, y, r) => `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`,
  line: (x, y, r) => `M${x - 1.8 * r} ${y}H${x + 1.8 * r}`,
  block: (x, y, r) => `M${x - 1.8 * r} ${y - r}h${3.6 * r}v${2 * r}h${-3.6 * r}Z`,
};

function shapes(kind, points, r, attributes) {
  const round = v => Math.round(10 * v) / 10;
  const d = points.map(([x, y]) => SHAPES[kind](round(x), round(y), r)).join("");
  return svg("path", { d, ...attributes });
}

// Trials that are not within all limits.
function triangles(points) {
  const size = crowd(complete);
  return shapes("triangle", points, { tiny: 2.4, small: 3 }[size] ?? 4, {
    class: `infeasible ${size}`,
  });
}

// entries: [shape, class, label]
function legend(entries) {
  return html(
    "ul",
    { class: "legend" },
    ...entries.map(([shape, name, label]) => {
      const mark =
        shape === "dot"
          ? dots([[9, 7]], { class: name })
          : shapes(shape, [[9, 7]], 4.5, { class: name });
      return html(
        "li",
        {},
        svg("svg", { width: 18, height: 14, "aria-hidden": "true" }, mark),
        label,
      );
    }),
  );
}

// A row of buttons of which one is on. options: [key, label]
function choice(label, options, chosen, change) {
  const group = html("div", { class: "choice", role: "group", "aria-label": label });
  for (const [key, text] of options) {
    const button = html("button", { type: "button", "aria-pressed": String(key === chosen) }, text);
    button.addEventListener("click", () => {
      for (const other of group.children)
        other.setAttribute("aria-pressed", String(other === button));
      change(key);
    });
    group.append(button);
  }
  return group;
}

const tip = document.getElementById("tip");

function showTip(event, lines) {
  tip.replaceChildren(...lines.map(line => html("div", {}, line)));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const right = document.documentElement.clientWidth;
  const x = Math.min(Math.max(event.clientX + 14, 8), Math.max(8, right - width - 8));
  const above = event.clientY - height - 12;
  tip.style.left = `${x}px`;
  tip.style.top = `${above > 4 ? above : event.clientY + 18}px`;
}

function hideTip() {
  tip.hidden = true;
}

addEventListener("scroll", hideTip, { passive: true, capture: true });

// find(x, y) gives the lines to show for a place in the drawing, or null.
function tips(element, width, find) {
  const look = event => {
    const box = element.getBoundingClientRect();
    const scale = width / box.width;
    const lines = find((event.clientX - box.left) * scale, (event.clientY - box.top) * scale);
    if (lines) showTip(event, lines);
    else hideTip();
  };
  element.addEventListener("pointermove", look);
  element.addEventListener("pointerdown", look);
  element.addEventListener("pointerleave", hideTip);
}

// The mark [x, y, ...] nearest to a place, if it is near.
function nearest(marks, x, y, reach = 22) {
  let found = null;
  let least = reach * reach;
  for (const mark of marks) {
    const distance = (mark[0] - x) ** 2 + (mark[1] - y) ** 2;
    if (distance < least) [found, least] = [mark, distance];
  }
  return found;
}
