"""Lines that come out of order: a shipper that sends an older batch again behind a newer one, two files of one stream, a batch of before a restart
that comes behind it. What each comes to is worked out here by the times that the lines bear."""

import json
import random
import time

import pytest

from fixtures import emptied_server as server  # noqa: F401 (one process for the file)
from smserver import wait_until
from test_life import history, line, state
from test_steps_back import STEP_S, Run, attempts, breaks, quick  # noqa: F401 quick is a fixture

PAUSE_S = 600  # from the last step before a restart until it is up again


def restarts(run):
    rows = run.server.get(f"/api/v1/jobs/{run.job}/continuity").body["restarts"]
    return [(row["attempt"], row["first_step"], row["from_step"], row["overlap_steps"], row["verdict"]) for row in rows]


def starts_of(run):
    body = run.server.get(f"/api/v1/jobs/{run.job}/streams").body
    return [stream.get("attempts") for stream in body["streams"]]


@pytest.mark.parametrize("made", [3, 13], ids=["on trial", "decided"])
def test_a_batch_of_before_a_restart_that_comes_behind_it(quick, made):
    """Steps 1 to 30 were made, and the last ten are sent again when the restart from step 10 has made 3, or 13, of its own."""
    run = Run(quick)
    run.train(1, 20, 0)
    up_s = 30 * STEP_S + PAUSE_S
    run.train(11, 10 + made, up_s)
    run.train(21, 30, 20 * STEP_S)
    end_s = run.train(11 + made, 40, up_s + made * STEP_S)
    run.end(end_s)
    run.comes_to(productive=(10 + 30) * STEP_S, redone=20 * STEP_S, restart=PAUSE_S)
    assert breaks(run) == [(30, 10, 20, 20 * STEP_S)] and attempts(run) == 2
    assert restarts(run) == [(2, 11, 10, 20, "continued")]
    # the curve that counts: 1 to 10 of the first attempt, and all of the second
    columns = quick.get("/api/v1/jobs/j/points?metric=loss&attempts=live&buckets=10000").body["columns"]
    assert columns["x"] == list(range(1, 41))


def test_a_checkpoint_of_a_late_batch_is_one_of_before_the_restart(quick):
    """Saved at step 24, told behind the restart from step 10."""
    run, up_s = Run(quick), 30 * STEP_S + PAUSE_S
    run.train(1, 20, 0)
    run.train(11, 20, up_s)
    run.train(21, 24, 20 * STEP_S)
    run.say(24 * STEP_S + 1, "Saved checkpoint to /ckpt/checkpoint-24")
    run.train(25, 30, 24 * STEP_S)
    run.say(up_s + 10 * STEP_S + 1, "Saved checkpoint to /ckpt/checkpoint-20")
    run.train(21, 40, up_s + 10 * STEP_S)
    quick.wait_for_extraction()
    rows = wait_until(lambda: len(found := quick.get("/api/v1/jobs/j/checkpoints").body["checkpoints"]) == 2 and found, what="the checkpoints")
    assert sorted((row["step"], row["attempt"]) for row in rows) == [(20, 2), (24, 1)]
    restart, = quick.get("/api/v1/jobs/j/continuity").body["restarts"]
    assert (restart["newest_checkpoint_step"], restart["checkpoint_step"], restart["from_step"]) == (24, None, 10)


def test_every_second_batch_is_late(quick):
    """Of ten steps each, ten later than they were made: over a restart from step 25 of 40, too."""
    run, up_s = Run(quick), 40 * STEP_S + PAUSE_S
    for first in (11, 1, 31):
        run.train(first, first + 9, (first - 1) * STEP_S)
    run.train(26, 35, up_s)
    run.train(21, 30, 20 * STEP_S)
    for first in (46, 36):
        run.train(first, first + 9, up_s + (first - 26) * STEP_S)
    run.end(up_s + 30 * STEP_S)
    run.comes_to(productive=(25 + 30) * STEP_S, redone=15 * STEP_S, restart=PAUSE_S)
    assert breaks(run) == [(40, 25, 15, 15 * STEP_S)] and attempts(run) == 2
    assert restarts(run) == [(2, 26, 25, 15, "continued")]


def test_records_of_one_body_go_back_by_minutes(quick):
    """The same as NDJSON, whose times are beside the lines: one body, and every tenth record goes back by twenty minutes, or on by as much."""
    run, up_s = Run(quick), 40 * STEP_S + PAUSE_S
    batches = [(11, 0), (1, 0), (31, 0), (26, up_s - 25 * STEP_S), (21, 0), (46, up_s - 25 * STEP_S), (36, up_s - 25 * STEP_S)]
    records = [{"ts": (run.at_s + before_s + step * STEP_S) * 1000, "line": f"step {step} loss: 2.5"} for first, before_s in batches for step in range(first, first + 10)]
    body = "".join(json.dumps(record) + "\n" for record in records)
    assert quick.post("/api/v1/logs?job=j&stream=algo-1", body, content_type="application/x-ndjson").body["accepted"] == 70
    run.end(up_s + 30 * STEP_S)
    run.comes_to(productive=(25 + 30) * STEP_S, redone=15 * STEP_S, restart=PAUSE_S)
    assert breaks(run) == [(40, 25, 15, 15 * STEP_S)] and attempts(run) == 2
    assert restarts(run) == [(2, 26, 25, 15, "continued")]


