"""The door for W&B's SDK without it: who is let in, whose run is whose, lines that come again, limits, and what is refused."""

import base64
import json
import re
import time
from pathlib import Path

import pytest

from awsclients import token_of
from smserver import Server, quote, wait_until
from wandbclient import ask, make_run, post

T0 = 1_790_000_000
HISTORY, EVENTS, SUMMARY, CONSOLE = "wandb-history.jsonl", "wandb-events.jsonl", "wandb-summary.json", "output.log"


def rows(first, last):
    return [{"_step": n, "_timestamp": T0 + n, "_runtime": n, "loss": n + 0.5} for n in range(first, last)]


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A server for tests that have a run each."""
    server = Server(tmp_path_factory.mktemp("wandb_shared")).start()
    yield server
    server.close()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """A server with tokens: (server, {scope or team: token})."""
    server = Server(tmp_path_factory.mktemp("wandb_door")).start()
    tokens = {scope: token_of(server, scope, "--scope", scope)[0] for scope in ("admin", "write", "read")}
    tokens |= {team: token_of(server, team, "--scope", "write", "--team", team)[0] for team in ("red", "blue")}
    yield server, tokens
    server.close()


def taken(reply):
    assert reply.status == 200, reply
    return reply.body


def points(server, job, metric, count):
    server.wait_for_points(job, metric, count)
    return server.points(job, metric)["columns"]["last"]


def peak_kib(server):
    """The most memory that the process ever had."""
    return int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{server.process.pid}/status").read_text()).group(1))


def console(server, job):
    return [line["text"] for line in server.lines(job, "console")]


def test_a_sync_s_time_is_none_of_its_run(shared):
    """A run that was heard of while it trained, and whose rest comes by `wandb sync`: it ended when it told of itself last."""
    now = time.time()
    config = json.dumps({"_wandb": {"value": {"start_time": now - 50}}})
    make_run(shared, "cut", host="node-1", program="/home/u/train.py", config=config)
    taken(post(shared, "cut", {HISTORY: (0, [{"_step": 0, "_timestamp": now + 0.5, "loss": 1}])}))
    wait_until(lambda: time.time() > now + 2, what="a sync that is later than its run")
    make_run(shared, "cut", host="node-1", program="-m wandb.__main__", config=config)
    taken(post(shared, "cut", {CONSOLE: (0, ["printed"])}, complete=True, exitcode=1))
    row = shared.get("/api/v1/jobs/p%2Fcut").body
    assert row["TrainingEndTime"] == pytest.approx(now + 0.5, abs=0.01) and row["TrainingJobStatus"] == "Failed"
    assert all(line["ts_ms"] <= 1000 * now + 510 for line in shared.lines("p/cut", "console"))


def test_parts_of_a_run_are_sent_in_any_order_and_again(shared):
    """Three processes that trained one after the other, the second of which failed: each sync counts its lines behind all that are there."""
    ends, sent = {0: 0, 100: 1, 200: 0}, []

    def send(begun):
        started = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(T0 + begun))
        resumed = ask(shared, "RunResumeStatus", {"project": "p", "name": "parts"})[1]["data"]["model"]["bucket"]
        offset = resumed["historyLineCount"] if resumed else 0
        make_run(shared, "parts", host="node-1", program="-m wandb.__main__", config=json.dumps({"_wandb": {"value": {"e": {"w": {"startedAt": started}}}}}))
        taken(post(shared, "parts", {HISTORY: (offset, rows(begun + 1, begun + 11))}))
        taken(post(shared, "parts", {SUMMARY: (0, [{"loss": begun}])}, complete=True, exitcode=ends[begun]))
        sent.append(begun)
        row = shared.get("/api/v1/jobs/p%2Fparts").body
        return [(each["Status"], each["StartTime"] - T0) for each in row["SecondaryStatusTransitions"]], row["BillableTimeInSeconds"]

    send(200)
    assert send(0) == ([("Training", 0), ("Completed", 10), ("Training", 200), ("Completed", 210)], 20)
    whole = [("Training", 0), ("Completed", 10), ("Training", 100), ("Failed", 110), ("Training", 200), ("Completed", 210)], 30
    for begun in (100, 0, *66 * [200], 100):  # more often than times are kept of
        assert send(begun) == whole, sent
    assert shared.points("p/parts", "loss", attempts="all")["total_points"] == 30, sent
    tail = ask(shared, "RunResumeStatus", {"project": "p", "name": "parts"})[1]["data"]["model"]["bucket"]
    assert json.loads(json.loads(tail["historyTail"])[0])["_step"] == 210 and json.loads(tail["summaryMetrics"]) == {"loss": 200}


def test_the_console_of_a_part_that_is_sent_again_is_there_once(shared):
    """The client counts the lines of a process that goes on with the run behind all that are there: so it does when the same is sent again."""
    def send(begun, lines, *more):
        resumed = ask(shared, "RunResumeStatus", {"project": "p", "name": "twice"})[1]["data"]["model"]["bucket"]
        rows_there, lines_there = (resumed["historyLineCount"], resumed["logLineCount"]) if resumed else (0, 0)
        make_run(shared, "twice", host="node-1", program="-m wandb.__main__", config=meta(T0 + begun))
        for first in range(0, len(lines), 30):  # the console comes before the first row, and in several requests
            taken(post(shared, "twice", {CONSOLE: (lines_there + first, lines[first:first + 30])}))
        taken(post(shared, "twice", {HISTORY: (rows_there, rows(begun + 1, begun + 11))}, complete=True, exitcode=0))

    parts = {begun: [f"{begun}: line {n}" for n in range(100)] for begun in (0, 100)}
    for begun in (0, 100, 0, 100, 100):
        send(begun, parts[begun])
        assert console(shared, "p/twice")[:100] == parts[0]
    assert console(shared, "p/twice") == parts[0] + parts[100]
    # offline without `resume` each counts from 0
    for begun in (0, 100, 0, 100):
        make_run(shared, "zero", host="node-1", program="-m wandb.__main__", config=meta(T0 + begun))
        taken(post(shared, "zero", {CONSOLE: (0, parts[begun])}))
        taken(post(shared, "zero", {HISTORY: (0, rows(begun + 1, begun + 11))}, complete=True, exitcode=0))
    assert console(shared, "p/zero") == parts[0] + parts[100]
    # of one that was cut off the rest is new; and a process of its own is not taken for another, though it prints the same
    send(100, parts[100] + ["100: the end"])
    send(200, parts[0])
    assert console(shared, "p/twice") == parts[0] + parts[100] + ["100: the end"] + parts[0]


def test_a_part_of_a_machine_whose_clock_is_behind_is_none_that_came_again(shared):
    """Its times lie within those of the part before."""
    for offset, begun in ((0, 0), (10, 5)):
        started = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(T0 + begun))
        make_run(shared, "slow-clock", host="node-1", program="-m wandb.__main__", config=json.dumps({"_wandb": {"value": {"e": {"w": {"startedAt": started}}}}}))
        taken(post(shared, "slow-clock", {HISTORY: (offset, rows(begun + 1, begun + 11))}, complete=True, exitcode=0))
    assert shared.points("p/slow-clock", "loss", attempts="all")["total_points"] == 20


def test_a_run_that_is_told_of_as_it_goes_on_ends_when_its_process_ends_it(shared):
    """Its last row is held back until then, however long the process was at work without another: an evaluation, a checkpoint."""
    now = time.time()
    config = json.dumps({"_wandb": {"value": {"start_time": now - 300}}})
    make_run(shared, "quiet", host="node-1", program="/home/u/train.py", config=config)
    taken(post(shared, "quiet", {EVENTS: (0, [{"system.cpu": 5, "_timestamp": now + 0.5}]), HISTORY: (0, [{"_step": 0, "_timestamp": now - 290, "loss": 2}])}))
    taken(post(shared, "quiet", {HISTORY: (1, [{"_step": 1, "_timestamp": now - 200, "loss": 1}])}, complete=True, exitcode=0))
    row = shared.get("/api/v1/jobs/p%2Fquiet").body
    assert row["TrainingJobStatus"] == "Completed" and row["TrainingEndTime"] >= now - 1, row
    assert row["BillableTimeInSeconds"] == pytest.approx(row["TrainingEndTime"] - row["TrainingStartTime"], abs=1) and row["BillableTimeInSeconds"] >= 298


# ---- who is let in ----

def basic(password):
    return {"Authorization": "Basic " + base64.b64encode(f"api:{password}".encode()).decode()}


def test_tokens(guarded):
    server, tokens = guarded
    assert len(tokens["write"]) == 44 and tokens["write"].startswith("smf-")
    assert ask(server, "Viewer")[0] == 401
    assert ask(server, "Viewer", headers=basic("smf-no"))[0] == 401
    assert ask(server, "Viewer", token=tokens["read"])[0] == 403
    assert post(server, "none", token=tokens["read"]).status == 403
    status, body = ask(server, "Viewer", headers=basic(tokens["red"]))
    assert (status, body["data"]["viewer"]["entity"]) == (200, "red")


def test_another_teams_name_is_a_new_one(guarded):
    server, tokens = guarded
    for team in ("red", "blue"):
        assert make_run(server, "same", token=tokens[team], displayName="name")["inserted"]
        assert make_run(server, "same", token=tokens[team], displayName="name")["inserted"] is False
        taken(post(server, "same", {HISTORY: (0, rows(0, 2))}, token=tokens[team]))
    mine = {name: server.get(f"/api/v1/jobs/p%2F{name}", token=tokens["admin"]).body["TrackedRunId"] for name in ("name", "name-2")}
    assert mine == {"name": "red/p/same", "name-2": "blue/p/same"}


# ---- lines that come again ----

def test_a_line_that_comes_again_is_stored_once(shared):
    make_run(shared, "again")
    for _ in range(2):
        taken(post(shared, "again", {HISTORY: (0, rows(0, 3)), CONSOLE: (0, ["one", "two"])}))
    shuffled = [dict(reversed(row.items())) for row in rows(0, 3)]
    taken(post(shared, "again", {HISTORY: (0, shuffled)}))
    taken(post(shared, "again", {HISTORY: (1, rows(1, 5)), CONSOLE: (1, ["two", "three"])}))
    assert points(shared, "p/again", "loss", 5) == [0.5, 1.5, 2.5, 3.5, 4.5]
    assert console(shared, "p/again") == ["one", "two", "three"]


def test_processes_of_one_run_count_their_lines_themselves(shared):
    make_run(shared, "many")
    for n in range(2):
        for writer, base in (("w-1", 100), ("w-2", 200)):
            lines = [{"_step": n, "_timestamp": T0 + base + n, f"loss/{writer}": base + n}]
            body = {"files": {HISTORY: {"offset": n, "content": [json.dumps(line) for line in lines]}, CONSOLE: {"offset": n, "content": [f"{writer} {n}"]}}}
            for _ in range(2):
                taken(shared.post("/files/any/p/many/file_stream", json=body, headers={"X-Wandb-Async-Client-Id": writer}))
    assert points(shared, "p/many", "loss/w-1", 2) == [100, 101] and points(shared, "p/many", "loss/w-2", 2) == [200, 201]
    assert sorted(console(shared, "p/many")) == ["w-1 0", "w-1 1", "w-2 0", "w-2 1"]
    for writer, said in ((128 * "w", None), (129 * "w", "at most 128"), ("a b", "byte 2")):
        reply = shared.post("/files/any/p/many/file_stream", json={}, headers={"X-Wandb-Async-Client-Id": writer})
        assert (reply.status, said is None) == (200, True) or (reply.status == 400 and said in str(reply.body)), reply


def test_after_a_kill(server):
    make_run(server, "killed")
    taken(post(server, "killed", {HISTORY: (0, rows(0, 3)), CONSOLE: (0, ["one", "two"])}))
    server.kill()
    server.start()
    taken(post(server, "killed", {HISTORY: (0, rows(0, 3)), CONSOLE: (0, ["one", "two"])}))
    taken(post(server, "killed", {HISTORY: (3, rows(3, 4)), CONSOLE: (2, ["three"])}))
    assert points(server, "p/killed", "loss", 4) == [0.5, 1.5, 2.5, 3.5]
    assert console(server, "p/killed") == ["one", "two", "three"]
    bucket = ask(server, "RunResumeStatus", {"project": "p", "name": "killed"})[1]["data"]["model"]["bucket"]
    assert (bucket["historyLineCount"], bucket["logLineCount"], bucket["eventsLineCount"]) == (4, 3, 0)
    assert json.loads(json.loads(bucket["historyTail"])[0]) == {"_step": 3, "_runtime": 3, "_timestamp": T0 + 3}


def test_so_many_processes_share_a_run(tmp_path):
    server = Server(tmp_path, "--max-run-processes", "2").start()
    try:
        make_run(server, "many")

        def send(writer, name=CONSOLE, offset=0):
            line = json.dumps({"_step": offset, "loss": 1}) if name == HISTORY else f"line of {writer}"
            return server.post("/files/any/p/many/file_stream", json={"files": {name: {"offset": offset, "content": [line]}}}, headers={"X-Wandb-Async-Client-Id": writer})
        for writer in ("w-1", "w-2"):
            taken(send(writer))
            taken(send(writer, HISTORY))
        for name in (CONSOLE, HISTORY):
            refused = send("w-3", name)
            assert refused.status == 422 and "one process more than the 2 that may share a run (--max-run-processes)" in refused.body["error"]
        taken(send("w-1", offset=1))  # who is known goes on
        taken(post(server, "many", {CONSOLE: (0, ["of nobody"])}))
        assert sorted(console(server, "p/many")) == ["line of w-1", "line of w-1", "line of w-2", "of nobody"]
        make_run(server, "another")
        taken(server.post("/files/any/p/another/file_stream", json={"files": {CONSOLE: {"offset": 0, "content": ["x"]}}}, headers={"X-Wandb-Async-Client-Id": "w-3"}))
    finally:
        server.close()


def test_a_run_that_begins_anew_under_its_id(shared):
    make_run(shared, "anew")
    taken(post(shared, "anew", {HISTORY: (0, rows(0, 3))}))
    taken(post(shared, "anew", {HISTORY: (0, [{"_step": 0, "_timestamp": T0 + 60, "loss": 9}])}))
    shared.wait_for_points("p/anew", "loss", 4)


def resumes(server, run_id):
    """What a client that goes on is told: (rows, last step)."""
    bucket = ask(server, "RunResumeStatus", {"project": "p", "name": run_id})[1]["data"]["model"]["bucket"]
    return bucket["historyLineCount"], json.loads(json.loads(bucket["historyTail"])[-1])["_step"]


def test_a_run_that_goes_back_goes_on_behind_what_is_stored(shared):
    make_run(shared, "back", config=json.dumps({"lr": {"value": 0.5}}))
    taken(post(shared, "back", {HISTORY: (0, rows(0, 10)), CONSOLE: (0, [f"first {n}" for n in range(40)])}))
    status, body = ask(shared, "RewindRun", {"project": "p", "runName": "back", "metricName": "_step", "metricValue": 4})
    bucket = body["data"]["rewindRun"]["rewoundRun"]
    assert (status, bucket["name"], bucket["displayName"], bucket["historyLineCount"]) == (200, "back", "back", 5), body
    assert json.loads(bucket["config"])["lr"] == {"value": 0.5} and bucket["project"]["name"] == "p"
    assert resumes(shared, "back") == (5, 4)
    taken(post(shared, "back", {HISTORY: (5, rows(5, 7)), CONSOLE: (0, [f"again {n}" for n in range(40)])}))
    shared.wait_for_points("p/back", "loss", 12)
    assert resumes(shared, "back") == (7, 6), "a client goes on behind the greater of both"
    taken(post(shared, "back", {HISTORY: (5, rows(5, 13))}))
    shared.wait_for_points("p/back", "loss", 18)
    assert resumes(shared, "back") == (13, 12)
    assert console(shared, "p/back") == [f"{word} {n}" for word in ("first", "again") for n in range(40)]


def test_where_a_run_does_not_go_back_to(guarded):
    server, tokens = guarded
    make_run(server, "theirs", token=tokens["red"])
    place = {"project": "p", "runName": "theirs", "metricName": "_step", "metricValue": 4}
    assert ask(server, "RewindRun", place, token=tokens["red"])[1]["data"]["rewindRun"]
    for token, changed, said in (("blue", {}, "has no run with the id 'theirs' in the project 'p'"), ("red", {"runName": "x"}, "no run with the id 'x'"),
            ("red", {"metricName": "loss"}, "not by 'loss'"), ("red", {"metricName": None}, "'_step' alone"),
            ("red", {"metricValue": -1}, "0 or more"), ("red", {"metricValue": "4"}, "0 or more"), ("red", {"runName": "a/b"}, "slash")):
        status, message = refusal(ask(server, "RewindRun", {**place, **changed}, token=tokens[token]))
        assert status == 200 and said in message, message


def test_a_progress_bar_is_a_line_for_each_state(shared):
    make_run(shared, "bar")
    for percent in (10, 50, 50, 100):
        taken(post(shared, "bar", {CONSOLE: (1, [f"2026-11-22T15:39:49.676464 {percent} %"])}))
    assert console(shared, "p/bar") == ["10 %", "50 %", "100 %"]


def test_times_and_standard_error(shared):
    make_run(shared, "times")
    taken(post(shared, "times", {CONSOLE: (0, ["2026-11-22T15:39:49.676464 out", "ERROR 2026-11-22T15:39:50.5 err", "bare", "2026 is no time"])}))
    lines = shared.lines("p/times", "console")
    assert [line["text"] for line in lines] == ["out", "err", "bare", "2026 is no time"]
    assert [line["ts_ms"] for line in lines[:2]] == [1795361989676, 1795361990500]


# ---- what lines hold ----

def test_values(shared):
    make_run(shared, "values", config=json.dumps({"_wandb": {"value": {"m": [{"2": "eval/*", "5": 2}, {"1": "epoch"}]}}}))
    taken(post(shared, "values", {HISTORY: (0, [
        '{"_step": 3, "a": NaN, "b": "Infinity", "c": -Infinity, "d": true, "e": {"f": {"g": 1e3}}, "eval/x": 1, "epoch": 7, "{h}": 1}'])}))
    for metric in ("a", "b", "c"):
        shared.wait_for_points("p/values", metric, 1)
    assert points(shared, "p/values", "d", 1) == [1] and points(shared, "p/values", "e.f.g", 1) == [1000] and points(shared, "p/values", "_h_", 1) == [1]
    assert shared.points("p/values", "eval/x")["columns"]["x"] == [7]
    assert shared.points("p/values", "d")["columns"]["x"] == [3]


def test_what_has_no_place_is_counted(shared):
    make_run(shared, "left")
    body = taken(post(shared, "left", {HISTORY: (0, [
        {"_step": 0, "text": "x", "list": [1, 2], "picture": {"_type": "image-file", "width": 3}, "none": None, "loss": 1}, '{"bad', {"_step": 2, "loss": 3}]),
        "other.txt": (0, ["x"])}))
    assert body["refused"] == 5
    assert points(shared, "p/left", "loss", 2) == [1, 3]
    shared.wait_for_log("wandb_left_out")


def test_a_machine(shared):
    make_run(shared, "machine", host="node-1")
    taken(post(shared, "machine", {EVENTS: (0, [{"system.cpu": 12.5, "system.gpu.3.temp": 61, "system.gpu.3.memoryAllocatedBytes": 2 << 20,
        "system.new": 1, "_timestamp": T0, "_runtime": 1, "_wandb": True}])}))
    stream = "system/node-1"
    for metric, value in (("cpu_percent", 12.5), ('gpu_temperature_celsius{gpu="3"}', 61), ('gpu_memory_used_mib{gpu="3"}', 2), ("system.new", 1)):
        shared.wait_for_points("p/machine", metric, 1, stream=stream)
        assert shared.points("p/machine", metric, stream=stream)["columns"]["last"] == [value]


def test_mlflow_does_not_list_runs_of_wandb(shared):
    """Their points have attempts and calls without a value, which MLflow does not know: an import by MLflow's calls would add to them."""
    make_run(shared, "other", project="both")
    taken(post(shared, "other", {HISTORY: (0, rows(0, 1))}, project="both"))
    (experiment,) = [row for row in shared.post("/api/2.0/mlflow/experiments/search", json={"max_results": 1000}).body["experiments"] if row["name"] == "both"]
    made = shared.post("/api/2.0/mlflow/runs/create", json={"experiment_id": experiment["experiment_id"], "run_name": "ours", "start_time": 1700000000000})
    for more in ({}, {"filter": "attributes.status = 'RUNNING'"}, {"order_by": ["attributes.start_time"]}, {"run_view_type": "ALL"}):
        found = shared.post("/api/2.0/mlflow/runs/search", json={"experiment_ids": [experiment["experiment_id"]], **more}).body["runs"]
        assert [run["info"]["run_id"] for run in found] == [made.body["run"]["info"]["run_id"]], more


