// The explorer: what is asked for, which errors answer it, in which order, page by page.

const PAGE_SIZE = 50;
const CHOICES = {
  model: "model-is", not: "model-not", label: "label-is", prediction: "prediction-is", superclass: "superclass-is",
  group: "group-is", from: "sure-from", to: "sure-to",
};
const view = { found: [], page: 0, texts: null };

const value = (id) => byId(id)?.value ?? "";
const chosen = (id) => (value(id) === "" ? null : Number(value(id)));
const chips = [...document.querySelectorAll("#types button")];
const pressed = () => chips.filter((chip) => chip.ariaPressed === "true").map((chip) => chip.dataset.type);

// What a search looks through: names of image and classes, superclasses of the label, and the sentence.
function textOf(place) {
  view.texts ??= new Array(nCases);
  const label = labelOf(place);
  view.texts[place] ??= [images.names[cases.image[place]], book.classes[label], book.classes[cases.prediction[place]],
    explanationOf(place), ...superclassNames(label)].join("\n").toLowerCase();
  return view.texts[place];
}

const superclassesOf = (() => {
  const of = new Map();
  book.superclasses.forEach((one, row) => one.members.forEach((index) => of.set(index, [...(of.get(index) ?? []), row])));
  return (index) => of.get(index) ?? [];
})();
const superclassNames = (index) => superclassesOf(index).map((row) => book.superclasses[row].name);

// A test for everything asked for but the error types, whose chips count what each of them would give.
function questionTest() {
  const words = value("q").toLowerCase().split(/\s+/).filter(Boolean);
  const model = chosen("model-is"), not = chosen("model-not"), group = chosen("group-is");
  const label = chosen("label-is"), prediction = chosen("prediction-is"), superclass = chosen("superclass-is");
  const from = chosen("sure-from"), to = chosen("sure-to"), pictured = byId("pictured")?.checked ?? false;
  const members = superclass === null ? null : new Set(book.superclasses[superclass].members);
  return (place) => {
    const image = cases.image[place];
    if (label !== null && images.label[image] !== label) return false;
    if (prediction !== null && cases.prediction[place] !== prediction) return false;
    if (members !== null && !members.has(images.label[image])) return false;
    if (group !== null && !((images.groups[image] >> group) & 1)) return false;
    if (pictured && !hasPicture(image)) return false;
    if (model !== null && makerAt(place, model) < 0) return false;
    if (not !== null && makerAt(place, not) >= 0) return false;
    if (from !== null || to !== null) {
      const sure = confidenceOf(place, model);
      if (sure < 0 || sure < (from ?? 0) / 100 || sure > (to ?? 100) / 100) return false;
    }
    return words.every((word) => textOf(place).includes(word));
  };
}

function compareTexts(key) {
  return (a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : a - b);
}

function sorter() {
  const model = chosen("model-is");
  const sure = new Map();
  const confidence = (place) => sure.get(place) ?? (sure.set(place, confidenceOf(place, model)), sure.get(place));
  const severity = (a, b) => cases.type[b] - cases.type[a];
  const unknownLast = (place) => (confidence(place) < 0 ? 2 : confidence(place));
  return {
    severity: (a, b) => severity(a, b) || confidence(b) - confidence(a) || nMakersOf(b) - nMakersOf(a) || a - b,
    mildest: (a, b) => -severity(a, b) || a - b,
    sure: (a, b) => confidence(b) - confidence(a) || a - b,
    unsure: (a, b) => unknownLast(a) - unknownLast(b) || a - b,
    common: (a, b) => nMakersOf(b) - nMakersOf(a) || severity(a, b) || a - b,
    name: compareTexts((place) => images.names[cases.image[place]]),
    label: compareTexts((place) => book.classes[labelOf(place)].toLowerCase()),
    prediction: compareTexts((place) => book.classes[cases.prediction[place]].toLowerCase()),
  }[value("sort")];
}

function search() {
  const test = questionTest(), wanted = new Set(pressed().map((name) => book.types.indexOf(name)));
  const tallies = new Array(book.types.length).fill(0);
  const found = [];
  for (let place = 0; place < nCases; place++) {
    if (!test(place)) continue;
    tallies[cases.type[place]]++;
    if (wanted.size === 0 || wanted.has(cases.type[place])) found.push(place);
  }
  view.found = found.sort(sorter());
  view.page = 0;
  showTallies(tallies);
  showFound();
  showPage();
}

function showTallies(tallies) {
  for (const chip of chips) {
    chip.querySelector(".tally").textContent = tallies[book.types.indexOf(chip.dataset.type)].toLocaleString("en-US");
  }
  const more = Object.values(CHOICES).filter((id) => value(id) !== "").length + (byId("pictured")?.checked ? 1 : 0);
  byId("n-more").textContent = more ? `(${more} in use)` : "";
}

