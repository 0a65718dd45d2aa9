"""What ends an incident is said as it was, and what goes wrong anew is said to those who took it for mended."""

import json
import time

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


NONE = {"definitions": [{"Name": "other", "Regex": "step ([0-9]+)", "Role": "other"}]}


def read_again(server, job, definitions):
    assert server.put(f"/api/v1/jobs/{job}/definitions?backfill=true", json=definitions).status == 202
    wait_until(lambda: server.get(f"/api/v1/jobs/{job}/definitions").body["backfill"]["state"] == "done", what="the back-fill")


def minutes_later(server):
    """What waits until it has lasted has lasted; gives how many messages did."""
    server.stop()
    count = len(server.sql("UPDATE notices SET due_ms = 1 WHERE state = 0 AND due_ms > 0 RETURNING 1"))
    server.start()
    return count


def test_what_ends_and_opens_again_within_a_mute_is_told_as_open_and_as_over_once(server, receiver):
    """The same incident, by its number: its opening was told, and its end never."""
    add_webhook(server, receiver)
    server.send("j", falling(1, 59) + losses(60, ["nan"] * 3))
    receiver.wait_for(1)
    one = receiver.messages()[0]["data"]["id"]
    assert server.post(f"/api/v1/incidents/{one}/mute", json={"for_s": 600}).status == 204
    read_again(server, "j", NONE)
    assert server.get(f"/api/v1/incidents/{one}").body["incident"]["state"] == "recovered"
    read_again(server, "j", {"preset": "auto"})
    assert server.get(f"/api/v1/incidents/{one}").body["incident"]["state"] == "open"
    server.stop()
    server.sql("UPDATE incidents SET muted_until_ms = 1 WHERE muted_until_ms > 0")
    server.start()
    assert minutes_later(server) == 1
    wait_until(lambda: not server.sql("SELECT 1 FROM notices WHERE state = 0"), what="a look at what waits")
    server.send("j", losses(63, ["nan"] * 17) + falling(80, 8))
    wait_for(server, "j", kind="non_finite", state="recovered")
    wait_until(lambda: told(receiver, "non_finite")[-1][0] == "recovered", what="its end")
    assert told(receiver, "non_finite") == [("opened", 60, None), ("recovered", 60, None)]


def test_a_mute_that_is_made_shorter_is_looked_at_at_once(server, receiver):
    add_webhook(server, receiver)
    server.send("j", falling(1, 59) + losses(60, ["nan"] * 3))
    receiver.wait_for(1)
    one = receiver.messages()[0]["data"]["id"]
    assert server.post(f"/api/v1/incidents/{one}/mute", json={"for_s": 86400}).status == 204
    server.send("j", falling(63, 30))
    wait_for(server, "j", kind="non_finite", state="recovered")
    waits = "SELECT due_ms FROM notices WHERE state = 0 AND due_ms > 0"
    until = wait_until(lambda: server.sql(waits), what="an end that waits")[0][0]
    assert server.post(f"/api/v1/incidents/{one}/mute", json={"for_s": 43200}).status == 204
    wait_until(lambda: server.sql(waits) and until - server.sql(waits)[0][0] > 43_000_000, what="half a day")
    assert server.post(f"/api/v1/incidents/{one}/mute", json={"for_s": 1}).status == 204
    receiver.wait_for(2)
    assert told(receiver, "non_finite") == [("opened", 60, None), ("recovered", 60, None)]


