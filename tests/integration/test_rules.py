"""Which incidents are told, to whom, when and how often: groups, rules, limits; conditions that users write."""

import json
import pathlib
import re
import sqlite3
import time

import pytest
from olddb import older_database
from receiver import Receiver
from engine import of_a_file
from smserver import wait_until


def add_webhook(server, receiver, **fields):
    reply = server.post("/api/v1/webhooks", json={"url": receiver.url, **fields})
    assert reply.status == 201, reply
    return reply.body["id"]


def add_rule(server, **fields):
    reply = server.post("/api/v1/rules", json={"name": "mine", **fields})
    assert reply.status == 201, reply
    return reply.body["id"]


def steady(first, count):
    return [f"step: {n} loss: {3 + (n * 7919 % 100) / 1000:.3f}" for n in range(first, first + count)]


def nan(server, job):
    server.send(job, steady(0, 3) + [f"step: {n} loss: nan" for n in range(3, 5)])


def incidents(server, query=""):
    return server.get(f"/api/v1/incidents?limit=1000{query}").body["incidents"]


def told_once(receiver):
    """What was sent, and not noted when the server was killed, is sent again: the same message."""
    messages = receiver.messages()
    return [message for i, message in enumerate(messages) if message not in messages[:i]]


def test_sixty_four_nodes_are_one_incident_and_one_message(server, receiver):
    add_webhook(server, receiver)
    texts = steady(0, 60) + ["step: 60 loss: nan", "step: 61 loss: nan"]
    streams = [f"algo-{n}" for n in range(1, 65)]
    body = "".join(json.dumps({"line": text, "stream": stream}) + "\n" for text in texts for stream in streams)
    assert server.post("/api/v1/logs?job=j", body, content_type="application/x-ndjson").status == 200
    wait_until(lambda: len(incidents(server, "&all=true")) == 64, what="all of them")
    server.kill()
    server.start()
    one, = incidents(server)
    assert sorted(one["streams"]) == sorted(streams) and one["stream_count"] == 64 and one["kind"] == "non_finite"
    assert one["state"] == "open" and "cause_id" not in one
    members = incidents(server, "&all=true")
    assert len(members) == 64 and {row["cause_id"] for row in members if row["id"] != one["id"]} == {one["id"]}
    recovered = [f"step: {n} loss: 3.0" for n in range(62, 70)]
    body = "".join(json.dumps({"line": text, "stream": stream}) + "\n" for text in recovered for stream in streams)
    assert server.post("/api/v1/logs?job=j", body, content_type="application/x-ndjson").status == 200
    wait_until(lambda: len(told_once(receiver)) >= 2, what="the recovery")
    nan(server, "later")
    wait_until(lambda: receiver.messages()[-1]["data"]["job"] == "later", what="a later message")
    first, second, later = told_once(receiver)
    assert [one["type"] for one in (first, second, later)] == ["incident.opened", "incident.recovered", "incident.opened"]
    assert first["data"]["id"].split("-")[0] == second["data"]["id"].split("-")[0] == one["id"].split("-")[0]
    assert incidents(server, "&state=open")[0]["job"] == "later"


def test_what_follows_is_of_the_same_cause(server, receiver):
    add_webhook(server, receiver)
    server.send("j", steady(0, 300) + [f"step: {n} loss: 9.0" for n in range(300, 306)])
    receiver.wait_for(1)
    server.send("j", ["step: 306 loss: nan"])
    rows = wait_until(lambda: len(incidents(server)) == 2 and incidents(server), what="both")
    spike, = [row for row in rows if row["kind"] == "loss_spike"]
    follows, = [row for row in rows if row["kind"] == "non_finite"]
    assert follows["cause_id"] == spike["id"] and "cause_id" not in spike
    receiver.wait_for(2)  # another harm
    nan(server, "other")
    receiver.wait_for(3)
    assert [(message["data"]["job"], message["data"]["kind"]) for message in receiver.messages()] == [
        ("j", "loss_spike"), ("j", "non_finite"), ("other", "non_finite")]


