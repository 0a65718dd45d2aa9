"""Definitions of a job that change: for new lines, and back over its whole log."""

import json
import subprocess
import threading

import pytest

from smserver import quote, wait_until

LOSS = {"Name": "loss", "Regex": r"step=(?<step>\d+) loss=(\S+)", "Role": "loss"}
SPEED = {"Name": "speed", "Regex": r"step=(?<step>\d+) .*tok/s=(\S+)", "Role": "throughput", "Unit": "tok/s"}


def line(step):
    return f"step={step} loss={3 - step / 10000:.4f} tok/s={1000 + step % 7}"


def put(server, job, body, query="", status=None):
    reply = server.put(f"/api/v1/jobs/{quote(job)}/definitions{query}", json=body)
    assert reply.status == (status or (202 if "true" in query else 200)), reply
    return reply.body


def definitions(server, job):
    reply = server.get(f"/api/v1/jobs/{quote(job)}/definitions")
    assert reply.status == 200, reply
    return reply.body


def wait_for_backfill(server, job, state="done"):
    def has_ended():
        backfill = definitions(server, job)["backfill"]
        assert backfill["state"] in ("running", state), backfill
        return backfill if backfill["state"] == state else None
    return wait_until(has_ended, what=f"a back-fill of {job} that is {state}")


def raw(server, job, metric, stream="algo-1"):
    reply = server.get(f"/api/v1/jobs/{quote(job)}/points?metric={quote(metric)}&stream={stream}&raw=true")
    assert reply.status == 200, reply
    parts = [series for series in reply.body["series"] if series["stream"] == stream]
    return [row for part in parts for row in zip(part["step"], part["value"], part["line"])]


def has_steps(server, job, metric, expected, stream="algo-1"):
    """Each once, in order; without the difference of two long lists in the report."""
    steps = [point[0] for point in raw(server, job, metric, stream)]
    wrong = next((at for at, (one, other) in enumerate(zip(steps, expected)) if one != other), None)
    if wrong is None and len(steps) != len(expected):
        wrong = min(len(steps), len(expected))
    assert wrong is None, (metric, stream, len(steps), len(expected), wrong, steps[wrong:wrong + 5])


def make_job(server, job, lines=3000, streams=("algo-1",), own=(LOSS,)):
    reply = server.post("/api/v1/jobs", json={"TrainingJobName": job,
        "AlgorithmSpecification": {"MetricDefinitions": list(own)}})
    assert reply.status == 201, reply
    for stream in streams:
        for at in range(0, lines, 1000):
            server.send(job, [line(step) for step in range(at, min(at + 1000, lines))], stream=stream)
    for stream in streams:
        server.wait_for_points(job, "loss", lines, stream=stream)


def test_new_definitions_are_for_new_lines(server):
    make_job(server, "j", lines=100)
    assert definitions(server, "j")["definitions"] == [LOSS]
    after = put(server, "j", {"definitions": [LOSS, SPEED]})
    assert (after["source"], after["definitions"], after["backfill"]) == ("job", [LOSS, SPEED], None)
    server.send("j", [line(step) for step in range(100, 150)])
    server.wait_for_points("j", "speed", 50)
    assert server.series("j", "loss")["count"] == 150
    assert server.series("j", "speed")["first_step"] == 100
    document = server.get("/api/v1/jobs/j").body
    assert document["AlgorithmSpecification"]["MetricDefinitions"] == [LOSS, SPEED]
    server.restart()
    assert server.series("j", "speed")["count"] == 50
    assert definitions(server, "j")["generation"] == after["generation"]


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_restart_behind_new_definitions_is_one(server, end):
    """The first that they read: they were changed while the training was down."""
    make_job(server, "j", lines=100)
    put(server, "j", {"definitions": [SPEED]})
    getattr(server, end)()
    server.start()
    server.send("j", ["Resuming from checkpoint", *[line(step) for step in range(60, 150)]])
    server.wait_for_points("j", "speed", 90)
    wait_until(lambda: server.get("/api/v1/jobs/j").body["attempts"] == 2, what="the restart")
    wait_until(lambda: server.series("j", "loss")["count"] == 60, what="what the restart made again to be left out")
    assert server.series("j", "speed")["count"] == 90


