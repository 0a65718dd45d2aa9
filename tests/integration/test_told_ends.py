"""What ends an incident is said as it was, and what goes wrong anew is said to those who took it for mended."""

import pytest
from smserver import wait_until


def add_webhook(server, receiver):
    assert server.post("/api/v1/webhooks", json={"url": receiver.url}).status == 201


def incidents(server, job, **wanted):
    rows = server.get("/api/v1/incidents?limit=1000&all=true").body["incidents"]
    return [row for row in rows if row["job"] == job and all(row.get(key) == value for key, value in wanted.items())]


def wait_for(server, job, **wanted):
    return wait_until(lambda: incidents(server, job, **wanted), what=f"an incident {wanted} of {job}")


def become(server, job, *statuses):
    for status in statuses:
        assert server.post(f"/api/v1/jobs/{job}/transitions", json={"SecondaryStatus": status}).status == 204


def losses(first, values):
    return [f"step {n} loss: {value}" for n, value in enumerate(values, first)]


def falling(first, count):
    """A thousandth of loss less with each step: 2.441 at step 59."""
    return losses(first, [f"{2.5 - 0.001 * n:.4f}" for n in range(first, first + count)])


def told(receiver, kind):
    return [(message["type"].removeprefix("incident."), message["data"]["opened_step"], message["data"].get("closed_why"))
            for message in receiver.messages() if message["data"].get("kind") == kind]


@pytest.mark.parametrize("end", ["Stopped", "Failed"])
def test_a_nan_of_the_attempt_after_an_end_is_told(server, receiver, end):
    add_webhook(server, receiver)
    server.send("j", falling(1, 59) + losses(60, ["nan"] * 3))
    wait_for(server, "j", kind="non_finite", state="open")
    become(server, "j", end)
    wait_for(server, "j", kind="non_finite", closed_why="job_ended")
    become(server, "j", "Restarting", "Training")
    server.send("j", losses(50, ["nan"] * 40))  # the second attempt: no finite point at all
    opened = wait_for(server, "j", kind="non_finite", state="open")
    assert [row["opened_step"] for row in opened] == [50]
    wait_until(lambda: told(receiver, "non_finite")[-1:] == [("opened", 50, None)], what="the news")


@pytest.mark.parametrize("between", [0, 3])  # finite points of the second attempt: fewer than five end nothing
def test_a_nan_of_the_next_attempt_is_told_where_the_first_stands_open(server, receiver, between):
    add_webhook(server, receiver)
    server.send("j", falling(1, 59) + losses(60, ["nan"] * 3))
    wait_for(server, "j", kind="non_finite", state="open")
    become(server, "j", "Restarting", "Training")
    server.send("j", falling(50, between) + losses(50 + between, ["nan"] * 30))
    wait_until(lambda: len(told(receiver, "non_finite")) == 3, what="the end of the first, and the second")
    assert told(receiver, "non_finite") == [("opened", 60, None), ("recovered", 60, "attempt_ended"), ("opened", 50 + between, None)]
    over = [message["data"]["summary"] for message in receiver.messages() if message["type"] == "incident.recovered"]
    assert over == ["train:loss of j: non_finite, until the training began again, algo-1"]
    server.stop()
    server.start()
    server.send("j", losses(80 + between, ["nan"] * 3))
    wait_until(lambda: incidents(server, "j", kind="non_finite", state="open"), what="the second as it was")
    assert len(incidents(server, "j", kind="non_finite")) == 2


def test_a_condition_that_holds_in_the_next_attempt_is_told(server, receiver):
    add_webhook(server, receiver)
    assert server.post("/api/v1/rules", json={"name": "low", "expression": "loss < 2.45 for 3 steps", "severity": "critical"}).status == 201
    server.send("j", falling(1, 59))  # below from step 51 on: 2.449
    wait_for(server, "j", kind="rule", state="open", opened_step=54)
    become(server, "j", "Stopped")
    wait_for(server, "j", kind="rule", closed_why="job_ended")
    become(server, "j", "Restarting", "Training")
    server.send("j", losses(40, ["2.44"] * 20))
    wait_for(server, "j", kind="rule", state="open", opened_step=43)
    wait_until(lambda: told(receiver, "rule")[-1:] == [("opened", 43, None)], what="the news")


def test_a_rule_ends_nothing_on_jobs_that_it_is_not_about(server):
    assert server.post("/api/v1/rules", json={
        "name": "mine", "query": "tag.k=mine", "expression": "loss < 2.45 for 3 steps", "severity": "critical"}).status == 201
    for job, tag in (("other", "other"), ("own", "mine")):
        assert server.post("/api/v1/jobs", json={"TrainingJobName": job, "Tags": [{"Key": "k", "Value": tag}]}).status == 201
        server.send(job, falling(1, 59) + losses(60, ["2.49"]) + losses(61, ["nan"]))  # true from 51 on, false at 60
        wait_for(server, job, kind="non_finite")  # said after what the rule says of earlier points
    wait_for(server, "own", kind="rule", state="recovered")
    assert incidents(server, "other", kind="rule") == []
    assert [job["TrainingJobName"] for job in server.get("/api/v1/jobs?q=incident:rule").body["jobs"]] == ["own"]


@pytest.mark.parametrize("change, why", [
    ({"expression": "loss < 1 for 3 steps"}, "changed"), ({"enabled": False}, "disabled"), (None, "deleted")])
def test_what_a_change_of_its_rule_ends_says_so(server, receiver, change, why):
    add_webhook(server, receiver)
    rule = {"name": "low", "expression": "loss < 2.45 for 3 steps", "severity": "critical"}
    made = server.post("/api/v1/rules", json=rule)
    assert made.status == 201
    server.send("j", falling(1, 59))  # and it stays below
    wait_for(server, "j", kind="rule", state="open")
    path = f"/api/v1/rules/{made.body['id']}"
    assert (server.put(path, json={**rule, **change}) if change else server.delete(path)).status in (200, 204)
    receiver.wait_for(2)
    assert told(receiver, "rule") == [("opened", 54, None), ("recovered", 54, f"rule_{why}")]
    assert receiver.messages()[1]["data"]["summary"] == f"train:loss of j: rule low, until the rule was {why}, algo-1"
    assert [row["closed_why"] for row in incidents(server, "j", kind="rule")] == [f"rule_{why}"]


def test_what_the_deletion_of_a_job_ends_says_so(server, receiver):
    add_webhook(server, receiver)
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "j"}).status == 201
    become(server, "j", "Failed")
    receiver.wait_for(1)
    assert server.delete("/api/v1/jobs/j").status == 204
    receiver.wait_for(2)
    over = receiver.messages()[1]["data"]
    assert (over["closed_why"], over["summary"]) == ("job_deleted", "j: job_failed, until the job was deleted")


def test_what_other_definitions_do_not_find_is_not_called_normal(server, receiver):
    add_webhook(server, receiver)
    server.send("j", falling(1, 59) + losses(60, ["nan"] * 3))
    receiver.wait_for(1)
    other = {"definitions": [{"Name": "other", "Regex": "step ([0-9]+)", "Role": "other"}]}
    assert server.put("/api/v1/jobs/j/definitions?backfill=true", json=other).status == 202
    receiver.wait_for(2)
    assert told(receiver, "non_finite") == [("opened", 60, None), ("recovered", 60, "definitions_changed")]
    assert receiver.messages()[1]["data"]["summary"] == (
        "train:loss of j: non_finite, until other metric definitions did not find it, algo-1")
