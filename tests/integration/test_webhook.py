"""A spike in a posted log rings a webhook: signed, retried, never twice."""

import base64
import hashlib
import hmac
import json
import time

import pytest
from smserver import wait_until

SECRET = "whsec_" + base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()


def add_webhook(server, receiver, **fields):
    reply = server.post("/api/v1/webhooks", json={"url": receiver.url, "secret": SECRET, **fields})
    assert reply.status == 201, reply
    return reply.body["id"]


def steady(first, count):
    return [f"step: {n} loss: {3 + (n * 7919 % 100) / 1000:.3f}" for n in range(first, first + count)]


def spike(server, job):
    """A quiet curve, then six high points. Nothing is sent after them: what is found must come by itself."""
    server.send(job, steady(0, 300))
    server.send(job, [f"step: {n} loss: 9.0" for n in range(300, 306)])


def check_signature(headers, body):
    headers = {name.lower(): value for name, value in headers.items()}
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert f"v1,{expected}" in headers["webhook-signature"].split()
    assert abs(int(headers["webhook-timestamp"]) - time.time()) < 300
    assert headers["content-type"].startswith("application/json")
    return headers["webhook-id"]


def test_spike_rings_and_recovery_rings(server, receiver):
    add_webhook(server, receiver)
    spike(server, "llama")
    (headers, body, _), = receiver.wait_for(1)
    check_signature(headers, body)
    message = json.loads(body)
    assert message["type"] == "incident.opened" and message["timestamp"].endswith("Z")
    data = message["data"]
    assert (data["job"], data["metric"], data["kind"], data["state"]) == ("llama", "train:loss", "loss_spike", "open")
    assert 300 <= data["opened_step"] <= 306 and data["severity"] in ("warning", "critical")
    assert "llama" in data["summary"] and data["url"].startswith("http")
    incident = server.get("/api/v1/incidents").body["incidents"][0]
    assert incident["id"] == data["id"] and incident["evidence"]

    server.send("llama", steady(306, 200))
    calls = receiver.wait_for(2)
    check_signature(*calls[1][:2])
    assert receiver.types() == ["incident.opened", "incident.recovered"]
    assert server.get("/api/v1/incidents?state=open").body["incidents"] == []


def test_no_incident_without_a_spike(server, receiver):
    add_webhook(server, receiver)
    server.send("j", steady(0, 1000))
    server.wait_for_points("j", "train:loss", 1000)
    spike(server, "k") # the later one has arrived: an earlier one would have come before it
    receiver.wait_for(1)
    assert {json.loads(body)["data"]["job"] for _, body, _ in receiver.calls} == {"k"}


def test_nan_is_critical(server, receiver):
    add_webhook(server, receiver, minimum_severity="critical")
    server.send("j", steady(0, 50) + [f"step: {n} loss: nan" for n in range(50, 60)])
    (_, body, _), = receiver.wait_for(1)
    assert json.loads(body)["data"]["kind"] == "non_finite"


def test_retry_after_an_error(server, receiver):
    receiver.answers = [500]
    webhook = add_webhook(server, receiver)
    spike(server, "j")
    first, second = receiver.wait_for(2)
    assert check_signature(*first[:2]) == check_signature(*second[:2])
    assert first[1] == second[1]
    assert second[2] - first[2] >= 2, "no backoff"

    def is_done():
        rows = server.get(f"/api/v1/webhooks/{webhook}/deliveries").body["deliveries"]
        return rows[0]["state"] == "done" and rows
    rows = wait_until(is_done, what="the delivery's result")
    assert len(rows) == 1 and rows[0]["attempts"] == 2 and rows[0]["last_code"] == 204


def test_dead_after_a_refusal_and_sent_again_by_hand(server, receiver):
    receiver.answers = [410]
    webhook = add_webhook(server, receiver)
    spike(server, "j")
    receiver.wait_for(1)
    path = f"/api/v1/webhooks/{webhook}/deliveries"
    row = wait_until(lambda: [row for row in server.get(path).body["deliveries"] if row["state"] == "dead"],
        what="the dead letter")[0]
    assert row["last_code"] == 410
    assert server.post(f"{path}/{row['n']}/retry", json={}).status in (200, 202, 204)
    first, second = receiver.wait_for(2)
    assert check_signature(*first[:2]) == check_signature(*second[:2])
    again, = server.get(path).body["deliveries"]
    assert again["created_ms"] > row["created_ms"]  # else it is given up at its first failure
    assert server.post(f"{path}/{row['n'] + 1}/retry", json={}).status == 404