def test_a_backfill_reaches_over_the_whole_log(server):
    make_job(server, "j", streams=("algo-1", "algo-2"))
    live = server.live("jobs=j&kinds=backfill")
    put(server, "j", {"definitions": [SPEED]}, "?backfill=true")
    done = live.next("backfill", where=lambda event: event["json"]["state"] == "done")
    assert (done["json"]["job"], done["json"]["lines"]) == ("j", 6000)
    for stream in ("algo-1", "algo-2"):
        assert server.series("j", "loss", stream) is None
        row = server.series("j", "speed", stream)
        assert (row["count"], row["first_step"], row["last_step"], row["max"]) == (3000, 0, 2999, 1006)
        points = raw(server, "j", "speed", stream)
        has_steps(server, "j", "speed", range(3000), stream)
        assert [point[2] for point in points] == list(range(3000))  # their lines
    server.send("j", [line(step) for step in range(3000, 3100)])
    server.wait_for_points("j", "speed", 3100)
    server.restart()
    has_steps(server, "j", "speed", range(3100))
    assert server.get("/api/v1/jobs?q=speed.last>0&total=true").status in (200, 400)
    checked = server.get("/api/v1/jobs/j").body
    assert checked["AlgorithmSpecification"]["MetricDefinitions"] == [SPEED]


def test_one_and_another_and_the_numbers_are_used_again(server):
    make_job(server, "j", lines=500)
    for names in (["a"], ["b", "c"], ["d"]):
        wanted = [{**LOSS, "Name": name} for name in names]
        put(server, "j", {"definitions": wanted}, "?backfill=true")
        wait_for_backfill(server, "j")
        assert sorted({row["metric"] for row in server.get("/api/v1/jobs/j/metrics").body["series"]}) == names
        for name in names:
            has_steps(server, "j", name, range(500))


def test_readers_see_old_or_new_while_lines_come(server):
    make_job(server, "j", lines=20000, streams=("algo-1", "algo-2", "algo-3"))
    stop = threading.Event()
    sent = {"algo-1": 20000, "algo-2": 20000, "algo-3": 20000}

    def feed():
        while not stop.is_set():
            for stream in sent:
                server.send("j", [line(step) for step in range(sent[stream], sent[stream] + 50)], stream=stream)
                sent[stream] += 50

    feeder = threading.Thread(target=feed)
    feeder.start()
    try:
        put(server, "j", {"definitions": [SPEED]}, "?backfill=true")
        seen = []
        while definitions(server, "j")["backfill"]["state"] == "running" or len(seen) < 3:
            series = server.get("/api/v1/jobs/j/metrics").body["series"]
            seen.append(frozenset(row["metric"] for row in series))
            assert len(seen[-1]) == 1, series  # never a mixture
            assert all(row["count"] >= 20000 for row in series), series
    finally:
        stop.set()
        feeder.join()
    wait_for_backfill(server, "j")
    for stream, count in sent.items():
        server.wait_for_points("j", "speed", count, stream=stream)
        has_steps(server, "j", "speed", range(count), stream)


def test_it_goes_on_after_kills(make_server):
    server = make_server("--seal-bytes", "1MiB")
    make_job(server, "j", lines=60000)
    put(server, "j", {"definitions": [LOSS, SPEED]}, "?backfill=true")
    kills = 0
    while definitions(server, "j")["backfill"]["state"] == "running" and kills < 5:
        server.kill()
        server.start()
        kills += 1
        server.send("j", [line(60000 + kills)])
    wait_for_backfill(server, "j")
    server.wait_for_points("j", "speed", 60000 + kills)
    expected = list(range(60000)) + [60001 + at for at in range(kills)]
    has_steps(server, "j", "speed", expected)
    has_steps(server, "j", "loss", expected)
    assert kills
    checked = subprocess.run([server.bin("sm-server"), "check", *server.database_options()], capture_output=True, text=True)
    assert ": 0 problems" in checked.stdout, checked.stdout + checked.stderr


def test_points_that_were_sent_stay(server):
    make_job(server, "j", lines=100)
    for at in range(3):
        reply = server.post("/api/v1/points?job=j&stream=algo-1", json={"series": [
            {"metric": "sent", "step": list(range(at * 100, at * 100 + 100)), "value": [1.5] * 100}]})
        assert reply.status == 200, reply
    server.wait_for_points("j", "sent", 300)
    put(server, "j", {"definitions": [{**LOSS, "Name": "other"}]}, "?backfill=true")
    wait_for_backfill(server, "j")
    has_steps(server, "j", "sent", range(300))
    assert len(raw(server, "j", "other")) == 100
    server.restart()
    put(server, "j", {"definitions": [LOSS]}, "?backfill=true")
    wait_for_backfill(server, "j")
    has_steps(server, "j", "sent", range(300))