def test_a_body_that_names_a_file_often_is_no_memory(shared):
    make_run(shared, "often")
    body = b'{"files":{"output.log":{' + b",".join([b'"content":[]'] * 300_000) + b"}}}"
    before = peak_kib(shared)
    assert shared.post("/files/any/p/often/file_stream", body, headers={"Content-Type": "application/json"}).status == 200
    assert peak_kib(shared) - before < 100_000, "for each 512 bytes, this would be 150 MB"


# ---- how it ends ----

@pytest.mark.parametrize("code, status", [(0, "Completed"), (1, "Failed"), (255, "Stopped")])
def test_ends(shared, code, status):
    make_run(shared, f"end-{code}")
    for _ in range(2):
        taken(post(shared, f"end-{code}", complete=True, exitcode=code))
    assert shared.get(f"/api/v1/jobs/p%2Fend-{code}").body["TrainingJobStatus"] == status
    taken(post(shared, f"end-{code}", {HISTORY: (0, rows(0, 1))}))
    assert shared.get(f"/api/v1/jobs/p%2Fend-{code}").body["TrainingJobStatus"] == "InProgress"


def test_a_checkpoint_that_is_begun_and_done_is_one(shared):
    make_run(shared, "checkpoints")
    taken(post(shared, "checkpoints", {HISTORY: (0, rows(0, 12)), CONSOLE: (0, ["Saving checkpoint at step 4", "Saved checkpoint at step 4",
        "Saving checkpoint at step 8 to /ckpt", "saving checkpoint at iteration 11 to /ckpt"])}))
    shared.wait_for_extraction()

    def steps():
        return sorted(row["step"] for row in shared.get("/api/v1/jobs/p%2Fcheckpoints/checkpoints").body["checkpoints"])

    wait_until(lambda: len(steps()) >= 2, what="checkpoints")  # they are looked for line by line
    assert steps() == [4, 8]


