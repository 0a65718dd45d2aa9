"""Notes of people at places of a job: a step, a time, a line, a checkpoint; the loss says the other coordinate."""

from engine import of_a_file
import sqlite3
import time

import pytest

from smserver import wait_until
from test_auth import make_token
from test_life import MINUTE_MS, T0, line

STEPS = range(1, 61)


@pytest.fixture(scope="module")
def trained(shared_server):
    """Step n at minute n; after step 60 a restart from step 50, ten minutes later."""
    def lines():
        for n in STEPS:
            yield line(T0 + n * MINUTE_MS, f"step: {n} | loss: {5 - n / 60:.4f}")
            if n == 50:
                yield line(T0 + n * MINUTE_MS + 1000, "saved checkpoint to /ckpt/step-50 at step 50")
        for n in range(51, 71):
            yield line(T0 + (n + 19) * MINUTE_MS, f"step: {n} | loss: {5 - n / 60:.4f}")
    sent = list(lines())
    shared_server.send("j", sent)
    shared_server.wait_for_points("j", "train:loss", 60)
    wait_until(lambda: shared_server.get("/api/v1/jobs/j/checkpoints").body["checkpoints"], what="the checkpoint")
    shared_server.wait_for_extraction()
    return shared_server


def write(server, job="j", **body):
    reply = server.post(f"/api/v1/jobs/{job}/notes", json={"text": "a note", **body})
    assert reply.status == 201, reply
    return reply.body


def test_the_other_coordinate_is_found_by_the_loss(trained):
    """By hand: step 20 was printed at minute 20; step 55 is of the second attempt, at minute 74."""
    def place(**body):
        note = write(trained, **body)
        return note["at"], note["step"], note["ts_ms"] and (note["ts_ms"] - T0) / MINUTE_MS
    assert place(step=20) == ("step", 20, 20)
    assert place(step=55) == ("step", 55, 74)
    assert place(ts_ms=T0 + 20 * MINUTE_MS + 30_000) == ("time", 20, 20.5)
    assert place(ts_ms=T0 + 58 * MINUTE_MS) == ("time", 58, 58)  # before the restart
    assert place(stream="algo-1", line=9) == ("line", 10, 10)
    at, step, minute = place(checkpoint=50)
    assert (at, step) == ("checkpoint", 50) and 50 <= minute < 51
    # behind the last print and before the first nothing says it
    assert place(step=1000) == ("step", 1000, None)
    assert place(ts_ms=T0 + 500 * MINUTE_MS) == ("time", None, 500)
    assert place(ts_ms=T0 + 1000) == ("time", None, 1 / 60)


def test_a_note_is_changed_deleted_and_taken_back(trained):
    note = write(trained, step=7, text="the first")
    path = f"/api/v1/jobs/j/notes/{note['id']}"
    changed = trained.patch(path, json={"text": "the second"})
    assert changed.status == 200 and changed.body["text"] == "the second" and changed.body["step"] == 7
    deleted = trained.delete(path)
    assert deleted.status == 200 and deleted.body["undo_until_ms"] - deleted.body["deleted_ms"] == 3_600_000

    def ids(query=""):
        return [row["id"] for row in trained.get("/api/v1/jobs/j/notes" + query).body["notes"]]
    assert note["id"] not in ids() and note["id"] in ids("?deleted=true")
    assert trained.patch(path, json={"text": "the third"}).status == 404
    back = trained.patch(path, json={"deleted": False})
    assert back.status == 200 and "deleted_ms" not in back.body and back.body["text"] == "the second"
    assert note["id"] in ids()


def test_pages(trained):
    for n in range(3):
        write(trained, step=n)
    found, after = [], 0
    while True:
        page = trained.get(f"/api/v1/jobs/j/notes?limit=2&after={after}").body
        found += [row["id"] for row in page["notes"]]
        if "next_after" not in page:
            break
        after = page["next_after"]
    assert found == [row["id"] for row in trained.get("/api/v1/jobs/j/notes").body["notes"]] and len(found) >= 3


@pytest.mark.parametrize("body, field, words", [
    ({"step": 1}, "text", "0 bytes"), ({"step": 1, "text": 5}, "text", "text"), ({"text": "x"}, "step", "this one has 0"),
    ({"text": "x", "step": 1, "ts_ms": 5}, "step", "this one has 2"), ({"text": "x", "ts_ms": 0}, "ts_ms", "from 1 on"),
    ({"text": "x", "line": 3}, "stream", "whose line"), ({"text": "x", "step": 3, "stream": "algo-1"}, "stream", "line alone"),
    ({"text": "x", "stream": "algo-1", "line": -1}, "line", "count from 0"), ({"text": "x", "stream": "algo-1", "line": 10_000}, "line", "no line 10000"),
    ({"text": "x", "checkpoint": 51}, "checkpoint", "no checkpoint at step 51"), ({"text": "x", "step": "a"}, "step", "step"),
    ({"text": "x", "step": -1}, "step", "count from 0"),
])
def test_what_is_wrong_is_named(trained, body, field, words):
    reply = trained.post("/api/v1/jobs/j/notes", json=body)
    assert reply.status == 422 and reply.body["field"] == field and words in reply.body["detail"], reply