def test_second_start_does_not_send_twice(server, receiver):
    webhook = add_webhook(server, receiver)
    spike(server, "first")
    receiver.wait_for(1)
    wait_until(lambda: server.get(f"/api/v1/webhooks/{webhook}/deliveries").body["deliveries"][0]["state"] == "done",
        what="the delivery's result")
    server.restart()
    spike(server, "second")
    receiver.wait_for(2)
    assert [json.loads(body)["data"]["job"] for _, body, _ in receiver.calls] == ["first", "second"]


def test_pending_delivery_survives_a_kill(server, receiver):
    receiver.answers = [503]
    add_webhook(server, receiver)
    spike(server, "j")
    receiver.wait_for(1)
    server.kill()
    server.start()
    first, second = receiver.wait_for(2)
    assert check_signature(*first[:2]) == check_signature(*second[:2])


def test_old_lines_ring_nobody(server, receiver):
    """An import opens incidents marked historic, which fire no webhook."""
    add_webhook(server, receiver)
    day_ago = int(time.time() * 1000) - 86_400_000
    texts = steady(0, 300) + [f"step: {n} loss: 9.0" for n in range(300, 306)]
    body = "".join(json.dumps({"line": text, "ts": day_ago + i * 1000}) + "\n" for i, text in enumerate(texts))
    assert server.post("/api/v1/logs?job=old", body, content_type="application/x-ndjson").status == 200
    wait_until(lambda: server.get("/api/v1/incidents").body["incidents"], what="the historic incident")
    spike(server, "new")
    receiver.wait_for(1)
    assert [json.loads(body)["data"]["job"] for _, body, _ in receiver.calls] == ["new"]


def failed_event(job, at_ms, **detail):
    told = [{"Status": "Training", "StartTime": at_ms - 60_000}, {"Status": "Failed", "StartTime": at_ms, "StatusMessage": "OOM"}]
    return {"detail-type": "SageMaker Training Job State Change", "detail": {"TrainingJobName": job, "TrainingJobStatus": "Failed",
        "SecondaryStatus": "Failed", "FailureReason": "OOM", "LastModifiedTime": at_ms, "SecondaryStatusTransitions": told, **detail}}


def fail_by_event(server, job, at_ms):
    assert server.post("/api/v1/events", json=failed_event(job, at_ms)).body["accepted"] == 1


def fail_by_log(server, job, at_ms):
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at_ms / 1000))
    server.send(job, [f"{at} Training - Training in progress.", f"{at} Failed - Training job failed"])
    wait_until(lambda: server.get(f"/api/v1/jobs/{job}").body["TrainingJobStatus"] == "Failed", what="the end of the job")


def fail_by_statement(server, job, at_ms):
    server.post("/api/v1/jobs", json={"TrainingJobName": job})
    body = {"SecondaryStatus": "Failed", "FailureReason": "OOM", "time_ms": at_ms}
    assert server.post(f"/api/v1/jobs/{job}/transitions", json=body).status in (200, 204)  # 200: it ended already, by another clock


def failures(server, job):
    rows = server.get("/api/v1/incidents?kind=job_failed").body["incidents"]
    return [row for row in rows if row["job"] == job]


WAYS = [fail_by_event, fail_by_log, fail_by_statement]


@pytest.mark.parametrize("first", WAYS)
def test_a_failure_rings_once_whoever_tells_it(server, receiver, first):
    add_webhook(server, receiver)
    now_ms = int(time.time()) * 1000
    first(server, "a", now_ms)
    (headers, body, _), = receiver.wait_for(1)
    assert (json.loads(body)["data"]["job"], json.loads(body)["data"]["kind"]) == ("a", "job_failed")
    server.post("/api/v1/events", json=failed_event("a", now_ms + 2000))  # the same end, by another clock
    fail_by_log(server, "a", now_ms + 1000)
    fail_by_statement(server, "a", now_ms + 3000)
    server.restart()
    assert len(failures(server, "a")) == 1 and failures(server, "a")[0]["state"] == "open"
    first(server, "b", now_ms)
    receiver.wait_for(2)
    assert [json.loads(body)["data"]["job"] for _, body, _ in receiver.calls] == ["a", "b"]


