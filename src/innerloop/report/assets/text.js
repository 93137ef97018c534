// Numbers and times as people read them.

function trimmed(text) {
  const [mantissa, exponent] = text.split("e");
  const short = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
  return exponent === undefined ? short : `${short}e${Number(exponent)}`;
}

function number(value, digits = 5) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (value !== 0 && (size >= 1e6 || size < 1e-4)) {
    return trimmed(value.toExponential(digits - 1));
  }
  const text = Number.isInteger(value) ? String(value) : trimmed(value.toPrecision(digits));
  return text.includes("e") ? String(Math.round(value)) : text;
}

function percent(share) {
  if (share > 0 && share < 0.001) return "<0.1 %";
  const value = 100 * share;
  return `${value < 0.95 || (value > 99 && value < 100) ? value.toFixed(1) : Math.round(value)} %`;
}

// From how many seconds on a unit is used, and how many it has.
const SPANS = [
  [172800, 86400, "days"],
  [7200, 3600, "h"],
  [120, 60, "min"],
  [1, 1, "s"],
  [0, 1e-3, "ms"],
];

// The unit in which a time of so many seconds is best told.
function spanUnit(seconds) {
  return SPANS.find(([least]) => seconds >= least).slice(1);
}

function span(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  const [size, unit] = spanUnit(seconds);
  return `${number(seconds / size, 3)} ${unit}`;
}

const ruler = document.createElement("canvas").getContext("2d");

function textWidth(text, size = 12) {
  ruler.font = `${size}px system-ui, sans-serif`;
  return ruler.measureText(text).width;
}

// As much of a text as fits, with dots where it was cut.
function shorten(text, width, size = 12) {
  if (textWidth(text, size) <= width) return text;
  let end = Math.min(text.length, Math.ceil(width / 3));
  while (end > 1 && textWidth(`${text.slice(0, end)}…`, size) > width) end -= 1;
  return `${text.slice(0, end)}…`;
}
