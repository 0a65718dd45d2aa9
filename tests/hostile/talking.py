"""A conversation with a server, and what its steps are made of: who asks, what of, and how what is there is compared with the model."""

import http.client
import math
import time

from fleet_history import ANNOUNCED_S, DatedJob
from fleet_model import Job, Model, Token
from smserver import PATIENCE_S, quote, wait_until

TOKENS = [Token("root", "admin"), Token("writer", "write"), Token("reader", "read"), Token("a-admin", "admin", "a"), Token("a-write", "write", "a"),
    Token("a-read", "read", "a"), Token("b-admin", "admin", "b"), Token("b-write", "write", "b"), Token("b-read", "read", "b")]
SENDERS = ["root", "root", "root", "root", "writer", "writer", "a-write", "a-write", "a-admin", "b-write", "reader", "stranger"]
ADMINS = ["root", "root", "root", "root", "root", "a-admin", "a-admin", "b-admin", "writer", "stranger"]
READERS = ["root", "reader", "reader", "a-read", "b-read", "b-admin", "writer", "stranger"]
JOBS, STREAMS, METRICS = ["a", "a", "a", "a-2", "b", "x/y é"], ["algo-1", "algo-2"], ["m", "q/r", 'u{gpu="3"}']
ANY_JOBS = [*JOBS, "e/r", "w/p1"]  # with those that a tracker's client makes
EARLIER_MS = 5 * 86_400_000  # from where the conversation begins to what is dated
DATED, OLD, DEFINED = "d", "o", "f"  # of points and of lines, all of which have times; with definitions of its own
KEPT_JOBS = [*ANY_JOBS, DATED, OLD, DEFINED]
VALUES = [0, 1, -1, 2.5, -0.125, 1e-7, 123456.75, 3, math.nan, math.inf, -math.inf]
STEPS = [0, 1, 2, 3, 4, 5, 7, 20, 21, 1_000_000]
TEXTS = ["started", "é and 漢字", "tab\tin it", "  two in front", "a, \"b\" and \\", "[rank0]: ready", "x" * 300]
PHASES = ["Training", "Downloading", "Restarting", "Uploading", "Stopped", "Stopped", "Completed", "Completed", "Failed", "Failed"]

VERBS = {}


def verb(weight, draw):
    """draw(chance): the arguments of such a step. The function carries it out, (talk, who, **arguments), and may return the job that it was about; else that is `job`."""

    def note(function):
        VERBS[function.__name__] = (weight, draw, function)
        return function

    return note


def told(value):
    """A number as JSON has it here."""
    return value if math.isfinite(value) else "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


