// Elements of the page, made of text only, and what the pages of a run and of the published models share.

const byId = (id) => document.getElementById(id);
const value = (id) => byId(id)?.value ?? "";

// The one way by which texts of the data get onto the page: as text, never as markup.
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, given] of Object.entries(properties)) {
    if (name === "class") element.className = given;
    else if (name in element) element[name] = given;
    else element.setAttribute(name, given);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

const named = (text) => make("bdi", {}, text);
const slug = (name) => name.replaceAll("_", "-");
const whole = (n) => n.toLocaleString("en-US");
const counted = (n, noun) => `${whole(n)} ${noun}${n === 1 ? "" : "s"}`;
const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)}%`;

function typeName(name) {
  return make("span", { class: "type" },
    make("i", { class: `swatch t-${slug(name)}`, "aria-hidden": "true" }), make("span", { class: "code" }, name));
}

function download(name, rows) {
  const cell = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const csv = rows.map((row) => row.map((text) => cell(String(text ?? ""))).join(",")).join("\n");
  const link = make("a", { href: URL.createObjectURL(new Blob([`${csv}\n`], { type: "text/csv" })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// The theme is remembered where the browser allows a file to remember anything.
const THEMES = ["auto", "light", "dark"];
function showTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  if (byId("theme-name")) byId("theme-name").textContent = theme;
}
function rememberedTheme() {
  try { return localStorage.getItem("imagenet-errors-theme") ?? "auto"; } catch { return "auto"; }
}
function watchTheme() {
  byId("theme").addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme ?? "auto") + 1) % THEMES.length];
    showTheme(next);
    try { localStorage.setItem("imagenet-errors-theme", next); } catch { /* then it is not remembered */ }
  });
}
showTheme(THEMES.includes(rememberedTheme()) ? rememberedTheme() : "auto");
