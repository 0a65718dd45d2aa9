"""
Two people watch a run at night and write down what they did: at a step, at a time, at a line, at a checkpoint, over REST and from Python; the training itself
writes one, too. One corrects the other, deletes a note and takes that back. Where each note belongs on the other axis, and where its mark stands in a picture,
is worked out here from the log: a step a minute, the checkpoint's line behind step 60.
"""

import csv
import datetime
import io
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from smserver import PATIENCE_S, ROOT, sanitizer_environment, wait_until

sys.path.insert(0, str(ROOT / "clients"))

import smfleet  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"
BEGUN_MS = int(datetime.datetime(2026, 3, 2, 22, tzinfo=datetime.timezone.utc).timestamp() * 1000)
MINUTE_MS, LAST, SAVED = 60_000, 100, 60
ODD = 'rate <halved> & "checked"\nby both'
TRAIN = """
import smfleet
smfleet.init("morning", config={"lr": 1e-4}, tags={"continues": "night"})
for step in range(61, 121):
    smfleet.log({"loss": 3 - step / 100}, step=step)
    if step == 90:
        smfleet.note("the loader was changed", step=step)
smfleet.finish()
"""


def at(minute):
    return BEGUN_MS + round(minute * MINUTE_MS)


def stamped(minute, text):
    return f"{datetime.datetime.fromtimestamp(at(minute) / 1000, datetime.timezone.utc):%Y-%m-%d %H:%M:%S} {text}"


def log():
    """Line n is step n, up to 60; behind the checkpoint's line it is step n - 1."""
    for step in range(LAST + 1):
        yield stamped(step, f"step: {step} loss: {5 - step / 25:.4f}")
        if step == SAVED:
            yield stamped(step + 0.5, f"saved checkpoint to /fsx/night/step-{step} at step {step}")


def make_token(server, name, *more):
    done = subprocess.run([server.bin("sm-server"), "token", "create", name, *more, *server.database_options()], capture_output=True, text=True,
        timeout=PATIENCE_S, env=sanitizer_environment())
    assert done.returncode == 0, done.stderr
    return done.stdout.split()[0]


class Night:
    def __init__(self, server, ship):
        self.server, self.ship = server, ship
        self.root = make_token(server, "root", "--scope", "admin")
        self.ada, self.bob, self.trainer = (make_token(server, name, "--scope", "write", "--team", "nlp") for name in ("ada", "bob", "trainer"))
        self.other = make_token(server, "other", "--scope", "write", "--team", "vision")
        server.token = self.root
        self.job = smfleet.Api(server.url, token=self.bob).job("night")
        self.reader = smfleet.Api(server.url, token=make_token(server, "reader", "--scope", "read")).job("night")

    def post(self, text, token, **place):
        reply = self.server.post("/api/v1/jobs/night/notes", json={"text": text, **place}, token=token)
        assert reply.status == 201, reply
        return reply.body

    def notes(self, job="night", query=""):
        reply = self.server.get(f"/api/v1/jobs/{job}/notes{query}")
        assert reply.status == 200, reply
        return reply.body["notes"]

    def search(self, *words):
        done = subprocess.run([self.server.bin("sm-search"), *words], env={**self.ship.env, "SMFLEET_SERVER": self.server.url, "SMFLEET_TOKEN": self.root},
            capture_output=True, text=True, timeout=PATIENCE_S)
        assert done.returncode == 0, done
        return done.stdout


def train(night, folder):
    """The log of the first job is imported; of the second the training itself tells, as its package does."""
    path = folder / "night.log"
    path.write_text("\n".join(log()) + "\n")
    server = night.server
    announced = server.post("/api/v1/jobs", json={"TrainingJobName": "night"}, token=night.ada)  # of the team whose token sent it
    assert announced.status == 201, announced
    done = night.ship.run("--job", "night", "--stream", "algo-1", "--import", str(path), SMFLEET_SERVER=server.url, SMFLEET_TOKEN=night.root)
    assert done.returncode == 0, done
    server.wait_for_points("night", "train:loss", LAST + 1)
    wait_until(lambda: [row["step"] for row in server.get("/api/v1/jobs/night/checkpoints").body["checkpoints"]] == [SAVED], what="the checkpoint")
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG")}
    done = subprocess.run([sys.executable, "-c", TRAIN], cwd=folder, capture_output=True, timeout=PATIENCE_S, env={**kept, "HOME": str(folder),
        "SMFLEET_SPOOL": str(folder / "python"), "SMFLEET_SERVER": server.url, "SMFLEET_TOKEN": night.trainer, "PYTHONPATH": str(ROOT / "clients")})
    assert done.returncode == 0, done
    server.wait_for_points("morning", "loss", 60, stream=server.get("/api/v1/jobs/morning/metrics").body["series"][0]["stream"])
    [own] = wait_until(lambda: night.notes("morning"), what="the training's own note")
    assert (own["at"], own["step"], own["text"], own["author"]) == ("step", 90, "the loader was changed", "trainer")


def write(night):
    """At step 25, at 75.5 minutes, at line 81 and at the checkpoint; by ada over REST and by bob from Python."""
    half = night.post(ODD, night.ada, step=25)
    disk = night.job.note("the disk was full", ts_ms=at(75.5))
    line = night.post("a strange line", night.ada, stream="algo-1", line=81)
    kept = night.job.note("goes on from here", checkpoint=SAVED)
    assert [(row["at"], row["step"], row["author"]) for row in (half, disk, line, kept)] == [
        ("step", 25, "ada"), ("time", 75, "bob"), ("line", 80, "ada"), ("checkpoint", SAVED, "bob")]
    assert [row["ts_ms"] for row in (half, disk, line)] == [at(25), at(75.5), at(80)] and at(60) <= kept["ts_ms"] <= at(61)
    assert (line["stream"], line["line"]) == ("algo-1", 81)
    ids = [row["id"] for row in (half, disk, line, kept)]
    assert [row["id"] for row in night.notes()] == ids == [row["id"] for row in night.reader.notes()]
    return ids