def test_what_is_not_there_is_404(trained):
    assert trained.post("/api/v1/jobs/none/notes", json={"text": "x", "step": 1}).status == 404
    assert trained.get("/api/v1/jobs/none/notes").status == 404
    assert trained.post("/api/v1/jobs/j/notes", json={"text": "x", "stream": "none", "line": 1}).status == 404
    for number in ("999999", "0", "x", "99999999999999999999"):
        assert trained.patch(f"/api/v1/jobs/j/notes/{number}", json={"text": "x"}).status == 404, number
        assert trained.delete(f"/api/v1/jobs/j/notes/{number}").status == 404, number
    note = write(trained, step=1)
    for body in ({}, {"deleted": True}, {"text": ""}):
        assert trained.patch(f"/api/v1/jobs/j/notes/{note['id']}", json=body).status == 422, body


def test_a_key_makes_a_note_once(make_server):
    server = make_server()
    for job in ("j", "other"):
        server.send(job, "x")

    def put(text, key="a key", job="j", **more):
        return server.post(f"/api/v1/jobs/{job}/notes", json={"text": text, "step": 1}, headers={"Idempotency-Key": key}, **more)
    first = put("x")
    assert first.status == 201
    server.kill()
    server.start()
    again = put("y")
    assert again.status == 200 and again.body == first.body
    assert put("z", key="k" * 255).status == 201 and put("x", job="other").status == 201
    assert put("x", key="k" * 256).status == 400 and put("x", key="k\x80").status == 400
    assert server.delete(f"/api/v1/jobs/j/notes/{first.body['id']}").status == 200
    assert "deleted_ms" in put("x").body
    assert [row["text"] for row in server.get("/api/v1/jobs/j/notes").body["notes"]] == ["z"]


@of_a_file("whose rows are changed")
def test_limits_survival_teams_and_audit(make_server):
    server = make_server("--max-notes", "2", "--max-note-bytes", "10")
    server.send("j", "x")
    write(server, step=1, text="a" * 10)
    assert server.post("/api/v1/jobs/j/notes", json={"text": "a" * 11, "step": 1}).status == 422
    second = write(server, step=2)
    reply = server.post("/api/v1/jobs/j/notes", json={"text": "x", "step": 3})
    assert reply.status == 413 and "--max-notes" in reply.body["detail"], reply
    server.kill()
    server.start()
    assert [row["step"] for row in server.get("/api/v1/jobs/j/notes").body["notes"]] == [1, 2]
    # what was deleted more than an hour ago is gone for good, with the next note
    assert server.delete(f"/api/v1/jobs/j/notes/{second['id']}").status == 200
    server.stop()
    with sqlite3.connect(server.database) as database:
        database.execute("UPDATE notes SET deleted_ms = ? WHERE note_id = ?", (int(time.time() * 1000) - 3_600_001, second["id"]))
    database.close()
    server.start()
    assert server.patch(f"/api/v1/jobs/j/notes/{second['id']}", json={"deleted": False}).status == 404
    assert len(server.get("/api/v1/jobs/j/notes?deleted=true").body["notes"]) == 1
    third = write(server, step=3)
    assert third["id"] > second["id"] and third["author"] == ""

    admin = make_token(server, "root", "admin")
    nlp, vision = make_token(server, "nlp", "write", "--team", "nlp"), make_token(server, "vision", "write", "--team", "vision")
    server.token = nlp
    server.send("theirs", "x")
    mine = write(server, job="theirs", step=5)
    assert mine["author"] == "nlp"
    path = f"/api/v1/jobs/theirs/notes/{mine['id']}"
    for reply in (server.post("/api/v1/jobs/theirs/notes", json={"text": "x", "step": 1}, token=vision), server.patch(path, json={"text": "x"}, token=vision),
            server.delete(path, token=vision)):
        assert reply.status == 403 and "another team" in reply.body["detail"], reply
    reader = make_token(server, "reader", "read", "--team", "vision")
    assert len(server.get("/api/v1/jobs/theirs/notes", token=reader).body["notes"]) == 1  # every team reads
    assert server.post("/api/v1/jobs/theirs/notes", json={"text": "x", "step": 1}, token=reader).status == 403
    assert server.delete(path).status == 200
    verbs = [row["verb"] for row in server.get("/api/v1/audit", token=admin).body["entries"] if row["token"] == "nlp"]
    assert "notes" in verbs and any(verb.startswith("delete notes") for verb in verbs), verbs
