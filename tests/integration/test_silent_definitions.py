"""A definition that found values and finds none any more while its lines go on; and lines that only look so."""

import json
import os
import time
from pathlib import Path

import pytest

from howlong import long
from smserver import Server, quote, wait_until

SAMPLES = Path(os.environ.get("SM_LOGS") or Path(__file__).parents[3] / "shared/logs")  # real logs, which are not part of the repository
LOSS = {"Name": "train:loss", "Regex": "loss: ([0-9.]+)"}
RATE = {"Name": "lr", "Regex": "lr ([0-9.e-]+)"}
EVALUATION = {"Name": "val:acc", "Regex": "val acc ([0-9.]+)"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    running = Server(tmp_path_factory.mktemp("silent")).start()
    yield running
    running.close()


def make(server, job, *definitions):
    assert server.post("/api/v1/jobs", json={"TrainingJobName": job, "AlgorithmSpecification": {"MetricDefinitions": list(definitions)}}).status == 201


def silent(server, job):
    found = server.get(f"/api/v1/incidents?q={quote(f'name={job}')}").body["incidents"]
    return sorted((one for one in found if one["kind"] == "definition_silent"), key=lambda one: one["metric"])


def healthy(server, job, metric, count, lines, *definitions):
    """These lines are no reason to say anything."""
    make(server, job, *definitions)
    server.send(job, lines)
    server.wait_for_points(job, metric, count)
    last = f"{job} is over lr 0.5"
    server.send(job, [last])
    wait_until(lambda: server.get(f"/api/v1/jobs/{job}/definitions").body["health"][0]["tried"] > len(lines), what="the last line")
    assert silent(server, job) == []


def lines_of(count, text="step {i} loss: {value:.3f} lr 0.001", first=0):
    return [text.format(i=i, value=3 - i / 10000) for i in range(first, first + count)]


def test_it_stops_and_comes_back(server):
    make(server, "stops", LOSS, RATE)
    server.send("stops", lines_of(40))
    server.send("stops", lines_of(20, "step {i} loss: skipped lr 0.001", 40))
    server.wait_for_points("stops", "lr", 60)
    assert silent(server, "stops") == []  # twenty are not more than twenty
    server.send("stops", ["step 60 loss: skipped lr 0.001"])
    (one,) = wait_until(lambda: silent(server, "stops"), what="the incident")
    assert (one["metric"], one["severity"], one["state"], one["stream"], one["opened_step"]) == ("train:loss", "warning", "open", "algo-1", 39)
    assert (one["evidence"]["value"], one["evidence"]["expected"], one["evidence"]["line"]) == (21, 1, 60)
    assert one["evidence"]["text"] == "step 60 loss: skipped lr 0.001"
    server.send("stops", lines_of(9, "step {i} loss: skipped lr 0.001", 61) + lines_of(1, first=70))
    wait_until(lambda: silent(server, "stops")[0]["state"] == "recovered", what="it is over")
    (one,) = silent(server, "stops")
    assert one["evidence"]["worst"] == 31
    # what has happened once is usual from then on: 4 x 31
    server.send("stops", lines_of(100, "step {i} loss: skipped lr 0.001", 71))
    server.wait_for_points("stops", "lr", 171)
    assert len(silent(server, "stops")) == 1
    server.send("stops", lines_of(30, "step {i} loss: skipped lr 0.001", 171))
    wait_until(lambda: len(silent(server, "stops")) == 2, what="the second one", timeout=20)


def test_another_format_after_a_change_of_the_code(server):
    make(server, "format", LOSS, RATE)
    server.send("format", lines_of(30) + lines_of(30, "step {i} train_loss={value:.3f} learning_rate=0.1", 30))
    found = wait_until(lambda: len(silent(server, "format")) == 2 and silent(server, "format"), what="both")
    assert [(one["metric"], one["severity"]) for one in found] == [("lr", "info"), ("train:loss", "warning")]
    definitions = [{"Name": "train:loss", "Regex": "train_loss=([0-9.]+)"}]
    assert server.request("PUT", "/api/v1/jobs/format/definitions", json={"definitions": definitions}).status in (200, 202, 204)
    server.send("format", lines_of(5, "step {i} train_loss={value:.3f} learning_rate=0.1", 60))
    wait_until(lambda: {one["state"] for one in silent(server, "format")} == {"recovered"}, what="new definitions")


def test_the_whole_print_format_changes(server):
    """No line begins as before, but their steps go on where the definition's stopped: 100 lines say enough, or 20 times the usual gap."""
    other = "[iter {i}] train_loss={value:.3f} | learning_rate=0.001"
    make(server, "whole", LOSS, {"Name": "place", "Regex": "learning_rate=([0-9.]+)"})
    server.send("whole", lines_of(40) + lines_of(100, other, 40))
    server.wait_for_points("whole", "place", 100)
    assert silent(server, "whole") == []
    server.send("whole", lines_of(1, other, 140))
    (one,) = wait_until(lambda: silent(server, "whole"), what="the incident")
    assert (one["metric"], one["severity"], one["state"], one["opened_step"]) == ("train:loss", "warning", "open", 39)
    assert (one["evidence"]["value"], one["evidence"]["expected"], one["evidence"]["line"]) == (101, 1, 140)
    assert one["evidence"]["text"] == "[iter 140] train_loss=2.986 | learning_rate=0.001"


def test_the_whole_print_format_of_a_step_in_ten_lines_changes(server):
    """Every fifth step in ten lines: told after 20 such gaps, 200 lines."""
    def printed(first, count, text):
        return [line for i in range(first, first + 5 * count, 5) for line in [text.format(i=i)] + [f"  loader: {j} ms of waiting" for j in range(9)]]

    make(server, "tenfold", LOSS)
    server.send("tenfold", printed(0, 30, "step {i} loss: 2.5") + printed(150, 20, "{{'iteration': {i}, 'train_loss': 2.4}}") + ["{'iteration': 250, 'train_loss': 2.4}"])
    (one,) = wait_until(lambda: silent(server, "tenfold"), what="the incident")
    # the last loss is in line 290, 9 lines of waiting are behind it; the 20 new ones are in lines 300, 310 … 490: the next is the 210th line
    assert (one["opened_step"], one["evidence"]["line"], one["evidence"]["value"], one["evidence"]["expected"]) == (145, 500, 210, 10)


OTHER = "[iter {i}] train_loss={value:.3f} | learning_rate=0.001"


def told_after(server, job, before, after, count):
    """Not after so many lines, but with the next one."""
    make(server, job, LOSS, {"Name": "place", "Regex": "learning_rate=([0-9.]+)"})
    server.send(job, before + after[:count])
    server.wait_for_points(job, "place", count)
    assert silent(server, job) == []
    server.send(job, after[count:count + 1])
    (one,) = wait_until(lambda: silent(server, job), what="the incident")
    assert (one["metric"], one["state"], one["evidence"]["value"], one["evidence"]["text"]) == ("train:loss", "open", count + 1, after[count])


def test_the_whole_print_format_changes_and_steps_come_more_rarely(server):
    """Every step, and then every tenth."""
    told_after(server, "rarely", lines_of(40), [OTHER.format(i=i, value=2.5) for i in range(40, 1100, 10)], 100)


def test_the_whole_print_format_changes_and_the_count_begins_anew(server):
    """A validation may do so: a thousand lines with the name of the metric and a number say enough, where one of another kind is a 250th of 20."""
    told_after(server, "anew", lines_of(40), lines_of(1001, OTHER), 1000)


def test_the_whole_print_format_changes_and_has_no_step(server):
    told_after(server, "stepless", ["loss: 2.5 lr 0.1"] * 40, ["train_loss=2.4 | learning_rate=0.1"] * 1001, 1000)


def test_its_message(server):
    from receiver import Receiver
    receiver = Receiver()
    try:
        assert server.post("/api/v1/webhooks", json={"url": receiver.url, "minimum_severity": "warning"}).status == 201
        make(server, "told", LOSS)
        now = int(time.time())
        stamp = lambda text: time.strftime("%Y-%m-%dT%H:%M:%SZ ", time.gmtime(now)) + text
        server.send("told", [stamp(line) for line in lines_of(10) + lines_of(30, "step {i} loss: none yet", 10)])
        told = wait_until(lambda: [json.loads(body) for _, body, _ in receiver.calls if b"definition_silent" in body], what="the message")
        assert "train:loss of told: its definition has found no value for 21 lines (longest before: 1), algo-1" in json.dumps(told[0])
    finally:
        receiver.close()


def test_the_past_rings_nobody(server):
    make(server, "past", LOSS)
    server.send("past", [f"2024-03-01T00:{i // 60:02}:{i % 60:02}Z {line}" for i, line in enumerate(lines_of(10) + lines_of(40, "step {i} loss: skipped", 10))])
    (one,) = wait_until(lambda: silent(server, "past"), what="the incident")
    assert one["is_historic"] is True


def test_a_restart_of_the_server_goes_on_counting(make_server):
    server = make_server("--seal-age", "1s")
    make(server, "restart", LOSS, RATE)
    server.send("restart", lines_of(10) + lines_of(15, "step {i} loss: skipped lr 0.001", 10))
    server.wait_for_points("restart", "lr", 25)
    server.restart()
    server.send("restart", lines_of(5, "step {i} loss: skipped lr 0.001", 25))
    server.wait_for_points("restart", "lr", 30)
    assert silent(server, "restart") == []
    server.kill()
    server.start()
    server.send("restart", lines_of(1, "step {i} loss: skipped lr 0.001", 30))
    (one,) = wait_until(lambda: silent(server, "restart"), what="the incident")
    assert one["evidence"]["value"] == 21
    server.restart()
    server.send("restart", lines_of(1, first=31))
    wait_until(lambda: silent(server, "restart")[0]["state"] == "recovered", what="it is over")


# ---- healthy ones ----

def test_an_evaluation_every_thousand_lines(server):
    lines = []
    for i in range(6):
        lines += lines_of(1000, first=1000 * i) + [f"step {1000 * i + 1000} val acc 0.{i + 1}"]
    healthy(server, "rare", "val:acc", 6, lines + lines_of(2500, first=6000), LOSS, EVALUATION)


def test_the_first_evaluation_prints_much(server):
    healthy(server, "much", "train:loss", 320, lines_of(300) + lines_of(1500, "evaluating batch {i} of 1500: {value}") + lines_of(20, first=300), LOSS)


def test_the_end_of_a_training_with_saving_lines(server):
    end = [f"Saving model shard {i} of 400 to /fsx/out/model-{i:05}.safetensors" for i in range(400)] + ["Training done"] * 50
    healthy(server, "saving", "train:loss", 200, lines_of(200) + end, LOSS)


def test_a_restart_prints_much(server):
    start = [f"algo-1:{i}:{i} [0] NCCL INFO Channel {i}/0 : 0[0] -> 1[1] via P2P/CUMEM" for i in range(3000)]
    healthy(server, "nccl", "train:loss", 400, lines_of(200) + start + lines_of(200, first=200), LOSS)


def test_an_evaluation_that_prints_a_loss_of_its_own(server):
    """Behind the same logger and clock: INFO:root:08:24:12 [Epoch 1 Batch 10/20] … and INFO:root:08:24:21 [Batch 10/20] …"""
    line = "INFO:root:08:24:12 [{what} {i}/5000] loss={value}"
    lines = [line.format(what="Epoch 1 Batch", i=i, value=0.5) for i in range(200)] + [line.format(what="Batch", i=i, value=0.5) for i in range(500)]
    healthy(server, "logger", "train:loss", 200, lines, {"Name": "train:loss", "Regex": "Epoch [0-9]+ Batch (?<step>[0-9]+)/[0-9]+. loss=([0-9.]+)"})


def test_a_validation_that_counts_past_the_step(server):
    """Its own count begins anew, so that it is no other form of the steps, whatever it reaches; nor are lines that were there before."""
    validation = [f"validating [{i}/600] acc 0.5" for i in range(10, 600, 10)] + [f"[eval] example {i} of 400" for i in range(400)]
    both = [line for i in range(100) for line in (f"step {i} loss: 2.5", f"timer: {i} took 3 ms")]
    healthy(server, "validation", "train:loss", 100, both + [f"timer: {i} took 3 ms" for i in range(100, 400)] + validation, LOSS)


def test_a_long_evaluation_that_says_so(server):
    healthy(server, "says-so", "train:loss", 200, lines_of(200) + [f"[eval] batch {i}: loss {i / 9:.3f}" for i in range(2000)], LOSS)


def test_a_count_that_begins_anew_in_the_same_form(server):
    healthy(server, "again", "train:loss", 40, lines_of(100) + lines_of(40), LOSS)


def test_a_loss_four_times_as_rarely(server):
    """Every tenth step, then every fortieth: of the lines between 39 begin like those with a loss, ten a step at most before."""
    lines = [f"step {i} time 0.5" + (" loss: 2.5" if i % (10 if i < 400 else 40) == 0 else "") for i in range(1000)]
    healthy(server, "fortieth", "train:loss", 55, lines, LOSS)


def test_tables_tracebacks_and_checkpoints(server):
    table = ["| layer | parameters |"] + [f"| blocks.{i}.attn | {1000 * i} |" for i in range(150)]
    traceback = ["Traceback (most recent call last):"] + [f'  File "/opt/ml/code/train.py", line {line}, in {what}'
        for _ in range(60) for line, what in ((212, "main"), (131, "fit"), (87, "step"))]
    checkpoint = [f"Saving checkpoint to /opt/ml/checkpoints/step-101/shard-{i:05}.pt" for i in range(200)]
    numbers = [f"{i} {i * i} {i / 7:.3f}" for i in range(200)]
    healthy(server, "blocks", "train:loss", 101, lines_of(101) + table + traceback + checkpoint + numbers, LOSS)


def test_every_tenth_step_has_a_loss(server):
    lines = [f"step {i} time 0.5" + (f" loss: {3 - i / 1000:.3f}" if i % 10 == 0 else "") for i in range(600)]
    healthy(server, "tenth", "train:loss", 60, lines, LOSS)


def test_only_rank_0_prints_the_loss(server):
    make(server, "ranks", LOSS)
    for i in range(0, 300, 50):
        server.send("ranks", lines_of(50, first=i), stream="algo-1")
        server.send("ranks", [f"step {j} time 0.4" for j in range(i, i + 50)], stream="algo-2")
    mixed = [f"[rank{rank}]: step {i} " + (f"loss: {3 - i / 1000:.3f}" if rank == 0 else "waits") for i in range(200) for rank in range(8)]
    server.send("ranks", mixed, stream="mixed")
    server.wait_for_points("ranks", "train:loss", 200, stream="mixed")
    assert silent(server, "ranks") == []


@long
@pytest.mark.skipif(not SAMPLES.is_dir(), reason="no samples of logs here")
def test_samples_of_logs(server):
    """Each by the definitions of its own preset, as if somebody had written them."""
    jobs = {}
    for number, path in enumerate(sorted(path for path in SAMPLES.rglob("*") if path.is_file() and path.parent != SAMPLES)):
        body, job = path.read_bytes()[:1 << 20], f"sample{number}"
        if server.post(f"/api/v1/logs?job={job}", body, content_type="text/plain").status != 200:
            continue
        server.wait_for_extraction()
        found = server.get(f"/api/v1/jobs/{job}/definitions").body
        definitions = [{key: one[key] for key in ("Name", "Regex", "Step", "Group", "Role") if one.get(key)} for one in found.get("definitions", [])]
        document = {"TrainingJobName": f"own{number}", "AlgorithmSpecification": {"MetricDefinitions": definitions}}
        if definitions and server.post("/api/v1/jobs", json=document).status == 201:
            assert server.post(f"/api/v1/logs?job=own{number}", body, content_type="text/plain").status == 200
            jobs[f"own{number}"] = path
    assert len(jobs) > 10
    server.wait_for_extraction()
    assert {str(path): [(one["metric"], one["evidence"]) for one in silent(server, job)] for job, path in jobs.items() if silent(server, job)} == {}
