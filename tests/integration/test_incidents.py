"""Incidents as they are listed, one by one, and told of."""

import math

import pytest
from smserver import quote, wait_until


def nan(server, job):
    server.send(job, [f"step: {n} loss: 3.0" for n in range(3)] + [f"step: {n} loss: nan" for n in range(3, 5)])


def listed(server, **parameters):
    query = "&".join(f"{key}={quote(str(value))}" for key, value in parameters.items())
    reply = server.get(f"/api/v1/incidents?{query}")
    assert reply.status == 200, reply
    return reply.body


def jobs_of(reply):
    return [row["job"] for row in reply["incidents"]]


def test_a_list_takes_the_language_of_the_search(server):
    for n in range(12):
        tags = [{"Key": "team", "Value": "nlp" if n % 3 == 0 else "vision"}]
        assert server.post("/api/v1/jobs", json={"TrainingJobName": f"j{n}", "Tags": tags}).status == 201
        nan(server, f"j{n}")
    wait_until(lambda: len(listed(server)["incidents"]) == 12, what="twelve incidents")
    assert set(jobs_of(listed(server, q="tag.team=nlp"))) == {"j0", "j3", "j6", "j9"}
    assert set(jobs_of(listed(server, q='tag.team=nlp or name=j1'))) == {"j0", "j1", "j3", "j6", "j9"}
    assert jobs_of(listed(server, q="tag.team=audio")) == []
    # page by page the same, each full but the last
    found, cursor = [], {}
    while True:
        page = listed(server, q="tag.team=nlp", limit=3, **cursor)
        assert len(page["incidents"]) == 3 or "next_cursor" not in page
        found += jobs_of(page)
        if "next_cursor" not in page:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert found == jobs_of(listed(server, q="tag.team=nlp"))


@pytest.mark.parametrize("query, status", [("log:nan", 422), ("tag.team=", 422), ("name=nobody", 404), ("tag.x~/[/", 422)])
def test_a_query_that_cannot_be_asked_is_refused(server, query, status):
    nan(server, "j")
    wait_until(lambda: listed(server)["incidents"], what="the incident")
    reply = server.get(f"/api/v1/incidents?q={quote(query)}")
    assert reply.status == status and reply.body["detail"], reply


def test_one_incident_and_who_was_told(server, receiver):
    hook = server.post("/api/v1/webhooks", json={"url": receiver.url}).body["id"]
    nan(server, "j")
    row, = wait_until(lambda: listed(server)["incidents"], what="the incident")
    one = wait_until(lambda: [d for d in server.get(f"/api/v1/incidents/{row['id']}").body["deliveries"] if d["state"] == "done"],
        what="a message that has arrived")
    assert (one[0]["webhook"], one[0]["incident"], one[0]["attempts"], one[0]["last_code"]) == (hook, row["id"], 1, 204)
    assert "url" not in one[0] and server.get("/api/v1/jobs/j/deliveries").body == {"deliveries": one}
    assert server.get("/api/v1/jobs/nobody/deliveries").status == 404 and server.get("/api/v1/jobs/j/deliveries?limit=0").status == 400
    assert server.get(f"/api/v1/incidents/{row['id']}").body["incident"] == listed(server)["incidents"][0]
    for wrong in ("x", "1", "1-", "1-0", "1-99", "99-1", "1-99999999999"):
        assert server.get(f"/api/v1/incidents/{wrong}").status == 404, wrong


def test_incidents_by_severity_and_time(server):
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "j"}).status == 201
    assert server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Failed", "StatusMessage": "exit code 1"}).status == 204
    [row] = wait_until(lambda: server.get("/api/v1/incidents?kind=job_failed").body["incidents"], what="the incident")
    opened = row["opened_ms"]

    def found(query):
        reply = server.get(f"/api/v1/incidents?{query}")
        return [one["id"] for one in reply.body["incidents"]] if reply.status == 200 else reply.body["field"]
    assert row["severity"] == "critical"
    for severity in ("info", "warning", "critical"):
        assert found(f"minimum_severity={severity}&kind=job_failed") == [row["id"]]
    assert found(f"from_ms={opened}&to_ms={opened}&kind=job_failed&q=name~j") == [row["id"]]
    assert found(f"from_ms={opened + 1}") == [] and found(f"to_ms={opened - 1}") == []
    assert found("minimum_severity=bad") == "minimum_severity" and found("from_ms=x") == "from_ms" and found("from_ms=0&to_ms=0") == "to_ms"


@pytest.mark.parametrize("line", ["step: {}  loss:  {:.5f}  grad_norm:  1.5000", "{{'step': {}, 'loss': {:.4f}}}"])
def test_a_jump_to_where_the_training_began_is_told_at_its_second_line(server, line):
    """From 10 to 2.05, then 9: lines that say their step are no next training."""
    falls = [8 * math.exp(-n / 80) + 2 + 0.01 * (n * 7919 % 13 - 6) for n in range(1, 400)]
    server.send("j", [line.format(n, value) for n, value in enumerate([*falls, 9.0, 9.1], 1)])
    row, = wait_until(lambda: [row for row in listed(server, minimum_severity="warning")["incidents"] if row["metric"]],
        what="the spike")
    assert (row["kind"], row["first_step"]) == ("loss_spike", 400)
