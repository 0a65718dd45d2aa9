"""Steps of a conversation by REST: jobs, points, lines, statuses, the trash, notes; and kills."""

import json

from smserver import quote
from talking import ADMINS, ANY_JOBS, DATED, DEFINED, JOBS, KEPT_JOBS, METRICS, OLD, PHASES, READERS, SENDERS, STEPS, STREAMS, TEXTS, VALUES, told, verb


def draw_document(chance):
    document = {"HyperParameters": {key: chance.choice(["0.1", "8", "adam"]) for key in chance.sample(["lr", "batch", "opt"], chance.randrange(3))}}
    if chance.random() < 0.6:
        document["Tags"] = [{"Key": key, "Value": chance.choice(["red", "blue"])} for key in chance.sample(["colour", "owner"], chance.randrange(1, 3))]
    return {"who": chance.choice(SENDERS), "job": chance.choice([*JOBS, *JOBS, DATED, OLD]), "document": document}


@verb(5, draw_document)
def create(talk, who, job, document):
    document = {"TrainingJobName": talk.name(job), **document}
    talk.expect(talk.model.create(who, document), who, "POST", "/api/v1/jobs", json=document)


def draw_points(chance):
    form, step_kind = chance.choice(["columns", "objects", "array", "ndjson", "csv"]), chance.choice(["all", "all", "none", "some"])
    metrics = chance.sample(METRICS, chance.randrange(1, 3))
    rows = []
    for _ in range(chance.randrange(1, 9)):
        has_step = step_kind == "all" or (step_kind == "some" and form not in ("columns", "csv") and chance.random() < 0.5)
        rows.append((chance.choice(metrics), chance.choice(STEPS) if has_step else None, chance.choice(VALUES)))
    return {"who": chance.choice(SENDERS), "job": chance.choice(JOBS), "stream": chance.choice(STREAMS), "form": form, "rows": rows, "is_of_now": chance.random() < 0.5}


def point_object(talk, row, is_of_now):
    metric, step, value = row
    return {"metric": metric, "value": told(value)} | ({} if step is None else {"step": step}) | ({} if is_of_now else {"ts_ms": talk.began_ms})


def points_body(talk, form, rows, is_of_now):
    """(body, content type)."""
    objects = [point_object(talk, row, is_of_now) for row in rows]
    if form == "columns":
        order = {metric: [row for row in rows if row[0] == metric] for metric in dict.fromkeys(row[0] for row in rows)}
        series = []
        for metric, own in order.items():
            one = {"metric": metric, "value": [told(value) for _, _, value in own]}
            one |= {"step": [step for _, step, _ in own]} if own[0][1] is not None else {}
            series.append(one | ({} if is_of_now else {"ts_ms": [talk.began_ms] * len(own)}))
        return json.dumps({"series": series}), "application/json"
    if form == "ndjson":
        return "".join(json.dumps(one) + "\n" for one in objects), "application/x-ndjson"
    if form == "csv":
        has_step = rows[0][1] is not None
        head = ["metric", *(["step"] if has_step else []), *([] if is_of_now else ["ts_ms"]), "value"]
        cells = [['"' + one["metric"].replace('"', '""') + '"', *(str(one[key]) for key in head[1:])] for one in objects]
        return "".join(",".join(row) + "\n" for row in [head, *cells]), "text/csv"
    return json.dumps({"points": objects} if form == "objects" else objects), "application/json"


@verb(14, draw_points)
def send_points(talk, who, job, stream, form, rows, is_of_now):
    body, media = points_body(talk, form, rows, is_of_now)
    status = talk.model.send_points(who, talk.name(job), stream, rows, is_of_now)
    reply = talk.expect(status, who, "POST", f"/api/v1/points?job={quote(talk.name(job))}&stream={stream}", body=body, content_type=media)
    assert status != 200 or (reply.body["accepted"], reply.body["rejected"]) == (len(rows), 0), reply


@verb(8, lambda chance: {"who": chance.choice(SENDERS), "job": chance.choice(JOBS), "stream": chance.choice(STREAMS), "texts": chance.choices(TEXTS, k=chance.randrange(1, 5))})
def send_lines(talk, who, job, stream, texts):
    status = talk.model.send_lines(who, talk.name(job), stream, texts)
    reply = talk.expect(status, who, "POST", f"/api/v1/logs?job={quote(talk.name(job))}&stream={stream}", body="".join(text + "\n" for text in texts))
    assert status != 200 or (reply.body["accepted"], reply.body["rejected"]) == (len(texts), 0), reply


@verb(10, lambda chance: {"who": chance.choice(SENDERS), "job": chance.choice([*ANY_JOBS, DEFINED]), "phase": chance.choice(PHASES)})
def state(talk, who, job, phase):
    status = talk.model.state(who, talk.name(job), phase)
    talk.expect(status, who, "POST", talk.path(job, "/transitions"), json={"SecondaryStatus": phase})