@pytest.mark.parametrize("tell", WAYS)
def test_a_failure_of_long_ago_is_kept_and_rings_nobody(server, receiver, tell):
    add_webhook(server, receiver)
    tell(server, "old", int(time.time()) * 1000 - 86_400_000)
    row, = wait_until(lambda: failures(server, "old"), what="the historic incident")
    assert row["is_historic"] and row["severity"] == "critical"
    tell(server, "new", int(time.time()) * 1000)
    receiver.wait_for(1)
    assert [json.loads(body)["data"]["job"] for _, body, _ in receiver.calls] == ["new"]


def test_a_failure_that_an_event_takes_back_is_over(server):
    now_ms = int(time.time()) * 1000
    fail_by_log(server, "a", now_ms - 2000)
    detail = {"TrainingJobStatus": "Completed", "SecondaryStatus": "Completed", "FailureReason": ""}
    told = [{"Status": "Training", "StartTime": now_ms - 60_000}, {"Status": "Completed", "StartTime": now_ms}]
    assert server.post("/api/v1/events", json=failed_event("a", now_ms, SecondaryStatusTransitions=told, **detail)).body["accepted"] == 1
    assert server.get("/api/v1/jobs/a").body["TrainingJobStatus"] == "Completed"
    assert [row["state"] for row in failures(server, "a")] == ["recovered"]


def test_acknowledge(server):
    spike(server, "j")
    incident = wait_until(lambda: server.get("/api/v1/incidents").body["incidents"], what="the spike")[0]
    assert server.post(f"/api/v1/incidents/{incident['id']}/ack", json={}).status in (200, 204)
    assert server.get("/api/v1/incidents").body["incidents"][0].get("acknowledged_ms")
    assert server.post("/api/v1/incidents/999-1/ack", json={}).status == 404


def test_incident_is_on_the_event_stream(server):
    live = server.live("jobs=j&kinds=incident")
    spike(server, "j")
    assert live.next("incident")["json"]["kind"] == "loss_spike"


def test_secret_is_shown_once_and_sealed(server, receiver):
    made = server.post("/api/v1/webhooks", json={"url": receiver.url})
    assert made.status == 201 and made.body["secret"].startswith("whsec_")
    listed = server.get("/api/v1/webhooks")
    assert listed.body["webhooks"][0]["url"] == receiver.url and made.body["secret"] not in listed.raw.decode()
    raw_key = base64.b64decode(made.body["secret"].removeprefix("whsec_"))
    server.stop()
    if server.postgres:
        stored = str(server.sql("SELECT * FROM webhooks"))
        assert receiver.url in stored and raw_key.hex() not in stored and made.body["secret"] not in stored
    else:
        assert raw_key not in server.database.read_bytes()
    key = server.folder / "smfleet.db.key"
    assert key.stat().st_mode & 0o777 == 0o600
    server.start()


def test_webhooks_that_are_wrong(server):
    for address in ("169.254.169.254", "2852039166", "[::ffff:169.254.169.254]:80", "x:y@169.254.169.254:80", "[fe80::1]", "224.0.0.1"):
        reply = server.post("/api/v1/webhooks", json={"url": f"http://{address}/latest"})
        assert reply.status == 422 and reply.body["field"] == "url" and "no option allows" in reply.body["detail"], (address, reply)
        assert server.post("/api/v1/webhooks/preview", json={"url": f"http://{address}/latest"}).status == 422, address
    for document, field in (({"url": "ftp://x"}, "url"), ({}, "url"), ({"url": "http://x", "format": "fax"}, "format"),
            ({"url": "http://x", "secret": "short"}, "secret"), ({"url": "http://x", "minimum_severity": "much"}, "minimum_severity")):
        reply = server.post("/api/v1/webhooks", json=document)
        assert reply.status == 422 and reply.body["field"] == field, reply
    made = server.post("/api/v1/webhooks", json={"url": "http://127.0.0.1:1/"}).body
    assert server.delete(f"/api/v1/webhooks/{made['id']}").status == 204
    assert server.delete(f"/api/v1/webhooks/{made['id']}").status == 404
    assert server.get("/api/v1/webhooks").body["webhooks"] == []


