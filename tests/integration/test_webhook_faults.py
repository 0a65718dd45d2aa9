"""Webhooks in trouble, and in each shape: what receivers do, what becomes of the message, what it looks like."""

import base64
import hashlib
import hmac
import json
import socket
import urllib.parse

import pytest
from receiver import Receiver
from smserver import wait_until

QUICK = ("--webhook-retry", "20ms", "--webhook-retry-longest", "100ms", "--webhook-timeout", "500ms")
SECRET = "whsec_" + base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()


def add_webhook(server, url, **fields):
    reply = server.post("/api/v1/webhooks", json={"url": url, **fields})
    assert reply.status == 201, reply
    return reply.body["id"]


def nan(server, job):
    server.send(job, [f"step: {n} loss: 3.0" for n in range(3)] + [f"step: {n} loss: nan" for n in range(3, 5)])


def deliveries(server, webhook):
    return server.get(f"/api/v1/webhooks/{webhook}/deliveries?limit=100").body["deliveries"]


def done(server, webhook):
    return wait_until(lambda: [row for row in deliveries(server, webhook) if row["state"] == "done"], what="the delivery's result")


def break_off(handler):
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b"half of it")
    handler.wfile.flush()
    handler.connection.shutdown(socket.SHUT_RDWR)


def ask_to_wait(handler):
    handler.send_response(429)
    handler.send_header("Retry-After", "1")
    handler.end_headers()


def redirect(handler):
    handler.send_response(302)
    handler.send_header("Location", "http://169.254.169.254/latest/meta-data")
    handler.end_headers()


def ten_megabytes(handler):
    handler.send_response(200)
    handler.send_header("Content-Length", str(10 << 20))
    handler.end_headers()
    handler.wfile.write(b"x" * (10 << 20))


def test_whatever_a_receiver_does_it_is_told_in_the_end_and_delays_no_other(make_server, receiver):
    server = make_server(*QUICK)
    troubles = {"500": [500, 503], "wait": [ask_to_wait], "half": [break_off], "redirect": [redirect], "huge": [ten_megabytes]}
    others = {name: Receiver() for name in [*troubles, "hang"]}
    down = socket.socket()  # nobody listens on it for now
    down.bind(("127.0.0.1", 0))
    try:
        ids = {}
        for name, other in others.items():
            other.answers = troubles.get(name, [other.hang])
            ids[name] = add_webhook(server, other.url)
        ids["down"] = add_webhook(server, f"http://127.0.0.1:{down.getsockname()[1]}/hook")
        add_webhook(server, receiver.url)
        nan(server, "j")
        receiver.wait_for(1)
        rows = {name: done(server, ids[name])[0] for name in others}
        # a busy machine may answer too late once more; who answers with megabytes would never be done if that counted against him
        for name, least in {"500": 3, "wait": 2, "half": 2, "redirect": 2, "huge": 1, "hang": 2}.items():
            assert rows[name]["attempts"] >= least, (name, rows[name])
        for name, other in others.items():
            assert len({headers["webhook-id"] for headers, _, _ in other.calls}) == 1 and len({body for _, body, _ in other.calls}) == 1, name
        wait_until(lambda: deliveries(server, ids["down"])[0]["attempts"] >= 3, what="some attempts")
        port = down.getsockname()[1]
        down.close()
        others["down"] = Receiver(port)
        assert done(server, ids["down"])[0]["last_code"] == 204
        assert "j" in others["down"].calls[0][1].decode()
    finally:
        for other in others.values():
            other.close()


def test_killed_before_the_answer_it_is_told_again_with_the_same_id(make_server, receiver):
    server = make_server(*QUICK)
    receiver.answers = [receiver.hang]
    webhook = add_webhook(server, receiver.url)
    nan(server, "j")
    receiver.wait_for(1)
    server.kill()
    server.start()
    (first, *_), (second, *_) = receiver.wait_for(2)
    assert first["webhook-id"] == second["webhook-id"]
    assert len(done(server, webhook)) == 1 and len(receiver.calls) == 2


def test_given_up_in_the_end(make_server, receiver):
    server = make_server(*QUICK, "--webhook-give-up", "200ms")
    receiver.answers = [500] * 1000
    webhook = add_webhook(server, receiver.url)
    nan(server, "j")
    row = wait_until(lambda: [row for row in deliveries(server, webhook) if row["state"] == "dead"], what="the dead letter")[0]
    assert row["attempts"] >= 2 and row["last_error"] == "the answer was 500"


def test_private_addresses_by_policy(make_server, receiver):
    server = make_server(*QUICK, "--webhook-private=no")
    webhook = add_webhook(server, receiver.url)
    nan(server, "j")
    row = wait_until(lambda: [row for row in deliveries(server, webhook) if row["attempts"]], what="an attempt")[0]
    assert row["state"] == "pending" and "127.0.0.1 is not allowed" in row["last_error"] and not receiver.calls


def signed_by_feishu(message, path):
    key = f"{message['timestamp']}\nmy secret".encode()
    assert message["sign"] == base64.b64encode(hmac.new(key, b"", hashlib.sha256).digest()).decode()
    assert message["msg_type"] == "interactive" and message["card"]["header"]["template"] == "red"
    return message["card"]["elements"][0]["text"]["content"]


def signed_by_dingtalk(message, path):
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(path).query)
    text = f"{query['timestamp'][0]}\nmy secret".encode()
    assert query["sign"] == [base64.b64encode(hmac.new(b"my secret", text, hashlib.sha256).digest()).decode()]
    return message["markdown"]["text"] if message["msgtype"] == "markdown" else None


