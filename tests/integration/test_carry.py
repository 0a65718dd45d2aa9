"""Whole jobs out of one server and into another: what comes out again is the same, byte for byte."""

import gzip
import hashlib
import http.client
import json
import pathlib
import random
import re
import subprocess

import pytest

from smserver import PATIENCE_S, ROOT, quote, wait_until

ODD = "team/π 🚀 مرحبا"
EXPORT, IMPORT = "/api/v1/export", "/api/v1/import"
NOW_MS = 1_767_225_600_000
OOM = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.70 GiB. GPU 0 has a total capacity of 6.00 GiB"


def export(server, query=""):
    reply = server.get(EXPORT + (f"?q={quote(query)}" if query else ""))
    assert reply.status == 200, reply
    assert reply.headers["Content-Type"] == "application/x-ndjson"
    return reply.raw


def take(server, data, expected=200, **options):
    reply = server.post(IMPORT, data, content_type="application/x-ndjson", **options)
    assert reply.status == expected, reply
    return reply.body


def records(data, kind=None):
    rows = [json.loads(line) for line in data.splitlines()]
    return [row for row in rows if kind is None or row["record"] == kind]


def make_document_job(server):
    """All that a document says, with text that no pattern of SageMaker's allows in a name."""
    document = {"TrainingJobName": ODD, "RoleArn": "arn:aws:iam::123456789012:role/a", "HyperParameters": {"lr": "1e-4", "naïve": "é", "🚀": "x" * 2500},
        "Tags": [{"Key": "team", "Value": "nlp"}, {"Key": "é", "Value": "مرحبا"}], "Unknown": {"kept": [1, 2.5, None, True]},
        "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2, "VolumeSizeInGB": 1},
        "AlgorithmSpecification": {"TrainingInputMode": "File", "MetricDefinitions": [
            {"Name": "loss", "Regex": r"step (?<step>-?\d+) loss[=:] ?(?<value>\S+)"}, {"Name": "odd:näme", "Regex": r"odd=(\S+)"}]}}
    assert server.post("/api/v1/jobs", json=document).status == 201
    assert server.patch(f"/api/v1/jobs/{quote(ODD)}", json={"notes": "a note\nof two lines", "labels": ["gold", "é"]}).status == 200
    server.send(ODD, [f"step {i} loss={1 + 1 / (i + 1):.6f}" for i in range(1500)])
    body = "step 1500 loss=nan\r\nstep 1501 loss=inf\nstep 1502 loss=-inf\n\n\r\nstep 1503 loss=-0.0\n 10%\r 50%\r100%\n" + "odd=1e400\nodd=0x10\n"
    raw = body.encode() + b"\xff\xfe not utf-8 \x00 \x1b[31mred\x1b[0m\n" + "é 🚀 مرحبا e\u0301\n".encode() + b"no newline at the end"
    assert server.post(f"/api/v1/logs?job={quote(ODD)}&stream={quote('algo/2 é')}&host=node-7&offset=0&source=file-1", raw).status == 200
    long = b"x" * 5000 + b"\nnext\n"
    assert server.post(f"/api/v1/logs?job={quote(ODD)}&stream=long", long).status == 200
    points = [{"metric": "sent{gpu=\"3\"}", "step": 2**53 - 9 + i, "ts_ms": NOW_MS + i, "value": value} for i, value in enumerate((0.1, 1e-320, 5e-324, -0.0))]
    reply = server.post(f"/api/v1/points?job={quote(ODD)}&stream=algo-1", json={"points": [*points, {"metric": "sent", "step": 9, "ts_ms": NOW_MS, "value": "NaN"}]})
    assert reply.status == 200, reply
    for status, ms in (("Training", NOW_MS), ("Interrupted", NOW_MS + 5000), ("Training", NOW_MS + 9000), ("Failed", NOW_MS + 60000)):
        reply = server.post(f"/api/v1/jobs/{quote(ODD)}/transitions", json={"SecondaryStatus": status, "time_ms": ms, "StatusMessage": "m é",
            **({"FailureReason": "AlgorithmError: CUDA out of memory"} if status == "Failed" else {})})
        assert reply.status < 300, reply
    assert server.post(f"/api/v1/jobs/{quote(ODD)}/pin", json={"pinned": True}).status == 200


def make_restarted_job(server):
    """Goes back to an earlier step: the points of the first attempt are superseded, and stay."""
    definitions = [{"Name": "loss", "Regex": r"step: (?<step>\d+) loss: (?<value>\S+)"}]
    for job in ("restarted", "runs-on"):
        assert server.post("/api/v1/jobs", json={"TrainingJobName": job, "AlgorithmSpecification": {"MetricDefinitions": definitions}}).status == 201
    lines = [json.dumps({"line": f"step: {i} loss: {3 - i / 1000:.5f}", "ts": NOW_MS + i * 1000}) for i in [*range(0, 300), *range(200, 400)]]
    reply = server.post("/api/v1/logs?job=restarted&stream=algo-1", "\n".join(lines), content_type="application/x-ndjson")
    assert reply.status == 200, reply
    spikes = [json.dumps({"line": f"step: {400 + i} loss: {90.0 if i % 50 == 49 else 2.0 + i % 7 / 100}", "ts": NOW_MS + (600 + i) * 1000}) for i in range(200)]
    assert server.post("/api/v1/logs?job=restarted&stream=algo-1", "\n".join(spikes), content_type="application/x-ndjson").status == 200