# ---- what is refused ----

def refusal(reply):
    status, body = reply if isinstance(reply, tuple) else (reply.status, reply.body)
    return status, body["errors"][0]["message"]


def test_refusals(shared):
    make_run(shared, "refused")
    for body, said in ((b"{", "line 1"), (b'{"files":{"output.log":{"offset":-1,"content":[]}}}', "offset"), (b'{"files":[]}', "'{'"),
            (b'{"exitcode":"x"}', "exit code"), (b'{"ended_ms":-1}', "a time in milliseconds"), (b'{"files":{"wandb-history.jsonl":{"content":[1]}}}', "a text in quotes")):
        status, message = refusal(shared.post("/files/e/p/refused/file_stream", body, content_type="application/json"))
        assert status == 400 and said in message, message
    assert refusal(post(shared, "unknown")) == (404, "there is no run with the id '/p/unknown'")
    for variables, said in (({"name": "a/b"}, "slash"), ({"name": 129 * "x"}, "at most 128"), ({"name": 1}, "must be a text"),
            ({"name": "x", "config": "{"}, "no JSON object"), ({"name": "x", "tags": "x"}, "list"), ({"name": "x", "sweep": "s"}, "sweeps")):
        status, message = refusal(ask(shared, "UpsertBucket", {"project": "p", **variables}))
        assert status == 200 and said in message, message
    make_run(shared, 128 * "x")


