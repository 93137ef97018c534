// Scales take values to places between 0 and 1, and know where to put ticks.
// Halves are used throughout, because the difference of two huge numbers may overflow.

function linear(low, high, { whole = false } = {}) {
  const half = high / 2 - low / 2;
  return {
    low,
    high,
    at: value => (value / 2 - low / 2) / half,
    ticks: count => linearTicks(low, high, count, whole),
  };
}

function logarithmic(low, high) {
  const start = Math.log10(low);
  const length = Math.log10(high) - start;
  return {
    low,
    high,
    at: value => (Math.log10(value) - start) / length,
    ticks: count => logarithmicTicks(low, high, count),
  };
}

function bands(labels) {
  return {
    labels,
    at: index => (index + 0.5) / labels.length,
    ticks: () => labels.map((label, value) => ({ value, label })),
  };
}

function niceStep(step, whole) {
  const power = 10 ** Math.floor(Math.log10(step));
  const digit = step / power;
  const nice = power * (digit < 1.5 ? 1 : digit < 3.5 ? 2 : digit < 7.5 ? 5 : 10);
  return whole ? Math.max(1, Math.round(nice)) : nice;
}

function linearTicks(low, high, count, whole) {
  const step = niceStep(2 * ((high / 2 - low / 2) / count), whole);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  const ticks = [];
  for (let k = first, turns = 0; k <= last && turns < 60; k += 1, turns += 1) {
    const value = k * step;
    if (Number.isFinite(value)) ticks.push({ value, label: tickLabel(value, step, low, high) });
  }
  return ticks.length ? ticks : [{ value: low, label: number(low) }];
}

function tickLabel(value, step, low, high) {
  if (value === 0) return "0";
  const largest = Math.max(Math.abs(low), Math.abs(high));
  const scale = Math.floor(Math.log10(step));
  if (largest >= 1e-4 && largest < 1e6) {
    return value.toFixed(Math.min(Math.max(-scale, 0), 20)).replace("-", "\u2212");
  }
  const digits = Math.min(Math.max(Math.floor(Math.log10(Math.abs(value))) - scale, 0), 15);
  const text = trimmed(value.toExponential(digits));
  return text.replace("e-", "e\u2212").replace(/^-/, "\u2212");
}

function logarithmicTicks(low, high, count) {
  const from = Math.ceil(Math.log10(low) - 1e-9);
  const to = Math.floor(Math.log10(high) + 1e-9);
  const decades = to - from + 1;
  if (decades < 2 && high / low < 20)
    return linearTicks(low, high, count, false).filter(t => t.value > 0);
  const factors = decades <= count / 3 ? [1, 2, 5] : decades <= count / 2 ? [1, 3] : [1];
  const every = Math.max(1, Math.ceil(decades / count));
  const ticks = [];
  for (let k = from - 1; k <= to; k += 1) {
    for (const factor of k % every === 0 ? factors : []) {
      const value = factor * 10 ** k;
      if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) {
        ticks.push({ value, label: number(Number(value.toPrecision(2)), 2) });
      }
    }
  }
  return ticks;
}

// Limits that leave some room around values, also around a single one.
function padded(low, high, share = 0.05) {
  const largest = Number.MAX_VALUE;
  let room = 2 * share * (high / 2 - low / 2);
  if (!(high / 2 - low / 2 > 0)) room = Math.abs(low) * 0.1 || 1;
  return [Math.max(low - room, -largest), Math.min(high + room, largest)];
}

function paddedLogarithmic(low, high) {
  const factor = high > low ? Math.min((high / low) ** 0.05, 1e15) : 1.2;
  return logarithmic(Math.max(low / factor, 5e-324), Math.min(high * factor, Number.MAX_VALUE));
}

// The scale of a parameter. roomy: with some space beyond its ends.
function parameterScale(parameter, roomy = true) {
  if (parameter.kind === "choice") return bands(parameter.values);
  const { low, high, log, kind } = parameter;
  if (log) return roomy ? paddedLogarithmic(low, high) : logarithmic(low, high);
  return linear(...(roomy ? padded(low, high, 0.03) : [low, high]), { whole: kind === "integer" });
}

// Parameters that do not apply have no value.
function parameterText(parameter, value) {
  if (value === null) return "–";
  if (parameter.kind === "choice") return parameter.values[value];
  return number(parameter.log ? value : visible(value, parameter.low, parameter.high));
}

// 0 in place of what is nothing beside a range.
function visible(value, low, high, share = 1e-6) {
  return Math.abs(value) < share * (high / 2 - low / 2) ? 0 : value;
}
