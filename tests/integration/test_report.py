"""GET /api/v1/report: what happened since somebody last looked, and only that."""

from smserver import wait_until
from test_pools import MINUTE_MS, now_ms, run_job

HOUR_MS = 60 * MINUTE_MS


def report(server, **asked):
    return server.get("/api/v1/report?" + "&".join(f"{key}={value}" for key, value in asked.items())).body


def names(section):
    assert section["total"] == len(section["jobs"])
    return [row["TrainingJobName"] for row in section["jobs"]]


def test_jobs_by_when_they_ended_or_began(server):
    now = now_ms()
    run_job(server, "long-ago", now - 30 * HOUR_MS, 60, 60)
    run_job(server, "finished", now - 20 * HOUR_MS, 60, 19 * 60)
    run_job(server, "broken", now - 3 * HOUR_MS, 60, 60, end="Failed", reason="NCCL timeout")
    run_job(server, "still-there", now - 2 * HOUR_MS, 60, None)
    body = report(server)
    assert body["to_ms"] - body["from_ms"] == 12 * HOUR_MS and abs(body["to_ms"] - now) < HOUR_MS
    assert names(body["failed"]) == ["broken"] and names(body["ended"]) == ["finished"] and names(body["running"]) == ["still-there"]
    assert names(body["started"]) == ["still-there", "broken"]  # the newest first
    assert body["failed"]["jobs"][0]["fields"]["reason"] == "NCCL timeout"
    earlier = report(server, from_ms=now - 40 * HOUR_MS, to_ms=now - 25 * HOUR_MS)
    assert names(earlier["ended"]) == ["long-ago"] and names(earlier["failed"]) == []
    one = report(server, q="name%3Dbroken", from_ms=now - 100 * HOUR_MS)
    assert names(one["failed"]) == ["broken"] and names(one["ended"]) == names(one["running"]) == []
    few = report(server, from_ms=now - 100 * HOUR_MS, limit=1)["ended"]
    assert few["total"] == 2 and [row["TrainingJobName"] for row in few["jobs"]] == ["finished"]


def test_incidents_the_worst_first_and_best_values(server):
    server.send("llama", [f"step: {n} loss: {5 - n / 100:.3f}" for n in range(200)])
    server.send("llama", "step: 200 loss: nan")
    found = wait_until(lambda: report(server)["incidents"]["incidents"], what="the incident of the NaN")
    assert found[0]["job"] == "llama" and found[0]["severity"] == "critical"
    body = report(server)
    assert body["incidents"]["critical"] >= 1 and body["incidents"]["total"] == sum(body["incidents"][one] for one in ("critical", "warning", "info"))
    assert not body["incidents"]["more"]
    best = lambda: [(one["fields"].get("loss.best"), one["fields"].get("loss.best_step")) for one in report(server)["running"]["jobs"]]
    wait_until(lambda: best() == [(3.01, 199)], what="its best loss, which is worked out each two seconds")
    assert report(server, to_ms=now_ms() - HOUR_MS)["incidents"]["total"] == 0
    assert body["lost"] == {"causes": [], "breaks": 0, "lost_node_hours": 0}


def test_what_broke_off_is_summed_up(make_server):
    quick = make_server("--goodput-every", "100ms")
    begin = now_ms() - 4 * HOUR_MS

    def lines(first, count, at_ms):
        return "".join(f'{{"line": "step: {first + n} loss: 2.5", "ts": {at_ms + n * 1000}}}\n' for n in range(count))

    run_job(quick, "gpt", begin, 60, None)
    quick.post("/api/v1/logs?job=gpt&stream=algo-1", lines(1, 600, begin + 60_000), content_type="application/x-ndjson")
    quick.post("/api/v1/jobs/gpt/transitions", json={"SecondaryStatus": "Restarting", "StatusMessage": "spot interruption", "time_ms": begin + 700_000})
    quick.post("/api/v1/jobs/gpt/transitions", json={"SecondaryStatus": "Training", "time_ms": begin + 1_000_000})
    quick.post("/api/v1/logs?job=gpt&stream=algo-1", lines(500, 300, begin + 1_060_000), content_type="application/x-ndjson")
    lost = wait_until(lambda: (found := report(quick)["lost"])["breaks"] and found, what="the break")
    assert lost["lost_node_hours"] > 0 and lost["causes"][0]["count"] == 1
    assert abs(lost["lost_node_hours"] - sum(one["lost_node_hours"] for one in lost["causes"])) < 1e-9
    assert report(quick, to_ms=begin)["lost"]["breaks"] == 0


def test_what_is_wrong_is_said_at_its_field(server):
    for asked, field in (("from_ms=2000&to_ms=1000", "from_ms"), ("from_ms=0&to_ms=0", "to_ms"), ("limit=0", "limit"), ("from_ms=x", "from_ms"), ("q=loss%3E", "q")):
        reply = server.get(f"/api/v1/report?{asked}")
        assert reply.status in (400, 422), asked
        assert field == "q" or reply.body.get("field") == field, reply.body
