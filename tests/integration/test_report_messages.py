"""The report of a day as a message: once a day at its time, now when asked, of one's own team, in each receiver's format."""

import json
import time
from contextlib import closing

import pytest
from awsclients import token_of
from engine import of_a_file
from faults import FOR_EVER, FaultyServer
from smserver import wait_until
from test_pools import MINUTE_MS, now_ms, run_job

HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
PUBLIC = "https://train.example.org"


@pytest.fixture
def server(make_server):
    return make_server("--public-url", PUBLIC, "--goodput-every", "100ms")


def zone_where_it_is(hour, minute, second, at_s=None):
    """The name of a zone (POSIX's TZ) whose clocks show that time now: a server's clock is not moved, but where it is read."""
    offset = (time.time() if at_s is None else at_s) % 86400 - (hour * 3600 + minute * 60 + second)
    offset = int(offset % 86400)
    return f"<X>{offset // 3600}:{offset // 60 % 60:02}:{offset % 60:02}"


def add_webhook(server, receiver, **fields):
    reply = server.post("/api/v1/webhooks", json={"url": receiver.url, **fields})
    assert reply.status == 201, reply
    return reply.body["id"]


def webhook(server, number):
    return next(row for row in server.get("/api/v1/webhooks").body["webhooks"] if row["id"] == number)


def reports(receiver):
    return [message for message in receiver.messages() if message["type"] == "fleet.report"]


def wait_for_reports(receiver, count):
    return wait_until(lambda: len(found := reports(receiver)) >= count and found, what=f"{count} reports")


def fill(server, now):
    run_job(server, "finished", now - 20 * HOUR_MS, 60, 19 * 60)
    run_job(server, "broken", now - 3 * HOUR_MS, 60, 60, end="Failed", reason="NCCL timeout\nrank 3")
    server.send("llama", [f"step: {n} loss: {5 - n / 100:.3f}" for n in range(200)])
    server.send("llama", "step: 200 loss: nan")
    wait_until(lambda: (found := server.get("/api/v1/report?from_ms=0").body)["running"]["jobs"]
               and found["running"]["jobs"][0]["fields"].get("loss.best") == 3.01 and found["incidents"]["critical"]
               and found["lost"]["breaks"] == 1,
               what="what is to be told")


def test_now_with_what_happened(server, receiver):
    fill(server, now_ms())
    number = add_webhook(server, receiver, events=[])
    reply = server.post(f"/api/v1/webhooks/{number}/report", json={})
    assert reply.status == 202, reply
    message, = wait_for_reports(receiver, 1)
    data = message["data"]
    assert data["kind"] == "report" and data["severity"] == "critical" and data["to_ms"] - data["from_ms"] == DAY_MS
    assert [data[name]["total"] for name in ("failed", "ended", "running")] == [1, 1, 1]
    assert data["incidents"]["critical"] >= 1 and data["incidents"]["incidents"][0]["severity"] == "critical"
    assert data["incidents"]["incidents"][0]["url"].startswith(PUBLIC) and "llama" in data["incidents"]["incidents"][0]["summary"]
    failed, = data["failed"]["jobs"]
    assert failed["job"] == "broken" and failed["reason"].startswith("NCCL timeout") and failed["url"].endswith("/jobs/broken")
    running, = data["running"]["jobs"]
    assert running["job"] == "llama" and running["loss"]["best"] == 3.01 and running["loss"]["best_step"] == 199
    assert running["chart"] == f"{PUBLIC}/api/v1/jobs/llama/chart.svg?metric=train%3Aloss"
    assert server.get(running["chart"].removeprefix(PUBLIC)).status == 200
    assert data["lost"] == {"breaks": 1, "lost_node_hours": 0} and "1 break lost 0 node-hours" in data["summary"]
    assert data["title"].startswith("Report: 1 job failed, ") and "1 failed, 1 ended," in data["summary"]
    texts = [line["text"] for line in data["lines"]]
    assert "broken failed: NCCL timeout rank 3" in texts and any(text.startswith("llama runs: step 2") and "best 3.01 at 199" in text for text in texts)
    delivery, = server.get(f"/api/v1/webhooks/{number}/deliveries").body["deliveries"]
    assert delivery["n"] == reply.body["n"]


