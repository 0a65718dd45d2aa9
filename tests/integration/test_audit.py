"""GET /api/v1/audit: every write that is not ingest leaves who, from where, what it was and what it is, and no secret."""

import contextlib
import http.client
import json
import re
import threading

import pytest

from awsclients import boto, token_of
from smserver import ROOT, wait_until

DEFINITIONS = [{"Name": "loss", "Regex": "loss: (.*)"}]


@pytest.fixture
def admin(server):
    server.token = token_of(server, "root", "--scope", "admin")[0]
    return server


def entries(server, **parameters):
    query = "&".join(f"{name}={value}" for name, value in parameters.items())
    reply = server.get(f"/api/v1/audit?{query}")
    assert reply.status == 200, reply
    return reply.body["entries"]


def newest(server):
    return entries(server, limit=1)[0]


def did(entry):
    return entry["verb"], entry["object"]


def test_each_write_that_is_not_ingest_is_told(admin, receiver):
    """The whole table of writes, each with the entry that it must leave, worked out from what was sent."""
    def write(method, path, body=None, expect=(200, 201, 202, 204)):
        reply = admin.request(method, path, json=body)
        assert reply.status in expect, (method, path, reply)
        return reply.body

    before_ms = admin.get("/api/v1/info").body["started_ms"]
    write("POST", "/api/v1/jobs", {"TrainingJobName": "a", "HyperParameters": {"lr": "0.1"}})
    entry = newest(admin)
    assert did(entry) == ("create", "jobs/a") and entry["token"] == "root" and entry["address"] == "127.0.0.1"
    assert entry["time_ms"] >= before_ms and entry["before"] is None and entry["after"]["HyperParameters"] == {"lr": "0.1"}

    write("PATCH", "/api/v1/jobs/a", {"Tags": [{"Key": "team", "Value": "nlp"}]})
    entry = newest(admin)
    assert did(entry) == ("change", "jobs/a") and "nlp" not in json.dumps(entry["before"]) and "nlp" in json.dumps(entry["after"])
    assert "HyperParameters" not in entry["after"] # only what is different

    write("POST", "/api/v1/jobs/a/transitions", {"SecondaryStatus": "Training"})
    assert did(newest(admin)) == ("transitions", "jobs/a")
    admin.send("a", [f"step: {n} loss: {'nan' if n == 40 else 1.5}" for n in range(50)])
    write("POST", "/api/v1/jobs/a/commands", {"command": "checkpoint"})
    entry = newest(admin)
    assert did(entry) == ("commands", "jobs/a") and entry["after"]["command"] == "checkpoint"
    write("POST", "/api/v1/jobs/a/pin", {"pinned": True})
    entry = newest(admin)
    assert did(entry) == ("pin", "jobs/a") and entry["after"]["is_pinned"] == 1
    write("PUT", "/api/v1/jobs/a/definitions", {"definitions": DEFINITIONS})
    entry = newest(admin)
    assert did(entry) == ("change definitions", "jobs/a") and "loss: (.*)" in json.dumps(entry["after"])

    write("PUT", "/api/v1/definitions", {"definitions": DEFINITIONS})
    assert did(newest(admin)) == ("change", "definitions") and "loss: (.*)" in json.dumps(newest(admin)["after"])
    write("PUT", "/api/v1/quotas", {"quotas": [{"quota": "instances", "configured": 64}]})
    assert did(newest(admin)) == ("change", "quotas") and newest(admin)["after"] == {"instances": 64}
    write("PUT", "/api/v1/quotas", {"quotas": [{"quota": "instances", "configured": 32}]})
    assert (newest(admin)["before"], newest(admin)["after"]) == ({"instances": 64}, {"instances": 32})
    write("PUT", "/api/v1/retention", {"max_age_days": 30})
    assert did(newest(admin)) == ("change", "retention") and 30 * 86400000 in newest(admin)["after"].values()

    write("POST", "/api/v1/views", {"name": "mine", "query": "status:failed", "sort": "", "columns": []})
    assert did(newest(admin)) == ("create", "views/mine") and newest(admin)["before"] is None
    write("DELETE", "/api/v1/views?name=mine")
    assert did(newest(admin)) == ("delete", "views/mine") and newest(admin)["after"] is None

    rule = write("POST", "/api/v1/rules", {"name": "spikes", "kinds": ["loss_spike"]})["id"]
    assert did(newest(admin)) == ("create", f"rules/{rule}")
    write("PUT", f"/api/v1/rules/{rule}", {"name": "spikes", "kinds": ["divergence"]})
    entry = newest(admin)
    assert (did(entry), entry["before"]["kinds"], entry["after"]["kinds"]) == (("change", f"rules/{rule}"), ["loss_spike"], ["divergence"])
    write("DELETE", f"/api/v1/rules/{rule}")
    assert did(newest(admin)) == ("delete", f"rules/{rule}")

    hook = write("POST", "/api/v1/webhooks", {"url": "https://me:hunter2@example.com/x?token=t0psecret", "secret": "whsec_c2VjcmV0IHNlY3JldA=="})["id"]
    entry = newest(admin)
    assert did(entry) == ("create", f"webhooks/{hook}") and entry["after"]["url"] == "https://***@example.com/***"
    write("DELETE", f"/api/v1/webhooks/{hook}")
    assert did(newest(admin)) == ("delete", f"webhooks/{hook}")

    token = write("POST", "/api/v1/tokens", {"name": "ci", "scope": "write"})["token"]
    entry = newest(admin)
    assert did(entry) == ("create", "tokens/ci") and entry["after"]["scope"] == "write" and "hash" not in entry["after"]
    write("DELETE", "/api/v1/tokens/ci")
    assert did(newest(admin)) == ("delete", "tokens/ci")
    incident = wait_until(lambda: admin.get("/api/v1/incidents").body["incidents"], what="the NaN's incident")[0]["id"]
    write("POST", f"/api/v1/incidents/{incident}/ack", {})
    entry = newest(admin)
    assert did(entry) == ("ack", f"incidents/{incident}") and entry["before"] != entry["after"] and "acknowledged_ms" in entry["after"]
    write("POST", "/api/v1/jobs/a/transitions", {"SecondaryStatus": "Completed"})
    write("DELETE", "/api/v1/jobs/a")
    entry = newest(admin)
    assert did(entry) == ("delete", "jobs/a") and entry["after"] is None and entry["before"]["HyperParameters"] == {"lr": "0.1"}

    text = json.dumps(entries(admin, limit=1000))
    for secret in (admin.token, token, "hunter2", "t0psecret", "c2VjcmV0IHNlY3JldA"):
        assert secret not in text, secret


