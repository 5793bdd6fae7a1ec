"""Decision paths in bulk are those that ``why`` gives one by one."""

import shutil

import numpy as np
import pytest

from imagenet_errors.labels import imagenet_1k
from imagenet_errors.report.page.paths import decision_paths, proposal_places, proposals_of
from imagenet_errors.runs.tables import load_run_tables
from imagenet_errors.why import why


@pytest.fixture(scope="module")
def run(made_run):
    return load_run_tables(made_run.folder)


@pytest.fixture(scope="module")
def paths(run):
    return decision_paths(run, run.cases, imagenet_1k())


def test_every_stage_answers_as_why_does(made_run, run, paths):
    names, cases = run.file_names.to_pylist(), run.cases
    for place in range(0, len(cases), 17):
        prediction = imagenet_1k().names[cases.prediction[place]]
        walks = why(made_run.folder, names[cases.image[place]])
        (walk,) = [walk for walk in walks if walk.prediction == prediction]
        told = {answer.stage: (answer.explains, answer.says) for answer in walk.answers}
        for step in paths.steps:
            explains = None if step.cannot_tell[place] else bool(step.explains[place])
            assert (explains, step.says[place].as_py()) == told[step.stage]


def test_all_paths_end_at_the_written_verdicts(paths):
    assert paths.holds.all()
    assert paths.missing == ""


def test_evidence_is_given_where_there_is_some(run, paths):
    places, told = proposal_places(paths), proposals_of(paths, imagenet_1k())
    assert 0 < (places > 0).sum() < len(run.cases)
    assert len(told) == places.max()
    assert told[0]["support"] == 3
    assert told[0]["best"] == [["</script><b>dog", "n02084071", 0.75, -1]]
    assert told[0]["neighbours"] == [[5, 1], [6, 0]]


def test_changed_evidence_is_said_and_the_path_withheld(made_run, run):
    cases = run.cases
    tampered = np.where(np.arange(len(cases)) < 2, 7 - cases.error_type % 7, cases.error_type)
    changed = decision_paths(run, type(cases)(**{**cases.__dict__, "error_type": tampered}), imagenet_1k())
    assert "2 errors would be judged otherwise now" in changed.missing
    assert changed.holds.tolist() == [False, False] + [True] * (len(cases) - 2)


def test_evidence_that_is_gone_is_said(made_run, tmp_path):
    shutil.copytree(made_run.folder, tmp_path / "run")
    manifest = tmp_path / "run" / "run.json"
    text = manifest.read_text(encoding="utf-8").replace("odd.txt", "gone.txt")
    manifest.write_text(text, encoding="utf-8")
    run = load_run_tables(tmp_path / "run")
    paths = decision_paths(run, run.cases, imagenet_1k())
    assert paths.steps == ()
    assert "gone.txt: no such file" in paths.missing
