"""Marks of tests that are about a database file, when all run on PostgreSQL (SM_TEST_DB=postgresql)."""

import os

import pytest

ON_POSTGRES = os.environ.get("SM_TEST_DB") == "postgresql"


def of_a_file(why):
    return pytest.mark.skipif(ON_POSTGRES, reason=f"of a database file: {why}")