def fill(server):
    make_document_job(server)
    make_restarted_job(server)
    server.send("runs-on", ["  successfully saved checkpoint from iteration      10 to /ckpt", OOM, "lr: 0.1", "max_steps: 1000", *[f"step: {i} loss: {2 - i / 100}" for i in range(50)]])
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "document only"}).status == 201


def settle(server):
    """What follows from the lines is there, too, as far as it comes by itself."""
    server.wait_for_points(ODD, "loss", 1500)
    server.wait_for_points("restarted", "loss", 1)
    server.wait_for_points("runs-on", "loss", 50)
    wait_until(lambda: server.get("/api/v1/incidents?kind=log_signature").body["incidents"], what="what the log said")

    def is_closed_with_its_job():
        rows = server.get("/api/v1/incidents?state=open&all=true&limit=1000").body["incidents"]
        return not any(server.get(f"/api/v1/jobs/{quote(row['job'])}").body.get("TrainingEndTime") and row["kind"] != "job_failed" for row in rows)
    wait_until(is_closed_with_its_job, what="the end of what was open when its job ended")


def settled_export(server):
    """Two exports in a row that are equal: statuses and settings that lines imply are written a moment after the lines."""
    seen = []
    wait_until(lambda: seen.append(export(server)) or (len(seen) > 1 and seen[-1] == seen[-2]), what="an export that stays")
    return seen[-1]


@pytest.fixture
def filled(make_server):
    server = make_server("--max-line-bytes", "4096", "--seal-age", "1h")
    fill(server)
    settle(server)
    return server


def test_a_second_export_is_the_first_byte_for_byte(filled, make_server):
    first = settled_export(filled)
    assert all(any(row[key] for row in records(first, "stream")) for key in ("signatures", "checkpoints", "sources"))
    empty = make_server()
    assert take(empty, first) == {"imported": 4, "skipped": 0, "exist_already": [], "left_out": []}
    assert export(empty) == first
    empty.restart()
    assert export(empty) == first

    filled.restart()
    assert settled_export(filled) == first
    for job in ("restarted", ODD):
        for path in ("", "/metrics", "/streams", "/definitions", "/points?metric=loss&raw=true", "/points?metric=loss&attempts=all&buckets=50"):
            def is_the_same():
                one, other = (server.get(f"/api/v1/jobs/{quote(job)}{path}") for server in (filled, empty))
                assert one.status == other.status == 200 and strip(one) == strip(other), path
                return True
            wait_until(is_the_same, what=f"the same {job}{path}")  # goodput and cost come a moment after what changed, each server in its own
    for stream in ("algo-1", "algo/2 é", "long"):
        path = f"/api/v1/jobs/{quote(ODD)}/logs/raw?stream={quote(stream)}"
        assert filled.get(path).raw == empty.get(path).raw


def strip(reply):
    """Without numbers that count commits, and what is told of a server rather than of its job. Means to twelve digits: what was
    sealed by then is added up apart, so the last digit hangs on when that was."""
    text = re.sub(r'"(seq|as_of_seq|silent_ms|ResourceRetained\w*)":"?[\d]+"?,?', "", reply.raw.decode())
    return re.sub(r'"mean":(-?[\d.]+(?:e[-+]?\d+)?)', lambda mean: f'"mean":{float(mean[1]):.12g}', text)


def test_what_is_there_is_left_alone_and_said(filled, make_server):
    data, empty = settled_export(filled), make_server()
    empty.send("runs-on", ["mine"])
    assert take(empty, data) == {"imported": 3, "skipped": 1, "exist_already": ["runs-on"], "left_out": []}
    assert take(empty, data) == {"imported": 0, "skipped": 4, "exist_already": sorted([ODD, "document only", "restarted", "runs-on"]), "left_out": []}
    assert [line["text"] for line in empty.lines("runs-on")] == ["mine"]
    assert records(export(empty, "name=restarted"), "end")[0]["points"] > 500


def test_a_job_that_runs_goes_on_where_it_was(filled, make_server):
    """How many steps there are the log of one says alone, 400: by its epochs, which are printed rounded, they would be others."""
    settings = {"learning_rate": "3e-4", "lr_scheduler_type": "linear", "num_train_epochs": "3"}
    assert filled.post("/api/v1/jobs", json={"TrainingJobName": "bar", "HyperParameters": settings}).status == 201
    rate = lambda step: f"{{'loss': 2.5, 'grad_norm': 0.5, 'learning_rate': {3e-4 * (400 - step) / 400!r}, 'epoch': {3 * step / 400:.2f}}}"
    filled.send("bar", [text for step in range(10, 311, 10) for text in (f" {step // 4}%|█▎   | {step}/400 [00:50<05:50,  1.00s/it]", rate(step))])

    def is_said(server):
        row = server.get("/api/v1/jobs/bar").body
        return (row.get("total_steps"), row.get("total_steps_from")) == (400, "the log's step/total")
    wait_until(lambda: is_said(filled), what="the number of steps")
    settled_export(filled)
    other = make_server()
    take(other, export(filled, f'name="{ODD}" or name=runs-on or name=bar'))
    other.send("bar", [rate(320)])
    other.wait_for_points("bar", "train:loss", 32)
    wait_until(lambda: is_said(other), what="the number of steps")
    schedule = other.get("/api/v1/jobs/bar/schedule").body
    assert (schedule["declared"]["total_steps"], schedule["first_difference"]) == (400, None), schedule
    reply = other.post(f"/api/v1/logs?job={quote(ODD)}&stream={quote('algo/2 é')}&offset=0&source=file-1", "x" * 10)
    assert reply.body["accepted"] == 0 and reply.body["next_offset"] > 100, "the sender's offset came along"
    for server in (filled, other):
        server.send("runs-on", [f"step: {i} loss: {2 - i / 100}" for i in range(50, 80)])
        server.wait_for_points("runs-on", "loss", 80)
    one, two = (server.series("runs-on", "loss") for server in (filled, other))
    assert without(one, "last_ts_ms") == without(two, "last_ts_ms"), "but for the time of arrival"
    assert [line["text"] for line in filled.lines("runs-on")] == [line["text"] for line in other.lines("runs-on")]