def test_a_metric_without_a_time_beside_lines_of_a_zone_that_is_ahead(quick):
    """The trainer's lines bear the time of a machine that is eight hours ahead, an evaluation's none. None of them comes late."""
    def train(first, last, at_s):
        stamps = ((step, time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at_s + step))) for step in range(first, last + 1))
        quick.send("j", [text for step, stamp in stamps for text in (f"{stamp} step {step} loss: 2.5", *([f"step {step} eval_loss: 2.1"] if step % 20 == 0 else []))])
    ahead_s = int(time.time()) + 8 * 3600
    train(1, 150, ahead_s)
    train(121, 300, ahead_s + 1000)
    quick.wait_for_extraction()
    columns = quick.get("/api/v1/jobs/j/points?metric=eval_loss&attempts=live&buckets=10000").body["columns"]
    assert columns["x"] == list(range(20, 301, 20))
    assert columns["attempt"] == [1] * 6 + [2] * 9


def test_two_batches_of_a_restart_are_swapped(quick):
    """From step 10 of 40: its steps 21 to 30 come first, then 11 to 20."""
    run, up_s = Run(quick), 40 * STEP_S + PAUSE_S
    run.train(1, 40, 0)
    for first, last in ((21, 30), (11, 20), (31, 60)):
        run.train(first, last, up_s + (first - 11) * STEP_S)
    run.end(up_s + 50 * STEP_S)
    run.comes_to(productive=(10 + 50) * STEP_S, redone=30 * STEP_S, restart=PAUSE_S)
    assert breaks(run) == [(40, 10, 30, 30 * STEP_S)] and attempts(run) == 2
    assert restarts(run) == [(2, 11, 10, 30, "continued")]
    assert quick.get("/api/v1/jobs/j/points?metric=loss&attempts=live&buckets=10000").body["columns"]["x"].count(11) == 1


def test_after_a_start_of_the_server_a_late_batch_is_where_it_belongs(quick):
    run, up_s = Run(quick), 30 * STEP_S + PAUSE_S
    run.train(1, 20, 0)
    run.train(11, 20, up_s)
    quick.wait_for_extraction()
    quick.restart()
    run.train(21, 30, 20 * STEP_S)
    run.end(run.train(21, 40, up_s + 10 * STEP_S))
    run.comes_to(productive=(10 + 30) * STEP_S, redone=20 * STEP_S, restart=PAUSE_S)
    assert breaks(run) == [(30, 10, 20, 20 * STEP_S)] and attempts(run) == 2


@pytest.mark.parametrize("is_stated", [False, True])
def test_a_restart_whose_first_batch_comes_behind_steps_that_go_on(quick, is_stated):
    """From step 10 of 20: steps 21 to 30 come first, and go on from 20; so the log alone tells of no restart (docs/metrics.md). What was made again
    is then time between two steps. A status that is stated says that it was a restart."""
    run, up_s = Run(quick), 20 * STEP_S + PAUSE_S
    run.train(1, 20, 0)
    if is_stated:
        run.state("Restarting", 20 * STEP_S + 10)
        run.state("Training", up_s)
    for first in (21, 11, 31):
        run.train(first, first + 9, up_s + (first - 11) * STEP_S)
    run.end(up_s + 30 * STEP_S)
    if is_stated:
        run.comes_to(productive=(10 + 30) * STEP_S, redone=10 * STEP_S, restart=PAUSE_S)
        assert breaks(run) == [(20, 10, 10, 10 * STEP_S)]
    else:
        run.comes_to(productive=40 * STEP_S, stalled=PAUSE_S + 10 * STEP_S)
        assert breaks(run) == []
    assert attempts(run) == (2 if is_stated else 1)


def made_up(chance):
    """Batches of (step, seconds), and (last step, from step, lost steps) of each restart."""
    batches, broken, step, at_s = [], [], 0, 0
    size, stretches = chance.choice([5, 10]), [chance.randint(25, 60) for _ in range(chance.randint(1, 3))] + [chance.randint(45, 70)]
    for number, steps in enumerate(stretches):
        if number:
            back = chance.randint(5, min(40, step - 1))
            broken.append((step, step - back, back))
            step, at_s = step - back, at_s + chance.choice([600, 1200])
        made = [(step + n, at_s + n * STEP_S) for n in range(1, steps + 1)]
        step, at_s = made[-1]
        batches += [made[at:at + size] for at in range(0, steps, size)]
    return batches, broken


def shuffled(batches, chance):
    """Some change places with the next one."""
    order, at = list(batches), 0
    while at + 1 < len(order):
        if chance.random() < 0.3:
            order[at:at + 2] = order[at + 1], order[at]
            at += 1
        at += 1
    return order


def test_stated_restarts_are_the_same_in_whatever_order_batches_come(quick):
    for seed in range(20):
        chance = random.Random(seed)
        batches, broken = made_up(chance)
        run = Run(quick, f"j{seed}")
        for before, behind in zip(batches, batches[1:]):
            if behind[0][0] <= before[-1][0]:
                run.state("Restarting", before[-1][1] + 10)
                run.state("Training", behind[0][1] - STEP_S)
        for batch in shuffled(batches, chance):
            run.print(*batch)
        run.end(batches[-1][-1][1])
        wanted = [(last, from_step, lost, lost * STEP_S) for last, from_step, lost in broken]
        wait_until(lambda: breaks(run) == wanted, what=f"{wanted} of seed {seed}; it is {breaks(run)}")


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
