"""What tests/run leaves to tests/run --all (SM_LONG=1): tests of size, of memory, of many repetitions, whose path a shorter one walks, too."""

import os

import pytest

IS_LONG = bool(os.environ.get("SM_LONG"))
long = pytest.mark.skipif(not IS_LONG, reason="takes long: runs with tests/run --all (SM_LONG=1)")