def test_what_is_imported_is_found_and_nobody_is_paged(filled, make_server):
    incidents = wait_until(lambda: filled.get("/api/v1/incidents").body["incidents"], what="incidents")
    acked = incidents[0]["id"]
    assert filled.post(f"/api/v1/incidents/{quote(acked)}/ack", json={}).status == 204
    data, other = settled_export(filled), make_server("--stall-after", "200ms")
    assert other.post("/api/v1/webhooks", json={"url": "http://127.0.0.1:9/"}).status == 201
    take(other, data)

    def same_search(query, sort="name"):
        rows = [server.get(f"/api/v1/jobs?q={quote(query)}&sort={sort}").body["jobs"] for server in (filled, other)]
        return rows[0] and [row["TrainingJobName"] for row in rows[0]] == [row["TrainingJobName"] for row in rows[1]]

    for query in ('loss.last<5', 'hp.lr<=1e-4', 'tag.team=nlp', 'label:gold', '"of two lines"', 'status:failed', 'loss.final<2.9', 'env.x!=1', "incident:loss_spike"):
        wait_until(lambda: same_search(query), what=f"the same jobs for {query}")
    wait_until(lambda: same_search("", "-loss.best"), what="the same order")
    one, two = ([without(row, "id") for row in server.get("/api/v1/incidents").body["incidents"]] for server in (filled, other))
    assert one == two and any(row["acknowledged_ms"] for row in one)
    webhook = other.get("/api/v1/webhooks").body["webhooks"][0]["id"]
    assert other.get(f"/api/v1/webhooks/{webhook}/deliveries").body["deliveries"] == []


def test_an_incident_of_a_metric_that_is_no_more_comes_along(server, make_server):
    def define(name, regex):
        reply = server.put("/api/v1/jobs/j/definitions?backfill=true", json={"definitions": [{"Name": name, "Regex": regex}]})
        assert reply.status == 202, reply
        wait_until(lambda: server.get("/api/v1/jobs/j/definitions").body["backfill"]["state"] == "done", what=f"the log read for {name}")

    def told(of):
        return [(one["metric"], one.get("closed_why")) for one in of.get("/api/v1/incidents").body["incidents"]]

    server.send("j", [f"step {i} loss {'nan' if i == 99 else 2 - i / 100} took {i % 7}" for i in range(100)])
    define("old_loss", r"step (?<step>\d+) loss (?<value>\S+)")
    wait_until(lambda: ("old_loss", None) in told(server), what="the NaN")
    define("took", r"took (?<value>\d+)")
    wait_until(lambda: told(server) == [("old_loss", "definitions_changed")], what="the NaN of a metric that is no more")
    other = make_server()
    assert take(other, settled_export(server))["imported"] == 1
    assert told(other) == told(server)


def sealed_lines(server):
    return int(re.search(r"^smfleet_sealed_lines_total (\d+)$", server.get("/metrics").body, re.M).group(1))


def test_text_that_a_limit_deleted_stays_deleted(make_server):
    server, other = make_server("--seal-age", "100ms", "--log-bytes", "0"), make_server()
    lines = [f"step {i} {i * 7919 % 1000003:x} " + "y" * 200 for i in range(12000)]
    server.send("old", lines)
    assert server.post("/api/v1/jobs/old/transitions", json={"SecondaryStatus": "Completed", "time_ms": NOW_MS}).status < 300
    wait_until(lambda: server.get("/api/v1/retention").body["forecast"]["next"], what="the sealer to have the job")
    wait_until(lambda: sealed_lines(server) == 12000, what="the sealer to have all of it")
    assert server.patch("/api/v1/jobs/old", json={"retention": {"max_bytes": 1_300_000}}).status == 200
    wait_until(lambda: server.get("/api/v1/jobs/old/logs?from=0&limit=1").status == 410, what="the deletion")
    data = settled_export(server)
    stream, first = records(data, "stream")[0], records(data, "lines")[0]
    assert stream["expired"]["first_kept_line"] == first["first"] > 0 and stream["lines"] == 12000
    assert records(data, "end")[0]["lines"] == 12000 - first["first"]
    take(other, data)
    assert export(other) == data
    one, two = (each.get("/api/v1/jobs/old/logs?from=0&limit=1") for each in (server, other))
    assert two.status == 410 and one.raw == two.raw


