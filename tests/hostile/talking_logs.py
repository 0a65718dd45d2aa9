"""Steps of a conversation that push lines by protocols whose clients send again until they are answered: Loki's and CloudWatch Logs'."""

import json

from talking import SENDERS, STREAMS, verb
from talking_doors import AWS_JOBS, refusal_of
from wire import loki_json, loki_push, snappy

GROUP = "/aws/sagemaker/TrainingJobs"
DAY_MS = 86_400_000


def draw_pushed(chance):
    """Some seconds and texts, in no order; few of each, so that many a push has been there."""
    entries = [(-1000 * chance.randrange(4), chance.choice(["one", "two", "  three", "tab\there"])) for _ in range(chance.randrange(1, 4))]
    return {"who": chance.choice(SENDERS), "job": chance.choice(["a", "b", "x/y é"]), "stream": chance.choice(STREAMS), "entries": entries, "form": chance.choice(["json", "protobuf"]),
        "lost": chance.choice([0, 0, 0, 2]), "times": chance.choice([1, 1, 2])}


@verb(7, draw_pushed)
def loki(talk, who, job, stream, entries, form, lost, times):
    """lost: entries beside them whose labels name no job. They are counted, and the others taken."""
    rows = [((talk.began_ms + after_ms) * 1_000_000, f"loki {text}") for after_ms, text in entries]
    streams = [({"job": talk.name(job), "stream": stream}, rows)] + ([({"x": "y"}, [rows[0]] * lost)] if lost else [])
    body, media = (json.dumps(loki_json(*streams)), "application/json") if form == "json" else (snappy(loki_push(*streams)), "application/x-protobuf")
    for _ in range(times):
        before = counted(talk, "no_job_lines")
        status = talk.model.push(who, talk.name(job), stream, tuple((form, *row) for row in rows), [text for _, text in rows])
        talk.expect({200: 204}.get(status, status), who, "POST", "/loki/api/v1/push", body=body, content_type=media)
        if status == 200:
            here = counted(talk, "no_job_lines") - before
            assert here == lost, f"{lost} entries have no job, and {here} were counted"


def counted(talk, name):
    return talk.expect(200, "root", "GET", "/api/v1/info").body["ingest"][name]


def draw_events(chance):
    """In the order of their times, as AWS asks: some too old or too new to be taken."""
    days = sorted(chance.choices([-20, -15, 0, 0, 0, 0, 0, 1], k=chance.randrange(1, 5)))
    kept = [chance.choice(["one", "two\nlines", "end\n"]) for _ in days]
    if chance.random() < 0.1:
        days.reverse()
    return {"who": chance.choice(SENDERS), "job": chance.choice(AWS_JOBS), "stream": chance.choice(STREAMS), "events": list(zip(days, kept)), "times": chance.choice([1, 1, 2])}


def ask_logs(talk, who, operation, body):
    reply = talk.ask(who, "POST", "/", json=body, headers={"X-Amz-Target": f"Logs_20140328.{operation}"}, content_type="application/x-amz-json-1.1")
    return reply, json.loads(reply.raw or b"{}")


def make_stream(talk, who, names, name, stream):
    """Whether it is there, and the token's to write to."""
    refusal = refusal_of(talk, who, "write", "", None)
    known = talk.model.jobs.get(name)
    if not refusal and known and not talk.model.owns(who, known):
        refusal = (403, "AccessDenied") if talk.model.may_read(who, known) else ((400, 403), "")
    is_there = known and (stream in known.lines or stream in known.made)
    reply, body = ask_logs(talk, who, "CreateLogStream", names)
    wanted = refusal or ((400, "ResourceAlreadyExists") if is_there else (200, ""))
    statuses = wanted[0] if isinstance(wanted[0], tuple) else (wanted[0],)
    assert reply.status in statuses and wanted[1] in body.get("__type", ""), (wanted, reply)
    if refusal:
        return False
    if not known:
        talk.model.jobs[name] = known = talk.model.make_job(name, talk.model.tokens[who].team)
    known.made.add(stream)
    return True


@verb(6, draw_events)
def put_log_events(talk, who, job, stream, events, times):
    names = {"logGroupName": GROUP, "logStreamName": f"{talk.name(job)}/{stream}"}
    if not make_stream(talk, who, names, talk.name(job), stream):
        return
    rows = [(talk.began_ms + days * DAY_MS, f"aws {text}") for days, text in events]
    taken = tuple(("aws", *row) for row, (days, _) in zip(rows, events) if days == 0)
    days = [day for day, _ in events]
    for _ in range(times):
        reply, body = ask_logs(talk, who, "PutLogEvents", {**names, "logEvents": [{"timestamp": ms, "message": text} for ms, text in rows]})
        if days != sorted(days):
            assert reply.status == 400 and "InvalidParameter" in body["__type"], reply
            return
        wanted = ({"tooOldLogEventEndIndex": sum(day < 0 for day in days)} if days[0] < 0 else {}) | ({"tooNewLogEventStartIndex": days.index(1)} if 1 in days else {})
        assert reply.status == 200 and body.get("rejectedLogEventsInfo", {}) == wanted, (reply, wanted)
        if taken:
            talk.model.push(who, talk.name(job), stream, taken, [line for _, _, text in taken for line in text.removesuffix("\n").split("\n")])
