"""A head's outputs become classes by wnid, or the head is refused with the reason."""

import numpy as np
import pytest

from imagenet_errors.labels import imagenet_1k
from imagenet_errors.predict.networks import head_of
from imagenet_errors.problems import InputError

LABELS = imagenet_1k()


def test_a_thousand_outputs_are_the_thousand_classes():
    head = head_of("m", 1000, LABELS)
    assert head.is_plain
    assert (head.positions == head.classes).all()


def test_a_background_class_in_front_is_left_out():
    head = head_of("m", 1001, LABELS)
    assert (head.positions == np.arange(1, 1001)).all()
    assert not head.is_plain


@pytest.mark.parametrize(("n_outputs", "n_lacking"), [(21841, 1), (21843, 1), (21842, 0), (11821, 7), (10450, 9)])
def test_larger_heads_are_mapped_and_say_how_many_classes_they_lack(n_outputs, n_lacking):
    head = head_of("m", n_outputs, LABELS)
    assert (len(head.classes), head.n_lacking) == (1000 - n_lacking, n_lacking)
    assert (np.diff(head.classes) > 0).all()


def test_wnids_that_the_model_states_come_first():
    head = head_of("m", 3, LABELS, label_names=["n01443537", "n99999999", "n01440764"])
    assert head.positions.tolist() == [2, 0]
    assert head.classes.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("n_outputs", "label_names", "what"),
    [
        pytest.param(0, None, "it yields features", id="no head"),
        pytest.param(200, None, "200 outputs, and which class each stands for is not known", id="200: A or R?"),
        pytest.param(365, None, "365 outputs", id="places"),
        pytest.param(2, ["cat", "dog"], r"are not named by wnids .* \(first: cat\)", id="other names"),
        pytest.param(2, ["n01440764", "n01440764"], "each once", id="a class twice"),
    ],
)
def test_other_heads_are_refused_with_the_reason(n_outputs, label_names, what):
    with pytest.raises(InputError, match=what):
        head_of("m", n_outputs, LABELS, label_names=label_names)


def test_a_restricted_head_predicts_its_classes_alone():
    torch = pytest.importorskip("torch", reason="needs torch")
    from imagenet_errors.predict.inference import top_classes

    head = head_of("m", 1001, LABELS).restricted((7, 3, 999), model="m")
    assert head.classes.tolist() == [3, 7, 999]
    assert not head.is_plain
    outputs = torch.zeros(2, 1001)
    outputs[:, 500] = 9.0  # the best of all is masked before the softmax
    outputs[0, 1 + 7] = 2.0
    outputs[1, 1 + 999] = 2.0
    classes, probabilities = top_classes(outputs, head)
    assert classes[:, 0].tolist() == [7, 999]
    assert classes[:, 3:].tolist() == [[-1, -1], [-1, -1]]
    np.testing.assert_allclose(probabilities[:, :3].sum(axis=1), 1, rtol=1e-6)


def test_classes_without_an_output_are_refused():
    with pytest.raises(InputError, match="none of the 2 classes asked for has an output"):
        head_of("m", 1, LABELS, label_names=["n01440764"]).restricted((5, 6), model="m")
