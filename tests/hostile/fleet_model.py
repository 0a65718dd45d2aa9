"""What a server must answer: a model of jobs, points, lines, notes, the trash and teams, small enough to be read as a whole. It knows no server."""

import dataclasses
import math

SCOPES = {"read": {"read"}, "write": {"write"}, "admin": {"read", "write", "admin"}}
# In the order of a job's life: an earlier one without a time changes nothing behind an end.
PHASES = ("Starting", "Downloading", "Training", "Restarting", "Uploading", "Stopping", "Stopped", "Completed", "Failed")
HIDDEN = (403, 404)  # who would change a job that is not to be seen hears either: its name is taken, or it is not there
ENDS = {"Stopped": "Stopped", "Completed": "Completed", "Failed": "Failed"}


@dataclasses.dataclass
class Token:
    name: str
    scope: str
    team: str = ""


@dataclasses.dataclass
class Note:
    step: int
    text: str
    author: str
    is_deleted: bool = False


class Series:
    """Of one metric and stream: its points in the order in which they came, with the attempt of each."""

    def __init__(self):
        self.points, self.attempts, self.lost = [], [], set()  # lost: the places of those that a later attempt has made again

    def add(self, step, value, attempt=1):
        self.points.append((len(self.points) if step is None else step, value))
        self.attempts.append(attempt)

    def begin_again(self, step):
        self.lost.update(at for at, point in enumerate(self.points) if point[0] >= step)

    def live(self):
        return [point for at, point in enumerate(self.points) if at not in self.lost]

    def summary(self):
        points = self.live()
        values = [value for _, value in points]
        finite = [value for value in values if math.isfinite(value)]
        told = {"count": len(values), "last": values[-1], "first_step": points[0][0], "last_step": points[-1][0]}
        if finite:
            told |= {"min": min(finite), "max": max(finite), "mean": sum(finite) / len(finite)}
        return told


class Job:
    def __init__(self, name, team):
        self.name, self.team = name, team
        self.has_document = False
        self.hp, self.tags, self.notes, self.labels = {}, {}, None, None
        self.phase, self.is_stated = "Starting", False
        self.series, self.lines = {}, {}
        self.deleted = {}  # of a stream's lines the first, by a limit
        self.made = set()  # streams that CloudWatch's clients have made, with lines or without
        self.pushes = set()  # what is known of protocols that send again: (stream, entries)
        self.began = {}  # of a stream: {line: the step at which the log says that it begins again}
        self.definitions = None  # of a job that has its own: (metric, word of its lines) each
        self.marks = {}  # notes at places, by their number

    def transitions(self):
        """(status, its time) of each, where they are known."""
        return None

    def status(self):
        return ENDS.get(self.phase, "Stopping" if self.phase == "Stopping" else "InProgress")

    def has_ended(self):
        return self.phase in ENDS

    def give_document(self, document):
        """Of a job that lines have made, tags, notes and labels stay where the document has none."""
        self.has_document = True
        self.hp = dict(document.get("HyperParameters", {}))
        if "Tags" in document:
            self.tags = {tag["Key"]: tag["Value"] for tag in document["Tags"]}

    def see_sign_of_life(self, is_of_now):
        """A line or a point: the job trains, where nobody states otherwise later."""
        waits = PHASES.index(self.phase) < PHASES.index("Training") or self.phase == "Restarting"
        if waits and (is_of_now or not self.is_stated):
            self.phase = "Training"

    def state(self, phase):
        """Without a time. Whether it counts."""
        if self.has_ended() and phase != "Restarting" and PHASES.index(phase) < PHASES.index(self.phase):
            return False
        self.phase, self.is_stated = phase, True
        return True

    def change(self, changes):
        for key, value in changes.get("tags", {}).items():
            self.tags.pop(key, None) if value is None else self.tags.update({key: value})
        for key, value in changes.get("hp", {}).items():
            self.hp.setdefault(key, value)
        self.notes = changes.get("notes", self.notes)
        self.labels = changes.get("labels", self.labels)


