"""GET /api/v1/report: what happened since somebody last looked, and only that."""

import json
import threading
import time
from collections import Counter

from smserver import wait_until
from test_carry import export, take
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
    check_shares(quick, begin)
    check_unknown_causes(quick, begin)


def check_shares(server, begin):
    """Of 4 nodes; the last step before the break at 60 s + 599 s, 101 steps of a second made again; the first behind it at 1060 s, after its own second."""
    def lost(from_s, to_s):
        row = report(server, from_ms=begin + from_s * 1000, to_ms=begin + to_s * 1000 - 1)["lost"]
        return row["breaks"], round(row["lost_node_hours"] * 3600 / 4, 3), [(one["cause"], one["count"], one["lost_steps"]) for one in row["causes"]]

    whole = ("unknown", 1, 101)
    wait_until(lambda: lost(0, 3600) == (1, 101 + (1059 - 659), [whole]), what="the break with all that came behind it")
    assert lost(0, 800) == (1, 101 + (800 - 659), [whole])
    assert lost(800, 900) == (0, 100, [("unknown", 0, 0)])
    assert lost(900, 3600) == (0, 1059 - 900, [("unknown", 0, 0)])
    assert lost(1059, 3600) == (0, 0, []) and lost(0, 659) == (0, 0, [])


def check_unknown_causes(server, begin):
    """A reason that no rule knows, and none at all."""
    run_job(server, "odd", begin, 60, 60, end="Failed", reason="nobody knows")
    run_job(server, "silent", begin, 60, 60, end="Failed")
    day = time.strftime("%Y-%m-%d", time.gmtime(begin / 1000 - 86400))
    for causes in (lambda: report(server)["lost"]["causes"], lambda: server.get(f"/api/v1/goodput?from={day}").body["causes"]):
        wait_until(lambda: sum(one["count"] for one in causes()) == 3, what="all three breaks")
        assert [(one["cause"], one["count"]) for one in causes()] == [("unknown", 3)]


def test_what_is_wrong_is_said_at_its_field(server):
    for asked, field in (("from_ms=2000&to_ms=1000", "from_ms"), ("from_ms=0&to_ms=0", "to_ms"), ("limit=0", "limit"), ("from_ms=x", "from_ms"), ("q=loss%3E", "q")):
        reply = server.get(f"/api/v1/report?{asked}")
        assert reply.status in (400, 422), asked
        assert field == "q" or reply.body.get("field") == field, reply.body


def records(at_ms, count, tail=()):
    lines = [f"step: {n} loss: {5 - n / 100:.3f}" for n in range(count)] + list(tail)
    return "".join(json.dumps({"line": line, "ts": at_ms + n * 1000}) + "\n" for n, line in enumerate(lines))


def send_records(server, job, text):
    assert server.post(f"/api/v1/logs?job={job}&stream=algo-1", text, content_type="application/x-ndjson").status == 200