def by_pagerduty(message, path):
    assert message["routing_key"] == "my secret" and message["event_action"] == "trigger" and message["dedup_key"].startswith("1-1@http")
    assert set(message["payload"]) >= {"summary", "source", "severity"} and message["payload"]["severity"] == "critical"
    assert message["links"][0]["href"].endswith("/api/v1/jobs/a%3Cb/chart.svg?metric=train%3Aloss")
    return message["payload"]["summary"]


def by_slack(message, path):
    assert "a&lt;b" in message["text"] and message["attachments"][0]["color"] == "#c0392b"
    return message["attachments"][0]["blocks"][0]["text"]["text"].replace("&lt;", "<")


def by_teams(message, path):
    card = message["attachments"][0]
    assert message["type"] == "message" and card["contentType"] == "application/vnd.microsoft.card.adaptive"
    assert card["content"]["actions"][0]["url"].startswith("http")
    return card["content"]["body"][1]["inlines"][0]["text"]


def by_discord(message, path):
    assert message["allowed_mentions"] == {"parse": []} and message["embeds"][0]["color"] == 0xc0392b
    return message["embeds"][0]["description"]


SHAPES = {"slack": by_slack, "discord": by_discord, "teams": by_teams, "pagerduty": by_pagerduty, "feishu": signed_by_feishu,
    "dingtalk": signed_by_dingtalk, "wecom": lambda message, path: message["markdown"]["content"],
    "cloudevents": lambda message, path: message["specversion"] == "1.0" and message["data"]["summary"]}


def test_every_shape(make_server):
    server = make_server(*QUICK)
    receivers = {name: Receiver() for name in SHAPES}
    try:
        for name, one in receivers.items():
            secret = {"secret": "my secret"} if name in ("pagerduty", "feishu", "dingtalk") else {}
            add_webhook(server, one.url, format=name, **secret)
        receivers["wecom"].answers = [lambda handler: reply(handler, {"errcode": 45009, "errmsg": "api freq out of limit"})]
        nan(server, "a<b")
        for name, check in SHAPES.items():
            (headers, body, _), = receivers[name].wait_for(1)
            assert "became nan" in check(json.loads(body), receivers[name].paths[0]), (name, body)
            assert "my secret" not in str(server.get("/api/v1/webhooks").body)
        headers, body, _ = receivers["cloudevents"].calls[0]
        event = json.loads(body)
        assert headers["Content-Type"] == "application/cloudevents+json" and event["id"] == headers["webhook-id"]
        assert event["source"].startswith("http") and event["subject"] == "a<b" and event["time"] == event["timestamp"]
        receivers["wecom"].wait_for(2)  # an answer 200 that says no
        server.send("a<b", [f"step: {n} loss: 3.0" for n in range(5, 12)])
        resolve = json.loads(receivers["pagerduty"].wait_for(2)[1][1])
        assert (resolve["event_action"], resolve["dedup_key"]) == ("resolve", f"1-1@{server.url}"), "servers with one routing key count alike"
    finally:
        for one in receivers.values():
            one.close()


def reply(handler, document):
    handler.send_response(200)
    handler.end_headers()
    handler.wfile.write(json.dumps(document).encode())


def test_changes_of_a_job_as_eventbridge_tells_them(server, receiver):
    add_webhook(server, receiver.url, events=["job_state"])
    server.post("/api/v1/jobs", json={"TrainingJobName": "j", "HyperParameters": {"lr": "1"}, "Tags": [{"Key": "team", "Value": "nlp"}]})
    for status in ("Training", "Training", "Failed"):
        body = {"SecondaryStatus": status, **({"FailureReason": "OOM"} if status == "Failed" else {})}
        assert server.post("/api/v1/jobs/j/transitions", json=body).status == 204
    receiver.wait_for(2)
    first, second = receiver.messages()
    assert first["detail-type"] == "SageMaker Training Job State Change" and first["source"] == "aws.sagemaker"
    assert (first["detail"]["SecondaryStatus"], second["detail"]["TrainingJobStatus"], second["detail"]["FailureReason"]) == ("Training", "Failed", "OOM")
    assert second["detail"]["HyperParameters"] == {"lr": "1"} and second["detail"]["Tags"] == {"team": "nlp"}
    assert [row["Status"] for row in second["detail"]["SecondaryStatusTransitions"]][-2:] == ["Training", "Failed"]
    again = {**second, "detail": {**second["detail"], "TrainingJobName": "copy"}}  # our own door understands it
    assert server.post("/api/v1/events", json=again).body["accepted"] == 1
    assert server.get("/api/v1/jobs/copy").body["TrainingJobStatus"] == "Failed"


def test_heartbeat_test_button_and_change(server, receiver):
    webhook = add_webhook(server, receiver.url, heartbeat_s=1, events=[])
    receiver.wait_for(2)
    assert set(receiver.types()) == {"server.heartbeat"}
    path = f"/api/v1/webhooks/{webhook}"
    changed = server.put(path, json={"heartbeat_s": 0, "events": ["incident"], "secret": SECRET})
    assert changed.status == 200 and changed.body["heartbeat_s"] == 0 and changed.body["url"] == receiver.url
    assert server.post(f"{path}/test", json={}).status == 202
    wait_until(lambda: "webhook.test" in receiver.types(), what="the test")
    headers, body, _ = next(call for call in receiver.calls if json.loads(call[1])["type"] == "webhook.test")
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    assert headers["webhook-signature"] == "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert server.post("/api/v1/webhooks/99/test", json={}).status == 404
    for wrong, field in (({"heartbeat_s": -1}, "heartbeat_s"), ({"per_minute": -1}, "per_minute"), ({"events": ["x"]}, "events"),
            ({"format": "pagerduty"}, "secret"), ({"format": "fax"}, "format")):
        reply = server.put(path, json=wrong)
        assert reply.status == 422 and reply.body["field"] == field, reply