def test_processes_with_labels_have_streams(shared):
    """mode="shared" and x_label: the console of each process is a stream, and its machine's measures are."""
    make_run(shared, "labels", host="head")

    def send(writer, lines=(), offset=0, events=(), events_offset=0):
        files = {CONSOLE: {"offset": offset, "content": list(lines)}, EVENTS: {"offset": events_offset, "content": [json.dumps(event) for event in events]}}
        taken(shared.post("/files/any/p/labels/file_stream", json={"files": files}, headers={"X-Wandb-Async-Client-Id": writer} if writer else None))
    measure = lambda label, value: {"system.cpu/l:" + label: value, "system.gpu.0.gpu/l:" + label: value, "_timestamp": T0, "_runtime": 1}
    for n in range(2):  # each post comes twice
        send("w-1", ["2026-11-28T20:00:00.5 [rank-0] one", "2026-11-28T20:00:01.5 [rank-1] said by it", "2026-11-28T20:00:02.5 no label"], 0, [measure("rank-0", 10)])
    for n in range(2):
        send("w-2", ["2026-11-28T20:00:00.5 [rank-1] one"], 0, [measure("rank-1", 20)])
    for n in range(2):  # it is known from then on
        send("w-1", ["ERROR 2026-11-28T20:00:03.5 [rank-0] two"], 3)
    texts = lambda stream: [line["text"] for line in shared.lines("p/labels", stream)]
    assert texts("rank-0") == ["one", "[rank-1] said by it", "no label", "two"] and texts("rank-1") == ["one"]
    for label, value in (("rank-0", 10), ("rank-1", 20)):
        for metric in ("cpu_percent", 'gpu_utilization_percent{gpu="0"}'):
            shared.wait_for_points("p/labels", metric, 1, stream="system/" + label)
            assert shared.points("p/labels", metric, stream="system/" + label)["columns"]["last"] == [value]
    # No label of a process: it has none, it is none that a stream may have, or the process is the only one.
    for writer, label in (("w-3", ""), ("w-4", "a b"), ("w-5", "a/b"), ("w-6", 65 * "x"), ("w-7", "ä"), (None, "alone")):
        send(writer, [f"[{label}] of {writer}"], 0, [measure(label, 1)])
        assert texts("console")[-1] == f"[{label}] of {writer}"
    send("w-8", ["[x] most"], 0, [measure(64 * "x", 1)])
    assert texts(64 * "x") == ["[x] most"]
    streams = {row["stream"] for row in shared.get("/api/v1/jobs/p%2Flabels/streams").body["streams"]}
    assert streams == {"rank-0", "rank-1", "console", 64 * "x", "system/rank-0", "system/rank-1", "system/head", "system/" + 64 * "x"}


