"""Checkpoints set right by hand: one that was saved without a line, one that nobody can read any more, one that lies elsewhere."""

import json
import os
import subprocess

from fixtures import emptied_server as server  # noqa: F401 (one process for the file)
from smserver import PATIENCE_S, ROOT, wait_until
from test_auth import make_token
from test_carry import export, take
from test_continuity import Log, send
from test_life import MINUTE_MS, T0, line

BAD = {"usable": False, "why": "the file is cut off"}
LIMIT = 1000


def set_right(server, value, place="1:85", status=200, job="j", **options):
    reply = server.patch(f"/api/v1/jobs/{job}", json={"by_hand": {"checkpoints": {place: value}}}, **options)
    assert reply.status == status, reply
    return reply


def checkpoints(server, job="j"):
    return server.get(f"/api/v1/jobs/{job}/checkpoints").body


def checkpoints_of(server, limit):
    return server.get(f"/api/v1/jobs/j/checkpoints?limit={limit}").body


def brief(rows):
    return [(row["attempt"], row["step"]) for row in rows]


class Saved(Log):
    """A step is printed each tenth time; a checkpoint is told of between two of them, and the next attempt prints its first step behind it."""

    def save(self, step):
        self.lines.append(line(self.at_ms - 30_000, f"saved checkpoint to /ckpt/step-{step} at step {step}"))
        self.saved += 1
        return self

    def go_on(self, first, last):
        self.at_ms -= 10 * MINUTE_MS
        return self.train(first, last, every=10)


def broken_off():
    """From 85 by its line: the steps 86 to 100 are lost, and made again."""
    return Saved().train(10, 40, every=10).save(45).go_on(50, 80).save(85).go_on(90, 100).train(90, 160, every=10)


def facts(server, job="j"):
    """What hangs on a checkpoint of the job."""
    reply = server.get(f"/api/v1/jobs/{job}/goodput").body
    row, = server.get(f"/api/v1/jobs/{job}/continuity").body["restarts"]
    restart = server.get(f"/api/v1/jobs/{job}/restart").body
    return {"lost": [one["lost_steps"] for one in reply["breaks"]], "redone_s": reply["buckets"]["redone"]["seconds"], "at_risk": reply.get("checkpoint"),
        "continuity": (row["from_step"], row["checkpoint_step"], row["newest_checkpoint_step"]),
        "restart": restart["checkpoint"] and (restart["checkpoint"]["step"], restart["checkpoint"]["path"]),
        "passed_over": restart.get("passed_over") and (restart["passed_over"]["step"], restart["passed_over"]["set_why"])}


def test_one_that_cannot_be_read_is_none_to_go_on_from(server):
    log = broken_off()
    send(server, log)
    before = facts(server)
    # a step takes six seconds: ten a minute
    assert before == {"lost": [15], "redone_s": 90, "at_risk": {"step": 85, "steps_since": 75, "seconds_since": 450}, "continuity": (85, 85, 85),
        "restart": (85, "/ckpt/step-85"), "passed_over": None}
    assert checkpoints(server)["denied"] == []
    told = checkpoints(server)["checkpoints"]
    set_right(server, BAD)
    assert facts(server) == {"lost": [20], "redone_s": 120, "at_risk": {"step": 45, "steps_since": 115, "seconds_since": 690}, "continuity": (80, 45, 45),
        "restart": (45, "/ckpt/step-45"), "passed_over": (85, BAD["why"])}
    reply = checkpoints(server)
    assert brief(reply["checkpoints"]) == [(1, 45)]
    row, = reply["denied"]
    assert row.pop("set_ms") > 0
    assert row == {**told[0], "from": "by_hand", "usable": False, "worked_out": {"usable": True, "ts_ms": told[0]["ts_ms"]}, "set_why": BAD["why"]}
    assert BAD["why"] in json.dumps(server.get("/api/v1/audit?limit=1").body["entries"][0])
    # a note may be at it still, and a restart of the server changes nothing
    assert server.post("/api/v1/jobs/j/notes", json={"checkpoint": 85, "text": "cut off"}).status == 201
    denied = facts(server)
    server.restart()
    assert facts(server) == denied
    ran = subprocess.run([str(server.bin("sm-search")), "checkpoints", "j"], env={**os.environ, "SMFLEET_SERVER": server.url}, capture_output=True,
        timeout=PATIENCE_S, text=True)
    assert ran.returncode == 0 and BAD["why"] in ran.stdout and "denied[0].step" in ran.stdout, ran
    set_right(server, None)
    assert facts(server) == before and checkpoints(server) == {"checkpoints": told, "denied": []}
    assert "by_hand" not in server.get("/api/v1/jobs/j").body
    assert BAD["why"] in json.dumps(server.get("/api/v1/audit?limit=1").body["entries"][0]), "what was before"