def test_what_comes_late_is_in_the_report_of_its_coming_alone(server, make_server):
    """A node is cut off from ten minutes before the last report was read until after that; what had ended hours before comes as well."""
    run_job(server, "cut-off", now_ms() - 40 * MINUTE_MS, 60, None)
    read = report(server)["to_ms"]
    wait_until(lambda: now_ms() > read, what="the time behind the report")
    send_records(server, "cut-off", records(read - 10 * MINUTE_MS, 60, ["step: 60 loss: nan"]))
    send_records(server, "begun", records(read - 9 * MINUTE_MS, 60))
    server.post("/api/v1/jobs/cut-off/transitions", json={"SecondaryStatus": "Failed", "FailureReason": "NCCL timeout", "time_ms": read - 5 * MINUTE_MS})
    run_job(server, "past", read - 3 * HOUR_MS, 60, 60, end="Failed", reason="OOM")

    def since():
        body = report(server, from_ms=read + 1)
        return body if {"non_finite", "job_failed"} <= {row["kind"] for row in body["incidents"]["incidents"]} else None
    body = wait_until(since, what="both incidents")
    failed, = body["failed"]["jobs"]
    assert failed["TrainingJobName"] == "cut-off" and failed["late"] is True
    assert round(failed["TrainingEndTime"] * 1000) == read - 5 * MINUTE_MS < read < failed["known_ms"] <= body["to_ms"]
    started, = body["started"]["jobs"]
    assert started["TrainingJobName"] == "begun" and started["late"] is True and started["known_ms"] > read
    for row in body["incidents"]["incidents"]:
        assert row["job"] == "cut-off" and row["late"] is True and row["opened_ms"] < read < row["known_ms"] and not row["is_historic"], row
    assert body["incidents"]["total"] == len(body["incidents"]["incidents"]) and "late" not in body["running"]["jobs"][0]

    def cut_off(**asked):
        found = report(server, **asked)
        return names(found["failed"]), [row["kind"] for row in found["incidents"]["incidents"] if row["job"] == "cut-off"]
    known = max(failed["known_ms"], *(row["known_ms"] for row in body["incidents"]["incidents"]))
    assert cut_off(from_ms=read - HOUR_MS, to_ms=read) == ([], []), "it was read without them, and is as it was"
    assert cut_off(from_ms=known + 1) == ([], [])
    assert cut_off(from_ms=failed["known_ms"], to_ms=failed["known_ms"])[0] == ["cut-off"]
    assert cut_off(from_ms=read + 1, to_ms=failed["known_ms"] - 1)[0] == []
    assert names(report(server, from_ms=read - 4 * HOUR_MS, to_ms=read)["failed"]) == ["past"], "long over when it came: of its own time"
    server.restart()
    again, = report(server, from_ms=read + 1, to_ms=body["to_ms"])["failed"]["jobs"]
    assert (again["TrainingJobName"], again["known_ms"]) == ("cut-off", failed["known_ms"])
    assert server.delete("/api/v1/jobs/cut-off").status in (200, 202, 204)
    assert report(server, from_ms=read + 1)["failed"]["total"] == 0
    assert server.post("/api/v1/jobs/cut-off/restore").status == 200
    assert report(server, from_ms=read + 1)["failed"]["jobs"][0]["known_ms"] == failed["known_ms"]
    other = make_server()
    take(other, export(server))
    assert names(report(other, from_ms=read + 1)["failed"]) == [], "brought by an import: of its own time"
    there = report(other, from_ms=read - HOUR_MS, to_ms=read)
    assert names(there["failed"]) == ["cut-off"] and "late" not in there["failed"]["jobs"][0]
    assert {"non_finite", "job_failed"} <= {row["kind"] for row in there["incidents"]["incidents"]}


def test_what_comes_in_time_is_not_late(server):
    send_records(server, "live", records(now_ms() - 61_000, 60, ["step: 60 loss: nan"]))
    server.post("/api/v1/jobs/live/transitions", json={"SecondaryStatus": "Failed", "FailureReason": "OOM"})
    body = wait_until(lambda: (found := report(server))["incidents"]["critical"] >= 2 and found, what="its incidents")
    rows = body["failed"]["jobs"] + body["started"]["jobs"] + body["incidents"]["incidents"]
    assert len(rows) >= 4 and not any("late" in row for row in rows), rows


class Windows:
    """Reports, each from right behind the end of the one before: how often each failed job, and the incident of it, was in one."""

    def __init__(self, server):
        self.server, self.from_ms, self.jobs, self.incidents = server, now_ms(), Counter(), Counter()

    def look(self):
        body = report(self.server, from_ms=self.from_ms, limit=1000)
        assert body["from_ms"] == self.from_ms and body["to_ms"] >= self.from_ms - 1
        self.jobs.update(names(body["failed"]))
        self.incidents.update(row["job"] for row in body["incidents"]["incidents"] if row["kind"] == "job_failed")
        self.from_ms = body["to_ms"] + 1


