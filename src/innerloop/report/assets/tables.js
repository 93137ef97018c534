// Tables: sorted by a click on a heading, the first rows at once and the others on demand.

const FIRST_ROWS = 200;
const MORE_ROWS = 1000;

// columns: { name, key(row) to sort by, cell(row) text or element, numeric }
function table(host, columns, rows, first = FIRST_ROWS) {
  const body = html("tbody");
  const tally = note("");
  const more = html("button", { type: "button", class: "more" });
  let order = [...rows];
  let shown = 0;
  const show = count => {
    const until = Math.min(shown + count, order.length);
    for (const row of order.slice(shown, until)) {
      const cells = columns.map(({ numeric, cell }) =>
        html("td", { class: numeric ? "numeric" : null }, cell(row)),
      );
      body.append(html("tr", {}, ...cells));
    }
    shown = until;
    more.hidden = shown >= order.length;
    more.textContent = `Show ${Math.min(MORE_ROWS, order.length - shown)} more`;
    tally.textContent = shown < order.length ? `${shown} of ${order.length} are shown.` : "";
  };
  const headings = columns.map(column => {
    const attributes = { scope: "col", class: column.numeric ? "numeric" : null };
    if (!column.key) return html("th", attributes, column.name);
    const button = html("button", { type: "button" }, column.name);
    const heading = html("th", attributes, button);
    button.addEventListener("click", () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      headings.forEach(other => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      order = sorted(rows, column.key, down);
      const before = Math.max(shown, first);
      body.replaceChildren();
      shown = 0;
      show(before);
    });
    return heading;
  });
  more.addEventListener("click", () => show(MORE_ROWS));
  const whole = html("table", {}, html("thead", {}, html("tr", {}, ...headings)), body);
  host.append(
    html("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table" }, whole),
    tally,
    more,
  );
  show(first);
}

// What is not there comes last, whichever way.
function sorted(rows, key, down) {
  const keys = new Map(rows.map(row => [row, key(row)]));
  const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b) : a - b);
  return [...rows].sort((r, s) => {
    const a = keys.get(r);
    const b = keys.get(s);
    if (a === null || b === null) return (a === null) - (b === null);
    return (down ? -1 : 1) * compare(a, b) || 0;
  });
}

function parameterColumns(valueOf) {
  return parameters.map((parameter, k) => ({
    name: parameter.name,
    key: row => {
      const value = valueOf(row, k);
      return parameter.kind === "choice" && value !== null ? parameterText(parameter, value) : value;
    },
    cell: row => parameterText(parameter, valueOf(row, k)),
    numeric: parameter.kind !== "choice",
  }));
}

function drawTrials(host) {
  const mark = id =>
    id === data.best ? html("b", { class: "best-mark" }, `${id} best`) : String(id);
  table(
    host,
    [
      { name: "trial", key: id => id, cell: mark, numeric: true },
      {
        name: "state",
        key: id => STATE_NAMES[trials.state[id]],
        cell: id => STATE_NAMES[trials.state[id]],
      },
      {
        name: "value",
        key: id => trials.value[id],
        cell: id => valueText(trials.value[id], 2),
        numeric: true,
      },
      {
        name: "expected",
        key: id => trials.mean[id],
        cell: id =>
          trials.mean[id] === null
            ? "–"
            : `${valueText(trials.mean[id])} ± ${number(trials.sd[id], 2)}`,
        numeric: true,
      },
      ...parameterColumns((id, k) => trials.params[k][id]),
      { name: "time", key: lasted, cell: id => span(lasted(id)), numeric: true },
    ],
    everyTrial,
  );
}

function drawNext(host) {
  const rows = data.next.map((_, k) => k);
  const expected = model
    ? [
        {
          name: "expected",
          key: k => data.next[k].mean,
          cell: k => valueText(data.next[k].mean),
          numeric: true,
        },
        {
          name: "likely range",
          cell: k => `${valueText(data.next[k].low)} to ${valueText(data.next[k].high)}`,
          numeric: true,
        },
        {
          name: "chance",
          key: k => data.next[k].chance,
          cell: k => percent(data.next[k].chance),
          numeric: true,
        },
      ]
    : [];
  table(host, [...expected, ...parameterColumns((k, j) => data.next[k].params[j])], rows);
}

function drawFailures(host) {
  const values = id =>
    parameters
      .map((parameter, k) => [parameter, trials.params[k][id]])
      .filter(([, value]) => value !== null)
      .map(
        ([parameter, value]) =>
          `${parameter.name}\u00a0=\u00a0${parameterText(parameter, value)}`,
      )
      .join(", ");
  const reason = id => {
    const [last, full] = data.errors[trials.error[id]];
    if (full === undefined) return html("span", { class: "error" }, last);
    return html("details", {}, html("summary", { class: "error" }, last), html("pre", {}, full));
  };
  table(
    host,
    [
      { name: "trial", key: id => id, cell: id => String(id), numeric: true },
      { name: "error", key: id => data.errors[trials.error[id]][0], cell: reason },
      { name: "parameters", cell: values },
    ],
    failed,
    20,
  );
  host.querySelector("table").classList.add("wrapping");
}
