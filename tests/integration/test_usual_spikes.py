"""A loss that spikes all the time by the data that it is fed: who is told, how often, and that more than that is still told."""

import math
import random

import pytest

from smserver import wait_until

KNOWN, QUIET = 1000, 3000  # lines until it is known; lines in all
OFTEN = 8  # pages until then: six that are alike make it usual, one or two that are not quite


@pytest.fixture
def server(make_server):
    return make_server()


def pages(server):
    rows = server.get("/api/v1/incidents?all=true&limit=1000").body["incidents"]
    return sorted(row["opened_step"] for row in rows if row["kind"] == "loss_spike" and row["severity"] != "info")


def test_batches_of_two_kinds_of_data_are_told_of_a_few_times_and_then_only_what_is_more(server):
    """Three batches of ten are of data whose loss is higher by 1, in any order; at last come 48 of these in a row."""
    chance = random.Random(7)

    def loss(step, is_second):
        return (2 + is_second) * (1 + 9 * math.exp(-step / 60)) * (1 + chance.gauss(0, 0.015))

    lines = [f"step={step} loss={loss(step, chance.random() < 0.3):.4f}" for step in range(1, QUIET + 1)]
    lines += [f"step={step} loss={loss(step, True):.4f}" for step in range(QUIET + 1, QUIET + 49)]
    server.send("mixed", lines)
    wait_until(lambda: pages(server)[-1] > QUIET, what="a page of what is longer than any")
    *before, last = pages(server)
    assert len(before) <= OFTEN and all(step <= KNOWN for step in before), before
    assert QUIET < last <= QUIET + 48
