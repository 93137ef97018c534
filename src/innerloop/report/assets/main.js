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
