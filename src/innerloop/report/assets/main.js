// Draws every section that is on the page.

const SECTIONS = {
  front: drawFront,
  hypervolume: drawHypervolume,
  convergence: drawConvergence,
  importance: drawImportance,
  effects: drawEffects,
  map: drawMap,
  next: drawNext,
  parallel: drawParallel,
  certificates: drawCertificates,
  timeline: drawTimeline,
  timings: drawTimings,
  failures: drawFailures,
  trials: drawTrials,
  ...(data.outcomes ? OF_OUTCOMES : {}),
};

for (const [name, draw] of Object.entries(SECTIONS)) {
  const host = document.querySelector(`#${name} > .content`);
  if (host) draw(host);
}
drawTaking();
document.documentElement.dataset.drawn = "yes";

// Inside another page, links to places of this one would load that one.
addEventListener("click", event => {
  const link = event.target.closest("a[href^='#']");
  if (!link || location.protocol !== "about:") return;
  event.preventDefault();
  document.getElementById(link.hash.slice(1))?.scrollIntoView();
});