def test_once_a_day_at_its_time(server, receiver):
    fill(server, now_ms())
    number = add_webhook(server, receiver, report_at="07:30", report_tz=zone_where_it_is(7, 29, 57))
    began, row = now_ms(), webhook(server, number)
    due = row["next_report_ms"]
    assert row["report_at"] == "07:30" and due - began <= 3500
    message, = wait_for_reports(receiver, 1)
    data = message["data"]
    assert now_ms() >= due and data["to_ms"] == due and data["from_ms"] == due - DAY_MS + 1
    assert f"07:30 ({row['report_tz']})" in data["summary"]
    assert webhook(server, number)["next_report_ms"] == due + DAY_MS
    server.restart()
    assert webhook(server, number)["next_report_ms"] == due + DAY_MS
    later = add_webhook(server, receiver, events=[], report_at="07:30", report_tz=zone_where_it_is(7, 29, 57))
    wait_for_reports(receiver, 2)  # of the other one: the first had all the time to come again
    assert len(server.get(f"/api/v1/webhooks/{later}/deliveries").body["deliveries"]) == 1
    rows = server.get(f"/api/v1/webhooks/{number}/deliveries").body["deliveries"]
    assert len([one for one in rows if one["created_ms"] >= due and one["incident"] == "0-0"]) == 1


def test_another_time_tells_nothing_again(server, receiver):
    """Told at 07:30, and then the zone says that it is just before 07:30 once more: only what was since then is told."""
    number = add_webhook(server, receiver, events=[], report_at="07:30", report_tz=zone_where_it_is(7, 29, 57))
    first, = wait_for_reports(receiver, 1)
    assert first["data"]["due_ms"] == first["data"]["to_ms"]
    assert server.post(f"/api/v1/webhooks/{number}/report", json={}).status == 202
    asked = wait_for_reports(receiver, 2)[1]["data"]  # whoever asks has a day, and takes nothing from the next one
    assert asked["to_ms"] - asked["from_ms"] == DAY_MS and "due_ms" not in asked
    assert server.put(f"/api/v1/webhooks/{number}", json={"report_tz": zone_where_it_is(7, 29, 57)}).status == 200
    second = wait_for_reports(receiver, 3)[2]["data"]
    assert (second["from_ms"], second["to_ms"]) == (first["data"]["to_ms"] + 1, second["due_ms"])
    assert second["to_ms"] - second["from_ms"] < 10 * MINUTE_MS


def test_down_at_its_time_it_comes_after_the_start(server, receiver):
    number = add_webhook(server, receiver, report_at="07:30", report_tz=zone_where_it_is(7, 29, 56))
    due = webhook(server, number)["next_report_ms"]
    server.kill()
    wait_until(lambda: now_ms() > due, what="the time of the report")
    assert reports(receiver) == []
    server.start()
    message, = wait_for_reports(receiver, 1)
    assert message["data"]["to_ms"] == due
    assert webhook(server, number)["next_report_ms"] == due + DAY_MS


@of_a_file("the disk of a file fails")
def test_what_cannot_be_written_is_put_off_and_stays_of_its_time(tmp_path, receiver):
    with closing(FaultyServer(tmp_path / "faulty", "--public-url", PUBLIC)) as server:
        server.start()
        number = add_webhook(server, receiver, events=[], report_at="07:30", report_tz=zone_where_it_is(7, 29, 56))
        due = webhook(server, number)["next_report_ms"]
        server.disk.arm(1, count=FOR_EVER)
        server.wait_for_log("event=report_put_off")
        assert now_ms() >= due and reports(receiver) == []
        server.disk.mend()
        later = wait_until(lambda: add_webhook(server, receiver, events=[], report_at="07:30", report_tz=zone_where_it_is(7, 29, 57)), what="that it can be written again")
        other, = wait_for_reports(receiver, 1)
        assert other["data"]["to_ms"] > due, "the other one, whose time came later: the first has a minute to wait"
        assert webhook(server, number)["next_report_ms"] == due and webhook(server, later)["next_report_ms"] > now_ms()
        server.restart()  # what waits is kept in memory alone
        found = wait_for_reports(receiver, 2)
        assert [one["data"]["to_ms"] for one in found[1:]] == [due]
        assert webhook(server, number)["next_report_ms"] == due + DAY_MS


