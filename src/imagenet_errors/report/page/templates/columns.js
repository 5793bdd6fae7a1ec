// Columns out of the page's packed JSON: see explorer.py, which writes them.

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

async function unpacked(id) {
  const base64 = byId(id).textContent;
  if (base64 === "") return null;
  const stream = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

const book = await unpacked("book-packed");
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
  sentences: book.cases.explanation.texts.split("\n"),
  makers: columnOf(book.cases.makers),
  makerStart: startsOf(columnOf(book.cases.n_makers)),
  confidence: book.cases.confidence === null ? null : columnOf(book.cases.confidence),
  distance: columnOf(book.cases.distance),
  shared: columnOf(book.cases.shared.of),
  kinds: book.cases.shared.texts.split("\n"),
};
const nCases = cases.image.length;
const UNKNOWN = 0xffff, UNKNOWN_DISTANCE = 0xff;
const CORRECT = book.types.indexOf("correct");
const FAILURE = book.types.indexOf("model_failure");
const ERRORS = book.types.map((_, place) => place).filter((place) => place !== CORRECT);
const isMultiLabel = book.types.map((_, place) => book.multi_label.includes(place));
const isBare = images.thumbnails.length === 0 && images.links.length === 0;

const labelOf = (place) => images.label[cases.image[place]];
const explanationOf = (place) => cases.sentences[cases.sentence[place]];
const acceptedOf = (image) => images.accepted.subarray(images.acceptedStart[image], images.acceptedStart[image + 1]);
const nMakersOf = (place) => cases.makerStart[place + 1] - cases.makerStart[place];
const distanceOf = (place) => (cases.distance[place] === UNKNOWN_DISTANCE ? -1 : cases.distance[place]);

// Cases are in order of their images: where the cases of each image start.
const caseStart = (() => {
  const lengths = new Uint32Array(images.names.length);
  for (const image of cases.image) lengths[image]++;
  return startsOf(lengths);
})();

// Where in the makers' column a model stands for a case; -1 if it does not make that error.
function makerAt(place, model) {
  for (let at = cases.makerStart[place]; at < cases.makerStart[place + 1]; at++) {
    if (cases.makers[at] === model) return at;
  }
  return -1;
}

// A case's confidence in 0..1 and whose it is: that of one model, or the highest of all (model null); -1 if unknown.
function confidenceOf(place, model) {
  if (cases.confidence === null) return [-1, null];
  if (model !== null) {
    const at = makerAt(place, model);
    return at < 0 || cases.confidence[at] === UNKNOWN ? [-1, model] : [cases.confidence[at] / 1000, model];
  }
  let most = -1, whose = null;
  for (let at = cases.makerStart[place]; at < cases.makerStart[place + 1]; at++) {
    if (cases.confidence[at] !== UNKNOWN && cases.confidence[at] > 1000 * most) {
      most = cases.confidence[at] / 1000;
      whose = cases.makers[at];
    }
  }
  return [most, whose];
}

const hasPicture = (image) => Boolean(images.thumbnails[image] || images.links[image]);

// How many of a model's peers (models of the nearest accuracy) get each image wrong.
const peersWrong = (() => {
  const kept = new Map();
  return (model) => {
    if (kept.has(model)) return kept.get(model);
    const isPeer = new Set(book.peers[model]), counts = new Uint16Array(images.names.length);
    for (let place = 0; place < nCases; place++) {
      if (!isMultiLabel[cases.type[place]]) continue;
      for (let at = cases.makerStart[place]; at < cases.makerStart[place + 1]; at++) {
        if (isPeer.has(cases.makers[at])) counts[cases.image[place]]++;
      }
    }
    kept.set(model, counts);
    return counts;
  };
})();

// The decision paths are long, packed, and unpacked when the first row is opened.
let unpacking = null;
function decisionPaths() {
  unpacking ??= unpacked("paths-packed").then((paths) => paths && ({
    holds: bytesOf(paths.holds),
    steps: paths.steps.map((step) => ({
      ...step, explains: bytesOf(step.explains), unknown: bytesOf(step.unknown), texts: step.texts.split("\n"), of: columnOf(step.of),
    })),
    order: paths.order,
    notRun: paths.not_run,
    proposals: paths.proposals,
    proposalOf: paths.proposal_of === null ? null : columnOf(paths.proposal_of),
  }));
  return unpacking;
}