def test_notes_come_along(server, make_server):
    other = make_server()
    server.send("j", ["a", "b", "c", "d"])
    places = [{"step": 7}, {"ts_ms": NOW_MS}, {"stream": "algo-1", "line": 3}, {"step": 2 ** 53 - 1}] + [{"step": i} for i in range(250)]
    made = [server.post("/api/v1/jobs/j/notes", json={"text": f"é\n{i}", **place}, headers={"Idempotency-Key": f"k{i}"} if i % 2 else {})
            for i, place in enumerate(places)]
    assert {reply.status for reply in made} == {201}, next(reply for reply in made if reply.status != 201)
    ids = [reply.body["id"] for reply in made]
    assert server.delete(f"/api/v1/jobs/j/notes/{ids[5]}").status == 200
    data = settled_export(server)
    assert len(records(data, "note")) == len(places) - 1 and records(data, "end")[0]["notes"] == len(places) - 1
    other.send("before", "x")
    other.post("/api/v1/jobs/before/notes", json={"text": "its own", "step": 1})
    assert take(other, data)["imported"] == 1
    one, two = ([without(row, "id") for row in each.get("/api/v1/jobs/j/notes").body["notes"]] for each in (server, other))
    assert one == two and one[0]["step"] == 7
    assert other.get("/api/v1/jobs/before/notes").body["notes"][0]["text"] == "its own"
    again = other.post("/api/v1/jobs/j/notes", json={"text": "again", "step": 1}, headers={"Idempotency-Key": "k3"})
    assert again.status == 200 and again.body["text"] == "é\n3"
    assert export(other, "name=j") == data, "byte for byte"


def test_a_run_of_a_tracker_is_found_by_its_id_and_is_a_run_no_more(server, make_server):
    made = server.post("/api/2.0/mlflow/runs/create", json={"experiment_id": "0", "run_name": "tracked", "start_time": NOW_MS})
    run_id = made.body["run"]["info"]["run_id"]
    other = make_server()
    take(other, export(server))
    for at, status in ((server, 200), (other, 404)):
        (job,) = at.get(f"/api/v1/jobs?q=TrackedRunId%3D{run_id}").body["jobs"]
        assert at.get(f"/api/v1/jobs/{quote(job['TrainingJobName'])}").body["TrackedRunId"] == run_id
        assert at.get(f"/api/2.0/mlflow/runs/get?run_id={run_id}").status == status


def test_messages_of_statuses_that_came_late_come_along(server, make_server):
    """The same words again are kept where they came before what is earlier."""
    other = make_server()
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "j"}).status == 201
    for status, after_ms in (("Starting", 0), ("Training", 9000), ("Restarting", 9000), ("Training", 5000), ("Restarting", 7000)):
        server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": status, "time_ms": NOW_MS + after_ms, "StatusMessage": "the same"})
    data = settled_export(server)
    job, = records(data, "job")
    assert [(row["at_ms"] - NOW_MS, row["status"]) for row in job["status_messages"] if row["message"] == "the same"] == [
        (0, "Starting"), (5000, "Training"), (7000, "Restarting"), (9000, "Restarting"), (9000, "Training")]
    assert take(other, data)["imported"] == 1
    assert export(other) == data, "byte for byte"


def test_figures_without_what_a_restart_made_again_are_stored_with_the_job(make_server):
    """Its points were sealed before the restart, and it leaves RAM before anything more of it comes."""
    server, other = make_server("--seal-age", "100ms"), make_server()
    definition = {"Name": "loss", "Regex": r"step=(?<step>\d+) loss=(\S+)"}
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "j", "AlgorithmSpecification": {"MetricDefinitions": [definition]}}).status == 201
    server.send("j", [f"step={step} loss=2" for step in range(8)])
    wait_until(lambda: server.figure("sealed_lines_total") == 8, what="the first lines to be sealed")
    server.send("j", ["Resuming from checkpoint", *[f"step={step} loss=1" for step in range(6, 14)]])
    server.wait_for_points("j", "loss", 14)
    wait_until(lambda: is_exported_with(server, make_server, 14), what="a copy that has them")
    take(other, export(server))
    other.restart()
    assert other.series("j", "loss")["count"] == 14


def is_exported_with(server, make_server, count):
    """A new server reads the state that the export has, before it mends it itself."""
    third = make_server()
    take(third, export(server))
    third.restart()
    return third.series("j", "loss")["count"] == count


def test_evaluations_come_along(server, make_server):
    """Pages are of a thousand scores."""
    other = make_server()
    server.send("j", ["a", "b"])
    documents = [{"step": step, "path": f"/ckpt/{step}", "suite": "é", "n": 5, "evaluated_ms": 1_700_000_000_007, "scores": {
        f"task{i}/acc": {"value": i / 700, "stderr": 0.01} for i in range(700)}} for step in (1, 2, 3)]
    documents += [{"path": "a", "scores": {"w/ppl": 9e99}}, {"step": 2, "scores": {"w/loss": {"value": -0.5, "shots": 3, "higher_is_better": True}}}]
    for document in documents:
        assert server.post("/api/v1/jobs/j/evaluations", json=document).status == 201
    data = settled_export(server)
    assert len(records(data, "evaluation")) == 2102 == records(data, "end")[0]["evaluations"]
    assert take(other, data)["imported"] == 1
    one, two = (each.get("/api/v1/jobs/j/evaluations").body for each in (server, other))
    assert one == two and one["total"] == 4 and len(one["checkpoints"][1]["scores"]) == 701
    assert export(other, "name=j") == data, "byte for byte"