def test_under_load_each_is_in_exactly_one_of_adjacent_reports(server):
    """The writer takes its time: what fails is stamped, and is there to be read only when that is over."""
    is_over, made, failures, seen = threading.Event(), [], 25, Windows(server)

    def load(job):
        lines = "".join(f"step {n} loss 2.5 {'y' * 200}\n" for n in range(4000))
        while not is_over.is_set():
            server.post(f"/api/v1/logs?job={job}&stream=a", lines, content_type="text/plain")

    def fail():
        while len(made) < failures:
            job = f"failed-{len(made)}"
            server.post("/api/v1/jobs", json={"TrainingJobName": job})
            if server.post(f"/api/v1/jobs/{job}/transitions", json={"SecondaryStatus": "Failed", "time_ms": now_ms()}).status == 204:
                made.append(job)
        is_over.set()

    threads = [threading.Thread(target=load, args=(f"busy-{n}",)) for n in range(2)] + [threading.Thread(target=fail)]
    for thread in threads:
        thread.start()
    try:
        while not is_over.is_set():
            seen.look()
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    end = now_ms()
    while seen.from_ms <= end:
        seen.look()
    once = Counter(made)
    assert (seen.jobs, seen.incidents) == (once, once)


def test_an_end_that_nobody_dated_is_news_however_old_its_log(make_server):
    server = make_server("--stop-after", "1s")
    now = now_ms()
    for job in ("told", "silent", "dated"):
        send_records(server, job, records(now - 40 * MINUTE_MS, 60))
    read = report(server)["to_ms"]
    assert server.post("/api/v1/jobs/told/transitions", json={"SecondaryStatus": "Failed", "FailureReason": "exit 1"}).status == 204
    assert server.post("/api/v1/jobs/silent/transitions", json={"SecondaryStatus": "Stopping", "time_ms": now - 30 * MINUTE_MS}).status == 204
    assert server.post("/api/v1/jobs/dated/transitions", json={"SecondaryStatus": "Failed", "time_ms": now - 30 * MINUTE_MS}).status == 204
    wait_until(lambda: server.get("/api/v1/jobs/silent").body["TrainingJobStatus"] == "Stopped", what="that it is given up")
    body = wait_until(lambda: (found := report(server, from_ms=read + 1))["incidents"]["total"] and found, what="the incident of the failure")
    failed, = body["failed"]["jobs"]
    stopped, = body["ended"]["jobs"]
    for row, name in ((failed, "told"), (stopped, "silent")):
        assert row["TrainingJobName"] == name and row["late"] is True and row["TrainingEndTime"] * 1000 < now - 15 * MINUTE_MS < read < row["known_ms"]
    assert [(row["job"], row["kind"]) for row in body["incidents"]["incidents"]] == [("told", "job_failed")]
    assert names(report(server, from_ms=read - HOUR_MS, to_ms=read)["failed"]) == ["dated"], "somebody said that it is of the past"
    send_records(server, "told", records(now - 35 * MINUTE_MS, 60))
    wait_until(lambda: server.get("/api/v1/jobs/told").body["TrainingEndTime"] > failed["TrainingEndTime"], what="that it is dated anew")
    assert names(report(server, from_ms=read + 1, to_ms=body["to_ms"])["failed"]) == ["told"], "the same end is in the same report"


def test_what_an_older_program_opened_is_of_when_it_opened(server):
    server.send("llama", [f"step: {n} loss: {5 - n / 100:.3f}" for n in range(60)] + ["step: 60 loss: nan"])
    wait_until(lambda: report(server)["incidents"]["total"], what="the incident")
    server.stop()
    server.sql("UPDATE incidents SET known_ms = 0")
    server.start()
    row, = report(server)["incidents"]["incidents"]
    assert row["kind"] == "non_finite"