def test_all_that_are_due_at_once_are_told(server, receiver):
    zone = zone_where_it_is(7, 29, 57)
    numbers = [add_webhook(server, receiver, events=[], report_at="07:30", report_tz=zone) for _ in range(4)]
    wait_for_reports(receiver, len(numbers))
    for number in numbers:
        assert len(server.get(f"/api/v1/webhooks/{number}/deliveries").body["deliveries"]) == 1


def test_a_change_that_is_not_of_its_time_keeps_it_due(server, receiver):
    zone = zone_where_it_is(7, 29, 0)
    number = add_webhook(server, receiver, report_at="07:29", report_tz=zone_where_it_is(7, 29, 58, time.time() - 5))
    due = webhook(server, number)["next_report_ms"]
    assert due - now_ms() > 23 * HOUR_MS  # today's was over before it was asked for
    assert server.put(f"/api/v1/webhooks/{number}", json={**webhook(server, number), "per_minute": 3}).status == 200
    assert webhook(server, number)["next_report_ms"] == due
    assert server.put(f"/api/v1/webhooks/{number}", json={"report_at": "07:31", "report_tz": zone}).status == 200
    assert webhook(server, number)["next_report_ms"] - now_ms() <= 3 * MINUTE_MS
    assert server.put(f"/api/v1/webhooks/{number}", json={"report_at": ""}).status == 200
    assert "next_report_ms" not in webhook(server, number)
    assert reports(receiver) == []


@pytest.mark.parametrize("format", ["json", "slack", "discord", "teams", "feishu", "dingtalk", "wecom"])
def test_silent_jobs_are_told_as_such(make_server, receiver, format):
    server = make_server("--public-url", PUBLIC, "--silent-after", "1s")
    server.send("llama", [f"step: {n} loss: {5 - n / 100:.3f}" for n in range(200)])
    row = wait_until(lambda: (row := server.get("/api/v1/jobs/llama").body).get("silent_since_ms") and row, what="its silence")
    number = add_webhook(server, receiver, events=[], format=format)
    assert server.post(f"/api/v1/webhooks/{number}/report", json={}).status == 202
    (_, body, _), = receiver.wait_for(1)
    text = json.dumps(json.loads(body), ensure_ascii=False).replace("\\", "")  # Discord's parentheses
    assert "1 run now (1 of them silent)." in text and "llama has been silent for 0 min: step 199, loss 3.01, best 3.01 at 199" in text
    assert "llama runs" not in text
    if format == "json":
        running = json.loads(body)["data"]["running"]
        assert (running["total"], running["silent"], running["jobs"][0]["silent_since_ms"]) == (1, 1, row["silent_since_ms"])


def test_what_is_over_names_its_fault_and_machine(server, receiver):
    log = "step: 1 loss: 2.5\nkernel: NVRM: Xid (PCI:0000:02:00): 79, GPU has fallen off the bus.\n"
    assert server.post("/api/v1/logs?job=broken&stream=algo-1&host=gpu-07", log).status == 200
    wait_until(lambda: server.get("/api/v1/report").body["incidents"]["critical"], what="its incident")
    assert server.post("/api/v1/jobs/broken/transitions", json={"SecondaryStatus": "Failed"}).status == 204
    wait_until(lambda: [row for row in server.get("/api/v1/incidents?all=true").body["incidents"] if row.get("closed_why") == "job_ended"], what="its end")
    fault, told = log.splitlines()[1], "Xid 79: GPU has fallen off the bus on"
    assert server.post("/api/v1/logs?job=stated&stream=algo-1&host=gpu-08", log).status == 200
    wait_until(lambda: server.get('/api/v1/incidents?q=name="stated"').body["incidents"], what="the other's incident")
    assert server.post("/api/v1/jobs/stated/transitions", json={"SecondaryStatus": "Failed", "FailureReason": "Task failed"}).status == 204
    wait_until(lambda: [row["evidence"] for row in server.get("/api/v1/incidents?kind=job_failed&all=true").body["incidents"] if "fault" in row["evidence"]][1:],
        what="the fault in both failures")
    number = add_webhook(server, receiver, events=[])
    assert server.post(f"/api/v1/webhooks/{number}/report", json={}).status == 202
    message, = wait_for_reports(receiver, 1)
    over = [line["text"] for line in message["data"]["lines"] if "until the job ended" in line["text"]]
    assert over and all("fallen off the bus" in text for text in over), message["data"]["lines"]
    assert any("node_suspect: " in text and "on gpu-07" in text for text in over), over
    texts = [line["text"] for line in message["data"]["lines"]]
    for job, why in (("broken", f"{told} gpu-07: {fault}"), ("stated", f"Task failed; {told} gpu-08: {fault}")):
        assert f"critical: {job} failed: {why}" in texts and f"{job} failed: {why}" in texts, texts


