"""The panel's files become cases: exactly their images and predictions, and what cannot be one is refused."""

import pytest

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.readers.annotations import read_annotations
from imagenet_errors.study.panel import evaluated, panel_files, read_panel, shared_mistakes
from panel_world import JUDGED, JUDGED_AGAIN, panel_world, write_judgements

PROBLEMATIC = ("i6.JPEG", 30, "Fine-grained error", "Minor")


@pytest.fixture
def world(tmp_path):
    return panel_world(tmp_path)


def read(world, *paths):
    annotations = read_annotations(world.annotations, imagenet_1k())
    return read_panel(panel_files(paths), annotations), annotations


def test_every_judgement_is_one_case_of_its_image_and_prediction(world):
    mistakes, annotations = read(world, world.human)
    names = [annotations.file_names[row].as_py() for row in mistakes.cases.rows.tolist()]
    pairs = list(zip(names, mistakes.cases.prediction.tolist(), strict=True))
    assert pairs == [(name, prediction) for name, prediction, *_ in JUDGED]


def test_categories_are_kept_as_written_beside_the_one_spelling(world):
    mistakes, _ = read(world, world.human)
    assert mistakes.category.to_pylist()[1:3] == ["Fine-grained error with OOV", "Fine-grained with OOV"]
    assert {ERROR_TYPES[kind] for kind in mistakes.human[1:3]} == {"fine_grained_oov"}


def test_each_file_is_a_model_named_by_its_stem(world):
    mistakes, _ = read(world, world.human, world.human_again)
    assert mistakes.models == ("vit_mistakes", "soups_mistakes")
    assert mistakes.of_model("soups_mistakes").tolist() == [False] * 6 + [True] * 4


def test_severities_come_worst_first_and_unknown_ones_last(world):
    path = write_judgements(
        world.human,
        ("i0.JPEG", 1, "Fine-grained error", "Trifle"),
        ("i1.JPEG", 9, "Fine-grained error", "Borderline"),
        ("i2.JPEG", 9, "Fine-grained error", "Major"),
    )
    assert read(world, path)[0].severities == ("Major", "Borderline", "Trifle")


def test_judged_images_that_the_annotations_exclude_are_set_apart(world):
    mistakes, annotations = read(world, write_judgements(world.human, *JUDGED, PROBLEMATIC))
    counting, excluded = evaluated(mistakes, annotations)
    assert (len(counting), len(excluded)) == (6, 1)


def test_annotations_that_exclude_every_judged_image_are_refused(world):
    mistakes, annotations = read(world, write_judgements(world.human, PROBLEMATIC))
    with pytest.raises(InputError, match="exclude every judged image, 1 in all"):
        evaluated(mistakes, annotations)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        pytest.param(
            [("i0.JPEG", 1, "Fine-grained mistake", "Minor")],
            "1 judgement of an unknown category (first: 'Fine-grained mistake'). Known are: Fine-grained error",
            id="a category that is not known",
        ),
        pytest.param(
            [("i0.JPEG", 1, "Fine-grained error", "Minor"), ("i9.JPEG", 1, "Non-prototypical", "Minor")],
            "1 judged image of 2 not in the annotations (first: i9.JPEG). Pass annotations that name",
            id="an image that is not annotated",
        ),
        pytest.param(
            [("i3.JPEG", 5, "Non-prototypical", "Minor")],
            "1 top_prediction equal to the image's original label, so no mistake (first: i3.JPEG: 5). Take it",
            id="a prediction that is no mistake",
        ),
        pytest.param(
            [("i3.JPEG", 1000, "Non-prototypical", "Minor")],
            "unknown class (first: 1000). Known are: 0 to 999.",
            id="a prediction that is no class",
        ),
        pytest.param(
            [("i3.JPEG", 70_000, "Non-prototypical", "Minor")],
            "unknown class (first: 70000). Known are: 0 to 999.",
            id="a prediction beyond every label space",
        ),
        pytest.param([], "it holds no judgement. Fetch it again.", id="no judgement"),
        pytest.param(
            [("i3.JPEG", 1, "Non-prototypical", "Minor"), ("i3.jpg", 2, "Non-prototypical", "Minor")],
            "1 image judged twice (first: i3.jpg). Keep one judgement an image.",
            id="one image in two spellings",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_where_what_and_a_way_out(world, rows, says):
    with pytest.raises(InputError) as refused:
        read(world, write_judgements(world.human, *rows))
    assert str(refused.value).startswith(f"{world.human}: ")
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param("", "the file is empty", id="empty"),
        pytest.param("[]", "not a file of human judgements", id="a list"),
        pytest.param('{"i0.JPEG": {"top_prediction": 1}}', "failure category", id="no category"),
    ],
)
def test_a_file_in_another_layout_is_refused(world, content, says):
    world.human.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=says):
        read(world, world.human)


def test_two_files_of_one_name_are_refused(world, tmp_path):
    (tmp_path / "other").mkdir()
    twin = write_judgements(tmp_path / "other" / world.human.name, *JUDGED)
    with pytest.raises(InputError, match="another file is of vit_mistakes, too"):
        read(world, world.human, twin)


def test_no_file_at_all_is_refused(world):
    with pytest.raises(InputError, match="--human: is needed"):
        read(world)


def test_only_the_same_image_with_the_same_prediction_is_compared_between_files(world):
    (shared,) = shared_mistakes(read(world, world.human, world.human_again)[0])
    assert (shared.n_images, shared.n_cases) == (4, 3)
    assert (shared.n_same_category, shared.n_same_severity, shared.n_same_both) == (2, 2, 1)
    assert not shared.is_copied


def test_files_that_say_the_same_to_the_letter_of_every_shared_case_are_copies(world):
    write_judgements(world.human_again, *JUDGED[2:5], JUDGED_AGAIN[3])
    (shared,) = shared_mistakes(read(world, world.human, world.human_again)[0])
    assert (shared.n_cases, shared.n_same_both, shared.is_copied) == (3, 3, True)


def test_another_spelling_of_one_category_was_written_anew(world):
    image, prediction, _, severity = JUDGED[1]
    write_judgements(world.human_again, (image, prediction, "Fine-grained with OOV", severity))
    (shared,) = shared_mistakes(read(world, world.human, world.human_again)[0])
    assert (shared.n_cases, shared.is_copied) == (1, False)


def test_files_that_share_no_case_are_no_copies(world):
    write_judgements(world.human_again, JUDGED_AGAIN[3])
    (shared,) = shared_mistakes(read(world, world.human, world.human_again)[0])
    assert (shared.n_cases, shared.is_copied) == (0, False)


def test_one_file_shares_nothing(world):
    assert shared_mistakes(read(world, world.human)[0]) == ()
