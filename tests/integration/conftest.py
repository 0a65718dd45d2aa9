"""The fixtures are those of tests/support/fixtures.py."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from fixtures import *  # noqa: E402, F403