def test_a_team_is_told_of_its_own(server, receiver):
    now, root = now_ms(), token_of(server, "root", "--scope", "admin")[0]
    for team in ("nlp", "vision"):
        server.token = token_of(server, team, "--scope", "write", "--team", team)[0]
        run_job(server, f"{team}-job", now - 3 * HOUR_MS, 60, 60, end="Failed", reason="OOM")
    server.token = root
    assert server.get("/api/v1/report").body["failed"]["total"] == 2
    number = add_webhook(server, receiver, events=[], team="nlp")
    assert server.post(f"/api/v1/webhooks/{number}/report", json={}).status == 202
    message, = wait_for_reports(receiver, 1)
    data = message["data"]
    assert [job["job"] for job in data["failed"]["jobs"]] == ["nlp-job"] and data["failed"]["total"] == 1
    assert "vision" not in json.dumps(message) and data["title"].startswith("Report of nlp: ")
    assert data["url"] == f"{PUBLIC}/report?from_ms={data['from_ms']}&to_ms={data['to_ms']}&q=team%3D%22nlp%22"
    preview = server.post("/api/v1/webhooks/preview", json={"url": receiver.url, "team": "nlp", "events": [], "report_at": "07:30"}).body
    assert "nlp-job" in json.dumps(preview["message"]) and "vision" not in json.dumps(preview["message"])


@pytest.mark.parametrize("format, link", [("slack", "• <{}|broken failed: NCCL timeout rank 3>"), ("discord", "• [broken failed: NCCL timeout rank 3]({})"),
    ("teams", "• broken failed: NCCL timeout rank 3"), ("feishu", "• broken failed: NCCL timeout rank 3"),
    ("dingtalk", "- [broken failed: NCCL timeout rank 3]({})"), ("wecom", "[broken failed: NCCL timeout rank 3]({})")])
def test_in_the_words_of_a_chat(server, receiver, format, link):
    run_job(server, "broken", now_ms() - 3 * HOUR_MS, 60, 60, end="Failed", reason="NCCL timeout\nrank 3")
    number = add_webhook(server, receiver, events=[], format=format)
    assert server.post(f"/api/v1/webhooks/{number}/report", json={}).status == 202
    (_, body, _), = receiver.wait_for(1)
    text = json.dumps(json.loads(body), ensure_ascii=False)
    assert link.format(f"{PUBLIC}/jobs/broken") in text and "Report: 1 job failed" in text and f"{PUBLIC}/report?from_ms=" in text


def test_what_it_does_not_take(server, receiver):
    def refused(field, **fields):
        reply = server.post("/api/v1/webhooks", json={"url": receiver.url, **fields})
        assert reply.status == 422 and reply.body["field"] == field, reply
    refused("report_at", report_at="7:30")
    refused("report_at", report_at="24:00")
    refused("report_at", report_at="25:00")
    refused("report_tz", report_at="07:30", report_tz="Mars/Olympus")
    refused("report_tz", report_tz="Mars/Olympus")
    refused("report_tz", report_at="", report_tz="../etc/passwd")
    refused("report_at", report_at="07:30", format="pagerduty", secret="R0UT1NGKEY0123456789ABCDEF012345")
    pager = add_webhook(server, receiver, format="pagerduty", secret="R0UT1NGKEY0123456789ABCDEF012345")
    assert server.post(f"/api/v1/webhooks/{pager}/report", json={}).status == 422
    assert server.post("/api/v1/webhooks/999/report", json={}).status == 404
    assert receiver.messages() == []