def test_settled_deliveries_leave_the_log_by_age(make_server, receiver):
    server = make_server("--delivery-age", "1s")
    webhook = add_webhook(server, receiver)
    spike(server, "j")
    receiver.wait_for(1)
    wait_until(lambda: server.get(f"/api/v1/webhooks/{webhook}/deliveries").body["deliveries"] == [], what="the delivery to leave the log")
    assert server.get("/api/v1/incidents").body["incidents"], "the incident stays"


ADDRESSES = [("https://hooks.slack.com/services/T0/B0/x", "slack"), ("https://HOOKS.slack.com:443/services/x", "slack"),
    ("https://discord.com/api/webhooks/1/x", "discord"), ("https://discord.com/api/webhooksx/1", "json"), ("https://discord.com/channels/1", "json"),
    ("https://acme.webhook.office.com/webhookb2/1", "teams"), ("https://prod-1.westus.logic.azure.com:443/workflows/1/triggers/manual/paths/invoke?sig=x", "teams"),
    ("https://open.feishu.cn/open-apis/bot/v2/hook/1", "feishu"), ("https://open.larksuite.com/open-apis/bot/v2/hook/1", "feishu"),
    ("https://oapi.dingtalk.com/robot/send?access_token=1", "dingtalk"), ("https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=1", "wecom"),
    ("https://events.pagerduty.com/v2/enqueue", "pagerduty"), ("https://alerts.example.com/hooks.slack.com", "json"),
    ("https://hooks.slack.com.example.com/x", "json"), ("https://nothooks.slack.com/x", "json"), ("https://hooks.slack.com@example.com/x", "json"),
    ("https://webhook.office.com/x", "json"), ("https://example.com/?u=https://hooks.slack.com/x", "json")]


def test_an_address_says_its_format(server):
    def hook(number):
        return next(row for row in server.get("/api/v1/webhooks").body["webhooks"] if row["id"] == number)
    for url, expected in ADDRESSES:
        secret = {"secret": "R0UT1NGKEY"} if expected == "pagerduty" else {}
        reply = server.post("/api/v1/webhooks", json={"url": url, **secret})
        assert reply.status == 201 and reply.body["format"] == expected, (url, reply.body)
        row = hook(reply.body["id"])
        assert (row["format"], row["per_minute"]) == (expected, 60 if expected == "json" else 20)
        stated = server.post("/api/v1/webhooks", json={"url": url, "format": "cloudevents"})
        assert stated.body["format"] == hook(stated.body["id"])["format"] == "cloudevents"
    assert server.post("/api/v1/webhooks", json={"url": "https://events.pagerduty.com/v2/enqueue"}).body["field"] == "secret"


def test_a_changed_address_says_its_format(server):
    number = server.post("/api/v1/webhooks", json={"url": "https://alerts.example.com/a"}).body["id"]

    def change(**fields):
        reply = server.put(f"/api/v1/webhooks/{number}", json=fields)
        assert reply.status == 200, reply
        return reply.body["format"]
    assert change(url="https://hooks.slack.com/services/x") == "slack"
    assert change(enabled=False) == "slack"
    assert change(url="https://discord.com/api/webhooks/1/x") == "discord"
    assert change(url="https://alerts.example.com/a") == "json"  # it was the address's
    assert change(url="https://chat.example.com/hooks/a", format="slack") == "slack"  # one of one's own, which takes Slack's shape
    assert change(url="https://chat.example.com/hooks/b") == "slack"
    assert change(url="https://discord.com/api/webhooks/1/x", format="slack") == "slack"


HOSTILE = "[runbook](http://evil) <!channel> <@U1> **x** ![i](http://evil) #a"
HARMLESS = {
    "slack": lambda body: body["attachments"][0]["blocks"][0]["text"]["verbatim"] and "&lt;!channel&gt; &lt;@U1&gt;" in body["text"]
        and "<" not in body["text"] + body["attachments"][0]["blocks"][0]["text"]["text"],
    "discord": lambda body: body["allowed_mentions"] == {"parse": []} and r"\[runbook\]\(http://evil\) \<!channel\> \<@U1\> \*\*x\*\*" in text_of(body),
    "teams": lambda body: HOSTILE in text_of(body) and '"TextBlock"' not in json.dumps(body),  # what TextRuns say is no Markdown
    "dingtalk": lambda body: "［runbook］(http://evil) ＜！channel＞" in text_of(body) and "[runbook]" not in text_of(body),
    "wecom": lambda body: "［runbook］(http://evil) ＜！channel＞ ＜@U1＞" in text_of(body) and "<@" not in text_of(body),
    "feishu": lambda body: HOSTILE in text_of(body) and '"lark_md"' not in json.dumps(body) and '"markdown"' not in json.dumps(body),
}