def test_traces_come_along(server, make_server):
    """Pages are of a hundred."""
    other = make_server()
    server.send("j", ["a", "b"])
    for i in range(101):
        document = {"stream": f"algo-{i % 3}", "trace": f"é{i}", "file": f"/t/{i}", "kernels": 5, "kernel_us": 100, "idle_us": i % 20,
            "compute_us": 60, "communication_us": 40, "overlap_us": 20, "by_kind_us": {"memory": i}}
        assert server.post("/api/v1/jobs/j/anatomy", json=document).status == 201
    data = settled_export(server)
    assert len(records(data, "trace")) == 101 == records(data, "end")[0]["traces"]
    assert take(other, data)["imported"] == 1
    one, two = (each.get("/api/v1/jobs/j/anatomy").body for each in (server, other))
    assert one == two and one["traces_total"] == 101
    assert export(other, "name=j") == data, "byte for byte"
def attach(server, path, data, job="j", status=201):
    reply = server.request("PUT", f"/api/v1/jobs/{job}/attachments/{path}", body=data, content_type="application/octet-stream")
    assert reply.status == status, reply
    return reply.body


def attachments_of(server, job="j"):
    rows = server.get(f"/api/v1/jobs/{job}/attachments").body["attachments"]
    return rows, [server.request("GET", f"/api/v1/jobs/{job}/attachments/{quote(row['path']).replace('%2F', '/')}").raw for row in rows]


def test_attachments_come_along(server, make_server):
    """Of several parts, of one that is full, empty ones; in a server that has some of its own. What is sent later counts with them."""
    large = random.Random(1).randbytes((2 << 20) + 5)
    other = make_server("--max-job-attachment-bytes", str(len(large) + (1 << 20) + 102))
    other.send("own", "x")
    attach(other, "a", b"its own", job="own")
    server.send("j", ["a", "b"])
    for path, data in (("plots/large.bin", large), ("full", b"a" * (1 << 20)), ("none", b""), ("%C3%A9.txt", b"e"), ("plots/a.png", b"x"), ("z", b"")):
        attach(server, path, data)
    data = settled_export(server)
    assert records(data, "end")[0]["attachments"] == 6 == len(records(data, "attachment"))
    assert [row["first"] for row in records(data, "part")] == [0, 0, 0, 1 << 20, 2 << 20, 0]
    assert take(other, data)["imported"] == 1
    assert attachments_of(server) == attachments_of(other)
    assert export(other, "name=j") == data, "byte for byte"
    assert other.request("GET", "/api/v1/jobs/own/attachments/a").raw == b"its own"
    assert "--max-job-attachment-bytes" in attach(other, "b", b"b" * 101, status=413)["detail"]
    attach(other, "b", b"b" * 100)
    attach(other, "full", b"")
    other.restart()
    assert [row["path"] for row in attachments_of(other)[0]] == ["b", "full", "none", "plots/a.png", "plots/large.bin", "z", "é.txt"]
    other.stop()
    checked = subprocess.run([other.bin("sm-server"), "check", *other.database_options()], capture_output=True, text=True, timeout=60)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_job_beyond_a_quota_is_left_out_by_name(make_server):
    """At the limits it comes; one past each it does not, its path is said, and the jobs before and behind it come."""
    source = make_server()
    for job in "ijk":
        source.send(job, "x")
    for path, size in (("a", 100), ("b/c", 50), ("d", 0)):
        attach(source, path, b"x" * size)
    data = settled_export(source)
    options = {"--max-attachments": 3, "--max-attachment-bytes": 100, "--max-job-attachment-bytes": 150}
    past = {"--max-attachments": "d", "--max-attachment-bytes": "a", "--max-job-attachment-bytes": "b/c"}
    for option, path in past.items():
        server = make_server(*(str(word) for name, limit in options.items() for word in (name, limit - (name == option))))
        told = take(server, data)
        assert (told["imported"], told["skipped"], [row["job"] for row in told["left_out"]]) == (2, 0, ["j"]), told
        assert option in told["left_out"][0]["why"] and f"'{path}'" in told["left_out"][0]["why"], told
        assert [server.get(f"/api/v1/jobs/{job}").status for job in "ijk"] == [200, 404, 200]
    wait_until(lambda: staged(server) == 0 == count(server, "attachment_parts"), what="that nothing of it is left")
    again = take(server, data)
    assert (again["imported"], again["skipped"], len(again["left_out"])) == (0, 2, 1), again
    server.send("j", "of its own")
    assert (told := take(server, data))["skipped"] == 3 and not told["left_out"], told
    server = make_server(*(str(word) for pair in options.items() for word in pair))
    assert take(server, data)["imported"] == 3 and attachments_of(server) == attachments_of(source)


def test_an_import_that_breaks_off_in_an_attachment_leaves_nothing(make_server):
    source, server = make_server(), make_server()
    source.send("j", "x")
    attach(source, "a", random.Random(2).randbytes(5 << 20))
    data = settled_export(source)
    half = data[: data.rindex(b'{"record":"part"')].decode()
    assert take(server, half, 400)
    connection = send_half(server, half)
    wait_until(lambda: count(server, "attachment_parts") > 0, what="the first parts")
    server.kill()
    connection.close()
    server.start()
    wait_until(lambda: staged(server) == 0 and count(server, "attachment_parts") == 0 and count(server, "attachments") == 0, what="that nothing is left")
    assert take(server, data)["imported"] == 1 and attachments_of(server) == attachments_of(source)