def test_an_address_as_the_audit_log_masks_it_is_none(server):
    """Sent again as it was read: whoever puts back what an entry says would have a webhook that calls nobody, and no secret to call anybody by."""
    url = "https://ann:hunter2@example.com/services/T0/B0?key=k"
    hook = server.post("/api/v1/webhooks", json={"url": url}).body["id"]
    masked = server.get("/api/v1/audit?limit=1").body["entries"][0]["after"]["url"]
    for address in (masked, "https://hooks.slack.com/***", "https://***@example.com", "https://example.com/x?token=***1a2b"):
        for method, path in (("PUT", f"/api/v1/webhooks/{hook}"), ("POST", "/api/v1/webhooks"), ("POST", "/api/v1/webhooks/preview")):
            reply = server.request(method, path, json={"url": address})
            assert reply.status == 422 and reply.body["field"] == "url" and "masked" in reply.body["detail"], (method, address, reply)
    rows = server.get("/api/v1/webhooks").body["webhooks"]
    assert [row["url"] for row in rows] == [url]
    # without the address all else can be put back, and the address stays
    assert server.put(f"/api/v1/webhooks/{hook}", json={"enabled": False}).status == 200
    row, = server.get("/api/v1/webhooks").body["webhooks"]
    assert (row["url"], row["enabled"]) == (url, False)