def test_a_storm_is_told_in_few_messages(server, receiver):
    """So many a minute; the others wait for one message."""
    webhook = add_webhook(server, receiver, per_minute=5)
    body = "".join(json.dumps({"job": f"j{job}", "line": text}) + "\n" for job in range(100) for text in steady(0, 3) + ["step: 3 loss: nan"])
    assert server.post("/api/v1/logs?job=none", body, content_type="application/x-ndjson").status == 200
    wait_until(lambda: len(incidents(server)) == 100, what="all of them")
    rows = server.get(f"/api/v1/webhooks/{webhook}/deliveries?limit=1000").body["deliveries"]
    assert 5 <= len(rows) <= 11  # a minute may have ended meanwhile


def test_what_a_rule_collects_is_one_message(server, receiver):
    add_webhook(server, receiver)
    add_rule(server, kinds=["non_finite"], collect_s=3)
    for job in ("a", "b", "c"):
        nan(server, job)
    server.send("a", [f"step: {n} loss: 3.0" for n in range(5, 12)])

    def told():
        return sum(message["data"].get("count", 1) for message in receiver.messages() if message["type"] != "incident.recovered")
    wait_until(lambda: told() == 3, what="the digest")
    assert "incidents.digest" in receiver.types() or len(receiver.types()) == 3  # the clock may cut between them
    digest = next((message["data"] for message in receiver.messages() if message["type"] == "incidents.digest"), None)
    if digest:
        assert digest["kinds"] == {"non_finite": digest["count"]} and "incidents in" in digest["summary"]
        assert len(digest["incidents"]) == digest["count"] and digest["incidents"][0]["url"].startswith("http")


def test_quiet_hours_hold_back(server, receiver):
    webhook = add_webhook(server, receiver)
    quiet = {"from": "00:00", "to": "00:00"}
    rule = add_rule(server, query="name~night", quiet=quiet)
    nan(server, "night-1")
    nan(server, "day")
    receiver.wait_for(1)
    assert [message["data"]["job"] for message in receiver.messages()] == ["day"]
    assert server.put(f"/api/v1/rules/{rule}", json={"name": "mine", "query": "name~night", "quiet": {**quiet, "unless": "critical"}}).status == 200
    nan(server, "night-2")  # critical
    receiver.wait_for(2)
    assert len(server.get(f"/api/v1/webhooks/{webhook}/deliveries").body["deliveries"]) == 2


def test_scope_endpoints_silence_mute_and_cool_down(server, receiver):
    everything = add_webhook(server, receiver)
    add_rule(server, name="quiet please", query="name~noisy", tell=False)
    add_rule(server, name="once", query="name=cooled", cool_down_s=3600)
    nan(server, "noisy-1")
    nan(server, "cooled")
    (_, body, _), = receiver.wait_for(1)
    assert json.loads(body)["data"]["job"] == "cooled"
    server.send("cooled", [f"step: {n} loss: 3.0" for n in range(5, 90)] + ["step: 90 loss: nan"])
    first = wait_until(lambda: [row for row in incidents(server) if row["job"] == "cooled" and row["state"] == "recovered"], what="the end")[0]
    receiver.wait_for(2)
    assert server.post(f"/api/v1/incidents/{first['id']}/mute", json={"for_s": 600}).status == 204
    muted = next(row for row in incidents(server) if row["id"] == first["id"])
    assert muted["muted_until_ms"] > time.time() * 1000
    nan(server, "last")
    receiver.wait_for(3)
    assert [(message["type"], message["data"]["job"]) for message in receiver.messages()] == [
        ("incident.opened", "cooled"), ("incident.recovered", "cooled"), ("incident.opened", "last")]
    assert server.post("/api/v1/incidents/999-1/mute", json={}).status == 404
    assert server.post(f"/api/v1/incidents/{first['id']}/mute", json={"for_s": -1}).body["field"] == "for_s"
    assert server.delete(f"/api/v1/webhooks/{everything}").status == 204


def test_it_must_last_before_it_is_told(server, receiver):
    add_webhook(server, receiver)
    add_rule(server, persistence_s=1)
    server.send("short", steady(0, 3) + ["step: 3 loss: nan"] + steady(4, 8))
    nan(server, "long")
    (_, body, at), = receiver.wait_for(1)
    opened = next(row for row in incidents(server) if row["job"] == "long")
    assert json.loads(body)["data"]["job"] == "long" and json.loads(body)["data"]["id"] == opened["id"]


