"""The notebooks run as they are, and are kept without outputs."""

import json
from pathlib import Path

import pytest

from patience import PATIENCE_SECONDS

NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_kept_without_outputs(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


@pytest.mark.filterwarnings("default")  # of the notebook's machinery
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_from_top_to_bottom(path):
    nbclient = pytest.importorskip("nbclient", reason="needs the extra notebooks: nbclient is not installed")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("pandas")
    if "torch" in path.read_text(encoding="utf-8"):
        pytest.importorskip("torchvision", reason="needs torch and torchvision, which are not installed")
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=PATIENCE_SECONDS, resources={"metadata": {"path": str(path.parent)}}
    ).execute()
    last = [cell for cell in notebook.cells if cell.cell_type == "code"][-1]
    assert last.outputs


def test_the_first_cell_shows_the_picture():
    nbclient = pytest.importorskip("nbclient", reason="needs the extra notebooks: nbclient is not installed")
    nbformat = pytest.importorskip("nbformat")
    (path,) = [path for path in NOTEBOOKS if path.stem == "first_look"]
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = notebook.cells[:2]
    nbclient.NotebookClient(
        notebook, timeout=PATIENCE_SECONDS, resources={"metadata": {"path": str(path.parent)}}
    ).execute()
    assert "model_failure" in notebook.cells[1].outputs[0].data["text/html"]
