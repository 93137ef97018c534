// Light or dark: as the system has it, until the reader says otherwise; light on paper.
(() => {
  "use strict";
  const key = "innerloop-theme";
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  try {
    const kept = localStorage.getItem(key);
    if (kept === "light" || kept === "dark") chosen = kept;
  } catch {} // pages from some places may not keep anything

  const current = () => chosen ?? (system.matches ? "dark" : "light");
  const apply = theme => {
    root.dataset.theme = theme;
    const button = document.getElementById("theme");
    if (button) {
      button.textContent = current() === "dark" ? "Light" : "Dark";
      button.setAttribute("aria-label", `Switch to ${button.textContent.toLowerCase()} colours`);
      button.hidden = false;
    }
    root.dispatchEvent(new Event("themechange"));
  };
  const toggle = () => {
    chosen = current() === "dark" ? "light" : "dark";
    try {
      localStorage.setItem(key, chosen);
    } catch {}
    apply(chosen);
  };

  apply(current());
  system.addEventListener("change", () => apply(current()));
  addEventListener("beforeprint", () => apply("light"));
  addEventListener("afterprint", () => apply(current()));
  addEventListener("DOMContentLoaded", () => {
    apply(current());
    document.getElementById("theme").addEventListener("click", toggle);
  });
})();