def test_a_condition_of_ones_own(server, receiver):
    add_webhook(server, receiver)
    assert server.put("/api/v1/rules/1", json={"name": "default", "kinds": ["job_failed"]}).status == 200  # the detectors see it as well
    server.send("j", [f"step: {n} loss: 9" for n in range(5)])  # before the rule is there
    server.wait_for_points("j", "train:loss", 5)
    rule = add_rule(server, name="too high", expression="loss > 2 * median(9) for 3 points", severity="critical", query="name!=other")
    lines = [f"step: {n} loss: 1.0" for n in range(5, 15)] + ["step: 15 loss: 2.9", "step: 16 loss: 2.9"]
    server.send("j", lines)
    server.send("other", lines + ["step: 17 loss: 2.9"])
    server.wait_for_points("j", "train:loss", 17)
    server.kill()  # in the middle of what must last
    server.start()
    server.send("j", ["step: 17 loss: 2.8", "step: 18 loss: 2.7"])
    (_, body, _), = receiver.wait_for(1)
    wait_until(lambda: server.get("/api/v1/webhooks/1/deliveries").body["deliveries"][0]["state"] == "done", what="the delivery's result")
    data = json.loads(body)["data"]
    assert (data["kind"], data["rule"], data["severity"], data["opened_step"], data["first_step"]) == ("rule", rule, "critical", 17, 15)
    assert "rule too high" in data["summary"] and data["evidence"]["rule_name"] == "too high" and data["evidence"]["expression"].startswith("loss > 2")
    server.restart()
    server.send("j", ["step: 19 loss: 1.0"])
    receiver.wait_for(2)
    assert receiver.types() == ["incident.opened", "incident.recovered"]
    assert [row["job"] for row in incidents(server, "&kind=rule")] == ["j"]
    server.send("j", [f"step: {n} loss: 7" for n in range(20, 23)])
    receiver.wait_for(3)
    assert server.delete(f"/api/v1/rules/{rule}").status == 204
    assert incidents(server, "&kind=rule&state=open") == []


@pytest.mark.parametrize("end", ["deleted", "changed", "disabled"])
def test_what_a_rule_opened_is_over_with_it_for_webhooks_too(server, receiver, end):
    add_webhook(server, receiver)
    body = {"name": "too high", "expression": "loss > 5 for 2 points", "severity": "critical"}
    rule = add_rule(server, **body)
    for job in ("a", "b"):
        server.send(job, [f"step: {n} loss: {1 if n < 3 else 9}" for n in range(6)])
    receiver.wait_for(2)
    if end == "deleted":
        assert server.delete(f"/api/v1/rules/{rule}").status == 204
    else:
        more = {"enabled": False} if end == "disabled" else {"expression": "loss > 50 for 2 points"}
        reply = server.put(f"/api/v1/rules/{rule}", json={**body, **more})
        assert reply.status == 200, reply
    receiver.wait_for(4)
    assert receiver.types() == ["incident.opened"] * 2 + ["incident.recovered"] * 2
    assert sorted(json.loads(body)["data"]["job"] for _, body, _ in receiver.calls[2:]) == ["a", "b"]
    assert incidents(server, "&kind=rule&state=open") == []


def test_what_a_pager_is_told_late_it_is_told_the_end_of(server, receiver):
    key = "0123456789abcdef0123456789abcdef"
    add_webhook(server, receiver, format="pagerduty", secret=key)
    add_rule(server, name="collects", collect_s=2, kinds=["non_finite"])
    for job in ("a", "b"):
        nan(server, job)
    receiver.wait_for(2)
    opened = [json.loads(body) for _, body, _ in receiver.calls]
    assert [message["event_action"] for message in opened] == ["trigger", "trigger"] and len({message["dedup_key"] for message in opened}) == 2
    for job in ("a", "b"):
        server.send(job, steady(20, 400))
    receiver.wait_for(4)
    closed = [json.loads(body) for _, body, _ in receiver.calls[2:]]
    assert [message["event_action"] for message in closed] == ["resolve", "resolve"]
    assert {message["dedup_key"] for message in closed} == {message["dedup_key"] for message in opened}


