"""Runs to report on: made-up ones with everything in them, a hostile one, the shipped predictions; a browser."""

import base64
import gzip
import json
import os
import shutil
import subprocess
import tarfile
import time
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from imagenet_errors.evaluation import evaluate
from imagenet_errors.readers.predictions import ReadRules
from imagenet_errors.report.page.page import ReportRequest, write_report
from imagenet_errors.shipped import shipped
from toy import inputs_of

HOSTILE_NAMES = {
    "closing tag": "x/</script><script>window.hacked=1</script><img src=y onerror=window.hacked=1>.jpg",
    "quotes": "x/\"onmouseover='window.hacked=1' `${window.hacked=1}`.jpg",
    "right to left": "x/\u202egpj.שלום.jpg",
    "very long": f"x/{'long' * 60}.jpg",
}
HOSTILE_MODEL = "<b onclick='window.hacked=1'>\"{{ 7 * 7 }}&amp;\u202e\u2028"


@dataclass(frozen=True)
class MadeRun:
    """A run directory, and what it was made from."""

    folder: Path
    annotations: Path

    def verdicts(self, model):
        return pd.read_parquet(self.folder / "verdicts" / f"{model}.parquet")


def predictions_file(path, names, top1, confidence):
    columns = {"file_name": names, "predicted_class": top1, "predicted_probability": confidence}
    pd.DataFrame(columns).to_parquet(path)
    return path


@pytest.fixture(scope="session")
def made_run(tmp_path_factory, val_images):
    """Three models on 300 images, the third on 200 of them, with all evidence."""
    folder = tmp_path_factory.mktemp("made")
    random = np.random.default_rng(3)
    names, label = np.array(val_images.names), val_images.label
    files = []
    for model, accuracy in (("good", 0.8), ("fair", 0.7), ("part", 0.6)):
        n_images = 200 if model == "part" else len(names)
        wrong = random.random(n_images) > accuracy
        near = np.clip(label[:n_images] + random.integers(1, 4, n_images), 0, 999)
        top1 = np.where(wrong, near, label[:n_images])
        files.append(predictions_file(folder / f"{model}.parquet", names[:n_images], top1, random.random(n_images)))
    wrong = pd.concat(pd.read_parquet(file).assign(label=label[: len(pd.read_parquet(file))]) for file in files)
    wrong = wrong[wrong.predicted_class != wrong.label].drop_duplicates(["file_name", "predicted_class"])
    listed = folder / "odd.txt"
    listed.write_text("\n".join(sorted(set(wrong.file_name))[::6]) + "\n", encoding="utf-8")
    sources = inputs_of(
        str(val_images.annotations(folder / "annotations.csv")),
        oov_evidence=oov_evidence(folder / "oov.parquet", wrong),
        non_prototypical=(listed,),
    )
    evaluate(tuple(files), sources, folder / "run", rules=ReadRules(allow_partial=True, check_order=False))
    return MadeRun(folder / "run", folder / "annotations.csv")


def oov_evidence(path, wrong):
    """Every second case has evidence; every fourth is out of vocabulary; proposals with a hostile name."""
    chosen = wrong.iloc[::2]
    proposals = [[{"synset": "n02084071", "name": "</script><b>dog", "score": 0.75}]] * len(chosen)
    columns = {
        "file_name": chosen.file_name.tolist(),
        "prediction": pa.array(chosen.predicted_class.tolist(), type=pa.int16()),
        "is_oov": [place % 2 == 0 for place in range(len(chosen))],
        "neighbour_support": pa.array([3] * len(chosen), type=pa.int16()),
        "top_proposals": proposals,
        "neighbour_classes": pa.array([[5, 6]] * len(chosen), type=pa.list_(pa.int16())),
        "neighbour_is_kin": [[True, False]] * len(chosen),
    }
    pq.write_table(pa.table(columns), path)
    return path


@pytest.fixture(scope="session")
def hostile_run(tmp_path_factory):
    """One model, four images; every name tries to be markup or script."""
    folder = tmp_path_factory.mktemp("hostile")
    names = list(HOSTILE_NAMES.values())
    annotations = pd.DataFrame({"file_name": names, "labels": [[1], [2], [3], [4]], "label": [1, 2, 3, 4]})
    annotations.to_parquet(folder / "annotations.parquet")
    file = predictions_file(folder / f"{HOSTILE_MODEL}.parquet", names, [404, 405, 406, 4], [0.5, 0.6, 0.7, 0.8])
    sources = inputs_of(str(folder / "annotations.parquet"))
    evaluate((file,), sources, folder / "run", rules=ReadRules(check_order=False))
    return MadeRun(folder / "run", folder / "annotations.parquet")


@pytest.fixture(scope="session")
def demo_run(tmp_path_factory):
    """The shipped predictions of three real models."""
    folder = tmp_path_factory.mktemp("demo") / "run"
    sources = inputs_of("real")
    evaluate((shipped("data", "demo"),), sources, folder, rules=ReadRules(allow_partial=True))
    return MadeRun(folder, folder)