BEGIN = {"record": "job", "format": 1, "name": "j", "team": "", "status": "Completed", "secondary": "Completed", "failure_reason": "", "created_ms": 1,
    "started_ms": 1, "ended_ms": 2, "modified_ms": 2, "newest_event_ms": 0, "is_implicit": False, "is_pinned": False, "log_max_age_ms": 0,
    "log_max_bytes": 0, "generation": 1, "definitions": None, "document": {"TrainingJobName": "j"}, "transitions": [], "status_messages": [], "settings": []}
STREAM = {"record": "stream", "name": "algo-1", "host": "", "created_ms": 1, "lines": 2, "bytes": 4, "first_ms": 1, "last_ms": 2, "expired": None,
    "sources": [], "exit": None, "signatures": [], "checkpoints": [], "state": ""}
LINES = {"record": "lines", "stream": "algo-1", "first": 0, "ts_ms": [1, 2], "text": ["a", "b"]}
END = {"record": "end", "name": "j", "streams": 1, "lines": 2, "points": 0, "incidents": 0}
WHOLE = [BEGIN, STREAM, LINES, END]
NOTE = {"record": "note", "at": "step", "step": 1, "ts_ms": 0, "stream": "", "line": 0, "text": "x", "author": "", "key": "", "created_ms": 1,
    "modified_ms": 1}
EVALUATION = {"record": "evaluation", "step": 1, "step_from": 1, "path": "", "task": "a", "metric": "acc", "value": 0.5, "stderr": -1, "n": -1,
    "shots": -1, "is_lower": False, "lower_from": 0, "is_part": False, "suite": "", "evaluated_ms": 1_700_000_000_000, "received_ms": 1, "author": ""}
TRACE = {"record": "trace", "document": {"stream": "algo-1", "trace": "t", "kernels": 1, "kernel_us": 10, "idle_us": 0, "compute_us": 10,
    "communication_us": 0, "overlap_us": 0}, "received_ms": 1_700_000_000_000, "author": ""}
ATTACHMENT = {"record": "attachment", "path": "a", "content_type": "text/plain", "bytes": 2, "created_ms": 1, "author": "",
    "sha256": hashlib.sha256(b"ab").hexdigest()}
PART = {"record": "part", "first": 0, "base64": "YWI="}
INCIDENT = {"record": "incident", "id": 1, "series": 0, "kind": "stall", "severity": "info", "state": "open", "opened_ordinal": 0, "first_step": 0,
    "last_step": 0, "opened_step": 0, "opened_ms": 1, "closed_ms": 0, "acknowledged_ms": 0, "line": -1, "is_historic": True, "value": 0, "expected": 0,
    "spread": 0, "score": 0, "worst": "NaN", "worst_step": 0, "rule": 0, "cause": 0, "fold": 0, "muted_until_ms": 0, "facts": ""}


def without(record, key):
    return {name: value for name, value in record.items() if name != key}


