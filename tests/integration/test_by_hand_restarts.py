"""Whether a restart went on, set right by hand by somebody who knows better than its prints tell."""

import json
import os
import subprocess

from fixtures import emptied_server as server  # noqa: F401 (one process for the file)
from smserver import PATIENCE_S, wait_until
from test_auth import make_token
from test_carry import export, take
from test_continuity import Log, ask, curve, differing

WHY = "the data set was changed on purpose"
SET = {"verdict": "continued", "why": WHY}


def set_right(server, value, place="2:81", status=200, job="j", **options):
    reply = server.patch(f"/api/v1/jobs/{job}", json={"by_hand": {"restarts": {place: value}}}, **options)
    assert reply.status == status, reply
    return reply


def restarts(server, job="j"):
    return server.get(f"/api/v1/jobs/{job}/continuity").body["restarts"]


def differs():
    """Twenty steps are printed twice, and the loss is that of step 40."""
    return Log().train(1, 100, checkpoints=(80,)).train(81, 160, add=curve(40) - curve(80))


def test_a_restart_that_differs_on_purpose_went_on(server):
    row, = ask(server, differs())["restarts"]
    assert (row["attempt"], row["first_step"], row["verdict"], "verdict_from" in row) == (2, 81, "differs", False)
    wait_until(lambda: [one["state"] for one in differing(server)] == ["open"], what="the incident", timeout=120)
    set_right(server, SET)
    [one] = differing(server)
    assert one["state"] == "recovered" and one["closed_ms"]
    now, = restarts(server)
    assert (now["verdict"], now["verdict_from"], now["worked_out"], now["set_why"]) == ("continued", "by_hand", "differs", WHY)
    assert (now["cause"], now["causes"]) == (None, []) and now["loss_spreads"] == row["loss_spreads"]
    assert now["why"].startswith(f'Set by hand: {WHY}. Worked out it is "differs": ') and now["why"].endswith(row["why"])
    assert server.get("/api/v1/jobs/j").body["by_hand"] == {"restarts": {"2:81": SET}}
    entry = server.get("/api/v1/audit?limit=1").body["entries"][0]
    assert WHY in json.dumps(entry)
    ran = subprocess.run([str(server.bin("sm-search")), "continuity", "j"], env={**os.environ, "SMFLEET_SERVER": server.url}, capture_output=True,
        timeout=PATIENCE_S, text=True)
    assert ran.returncode == 0 and "by_hand" in ran.stdout and WHY in ran.stdout, ran
    # something else that is set leaves it; a restart of the server, too
    assert server.patch("/api/v1/jobs/j", json={"by_hand": {"nodes": 4}}).status == 200
    server.restart()
    assert restarts(server)[0]["verdict_from"] == "by_hand"
    set_right(server, None)
    back, = restarts(server)
    assert back == row and server.get("/api/v1/jobs/j").body["by_hand"] == {"nodes": 4}
    assert WHY in json.dumps(server.get("/api/v1/audit?limit=1").body["entries"][0]), "what was before"
    assert [one["state"] for one in differing(server)] == ["recovered"]


def test_one_that_is_said_before_the_look_is_not_told_of(server):
    """And one that somebody says differs, where the prints say that it went on, is no message either."""
    log = Log().train(1, 100, checkpoints=(80,)).train(81, 160)
    assert ask(server, log)["restarts"][0]["verdict"] == "continued"
    set_right(server, {"verdict": "differs", "why": "the optimizer's state was not loaded"})
    row, = restarts(server)
    assert (row["verdict"], row["worked_out"], row["causes"]) == ("differs", "continued", [])
    log.lines.clear()
    server.send("j", log.train(141, 200, add=3.0).lines)
    wait_until(lambda: [one["evidence"]["attempt"] for one in differing(server)] == [3], what="the incident of the third attempt alone", timeout=120)


def test_what_is_refused_changes_nothing(server):
    ask(server, differs())
    for place, value in (("2:82", SET), ("3:81", SET), ("2", SET), ("x:81", SET), ("0:81", SET), ("02:81", SET), ("2:81", "continued"), ("2:81", {"verdict": "continued"}),
            ("2:81", {"verdict": "fine", "why": WHY}), ("2:81", {"verdict": "continued", "why": " "}), ("2:81", {**SET, "why": "x" * 501}), ("2:81", {**SET, "who": "me"})):
        field = set_right(server, value, place, 422).body["field"]
        assert field.startswith("by_hand.restarts"), (place, value, field)
    assert "by_hand" not in server.get("/api/v1/jobs/j").body and restarts(server)[0]["verdict"] == "differs"
    reply = server.patch("/api/v1/jobs/j", json={"by_hand": {"restarts": []}})
    assert reply.status == 422 and reply.body["field"] == "by_hand.restarts"


def test_who_set_it_is_kept_and_carried(make_server):
    """Whoever asks is who said it, whatever the request or a document says; an export has it."""
    server, other = make_server(), make_server()
    ask(server, differs())
    server.token = make_token(server, "ada", "admin")
    set_right(server, {**SET, "by": "somebody else"})
    here = restarts(server)
    assert (here[0]["set_by"], here[0]["verdict"]) == ("ada", "continued") and here[0]["why"].startswith("Set by hand by ada: ")
    take(other, export(server))
    wait_until(lambda: restarts(other) == here, what="the same there")
    wait_until(lambda: all(one["state"] == "recovered" for one in differing(other)), what="no open incident")
    set_right(other, None)
    assert restarts(other)[0]["verdict"] == "differs"
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "posted", "by_hand": {"restarts": {"2:81": {**SET, "by": "somebody else"}}}}).status == 201
    assert server.get("/api/v1/jobs/posted").body["by_hand"]["restarts"] == {"2:81": {**SET, "by": "ada"}}