def test_preview(server):
    server.send("j", [f"step: {n} loss: {9 if n in (20, 40, 41, 60) else 1}" for n in range(100)])
    server.send("k", [f"step: {n} loss: 1" for n in range(100)])
    server.wait_for_points("k", "train:loss", 100)
    reply = server.post("/api/v1/rules/preview", json={"expression": "loss > 2 * mean(10)"})
    assert reply.status == 200, reply
    assert (reply.body["count"], reply.body["partial"], reply.body["jobs"], reply.body["points"]) == (3, False, 2, 200)
    assert [(row["job"], row["metric"], row["step"], row["value"]) for row in reply.body["fires"]] == [
        ("j", "train:loss", 20, 9), ("j", "train:loss", 40, 9), ("j", "train:loss", 60, 9)]
    assert server.post("/api/v1/rules/preview", json={"expression": "loss > 2", "query": "name=k"}).body["count"] == 0
    assert server.post("/api/v1/rules/preview", json={"expression": "loss > 2", "to_ms": 1000, "from_ms": 0}).body["count"] == 0
    assert server.post("/api/v1/rules/preview", json={"expression": "loss > 2", "to_ms": 0}).body["field"] == "from_ms"
    assert server.post("/api/v1/rules/preview", json={"expression": "loss >"}).body["column"] == 7
    nan(server, "n")
    wait_until(lambda: incidents(server, "&kind=non_finite"), what="the NaN")
    fires = server.post("/api/v1/rules/preview", json={"kinds": ["non_finite"]}).body["fires"]
    assert [(row["job"], row["kind"]) for row in fires] == [("n", "non_finite")]


def test_rules_are_kept_and_checked(make_server):
    server = make_server("--max-rules", "2")
    default, = server.get("/api/v1/rules").body["rules"]
    assert default["name"] == "default" and default["enabled"]
    rule = add_rule(server, name="x", query="hp.lr>0", expression="loss > 4", command="checkpoint,stop")
    assert server.post("/api/v1/rules", json={"name": "y"}).status == 413
    assert server.put(f"/api/v1/rules/{rule}", json={"name": "default"}).status == 409
    reply = server.put(f"/api/v1/rules/{rule}", b'{"name":"x\xff"}', content_type="application/json")
    assert (reply.status, reply.body["field"]) == (422, "name"), reply
    assert server.put(f"/api/v1/rules/{rule}", json={"name": "x", "endpoints": [77]}).body["field"] == "endpoints"
    assert server.put("/api/v1/rules/99", json={"name": "x"}).status == 404
    assert server.put(f"/api/v1/rules/{rule}", json={"name": "x", "expression": "loss > (4"}).body["column"] == 10
    assert server.put(f"/api/v1/rules/{rule}", json={"name": "z"}).body["name"] == "z"
    server.restart()
    assert [row["name"] for row in server.get("/api/v1/rules").body["rules"]] == ["default", "z"]
    assert server.delete(f"/api/v1/rules/{default['id']}").status == 204
    assert server.delete(f"/api/v1/rules/{default['id']}").status == 404


def test_a_rule_tells_the_training_what_to_do(server):
    add_rule(server, expression="loss > 100", command="checkpoint,stop")
    server.send("j", ["step: 1 loss: 3.0", "step: 2 loss: 101"])
    server.send("k", ["step: 1 loss: 3.0", "step: 2 loss: nan"])
    rows = wait_until(lambda: server.get("/api/v1/jobs/j/commands").body["commands"], what="the command")
    assert rows[0]["command"] == "checkpoint"
    assert server.get("/api/v1/jobs/k/commands").body["commands"] == []


@pytest.mark.parametrize("query", ["log:nan", "incident:nothing", "tag.x~/[/", "name=none and tag.x~/[/"])
def test_a_query_that_cannot_be_asked_is_refused(server, query):
    reply = server.post("/api/v1/rules", json={"name": "mine", "query": query})
    assert reply.status == 422 and reply.body["field"] == "query", reply


def test_a_query_that_fails_costs_no_incident(server, receiver):
    """One that was stored before it was checked, or whose pattern is too dear for a job that came later."""
    add_webhook(server, receiver)
    rule = add_rule(server, query="name~x")
    server.stop()
    server.sql("UPDATE rules SET document = ? WHERE rule_id = ?", json.dumps({"name": "mine", "query": "log:nan"}), rule)
    server.start()
    nan(server, "j")
    receiver.wait_for(1)
    assert [row["kind"] for row in incidents(server)] == ["non_finite"]


