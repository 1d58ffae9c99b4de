// Downloads of an answer: CSV and Arrow of its rows, SVG and PNG of its charts.

import { fetched } from "../common/api.js";
import { save } from "../common/dom.js";

const ARROW = "application/vnd.apache.arrow.stream";
const SHARPNESS = 2;
const STYLED = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "fill-opacity", "stroke-opacity", "font-size", "font-family",
  "font-weight", "text-anchor", "color"];

// CSV as the API writes it: intervals after noisy values, marks at the end.
export function csv({ columns, rows, intervals, low_precision: weak, clipped }) {
  const wide = columns.map((_, index) => intervals.some((row) => row[index] !== null));
  const marked = wide.some(Boolean);
  const names = columns.flatMap(({ name }, index) => (wide[index] ? [name, `${name}_lo`, `${name}_hi`] : [name]));
  const lines = rows.map((row, place) => row.flatMap((cell, index) => {
    const interval = intervals[place][index];
    return wide[index] ? [cell, interval?.low ?? null, interval?.high ?? null] : [cell];
  }).concat(marked ? [weak[place], clipped[place]] : []));
  return [marked ? [...names, "low_precision", "clipped"] : names, ...lines].map((line) => line.map(quoted).join(",")).join("\r\n") + "\r\n";
}

// Cells that a spreadsheet would run as formulas become text.
function quoted(cell) {
  if (cell === null || cell === undefined) return "";
  const text = typeof cell === "string" && /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// Arrow of a paid answer from the proxy; `reuse: only` makes it free.
export async function arrow(question) {
  const { max_relative_error: _, ...asked } = question;
  save(await fetched("POST", "/v1/query", { ...asked, reuse: "only" }, ARROW), "answer.arrow", ARROW);
}

// Charts below one another, with the page's style written into them.
export function svgOf(pictures) {
  const boxes = pictures.map((picture) => picture.getBoundingClientRect());
  const width = Math.ceil(Math.max(...boxes.map((box) => box.width)));
  const height = Math.ceil(boxes.reduce((sum, box) => sum + box.height, 0));
  const whole = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const paper = getComputedStyle(document.documentElement).getPropertyValue("--card");
  for (const [name, value] of Object.entries({ xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` })) whole.setAttribute(name, value);
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, value] of Object.entries({ width, height, fill: paper.trim() })) ground.setAttribute(name, value);
  whole.append(ground);
  let top = 0;
  pictures.forEach((picture, place) => {
    const drawn = picture.cloneNode(true);
    written(picture, drawn);
    for (const [name, value] of Object.entries({ x: 0, y: top, width: boxes[place].width, height: boxes[place].height })) drawn.setAttribute(name, value);
    for (const style of drawn.querySelectorAll("style")) style.remove();
    whole.append(drawn);
    top += boxes[place].height;
  });
  return { text: new XMLSerializer().serializeToString(whole), width, height };
}

function written(from, to) {
  const style = getComputedStyle(from);
  for (const name of STYLED) to.setAttribute(name, style.getPropertyValue(name));
  [...from.children].forEach((child, place) => written(child, to.children[place]));
}

export function saveSvg(pictures) {
  save(svgOf(pictures).text, "answer.svg", "image/svg+xml");
}

export async function savePng(pictures) {
  const { text, width, height } = svgOf(pictures);
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  await image.decode();
  URL.revokeObjectURL(image.src);
  const canvas = Object.assign(document.createElement("canvas"), { width: SHARPNESS * width, height: SHARPNESS * height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  save(await new Promise((resolve) => canvas.toBlob(resolve, "image/png")), "answer.png", "image/png");
}