def test_unknown_operations_are_told(shared):
    for operation, said in (("UpsertSweep", "no sweeps"), ("CreateArtifact", "no artifacts"), ("Whatever", "'Whatever'")):
        status, message = refusal(ask(shared, operation))
        assert status == 200 and said in message
    status, message = refusal(shared.post("/graphql", json={"query": "{ projects { id } }"}))
    assert status == 200 and "name its operation" in message
    for query in ("{ viewer { id } }", "query { viewer { id } }"):  # as older clients ask whose key it is
        assert shared.post("/graphql", json={"query": query}).body["data"]["viewer"]["entity"] == "smfleet"
    assert shared.post("/graphql", json={"query": "fragment f on X { y }\nquery Viewer { viewer { id } }"}).body["data"]["viewer"]["entity"] == "smfleet"
    assert refusal(shared.post("/graphql", b"[]", content_type="application/json"))[0] == 200
    assert refusal(shared.post("/graphql", b"{", content_type="application/json"))[0] == 400


def not_kept(server, job, token=None):
    """What the run is told that it lacks; None: nothing."""
    return next((tag["Value"] for tag in server.get(f"/api/v1/jobs/{quote(job)}", token=token).body.get("Tags") or [] if tag["Key"] == "smfleet.not_kept"), None)