def test_attempts_of_points_that_were_sent_stay(server):
    make_job(server, "j", lines=100)

    def send(first, last, at_s):
        at_ms = 1_790_000_000_000 + 1000 * at_s
        reply = server.post("/api/v1/points?job=j&stream=algo-1", json={"series": [{"metric": "sent_loss", "step": list(range(first, last)),
            "ts_ms": list(range(at_ms, at_ms + 1000 * (last - first), 1000)), "value": [1.5] * (last - first)}]})
        assert reply.status == 200, reply

    send(0, 100, 0)
    send(50, 120, 500)
    wait_until(lambda: server.get("/api/v1/jobs/j").body["attempts"] == 2, what="the restart")
    put(server, "j", {"definitions": [{**LOSS, "Name": "other"}]}, "?backfill=true")
    wait_for_backfill(server, "j")
    send(100, 150, 1000)  # behind it the steps are known as before
    wait_until(lambda: server.get("/api/v1/jobs/j").body["attempts"] == 3, what="the next restart")
    for attempt, steps in ((1, range(100)), (2, range(50, 120)), (3, range(100, 150))):
        columns = server.points("j", "sent_loss", attempts=attempt, buckets=1000)["columns"]
        assert columns["x"] == list(steps), attempt


def spiky(count, at):
    return [f"step={step} loss={50.0 if step == at else 2 + (step * 7919 % 100) / 1000:.3f} tok/s=1000" for step in range(count)]


def test_detectors_run_over_the_past_and_ring_nobody(server):
    server.post("/api/v1/webhooks", json={"url": "http://127.0.0.1:9/none", "minimum_severity": "info"})
    server.send("j", ["nothing that anybody knows"])
    put(server, "j", {"definitions": [SPEED]})
    server.send("j", spiky(600, 400))
    server.wait_for_points("j", "speed", 600)
    assert not server.get("/api/v1/incidents").body["incidents"]
    put(server, "j", {"definitions": [LOSS]}, "?backfill=true")
    wait_for_backfill(server, "j")
    found = server.get("/api/v1/incidents").body["incidents"]
    assert [(one["kind"], one["metric"], one["opened_step"]) for one in found] == [("loss_spike", "loss", 400)]
    assert found[0]["is_historic"] is True
    webhook = server.get("/api/v1/webhooks").body["webhooks"][0]["id"]
    assert server.get(f"/api/v1/webhooks/{webhook}/deliveries").body["deliveries"] == []


def test_an_incident_keeps_its_number_and_who_acknowledged_it(server):
    make_job(server, "j", streams=())
    server.send("j", spiky(600, 400))
    one = wait_until(lambda: server.get("/api/v1/incidents").body["incidents"], what="the incident")[0]
    assert server.post(f"/api/v1/incidents/{one['id']}/ack", json={}).status in (200, 204)
    put(server, "j", {"definitions": [LOSS, SPEED]}, "?backfill=true")
    wait_for_backfill(server, "j")
    after = server.get("/api/v1/incidents").body["incidents"]
    assert [(row["id"], bool(row["acknowledged_ms"])) for row in after] == [(one["id"], True)]


def test_who_was_told_of_what_a_backfill_drops_is_told_its_end(server, receiver):
    assert server.post("/api/v1/webhooks", json={"url": receiver.url}).status == 201
    make_job(server, "j", streams=())
    server.send("j", [f"step={n} loss={'nan' if n > 2 else '2.5'} tok/s=1000" for n in range(6)])
    receiver.wait_for(1)
    put(server, "j", {"definitions": [SPEED]}, "?backfill=true")
    wait_for_backfill(server, "j")
    receiver.wait_for(2)
    opened, over = receiver.messages()
    assert (opened["type"], over["type"]) == ("incident.opened", "incident.recovered")
    assert opened["data"]["kind"] == over["data"]["kind"] == "non_finite" and opened["data"]["id"] == over["data"]["id"]
    assert server.get("/api/v1/incidents?state=open").body["incidents"] == []


def test_presets_are_chosen_told_and_changed(server):
    server.send("j", [f"iter {step}: loss {3 - step / 100:.4f}, time 350.12ms, mfu 12.50%" for step in range(50)])
    server.wait_for_points("j", "train:loss", 50)
    shown = definitions(server, "j")
    assert (shown["source"], shown["preset"]) == ("preset", "nanogpt") and "of the first" in shown["reason"]
    assert "train:loss" in [one["Name"] for one in shown["definitions"]]
    assert shown["health"][0]["matched"] == 50
    presets = {one["name"]: one["definitions"] for one in server.get("/api/v1/definitions").body["presets"]}
    assert {"nanogpt", "megatron-lm", "generic"} <= presets.keys()
    put(server, "j", {"definitions": presets["nanogpt"]}, "?backfill=true")  # what is shown can be taken as one's own
    wait_for_backfill(server, "j")
    assert definitions(server, "j")["source"] == "job"
    assert server.series("j", "train:loss")["count"] == 50
    put(server, "j", {"preset": "generic"}, "?backfill=true")
    wait_for_backfill(server, "j")
    shown = definitions(server, "j")
    assert (shown["preset"], shown["reason"]) == ("generic", "asked for")
    assert "MetricDefinitions" not in server.get("/api/v1/jobs/j").body.get("AlgorithmSpecification", {})
    put(server, "j", {"preset": "auto"})
    assert definitions(server, "j")["reason"] != "asked for"