def test_an_incident_that_other_definitions_do_not_find_stays_and_is_found_again(server, receiver):
    add_webhook(server, receiver)
    server.send("j", falling(1, 59) + losses(60, ["nan"] * 3))
    receiver.wait_for(1)
    one = receiver.messages()[0]["data"]["id"]
    assert server.post(f"/api/v1/incidents/{one}/ack", json={}).status == 204
    path = f"/api/v1/incidents/{one}"
    read_again(server, "j", NONE)
    receiver.wait_for(2)
    gone = server.get(path).body["incident"]
    shown = ("id", "state", "closed_why", "metric", "stream", "opened_step")
    assert [gone[key] for key in shown] == [one, "recovered", "definitions_changed", "train:loss", "algo-1", 60]
    read_again(server, "j", NONE)  # once more: the numbers of the series are used again
    assert server.get(path).body["incident"] == gone
    read_again(server, "j", {"preset": "auto"})
    back = server.get(path).body
    assert [back["incident"].get(key) for key in shown] == [one, "open", None, "train:loss", "algo-1", 60]
    assert back["incident"]["acknowledged_ms"] == gone["acknowledged_ms"] and not back["incident"]["is_historic"]
    assert len(incidents(server, "j")) == 1 and len(back["deliveries"]) == 2
    # it was told as over: it is told again when it has stayed for five minutes, and its end with it
    assert minutes_later(server) == 1
    receiver.wait_for(3)
    server.send("j", losses(63, ["nan"] * 17) + falling(80, 8))
    receiver.wait_for(4)
    assert told(receiver, "non_finite") == [
        ("opened", 60, None), ("recovered", 60, "definitions_changed"), ("opened", 60, None), ("recovered", 60, None)]
    assert {message["data"]["id"] for message in receiver.messages()} == {one}


def called(*names_and_patterns):
    """Definitions of losses, which take the step of the line."""
    return {"definitions": [{"Name": name, "Regex": rf"step (?<step>\d+).*\b{pattern}", "Role": "loss"} for name, pattern in names_and_patterns]}


def make_job(server, job, definitions):
    document = {"TrainingJobName": job, "AlgorithmSpecification": {"MetricDefinitions": definitions["definitions"]}}
    assert server.post("/api/v1/jobs", json=document).status == 201


@pytest.mark.parametrize("kind, bad", [
    ("non_finite", losses(60, ["nan"] * 3)), ("loss_spike", losses(60, ["9.5"] * 3)),
    ("divergence", losses(60, [f"{2.5 + 0.2 * n:.1f}" for n in range(60)]))])
def test_what_goes_on_under_another_name_is_not_told_as_over(server, receiver, kind, bad):
    """Of the messages about a cause the next is not sent before the last: a message about the change would stand between the two."""
    add_webhook(server, receiver)
    server.send("j", falling(1, 59) + bad)
    before, = wait_for(server, "j", kind=kind, state="open")
    assert before["metric"] == "train:loss"
    receiver.wait_for(1)
    path = f"/api/v1/incidents/{before['id']}"
    assert server.post(f"{path}/ack", json={}).status == 204
    before = server.get(path).body["incident"]
    rows = [row["id"] for row in incidents(server, "j")]
    sent = told(receiver, kind)
    for name in ("my:loss", "yours"):  # and once more: the numbers of the first series are used again
        read_again(server, "j", called((name, r"loss: (\S+)")))
        assert server.get(path).body["incident"] == {**before, "metric": name}
        assert [row["id"] for row in incidents(server, "j")] == rows and {row["metric"] for row in incidents(server, "j")} == {name}
    server.kill()
    server.start()
    last = 60 + len(bad)
    server.send("j", falling(last, 300))
    wait_until(lambda: server.get(path).body["incident"]["state"] == "recovered", what="its end")
    wait_until(lambda: told(receiver, kind)[len(sent):], what="the message of it")
    over = [message["data"] for message in receiver.messages() if message["type"] == "incident.recovered"]
    assert [(one["metric"], one.get("closed_why")) for one in over] == [("yours", None)]
    assert [row["id"] for row in incidents(server, "j")] == rows