def test_what_is_not_kept_is_told_at_the_run(guarded):
    server, tokens = guarded
    red = {"token": tokens["red"]}
    make_run(server, "lacks", project="told", **red)
    lacks = lambda: not_kept(server, "told/lacks", tokens["read"])
    files = lambda names, **more: ask(server, "CreateRunFiles", {"project": "told", "run": "lacks", "files": names}, **{**red, **more})
    assert files(["output.log", "config.yaml", "requirements.txt", "wandb-metadata.json", "wandb-summary.json", "logs/a.log"])[1]["data"]["createRunFiles"]["files"] == []
    assert lacks() is None, "the client sends these of its own accord"
    files(["output.log", "media/ä.png", 7, "b.txt"])
    assert lacks() == "media/ä.png and 1 more: this server keeps no files of W&B's runs (--wandb-files)"
    assert files(["c.txt"], token=tokens["blue"])[1]["errors"], "another team has no such run"
    artifact = {"projectName": "told", "runName": "lacks", "artifactTypeName": "model"}
    for members in ({"artifactCollectionName": "m"}, {"artifactCollectionNames": ["m"]}):
        files(["b.txt"])
        assert lacks().startswith("b.txt: ")
        status, message = refusal(ask(server, "CreateArtifact", {"input": artifact | members}, **red))
        assert status == 200 and "keeps no artifacts" in message
        assert lacks() == "m: " + message
    assert refusal(ask(server, "CreateArtifact", {"input": artifact}, token=tokens["blue"]))[0] == 200
    for odd in ({"input": 7}, {"input": {"runName": 7}}, {"input": {"runName": "x/y", "projectName": "told"}}, {"input": {"runName": "nobody", "projectName": "told"}}):
        assert refusal(ask(server, "CreateArtifact", odd, **red))[0] == 200, odd
    assert lacks().startswith("m: "), "nobody else has said anything"


def test_what_old_clients_ask_before_they_log_a_table(shared):
    assert ask(shared, "ArtifactType", {"projectName": "p", "name": "a:latest"})[1]["data"] == {"project": None}
    for operation in ("InputFields", "TypeFields"):
        assert ask(shared, operation, {"typeName": "CreateArtifactInput"})[1]["data"] == {"TypeInfo": {"fields": [], "inputFields": []}}
    probe = ask(shared, "ProbeServerCapabilities")[1]["data"]
    assert ["serverInfo"] == [field["name"] for field in probe["QueryType"]["fields"]]
    assert ["cliVersionInfo"] == [field["name"] for field in probe["ServerInfoType"]["fields"]]
    for operation in ("Viewer", "ServerInfo"):
        assert ask(shared, operation)[1]["data"]["serverInfo"] == {"cliVersionInfo": {"max_cli_version": "0.31.0", "min_cli_version": "0.19.11"}}


def test_limits(tmp_path):
    server = Server(tmp_path, "--max-push-bytes", "2000", "--max-series", "3").start()
    try:
        make_run(server, "limits")
        empty = len(json.dumps({"files": {CONSOLE: {"offset": 0, "content": [""]}}}))
        assert taken(post(server, "limits", {CONSOLE: (0, [(2000 - empty) * "x"])}))
        status, message = refusal(post(server, "limits", {CONSOLE: (1, [(2001 - empty) * "x"])}))
        assert status == 413 and "--max-push-bytes" in message
        assert taken(post(server, "limits", {HISTORY: (0, [{"a": 1, "b": 2, "c": 3, "d": 4}])}))["refused"] == 1
        assert server.figure("refused_points_total") == 1
        server.wait_for_log("wandb_left_out .*--max-series")
        assert taken(post(server, "limits", {HISTORY: (1, [{"a": 1, "e": 2}])}))["refused"] == 1
        wait_until(lambda: server.figure("refused_points_total") == 2, what="the value of a fourth metric is counted")
        assert len(re.findall("event=wandb_left_out .*--max-series", server.log_text())) == 2, "a later post is told of, too"
        tags = {tag["Key"]: tag["Value"] for tag in server.get("/api/v1/jobs/p%2Flimits").body["Tags"]}
        assert tags["smfleet.not_kept"] == "metrics: values of more than 3 in a stream are not stored (--max-series)"
        assert server.get("/api/v1/jobs/p%2Flimits").body["TrainingJobStatus"] == "InProgress"
    finally:
        server.close()


def test_a_deleted_run_is_gone(shared):
    make_run(shared, "gone")
    taken(post(shared, "gone", {HISTORY: (0, rows(0, 1))}))
    taken(post(shared, "gone", complete=True, exitcode=0))
    assert shared.delete("/api/v1/jobs/p%2Fgone").status in (200, 202, 204)
    assert refusal(post(shared, "gone", {HISTORY: (1, rows(1, 2))}))[0] == 404


def delete(server, run_id, **options):
    return ask(server, "DeleteRun", {"id": run_id}, **options)[1]


def test_a_run_is_deleted_into_the_trash(guarded):
    server, tokens = guarded
    red, blue, admin = ({"token": tokens[name]} for name in ("red", "blue", "admin"))
    key = make_run(server, "away", project="del", **red)["bucket"]["id"]
    assert key == "red/del/away"
    taken(post(server, "away", {HISTORY: (0, rows(0, 3))}, project="del", **red))
    assert "job 'del/away' is running; stop it first" in delete(server, key, **red)["errors"][0]["message"]
    taken(post(server, "away", project="del", complete=True, exitcode=0, **red))
    for odd in ("", "away", "del/away", "red/del", "red/del/", "red//away", "red/del/none", "blue/del/away", "red/del/away/x", 7):
        assert delete(server, odd, **red)["errors"], odd
    assert "has no run 'red/del/away'" in delete(server, key, **blue)["errors"][0]["message"]
    assert server.get("/api/v1/jobs/del%2Faway", **admin).status == 200
    for _ in range(2):
        assert delete(server, key, **red) == {"data": {"deleteRun": {"clientMutationId": None}}}
    assert server.get("/api/v1/jobs/del%2Faway", **admin).status == 404
    told = server.get("/api/v1/audit", **admin).body
    assert [row["token"] for row in next(rows for rows in told.values() if isinstance(rows, list)) if row["verb"] == "delete" and "del/away" in row["object"]] == ["red"], told
    assert server.post("/api/v1/jobs/del%2Faway/restore", **admin).status == 200
    assert server.get("/api/v1/jobs/del%2Faway", **admin).status == 200


