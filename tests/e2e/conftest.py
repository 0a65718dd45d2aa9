"""A real server and a real browser."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from smserver import Server  # noqa: E402
from webdriver import Browser  # noqa: E402


@pytest.fixture
def server(tmp_path):
    running = Server(tmp_path).start()
    if "/assets/" not in running.get("/").raw.decode():
        running.close()
        pytest.fail("this server was built without its page: run deploy/page, then build again")
    yield running
    running.close()


@pytest.fixture
def browser(tmp_path):
    one = Browser(tmp_path)
    yield one
    one.close()