def text_of(body):
    """All texts of a message behind each other."""
    if isinstance(body, (dict, list)):
        return " ".join(text_of(value) for value in (body.values() if isinstance(body, dict) else body))
    return str(body)


@pytest.mark.parametrize("form", HARMLESS)
def test_names_are_no_links_and_call_nobody(server, receiver, form):
    add_webhook(server, receiver, format=form)
    server.send(HOSTILE, [f"step: {n} loss: nan" for n in range(20)])
    (_, body, _), = receiver.wait_for(1)
    assert HARMLESS[form](json.loads(body)), body


def texts_in(body):
    """Each text of a message by itself."""
    if isinstance(body, (dict, list)):
        return [text for value in (body.values() if isinstance(body, dict) else body) for text in texts_in(value)]
    return [str(body)]


@pytest.mark.parametrize("form", ["json", "cloudevents", *HARMLESS, "pagerduty"])
def test_a_preview_is_what_the_receiver_gets(server, receiver, form):
    key = {"secret": "R0UT1NGKEY"} if form == "pagerduty" else {}
    hook = {"url": receiver.url, "format": form, **key}
    example = server.post("/api/v1/webhooks/preview", json=hook).body
    assert example["is_example"] and example["format"] == form and not example["is_known_address"]
    assert any("example-run" in text for text in texts_in(example["message"]))
    titles = [text for text in texts_in(example["message"]) if "spike in" in text]
    assert all("loss spike in example-run" in text for text in titles)  # words, no name of the interface
    assert server.get("/api/v1/webhooks").body["webhooks"] == []  # nothing is stored
    assert server.post("/api/v1/webhooks", json=hook).status == 201
    server.send("llama", [f"step: {n} loss: nan" for n in range(20)])
    (_, sent, _), = receiver.wait_for(1)
    preview = server.post("/api/v1/webhooks/preview", json=hook).body
    assert not preview["is_example"] and "R0UT1NGKEY" not in json.dumps(preview)
    stable = [text for text in texts_in(json.loads(sent)) if "llama" in text]
    assert stable and set(stable) <= set(texts_in(preview["message"]))


def test_a_preview_says_the_format_of_an_address(server):
    for url, expected in ADDRESSES:
        reply = server.post("/api/v1/webhooks/preview", json={"url": url})
        assert (reply.status, reply.body["format"], reply.body["is_known_address"]) == (200, expected, expected != "json"), url
    assert server.post("/api/v1/webhooks/preview", json={"url": "hooks.slack.com"}).body["field"] == "url"


def test_a_preview_is_of_what_the_webhook_is_told_of(server):
    def preview(*events):
        body = server.post("/api/v1/webhooks/preview", json={"url": "https://a.example", "events": list(events)}).body
        return body["message"], body["is_example"]
    server.post("/api/v1/jobs", json={"TrainingJobName": "broken"})
    server.post("/api/v1/jobs/broken/transitions", json={"SecondaryStatus": "Failed", "FailureReason": "exit code 1"})
    wait_until(lambda: failures(server, "broken"), what="the incident")
    message, is_example = preview()
    assert message["data"]["summary"] == "broken failed: exit code 1" and not is_example
    assert preview("job_state", "incident")[0]["data"]["job"] == "broken"
    message, is_example = preview("job_state")
    assert message["detail-type"] == "SageMaker Training Job State Change" and is_example
    assert message["detail"]["FailureReason"] == "AlgorithmError: exit code 1"
    message, is_example = preview("restart")
    assert message["type"] == "job.restart" and message["data"]["due"] and is_example
    assert preview("restart", "job_state")[0]["detail-type"]


def test_a_preview_of_a_team_shows_nothing_of_others(server):
    server.send("secret-run", [f"step: {n} loss: nan" for n in range(20)])
    wait_until(lambda: server.get("/api/v1/incidents").body["incidents"], what="the incident")
    assert "secret-run" in json.dumps(server.post("/api/v1/webhooks/preview", json={"url": "https://a.example"}).body)
    own = server.post("/api/v1/webhooks/preview", json={"url": "https://a.example", "team": "nlp"}).body
    assert own["is_example"] and "secret-run" not in json.dumps(own)