def draw_changes(chance):
    changes = {}
    for key in chance.sample(["tags", "hp", "notes", "labels"], chance.randrange(1, 4)):
        changes[key] = {"tags": {chance.choice(["colour", "owner", "new"]): chance.choice(["red", "blue", None])}, "hp": {chance.choice(["lr", "seed"]): chance.choice(["0.2", "7"])},
            "notes": chance.choice(["seen", "to be\nrepeated", None]), "labels": chance.choice([["paper"], ["paper", "k=v"], None])}[key]
    return {"who": chance.choice(SENDERS), "job": chance.choice(KEPT_JOBS), "changes": changes}


@verb(5, draw_changes)
def patch(talk, who, job, changes):
    talk.expect(talk.model.patch(who, talk.name(job), changes), who, "PATCH", talk.path(job), json=changes)


@verb(7, lambda chance: {"who": chance.choice(ADMINS), "job": chance.choice(KEPT_JOBS), "is_for_good": chance.random() < 0.25})
def delete(talk, who, job, is_for_good):
    status = talk.model.delete(who, talk.name(job), is_for_good)
    path = talk.path(job, "?purge=true" if is_for_good else "")

    talk.expect_of(talk.asked_again(lambda: talk.ask(who, "DELETE", path)), status, f"DELETE {path} by {who}")


@verb(5, lambda chance: {"who": chance.choice(ADMINS), "job": chance.choice(KEPT_JOBS)})
def restore(talk, who, job):
    status = talk.model.restore(who, talk.name(job))
    reply = talk.expect(status, who, "POST", talk.path(job, "/restore"))
    if status == 200:
        talk.model.take_back(talk.model.thrown(talk.name(job))[-1], reply.body["TrainingJobName"])


@verb(3, lambda chance: {"who": chance.choice(ADMINS), "which": chance.randrange(6), "is_for_good": chance.random() < 0.4})
def choose_from_the_trash(talk, who, which, is_for_good):
    """By its id: restored, or gone for good."""
    if not talk.model.trash:
        return None
    job = talk.model.trash[which % len(talk.model.trash)]
    rows = [row["id"] for row in talk.rows_of_trash("root")]
    number = rows[len(rows) - 1 - talk.model.trash.index(job)]
    method, path = ("DELETE", f"?purge=true&id={number}") if is_for_good else ("POST", f"/restore?id={number}")
    status = talk.model.choose_thrown(who, job, 204 if is_for_good else 200)
    reply = talk.expect(status, who, method, talk.path(talk.short(job), path))
    if status == 204:
        talk.model.trash.remove(job)
    elif status == 200:
        talk.model.take_back(job, reply.body["TrainingJobName"])
    return talk.short(job)


@verb(2, lambda chance: {"who": chance.choice(READERS)})
def look_into_the_trash(talk, who):
    talk.compare_trash(who)


@verb(3, lambda chance: {"who": chance.choice(SENDERS), "job": chance.choice(KEPT_JOBS), "step": chance.choice(STEPS), "text": chance.choice(TEXTS)})
def write_note(talk, who, job, step, text):
    status = talk.model.write_note(who, talk.name(job))
    reply = talk.expect(status, who, "POST", talk.path(job, "/notes"), json={"step": step, "text": text})
    if status == 201:
        talk.model.keep_note(who, talk.name(job), reply.body["id"], step, text)


def number_of_note(talk, job, which):
    """Of those that the job has had; else one that nobody has."""
    known = talk.model.jobs.get(talk.name(job))
    numbers = sorted(known.marks) if known else []
    return numbers[which % len(numbers)] if numbers else 999_999_999


@verb(2, lambda chance: {"who": chance.choice(SENDERS), "job": chance.choice(KEPT_JOBS), "which": chance.randrange(5), "text": chance.choice(TEXTS)})
def change_note(talk, who, job, which, text):
    number = number_of_note(talk, job, which)
    talk.expect(talk.model.change_note(who, talk.name(job), number, text), who, "PATCH", talk.path(job, f"/notes/{number}"), json={"text": text})


@verb(3, lambda chance: {"who": chance.choice(SENDERS), "job": chance.choice(KEPT_JOBS), "which": chance.randrange(5), "is_deleted": chance.random() < 0.6})
def delete_note(talk, who, job, which, is_deleted):
    number = number_of_note(talk, job, which)
    status, path = talk.model.delete_note(who, talk.name(job), number, is_deleted), talk.path(job, f"/notes/{number}")
    if is_deleted:
        talk.expect(status, who, "DELETE", path)
    else:
        talk.expect(status, who, "PATCH", path, json={"deleted": False})


@verb(1, lambda chance: {"who": "root", "is_killed": chance.random() < 0.7})
def start_again(talk, who, is_killed):
    if is_killed:
        talk.server.kill()
    else:
        talk.server.stop()
    talk.server.start()
