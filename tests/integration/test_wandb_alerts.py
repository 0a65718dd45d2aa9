"""What a training says by wandb.alert(), at the door for W&B's SDK, without it: a line and an incident."""

import time

from smserver import wait_until
from test_wandb_door import begin_process, row_of, shared, taken
from wandbclient import ask, make_run, post

__all__ = ["shared"]  # a fixture


def alert(server, run_id, **variables):
    return ask(server, "NotifyScriptableRunAlert", {"projectName": "p", "runName": run_id, "severity": "WARN", **variables})


def test_an_alert_is_a_line(shared):
    make_run(shared, "alerts")
    assert alert(shared, "alerts", title="loss", text="is high") == (200, {"data": {"notifyScriptableRunAlert": {"success": True}}})
    assert alert(shared, "alerts", title="", text="one\ntwo", severity=None)[0] == 200
    assert [line["text"] for line in shared.lines("p/alerts", "alerts")] == ["WARN alert: loss: is high", "INFO alert: one", "two"]
    for wrong, said in (({"title": "x" * 8001}, "title"), ({"text": 3}, "text"), ({"runName": "other"}, "")):
        status, body = alert(shared, "alerts", **wrong)
        assert status == 200 and said in body["errors"][0]["message"]


def metrics_of(server, job):
    return {series["metric"] for series in server.get(f"{job}/metrics").body["series"]}


def test_what_an_alert_says_is_no_metric(shared):
    """Nor is what somebody sends as a log of that name, whose role says so. Beside it the run's own log has its metrics."""
    make_run(shared, "prose")
    assert alert(shared, "prose", title="KL too high", text="kl 12 at step 60")[0] == 200
    shared.send("p/prose", ["step 1 loss: 9.5"], stream="alerts")
    shared.send("p/prose", ["step: 61 | grad_norm: 0.5"], stream="own")
    job = "/api/v1/jobs/p%2Fprose"
    wait_until(lambda: metrics_of(shared, job), what="its own")
    assert metrics_of(shared, job) == {"train:grad_norm"}
    (row,) = [row for row in shared.get(f"{job}/streams").body["streams"] if row["stream"] == "alerts"]
    assert (row["role"], row["lines"]) == ("alerts", 2)
    assert "9.5" in str(shared.lines("p/prose", "alerts")) and not [row for row in shared.get(f"{job}/logs/captures?stream=alerts&from=0").body["lines"] if row["captures"]]


def test_an_alert_is_an_incident(shared, receiver):
    hook = shared.post("/api/v1/webhooks", json={"url": receiver.url}).body["id"]
    make_run(shared, "calls")
    for level, text in (("WARN", "3.1"), ("WARN", "3.2"), ("ERROR", "99")):
        assert alert(shared, "calls", title="loss is high", text=text, severity=level)[0] == 200
    assert alert(shared, "calls", title="a note", text="", severity="INFO")[0] == 200
    mine = [row for row in shared.get("/api/v1/incidents").body["incidents"] if row["job"] == "p/calls"]
    assert sorted((row["kind"], row["severity"], row["state"], row["evidence"]["title"], row["evidence"]["text"]) for row in mine) == [
        ("training_alert", "critical", "open", "loss is high", "3.1"), ("training_alert", "info", "open", "a note", "")]
    said = wait_until(lambda: [text for text in map(str, [body for _, body, _ in receiver.calls]) if "p/calls says: loss is high: 3.1" in text], what="the message")
    assert said
    taken(post(shared, "calls", complete=True, exitcode=0))
    wait_until(lambda: not [row for row in shared.get("/api/v1/incidents?state=open").body["incidents"] if row["job"] == "p/calls"], what="its end")
    shared.delete(f"/api/v1/webhooks/{hook}")


def test_an_alert_that_is_told_after_the_end_joins_that_of_its_title(shared):
    """As of a sm-ship whose relay sends behind the job's end what the training said before it."""
    make_run(shared, "tardy")

    def mine():
        return [row for row in shared.get("/api/v1/incidents").body["incidents"] if row["job"] == "p/tardy" and row["kind"] == "training_alert"]

    assert alert(shared, "tardy", title="loss is high", text="3.1")[0] == 200
    taken(post(shared, "tardy", complete=True, exitcode=0))
    wait_until(lambda: [row["state"] for row in mine()] == ["recovered"], what="its end")
    (first,) = mine()
    assert alert(shared, "tardy", title="loss is high", text="3.2")[0] == 200
    assert mine() == [first]
    for text in ("one", "two"):
        assert alert(shared, "tardy", title="another", text=text)[0] == 200
    wait_until(lambda: {row["state"] for row in mine()} == {"recovered"}, what="the end of the other")
    assert alert(shared, "tardy", title="another", text="three")[0] == 200
    assert sorted((row["state"], row["evidence"]["title"]) for row in mine()) == [("recovered", "another"), ("recovered", "loss is high")]
    assert len(shared.lines("p/tardy", "alerts")) == 5
    assert alert(shared, "tardy", title="loss is high", text="nan", severity="ERROR")[0] == 200
    wait_until(lambda: sorted(row["severity"] for row in mine() if row["state"] == "recovered") == ["critical", "warning", "warning"], what="a worse one")
    begin_process(shared, "tardy", time.time())
    assert row_of(shared, "p/tardy")["TrainingJobStatus"] == "InProgress"
    assert alert(shared, "tardy", title="loss is high", text="again")[0] == 200
    assert sorted(row["state"] for row in mine()) == ["open", "recovered", "recovered", "recovered"], "the run goes on, and so may what was wrong"


def test_an_alert_of_the_worst_letters_is_one_line_and_an_incident(shared):
    """Each is six bytes of JSON. An alert that is a line but can be no incident is a line more each time that its client sends it again."""
    make_run(shared, "letters")
    title, text = 2500 * "\x01", 2500 * "\x02"
    assert alert(shared, "letters", title=title, text=text) == (200, {"data": {"notifyScriptableRunAlert": {"success": True}}})
    assert len(shared.lines("p/letters", "alerts")) == 1
    (row,) = [row for row in shared.get("/api/v1/incidents").body["incidents"] if row["job"] == "p/letters"]
    assert (row["evidence"]["title"], row["evidence"]["text"]) == (title[:2000], text[:2000])


def test_titles_without_end_are_a_hundred_incidents(shared):
    make_run(shared, "chatty")
    for n in range(101):
        assert alert(shared, "chatty", title=f"title {n}", text="")[0] == 200
    rows = [row for row in shared.get("/api/v1/incidents?limit=500").body["incidents"] if row["job"] == "p/chatty"]
    assert len(rows) == 100 and len(shared.lines("p/chatty", "alerts")) == 101
    shared.wait_for_log("alert_not_kept")