def test_the_servers_own_are_for_jobs_without_any(server):
    reply = server.put("/api/v1/definitions", json={"definitions": [SPEED]})
    assert reply.status == 200 and reply.body["definitions"] == [SPEED]
    server.send("j", [line(step) for step in range(10)])
    server.wait_for_points("j", "speed", 10)
    assert definitions(server, "j")["source"] == "server"
    make_job(server, "own", lines=10)
    assert definitions(server, "own")["definitions"] == [LOSS]
    assert server.put("/api/v1/definitions", json={"preset": "auto"}).status == 200
    server.send("later", ["iter 1: loss 2.5, time 350.12ms, mfu 12.50%"])
    server.wait_for_points("later", "train:loss", 1)


def test_a_backfill_is_cancelled_and_refused(make_server):
    server = make_server("--seal-bytes", "1MiB")
    make_job(server, "j", lines=100000)
    put(server, "j", {"definitions": [SPEED]}, "?backfill=true")
    path = "/api/v1/jobs/j/definitions"
    again = server.put(path + "?backfill=true", json={"definitions": [LOSS]})
    assert again.status == 409 and "back-fill" in again.body["detail"]
    assert server.put(path, json={"definitions": [LOSS]}).status == 409
    assert server.delete(path + "/backfill").status == 204
    assert definitions(server, "j")["backfill"]["state"] == "cancelled"
    assert server.delete(path + "/backfill").status == 404
    assert server.series("j", "loss")["count"] == 100000
    put(server, "j", {"definitions": [SPEED]}, "?backfill=true")
    wait_for_backfill(server, "j")
    assert server.series("j", "speed")["count"] == 100000


def test_bad_changes_are_refused_by_name(server):
    make_job(server, "j", lines=1)
    path = "/api/v1/jobs/j/definitions"
    cases = [({"definitions": [{"Name": "x", "Regex": "("}]}, 422, "MetricDefinitions[0].Regex"),
        ({"preset": "none such"}, 422, "none such"), ({}, 422, "definitions"), ({"definitions": 3}, 422, "array"),
        ({"definitions": [LOSS], "preset": "auto"}, 422, "either")]
    for body, status, text in cases:
        reply = server.put(path, json=body)
        assert reply.status == status and text in json.dumps(reply.body), reply
    assert server.put(path + "?backfill=maybe", json={"definitions": [LOSS]}).status == 400
    assert server.put("/api/v1/jobs/none/definitions", json={"definitions": [LOSS]}).status == 404
    assert server.put("/api/v1/jobs/none/definitions?backfill=true", json={"definitions": [LOSS]}).status == 404


def test_points_that_were_sent_outlive_an_incident_and_a_back_fill(server):
    """An incident is written of a series of which everything is sealed; then its points are taken over into the new series."""
    send = lambda points: server.post("/api/v1/points?job=j", json={"points": points})
    sent = [{"metric": "loss", "step": n, "value": 2.5} for n in range(1, 60)]
    assert send(sent).status == 200
    server.send("j", ["a line"])
    server.restart()  # they are sealed
    assert send([{"metric": "loss", "step": 60, "value": "NaN"}]).status == 200
    wait_until(lambda: server.get("/api/v1/incidents?q=name%3Dj").body["incidents"], what="the incident")
    definitions = {"definitions": [{"Name": "other", "Regex": "x=([0-9]+)"}]}
    assert server.put("/api/v1/jobs/j/definitions?backfill=true", json=definitions).status == 202
    wait_until(lambda: server.get("/api/v1/jobs/j/definitions").body["backfill"]["state"] == "done", what="the back-fill")
    parts = server.get("/api/v1/jobs/j/points?metric=loss&raw=true").body["series"]
    points = [point for part in parts for point in zip(part["step"], part["value"])]
    assert [step for step, _ in points] == list(range(1, 61)) and [value for _, value in points[:59]] == [2.5] * 59