def test_what_is_muted_while_it_waits_is_not_told(server, receiver):
    webhook = add_webhook(server, receiver)
    add_rule(server, name="night", quiet={"from": "00:00", "to": "00:00"})
    add_rule(server, name="patient", query="name~patient", persistence_s=3600)
    jobs = ("muted", "heard", "patient-muted", "patient-heard")
    for job in jobs:
        nan(server, job)
    rows = wait_until(lambda: len(incidents(server)) == 4 and incidents(server), what="all")
    for row in rows:
        if "muted" in row["job"]:
            assert server.post(f"/api/v1/incidents/{row['id']}/mute", json={"for_s": 600}).status == 204
    server.stop()
    server.sql("UPDATE notices SET due_ms = 1")
    server.start()
    told = [message["data"]["job"] for message in (receiver.wait_for(2) and receiver.messages())]
    assert sorted(told) == ["heard", "patient-heard"]
    assert len(server.get(f"/api/v1/webhooks/{webhook}/deliveries").body["deliveries"]) == 2


def test_what_grows_to_critical_breaks_the_night(server, receiver):
    add_webhook(server, receiver)
    add_rule(server, quiet={"from": "00:00", "to": "00:00", "unless": "critical"})
    server.send("j", steady(0, 300) + [f"step: {n} loss: 9.0" for n in range(300, 306)])
    def grown(): # its first point alone is less than a warning
        return [one for one in incidents(server) if one["severity"] == "warning"]
    spike, = wait_until(grown, what="the spike as a warning")
    server.send("j", ["step: 306 loss: nan"])  # of the same cause
    receiver.wait_for(1)
    message, = receiver.messages()
    assert (message["data"]["cause_id"], message["data"]["kind"], message["data"]["severity"]) == (spike["id"], "non_finite", "critical")


def test_a_mute_is_of_one_signature(server, receiver):
    add_webhook(server, receiver)
    server.send("j", ["torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.70 GiB."])
    receiver.wait_for(1)
    one, = incidents(server)
    assert server.post(f"/api/v1/incidents/{one['id']}/mute", json={"for_s": 0}).status == 204
    server.send("j", ["OSError: [Errno 28] No space left on device"])
    receiver.wait_for(2)
    assert [message["data"]["evidence"]["signature"] for message in receiver.messages()] == ["cuda_oom", "disk_full"]


def test_a_digest_that_would_be_too_large_shows_less(server, receiver):
    add_webhook(server, receiver)
    add_rule(server, quiet={"from": "00:00", "to": "00:00"})
    body = "".join(json.dumps({"job": f"j{n}", "line": "CUDA out of memory."}) + "\n" for n in range(60))
    assert server.post("/api/v1/logs?job=none", body, content_type="application/x-ndjson").status == 200
    wait_until(lambda: len(incidents(server)) == 60, what="all of them")
    server.stop()
    server.sql("UPDATE incidents SET facts = ?", '"cause":"' + 15000 * "x" + '"')  # of a signatures.json of one's own
    server.sql("UPDATE notices SET due_ms = 1")
    server.start()
    receiver.wait_for(1)
    message, = receiver.messages()
    assert message["data"]["count"] == 60 and len(message["data"]["incidents"]) == 12


def message_jobs(receiver):
    return [message["data"]["job"] for message in receiver.messages()]


@pytest.fixture
def receivers():
    made = [Receiver(), Receiver()]
    yield made
    for one in made:
        one.close()


def test_an_exclusive_rule_takes_an_incident_from_those_behind_it(server, receivers):
    """Only this team, without a change of the default rule."""
    ours, others = receivers
    us, _ = add_webhook(server, ours), add_webhook(server, others)
    only = add_rule(server, name="only us", query="name~ours", webhooks=[us], exclusive=True)
    first, = [row for row in server.get("/api/v1/rules").body["rules"] if row["id"] == only]
    assert (first["webhooks"], first["endpoints"], first["exclusive"]) == ([us], [us], True)
    add_rule(server, name="not only us", query="name~shared", webhooks=[us], cool_down_s=3600)
    add_rule(server, name="nobody", query="name~nobody", webhooks=[], exclusive=True)
    for job in ("ours", "shared", "nobody", "anybody"):
        nan(server, job)
    ours.wait_for(3)
    others.wait_for(2)
    assert message_jobs(ours) == ["ours", "shared", "anybody"] and message_jobs(others) == ["shared", "anybody"]
    assert server.put(f"/api/v1/rules/{only}", json={**first, "enabled": False}).status == 200  # as it was told, but off: it takes nothing
    nan(server, "ours-2")
    others.wait_for(3)
    assert message_jobs(others)[2] == "ours-2"


