// Columns out of the page's JSON: see embed.py, which writes them.

const byId = (id) => document.getElementById(id);
const READERS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array };

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
}

function columnOf([type, base64]) {
  return new READERS[type](bytesOf(base64).buffer);
}

function bitAt(bytes, place) {
  return (bytes[place >> 3] >> (place & 7)) & 1;
}

// Where each row of a ragged column starts, and where the last one ends.
function startsOf(lengths) {
  const starts = new Uint32Array(lengths.length + 1);
  for (let row = 0; row < lengths.length; row++) starts[row + 1] = starts[row] + lengths[row];
  return starts;
}

// The one way by which texts of the data get onto the page: as text, never as markup.
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") element.className = value;
    else if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

const named = (text) => make("bdi", {}, text);
const slug = (name) => name.replaceAll("_", "-");
const counted = (n, noun) => `${n.toLocaleString("en-US")} ${noun}${n === 1 ? "" : "s"}`;
const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)}%`;

function typeName(name) {
  return make("span", { class: "type" },
    make("i", { class: `swatch t-${slug(name)}`, "aria-hidden": "true" }), make("span", { class: "code" }, name));
}

const book = JSON.parse(byId("explorer-json").textContent);
const images = {
  names: book.images.names,
  label: columnOf(book.images.label),
  groups: columnOf(book.images.groups),
  accepted: columnOf(book.images.accepted),
  acceptedStart: startsOf(columnOf(book.images.n_accepted)),
  thumbnails: book.images.thumbnails,
  links: book.images.links,
};
const cases = {
  image: columnOf(book.cases.image),
  prediction: columnOf(book.cases.prediction),
  type: columnOf(book.cases.type),
  sentence: columnOf(book.cases.explanation.of),
  sentences: book.cases.explanation.texts,
  makers: columnOf(book.cases.makers),
  makerStart: startsOf(columnOf(book.cases.n_makers)),
  confidence: book.cases.confidence === null ? null : columnOf(book.cases.confidence),
};
const nCases = cases.image.length;
const UNKNOWN = 0xffff;
const FAILURE = book.types.length - 1;
const isBare = images.thumbnails.length === 0 && images.links.length === 0;

const labelOf = (place) => images.label[cases.image[place]];
const explanationOf = (place) => cases.sentences[cases.sentence[place]];
const acceptedOf = (image) => images.accepted.subarray(images.acceptedStart[image], images.acceptedStart[image + 1]);
const nMakersOf = (place) => cases.makerStart[place + 1] - cases.makerStart[place];

// Where in the makers' column a model stands for a case; -1 if it does not make that error.
function makerAt(place, model) {
  for (let at = cases.makerStart[place]; at < cases.makerStart[place + 1]; at++) {
    if (cases.makers[at] === model) return at;
  }
  return -1;
}

// A case's confidence in 0..1: that of one model, or the highest of all (model null); -1 if unknown.
function confidenceOf(place, model) {
  if (cases.confidence === null) return -1;
  if (model !== null) {
    const at = makerAt(place, model);
    return at < 0 || cases.confidence[at] === UNKNOWN ? -1 : cases.confidence[at] / 1000;
  }
  let most = -1;
  for (let at = cases.makerStart[place]; at < cases.makerStart[place + 1]; at++) {
    if (cases.confidence[at] !== UNKNOWN) most = Math.max(most, cases.confidence[at] / 1000);
  }
  return most;
}

const hasPicture = (image) => Boolean(images.thumbnails[image] || images.links[image]);

// The decision paths are long, packed, and unpacked when the first row is opened.
let unpacking = null;
function decisionPaths() {
  unpacking ??= unpack(byId("paths-packed").textContent);
  return unpacking;
}

async function unpack(base64) {
  if (base64 === "") return null;
  const stream = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream("gzip"));
  const paths = JSON.parse(await new Response(stream).text());
  return {
    holds: bytesOf(paths.holds),
    steps: paths.steps.map((step) => ({ ...step, explains: bytesOf(step.explains), of: columnOf(step.of) })),
    order: paths.order,
    notRun: paths.not_run,
    proposals: paths.proposals,
    proposalOf: paths.proposal_of === null ? null : columnOf(paths.proposal_of),
  };
}