def test_of_two_that_were_nan_the_one_that_is_still_shown_goes_on(server, receiver):
    """The other is closed by the definitions, and nobody is told that the cause is over."""
    add_webhook(server, receiver)
    both = lambda first, values: [f"{line} grad_norm: {value}" for line, value in zip(losses(first, values), values)]
    make_job(server, "j", called(("one", r"loss: (\S+)"), ("other", r"grad_norm: (\S+)")))
    server.send("j", both(1, ["2.5"] * 59) + both(60, ["nan"] * 3))
    rows = wait_until(lambda: len(found := incidents(server, "j", kind="non_finite", state="open")) == 2 and found, what="both")
    ids = {row["metric"]: row["id"] for row in rows}
    receiver.wait_for(1)
    shown = lambda: {row["id"]: (row["metric"], row["state"], row.get("closed_why")) for row in incidents(server, "j")}
    read_again(server, "j", called(("other", r"grad_norm: (\S+)"), ("third", r"loss: (\S+)")))
    assert shown() == {ids["one"]: ("third", "open", None), ids["other"]: ("other", "open", None)}
    read_again(server, "j", called(("third", r"loss: (\S+)")))
    gone = ("other", "recovered", "definitions_changed")
    assert shown() == {ids["one"]: ("third", "open", None), ids["other"]: gone}
    server.send("j", falling(63, 8))
    receiver.wait_for(2)
    assert [(one["type"], one["data"]["id"], one["data"]["metric"], one["data"].get("closed_why")) for one in receiver.messages()] == [
        ("incident.opened", ids["one"], "one", None), ("incident.recovered", ids["one"], "third", None)]
    assert shown() == {ids["one"]: ("third", "recovered", None), ids["other"]: gone}


def test_what_other_definitions_see_begin_earlier_goes_on(server, receiver):
    """The first NaN stands on a line that the definitions did not take: they are mended, and find it there."""
    add_webhook(server, receiver)
    make_job(server, "j", called(("train:loss", r"loss: (\S+)")))
    server.send("j", falling(1, 58) + ["step 59 LOSS: nan"] + losses(60, ["nan"] * 3))
    before, = wait_for(server, "j", kind="non_finite", state="open")
    assert (before["opened_step"], before["evidence"]["line"]) == (60, 59)
    receiver.wait_for(1)
    read_again(server, "j", called(("train:loss", r"(?:loss|LOSS): (\S+)")))
    row, = incidents(server, "j")
    assert (row["id"], row["state"], row["opened_step"], row["evidence"]["line"]) == (before["id"], "open", 59, 58)
    server.send("j", falling(63, 8))
    receiver.wait_for(2)
    assert told(receiver, "non_finite") == [("opened", 60, None), ("recovered", 59, None)]


def test_of_two_attempts_each_incident_is_found_again(server):
    """The loss is NaN at step 60 in both; other definitions read it by another name of the step, and later not at all."""
    server.send("j", falling(1, 59) + losses(60, ["nan"] * 3) + falling(63, 8))
    wait_for(server, "j", kind="non_finite", state="recovered")
    server.send("j", ["Resuming from checkpoint at step 49"] + falling(50, 10) + losses(60, ["nan"] * 2))
    wait_for(server, "j", kind="non_finite", state="open")
    before = [(row["id"], row["opened_ms"], row["state"], row["opened_step"], row["evidence"]["line"]) for row in incidents(server, "j")]
    assert sorted((line, state) for _, _, state, _, line in before) == [(59, "recovered"), (81, "open")]  # 59+3+8+1+10
    read_again(server, "j", {"definitions": [{"Name": "train:loss", "Regex": r"step (?<step>\d+) loss: (\S+)", "Role": "loss"}]})
    after = [(row["id"], row["opened_ms"], row["state"], row["opened_step"], row["evidence"]["line"]) for row in incidents(server, "j")]
    assert after == before
    read_again(server, "j", NONE)
    assert {row["closed_why"] for row in incidents(server, "j")} == {"definitions_changed"}
    assert [row["id"] for row in incidents(server, "j")] == [one[0] for one in before]
    assert server.get("/api/v1/jobs?q=incident:non_finite").body["jobs"] == []  # what is not found is no reason to find the job


