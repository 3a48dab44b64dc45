// Colours come from the style sheet, so that canvases follow light and dark as the text does.

const FONT = "12px system-ui, sans-serif";
/** Wait and slowdown, from none to worst: ordered in lightness as well, so that hue is not needed. (After cividis.) */
const SEQUENTIAL = ["#2c5f96", "#5b7f95", "#8c9f86", "#bdb069", "#e8c33f", "#e07b2a", "#b8341f"];
const darkQuery = window.matchMedia("(prefers-color-scheme: dark)");

const cssColour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const seriesColour = (i) => cssColour(`--c${(i % 8) + 1}`);

/** Calls back whenever the reader's system changes between light and dark, until what is returned is called. */
function onThemeChange(redraw) {
  darkQuery.addEventListener("change", redraw);
  return () => darkQuery.removeEventListener("change", redraw);
}