class Talk:
    """One conversation with a server: its jobs have names of their own, so a server may have many."""

    def __init__(self, server, secrets, prefix, hides_teams, patience_s=PATIENCE_S):
        self.seals = any(option == "--seal-age" for option in server.arguments)  # soon
        self.server, self.secrets, self.prefix, self.patience_s = server, secrets, prefix, patience_s
        self.model = Model({token.name: token for token in TOKENS}, hides_teams, self.make_job)
        self.is_copy = False  # of the jobs, on another server
        self.began_ms = int(time.time() * 1000) - 60_000
        self.webhooks, self.views = {}, {}  # number -> team; (owner, name) -> query
        self.experiments, self.runs = {}, []  # team -> id; of MLflow
        self.logged = {}  # (team, id) -> a run of W&B

    def make_job(self, name, team):
        return (DatedJob if name in (self.name(DATED), self.name(OLD)) else Job)(name, team)

    def name(self, job):
        return f"{self.prefix}-{job}"

    def short(self, job):
        """Its name as steps have it."""
        return job.name.removeprefix(self.prefix + "-")

    def path(self, job, rest=""):
        return f"/api/v1/jobs/{quote(self.name(job))}{rest}"

    def ask(self, who, method, path, **options):
        return self.server.request(method, path, token=self.secrets.get(who, "smf_stranger"), **options)

    def expect(self, status, who, method, path, **options):
        return self.expect_of(self.ask(who, method, path, **options), status, f"{method} {path} by {who}")

    @staticmethod
    def expect_of(reply, status, asked):
        """status: one, or those that are right."""
        assert reply.status in (status if isinstance(status, tuple) else (status,)), f"{asked} should be {status}: {reply}"
        return reply

    @staticmethod
    def asked_again(request):
        """A deletion waits until what was acknowledged is in blocks: a 429 says that this is still under way."""
        replies = []

        def is_answered():
            replies.append(request())
            return replies[-1].status != 429

        wait_until(is_answered, what="a deletion that is taken")
        return replies[-1]

    def carry_out(self, steps):
        at = "the first step"
        try:
            for number, (name, who, reader, arguments) in enumerate(steps):
                at = f"step {number + 1}, {name}"
                touched = VERBS[name][2](self, who, **arguments) or arguments.get("job")
                if touched:
                    self.compare(touched, reader)
            at = "what is there at the end"
            self.compare_all()
        except (AssertionError, OSError, http.client.HTTPException, LookupError, TypeError, ValueError) as wrong:
            raise AssertionError(f"{at}: {wrong}{f': {wrong.__cause__}' if wrong.__cause__ else ''}") from wrong

    def compare_all(self):
        for reader in ("root", "a-read", "b-read"):
            self.compare_jobs(reader)
        self.compare_trash("root")

    def compare_jobs(self, reader):
        for job in sorted({*([] if self.is_copy else JOBS), *map(self.short, self.model.jobs.values())}):
            self.compare(job, reader)

    # ---- what is there ----

    def compare(self, job, reader):
        status = self.model.read_status(reader, self.name(job))
        if status != 200:
            for rest in ("", "/metrics", "/notes", "/logs?stream=algo-1"):
                self.expect(status, reader, "GET", self.path(job, rest))
            return
        known = self.model.jobs[self.name(job)]
        wait_until(lambda: self.compare_document(known, reader, job), timeout=self.patience_s, what="the document")
        self.compare_notes(known, reader, job)
        for stream, texts in known.lines.items():
            self.compare_lines(reader, job, stream, texts, known.deleted.get(stream, 0))
        wait_until(lambda: self.compare_series(known, reader, job), timeout=self.patience_s, what="the series")
        for stream, metric in known.series:
            self.compare_points(known, reader, job, stream, metric)

    def compare_lines(self, reader, job, stream, texts, deleted):
        path = self.path(job, f"/logs?stream={stream}&limit=1000&from=")
        if deleted:
            gone = self.expect(410, reader, "GET", f"{path}0").body
            assert gone["first_kept_line"] == deleted, (stream, gone, deleted)
        if texts[deleted:]:
            body = self.expect(200, reader, "GET", f"{path}{deleted}").body
            here = [line["text"] for line in body["lines"]]
            assert here == texts[deleted:] and body["total"] == len(texts), f"{stream} of {job} should have {texts[deleted:]} of {len(texts)}: {here} of {body['total']}"

    def compare_document(self, known, reader, job):
        body = self.expect(200, reader, "GET", self.path(job)).body
        here = {"name": body["TrainingJobName"], "status": (body["TrainingJobStatus"], body["SecondaryStatus"]), "hp": body.get("HyperParameters") or {},
            "tags": {tag["Key"]: tag["Value"] for tag in body.get("Tags") or []}, "notes": body.get("Notes"), "labels": body.get("Labels")}
        wanted = {"name": known.name, "status": (known.status(), known.phase), "hp": known.hp, "tags": known.tags, "notes": known.notes, "labels": known.labels}
        told = known.transitions()
        if told is not None:
            wanted["told"] = told
            here["told"] = [(row["Status"], self.second_of(row["StartTime"], told, at)) for at, row in enumerate(body["SecondaryStatusTransitions"])]
        assert here == wanted, f"{job} should be {wanted}: {here}"
        return True

    def second_of(self, time, told, at):
        """When a job was announced is not known to the second."""
        if at < len(told) and told[at][1] == ANNOUNCED_S:
            return ANNOUNCED_S
        return (time * 1000 - self.began_ms + EARLIER_MS) / 1000

    def compare_series(self, known, reader, job):
        body = self.expect(200, reader, "GET", self.path(job, "/metrics")).body
        here = {(row["stream"], row["metric"]): row for row in body["series"]}
        assert here.keys() == known.series.keys(), f"{job} should have the series {sorted(known.series)}: {sorted(here)}"
        for key, series in known.series.items():
            for member, value in series.summary().items():
                if member == "mean":
                    assert math.isclose(here[key][member], value, rel_tol=1e-9, abs_tol=1e-9), (key, member, value, here[key])
                else:
                    assert here[key][member] == told(value), f"{member} of {key} in {job} should be {value}: {here[key]}"
            assert ("mean" in here[key]) == ("mean" in series.summary()), (key, here[key])
        return True

    def compare_points(self, known, reader, job, stream, metric):
        series, path = known.series[stream, metric], self.path(job, f"/points?metric={quote(metric)}&stream={stream}&raw=true")
        for attempts, points in (("live", series.live()), ("all", series.points)):
            parts = self.expect(200, reader, "GET", f"{path}&attempts={attempts}").body["series"]  # one a batch
            here = [point for part in parts for point in zip(part["step"], part["value"])]
            wanted = [(step, told(value)) for step, value in points]
            assert here == wanted, f"{attempts} points of {metric} on {stream} in {job} should be {wanted}: {here}"
        numbers = [number for part in parts for number in part["attempt"]]
        assert numbers == series.attempts, f"attempts of {metric} on {stream} in {job} should be {series.attempts}: {numbers}"

    def compare_notes(self, known, reader, job):
        rows = self.expect(200, reader, "GET", self.path(job, "/notes")).body["notes"]
        here = {row["id"]: (row["step"], row["text"], row["author"]) for row in rows}
        wanted = {number: (note.step, note.text, note.author) for number, note in known.marks.items() if not note.is_deleted}
        if self.is_copy:  # numbers are the server's
            here, wanted = sorted(here.values(), key=str), sorted(wanted.values(), key=str)
        assert here == wanted, f"notes of {job} should be {wanted}: {here}"

    def rows_of_trash(self, who):
        body = self.expect(200, who, "GET", "/api/v1/trash?limit=1000").body
        return [row for row in body["jobs"] if row["TrainingJobName"].startswith(self.prefix + "-")]

    def compare_trash(self, who):
        refusal = self.model.refuse(who, "read")
        if refusal:
            self.expect(refusal, who, "GET", "/api/v1/trash")
            return
        here = [row["TrainingJobName"] for row in self.rows_of_trash(who)]
        assert here == self.model.trash_for(who), f"the trash for {who} should be {self.model.trash_for(who)}: {here}"
