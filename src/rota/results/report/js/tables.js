// Tables are in the page as they are; here they become sortable by a click on a heading, and their groups open.

/** Sorts by the numbers in `data-v`: downwards first, upwards at the second click. */
function makeSortable(table) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => heading.querySelector("button").addEventListener("click", () => {
    const upwards = heading.getAttribute("aria-sort") === "descending";
    headings.forEach((other) => other.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", upwards ? "ascending" : "descending");
    const value = (row) => Number(row.cells[column]?.dataset.v ?? 0);
    const rows = [...table.tBodies[0].rows].sort((a, b) => (value(a) - value(b)) * (upwards ? 1 : -1));
    table.tBodies[0].append(...rows);
  }));
}

/** Shows the rows below the first of a group when that is clicked, and hides them again. */
function makeExpandable(table) {
  for (const group of table.tBodies) {
    const button = group.querySelector("button");
    button.addEventListener("click", () => {
      const open = button.getAttribute("aria-expanded") !== "true";
      button.setAttribute("aria-expanded", String(open));
      for (const row of [...group.rows].slice(1)) row.hidden = !open;
    });
  }
}
