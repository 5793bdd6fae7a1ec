// The explorer: what is asked for, which errors answer it, in which order, page by page. Every state is an address:
// names of models, classes and superclasses, never their numbers.

const PAGE_SIZE = 50;
const view = { found: [], page: 0, texts: null, open: null };

const superclassNamed = new Map(book.superclasses.map((one, row) => [one.name, row]));
const classNamed = new Map(book.classes.map((name, index) => [name, index]));
const modelNamed = new Map(book.models.map((name, index) => [name, index]));
const groupNamed = new Map(book.groups.map((name, index) => [name, index]));
// Address key -> control, and how the control's value is written as a name and read back.
const byName = (names, lookUp) => ({ write: (text) => names[Number(text)], read: (name) => lookUp.get(name) ?? "" });
const plain = { write: (text) => text, read: (text) => text };
const FILTERS = {
  not: ["model-not", byName(book.models, modelNamed)],
  label: ["label-is", byName(book.classes, classNamed)],
  prediction: ["prediction-is", byName(book.classes, classNamed)],
  superclass: ["superclass-is", byName(book.superclasses.map((one) => one.name), superclassNamed)],
  into: ["into-is", byName(book.superclasses.map((one) => one.name), superclassNamed)],
  group: ["group-is", byName(book.groups, groupNamed)],
  peers: ["peers-are", plain],
  from: ["sure-from", plain],
  to: ["sure-to", plain],
  far: ["far-from", plain],
  located: ["locate-is", plain],
  framing: ["stability-is", plain],
};

const chosen = (id) => (value(id) === "" ? null : Number(value(id)));
const chips = [...document.querySelectorAll("#types .chip")];
const pressed = () => chips.filter((chip) => chip.ariaPressed === "true").map((chip) => chip.dataset.type);
const maker = () => (book.models.length > 1 ? chosen("model-is") : 0);

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

function peersTest() {
  const asked = value("peers-are"), model = maker() ?? front.model;
  if (asked === "") return () => true;
  const wrong = peersWrong(model), n = book.peers[model].length;
  return asked === "none" ? (image) => n > 0 && wrong[image] === 0 : (image) => n > 0 && wrong[image] >= 0.9 * n;
}

// A test for everything asked for but the error types, whose chips count what each of them would give.
function questionTest() {
  const words = value("q").toLowerCase().split(/\s+/).filter(Boolean);
  const model = maker(), not = chosen("model-not"), group = chosen("group-is");
  const label = chosen("label-is"), prediction = chosen("prediction-is"), far = chosen("far-from");
  const from = chosen("sure-from"), to = chosen("sure-to"), pictured = byId("pictured")?.checked ?? false;
  const [members, into] = ["superclass-is", "into-is"].map(chosen)
    .map((row) => (row === null ? null : new Set(book.superclasses[row].members)));
  const peers = peersTest(), verdicts = Object.keys(explained).map((method) => [method, value(`${method}-is`)]).filter(([, asked]) => asked !== "");
  return (place) => {
    const image = cases.image[place];
    if (label !== null && images.label[image] !== label) return false;
    if (prediction !== null && cases.prediction[place] !== prediction) return false;
    if (members !== null && !members.has(images.label[image])) return false;
    if (into !== null && !into.has(cases.prediction[place])) return false;
    if (group !== null && !((images.groups[image] >> group) & 1)) return false;
    if (pictured && !hasPicture(image)) return false;
    if (far !== null && distanceOf(place) < far) return false;
    if (model !== null && makerAt(place, model) < 0) return false;
    if (not !== null && makerAt(place, not) >= 0) return false;
    if (!peers(image)) return false;
    if (!verdicts.every(([method, asked]) => verdictAt(method, explainedAt(method, place, model)) === asked)) return false;
    if (from !== null || to !== null) {
      const [sure] = confidenceOf(place, model);
      if (sure < 0 || sure < (from ?? 0) / 100 || sure > (to ?? 100) / 100) return false;
    }
    return words.every((word) => textOf(place).includes(word));
  };
}

