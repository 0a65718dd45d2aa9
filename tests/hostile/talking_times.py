"""Steps of a conversation about a job of which all is told with times, late and out of order."""

import json

from fleet_history import ORDER
from smserver import quote, wait_until
from talking import ADMINS, DATED, EARLIER_MS, OLD, SENDERS, STREAMS, verb

MINUTES = 60
MESSAGES = ["", "", "the same", "other words"]


def at_ms(talk, second):
    return talk.began_ms - EARLIER_MS + second * 1000


def draw_statuses(chance):
    """On whole minutes: points are between them."""
    return {"who": chance.choice(SENDERS), "job": chance.choice([DATED, OLD]), "told": [(chance.choice(ORDER), 60 * chance.randrange(MINUTES), chance.choice(MESSAGES)) for _ in range(chance.randrange(1, 6))]}


@verb(9, draw_statuses)
def tell_statuses(talk, who, job, told):
    known = talk.model.jobs.get(talk.name(job))
    if known and known.deleted:
        return  # whether it trained between them nobody can ask the log any more
    for status, second, message in told:
        refusal, known = talk.model.find_to_change(who, "write", talk.name(job))
        wanted = refusal or (204 if known.tell(status, second) else 200)
        if wanted == 200 and message:
            wanted = (200, 204)  # its words may be news
        talk.expect(wanted, who, "POST", talk.path(job, "/transitions"), json={"SecondaryStatus": status, "time_ms": at_ms(talk, second), "StatusMessage": message})


def draw_trained(chance):
    """Its step follows from its time: whatever comes late, nothing began again."""
    return {"who": chance.choice(SENDERS), "job": DATED, "seconds": [60 * chance.randrange(MINUTES) + 30 for _ in range(chance.randrange(1, 5))], "value": chance.choice([0.5, 2, -1])}


@verb(7, draw_trained)
def tell_points(talk, who, job, seconds, value):
    status = talk.model.send_points(who, talk.name(job), "algo-1", [("m", second, value) for second in seconds], False)
    points = [{"metric": "m", "value": value, "step": second, "ts_ms": at_ms(talk, second)} for second in seconds]
    talk.expect(status, who, "POST", f"/api/v1/points?job={quote(talk.name(job))}&stream=algo-1", json={"points": points})
    if status == 200:
        talk.model.jobs[talk.name(job)].signs.update(seconds)


def draw_printed(chance):
    return {"who": chance.choice(SENDERS), "job": OLD, "stream": chance.choice(STREAMS), "seconds": [60 * chance.randrange(MINUTES) + 30 for _ in range(chance.randrange(1, 5))]}


@verb(7, draw_printed)
def tell_lines(talk, who, job, stream, seconds):
    texts = [f"at {second}" for second in seconds]
    status = talk.model.send_lines(who, talk.name(job), stream, texts)
    body = "".join(json.dumps({"line": text, "ts_ms": at_ms(talk, second)}) + "\n" for text, second in zip(texts, seconds))
    talk.expect(status, who, "POST", f"/api/v1/logs?job={quote(talk.name(job))}&stream={stream}", body=body, content_type="application/x-ndjson")
    if status == 200:
        talk.model.jobs[talk.name(job)].signs.update(seconds)


@verb(4, lambda chance: {"who": chance.choice(ADMINS), "job": OLD, "is_pinned": chance.random() < 0.2})
def let_text_go(talk, who, job, is_pinned):
    """By the job's own limit of age, for a moment: what ended or was heard last so long ago loses its text, but for a pinned job."""
    refusal, known = talk.model.find_to_change(who, "admin", talk.name(job))
    if not refusal and known.lines and not talk.seals:
        return
    if is_pinned and not refusal:
        talk.expect(200, who, "POST", talk.path(job, "/pin"), json={"pinned": True})
    limit(talk, who, job, refusal or 200)
    if refusal:
        return
    if not is_pinned:
        known.deleted = {stream: len(texts) for stream, texts in known.lines.items()}
        for stream, texts in known.lines.items():  # a limit that is set is looked at: else once a minute
            wait_until(lambda: limit(talk, who, job, 200) and is_gone(talk, job, stream, len(texts)), what=f"the text of {stream} to go")  # noqa: B023
    talk.expect(200, who, "PATCH", talk.path(job), json={"retention": None})
    if is_pinned:
        talk.expect(200, who, "POST", talk.path(job, "/pin"), json={"pinned": False})


def limit(talk, who, job, status):
    return talk.expect(status, who, "PATCH", talk.path(job), json={"retention": {"max_age_days": 1}})


def is_gone(talk, job, stream, count):
    reply = talk.ask("root", "GET", talk.path(job, f"/logs?stream={stream}&from=0&limit=1"))
    return reply.status == 410 and reply.body["first_kept_line"] == count