@pytest.mark.parametrize("silence", ["cooling down", "muted", "told to nobody", "webhook off"])
def test_what_an_exclusive_rule_does_not_tell(server, receivers, silence):
    """It is taken all the same, unless all that could hear of it are off."""
    ours, others = receivers
    us, _ = add_webhook(server, ours), add_webhook(server, others)
    add_rule(server, query="name~ours", webhooks=[us], exclusive=True, cool_down_s=3600 if silence == "cooling down" else 0, tell=silence != "told to nobody")
    nan(server, "ours")
    if silence != "told to nobody":
        ours.wait_for(1)
    first, = wait_until(lambda: incidents(server), what="the NaN")
    if silence == "muted":
        assert server.post(f"/api/v1/incidents/{first['id']}/mute", json={"for_s": 600}).status == 204
    if silence == "webhook off":
        assert server.put(f"/api/v1/webhooks/{us}", json={"enabled": False}).status == 200
    server.send("ours", [f"step: {n} loss: 3.0" for n in range(5, 300)] + [f"step: {n} loss: 9.0" for n in range(300, 306)])  # of another harm
    wait_until(lambda: len(incidents(server)) == 2, what="the spike")
    nan(server, "mark")
    others.wait_for(2 if silence == "webhook off" else 1)
    assert message_jobs(others) == (["ours", "mark"] if silence == "webhook off" else ["mark"])


def test_webhooks_of_a_rule_are_said_in_one_way(server, receiver):
    hook = add_webhook(server, receiver)
    reply = server.post("/api/v1/rules", json={"name": "x", "webhooks": "all"})
    assert (reply.body["webhooks"], reply.body["endpoints"], reply.body["exclusive"]) == ("all", [], False)
    path = f"/api/v1/rules/{reply.body['id']}"
    assert server.put(path, json={"name": "x", "endpoints": [hook]}).body["webhooks"] == [hook]  # as before
    nobody = server.put(path, json={"name": "x", "webhooks": []}).body
    assert nobody["webhooks"] == [] and "endpoints" not in nobody
    for webhooks in ("some", {}, 7, [0], ["1"]):
        assert server.put(path, json={"name": "x", "webhooks": webhooks}).body["field"] == "webhooks"
    assert server.put(path, json={"name": "x", "webhooks": [hook + 1]}).body["field"] == "webhooks"
    assert server.put(path, json={"name": "x", "webhooks": "all", "endpoints": [hook]}).body["field"] == "endpoints"


@of_a_file("one of an older version")
def test_rules_of_an_older_database_do_what_they_did(make_server, receivers):
    """Version 22 knew `endpoints` alone: none of them named is every webhook. It had told an incident, which is open."""
    server = make_server(start=False)
    first, second = receivers
    server.database.parent.mkdir(exist_ok=True)
    with older_database(server.database, 22) as database:
        for number, one in enumerate(receivers, 1):
            database.execute("INSERT INTO webhooks (webhook_id, url, format, sealed_secret, minimum_severity, is_enabled, team, created_ms)"
                " VALUES (?, ?, 'json', x'', 1, 1, '', 1)", (number, one.url))
        for number, document in enumerate([{"endpoints": [], "query": "name~all"}, {"endpoints": [2], "query": "name~second", "recovery": False},
                {"query": "name~silent", "tell": False}, {"endpoints": [1], "query": "name~half", "tell": False}], 2):
            name = f"rule {number}"
            database.execute("INSERT INTO rules (rule_id, team, name, document, since_seq, modified_ms) VALUES (?, '', ?, ?, 0, 1)",
                (number, name, json.dumps({"name": name, **document})))
        database.execute("UPDATE counters SET last = 5 WHERE name = 'rule'")
    server.start()
    rows = server.get("/api/v1/rules").body["rules"]
    assert [(row["webhooks"], row["exclusive"]) for row in rows] == [("all", False), ("all", False), ([2], False), ("all", False), ([1], False)]
    for job in ("all", "second", "silent", "half", "mark"):
        nan(server, job)
    first.wait_for(3)
    second.wait_for(4)
    assert message_jobs(first) == ["all", "second", "mark"] and message_jobs(second) == ["all", "second", "half", "mark"]