function compareTexts(key) {
  return (a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : a - b);
}

function sorter() {
  const model = maker();
  const sure = new Map();
  const confidence = (place) => sure.get(place) ?? (sure.set(place, confidenceOf(place, model)[0]), sure.get(place));
  const severity = (a, b) => cases.type[b] - cases.type[a];
  const framing = (place) => (staysOf(place, model) < 0 ? 2 : staysOf(place, model));
  const unknownLast = (place) => (confidence(place) < 0 ? 2 : confidence(place));
  return {
    severity: (a, b) => severity(a, b) || distanceOf(b) - distanceOf(a) || confidence(b) - confidence(a) || a - b,
    mildest: (a, b) => -severity(a, b) || distanceOf(a) - distanceOf(b) || a - b,
    far: (a, b) => distanceOf(b) - distanceOf(a) || severity(a, b) || a - b,
    sure: (a, b) => confidence(b) - confidence(a) || a - b,
    unsure: (a, b) => unknownLast(a) - unknownLast(b) || a - b,
    framing: (a, b) => framing(a) - framing(b) || severity(a, b) || a - b,
    common: (a, b) => nMakersOf(b) - nMakersOf(a) || severity(a, b) || a - b,
    name: compareTexts((place) => images.names[cases.image[place]]),
    label: compareTexts((place) => book.classes[labelOf(place)].toLowerCase()),
    prediction: compareTexts((place) => book.classes[cases.prediction[place]].toLowerCase()),
  }[value("sort")];
}

function search(page = 0) {
  const test = questionTest(), wanted = new Set(pressed().map((name) => book.types.indexOf(name)));
  const tallies = new Array(book.types.length).fill(0);
  const found = [];
  for (let place = 0; place < nCases; place++) {
    if (!test(place)) continue;
    tallies[cases.type[place]]++;
    if (wanted.size === 0 || wanted.has(cases.type[place])) found.push(place);
  }
  view.found = found.sort(sorter());
  view.page = Math.max(0, Math.min(page, Math.ceil(found.length / PAGE_SIZE) - 1));
  showTallies(tallies);
  showFound();
  showPage();
  showMatrix();
}

function showTallies(tallies) {
  for (const chip of chips) {
    chip.querySelector(".tally").textContent = whole(tallies[book.types.indexOf(chip.dataset.type)]);
  }
  const more = Object.values(FILTERS).filter(([id]) => value(id) !== "").length + (byId("pictured")?.checked ? 1 : 0);
  byId("n-more").textContent = more ? `(${more} in use)` : "";
  const only = byId("of-only");
  if (!only) return;
  const model = maker();
  only.hidden = model === null;
  if (model !== null) only.replaceChildren("of ", named(book.models[model]), " only ", make("span", { "aria-hidden": "true" }, "×"),
    make("span", { class: "hidden" }, ": show the errors of all models"));
}

function showFound() {
  const nImages = new Set(view.found.map((place) => cases.image[place])).size;
  const distinct = book.models.length > 1 && maker() === null ? "distinct error" : "error";
  byId("count").textContent = view.found.length === 0 ? "No error matches."
    : `${counted(view.found.length, distinct)} on ${counted(nImages, "image")}`;
  const pairs = new Map();
  for (const place of view.found) {
    const pair = labelOf(place) * 65536 + cases.prediction[place];
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  }
  const often = [...pairs].filter(([, count]) => count > 1).sort((a, b) => b[1] - a[1]).slice(0, 5);
  byId("often").replaceChildren(...(often.length ? ["Most frequent here: ", ...often.flatMap(oftenPair)] : []));
  byId("export").disabled = view.found.length === 0;
}

function oftenPair([pair, count], place) {
  const label = book.classes[Math.floor(pair / 65536)], prediction = book.classes[pair % 65536];
  const link = make("a", { href: `#${addressWith({ label, prediction })}` }, named(label), " → ", named(prediction));
  return [place ? "; " : "", link, ` ${whole(count)}`];
}

