"""A member that nobody takes, or one that is there twice, is no silence: it is refused by its name, and nothing is done."""

import pytest

from smserver import wait_until
from test_past_ends import PRICES
from test_rules import incidents, nan

JOB = "/api/v1/jobs/j"


@pytest.fixture
def made(server):
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "j"}).status == 201
    return server


def refused(reply, field):
    assert (reply.status, (reply.body or {}).get("field")) == (422, field), reply


def test_a_mute_of_a_misspelt_time_is_not_for_ever(server):
    nan(server, "j")
    [row] = wait_until(lambda: incidents(server), what="the incident")
    refused(server.post(f"/api/v1/incidents/{row['id']}/mute", json={"for_seconds": 60}), "for_seconds")
    assert "muted_until_ms" not in incidents(server)[0]
    assert server.post(f"/api/v1/incidents/{row['id']}/mute", json={"for_s": 60}).status == 204
    assert "muted_until_ms" in incidents(server)[0]


def test_a_transition_says_what_it_does_not_take(made):
    refused(made.post(f"{JOB}/transitions", json={"SecondaryStatus": "Training", "time": 5}), "time")
    for unless in (["Nope"], ["Completed", 5], "Completed", {}):
        refused(made.post(f"{JOB}/transitions", json={"SecondaryStatus": "Training", "unless": unless}), "unless")
    assert made.get(JOB).body["SecondaryStatus"] == "Starting"
    assert made.post(f"{JOB}/transitions", json={"SecondaryStatus": "Training", "unless": ["Completed", "Stopping"]}).status == 204


def test_a_webhook_says_what_it_does_not_take(server):
    refused(server.post("/api/v1/webhooks", json={"url": "http://127.0.0.1:9/", "min_severity": "critical"}), "min_severity")
    assert server.get("/api/v1/webhooks").body["webhooks"] == []
    number = server.post("/api/v1/webhooks", json={"url": "http://127.0.0.1:9/"}).body["id"]
    [row] = server.get("/api/v1/webhooks").body["webhooks"]
    assert server.put(f"/api/v1/webhooks/{number}", json={**row, "enabled": False}).status == 200  # as it was read
    refused(server.put(f"/api/v1/webhooks/{number}", json={"enable": True}), "enable")
    assert server.get("/api/v1/webhooks").body["webhooks"] == [{**row, "enabled": False}]


@pytest.mark.parametrize("body, field", [
    ('{"by_hand":{"nodes":4,"nodes":5}}', "by_hand.nodes"), ('{"notes":"a","notes":"b"}', "notes"), ("{}", "body"),
    ('{"tags":{"a":"1","a":"2"}}', "tags.a"), ('{"by_hand":{"nope":1}}', "by_hand.nope")])
def test_a_patch_takes_each_member_once(made, body, field):
    # what is worked out of a job is stored a moment after it was made
    before = wait_until(lambda: (job := made.get(JOB).body).get("nodes_from") and "cost" in job and job, what="the job's own facts")
    refused(made.patch(JOB, body, content_type="application/json"), field)
    assert made.get(JOB).body == before


def test_two_prices_of_one_type_and_day_are_refused(server):
    [price] = PRICES["prices"]
    day = {**price, "from": "2026-03-01"}
    for prices, field in (([price, {**price, "per_hour": 12.0}], "prices[1]"), ([price, day, {**day, "per_hour": 1}], "prices[2]"),
                          ([price, {**day, "per_hour": -1}], "prices[1].per_hour"), ([{**price, "from": "May"}], "prices[0].from")):
        refused(server.put("/api/v1/prices", json={"currency": "USD", "prices": prices}), field)
    assert server.put("/api/v1/prices", json={"currency": "USD", "prices": [price, day, {**day, "instance": "ml.x"}]}).status == 200