@pytest.fixture(scope="session")
def demo_page(demo_run):
    """The report on the shipped predictions."""
    return write_report(ReportRequest(demo_run.folder)).path


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Headless Chromium that tells its console and its network; Debian's, never a downloaded one."""
    programs = [shutil.which(name) for name in ("chromium", "chromedriver")]
    if None in programs:
        pytest.skip("no Chromium here (Debian: apt-get install chromium chromium-driver)")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = programs[0]
    for switch in SWITCHES:
        options.add_argument(f"--{switch}")
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(programs[1]))
    yield driver
    driver.quit()


SWITCHES = (
    *("headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking"),
    *("disable-component-update", "disable-sync", "disable-dev-shm-usage", "window-size=1440,900"),
)


class Visit:
    """One page in the browser, and what it says there."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, path, address=""):
        self.driver.get("about:blank")
        self.driver.get_log("browser"), self.driver.get_log("performance")
        self.driver.get(f"{path.as_uri()}{address}")
        self.until("document.documentElement.dataset.ready")
        return self

    def js(self, script, *arguments):
        return self.driver.execute_script(f"return {script}", *arguments)

    def until(self, script, seconds=15):
        end = time.monotonic() + seconds
        while not self.js(script):
            assert time.monotonic() < end, f"never came true: {script}"
            time.sleep(0.03)

    def choose(self, **values):
        """Set filters by id (``_`` for ``-``) as a person would, and wait for the answer."""
        for name, text in values.items():
            self.driver.execute_script(
                "const box = document.getElementById(arguments[0]); box.value = arguments[1];"
                "box.dispatchEvent(new Event('input', { bubbles: true }));",
                name.replace("_", "-"),
                str(text),
            )
        time.sleep(0.3)

    def bring(self, place):
        """Bring another model to the front."""
        before = self.js("document.getElementById('claim').textContent")
        self.driver.execute_script(
            "const box = document.getElementById('focus'); box.value = arguments[0];"
            "box.dispatchEvent(new Event('change'));",
            str(place),
        )
        if self.js("document.getElementById('claim').textContent") == before:
            self.until(f"document.getElementById('claim').textContent !== {json.dumps(before)}")
        # The address follows last.
        self.until(
            "new URLSearchParams(location.hash.slice(1)).get('model') ==="
            " document.getElementById('focus').selectedOptions[0].text"
        )

    def press(self, *keys):
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    @property
    def count(self):
        return int(self.js("document.getElementById('count').textContent").split()[0].replace(",", ""))

    @property
    def requests(self):
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
        return [params["request"]["url"] for params in sent]


@pytest.fixture
def visit(browser):
    emulate(browser, width=1440, height=900)
    return Visit(browser)


def emulate(driver, *, width, height, scheme="light"):
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    """axe-core's script; fetched from npm's registry by npm, never part of this project."""
    given = os.environ.get("AXE_CORE")
    if given:
        return Path(given).read_text(encoding="utf-8")
    if shutil.which("npm") is None:
        pytest.skip("no npm here to fetch axe-core with (or name axe.min.js in AXE_CORE)")
    folder = tmp_path_factory.mktemp("axe")
    packed = subprocess.run(["npm", "pack", "axe-core@4", "--silent"], cwd=folder, capture_output=True, check=False)
    archives = list(folder.glob("axe-core-*.tgz"))
    if packed.returncode or not archives:
        pytest.skip("npm cannot fetch axe-core here")
    with tarfile.open(archives[0]) as archive:
        return archive.extractfile("package/axe.min.js").read().decode()


def violations(visit, axe):
    """What axe-core finds wrong with the page as it is now."""
    visit.driver.execute_script(axe)
    found = visit.driver.execute_async_script(
        "const done = arguments[0]; axe.run({ resultTypes: ['violations'] }).then((answer) => done(answer.violations));"
    )
    return [(one["id"], node["html"][:120], node["failureSummary"][:200]) for one in found for node in one["nodes"][:3]]


class Page(HTMLParser):
    """Everything that a browser would take for an element, an address or text."""

    def __init__(self, path):
        super().__init__()
        self.tags, self.addresses, self.handlers, self.blocks, self.text = [], [], [], {}, []
        self._inside = None
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.tags.append(tag)
        self.addresses += [given[name] for name in ("href", "src", "action") if name in given]
        self.handlers += [name for name in given if name.startswith("on")]
        self._inside = (tag, given.get("id")) if tag in ("script", "style") else None

    def handle_endtag(self, tag):
        self._inside = None

    def handle_data(self, data):
        if self._inside:
            self.blocks[self._inside] = data
        else:
            self.text.append(data)

    def packed(self, name):
        text = self.blocks["script", name]
        return json.loads(gzip.decompress(base64.b64decode(text))) if text else None

    @property
    def book(self):
        return self.packed("book-packed")

    @property
    def plain(self):
        return " ".join("".join(self.text).split())