def test_what_has_ended_with_its_job_stays_so_when_it_is_found_again(server, receiver):
    add_webhook(server, receiver)
    server.send("j", falling(1, 59) + losses(60, ["nan"] * 3))
    receiver.wait_for(1)
    become(server, "j", "Stopped")
    receiver.wait_for(2)
    read_again(server, "j", {"definitions": [{"Name": "train:loss", "Regex": r"loss: (\S+)", "Role": "loss"}]})
    row, = incidents(server, "j")
    assert (row["state"], row["closed_why"]) == ("recovered", "job_ended")
    assert len(receiver.messages()) == 2


def test_an_end_is_told_however_long_after_the_opening(server, receiver):
    """Lines of 15 minutes ago are historic: its first is a second younger than that, its last ones are not read before it is older."""
    add_webhook(server, receiver)
    stamp = lambda at, line: time.strftime("%Y-%m-%dT%H:%M:%SZ ", time.gmtime(at)) + line
    begun = int(time.time()) - 15 * 60 + 4
    server.send("j", [stamp(begun, line) for line in falling(1, 59) + losses(60, ["nan"])])
    receiver.wait_for(1)
    wait_until(lambda: time.time() > begun + 15 * 60 + 1, what="its first line is of a quarter of an hour ago")
    server.send("j", [stamp(time.time(), line) for line in falling(61, 8)])
    receiver.wait_for(2)
    assert told(receiver, "non_finite") == [("opened", 60, None), ("recovered", 60, None)]


def go_on(server, job, how="Training"):
    if how == "session":
        assert server.post("/api/v1/sessions", json={"job": job, "stream": "algo-1", "resume": True}).status == 201
    else:
        stated = {"SecondaryStatus": how, "time_ms": int(time.time() * 1000)}
        assert server.post(f"/api/v1/jobs/{job}/transitions", json=stated).status == 204
    wait_until(lambda: server.get(f"/api/v1/jobs/{job}").body["TrainingJobStatus"] == "InProgress", what="it goes on")


@pytest.mark.parametrize("end, how, is_restarted", [
    ("Stopped", "Training", False), ("Failed", "Training", True), ("Stopped", "Restarting", False), ("Stopped", "session", False)])
def test_a_nan_that_outlasts_the_end_of_its_job_is_told_in_the_same_attempt(server, receiver, end, how, is_restarted):
    """Steps go on where they stopped: of the second life nothing but its status says that it is one."""
    add_webhook(server, receiver)
    server.send("j", falling(1, 59) + losses(60, ["nan"] * 3))
    wait_for(server, "j", kind="non_finite", state="open")
    become(server, "j", end)
    wait_for(server, "j", kind="non_finite", closed_why="job_ended")
    go_on(server, "j", how)
    if is_restarted:
        server.restart()
    server.send("j", falling(63, 2) + losses(65, ["nan"] * 20))  # two finite points end nothing
    row, = wait_for(server, "j", kind="non_finite", state="open")
    assert (row["opened_step"], row["evidence"]["line"], row.get("cause_id")) == (65, 64, None)
    wait_until(lambda: told(receiver, "non_finite")[-1:] == [("opened", 65, None)], what="the news")
    wait_until(lambda: all(row["state"] == "done" for row in server.get("/api/v1/jobs/j/deliveries").body["deliveries"]),
        what="what was sent to be known as sent: else it comes a second time after a kill")
    server.kill()
    server.start()
    server.send("j", losses(85, ["nan"] * 5) + falling(90, 8))
    wait_until(lambda: told(receiver, "non_finite")[-1:] == [("recovered", 65, None)], what="its end")
    assert told(receiver, "non_finite") == [
        ("opened", 60, None), ("recovered", 60, "job_ended"), ("opened", 65, None), ("recovered", 65, None)]
    read_again(server, "j", {"definitions": [{"Name": "train:loss", "Regex": r"loss: (\S+)", "Role": "loss"}]})
    assert [(row["state"], row.get("closed_why")) for row in incidents(server, "j", kind="non_finite")] == [
        ("recovered", None), ("recovered", "job_ended")]