function showPage() {
  const start = view.page * PAGE_SIZE, end = Math.min(start + PAGE_SIZE, view.found.length);
  byId("rows").className = value("view") === "grid" ? "grid-view" : "";
  byId("rows").replaceChildren(...view.found.slice(start, end).map(rowOf));
  byId("rows").start = start + 1;
  byId("previous").disabled = start === 0;
  byId("next").disabled = end === view.found.length;
  byId("pages").hidden = view.found.length <= PAGE_SIZE;
  byId("page-of").textContent = `${whole(start + 1)}–${whole(end)} of ${whole(view.found.length)}`;
}

function turn(by) {
  view.page += by;
  view.open = null;
  showPage();
  keep(true);
  byId("count").scrollIntoView({ block: "start" });
  byId("rows").querySelector("summary")?.focus({ preventScroll: true });
}

// The state as the part of the address behind "#", so that it can be kept and sent; what is as at first is left out.
function currentState() {
  const model = maker(), many = book.models.length > 1;
  const filters = Object.entries(FILTERS).filter(([, [id]]) => value(id) !== "")
    .map(([key, [id, { write }]]) => [key, write(value(id))]);
  return {
    model: many ? book.models[front.model] : "",
    by: many && model !== front.model ? (model === null ? "any" : book.models[model]) : "",
    type: pressed().join(","), ...Object.fromEntries(filters), q: value("q"),
    sort: value("sort") === "severity" ? "" : value("sort"), view: value("view") === "list" ? "" : value("view"),
    pictured: byId("pictured")?.checked ? "1" : "", page: view.page ? String(view.page + 1) : "",
    case: view.open === null ? "" : caseName(view.open),
  };
}

const caseName = (place) => `${images.names[cases.image[place]]}/${book.classes[cases.prediction[place]]}`;

function addressOf(state) {
  const asked = Object.entries(state).filter(([, text]) => text !== "" && text !== undefined);
  return asked.map(([key, text]) => `${key}=${encodeURIComponent(text)}`).join("&");
}

const addressWith = (changes) => addressOf({ ...currentState(), page: "", case: "", ...changes });

// Write the state into the address; ``pushes``: as a step that Back undoes.
function keep(pushes) {
  const address = `#${addressOf(currentState())}`;
  const isKept = address === location.hash || (address === "#" && location.hash === "");
  // Some embeddings refuse to rewrite a file's address; the view itself does not hang on it.
  try { if (!isKept) history[pushes ? "pushState" : "replaceState"](null, "", address); } catch { /* not kept, then */ }
  showTitle();
}

// Show what an address asks for; what it does not name is as at first.
async function ask(address) {
  const asked = new URLSearchParams(address.replaceAll("+", "%2B"));
  const types = (asked.get("type") ?? "").split(",");
  for (const chip of chips) chip.ariaPressed = String(types.includes(chip.dataset.type));
  for (const [key, [id, { read }]] of Object.entries(FILTERS)) {
    if (byId(id)) byId(id).value = asked.has(key) ? read(asked.get(key)) : "";
  }
  await bringToFront(modelNamed.get(asked.get("model")) ?? 0);
  const by = asked.get("by");
  if (byId("model-is")) byId("model-is").value = by === "any" ? "" : String(modelNamed.get(by) ?? front.model);
  byId("q").value = asked.get("q") ?? "";
  for (const [id, first] of [["sort", "severity"], ["view", "list"]]) {
    byId(id).value = asked.get(id) ?? first;
    if (byId(id).selectedIndex < 0) byId(id).value = first;
  }
  if (byId("pictured")) byId("pictured").checked = asked.get("pictured") === "1";
  byId("more").open = Object.values(FILTERS).some(([id]) => value(id) !== "");
  view.open = null;
  search(Number(asked.get("page") ?? 1) - 1);
  if (asked.has("case")) openCase(asked.get("case"));
  showTitle();
}