MISTAKES = {
    "no JSON": (["{"], 400, 1, ""),
    "an array": ([[]], 422, 1, "record"),
    "another kind": ([{"record": "jobs"}], 422, 1, "record"),
    "a newer format": ([{**BEGIN, "format": 2}], 422, 1, "format"),
    "no name": ([without(BEGIN, "name")], 422, 1, "name"),
    "a name too long": ([{**BEGIN, "name": "x" * 256}], 422, 1, "name"),
    "a control character": ([{**BEGIN, "name": "a\nb"}], 422, 1, "name"),
    "a number for a name": ([{**BEGIN, "name": 5}], 422, 1, "name"),
    "another status": ([{**BEGIN, "status": "Done"}], 422, 1, "status"),
    "a fraction": ([{**BEGIN, "created_ms": 1.5}], 422, 1, "created_ms"),
    "1e400": ([json.dumps(BEGIN).replace('"created_ms": 1,', '"created_ms": 1e400,')], 422, 1, "created_ms"),
    "0x10": ([json.dumps(BEGIN).replace('"created_ms": 1,', '"created_ms": 0x10,')], 400, 1, ""),
    "no document": ([without(BEGIN, "document")], 422, 1, "document"),
    "definitions that are none": ([{**BEGIN, "definitions": [{"Name": "a", "Regex": "("}]}], 422, 1, "MetricDefinitions[0].Regex"),
    "a source that is none": ([{**BEGIN, "transitions": [{"status": "a", "message": "", "start_ms": 1, "end_ms": 1, "source": "me"}]}], 422, 1, "transitions.source"),
    "told by nobody": ([{**BEGIN, "told": [{"status": "a", "message": "", "reason": "", "start_ms": 1, "lifts_ms": 0, "is_whole": False, "is_undated": False, "source": "by_hand"}], "event_times": None}],
        422, 1, "told.source"),
    "told without a time": ([{**BEGIN, "told": [{"status": "a", "message": "", "reason": ""}], "event_times": None}], 422, 1, "start_ms"),
    "lines before a stream": ([BEGIN, LINES], 422, 2, "stream"),
    "a gap": ([BEGIN, STREAM, {**LINES, "first": 1}], 422, 3, "first"),
    "more lines than said": ([BEGIN, {**STREAM, "lines": 1}, LINES], 422, 3, "text"),
    "fewer lines than said": ([BEGIN, {**STREAM, "lines": 3}, LINES, END], 422, 4, "lines"),
    "times for other lines": ([BEGIN, STREAM, {**LINES, "ts_ms": [1]}], 422, 3, "ts_ms"),
    "two lines in one": ([BEGIN, STREAM, {**LINES, "text": ["a\nb", "c"]}], 422, 3, "text[0]"),
    "text that is none": ([BEGIN, STREAM, {**LINES, "text": ["a", {"base64": 5}]}], 422, 3, "text[1]"),
    "base64 that is none": ([BEGIN, STREAM, {**LINES, "text": ["a", {"base64": "%%"}]}], 422, 3, "text"),
    "a flag of no line": ([BEGIN, STREAM, {**LINES, "cut": [2]}], 422, 3, "cut[0]"),
    "a state that is none": ([BEGIN, {**STREAM, "state": "AAAA"}], 422, 2, "state"),
    "a stream twice": ([BEGIN, {**STREAM, "lines": 0}, STREAM], 422, 3, "name"),
    "a metric of nobody": ([BEGIN, STREAM, {"record": "points", "stream": "algo-1", "metric": "loss", "first": 0, "step": [1], "ts_ms": [1], "value": [1], "attempt": [1], "line": [-1]}],
        422, 3, "metric"),
    "an incident of no kind": ([*WHOLE[:3], {**INCIDENT, "kind": "boredom"}], 422, 4, "kind"),
    "facts that are none": ([*WHOLE[:3], {**INCIDENT, "facts": "}{"}], 422, 4, "facts"),
    "the same incident twice": ([*WHOLE[:3], INCIDENT, INCIDENT, {**END, "incidents": 2}], 409, 0, ""),
    "a note of no place": ([*WHOLE[:3], {**NOTE, "at": "moon"}], 422, 4, "at"),
    "a note too long": ([*WHOLE[:3], {**NOTE, "text": "x" * 32769}], 422, 4, "text"),
    "fewer notes than it says": ([*WHOLE[:3], NOTE, {**END, "notes": 2}], 422, 5, "notes"),
    "a score that is not finite": ([*WHOLE[:3], {**EVALUATION, "value": "NaN"}], 422, 4, "value"),
    "a score of no task": ([*WHOLE[:3], {**EVALUATION, "task": ""}], 422, 4, "task"),
    "a score of no step from the path": ([*WHOLE[:3], {**EVALUATION, "step": None}], 422, 4, "step_from"),
    "fewer scores than it says": ([*WHOLE[:3], EVALUATION, {**END, "evaluations": 2}], 422, 5, "evaluations"),
    "a trace that cannot be": ([*WHOLE[:3], {**TRACE, "document": {**TRACE["document"], "idle_us": 11}}], 422, 4, "idle_us"),
    "a trace without a document": ([*WHOLE[:3], without(TRACE, "document")], 422, 4, "document"),
    "fewer traces than it says": ([*WHOLE[:3], TRACE, {**END, "traces": 2}], 422, 5, "traces"),
    "a stream behind scores": ([BEGIN, EVALUATION, STREAM], 422, 3, "record"),
    "an attachment out of its job": ([*WHOLE[:3], {**ATTACHMENT, "path": "a/../b"}], 422, 4, "path"),
    "a checksum that is none": ([*WHOLE[:3], {**ATTACHMENT, "sha256": "A" * 64}], 422, 4, "sha256"),
    "nothing with something's checksum": ([*WHOLE[:3], {**ATTACHMENT, "bytes": 0}], 422, 4, "sha256"),
    "an attachment twice": ([*WHOLE[:3], ATTACHMENT, PART, ATTACHMENT], 422, 6, "path"),
    "a part of nothing": ([*WHOLE[:3], PART], 422, 4, "record"),
    "a part that is not next": ([*WHOLE[:3], ATTACHMENT, {**PART, "first": 1}], 422, 5, "first"),
    "a part too many": ([*WHOLE[:3], ATTACHMENT, PART, {**PART, "first": 2}], 422, 6, "record"),
    "a part too long": ([*WHOLE[:3], ATTACHMENT, {**PART, "base64": "YWJj"}], 422, 5, "base64"),
    "a part of no bytes": ([*WHOLE[:3], ATTACHMENT, {**PART, "base64": ""}], 422, 5, "base64"),
    "no base64": ([*WHOLE[:3], ATTACHMENT, {**PART, "base64": "%%"}], 422, 5, "base64"),
    "other bytes": ([*WHOLE[:3], ATTACHMENT, {**PART, "base64": "YWE="}], 422, 5, "base64"),
    "an attachment cut off": ([*WHOLE[:3], ATTACHMENT, {**PART, "base64": "YQ=="}, {**END, "attachments": 1}], 422, 6, "record"),
    "fewer attachments than it says": ([*WHOLE[:3], ATTACHMENT, PART, {**END, "attachments": 2}], 422, 6, "attachments"),
    "a stream behind attachments": ([BEGIN, ATTACHMENT, PART, STREAM], 422, 4, "record"),
    "a stream behind notes": ([BEGIN, NOTE, STREAM], 422, 3, "record"),
    "a stream behind incidents": ([BEGIN, INCIDENT, STREAM], 422, 3, "record"),
    "another end": ([*WHOLE[:3], {**END, "name": "k"}], 422, 4, "name"),
    "other counts": ([*WHOLE[:3], {**END, "lines": 3}], 422, 4, "lines"),
    "no end": (WHOLE[:3], 400, 0, ""),
    "a job in a job": ([BEGIN, BEGIN], 422, 2, "record"),
    "a setting of no stream": ([{**BEGIN, "settings": [{"key": "a", "value": "b", "stream": "x", "line": 0}]}, {**END, "streams": 0, "lines": 0}], 422, 2, "settings"),
}


def body(rows):
    return "\n".join(row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows) + "\n"


