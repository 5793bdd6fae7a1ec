"""A job is resumed to the same table, and a shard's failure is its own."""

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pytest

from explain_world import without
from imagenet_errors.explain.job import Asked, ExplainShard, explain_all, schema_of
from imagenet_errors.explain.questions import Question
from imagenet_errors.explain.stability import Stability
from imagenet_errors.predict.engines import LocalEngine
from imagenet_errors.predict.names import ModelSpec, resolve
from imagenet_errors.predict.settings import Settings
from imagenet_errors.problems import InputError
from timm_world import MODELS, make_images


@dataclass(frozen=True)
class Counting:
    """Says how dark the picture is; stops the program at a file's name, as a kill would."""

    name: ClassVar[str] = "counting"
    schema: ClassVar[pa.Schema] = schema_of(("level", pa.float32()), ("twice", pa.float32()))
    stop_at: str = ""

    def rows(self, group, questions):
        for question in questions:
            if question.file_name == self.stop_at:
                raise KeyboardInterrupt
            level = float(group.classifier.see(group.images / question.file).mean())
            yield [{"level": level, "verdict": "told"}]

    def finish(self, rows, judge):
        for row in rows:
            row["twice"] = None if row["level"] is None else 2 * row["level"]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Twenty images, what a tiny network calls them, and its specification."""
    resolve(["tiny_net"], register=[MODELS])
    folder = make_images(tmp_path_factory.mktemp("job") / "images", 20)
    work = ExplainShard(Asked(ModelSpec("tiny_net.seed1")), folder, Counting(), Settings(device="cpu", batch_size=4))
    from imagenet_errors.explain.job import load_models

    classifier = load_models(work.asked, work.settings, folder).classifier
    names = sorted(path.name for path in folder.iterdir())
    answers = [int(classifier.logits(classifier.see(folder / name)[None]).argmax()) for name in names]
    questions = tuple(
        Question(name, name, answer, 0, (0,), "model_failure") for name, answer in zip(names, answers, strict=True)
    )
    return folder, work, questions


def ask(work, questions, out, told=None):
    tell = (lambda *_: None) if told is None else lambda outcome, number, of: told.append((outcome.name, of))
    return explain_all(
        work, questions, out, engine=LocalEngine(), judge=lambda names, _: ["model_failure"] * len(names), tell=tell
    )


def changed(work, **parts):
    return ExplainShard(**{**work.__dict__, **parts})


def test_every_question_has_its_row_in_their_order(world, tmp_path):
    _, work, questions = world
    made = ask(work, questions, tmp_path / "t.parquet")
    rows = made.table.to_pylist()
    assert [row["file_name"] for row in rows] == [question.file_name for question in questions]
    assert all(row["twice"] == pytest.approx(2 * row["level"]) for row in rows)
    assert not (tmp_path / "t.parts").exists()


def test_a_killed_job_resumes_to_the_same_table(world, tmp_path):
    _, work, questions = world
    whole = ask(work, questions, tmp_path / "whole.parquet").table
    stopping = changed(work, method=Counting(stop_at=questions[11].file_name))
    with pytest.raises(KeyboardInterrupt):
        ask(stopping, questions, tmp_path / "killed.parquet")
    parts = tmp_path / "killed.parts"
    assert [path.name for path in sorted(parts.glob("*.parquet"))] == ["00000.parquet"]
    facts = (parts / "facts.json").read_text()
    (parts / "facts.json").write_text(facts.replace(questions[11].file_name, ""))
    told = []
    resumed = ask(work, questions, tmp_path / "killed.parquet", told).table
    assert told == [("00001", 2), ("00002", 2)]
    assert without(resumed, "seconds") == without(whole, "seconds")


def test_the_same_command_again_reads_the_table_back(world, tmp_path):
    _, work, questions = world
    first, told = ask(work, questions, tmp_path / "t.parquet"), []
    again = ask(work, questions, tmp_path / "t.parquet", told)
    assert told == []
    assert again.table.equals(first.table)


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param({"settings": Settings(device="cpu", batch_size=5)}, id="other batches"),
        pytest.param({"asked": Asked(ModelSpec("tiny_net.seed1"), input_dropout=0.8)}, id="another remedy"),
        pytest.param({"asked": Asked(ModelSpec("tiny_net.seed1"), compiled=True)}, id="compiled"),
        pytest.param({"method": Counting(stop_at="nowhere")}, id="other options"),
    ],
)
def test_a_table_of_something_else_is_made_anew(world, tmp_path, parts):
    _, work, questions = world
    ask(work, questions[:3], tmp_path / "t.parquet")
    told = []
    ask(changed(work, **parts), questions[:3], tmp_path / "t.parquet", told)
    assert len(told) == 1


def test_a_file_that_a_method_reads_counts_by_its_content(world, tmp_path):
    _, work, questions = world
    boxes = tmp_path / "boxes.csv"
    boxes.write_text("file_name,x0,y0,x1,y1\n", encoding="utf-8")
    asked = changed(work, method=Stability(n_crops=1, n_colours=1, boxes=boxes))
    assert ask(asked, questions[:1], tmp_path / "t.parquet").table["box_answer"].to_pylist() == [None]
    boxes.write_text(f"file_name,x0,y0,x1,y1\n{questions[0].file_name},0,0,4,4\n", encoding="utf-8")
    told = []
    assert None not in ask(asked, questions[:1], tmp_path / "t.parquet", told).table["box_answer"].to_pylist()
    assert len(told) == 1


def test_an_unreadable_image_and_another_answer_have_their_own_verdicts(world, tmp_path):
    folder, work, questions = world
    for question in questions[:2]:
        (tmp_path / question.file).write_bytes((folder / question.file).read_bytes())
    (tmp_path / questions[0].file).write_bytes(b"no image")
    other = Question(**{**questions[1].__dict__, "prediction": (questions[1].prediction + 1) % 1000})
    rows = ask(changed(work, images=tmp_path), [questions[0], other, questions[1]], tmp_path / "t.parquet").table
    assert rows["verdict"].to_pylist() == ["unreadable", "other_answer", "told"]


def test_a_model_that_fails_fails_its_shard(world, tmp_path):
    _, work, questions = world
    failing = changed(work, asked=Asked(ModelSpec("raising_net.x")))
    with pytest.raises(InputError, match="cannot see"):
        ask(failing, questions[:2], tmp_path / "t.parquet")


def test_an_ensemble_of_one_model_twice_is_that_model(world):
    import numpy as np

    from imagenet_errors.explain.classifier import ensemble, with_input_dropout
    from imagenet_errors.explain.job import load_models

    folder, work, questions = world
    one = load_models(work.asked, work.settings, folder).classifier
    pixels = one.see(folder / questions[0].file)[None]
    np.testing.assert_allclose(ensemble([one, one]).logits(pixels), one.logits(pixels), atol=1e-5)
    dropped = with_input_dropout(one, 0.8, seed=0)
    np.testing.assert_array_equal(dropped.logits(pixels), dropped.logits(pixels))
    assert not np.allclose(dropped.logits(pixels), one.logits(pixels))
    with pytest.raises(InputError, match="share"):
        with_input_dropout(one, 0, seed=0)
