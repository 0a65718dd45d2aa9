"""A `Restarting` that is stated several times in a row, with no Training between: it is one break, and one attempt more."""

import time

import pytest

from fixtures import emptied_server as server  # noqa: F401 (one process for the file)
from smserver import wait_until
from test_life import announce, history, line, state


@pytest.mark.parametrize("order", ["log last", "between"])
@pytest.mark.parametrize("message", ["", "try {}"], ids=["without words", "with words"])
@pytest.mark.parametrize("back", [0, 4])
def test_several_restartings_in_a_row_are_one_break(server, order, message, back):
    """A restart that fails is stated once more, and again, with its own words or none: it is one attempt more, and lasts until it trains."""
    begun = int(time.time() * 1000) - 86_400_000
    first = [line(begun + 10_000 * n, f"step: {n} loss: 2.5") for n in range(1, 21)]
    waits = [line(begun + 350_000, "waiting for nodes to join")] if order == "log last" else []
    second = [line(begun + 1_000_000 + 10_000 * (n - 20), f"step: {n} loss: 2.5") for n in range(21 - back, 41)]
    announce(server)
    state(server, "Training", time_ms=begun)
    if order == "between":
        server.send("j", first)
    for at_s in (300, 400, 500):
        state(server, "Restarting", time_ms=begun + at_s * 1000, **({"StatusMessage": message.format(at_s)} if message else {}))
    server.send("j", waits + second if order == "between" else first + waits + second)
    resumed = begun + 1_000_000 + 10_000 * (1 - back)
    wait_until(lambda: history(server) == [("Training", begun), ("Restarting", begun + 300_000), ("Training", resumed)], what="one restart")
    job = server.get("/api/v1/jobs/j").body
    assert job["attempts"] == 2 and [one["start_ms"] for one in job["attempt_list"]] == [begun, begun + 300_000]
    [broken] = server.get("/api/v1/jobs/j/goodput").body["breaks"]
    assert (broken["from_ms"], broken["to_ms"], broken["lost_steps"]) == (begun + 200_000, resumed, back)
    assert broken["restart_seconds"] == (resumed - begun - 200_000) / 1000
