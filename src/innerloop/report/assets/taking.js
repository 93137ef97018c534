// What readers take away: parameters to paste, trials as a file.

function button(text, act) {
  const made = html("button", { type: "button" }, text);
  made.addEventListener("click", () => act(made));
  return made;
}

// Says for a moment what came of a click.
function acknowledge(pressed, text) {
  const before = pressed.dataset.text ?? pressed.textContent;
  pressed.dataset.text = before;
  pressed.textContent = text;
  setTimeout(() => {
    pressed.textContent = before;
  }, 1500);
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Some browsers refuse that to pages that are files.
    const area = html("textarea", { class: "aside", readonly: "" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

function copyButtons({ json, python }) {
  const one = (text, content) =>
    button(text, async pressed =>
      acknowledge(pressed, (await copy(content)) ? "Copied" : "The browser forbids it"),
    );
  return html(
    "div",
    { class: "actions" },
    one("Copy as JSON", json),
    one("Copy as Python", python),
  );
}

// The trials, which are in the page in a compressed form.
async function csvText() {
  const bytes = Uint8Array.from(atob(data.csv), each => each.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
}

function downloadButton() {
  return button("Download as CSV", async pressed => {
    try {
      const address = URL.createObjectURL(new Blob([await csvText()], { type: "text/csv" }));
      html("a", { href: address, download: data.file }).click();
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
    } catch {
      acknowledge(pressed, "The browser cannot");
    }
  });
}

function drawTaking() {
  if (data.copies) document.querySelector("#summary .params").append(copyButtons(data.copies));
  const host = document.querySelector("#trials > .content");
  if (host && data.csv) host.prepend(html("div", { class: "controls" }, downloadButton()));
}
