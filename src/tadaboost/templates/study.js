// SPDX-License-Identifier: Apache-2.0
"use strict";
const table = document.getElementById("cells");
const body = table.tBodies[0];
const rows = Array.from(body.rows);
const said = document.getElementById("said");
const key = (row, i) => row.cells[i].dataset.v ?? row.cells[i].textContent.trim();
table.tHead.querySelectorAll("button").forEach((button, i) => button.addEventListener("click", () => {
  const head = button.parentElement;
  const down = head.getAttribute("aria-sort") === "ascending";
  table.tHead.querySelectorAll("th").forEach((th) => th.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const compare = (a, b) => {
    const x = key(a, i), y = key(b, i);
    if (x === "" || y === "") return (x === "") - (y === "");  // empty cells last, either way
    const order = Number.isNaN(Number(x)) || Number.isNaN(Number(y)) ? x.localeCompare(y) : x - y;
    return down ? -order : order;
  };
  rows.sort(compare);
  body.append(...rows);
  said.textContent = `Sorted by ${button.textContent.trim()}, ${down ? "descending" : "ascending"}.`;
}));
const filter = document.getElementById("filter");
filter.addEventListener("input", () => {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  let left = 0;
  for (const row of rows) {
    const cells = Array.from(row.cells, (cell) => cell.textContent.trim().toLowerCase());
    row.hidden = !words.every((word) => cells.some((cell) => cell === word || (Number.isNaN(Number(word)) && cell.includes(word))));
    left += !row.hidden;
  }
  said.textContent = `${left} of ${rows.length} rows.`;
});
document.getElementById("tools").hidden = false;
