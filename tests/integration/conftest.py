"""The fixtures of the integration tests: `server` is a real sm-server with its own database on a free port."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from smserver import Server  # noqa: E402


@pytest.fixture
def server(tmp_path):
    running = Server(tmp_path).start()
    yield running
    running.close()


@pytest.fixture
def make_server(tmp_path):
    """make_server("--option", …, environment={…}): for tests that need their own options, or start by themselves."""
    made = []

    def make(*arguments, environment=None, start=True):
        folder = tmp_path / f"server{len(made)}"
        folder.mkdir()
        one = Server(folder, *arguments, environment=environment)
        made.append(one)
        return one.start() if start else one

    yield make
    for one in made:
        one.close()
