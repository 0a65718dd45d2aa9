"""Steps of a conversation about a job with definitions of its own, which change while its lines come. The model reads these by itself."""

from fleet_model import Series
from smserver import quote, wait_until
from talking import DEFINED, SENDERS, STREAMS, verb

AGAIN = "algo-2"  # here steps come again; each of its lines has all words
WORDS = {"a": "fa", "b": "fb", "c": "fc"}  # of a line, and what a metric of it is called


def definition(metric, word):
    return {"Name": metric, "Regex": rf"step=(?<step>\d+) .*\b{word}=(\S+)"}


def draw_set(chance):
    words = chance.sample(sorted(WORDS), chance.randrange(1, 3))
    return [(WORDS[word] + chance.choice(["", "", "2"]), word) for word in sorted(words)]


@verb(4, lambda chance: {"who": chance.choice(SENDERS), "job": DEFINED, "own": draw_set(chance)})
def create_with_definitions(talk, who, job, own):
    document = {"TrainingJobName": talk.name(job), "AlgorithmSpecification": {"MetricDefinitions": [definition(*one) for one in own]}}
    status = talk.model.create(who, document)
    talk.expect(status, who, "POST", "/api/v1/jobs", json=document)
    if status == 201:
        talk.model.jobs[talk.name(job)].definitions = own


def read_lines(job, stream, first):
    """The points of its lines from this one on, by the definitions of now."""
    began = job.began.get(stream, {})
    for at, text in enumerate(job.lines[stream][first:], first):
        members = dict(part.split("=") for part in text.split() if "=" in part)
        if at in began:
            for metric, series in of_lines(job, stream):
                series.begin_again(began[at])
        for metric, word in job.definitions:
            if word in members and "step" in members:
                attempt = 1 + sum(line <= at for line in began)
                job.series.setdefault((stream, metric), Series()).add(int(members["step"]), float(members[word]), attempt)


def of_lines(job, stream):
    return [(metric, series) for (where, metric), series in job.series.items() if where == stream and metric != "sent"]


def draw_read(chance):
    stream = chance.choice(STREAMS)
    lines = [{word: chance.choice(["0.5", "2", "-1", "nan"]) for word in sorted(WORDS) if stream == AGAIN or chance.random() < 0.7} for _ in range(chance.randrange(1, 9))]
    return {"who": chance.choice(SENDERS), "job": DEFINED, "stream": stream, "lines": lines}


def next_step(known, stream):
    return max((int(text.split()[0].removeprefix("step=")) + 1 for text in known.lines.get(stream, []) if text.startswith("step=")), default=0)


def print_lines(talk, who, known, stream, step, lines, before=()):
    """before: lines in front of them."""
    first = len(known.lines.get(stream, []))
    texts = [*before, *(" ".join([f"step={step + n}", "it/s=3", *(f"{word}={value}" for word, value in line.items())]) for n, line in enumerate(lines))]
    status = talk.model.send_lines(who, known.name, stream, texts)
    talk.expect(status, who, "POST", f"/api/v1/logs?job={quote(known.name)}&stream={stream}", body="".join(text + "\n" for text in texts))
    if status != 200:
        return
    if before:
        known.began.setdefault(stream, {})[first + len(before)] = step
    read_lines(known, stream, first)


@verb(10, draw_read)
def send_read_lines(talk, who, job, stream, lines):
    known = talk.model.jobs.get(talk.name(job))
    if known and known.definitions is not None:
        print_lines(talk, who, known, stream, next_step(known, stream), lines)


@verb(4, lambda chance: {"who": chance.choice(SENDERS), "job": DEFINED, "back": chance.randrange(2, 6), "value": chance.choice(["0.5", "2"])})
def begin_again(talk, who, job, back, value):
    """From a checkpoint: some steps are made again, and the log goes on beyond them."""
    known = talk.model.jobs.get(talk.name(job))
    if not known or known.definitions is None:
        return
    step = next_step(known, AGAIN) - back
    if step > 0 and any(point[0] > step for _, series in of_lines(known, AGAIN) for point in series.live()):
        print_lines(talk, who, known, AGAIN, step, [{word: value for word in WORDS}] * 8, ["Resuming from checkpoint"])


@verb(3, lambda chance: {"who": chance.choice(SENDERS), "job": DEFINED, "value": chance.choice([1.5, -2])})
def send_beside_lines(talk, who, job, value):
    known = talk.model.jobs.get(talk.name(job))
    if not known or known.definitions is None:
        return
    step = sum(len(series.points) for key, series in known.series.items() if key[1] == "sent")
    status = talk.model.send_points(who, known.name, "algo-1", [("sent", step, value)], True)
    talk.expect(status, who, "POST", f"/api/v1/points?job={quote(known.name)}&stream=algo-1", json={"points": [{"metric": "sent", "step": step, "value": value}]})


def is_running(talk, job):
    backfill = talk.expect(200, "root", "GET", talk.path(job, "/definitions")).body["backfill"]
    return backfill and backfill["state"] == "running"


@verb(6, lambda chance: {"who": chance.choice(SENDERS), "job": DEFINED, "own": draw_set(chance), "is_backfill": chance.random() < 0.6, "is_killed": chance.random() < 0.1,
    "is_awaited": chance.random() < 0.6})
def change_definitions(talk, who, job, own, is_backfill, is_killed, is_awaited):
    refusal, known = talk.model.find_to_change(who, "write", talk.name(job))
    if not refusal and known.definitions is None:
        return
    if not refusal:
        wait_until(lambda: not is_running(talk, job), timeout=talk.patience_s, what="the back-fill before")
    is_refused = not refusal and is_backfill and any(known.deleted.values())
    status = refusal or (409 if is_refused else 202 if is_backfill else 200)
    talk.expect(status, who, "PUT", talk.path(job, f"/definitions?backfill={'true' if is_backfill else 'false'}"), json={"definitions": [definition(*one) for one in own]})
    if refusal or is_refused:
        return
    known.definitions = own
    if is_killed:
        talk.server.kill()
        talk.server.start()
    if is_backfill:
        read_again(known)
        if is_awaited:
            wait_until(lambda: not is_running(talk, job), timeout=talk.patience_s, what="the back-fill")


def read_again(known):
    known.series = {key: series for key, series in known.series.items() if key[1] == "sent"}
    for stream in known.lines:
        read_lines(known, stream, 0)
