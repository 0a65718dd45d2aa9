"""Which incidents are told, to whom, when and how often: groups, rules, limits; conditions that users write."""

import json
import sqlite3
import time

import pytest
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
    wait_until(lambda: len(receiver.messages()) >= 2, what="the recovery")
    nan(server, "later")
    wait_until(lambda: receiver.messages()[-1]["data"]["job"] == "later", what="a later message")
    assert receiver.types() == ["incident.opened", "incident.recovered", "incident.opened"]
    first, second, _ = receiver.messages()
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
    nan(server, "other")
    receiver.wait_for(2)
    assert [message["data"]["job"] for message in receiver.messages()] == ["j", "other"]


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
    with sqlite3.connect(server.database) as database:
        database.execute("UPDATE rules SET document = ? WHERE rule_id = ?", (json.dumps({"name": "mine", "query": "log:nan"}), rule))
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
    with sqlite3.connect(server.database) as database:
        database.execute("UPDATE notices SET due_ms = 1")
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
    assert [(message["data"]["id"], message["data"]["severity"]) for message in receiver.messages()] == [(spike["id"], "critical")]


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
    with sqlite3.connect(server.database) as database:
        database.execute("UPDATE incidents SET facts = ?", ('"cause":"' + 15000 * "x" + '"',))  # of a signatures.json of one's own
        database.execute("UPDATE notices SET due_ms = 1")
    server.start()
    receiver.wait_for(1)
    message, = receiver.messages()
    assert message["data"]["count"] == 60 and len(message["data"]["incidents"]) == 12
