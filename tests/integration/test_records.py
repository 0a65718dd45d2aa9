"""What trainers say over several lines, and lines that a container runtime has cut: posted, read as curves, over a restart."""

import json

import pytest

from test_signatures import incidents


@pytest.fixture
def server(make_server):
    return make_server()


def points_of(server, job, metric, count):
    server.wait_for_points(job, metric, count)
    parts = server.points(job, metric, raw="true")["series"]  # before the restart and behind it
    return [point for part in parts for point in zip(part["step"], part["value"])]


def table(step):
    return [f"{step:7}        {0.5 + 1 / step:.4f}       {0.25 + step / 128:.4f}        {0.625 + 1 / step:.4f}  0.0512"]


TABLE_HEAD = ["  epoch    train_loss    valid_acc    valid_loss     dur", "-------  ------------  -----------  ------------  ------"]


def bars(step):
    return [f"|  {step:4} | {0.5 + 1 / step:10.4f} | {0.625 + 1 / step:8.4f} |"]


BARS_HEAD = ["| epoch | train loss | val loss |", "|-------|------------|----------|"]


def box(step):
    return ["-----------------------------", f"| iteration     | {step:9} |", f"| train/        |           |", f"|    loss       | {0.5 + 1 / step:9.4f} |",
        "| valid/        |           |", f"|    loss       | {0.625 + 1 / step:9.4f} |", "-----------------------------", "saved"]


def round_box(step):
    return ["╭─────────────────────────────╮", "│ result                      │", "├─────────────────────────────┤",
        f"│ train_loss          {0.5 + 1 / step:7.4f} │", f"│ val_loss            {0.625 + 1 / step:7.4f} │", f"│ training_iteration  {step:7} │",
        "╰─────────────────────────────╯"]


def json_object(step):
    return ["{", '  "train": {', f'    "loss": {0.5 + 1 / step:.4f}', "  },", '  "val": {', f'    "loss": {0.625 + 1 / step:.4f}', "  },", f'  "step": {step}', "}"]


def titled(step):
    return [f"===== Step {step}/500 =====", "Results:", f"  • Loss: {0.5 + 1 / step:.4f}", f"  • Validation loss: {0.625 + 1 / step:.4f}"]


FORMS = {"table": (TABLE_HEAD, table), "bars": (BARS_HEAD, bars), "box": ([], box), "round box": ([], round_box), "object": ([], json_object),
    "title": ([], titled)}


def expected(base, last):
    return [(step, pytest.approx(float(f"{base + 1 / step:.4f}"))) for step in range(1, last + 1)]


@pytest.mark.parametrize("form", FORMS)
def test_records_are_curves(server, form):
    head, say = FORMS[form]
    server.send("run", head + [line for step in range(1, 41) for line in say(step)])
    assert points_of(server, "run", "train:loss", 40) == expected(0.5, 40)
    assert points_of(server, "run", "val:loss", 40) == expected(0.625, 40)


@pytest.mark.parametrize("form", FORMS)
def test_a_restart_in_the_middle_of_a_record_loses_nothing(server, form):
    head, say = FORMS[form]
    lines = head + [line for step in range(1, 21) for line in say(step)]
    middle = len(lines) // 2 + 3
    server.send("run", lines[:middle])
    server.wait_for_extraction()
    server.restart()
    server.send("run", lines[middle:])
    assert points_of(server, "run", "train:loss", 20) == expected(0.5, 20)
    assert points_of(server, "run", "val:loss", 20) == expected(0.625, 20)


def test_tables_of_other_things_have_no_curves(server):
    server.send("run", [
        "+---------------+--------+", "| batch_size    | 32     |", "| learning_rate | 0.001  |", "+---------------+--------+",
        "| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |",
        "|   0  NVIDIA A100-SXM...  On   | 00000000:07:00.0 Off |                    0 |",
        "| N/A   34C    P0    62W / 400W |   1234MiB / 81920MiB |     87%      Default |",
        "total 24", "-rw-r--r--  1 root  root   4096 Jun 25 12:00 model.pt",
        "  | Name  | Type   | Params", "--------------------------------", "0 | model | Linear | 7850", "1 | head  | Linear | 650",
        "| model | size | params | test | t/s |", "|-------|------|--------|------|-----|", "| llama | 3.5  | 7 | pp512 | 120.5 |",
    ] * 3)
    server.wait_for_extraction()
    assert server.get("/api/v1/jobs/run/metrics").body["series"] == []


def test_a_line_that_was_cut_is_read_as_one(server):
    time = "2024-06-25T12:34:5{}.123456789Z stdout "
    lines = []
    for step in range(1, 10):
        lines += [time.format(step) + f"P step {step}: gradients are fine, lo", time.format(step) + f"P ss: {step}.", time.format(step) + "F 125"]
    server.send("run", lines[:14])
    server.wait_for_extraction()
    server.restart()
    server.send("run", lines[14:])
    assert points_of(server, "run", "train:loss", 9) == [(step, step + 0.125) for step in range(1, 10)]
    assert [line["text"] for line in server.lines("run")] == lines


def test_a_history_that_is_printed_again_is_no_restart(server):
    """After each epoch, as it has become; and at the end of a log that has said each step."""
    def loss(step):
        return 0.5 + 2 / (1 + step / 16) + (step * 7 % 11) / 512

    def history(last):
        return '{"loss": {' + ", ".join(f'"{step}": {loss(step):.5f}' for step in range(1, last + 1)) + "}}"
    steps = [f"step: {step} loss: {loss(step):.5f}" for step in range(1, 301)]
    server.send("grows", [history(last) for last in range(3, 41)])
    server.send("ends", steps + [history(300), "done"])
    server.send("ends-in-lines", steps + json.dumps(json.loads(history(300)), indent=2).splitlines() + ["done"])
    server.wait_for_extraction()
    for job, last in (("grows", 40), ("ends", 300), ("ends-in-lines", 300)):
        parts = server.points(job, "train:loss", raw="true")["series"]
        assert [step for part in parts for step in part["step"]] == list(range(1, last + 1)), job
        assert server.get(f"/api/v1/jobs/{job}/continuity").body["restarts"] == [], job
        assert [row["kind"] for row in incidents(server, job)] == [], job


def test_a_history_behind_a_start_up_line_is_of_another_attempt(server):
    history = '{"loss": {"1": 2.5, "2": 2.25, "3": 2.125, "4": 2.0, "5": 1.875, "6": 1.75}}'
    server.send("run", [history, "Resuming from checkpoint at step 0", history])
    server.wait_for_extraction()
    assert [row["attempt"] for row in server.get("/api/v1/jobs/run/continuity").body["restarts"]] == [2]