def test_without_a_trash_no_run_is_deleted(tmp_path):
    server = Server(tmp_path, "--trash-days", "0").start()
    try:
        key = make_run(server, "stays")["bucket"]["id"]
        taken(post(server, "stays", complete=True, exitcode=0))
        assert "--trash-days 0" in delete(server, key)["errors"][0]["message"]
        assert server.get("/api/v1/jobs/p%2Fstays").status == 200
    finally:
        server.close()


def test_a_run_in_the_trash_is_told(shared):
    for run_id in ("trashed", "kept"):
        make_run(shared, run_id, project="bin")
        taken(post(shared, run_id, {HISTORY: (0, rows(0, 1))}, project="bin", complete=True, exitcode=0))
    assert shared.delete("/api/v1/jobs/bin%2Ftrashed").status in (200, 202, 204)
    status, body = ask(shared, "UpsertBucket", {"project": "bin", "name": "trashed"})
    assert status == 200 and "the run 'trashed' of the project 'bin' was deleted: restore its job" in body["errors"][0]["message"], body
    assert ask(shared, "Run", {"project": "bin", "name": "trashed"})[1]["data"]["project"]["run"] is None
    assert refusal(post(shared, "trashed", {HISTORY: (1, rows(1, 2))}, project="bin"))[0] == 404
    for order in ("+created_at", "-created_at"):
        found = ask(shared, "Runs", {"project": "bin", "order": order})[1]["data"]["project"]
        assert [edge["node"]["name"] for edge in found["runs"]["edges"]] == ["kept"] and found["runCount"] == 1


# ---- when it was ----

def meta(started_s, **more):
    """A config as the second request of a process has it."""
    at = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(started_s))
    return json.dumps({"_wandb": {"value": {"e": {"w1": {"startedAt": at, **more}}}}})


def row_of(server, job):
    return server.get(f"/api/v1/jobs/{quote(job)}").body


def test_a_run_of_the_past_has_its_own_times(shared):
    began = int(time.time()) - 7200
    make_run(shared, "past")
    make_run(shared, "past", config=meta(began))
    history = [{"_step": n, "_timestamp": began + 100 + 10 * n, "_runtime": 100 + 10 * n, "loss": 1} for n in range(0, 90)]
    taken(post(shared, "past", {HISTORY: (0, history), CONSOLE: (0, [time.strftime("%Y-%m-%dT%H:%M:%S.0 line", time.gmtime())])}))
    taken(post(shared, "past", {SUMMARY: (0, [{"_wandb": {"runtime": 1000}}])}, complete=True, exitcode=0))
    row = row_of(shared, "p/past")
    assert (row["TrainingStartTime"], row["TrainingEndTime"], row["CreationTime"]) == (began, began + 1000, began)
    assert (row["TrainingTimeInSeconds"], row["BillableTimeInSeconds"]) == (1000, 1000)
    assert [line["ts_ms"] for line in shared.lines("p/past", "console")] == [(began + 990) * 1000]
    goodput = shared.get("/api/v1/jobs/p%2Fpast/goodput").body
    assert (goodput["wall_seconds"], goodput["steps"]["made"]) == (1000, 90)
    assert {name: bucket["seconds"] for name, bucket in goodput["buckets"].items() if bucket["seconds"]} == {
        "first_step": 90, "productive": 900, "idle": 10}


def test_a_resumed_run_begins_with_its_process(shared):
    now = int(time.time())
    make_run(shared, "goes-on", host="node-1")
    make_run(shared, "goes-on", config=meta(now - 3600))
    taken(post(shared, "goes-on", {HISTORY: (0, [{"_step": n, "_timestamp": now - 3500 + n, "loss": 1} for n in range(100)])}, complete=True, exitcode=1))
    assert row_of(shared, "p/goes-on")["TrainingEndTime"] == now - 3401
    make_run(shared, "goes-on", host="node-1")
    assert row_of(shared, "p/goes-on")["TrainingJobStatus"] == "Failed", "asking is not going on"
    make_run(shared, "goes-on", config=meta(now - 600))
    row = row_of(shared, "p/goes-on")
    assert row["TrainingJobStatus"] == "InProgress"
    assert [(part["Status"], part["StartTime"]) for part in row["SecondaryStatusTransitions"]] == [("Training", now - 3600), ("Failed", now - 3401), ("Training", now - 600)]
    taken(post(shared, "goes-on", {EVENTS: (0, [{"system.cpu": 5, "_timestamp": now}]), HISTORY: (100, [{"_step": 100, "_timestamp": now, "loss": 1}])}))
    shared.wait_for_points("p/goes-on", "cpu_percent", 1, stream="system/node-1")
    taken(post(shared, "goes-on", complete=True, exitcode=0))
    row = row_of(shared, "p/goes-on")
    ran = 199 + row["TrainingEndTime"] - (now - 600)
    assert abs(row["BillableTimeInSeconds"] - ran) <= 1, "both parts, and not what lies between"


def test_another_process_s_last_lines_do_not_go_on_with_a_run_that_ended(shared):
    now = int(time.time())
    make_run(shared, "ranks", config=meta(now - 3600))

    def send(writer, offset, at_s, **members):
        line = json.dumps({"_step": offset, "_timestamp": at_s, f"loss/{writer}": 1})
        body = {"files": {HISTORY: {"offset": offset, "content": [line]}}, **members}
        return taken(shared.post("/files/any/p/ranks/file_stream", json=body, headers={"X-Wandb-Async-Client-Id": writer}))
    send("w-0", 0, now - 3500)
    send("w-1", 0, now - 3499)
    send("w-0", 1, now - 3490, complete=True, exitcode=0)
    ended = row_of(shared, "p/ranks")
    assert ended["TrainingJobStatus"] == "Completed"
    send("w-1", 1, now - 3480)
    shared.wait_for_points("p/ranks", "loss/w-1", 2)
    row = row_of(shared, "p/ranks")
    assert (row["TrainingJobStatus"], row["TrainingEndTime"]) == ("Completed", ended["TrainingEndTime"])
    make_run(shared, "ranks", config=meta(now - 3600, more=1))
    assert row_of(shared, "p/ranks")["TrainingJobStatus"] == "Completed", "a process of before that says more of itself"
    make_run(shared, "ranks", config=meta(now - 600))
    send("w-2", 0, now - 590)
    row = row_of(shared, "p/ranks")
    assert row["TrainingJobStatus"] == "InProgress"
    assert [(part["Status"], part["StartTime"]) for part in row["SecondaryStatusTransitions"]][-1] == ("Training", now - 600)