@of_a_file("one of an older version")
def test_what_an_older_version_told_is_not_told_again(make_server, receiver):
    server = make_server(start=True)
    add_webhook(server, receiver)
    nan(server, "j")
    receiver.wait_for(1)
    wait_until(lambda: server.get("/api/v1/webhooks/1/deliveries").body["deliveries"][0]["state"] == "done", what="the delivery's result")
    server.stop()
    with sqlite3.connect(server.database) as database:  # as version 22 had it
        database.executescript("""
            CREATE TABLE old (webhook_id INTEGER NOT NULL, job_id INTEGER NOT NULL, group_id INTEGER NOT NULL, rule_id INTEGER NOT NULL,
                state INTEGER NOT NULL, severity INTEGER NOT NULL, due_ms INTEGER NOT NULL, told_ms INTEGER NOT NULL,
                PRIMARY KEY (webhook_id, job_id, group_id)) STRICT, WITHOUT ROWID;
            INSERT INTO old SELECT webhook_id, job_id, group_id, rule_id, state, severity, due_ms, told_ms FROM notices;
            DROP TABLE notices; ALTER TABLE old RENAME TO notices;
            CREATE INDEX notices_due ON notices (due_ms, webhook_id) WHERE state < 2;
            CREATE INDEX notices_by_job ON notices (job_id); CREATE INDEX notices_by_time ON notices (told_ms);
            ALTER TABLE incidents DROP COLUMN attempt;""")
        migration = next((pathlib.Path(__file__).parents[2] / "migrations/sqlite").glob("*_harms.sql"))
        database.executescript(migration.read_text())
    server.start()
    server.send("j", [f"step: {n} loss: 3.0" for n in range(5, 12)] + ["step: 12 loss: nan"])
    receiver.wait_for(2)
    nan(server, "mark")
    receiver.wait_for(3)
    assert list(zip(receiver.types(), message_jobs(receiver))) == [("incident.opened", "j"), ("incident.recovered", "j"), ("incident.opened", "mark")]


def test_a_name_that_the_log_prints_means_the_metric_that_it_becomes(server):
    """The example of docs/alerts.md, as it stands there."""
    documentation = (pathlib.Path(__file__).parents[2] / "docs/alerts.md").read_text()
    expression = re.search(r'"name":"slow","expression":"([^"]+)"', documentation)[1]
    assert "tokens_per_second" in expression

    def send(job, name, first, count, rate):
        server.send(job, [f"step {n} loss={3 - n / 1000:.4f} {name}={rate + n % 7}" for n in range(first, first + count)])
    send("before", "tokens_per_second", 1, 5, 50000)
    rule = server.post("/api/v1/rules", json={"name": "slow", "expression": expression})
    assert rule.status == 201
    for job, name in (("j", "tokens_per_second"), ("k", "samples_per_second")):
        send(job, name, 1, 600, 50000)
        send(job, name, 601, 40, 30000)
    mark = server.post("/api/v1/rules", json={"name": "mark", "expression": "loss > 2.9 for 3 steps"})
    send("mark", "samples_per_second", 1, 20, 1)
    opened = lambda: [row for row in server.get("/api/v1/incidents?kind=rule").body["incidents"] if row["job"] != "mark"]
    wait_until(opened, what="the rule's incident")
    wait_until(lambda: len(server.get("/api/v1/incidents?kind=rule").body["incidents"]) == 2, what="the other rule's, behind it")
    assert mark.status == 201 and [(row["job"], row["metric"], row["opened_step"]) for row in opened()] == [("j", "train:throughput", 621)]
    preview = server.post("/api/v1/rules/preview", json={"expression": expression}).body
    assert ([fire["job"] for fire in preview["fires"]], preview["jobs"]) == (["j"], 2)
    points = server.get("/api/v1/jobs/j/points?metric=tokens_per_second").body
    assert points["metric"] == "train:throughput" and points == server.get("/api/v1/jobs/j/points?metric=train:throughput").body
    assert server.get("/api/v1/jobs/k/points?metric=tokens_per_second").status == 404
