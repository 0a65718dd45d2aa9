"""Lines that come out of order: a shipper that sends an older batch again behind a newer one, two files of one stream."""

import time

import pytest

from fixtures import emptied_server as server  # noqa: F401 (one process for the file)
from smserver import wait_until
from test_life import history, line, state


# ---- when it trained again behind a status ----


def printed(begun_ms, first, count, every_ms=1000, text="step: {n} loss: 2.5"):
    return [line(begun_ms + every_ms * n, text.format(n=first + n)) for n in range(count)]


@pytest.mark.parametrize("is_sealed", [False, True])
def test_the_first_line_behind_a_restarting_comes_behind_thousands_of_later_ones(server, is_sealed):
    """3000 lines of ten minutes later come first. The status is told when all are there."""
    begun = int(time.time() * 1000) - 86_400_000
    halted, resumed = begun + 100_000, begun + 160_000
    server.send("j", printed(begun, 1, 60))
    server.send("j", printed(resumed + 600_000, 661, 3000))
    server.send("j", printed(resumed, 61, 600))
    server.wait_for_extraction()
    if is_sealed:
        server.restart()
    state(server, "Restarting", time_ms=halted)
    wanted = [("Training", begun), ("Restarting", halted), ("Training", resumed)]
    wait_until(lambda: history(server) == wanted, what=f"{wanted}; it is {history(server)}")


def test_a_late_batch_between_two_restartings(server):
    """What trained between them is sent behind 500 lines from after the second."""
    begun = int(time.time() * 1000) - 86_400_000
    first, between, second, resumed = begun + 100_000, begun + 160_000, begun + 300_000, begun + 400_000
    server.send("j", printed(begun, 1, 60))
    server.send("j", printed(resumed, 201, 500))
    server.send("j", printed(between, 61, 100))
    server.wait_for_extraction()
    state(server, "Restarting", time_ms=first)
    state(server, "Restarting", time_ms=second)
    wanted = [("Training", begun), ("Restarting", first), ("Training", between), ("Restarting", second), ("Training", resumed)]
    wait_until(lambda: history(server) == wanted, what=f"{wanted}; it is {history(server)}")


def test_lines_that_come_late_behind_a_status_that_was_told_in_time(server):
    """Restarting is told first. Then the second file, of five minutes later, and the first one by turns, as two shippers send them."""
    begun = int(time.time() * 1000) - 86_400_000
    halted, resumed = begun + 100_000, begun + 160_000
    server.send("j", printed(begun, 1, 60))
    state(server, "Restarting", time_ms=halted)
    for part in range(4):
        server.send("j", printed(resumed + 300_000 + 50_000 * part, 361 + 50 * part, 50))
        server.send("j", printed(resumed + 50_000 * part, 61 + 50 * part, 50))
    wanted = [("Training", begun), ("Restarting", halted), ("Training", resumed)]
    wait_until(lambda: history(server) == wanted, what=f"{wanted}; it is {history(server)}")