def test_one_that_no_line_tells_of_counts(server):
    """An asynchronous writer says nothing: step 88 was saved a while before step 90 was printed."""
    log = broken_off()
    send(server, log)
    at_ms = next(row["ts_ms"] for row in checkpoints(server)["checkpoints"] if row["step"] == 85) + 15_000
    set_right(server, {"ts_ms": at_ms, "path": "s3://b/async/88", "why": "the writer is asynchronous"}, "1:88")
    now = facts(server)
    assert (now["lost"], now["redone_s"], now["continuity"], now["restart"]) == ([12], 72, (88, 88, 88), (88, "s3://b/async/88"))
    row = checkpoints(server)["checkpoints"][0]
    assert row.pop("set_ms") > 0
    assert row == {"step": 88, "attempt": 1, "ts_ms": at_ms, "stream": None, "line": None, "from": "by_hand", "usable": True, "worked_out": None,
        "set_why": "the writer is asynchronous", "path": "s3://b/async/88"}
    assert server.get("/api/v1/jobs/j/restart").body["checkpoint"]["text"] is None
    # its line comes after all: it has both
    server.send("j", [line(at_ms, "saved checkpoint to /late/step-170 at step 170")])
    wait_until(lambda: len(checkpoints(server)["checkpoints"]) == 4, what="the late line")
    # a step that was read wrongly: that one denied, the right one added
    place = next(f"{row['attempt']}:170" for row in checkpoints(server)["checkpoints"] if row["step"] == 170)
    set_right(server, {"usable": False, "why": "it is step 17"}, place)
    assert brief(checkpoints(server)["checkpoints"]) == [(1, 88), (1, 85), (1, 45)]
    assert server.patch("/api/v1/jobs/j", json={"by_hand": None}).status == 200
    assert len(checkpoints(server)["checkpoints"]) == 3 and checkpoints(server)["denied"] == []


def test_the_path_is_the_one_that_its_line_names(server):
    """Of each stream's lines, stored in whichever order; what is denied has one, too, and a line that names none gives none."""
    send(server, broken_off().save(165))
    server.send("j", [line(T0 + 500 * MINUTE_MS, "step: 400 | loss: 2.5"), line(T0 + 501 * MINUTE_MS, "Saving model checkpoint to out/checkpoint-400"),
        line(T0 + 502 * MINUTE_MS, "saved checkpoint at step 410")], stream="algo-2")
    wait_until(lambda: len(checkpoints(server)["checkpoints"]) == 5, what="those of both streams")
    set_right(server, BAD)
    def paths():
        return {name: {row["step"]: row.get("path") for row in rows} for name, rows in checkpoints(server).items()}
    named = {"checkpoints": {410: None, 400: "out/checkpoint-400", 165: "/ckpt/step-165", 45: "/ckpt/step-45"}, "denied": {85: "/ckpt/step-85"}}
    assert paths() == named
    assert "path" not in checkpoints(server)["checkpoints"][0]
    server.restart()
    assert paths() == named


def test_lines_of_the_newest_hundred_are_read(server):
    log = Saved()
    for step in range(10, 1040, 10):
        log.train(step, step, every=10).save(step)
        log.at_ms -= 10 * MINUTE_MS
    server.send("j", log.lines)
    rows = wait_until(lambda: len(found := checkpoints_of(server, 1000)["checkpoints"]) == 103 and found, what="the checkpoints")
    assert [row["step"] for row in rows if "path" not in row] == [30, 20, 10]
    assert all(row["path"] == f"/ckpt/step-{row['step']}" for row in rows[:100])
    moved = {"path": "/moved/20", "why": "moved"}
    set_right(server, moved, "1:20")
    assert {row["step"]: row.get("path") for row in checkpoints_of(server, 1000)["checkpoints"][100:]} == {30: None, 20: "/moved/20", 10: None}


