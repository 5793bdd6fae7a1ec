// What an opened error shows of its explanations: the hidden part, what it is called then, and the controls beside it.

let explaining = null;
function explanations() {
  explaining ??= byId("explanations-packed") ? unpacked("explanations-packed") : Promise.resolve({});
  return explaining;
}

// For each method that errors are filtered by: its verdicts, and beside the cases' makers a column of them.
const explained = Object.fromEntries(Object.entries(book.explained).map(([method, one]) =>
  [method, { ...one, of: columnOf(one.of), share: one.share ? columnOf(one.share) : null }]));

// Where in the makers' column an error is explained by a method: of the model, or of any (null); -1 if it is not.
function explainedAt(method, place, model) {
  const column = explained[method];
  if (!column) return -1;
  if (model !== null) {
    const at = makerAt(place, model);
    return at >= 0 && column.of[at] ? at : -1;
  }
  for (let at = cases.makerStart[place]; at < cases.makerStart[place + 1]; at++) if (column.of[at]) return at;
  return -1;
}

function verdictAt(method, at) {
  return at < 0 ? "" : explained[method].verdicts[explained[method].of[at] - 1];
}

// The share of reframed pictures that keep the answer; -1 where it was not asked.
function staysOf(place, model) {
  const at = explainedAt("stability", place, model);
  return at < 0 || explained.stability.share[at] === UNKNOWN_DISTANCE ? -1 : explained.stability.share[at] / 100;
}

async function explainedOf(place) {
  const found = (await explanations())[`${images.names[cases.image[place]]}|${cases.prediction[place]}`];
  if (!found) return [];
  const shown = Object.entries(found).flatMap(([model, methods]) => [
    book.models.length > 1 ? make("h4", {}, named(model)) : null,
    methods.locate ? locatedOf(methods.locate, methods.picture) : null, methods.stability ? stabilityOf(methods.stability) : null,
    ...(methods.sis ?? []).map(subsetOf), methods.maps ? mapsOf(methods.maps, methods.picture) : null]);
  return [make("h3", {}, "What in the picture turns the answer"), make("div", { class: "explained" }, ...shown)];
}

function locatedOf(row, picture) {
  const n = row.n_hidden_to_flip, cells = row.grid * row.grid;
  const told = n === null
    ? `With half of the picture hidden it is still not called ${book.classes[row.goal]}.`
    : `With ${counted(n, "cell")} of ${cells} hidden it is called ${book.classes[row.flips_to]} (${row.flips_to_type}).`;
  return make("div", {}, row.shows_picture && picture && n !== null ? hiddenPicture(row, picture) : null,
    make("p", {}, make("b", {}, row.verdict), `: ${told}`),
    make("div", { class: "cells" }, ...cellBar("an accepted label", n, cells), ...cellBar(`the decoy, ${book.classes[row.decoy]}`, row.n_hidden_to_decoy, cells),
      ...(row.chance_flip === null || n === null ? [] : shareBar("random masks of this size", row.chance_flip))),
    row.other_baseline_flips === null ? null : make("p", { class: "fine" }, `Over the other baseline the same mask ${row.other_baseline_flips ? "turns it, too" : "does not turn it"}.`),
    ...(row.transfer ?? []).map((other) => make("p", { class: "fine" }, named(other.model),
      ` calls it ${book.classes[other.before]}, behind the same mask ${book.classes[other.after]}.`)),
    row.shows_picture ? null : make("p", { class: "fine" }, "No picture: errors of this type turn no more often to an accepted label than to a decoy."));
}

function hiddenPicture(row, picture) {
  const side = 100 / row.grid;
  return make("span", { class: "hidden-part" },
    make("img", { src: picture, alt: `The picture as the model sees it, ${counted(row.hidden.length, "cell")} hatched: the hidden part` }),
    ...row.hidden.map((cell) => make("i", { "aria-hidden": "true",
      style: `left:${side * (cell % row.grid)}%;top:${side * Math.floor(cell / row.grid)}%;width:${side}%;height:${side}%` })));
}

function meterOf(name, share, text) {
  const filled = make("i");
  filled.style.width = `${100 * share}%`;
  return [make("span", {}, name), make("span", { class: "meter", "aria-hidden": "true" }, filled), make("span", {}, text)];
}
const cellBar = (name, n, cells) => meterOf(name, n === null ? 1 : n / cells, n === null ? "not reached" : counted(n, "cell"));
const shareBar = (name, share) => meterOf(name, share, `${percent(share, 0)} turn it`);

function stabilityOf(row) {
  if (row.share_stays === null) return null;
  const parts = [`${percent(row.share_stays, 0)} of ${counted(row.n_draws, "flip")}, crops and colour changes keep the answer, ${percent(row.share_right, 0)} are right`];
  if (row.n_else) parts.push(`most often else: ${book.classes[row.else]} (${row.else_type}, ${row.n_else})`);
  if (row.box_answer !== null) parts.push(`cropped to the object: ${book.classes[row.box_answer]} (${row.box_type})`);
  return make("p", {}, make("b", {}, row.verdict === "stable" ? "stable" : "depends on the framing"), `: ${parts.join("; ")}.`);
}

function subsetOf(row) {
  const cells = row.cell === 1 ? "single pixels" : `cells of ${row.cell} pixels`;
  if (row.status !== "found") return make("p", {}, make("b", {}, row.verdict), `: no subset of ${cells} (${row.status.replaceAll("_", " ")}).`);
  return make("p", {}, make("b", {}, row.verdict), `: ${percent(row.share_kept)} of the picture in ${cells} keep the answer (probability ${row.p_kept.toFixed(3)}); `,
    `with their neighbours revealed ${row.p_dilated.toFixed(3)}, random subsets of the size ${row.p_random.toFixed(3)}, the rest alone ${row.p_complement.toFixed(3)}.`);
}

// Agreement first, then all maps side by side, never one alone.
function mapsOf(row, picture) {
  const rank = (value) => (value === null ? "–" : value.toFixed(2));
  return make("div", {},
    make("p", {}, `Maps agree by rank ${rank(row.models)} across models; one model agrees with itself by ${rank(row.within)}.`),
    row.maps.length > 1 ? make("div", { class: "maps" },
      picture ? make("figure", {}, make("img", { src: picture, alt: "The picture as the model sees it" }), make("figcaption", {}, "picture")) : null,
      ...row.maps.map((values, at) => mapOf(values, row.names[at]))) : null);
}

function mapOf(values, name) {
  const side = Math.round(Math.sqrt(values.length)), least = Math.min(...values), span = Math.max(...values) - least || 1;
  const canvas = make("canvas", { width: side, height: side, role: "img", "aria-label": `Map: ${name}` });
  const context = canvas.getContext("2d"), pixels = context.createImageData(side, side);
  values.forEach((value, at) => pixels.data.set([200, 30, 30, 255 * (value - least) / span], 4 * at));
  context.putImageData(pixels, 0, 0);
  return make("figure", {}, canvas, make("figcaption", {}, named(name.replaceAll("_", " "))));
}