def test_a_killed_run_whose_job_ended_otherwise_begins_with_its_next_process(shared):
    """As sm-ship ends it, or somebody by hand: a run that was killed says nothing of its end."""
    now = int(time.time())
    make_run(shared, "killed-early", host="node-1")
    make_run(shared, "killed-early", config=meta(now - 3600))
    ended = {"SecondaryStatus": "Failed", "time_ms": 1000 * (now - 3590)}
    assert shared.post("/api/v1/jobs/p%2Fkilled-early/transitions", json=ended).status < 300
    assert row_of(shared, "p/killed-early")["TrainingJobStatus"] == "Failed"
    make_run(shared, "killed-early", config=meta(now - 3600, more=1))
    assert row_of(shared, "p/killed-early")["TrainingJobStatus"] == "Failed", "the same process"
    make_run(shared, "killed-early", config=meta(now - 600))
    row = row_of(shared, "p/killed-early")
    assert row["TrainingJobStatus"] == "InProgress"
    assert [(part["Status"], part["StartTime"]) for part in row["SecondaryStatusTransitions"]] == [("Training", now - 3600), ("Failed", now - 3590), ("Training", now - 600)]
    taken(post(shared, "killed-early", {HISTORY: (0, [{"_step": n, "_timestamp": now - 590 + n, "loss": 1} for n in range(500)])}, complete=True, exitcode=0))
    row = row_of(shared, "p/killed-early")
    assert row["TrainingJobStatus"] == "Completed"
    assert abs(row["BillableTimeInSeconds"] - (10 + row["TrainingEndTime"] - (now - 600))) <= 1, "both parts"


def begin_process(server, run_id, at_s=None, axis="global_step"):
    """at_s None: its first request does not say when it began, as those of 0.31 do not."""
    config = {"_wandb": {"value": {**({"start_time": at_s} if at_s else {}), "m": [{"1": axis}, {"2": "*", "5": 1}]}}}
    make_run(server, run_id, host="h", config=json.dumps(config))


def test_a_process_whose_axis_goes_back_begins_an_attempt(shared):
    server = shared

    def log(offset, first, last, at_s):
        rows = [{"_step": offset + n, "_timestamp": at_s + n, "global_step": step, "loss": 1.0} for n, step in enumerate(range(first, last))]
        assert post(server, "axis", {"wandb-history.jsonl": (offset, rows)}).status == 200
    now = int(time.time()) - 3600
    attempts = lambda: (server.wait_for_extraction(), server.get("/api/v1/jobs/p%2Faxis").body["attempts"])[1]
    begin_process(server, "axis", now)
    log(0, 0, 100, now)
    begin_process(server, "axis", now)  # the same process: its config has changed
    log(100, 100, 101, now + 100)
    begin_process(server, "axis", now + 300)  # another one that goes on
    log(101, 101, 110, now + 301)
    assert attempts() == 1
    begin_process(server, "axis", now + 500)
    log(110, 90, 91, now + 501)
    assert attempts() == 2, "one step is enough"
    log(111, 91, 130, now + 502)
    assert attempts() == 2
    assert server.points("p/axis", "loss", attempts=2, buckets=1000)["columns"]["x"] == list(range(90, 130))


def test_a_process_that_does_not_say_when_it_began_goes_on_with_its_run_all_the_same(shared):
    server = shared
    now = int(time.time()) - 3600

    def log(offset, first, last, at_s):
        rows = [{"_step": offset + n, "_timestamp": at_s + n, "global_step": step, "loss": 1.0} for n, step in enumerate(range(first, last))]
        assert post(server, "axis31", {"wandb-history.jsonl": (offset, rows)}).status == 200
    attempts = lambda: (server.wait_for_extraction(), server.get("/api/v1/jobs/p%2Faxis31").body["attempts"])[1]
    begin_process(server, "axis31")
    log(0, 0, 100, now)
    begin_process(server, "axis31")
    log(100, 60, 61, now + 200)
    assert attempts() == 2, "one step is enough"
    log(101, 61, 100, now + 201)
    assert attempts() == 2
    assert server.series("p/axis31", "loss")["count"] == 100


def test_a_fork_of_no_run_and_of_itself(shared):
    def upsert(name, **branch):
        return ask(shared, "UpsertBucket", {"project": "p", "name": name, "config": json.dumps({"_wandb": {"value": {"branch_point": branch}}})})[1]
    assert "no run with the id 'nothing' in the project 'p' to be forked" in upsert("fork", run_id="nothing", step=4)["errors"][0]["message"]
    assert "'name' holds a slash" in upsert("fork", run_id="a/b", step=4)["errors"][0]["message"]
    assert shared.get("/api/v1/jobs/p%2Ffork").status == 404
    make_run(shared, "origin")
    for step, said in ((4, "4"), (1e300, "1e+300"), ("x", "0"), (None, "0")):
        assert upsert("fork", run_id="origin", step=step)["data"]["upsertBucket"]["bucket"]["name"] == "fork"
        tags = {tag["Key"]: tag["Value"] for tag in shared.get("/api/v1/jobs/p%2Ffork").body["Tags"]}
        assert (tags["continues"], tags["wandb.fork_from"]) == ("p/origin", f"origin?_step={said}")
    assert upsert("origin", run_id="origin", step=4)["data"]
    assert not shared.get("/api/v1/jobs/p%2Forigin").body.get("Tags")
