// Shares of parameters as bars.

function drawImportance(host) {
  host.append(importanceOf(theView));
}

function importanceOf(view) {
  if (!view.importance.length) {
    return note("The model has learned too little to tell which parameters matter.");
  }
  const changes = new Map(
    view.slices.map(slice => {
      const low = Math.min(...slice.mean);
      const high = Math.max(...slice.mean);
      return [slice.parameter, 2 * (high / 2 - low / 2)];
    }),
  );
  const top = view.importance[0][1];
  const rows = view.importance.map(([k, share]) => {
    const bar = html("div", { class: "fill" });
    bar.style.width = `${Math.max((100 * share) / top, 0.5)}%`;
    const change = changes.get(k);
    const name = parameters[k].name;
    return html(
      "li",
      {},
      html("span", { class: "name", title: name }, name),
      html("div", { class: "track" }, bar),
      html("span", { class: "share" }, percent(share)),
      html("span", { class: "change" }, Number.isFinite(change) ? number(change, 2) : "–"),
    );
  });
  const heads = ["name", "", "share", "change"].map(name =>
    html("span", { class: name }, name === "name" ? "" : name),
  );
  const list = html(
    "ol",
    { class: "importance" },
    html("li", { class: "head", "aria-hidden": "true" }, ...heads),
  );
  return withMore(list, rows, 12, "parameters");
}

// A list of which the first entries are shown, and the others on demand.
function withMore(list, items, first, what) {
  list.append(...items.slice(0, first));
  const whole = html("div", {}, list);
  if (items.length > first) {
    const button = html(
      "button",
      { type: "button", class: "more" },
      `Show all ${items.length} ${what}`,
    );
    button.addEventListener("click", () => {
      list.append(...items.slice(first));
      button.remove();
    });
    whole.append(button);
  }
  return whole;
}