def test_another_path_and_another_time(server):
    send(server, broken_off())
    newest = checkpoints(server)["checkpoints"][0]
    set_right(server, {"path": "/moved/85", "why": "moved"})
    assert facts(server)["restart"] == (85, "/moved/85")
    assert server.get("/api/v1/jobs/j/restart").body["checkpoint"]["text"].endswith("saved checkpoint to /ckpt/step-85 at step 85")
    set_right(server, {"ts_ms": newest["ts_ms"] - 3600_000, "why": "its clock was wrong"})
    moved = checkpoints(server)["checkpoints"]
    assert brief(moved) == [(1, 45), (1, 85)] and moved[1]["worked_out"]["ts_ms"] == newest["ts_ms"]
    assert moved[1]["path"] == "/ckpt/step-85", "what is by hand replaced the whole: its path is the line's again"


def test_an_incident_names_one_that_can_be_used(server):
    log = broken_off()
    send(server, log)
    set_right(server, BAD)
    server.send("j", [line(log.at_ms, "step: 170 | loss: nan"), line(log.at_ms + MINUTE_MS, "step: 180 | loss: nan")])
    one = wait_until(lambda: server.get("/api/v1/incidents?all=true&kind=non_finite").body["incidents"][0], what="the incident")
    assert one["evidence"]["last_checkpoint"]["step"] == 45 and "step 45" in one["evidence"]["action"]


def test_the_example_of_the_documents(server):
    text = (ROOT / "docs/detection.md").read_text().split("### Set right by hand")[1]
    command = text.split("```sh\n")[1].split("```")[0].replace("localhost:8080", server.url.removeprefix("http://"))
    added_ms = json.loads(command.split(" -d '")[1].rsplit("'", 1)[0])["by_hand"]["checkpoints"]["1:550"]["ts_ms"]
    server.send("llama-7b", [line(added_ms - 600_000 + 1000 * step, f"step: {step} | loss: 2.5000") for step in range(499, 601)]
        + [line(added_ms - 60_000, "saved checkpoint to /ckpt/iter_0000500 at step 500")])
    wait_until(lambda: checkpoints(server, "llama-7b")["checkpoints"], what="the checkpoint")
    assert subprocess.run(["sh", "-c", command], capture_output=True, timeout=PATIENCE_S).returncode == 0
    reply = checkpoints(server, "llama-7b")
    assert [(row["step"], row["path"]) for row in reply["checkpoints"]] == [(550, "s3://ckpt/llama/550")] and [row["step"] for row in reply["denied"]] == [500]


def test_the_best_is_one_that_can_be_used(server):
    send(server, broken_off())
    for step, value in ((45, 0.5), (85, 0.75)):
        assert server.post("/api/v1/jobs/j/evaluations", json={"step": step, "suite": "own", "scores": {"mmlu/acc": value}}).status == 201
    def best():
        own, many = server.get("/api/v1/jobs/j/evaluations").body, server.get("/api/v1/evaluations?metric=mmlu/acc").body
        return own, (own["best"] or {}).get("step"), [(row["step"], row["compared"]) for row in many["leaders"]]
    assert best()[1:] == (85, [(85, 2)])
    set_right(server, BAD)
    own, *chosen = best()
    assert chosen == [45, [(45, 1)]] and own["best"]["compared"] == 1
    assert [(row["step"], row["checkpoint"].get("usable")) for row in own["checkpoints"]] == [(45, None), (85, False)]
    set_right(server, BAD, "1:45")
    own, *chosen = best()
    assert chosen == [None, []] and "nothing can go on" in own["best_why"]


def test_what_is_refused_changes_nothing(server):
    send(server, broken_off())
    at = {"ts_ms": 1_767_225_600_000, "why": "x"}
    for place, value, inner in (
            ("1:85", {"usable": False}, ".1:85.why"), ("1:85", {"usable": 0, "why": "x"}, ".1:85.usable"), ("1:85", {"usable": False, "why": "x" * 501}, ".1:85.why"),
            ("1:85", {"usable": False, "why": "  "}, ".1:85.why"), ("1:85", {"path": "", "why": "x"}, ".1:85.path"), ("1:85", {"path": "p" * 1025, "why": "x"}, ".1:85.path"),
            ("1:85", {"ts_ms": 9, "why": "x"}, ".1:85.ts_ms"), ("1:85", {"ts_ms": 32503680000000, "why": "x"}, ".1:85.ts_ms"),
            ("1:85", {"why": "x"}, ".1:85"), ("1:85", {**BAD, "step": 9}, ".1:85"), ("1:85", "gone", ".1:85"), ("85", BAD, ""), ("01:85", BAD, ""), ("1:-1", at, ""),
            ("1:99", BAD, ".1:99"), ("1:99", {"path": "/x", "why": "x"}, ".1:99"), ("3:99", at, ".3:99"), ("0:99", at, ".0:99"), ("0:85", BAD, ".0:85")):
        reply = set_right(server, value, place, 422).body
        assert reply["field"] == "by_hand.checkpoints" + inner, (place, value, reply)
    for whole in ([], 1, {f"1:{step}": at for step in range(LIMIT + 1)}):
        reply = server.patch("/api/v1/jobs/j", json={"by_hand": {"checkpoints": whole}})
        assert reply.status == 422 and reply.body["field"] == "by_hand.checkpoints", whole
    assert "by_hand" not in server.get("/api/v1/jobs/j").body and brief(checkpoints(server)["checkpoints"]) == [(1, 85), (1, 45)]