def correct(night, ids):
    """Whoever may write may change and delete it, of the team; the author stays who wrote it."""
    half, disk, line, kept = ids
    changed = night.job.edit_note(half, "rate halved")
    assert (changed["text"], changed["author"], changed["step"]) == ("rate halved", "ada", 25) and changed["modified_ms"] >= changed["created_ms"]
    path = f"/api/v1/jobs/night/notes/{disk}"
    assert night.server.patch(path, json={"text": "x"}, token=night.other).status == 403 == night.server.delete(path, token=night.other).status
    assert night.server.delete(path, token=night.ada).status == 200
    assert [row["id"] for row in night.notes()] == [half, line, kept]
    assert [row["id"] for row in night.reader.notes(deleted=True)] == ids
    gone, = [row for row in night.reader.notes(deleted=True) if row["id"] == disk]
    assert gone["undo_until_ms"] - gone["deleted_ms"] == 3_600_000
    assert night.job.restore_note(disk)["text"] == "the disk was full"
    with pytest.raises(smfleet.ApiError) as refused:
        smfleet.Api(night.server.url, token=night.other).job("night").note("x", step=1)
    assert refused.value.status == 403 and "another team" in str(refused.value)
    assert night.job.delete_note(line)["id"] == line
    verbs = [(row["token"], row["verb"]) for row in night.server.get("/api/v1/audit").body["entries"]]
    assert {token for token, verb in verbs if verb == "notes"} >= {"ada", "bob"} and {token for token, verb in verbs if verb.startswith("delete notes")} == {"ada", "bob"}


WRITTEN = [("step", 25, "ada", "rate halved"), ("time", 75, "bob", "the disk was full"), ("checkpoint", SAVED, "bob", "goes on from here")]


def brief(rows):
    return [(row["at"], row["step"], row["author"], row["text"]) for row in rows]


def marks(night, query):
    """Of each note of the picture its text, and how far between the first and the last point of the first curve its line is."""
    reply = night.server.get(f"/api/v1/jobs/night/chart.svg?metric=loss&width=1000{query}")
    assert reply.status == 200, reply
    root = ElementTree.fromstring(reply.raw)
    curves = [re.findall(r"[ML](-?[\d.]+) ", path.get("d") or "") for path in root.iter(f"{SVG}path") if path.get("class", "").startswith("l ")]
    xs = [float(x) for x in next(curve for curve in curves if len(curve) > 50)]
    found = {}
    for group in root.iter(f"{SVG}g"):
        title = group.find(f"{SVG}title")
        if title is not None and "note" in title.text:
            found[title.text] = (float(re.match(r"M([\d.]+) ", group.find(f"{SVG}path").get("d"))[1]) - xs[0]) / (xs[-1] - xs[0])
    return found


def drawn(night):
    """101 steps, a minute each: by both axes at 25, 75 or 75.5, and 60 hundredths; of the second job, at step 90 of the 120 that both have."""
    by_step = {"note by ada: rate halved": 0.25, "note by bob: the disk was full": 0.75, "note by bob: goes on from here": 0.6}
    by_time = {**by_step, "note by bob: the disk was full": 0.755, "note by bob: goes on from here": 0.605}
    near = lambda wanted: {text: pytest.approx(share, abs=0.001) for text, share in wanted.items()}
    assert marks(night, "") == near(by_step)
    assert marks(night, "&x=time") == near(by_time)
    both = {f"night, {text}": share for text, share in by_step.items()} | {"morning, note by trainer: the loader was changed": 0.9}
    assert marks(night, "&jobs=morning") == near(both)  # of the first curve, which ends at step 100


def exported(night, make_server):
    """As the rows of a table, as JSON, and with the whole job, which another server takes."""
    rows = dict(csv.reader(io.StringIO(night.search("notes", "night", "--csv"))))
    assert [(rows[f"notes[{n}].at"], int(rows[f"notes[{n}].step"]), rows[f"notes[{n}].author"], rows[f"notes[{n}].text"]) for n in range(3)] == WRITTEN
    assert brief(json.loads(night.search("notes", "night", "--json"))["notes"]) == WRITTEN
    assert "rate halved" in night.search("notes", "night", "--table")
    data = night.server.get("/api/v1/export?q=name%3Dnight").raw
    records = [json.loads(line) for line in data.splitlines()]
    assert brief([row for row in records if row["record"] == "note"]) == WRITTEN
    other = make_server()
    assert other.post("/api/v1/import", data, content_type="application/x-ndjson").body["imported"] == 1
    assert brief(other.get("/api/v1/jobs/night/notes").body["notes"]) == WRITTEN


def the_text_is_deleted(night):
    """What was noted stays, also at a line that is no more."""
    server = night.server
    assert server.patch("/api/v1/jobs/night", json={"retention": {"max_age_days": 1}}).status == 200
    wait_until(lambda: server.get("/api/v1/jobs/night/logs?stream=algo-1&from=0&limit=1").status == 410, what="the text to go")
    server.kill()
    server.start()
    assert brief(night.notes()) == WRITTEN


def test_what_two_people_write_down_of_a_run(make_server, ship, tmp_path):
    night = Night(make_server("--seal-age", "100ms"), ship)
    train(night, tmp_path)
    correct(night, write(night))
    assert brief(night.notes()) == WRITTEN
    drawn(night)
    exported(night, make_server)
    the_text_is_deleted(night)
    drawn(night)