def test_a_nan_after_an_end_is_news_though_the_last_was_over(server, receiver):
    """In the same life it would be the same again, which is told when it stays."""
    add_webhook(server, receiver)
    server.send("j", falling(1, 59) + losses(60, ["nan"] * 3) + falling(63, 8))
    wait_until(lambda: told(receiver, "non_finite")[-1:] == [("recovered", 60, None)], what="it is over")
    become(server, "j", "Stopped")
    go_on(server, "j")
    server.send("j", falling(71, 4) + losses(75, ["nan"] * 3))
    wait_until(lambda: told(receiver, "non_finite")[-1:] == [("opened", 75, None)], what="the news")


def test_a_condition_that_outlasts_the_end_of_its_job_is_told(server, receiver):
    add_webhook(server, receiver)
    assert server.post("/api/v1/rules", json={"name": "low", "expression": "loss < 2.45 for 3 steps", "severity": "critical"}).status == 201
    server.send("j", falling(1, 59))
    wait_for(server, "j", kind="rule", state="open", opened_step=54)
    become(server, "j", "Stopped")
    wait_for(server, "j", kind="rule", closed_why="job_ended")
    go_on(server, "j")
    server.send("j", losses(60, ["2.44"] * 20) + losses(80, ["2.49"]))
    wait_until(lambda: len(told(receiver, "rule")) == 4, what="the news, and its end")
    assert told(receiver, "rule") == [("opened", 54, None), ("recovered", 54, "job_ended"), ("opened", 60, None), ("recovered", 60, None)]


def test_what_is_well_again_after_the_end_is_not_told(server, receiver):
    add_webhook(server, receiver)
    server.send("j", falling(1, 59) + losses(60, ["nan"] * 3))
    wait_for(server, "j", kind="non_finite", state="open")
    become(server, "j", "Stopped")
    wait_for(server, "j", kind="non_finite", closed_why="job_ended")
    go_on(server, "j")
    server.send("j", falling(63, 60))
    server.send("mark", falling(1, 59) + losses(60, ["nan"]))
    wait_until(lambda: [one for one in receiver.messages() if one["data"].get("job") == "mark"], what="the mark")
    assert [message["type"] for message in receiver.messages() if message["data"].get("job") == "j"] == ["incident.opened", "incident.recovered"]


def test_a_divergence_is_over_when_the_loss_is_back_and_not_when_it_stays(server, receiver):
    add_webhook(server, receiver)
    server.send("j", falling(1, 400) + losses(401, [f"{9 + n % 7 / 100:.2f}" for n in range(700)]))
    wait_for(server, "j", kind="divergence", state="open")
    server.stop()
    server.start()  # what was usual before is not forgotten
    server.send("j", losses(1101, [f"{9 + n % 7 / 100:.2f}" for n in range(1000)]))
    server.send("j", losses(2101, ["nan"]))  # whose incident is told behind whatever came before it
    wait_until(lambda: told(receiver, "non_finite"), what="the mark")
    with receiver.arrived:  # by their ids: what the first server had no time to note, the second sends again
        bodies = {{name.lower(): value for name, value in headers.items()}["webhook-id"]: json.loads(body) for headers, body, _ in receiver.calls}
    assert [body["type"] for body in bodies.values() if body["data"].get("kind") == "divergence"] == ["incident.opened"]
    server.send("j", losses(2102, [f"{2.1 + n % 7 / 1000:.3f}" for n in range(40)]))
    over = wait_for(server, "j", kind="divergence", state="recovered")
    assert [row.get("closed_why") for row in over] == [None]
    server.send("k", falling(1, 400) + losses(401, [f"{9 + n % 7 / 100:.2f}" for n in range(4200)]))
    [row] = wait_for(server, "k", kind="divergence", state="recovered")
    assert row["closed_why"] == "new_level" and row["evidence"]["expected"] < 2.3
    ends = wait_until(lambda: [message["data"] for message in receiver.messages() if message["type"] == "incident.recovered"
                               and message["data"]["job"] == "k"], what="the end")
    assert [end["summary"] for end in ends] == ["train:loss of k: divergence, until it became the new level, algo-1"]