def test_many_that_are_set_are_each_what_it_is(server):
    """Of 60 that lines tell of every third is denied, every third moved; ten are added, of which one is denied; the list of few has the newest."""
    log = Saved()
    for step in range(10, 610, 10):
        log.train(step, step, every=10).save(step)
        log.at_ms -= 10 * MINUTE_MS
    send(server, log)
    told = {row["step"]: row for row in checkpoints_of(server, 1000)["checkpoints"]}
    assert sorted(told) == list(range(10, 610, 10))
    denied = {f"1:{step}": BAD for step in range(10, 610, 30)}
    moved = {f"1:{step}": {"path": f"/moved/{step}", "why": "x"} for step in range(20, 610, 30)}
    added = {f"1:{step}": {"ts_ms": told[step - 5]["ts_ms"] + 1, "why": "x", **(BAD if step == 595 else {})} for step in range(505, 605, 10)}
    assert server.patch("/api/v1/jobs/j", json={"by_hand": {"checkpoints": {**denied, **moved, **added}}}).status == 200
    usable = sorted([step for step in range(10, 610, 10) if step % 30 != 10] + [step for step in range(505, 595, 10)], reverse=True)
    body = checkpoints_of(server, 1000)
    assert [row["step"] for row in body["checkpoints"]] == usable
    assert [row["step"] for row in body["denied"]] == sorted([*range(10, 610, 30), 595], reverse=True)
    assert [row["step"] for row in checkpoints_of(server, 7)["checkpoints"]] == usable[:7]
    for row in body["checkpoints"]:
        told_path = None if row["step"] % 10 == 5 else f"/ckpt/step-{row['step']}"
        assert row.get("path") == (f"/moved/{row['step']}" if row["step"] % 30 == 20 else told_path), row
        assert (row.get("from") == "by_hand", "worked_out" in row and row["worked_out"] is None) == (row["step"] % 30 != 0, row["step"] % 10 == 5), row


def test_one_beyond_the_newest_line_is_taken(server):
    """The lines end at 160, since shipping ended: the machine went on, and saved at 5000."""
    send(server, broken_off())
    set_right(server, {"ts_ms": 1_767_225_600_000, "why": "sm-ship died; /checkpoints/5000 is there"}, "2:5000")
    assert (2, 5000) in brief(checkpoints(server)["checkpoints"])


def test_who_set_it_is_kept_and_carried(make_server):
    """Whoever asks is who said it, whatever the request or a document says; an export has it, and so has the copy."""
    server, other = make_server(), make_server()
    send(server, broken_off())
    server.token = make_token(server, "ada", "admin")
    set_right(server, {**BAD, "by": "somebody else", "set_ms": 1_767_225_600_000})
    here = checkpoints(server)
    assert here["denied"][0]["set_by"] == "ada" and here["denied"][0]["set_ms"] > 1_767_225_600_000
    take(other, export(server))
    wait_until(lambda: facts(other) == facts(server), what="the same there")
    assert checkpoints(other) == here
    set_right(other, None)
    assert facts(other)["lost"] == [15]
    # a document that comes first: what it says counts when the line is there
    body = {"TrainingJobName": "posted", "by_hand": {"checkpoints": {"1:85": {**BAD, "by": "somebody else"}}}}
    assert server.post("/api/v1/jobs", json=body).status == 201
    assert server.get("/api/v1/jobs/posted").body["by_hand"]["checkpoints"]["1:85"]["by"] == "ada"
    assert checkpoints(server, "posted") == {"checkpoints": [], "denied": []}
    server.send("posted", broken_off().lines)
    wait_until(lambda: checkpoints(server, "posted")["denied"], what="the denied one")
    assert brief(checkpoints(server, "posted")["checkpoints"]) == [(1, 45)]