def test_a_mistake_is_named_and_leaves_nothing_of_its_job(server):
    good = body(WHOLE).replace('"j"', '"good {}"')
    for number, (what, (rows, status, line, field)) in enumerate(MISTAKES.items()):
        reply = server.post(IMPORT, good.replace("{}", str(number)) + body(rows))
        told = reply.body
        assert (reply.status, told.get("line", 0) - 4 * bool(line), told.get("field", "")) == (status, line, field), f"{what}: {reply}"
        assert server.get("/api/v1/jobs/j").status == 404, what
    wait_until(lambda: server.get("/api/v1/jobs?q=name:good&total=true").body["total"] == len(MISTAKES), what="the jobs before the mistakes")
    assert server.post(IMPORT, body(WHOLE)).body["imported"] == 1
    assert [row["text"] for row in server.lines("j")] == ["a", "b"]


def test_a_record_that_is_too_long_names_the_option(make_server):
    server = make_server("--max-record-bytes", "1KiB")
    first = json.dumps({**BEGIN, "failure_reason": ""})
    fits = json.dumps({**BEGIN, "failure_reason": "x" * (1024 - len(first))})
    end = body([{**END, "streams": 0, "lines": 0}])
    assert len(fits) == 1024 and server.post(IMPORT, fits + "\n" + end).status == 200
    reply = server.post(IMPORT, "\n" + fits.replace("xx", "xxx") + "\n" + end)
    assert reply.status == 413 and "--max-record-bytes" in reply.body["detail"] and reply.body["line"] == 2


def test_an_import_that_is_cut_off_leaves_nothing_and_comes_again(make_server):
    server = make_server()
    text = [random.Random(i).randbytes(450).hex() for i in range(1000)]
    rows = [BEGIN, {**STREAM, "lines": 3000, "bytes": 3000}]
    rows += [{**LINES, "first": first, "ts_ms": [1] * 1000, "text": text} for first in range(0, 3000, 1000)]
    half, whole = body(rows), body([*rows, {**END, "lines": 3000}])
    assert server.post(IMPORT, half).status == 400
    assert server.get("/api/v1/jobs/j").status == 404
    connection = send_half(server, half)  # a server that dies in the middle of one
    wait_until(lambda: staged(server) == 1, what="the first blocks")
    server.kill()
    connection.close()
    server.start()
    wait_until(lambda: staged(server) == 0 and count(server, "blocks") == 0, what="what was left to be taken away")
    assert server.post(IMPORT, whole).body["imported"] == 1
    assert len(server.lines("j")) == 3000


def send_half(server, data):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.putrequest("POST", IMPORT)
    connection.putheader("Content-Length", str(len(data) + 10))
    connection.endheaders()
    connection.send(data.encode())
    return connection


def count(server, table):
    return server.sql(f"SELECT count(*) FROM {table}")[0][0]


def staged(server):
    return count(server, "imports")


def test_bodies_are_packed_both_ways(filled, make_server, tmp_path):
    plain, other = settled_export(filled), make_server()
    reply = filled.get(EXPORT, headers={"Accept-Encoding": "gzip, deflate, br, zstd"})
    assert reply.headers["Content-Encoding"] == "gzip" and gzip.decompress(reply.raw) == plain
    text = pathlib.Path(ROOT, "docs/carry.md").read_text()
    commands = [line for block in re.findall(r"^```\n(.*?)^```", text, re.M | re.S) for line in block.splitlines()]
    assert len(commands) == 4  # as it is, and by zstd
    for command in commands:
        command = command.replace("?q=tag.team=nlp", "").replace("localhost:8080", f"127.0.0.1:{filled.port}").replace("localhost:8081", f"127.0.0.1:{other.port}")
        done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
        if command == commands[1].replace("localhost:8081", f"127.0.0.1:{other.port}"):
            assert json.loads(done.stdout)["imported"] == 4 and export(other) == plain
    assert (tmp_path / "jobs.ndjson").read_bytes() == plain and (tmp_path / "jobs.ndjson.zst").read_bytes()[:4] == b"\x28\xb5\x2f\xfd"
    assert json.loads(done.stdout)["skipped"] == 4, "the packed one was understood, and is there already"
    assert take(make_server(), reply.raw, headers={"Content-Encoding": "gzip"})["imported"] == 4


def test_a_team_brings_its_own_and_needs_the_right(make_server):
    server, tokens = make_server("--insecure"), {}
    for name, scope, team in (("admin", "admin", ""), ("nlp", "write", "nlp"), ("reader", "read", "")):
        reply = server.post("/api/v1/tokens", json={"name": name, "scope": scope, **({"team": team} if team else {})}, token=tokens.get("admin"))
        assert reply.status == 201, reply
        tokens[name] = reply.body["token"]
    assert server.post(IMPORT, body(WHOLE), token=tokens["reader"]).status == 403
    assert server.post(IMPORT, body(WHOLE).replace('"team": ""', '"team": "vision"'), token=tokens["nlp"]).body["imported"] == 1
    assert server.get("/api/v1/jobs/j", token=tokens["reader"]).body["team"] == "nlp"
    assert server.get(EXPORT, token=tokens["nlp"]).status == 403
    reply = server.get(EXPORT + "?q=name~%28", token=tokens["reader"])
    assert reply.status in (400, 422) and reply.body["column"]
    assert server.get(EXPORT + "?format=csv", token=tokens["reader"]).status == 400
