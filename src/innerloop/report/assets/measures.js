// What can be said of the values of all trials: their range, and how they are placed and written.

// values: by trial, null where there is none. minimize: whether low values are good.
function measureOf(values, minimize) {
  const known = values.filter(value => value !== null);
  const better = minimize ? (a, b) => a < b : (a, b) => a > b;
  const lowest = known.reduce((low, value) => Math.min(low, value), Infinity);
  const highest = known.reduce((high, value) => Math.max(high, value), -Infinity);
  const [bestValue, worst] = minimize ? [lowest, highest] : [highest, lowest];
  const canBeLogarithmic = lowest > 0 && highest / lowest > 3;
  const prefersLogarithm = lowest > 0 && highest / lowest > 50;

  // More digits than usual where all values are nearly the same.
  const digits = (() => {
    const largest = Math.max(Math.abs(lowest), Math.abs(highest));
    const half = highest / 2 - lowest / 2;
    return half > 0 && half < largest
      ? Math.min(4 + Math.floor(Math.log10(largest) - Math.log10(half)), 15)
      : 4;
  })();
  const text = (value, more = 0) =>
    number(
      value === null || value === undefined || prefersLogarithm
        ? value
        : visible(value, lowest, highest, 1e-6 * 0.01 ** more),
      digits + more,
    );

  // Where a linear axis ends: a few values that are far worse than all others are left outside.
  const worstShown = (() => {
    const gaps = known.map(value => Math.abs(value / 2 - bestValue / 2)).sort((a, b) => a - b);
    const usual = gaps[Math.floor(0.9 * (gaps.length - 1))];
    if (gaps.length < 10 || !(gaps[gaps.length - 1] > 4 * usual) || usual === 0) return worst;
    return bestValue + (minimize ? 2 : -2) * 1.3 * usual;
  })();

  // The worst value on a scale.
  const worstOn = log => (log ? worst : worstShown);

  // A scale for values, with others that have to be seen too.
  const scale = (log, others = []) => {
    const all = [bestValue, worstOn(log), ...others];
    const usable = log ? all.filter(value => value > 0) : all;
    const low = Math.min(...usable);
    const high = Math.max(...usable);
    return log ? paddedLogarithmic(low, high) : linear(...padded(low, high));
  };

  // 1 for the best value, 0 for the worst that is shown.
  const goodness = (() => {
    const end = worstOn(prefersLogarithm);
    if (end === bestValue) return () => 1;
    const along = prefersLogarithm ? logarithmic(end, bestValue) : linear(end, bestValue);
    return value => Math.min(Math.max(along.at(value), 0), 1);
  })();

  return {
    minimize,
    better,
    bestValue,
    canBeLogarithmic,
    prefersLogarithm,
    text,
    worstShown,
    worstOn,
    scale,
    goodness,
  };
}
