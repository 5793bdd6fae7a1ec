"""What is not installed is asked for by the command that installs it beside this installation."""

import json
from importlib import metadata

import pytest

from imagenet_errors.problems import InputError
from imagenet_errors.shipped import install_command, needs


class Installed:
    """A distribution with what pip recorded of its origin."""

    def __init__(self, origin):
        self.origin = origin

    def read_text(self, name):
        assert name == "direct_url.json"
        return None if self.origin is None else json.dumps(self.origin)


def test_a_library_that_is_there_is_imported():
    assert needs("json", extra="timm") is json


def test_a_library_that_is_not_there_names_the_command():
    with pytest.raises(InputError, match=r"no_such_library: .* pip install .*\[timm\]"):
        needs("no_such_library", extra="timm")


def test_a_library_that_lacks_another_is_not_blamed_on_the_extra(tmp_path, monkeypatch):
    (tmp_path / "half_library.py").write_text("import no_such_library")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_library"):
        needs("half_library", extra="timm")


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        pytest.param(None, 'pip install "imagenet-errors[clip]"', id="an index"),
        pytest.param(
            {"url": "file:///home/me/my%20clone", "dir_info": {"editable": True}},
            'pip install --editable "/home/me/my clone[clip]"',
            id="an editable clone",
        ),
        pytest.param(
            {"url": "file:///home/me/clone", "dir_info": {}}, 'pip install "/home/me/clone[clip]"', id="a clone"
        ),
        pytest.param(
            {"url": "https://h/x.git", "vcs_info": {"vcs": "git", "commit_id": "ab"}},
            'pip install "imagenet-errors[clip] @ git+https://h/x.git@ab"',
            id="git",
        ),
        pytest.param(
            {"url": "file:///tmp/x-0.1.0-py3-none-any.whl", "archive_info": {}},
            'pip install "imagenet-errors[clip] @ file:///tmp/x-0.1.0-py3-none-any.whl"',
            id="a wheel",
        ),
    ],
)
def test_the_command_fits_how_it_was_installed(monkeypatch, origin, command):
    monkeypatch.setattr("importlib.metadata.distribution", lambda _: Installed(origin))
    assert install_command("clip") == command


def test_run_from_its_sources_it_names_itself(monkeypatch):
    def not_installed(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.distribution", not_installed)
    assert install_command("ray") == 'pip install "imagenet-errors[ray]"'
