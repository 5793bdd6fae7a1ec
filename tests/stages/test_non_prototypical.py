"""Non-prototypical explains every mistake on a listed image."""

import pytest

from imagenet_errors.stages.non_prototypical import NonPrototypical
from toy import CLASS_NAMES, MUG, SOFA, TABBY, listed, one_case

CASES = [
    pytest.param((0,), True, "The image is listed as a non-prototypical sofa.", id="listed"),
    pytest.param((1,), False, "The image is not listed as a non-prototypical sofa.", id="another image is"),
    pytest.param((), False, "The image is not listed as a non-prototypical sofa.", id="none is"),
]


@pytest.mark.parametrize(("rows", "explained", "sentence"), CASES)
@pytest.mark.parametrize("prediction", [MUG, TABBY])
def test_explains_whatever_was_predicted(rows, explained, sentence, prediction):
    stage, case = NonPrototypical(listed(*rows)), one_case({SOFA}, prediction)
    assert stage(case).explains.tolist() == [explained]
    assert stage.says(case, stage(case), CLASS_NAMES).to_pylist() == [sentence]