function showFound() {
  const nImages = new Set(view.found.map((place) => cases.image[place])).size;
  const all = view.found.length === nCases ? "" : ` of ${nCases.toLocaleString("en-US")}`;
  const distinct = book.models.length > 1 && value("model-is") === "" ? "distinct error" : "error";
  byId("count").textContent = view.found.length === 0 ? "No error answers to this."
    : `${view.found.length.toLocaleString("en-US")}${all} ${distinct}${view.found.length === 1 ? "" : "s"} on ${counted(nImages, "image")}`;
  const pairs = new Map();
  for (const place of view.found) {
    const pair = labelOf(place) * 65536 + cases.prediction[place];
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  }
  const often = [...pairs].filter(([, count]) => count > 1).sort((a, b) => b[1] - a[1]).slice(0, 5);
  byId("often").replaceChildren(...(often.length ? ["Most frequent here: ", ...often.flatMap(oftenPair)] : []));
}

function oftenPair([pair, count], place) {
  const label = Math.floor(pair / 65536), prediction = pair % 65536;
  const link = make("a", { href: `#${addressWith({ label, prediction })}` },
    named(book.classes[label]), " → ", named(book.classes[prediction]));
  return [place ? "; " : "", link, ` ${count.toLocaleString("en-US")}`];
}

function showPage() {
  const start = view.page * PAGE_SIZE, end = Math.min(start + PAGE_SIZE, view.found.length);
  byId("rows").replaceChildren(...view.found.slice(start, end).map(rowOf));
  byId("rows").start = start + 1;
  byId("previous").disabled = start === 0;
  byId("next").disabled = end === view.found.length;
  byId("pages").hidden = view.found.length === 0;
  byId("page-of").textContent = `${(start + 1).toLocaleString("en-US")}–${end.toLocaleString("en-US")} of ${view.found.length.toLocaleString("en-US")}`;
}

function turn(by) {
  view.page += by;
  showPage();
  byId("count").scrollIntoView({ block: "start" });
  byId("rows").querySelector("summary")?.focus({ preventScroll: true });
}

// The question as the part of the address behind "#", so that a view can be kept and sent.
function currentQuestion() {
  const asked = Object.entries(CHOICES).map(([name, id]) => [name, value(id)]);
  return { type: pressed().join(","), q: value("q"), sort: value("sort") === "severity" ? "" : value("sort"),
    pictured: byId("pictured")?.checked ? "1" : "", ...Object.fromEntries(asked) };
}

function addressWith(changes = {}) {
  const asked = Object.entries({ ...currentQuestion(), ...changes }).filter(([, text]) => String(text) !== "");
  return `explore/${new URLSearchParams(asked.map(([name, text]) => [name, String(text)]))}`;
}

function ask(address) {
  const asked = new URLSearchParams(address);
  const types = (asked.get("type") ?? "").split(",");
  for (const chip of chips) chip.ariaPressed = String(types.includes(chip.dataset.type));
  for (const [name, id] of Object.entries(CHOICES)) if (byId(id)) byId(id).value = asked.get(name) ?? "";
  byId("q").value = asked.get("q") ?? "";
  byId("sort").value = asked.get("sort") ?? "severity";
  if (byId("sort").selectedIndex < 0) byId("sort").value = "severity";
  if (byId("pictured")) byId("pictured").checked = asked.get("pictured") === "1";
  byId("more").open = Object.values(CHOICES).some((id) => value(id) !== "");
  search();
}

function askedAnew() {
  search();
  // Chromium refuses to rewrite a file's address in some embeddings; the view itself does not hang on it.
  try { history.replaceState(null, "", `#${addressWith()}`); } catch { /* not kept in the address, then */ }
}

function fillChoices() {
  const tally = (of) => {
    const counts = new Map();
    for (let place = 0; place < nCases; place++) counts.set(of(place), (counts.get(of(place)) ?? 0) + 1);
    return [...counts].map(([index, count]) => [index, book.classes[index], count])
      .sort((a, b) => a[1].localeCompare(b[1], "en"));
  };
  const fill = (id, entries) => byId(id)?.append(...entries.map(([key, name, count]) =>
    make("option", { value: key }, count === undefined ? name : `${name} (${count.toLocaleString("en-US")})`)));
  fill("label-is", tally(labelOf));
  fill("prediction-is", tally((place) => cases.prediction[place]));
  fill("group-is", book.groups.map((name, place) => [place, name]));
  fill("superclass-is", book.superclasses.map((one, row) => [row, one.name])
    .sort((a, b) => a[1].localeCompare(b[1], "en")));
}

function watchFilters() {
  let waiting = 0;
  const soon = () => { clearTimeout(waiting); waiting = setTimeout(askedAnew, 120); };
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("filters").addEventListener("input", soon);
  byId("filters").addEventListener("reset", () => setTimeout(() => ask(""), 0));
  byId("reset").addEventListener("click", () => { try { history.replaceState(null, "", "#explorer"); } catch { /* as above */ } });
  for (const chip of chips) {
    chip.addEventListener("click", () => {
      chip.ariaPressed = String(chip.ariaPressed !== "true");
      askedAnew();
    });
  }
  byId("previous").addEventListener("click", () => turn(-1));
  byId("next").addEventListener("click", () => turn(1));
}
