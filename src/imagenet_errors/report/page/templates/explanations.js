// What an opened error shows of its explanations: the hidden part, what it is called then, and the controls beside it.

const explanations = JSON.parse(document.getElementById("explanations-json")?.textContent ?? "{}");

function explainedOf(place) {
  const found = explanations[`${images.names[cases.image[place]]}|${cases.prediction[place]}`];
  if (!found) return null;
  return make("div", { class: "explained" }, make("h4", {}, "What in the picture"),
    found.locate ? locatedOf(found.locate) : null, found.stability ? stabilityOf(found.stability) : null,
    found.sis ? subsetOf(found.sis) : null, found.maps ? mapsOf(found.maps) : null);
}

function locatedOf(row) {
  const n = row.n_hidden_to_flip, cells = row.grid * row.grid;
  const told = n === null
    ? `With half of the picture hidden it is still not ${book.classes[row.goal]}.`
    : `With ${counted(n, "cell")} of ${cells} hidden it is called ${book.classes[row.flips_to]} (${row.flips_to_type}).`;
  return make("div", {}, row.picture ? hiddenPicture(row, n ?? 0) : null, make("p", {}, make("b", {}, row.verdict), `: ${told}`),
    bar("accepted answer", n, cells), bar(`decoy ${book.classes[row.decoy]}`, row.n_hidden_to_decoy, cells),
    row.chance_flip === null ? null : make("p", { class: "fine" }, `${percent(row.chance_flip, 0)} of random masks of this size turn it too${
      row.other_baseline_flips === null ? "" : row.other_baseline_flips ? "; so does this mask over the other baseline" : "; this mask over the other baseline does not"}.`),
    ...(row.transfer ?? []).map((other) => make("p", { class: "fine" }, named(other.model),
      `: ${book.classes[other.before]}, behind the mask ${book.classes[other.after]}`)));
}

function hiddenPicture(row, n) {
  const side = 100 / row.grid;
  return make("span", { class: "hidden-part" },
    make("img", { src: row.picture, alt: "The picture as the model sees it; hidden cells are hatched" }),
    ...row.order.slice(0, n).map((cell) => make("i", {
      style: `left:${side * (cell % row.grid)}%;top:${side * Math.floor(cell / row.grid)}%;width:${side}%;height:${side}%` })));
}

function bar(name, n, cells) {
  return make("p", { class: "cells" }, make("span", {}, name),
    make("meter", { min: 0, max: cells, value: n ?? cells }), n === null ? " not reached" : ` ${counted(n, "cell")}`);
}

function stabilityOf(row) {
  if (row.share_stays === null) return null;
  return make("p", {}, make("b", {}, row.verdict),
    `: ${percent(row.share_stays, 0)} of ${counted(row.answers.length, "flip, crop or colour change")} keep the answer, ${percent(row.share_right, 0)} are right.`);
}

function subsetOf(row) {
  if (row.status !== "found") return null;
  return make("p", {}, make("b", {}, row.verdict), `: ${percent(row.share_kept)} of the pixels keep the answer; with their neighbours `,
    `revealed its probability is ${row.p_dilated.toFixed(3)}, random subsets of the size give ${row.p_random.toFixed(3)}.`);
}

// Agreement first, then all maps side by side, never one alone.
function mapsOf(row) {
  const ranks = (kind) => row.agreement.filter((each) => each.compared === kind && each.spearman !== null).map((each) => each.spearman);
  const mean = (values) => values.length ? (values.reduce((sum, value) => sum + value, 0) / values.length).toFixed(2) : "–";
  return make("div", {}, make("p", {}, `Maps agree by rank ${mean(ranks("models"))} across models, ${mean(ranks("within"))} within one.`),
    make("div", { class: "maps" }, ...(row.maps ?? []).map((values, at) => mapOf(values, row.names[at]))));
}

function mapOf(values, name) {
  const side = Math.round(Math.sqrt(values.length)), least = Math.min(...values), span = Math.max(...values) - least || 1;
  const canvas = make("canvas", { width: side, height: side, role: "img", "aria-label": `Map: ${name}` });
  const context = canvas.getContext("2d"), pixels = context.createImageData(side, side);
  values.forEach((value, at) => pixels.data.set([200, 30, 30, 255 * (value - least) / span], 4 * at));
  context.putImageData(pixels, 0, 0);
  return make("figure", {}, canvas, make("figcaption", { class: "fine" }, named(name)));
}
