"""One operation of the disk fails, in a whole life of a job and of the server: nothing of what was refused is stored, what was not refused is there, once, and the server goes on by
itself. (One failure in each phase of its own: killing.py.)"""

import json

from attack import attack
from ends import Failures
from howlong import IS_LONG
from killing import check, command, end_in_the_middle, fresh, phase
from smserver import wait_until

LINES = [f"step {n} loss={3 + n % 7 / 10:.1f}" for n in range(200)]
BATCH = 50
SEALS = ("--seal-age", "100ms", "--seal-bytes", "64KiB", "--log-bytes", "0", "--min-free-bytes", "0", "--rate-requests", "0")
LIVES_OF_A_FILE = 25


class Life:
    """Of one job: its steps one after another, each until it is done. A reply that never came leaves a step undone, and it is done again: each may be sent twice, and is there once."""

    def __init__(self, server, job, heard=lambda said: None):
        self.server, self.job, self.heard = server, job, heard
        self.path, self.copy, self.exported, self.at = f"/api/v1/jobs/{job}", server.folder / f"{job}.copy.db", None, 0
        self.steps = [self.begin, self.announce, self.describe, *[lambda n=n: self.send_lines(n) for n in range(0, len(LINES), BATCH)], self.send_columns, self.send_csv, self.write_note, self.attach,
            self.evaluate, self.define, self.complete, self.see_all_sealed, self.back_up, self.verify, self.export, self.purge, self.bring_back, self.verify, self.trash, self.restore,
            self.verify, self.trim, self.see_trimmed, self.purge]

    def live(self):
        """From the step on that failed."""
        while self.at < len(self.steps):
            self.steps[self.at]()
            self.at += 1

    def is_lived(self):
        self.live()
        return True

    def ask(self, method, path, *statuses, **options):
        reply = self.server.request(method, path, **options)
        assert reply.status in statuses, (self.job, method, path, reply)
        return reply

    def begin(self):
        self.sealed_before = self.server.figure("sealed_lines_total")

    def announce(self):
        self.ask("POST", "/api/v1/jobs", 200, 201, 409, json={"TrainingJobName": self.job, "HyperParameters": {"lr": "0.1"}, "Tags": [{"Key": "a", "Value": "b"}]})

    def describe(self):
        self.ask("PATCH", self.path, 200, json={"notes": "of a life", "labels": ["x"]})

    def send_lines(self, first):
        offset = sum(len(line) + 1 for line in LINES[:first])
        self.ask("POST", f"/api/v1/logs?job={self.job}&stream=algo-1&offset={offset}", 200, body="".join(f"{line}\n" for line in LINES[first:first + BATCH]))

    def send_columns(self):
        columns = {"series": [{"metric": "sent", "step": list(range(100)), "value": [n + 0.5 for n in range(100)]}]}
        self.ask("POST", f"/api/v1/points?job={self.job}", 200, json=columns, headers={"Idempotency-Key": "columns"})

    def send_csv(self):
        rows = "".join(f"csv,{n},{n}.25\n" for n in range(100))
        self.ask("POST", f"/api/v1/points?job={self.job}", 200, body="metric,step,value\n" + rows, content_type="text/csv", headers={"Idempotency-Key": "csv"})

    def write_note(self):
        self.ask("POST", f"{self.path}/notes", 200, 201, json={"text": "a note", "step": 7}, headers={"Idempotency-Key": "note"})

    def attach(self):
        self.ask("PUT", f"{self.path}/attachments/a.txt", 200, 201, 204, body="attached", content_type="text/plain")

    def evaluate(self):
        self.ask("POST", f"{self.path}/evaluations", 200, 201, json={"scores": {"mmlu/acc": 0.5}, "step": 3}, headers={"Idempotency-Key": "evaluation"})

    def define(self):
        if not self.is_filled_back():
            self.ask("PUT", f"{self.path}/definitions?backfill=true", 202, json={"definitions": [{"Name": "again", "Regex": "loss=([0-9.]+)"}]})
            wait_until(lambda: self.is_filled_back() is not None, what="the end of the back-fill")
            assert self.is_filled_back()

    def is_filled_back(self):
        """None: it goes on. One that failed says why, and is asked for again."""
        backfill = self.get("/definitions").get("backfill") or {"state": "none"}
        if backfill["state"] == "failed":
            assert str(self.server.database) in backfill["error"], backfill
            self.heard(backfill["error"])
        return None if backfill["state"] == "running" else backfill["state"] == "done" and self.count("again") == len(LINES)

    def complete(self):
        self.ask("POST", f"{self.path}/transitions", 200, 201, 204, 409, json={"SecondaryStatus": "Completed"})

    def see_all_sealed(self):
        wait_until(lambda: self.server.figure("sealed_lines_total") >= self.sealed_before + len(LINES), what="the sealing of all")

    def back_up(self):
        code, said = command(self.server, "backup", str(self.copy))
        if code:
            self.heard(said)
        assert code == 0, said
        assert not self.copy.with_name(self.copy.name + ".partial").exists()
        self.copy.unlink()

    def export(self):
        self.exported = self.ask("GET", f"/api/v1/export?q=name%3D{self.job}", 200).raw
        assert self.exported.count(b"step ") >= len(LINES)

    def is_there(self):
        return self.ask("GET", self.path, 200, 404).status == 200

    def purge(self):
        if self.is_there():
            self.ask("DELETE", f"{self.path}?purge=true", 200, 202, 204, 404)
        wait_until(lambda: not self.is_there(), what="the end of the job")

    def bring_back(self):
        if not self.is_there():
            reply = self.ask("POST", "/api/v1/import", 200, body=self.exported, content_type="application/x-ndjson")
            assert reply.body["imported"] == 1, reply

    def trash(self):
        if self.is_there():
            self.ask("DELETE", self.path, 200, 202, 204, 404)
        wait_until(lambda: not self.is_there(), what="the job in the trash")

    def restore(self):
        if not self.is_there():
            self.ask("POST", f"{self.path}/restore", 200, 201)
        wait_until(self.is_there, what="the job out of the trash")

    def trim(self):
        self.ask("PUT", "/api/v1/retention", 200, json={"log_bytes": 1})

    def see_trimmed(self):
        first = f"{self.path}/logs?stream=algo-1&from=0&limit=1"
        wait_until(lambda: self.ask("GET", first, 200, 410).body.get("first_kept_line") == len(LINES), what="the trimming")
        assert self.count("again") == len(LINES)
        self.ask("PUT", "/api/v1/retention", 200, json={"log_bytes": 0})

    def count(self, metric):
        rows = {row["metric"]: row["count"] for row in self.get("/metrics")["series"]}
        return rows.get(metric, 0)

    def get(self, path):
        return self.ask("GET", f"{self.path}{path}", 200).body

    def verify(self):
        """All of it, once."""
        assert [line["text"] for line in self.server.lines(self.job)] == LINES
        assert [self.count(metric) for metric in ("again", "sent", "csv")] == [len(LINES), 100, 100]
        assert [note["text"] for note in self.get("/notes")["notes"]] == ["a note"]
        assert self.ask("GET", f"{self.path}/attachments/a.txt", 200).raw == b"attached"
        document = self.get("")
        assert (document["TrainingJobStatus"], document["HyperParameters"]["lr"], document.get("Notes")) == ("Completed", "0.1", "of a life"), document
        assert "mmlu/acc" in json.dumps(self.get("/evaluations")), self.get("/evaluations")


@phase("all of a job, once, from its announcement to its end")
def in_a_life(fight, ends):
    lives = []

    def prepare(server):
        fresh(server)
        server.start("127.0.0.1:0", *SEALS)
        lives[:] = [Life(server, "life", getattr(ends, "heard", lambda said: None))]

    def afterwards(server, is_begun):
        lives[0].live()

    return end_in_the_middle(fight, ends, prepare, lambda server: lives[0].live(), lambda server: True, afterwards)


@attack("failing", "all of a job, once, life after life without a new start", *SEALS, kind=Failures.kind)
def life_after_life(fight):
    """As the server goes on, each try costs a life alone: the long run has each operation of one fail."""
    server, ends = fight.server, Failures(fight)
    ends.measure(lambda: Life(server, "measured").live())
    while fight.goes_on(len(ends.all_there_are()) if IS_LONG else 24):
        life = Life(server, f"life-{fight.tried}", ends.heard)
        with ends.failing():
            wait_until(life.is_lived, what="the end of a life")
        ends.count()
        if fight.tried % LIVES_OF_A_FILE == 0:
            server.stop()
            check(server)
            server.start("127.0.0.1:0", *SEALS)
    return ends.figure()
