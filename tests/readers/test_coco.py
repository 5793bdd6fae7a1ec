"""Results in COCO's layout: images, categories and what was found, joined by their ids."""

import json

import numpy as np
import pytest

from imagenet_errors.images import val_file_names
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.readers.annotations import read_real
from imagenet_errors.readers.predictions import ReadRules, read_predictions
from real_looking import real_looking

LABELS = imagenet_1k()
REAL = read_real(LABELS)
TOP1 = real_looking(accuracy=0.75, seed=5)[:60].tolist()
NAMES = val_file_names(np.arange(1, 61)).to_pylist()
IMAGES = [{"id": 1000 + i, "file_name": name} for i, name in enumerate(NAMES)]
FROM_1 = [{"id": 1 + index, "name": wnid} for index, wnid in enumerate(LABELS.wnids)]


def results(*, first=1, n_ranks=1, **more):
    return [
        {"image_id": 1000 + i, "category_id": (index + 7 * k) % 1000 + first, "score": 0.9 - k / 10, **more}
        for i, index in enumerate(TOP1)
        for k in reversed(range(n_ranks))
    ]


def read(tmp_path, content):
    path = tmp_path / "vit.json"
    path.write_text(json.dumps(content))
    return read_predictions(path, REAL, LABELS, rules=ReadRules(allow_partial=True))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param({"images": IMAGES, "annotations": results(), "categories": FROM_1}, id="categories from 1"),
        pytest.param({"images": IMAGES, "annotations": results(first=0)}, id="no categories"),
        pytest.param({"images": IMAGES, "predictions": results(), "categories": FROM_1}, id="called predictions"),
        pytest.param({"images": IMAGES, "annotations": results(n_ranks=3), "categories": FROM_1}, id="ranks"),
        pytest.param({"info": {}, "images": IMAGES, "annotations": results(bbox=[0, 0, 1, 1]), "categories": FROM_1},
                     id="with boxes"),
        pytest.param([one | {"image_id": one["image_id"] - 999} for one in results(first=0)], id="bare results"),
    ],
)  # fmt: skip
def test_results_are_joined_to_their_images_and_classes(tmp_path, content):
    found = read(tmp_path, content)
    assert dict(zip(found.rows.tolist(), found.top1.tolist(), strict=True)) == dict(enumerate(TOP1))
    assert found.confidence == pytest.approx([0.9] * 60)


def test_of_a_name_that_two_categories_have_the_index_tells_which_is_meant(tmp_path):
    called = [
        {"id": index, "name": "crane" if index in (134, 517) else wnid} for index, wnid in enumerate(LABELS.wnids)
    ]
    content = {"images": IMAGES, "annotations": results(first=0), "categories": called}
    content["annotations"][0]["category_id"] = 517
    assert read(tmp_path, content).top1[0] == 517


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param({"images": IMAGES[:50], "annotations": results()},
                     r"10 results of 60 with an id that has no name below 'images' \(first: 1050\)", id="no image"),
        pytest.param({"images": IMAGES, "annotations": results(), "categories": FROM_1[:1]},
                     r"60 results of 60 with an id that has no name below 'categories'", id="categories missing"),
        pytest.param({"images": [*IMAGES, {"id": 1000, "file_name": "other.JPEG"}], "annotations": results()},
                     r"two of its 61 entries below 'images' have the same id \(first: 1000\)", id="an id twice"),
    ],
)  # fmt: skip
def test_ids_that_lead_nowhere_or_to_two_places_are_refused(tmp_path, content, said):
    with pytest.raises(InputError, match=said):
        read(tmp_path, content)
