// A page that is written anew while a study goes on shows what is new, at the same place.
(() => {
  "use strict";
  const seconds = Number(document.documentElement.dataset.reload);
  if (!seconds) return;
  const key = `innerloop-place ${location.pathname}`;
  let kept = null;
  try {
    kept = sessionStorage.getItem(key);
  } catch {} // pages from some places may not keep anything
  if (kept !== null) {
    history.scrollRestoration = "manual";
    addEventListener("load", () => scrollTo({ top: Number(kept), behavior: "instant" }));
  }
  addEventListener("pagehide", () => {
    try {
      sessionStorage.setItem(key, String(scrollY));
    } catch {}
  });
  // Not while something is chosen or marked, nor where nobody looks.
  const isBusy = () =>
    document.hidden ||
    document.activeElement?.tagName === "SELECT" ||
    String(getSelection()) !== "";
  setInterval(() => {
    if (!isBusy()) location.reload();
  }, 1000 * seconds);
})();
