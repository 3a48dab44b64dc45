// Tables are in the page as they are; here they become sortable by a click on a heading.

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