// Open one error by its name, widening the question if it does not answer it.
function openCase(name) {
  const place = placeOfCase(name);
  if (place < 0) return;
  if (!view.found.includes(place)) {
    for (const chip of chips) chip.ariaPressed = "false";
    for (const [id] of [...Object.values(FILTERS), ["q"], ["model-is"]]) if (byId(id)) byId(id).value = "";
    search();
  }
  view.page = Math.floor(view.found.indexOf(place) / PAGE_SIZE);
  showPage();
  const row = [...document.querySelectorAll("#rows > li")].find((one) => Number(one.dataset.place) === place);
  row.querySelector("details").open = true;
  row.scrollIntoView({ block: "center" });
}

function placeOfCase(name) {
  for (let at = name.lastIndexOf("/"); at > 0; at = name.lastIndexOf("/", at - 1)) {
    const image = images.names.indexOf(name.slice(0, at)), prediction = classNamed.get(name.slice(at + 1));
    for (let place = caseStart[image] ?? 0; image >= 0 && place < caseStart[image + 1]; place++) {
      if (cases.prediction[place] === prediction) return place;
    }
  }
  return -1;
}

function askedAnew(pushes) {
  view.open = null;
  search();
  keep(pushes);
}

function fillChoices() {
  const tally = (of) => {
    const counts = new Map();
    for (let place = 0; place < nCases; place++) counts.set(of(place), (counts.get(of(place)) ?? 0) + 1);
    return [...counts].map(([index, count]) => [index, book.classes[index], count])
      .sort((a, b) => a[1].localeCompare(b[1], "en"));
  };
  const fill = (id, entries) => byId(id)?.append(...entries.map(([key, name, count]) =>
    make("option", { value: key }, count === undefined ? name : `${name} (${whole(count)})`)));
  fill("label-is", tally(labelOf));
  fill("prediction-is", tally((place) => cases.prediction[place]));
  fill("group-is", book.groups.map((name, place) => [place, name]));
  const kinds = book.superclasses.map((one, row) => [row, one.name]).sort((a, b) => a[1].localeCompare(b[1], "en"));
  fill("superclass-is", kinds);
  fill("into-is", kinds);
}

function exportFound() {
  const head = ["file_name", "label", "prediction", "error_type", "wordnet_distance", "n_models", "models", ...Object.keys(explained)];
  const rows = view.found.map((place) => [images.names[cases.image[place]], book.classes[labelOf(place)],
    book.classes[cases.prediction[place]], book.types[cases.type[place]], distanceOf(place) < 0 ? "" : distanceOf(place),
    nMakersOf(place), [...cases.makers.subarray(cases.makerStart[place], cases.makerStart[place + 1])].map((model) => book.models[model]).join(" "),
    ...Object.keys(explained).map((method) => verdictAt(method, explainedAt(method, place, maker())))]);
  download("errors.csv", [head, ...rows]);
}

function watchFilters() {
  let waiting = 0;
  const typed = () => { clearTimeout(waiting); waiting = setTimeout(() => askedAnew(false), 120); };
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("filters").addEventListener("input", (event) => {
    if (event.target.tagName === "SELECT" || event.target.type === "checkbox") askedAnew(true);
    else typed();
  });
  byId("reset").addEventListener("click", (event) => {
    event.preventDefault();
    ask(addressOf({ model: book.models[front.model] })).then(() => keep(true));
  });
  byId("of-only")?.addEventListener("click", () => {
    byId("model-is").value = "";
    askedAnew(true);
  });
  for (const chip of chips) {
    chip.addEventListener("click", () => {
      chip.ariaPressed = String(chip.ariaPressed !== "true");
      askedAnew(true);
    });
  }
  byId("previous").addEventListener("click", () => turn(-1));
  byId("next").addEventListener("click", () => turn(1));
  byId("export").addEventListener("click", exportFound);
}