class Model:
    """Each verb returns the status of its reply, and changes what that reply means."""

    def __init__(self, tokens, hides_teams, make_job=Job):
        self.tokens, self.hides_teams, self.make_job = tokens, hides_teams, make_job
        self.jobs, self.trash = {}, []  # the trash: who came last is last

    # ---- who may ----

    def refuse(self, who, scope):
        token = self.tokens.get(who)
        if not token:
            return 401
        return None if scope in SCOPES[token.scope] else 403

    def may_read(self, who, job):
        token = self.tokens[who]
        return not self.hides_teams or not token.team or token.scope == "admin" or token.team == job.team

    def owns(self, who, job):
        team = self.tokens[who].team
        return not team or team == job.team

    def find_to_change(self, who, scope, name):
        """(refusal, None) or (None, the job)."""
        refusal = self.refuse(who, scope)
        job = self.jobs.get(name)
        if refusal or not job:
            return refusal or 404, None
        if self.owns(who, job):
            return None, job
        return (403 if self.may_read(who, job) else HIDDEN), None

    def find_to_send(self, who, name):
        """Whoever sends to a name that nobody has makes the job."""
        refusal = self.refuse(who, "write")
        if refusal:
            return refusal, None
        job = self.jobs.get(name) or self.make_job(name, self.tokens[who].team)
        if not self.owns(who, job):
            return 403, None
        self.jobs[name] = job
        return None, job

    def read_status(self, who, name):
        refusal = self.refuse(who, "read")
        if refusal:
            return refusal
        job = self.jobs.get(name)
        return 200 if job and self.may_read(who, job) else 404

    def readable(self, who):
        return [job for job in self.jobs.values() if self.may_read(who, job)]

    # ---- jobs ----

    def create(self, who, document):
        refusal = self.refuse(who, "write")
        old = self.jobs.get(document["TrainingJobName"])
        if refusal:
            return refusal
        if old and not self.owns(who, old):
            return 403
        if old and old.has_document:
            return 409
        job = old or self.make_job(document["TrainingJobName"], self.tokens[who].team)
        self.jobs[job.name] = job
        job.give_document(document)
        return 201

    def patch(self, who, name, changes):
        refusal, job = self.find_to_change(who, "write", name)
        if refusal:
            return refusal
        job.change(changes)
        return 200

    def state(self, who, name, phase):
        refusal, job = self.find_to_change(who, "write", name)
        if refusal:
            return refusal
        return 204 if job.state(phase) else 200

    def delete(self, who, name, is_for_good):
        refusal = self.refuse(who, "admin")
        if refusal:
            return refusal
        job, thrown = self.jobs.get(name), self.thrown(name)
        if not job and is_for_good and thrown:
            return 409 if self.owns(who, thrown[-1]) else 403
        if not job:
            return 404
        if not self.owns(who, job):
            return 403 if self.may_read(who, job) else HIDDEN
        if not job.has_ended():
            return 409
        self.throw(job)
        if is_for_good:
            self.trash.pop()
        return 204

    def thrown(self, name):
        return [job for job in self.trash if job.name == name]

    def restore(self, who, name):
        refusal = self.refuse(who, "admin")
        thrown = self.thrown(name)
        if refusal or not thrown:
            return refusal or 404
        return 200 if self.owns(who, thrown[-1]) else 403

    def choose_thrown(self, who, job, done):
        """By its id; done: the status of who may."""
        refusal = self.refuse(who, "admin")
        if refusal:
            return refusal
        return done if self.owns(who, job) else 403 if self.may_read(who, job) else HIDDEN

    def check_new_name(self, name, new_name):
        """What a new job, or one that comes back, is called that asks for a name which may be taken."""
        assert new_name not in self.jobs, f"{new_name} was there already"
        if name not in self.jobs:
            assert new_name == name, (name, new_name)
            return
        stem, _, number = new_name.rpartition("-")
        assert stem == name and number.isdigit() and int(number) >= 2, (name, new_name)
        assert int(number) == 2 or f"{name}-{int(number) - 1}" in self.jobs, (new_name, sorted(self.jobs))

    def throw(self, job):
        del self.jobs[job.name]
        self.trash.append(job)

    def take_back(self, job, new_name):
        """Of a restoration that was answered so."""
        self.check_new_name(job.name, new_name)
        self.trash.remove(job)
        job.name = new_name
        self.jobs[new_name] = job

    def trash_for(self, who):
        return [job.name for job in reversed(self.trash) if self.may_read(who, job)]

    # ---- what is sent ----

    def send_points(self, who, name, stream, rows, is_of_now):
        """rows: (metric, step or None, value)."""
        refusal, job = self.find_to_send(who, name)
        if refusal:
            return refusal
        self.add_points(job, stream, rows)
        job.see_sign_of_life(is_of_now)
        return 200

    @staticmethod
    def add_points(job, stream, rows):
        for metric, step, value in rows:
            job.series.setdefault((stream, metric), Series()).add(step, value)

    def send_lines(self, who, name, stream, texts, is_of_now=True):
        refusal, job = self.find_to_send(who, name)
        if refusal:
            return refusal
        job.lines.setdefault(stream, []).extend(texts)
        job.see_sign_of_life(is_of_now)
        return 200

    def push(self, who, name, stream, entries, texts):
        """By a protocol whose clients send again: the same entries are known of a stream. texts: the lines that they are."""
        refusal, job = self.find_to_send(who, name)
        if refusal:
            return refusal
        if (stream, entries) in job.pushes:
            return 200
        job.pushes.add((stream, entries))
        return self.send_lines(who, name, stream, texts, False)

    # ---- notes at places ----

    def write_note(self, who, name):
        return self.find_to_change(who, "write", name)[0] or 201

    def keep_note(self, who, name, number, step, text):
        """Of one that was answered with its number."""
        marks = self.jobs[name].marks
        assert number not in marks, f"the number {number} of a note is another's"
        marks[number] = Note(step, text, self.tokens[who].name)

    def change_note(self, who, name, number, text):
        refusal, job = self.find_to_change(who, "write", name)
        if refusal:
            return refusal
        note = job.marks.get(number)
        if not note or note.is_deleted:
            return 404
        note.text = text
        return 200

    def delete_note(self, who, name, number, is_deleted):
        """Or takes that back."""
        refusal, job = self.find_to_change(who, "write", name)
        if refusal:
            return refusal
        note = job.marks.get(number)
        if not note or (is_deleted and note.is_deleted):
            return 404
        note.is_deleted = is_deleted
        return 200