def test_ingest_refusals_and_reads_leave_nothing(admin):
    made = len(entries(admin))
    assert made == 1 and did(newest(admin)) == ("create", "tokens/root") # by the command line
    assert newest(admin)["address"] == "local"
    admin.send("j", [f"step: {n} loss: 1.5" for n in range(10)])
    assert admin.post("/api/v1/sessions", json={"job": "s", "stream": "algo-1", "host": "h", "run_key": "1"}).status in (200, 201)
    assert admin.post("/api/v1/search", json={"Resource": "TrainingJob"}).status == 200
    assert admin.post("/api/v1/rules", json={"nme": "x"}).status == 422
    assert admin.delete("/api/v1/tokens/nobody").status == 404
    assert admin.post("/api/v1/jobs?dry_run=true", json={"TrainingJobName": "x"}).status == 200
    assert len(entries(admin)) == made


def test_aws_clients_are_told_as_well(admin):
    keys = token_of(admin, "aws", "--scope", "admin", "--aws")[1]
    client = boto(admin, "sagemaker", keys)
    client.create_training_job(TrainingJobName="b", RoleArn="arn:aws:iam::123456789012:role/x", OutputDataConfig={"S3OutputPath": "s3://b/o"},
        AlgorithmSpecification={"TrainingImage": "i", "TrainingInputMode": "File"}, StoppingCondition={"MaxRuntimeInSeconds": 60},
        ResourceConfig={"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 1})
    assert (did(newest(admin)), newest(admin)["token"]) == (("CreateTrainingJob", "jobs/b"), "aws")
    made = len(entries(admin))
    client.stop_training_job(TrainingJobName="b")
    entry = newest(admin)
    assert did(entry) == ("StopTrainingJob", "jobs/b") and len(entries(admin)) == made + 1
    assert (entry["before"]["status"], entry["after"]["status"]) == ("InProgress", "Stopping")


def test_a_stop_is_one_entry(admin):
    admin.post("/api/v1/jobs", json={"TrainingJobName": "c"})
    made = len(entries(admin))
    assert admin.post("/api/v1/jobs/c/commands", json={"command": "stop"}).status == 202
    assert len(entries(admin)) == made + 1 and newest(admin)["after"]["status"] == "Stopping"


def test_a_session_that_resumes_a_job_changes_it_from_failed(admin):
    admin.post("/api/v1/jobs", json={"TrainingJobName": "r"})
    assert admin.post("/api/v1/jobs/r/transitions", json={"SecondaryStatus": "Failed"}).status < 300
    made = len(entries(admin))
    for stream in ("algo-1", "algo-2"):  # the second one finds a job that runs
        assert admin.post("/api/v1/sessions", json={"job": "r", "stream": stream, "resume": True}).status == 201
    entry = newest(admin)
    assert len(entries(admin)) == made + 1 and did(entry) == ("resume", "jobs/r") and entry["token"] == "root"
    assert (entry["before"]["status"], entry["after"]["status"]) == ("Failed", "InProgress")


def test_no_address_of_a_webhook_and_no_secret_is_shown(admin):
    words = ["T0PATH", "qu3ry", "us3r", "whsec_" + "c2VjcmV0c2VjcmV0c2VjcmV0"]
    url = f"https://{words[2]}:{words[2]}@hooks.slack.com/services/{words[0]}?key={words[1]}"
    made = admin.post("/api/v1/webhooks", json={"url": url, "secret": words[3], "format": "json"})
    assert made.status == 201, made
    number = made.body["id"]
    assert admin.put(f"/api/v1/webhooks/{number}", json={"url": url + "2", "events": ["job_state"]}).status in (200, 204)
    assert admin.delete(f"/api/v1/webhooks/{number}").status == 204
    text = json.dumps(entries(admin))
    assert "hooks.slack.com" in text and [word for word in words if word in text] == []


def test_what_changes_nothing_tells_no_secret_either(admin):
    secret = "hf_" + "abcdefghijklmnopqrstuvwxyz01234567"
    for _ in range(2):  # the second time the document stays as it is
        admin.post("/api/v1/jobs", json={"TrainingJobName": "s"})
        assert admin.patch("/api/v1/jobs/s", json={"Tags": [{"Key": "hf_token", "Value": secret}]}).status in (200, 204)
    assert entries(admin, limit=1)[0]["verb"] == "change" and secret not in json.dumps(entries(admin))


def test_a_view_is_that_of_whose_team_it_is(admin):
    tokens = [admin.post("/api/v1/tokens", json={"name": f"of-{team}", "scope": "admin", "team": team}).body["token"] for team in "ba"]
    for token, query in zip(tokens, ("theirs", "ours")):
        reply = admin.post("/api/v1/views", json={"name": "mine", "query": f"name={query}"}, token=token)
        assert reply.status in (200, 201), reply
    (entry,) = admin.get("/api/v1/audit?limit=1", token=tokens[1]).body["entries"]
    assert "theirs" not in json.dumps(entry) and "ours" in json.dumps(entry["after"]) and entry["before"] is None


def test_pages_teams_and_scopes(admin):
    for n in range(7):
        assert admin.put("/api/v1/quotas", json={"quotas": [{"quota": "instances", "configured": n}]}).status == 200
    seen, path = [], "/api/v1/audit?limit=3"
    while path:
        page = admin.get(path).body
        assert len(page["entries"]) <= 3
        seen += page["entries"]
        path = f"/api/v1/audit?limit=3&after={page['next_cursor']}" if "next_cursor" in page else None
    assert [entry["after"].get("instances") for entry in seen] == [6, 5, 4, 3, 2, 1, 0, None]
    reader = admin.post("/api/v1/tokens", json={"name": "r", "scope": "read"}).body["token"]
    assert admin.get("/api/v1/audit", token=reader).status == 403
    theirs = admin.post("/api/v1/tokens", json={"name": "t", "scope": "admin", "team": "nlp"}).body["token"]
    assert admin.post("/api/v1/jobs", json={"TrainingJobName": "of-nlp"}, token=theirs).status in (200, 201)
    assert [did(entry) for entry in admin.get("/api/v1/audit", token=theirs).body["entries"]] == [("create", "jobs/of-nlp")]
    assert did(newest(admin)) == ("create", "jobs/of-nlp")


def test_the_log_is_limited_and_the_oldest_go(make_server):
    server = make_server("--audit-bytes", "4KiB")
    for n in range(200):
        assert server.put("/api/v1/quotas", json={"quotas": [{"quota": "instances", "configured": n}]}).status == 200
    kept = [entry["after"]["instances"] for entry in entries(server, limit=1000)]
    assert kept == list(range(199, 199 - len(kept), -1)) and 10 < len(kept) < 64 # each takes 64 bytes and what it tells


def test_a_write_and_its_entry_are_kept_or_lost_together(server):
    """Killed in the middle of writes, again and again: the newest entry tells of what is there, and each entry goes on from the one before."""
    begun = 0
    for _ in range(5):
        is_over = threading.Event()

        def change():
            nonlocal begun
            with contextlib.suppress(OSError, http.client.HTTPException):
                while not is_over.is_set():
                    begun += 1
                    server.put("/api/v1/quotas", json={"quotas": [{"quota": "instances", "configured": begun}]})
        before = begun
        writer = threading.Thread(target=change)
        writer.start()
        wait_until(lambda: begun >= before + 20, what="writes")
        server.kill()
        is_over.set()
        writer.join()
        server.start()
        rows = entries(server, limit=1000)
        there, = [row["configured"] for row in server.get("/api/v1/quotas").body["quotas"] if row["quota"] == "instances"]
        assert {"instances": there} == rows[0]["after"] and begun - 1 <= there <= begun, (begun, there, rows[0])
        assert all(newer["before"] == older["after"] for newer, older in zip(rows, rows[1:]))


def cookie_for(server, token):
    reply = server.post("/api/v1/session", json={"token": token}, token="")
    assert reply.status == 204, reply
    return {"Cookie": reply.headers["Set-Cookie"].partition(";")[0]}


def test_a_browser_that_signs_in_by_a_token_is_told(admin):
    """From its beginning to its end, by the token's name; who has no token is nobody, and fills nothing."""
    ada = admin.post("/api/v1/tokens", json={"name": "ada", "scope": "read", "team": "nlp"}).body["token"]
    nlp = admin.post("/api/v1/tokens", json={"name": "of-nlp", "scope": "admin", "team": "nlp"}).body["token"]
    before = len(entries(admin))
    assert admin.post("/api/v1/session", json={"token": "smf-nobodys"}, token="").status == 401
    assert admin.delete("/api/v1/session", token="").status == 204  # of no session
    assert admin.delete("/api/v1/session", token=ada).status == 204
    assert len(entries(admin)) == before
    one, two = cookie_for(admin, ada), cookie_for(admin, ada)
    assert admin.get("/api/v1/jobs", headers=one, token="").status == 200
    assert admin.delete("/api/v1/session", headers=one, token="").status == 204
    assert admin.delete("/api/v1/session", headers=one, token="").status == 204  # it has ended: of no session
    assert admin.delete("/api/v1/session?everywhere=true", headers=two, token="").status == 204
    told = entries(admin)[:len(entries(admin)) - before]
    assert [(did(entry), entry["before"], entry["after"]) for entry in reversed(told)] == [
        (("sign in", "sign-ins/ada"), None, {"by": "token"}), (("sign in", "sign-ins/ada"), None, {"by": "token"}),
        (("sign out", "sign-ins/ada"), None, {"by": "token"}), (("sign out", "sign-ins/ada"), None, {"by": "token", "everywhere": True})]
    assert {(entry["token"], entry["address"]) for entry in told} == {("ada", "127.0.0.1")}
    text = json.dumps(told)
    assert ada not in text and not any(jar["Cookie"].partition("=")[2] in text for jar in (one, two))
    assert [did(entry) for entry in admin.get("/api/v1/audit?limit=4", token=nlp).body["entries"]] == [did(entry) for entry in told]  # its team's


def test_every_route_that_writes_says_what_it_audits(server):
    """The class: a new route that writes and is not in the audit log is found here."""
    source = (ROOT / "server/api/routes.c").read_text()
    silent = {"/api/v1/admin/reload", "/api/v1/session", "/api/v1/sessions", "/api/v1/sessions/{session}", "/api/v1/events", "/api/v1/search", "/api/v1/signatures",
        "/api/v1/points/query", "/api/v1/warm-pools/match", "/api/v1/definitions/test", "/api/v1/rules/preview", "/api/v1/webhooks/preview", "/api/v1/fit", "/mcp"}
    entries_of_table = re.findall(r"\t\{(HTTP_[^,]*), \"([^\"]+)\",((?:.|\n)*?)\},\n", source)
    assert len(entries_of_table) > 80
    missing = [(methods, path) for methods, path, rest in entries_of_table
        if re.search("POST|PUT|PATCH|DELETE", methods) and "ROUTE_UPLOAD" not in rest and ".audit" not in rest and path not in silent]
    assert not missing


def test_a_token_may_have_limits_of_its_own(admin):
    """Two a second, bursts of two seconds: four requests pass at once, the fifth waits; others are not limited."""
    made = admin.post("/api/v1/tokens", json={"name": "slow", "scope": "read", "rate_requests": 2, "rate_bytes": 1000})
    assert made.status == 201, made
    row, = [row for row in admin.get("/api/v1/tokens").body["tokens"] if row["name"] == "slow"]
    assert (row["rate_requests"], row["rate_bytes"]) == (2, 1000)
    replies = [admin.get("/api/v1/jobs", token=made.body["token"]) for _ in range(40)]
    refused = [reply for reply in replies if reply.status == 429]
    assert [reply.status for reply in replies[:4]] == [200] * 4 and refused
    assert "more than 2 requests a second" in refused[0].body["detail"] and int(refused[0].headers["Retry-After"]) >= 1
    assert all(admin.get("/api/v1/jobs").status == 200 for _ in range(40))
    admin.restart() # it is remembered
    replies = [admin.get("/api/v1/jobs", token=made.body["token"]).status for _ in range(40)]
    assert 429 in replies
    for wrong in (-1, "2", 1.5):
        assert admin.post("/api/v1/tokens", json={"name": "x", "scope": "read", "rate_requests": wrong}).status == 422


def test_bytes_of_one_token_are_limited(admin):
    token = admin.post("/api/v1/tokens", json={"name": "w", "scope": "write", "rate_bytes": 1000}).body["token"]
    assert admin.post("/api/v1/logs?job=j", "x" * 4000 + "\n", token=token).status == 200 # never cut, but in debt
    reply = admin.post("/api/v1/logs?job=j", "x\n", token=token)
    assert reply.status == 429 and "more than 1000 bytes a second" in reply.body["detail"], reply
    assert admin.post("/api/v1/logs?job=j", "x" * 4000 + "\n").status == 200
