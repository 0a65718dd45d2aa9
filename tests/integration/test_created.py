"""A job has one creation time, whoever asks: what is shown, listed, searched, sorted and carried is one value, and follows what is learned."""

import csv
import io
import json
import subprocess
import time
from datetime import datetime

import pytest

from engine import of_a_file
from awsclients import boto
from olddb import as_version
from smserver import quote, wait_until
from test_events import T0 as EVENT_MS
from test_events import event, post
from test_life import MINUTE_MS, T0, job_of, line, state

HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
STEPS = 4
LAST_MS = T0 + (STEPS - 1) * MINUTE_MS


def log_of(begin_ms):
    return [line(begin_ms + n * MINUTE_MS, f"step: {n} loss: 2.5") for n in range(STEPS)]


def iso(ms):
    return datetime.utcfromtimestamp(ms / 1000).isoformat(timespec="milliseconds") + "Z"


def announce(server, name):
    before_ms = int(time.time() * 1000)
    assert server.post("/api/v1/jobs", json={"TrainingJobName": name}).status == 201
    created_ms = shown_ms(server, name)
    assert before_ms <= created_ms <= time.time() * 1000
    return created_ms


def shown_ms(server, name):
    return round(job_of(server, name)["CreationTime"] * 1000)


def faces(server, aws, name):
    """{who prints it: when the job was created}, to the ms where they print it so."""
    only = f"q=name%3D{name}"
    printed = subprocess.run([server.bin("sm-search"), "--server", server.url, f"name={name}", "--ndjson"], capture_output=True, text=True,
        timeout=60, check=True).stdout
    [sheet] = csv.DictReader(io.StringIO(server.get(f"/api/v1/jobs?format=csv&fields=TrainingJobName,created&{only}").body))
    [listed] = server.get(f"/api/v1/jobs?{only}").body["jobs"]
    [summary] = aws.list_training_jobs(NameContains=name)["TrainingJobSummaries"]
    [found] = aws.search(Resource="TrainingJob", SearchExpression={
        "Filters": [{"Name": "TrainingJobName", "Operator": "Equals", "Value": name}]})["Results"]
    return {
        "GET": shown_ms(server, name),
        "list": round(listed["CreationTime"] * 1000),
        "sm-search": round(json.loads(printed)["CreationTime"] * 1000),
        "CSV": round(float(sheet["created"]) * 1000),
        "export": json.loads(server.get(f"/api/v1/export?{only}").raw.split(b"\n")[0])["created_ms"],
        "DescribeTrainingJob": round(aws.describe_training_job(TrainingJobName=name)["CreationTime"].timestamp() * 1000),
        "ListTrainingJobs": round(summary["CreationTime"].timestamp() * 1000),
        "Search": round(found["TrainingJob"]["CreationTime"].timestamp() * 1000)}


def finders(server, aws, from_ms, to_ms):
    """{who looks for it: the jobs that were created between the two, these among them}"""
    window = quote(f"created>={iso(from_ms)} created<={iso(to_ms)}")
    printed = subprocess.run([server.bin("sm-search"), "--server", server.url, f"created>={iso(from_ms)} created<={iso(to_ms)}", "--ndjson"],
        capture_output=True, text=True, timeout=60, check=False).stdout
    filters = [{"Name": "CreationTime", "Operator": operator, "Value": iso(ms)}
        for operator, ms in (("GreaterThanOrEqualTo", from_ms), ("LessThanOrEqualTo", to_ms))]
    listed = aws.list_training_jobs(CreationTimeAfter=from_ms // 1000 - 1, CreationTimeBefore=to_ms // 1000 + 1, MaxResults=100)  # whole seconds, in boto3
    return {
        "GET /jobs": names(server.get(f"/api/v1/jobs?q={window}").body["jobs"]),
        "sm-search": names(json.loads(text) for text in printed.splitlines()),
        "export": sorted(row["name"] for row in map(json.loads, server.get(f"/api/v1/export?q={window}").body.splitlines()) if row["record"] == "job"),
        "ListTrainingJobs": names(listed["TrainingJobSummaries"]),
        "Search": names(row["TrainingJob"] for row in aws.search(Resource="TrainingJob", SearchExpression={"Filters": filters})["Results"])}


def names(rows):
    return sorted(row["TrainingJobName"] for row in rows)


def expect_one(server, aws, name, created_ms):
    def all_say():
        said = faces(server, aws, name)
        assert set(said.values()) == {created_ms}, {face: ms - created_ms for face, ms in said.items() if ms != created_ms}
        found = finders(server, aws, created_ms, created_ms)
        assert all(name in rows for rows in found.values()), found
        return True
    wait_until(all_say, what=f"{name} to be created at {created_ms}, whoever is asked")


def walk(server, sort, limit):
    """Page after page."""
    rows, cursor = [], ""
    while True:
        reply = server.get(f"/api/v1/jobs?sort={sort}&limit={limit}" + (f"&cursor={quote(cursor)}" if cursor else "")).body
        rows += reply["jobs"]
        cursor = reply.get("next_cursor")
        if not cursor:
            return [row["TrainingJobName"] for row in rows]


@pytest.fixture
def aws(server):
    return boto(server, "sagemaker")


def test_lines_that_are_older_than_the_document(server, aws):
    announce(server, "old-lines")
    server.send("old-lines", log_of(T0))
    expect_one(server, aws, "old-lines", T0)


def test_lines_without_a_document(server, aws):
    server.send("no-document", log_of(T0))
    expect_one(server, aws, "no-document", T0)


def test_a_document_that_is_older_than_the_lines(server, aws):
    created_ms = announce(server, "old-document")
    server.send("old-document", ["step: 1 loss: 2.5", "step: 2 loss: 2.4"])
    wait_until(lambda: job_of(server, "old-document")["SecondaryStatus"] == "Training", what="its start")
    expect_one(server, aws, "old-document", created_ms)
    # and as an event says outright, which is before what it says of its start
    post(server, event("of-aws", upto=3))
    server.send("of-aws", log_of(EVENT_MS + HOUR_MS))
    expect_one(server, aws, "of-aws", EVENT_MS)


def test_one_that_was_set_back_by_hand(server, aws):
    created_ms = announce(server, "by-hand")
    server.send("by-hand", log_of(T0))
    expect_one(server, aws, "by-hand", T0)
    for start_ms, wanted_ms in ((T0 - HOUR_MS, T0 - HOUR_MS), (T0 + MINUTE_MS, T0 + MINUTE_MS), (None, T0)):
        assert server.patch("/api/v1/jobs/by-hand", json={"by_hand": {"start_ms": start_ms}}).status == 200
        expect_one(server, aws, "by-hand", wanted_ms)
    assert created_ms > T0 + MINUTE_MS


@pytest.mark.parametrize("order", ["end first", "lines first"])
def test_an_end_that_is_told_before_the_start(server, aws, order):
    announce(server, "ended")
    if order == "lines first":
        server.send("ended", log_of(T0))
    state(server, "Completed", name="ended", time_ms=LAST_MS)
    if order == "end first":  # until its start is known, it was there when it ended at the latest
        expect_one(server, aws, "ended", LAST_MS)
        server.send("ended", log_of(T0))
    expect_one(server, aws, "ended", T0)
    state(server, "Downloading", name="ended", time_ms=T0 - 2 * MINUTE_MS)
    expect_one(server, aws, "ended", T0 - 2 * MINUTE_MS)


def test_what_was_learned_wrongly_is_taken_back(server, aws):
    """A lone old date is the start until there is more of the log; a job is as old as what counts then."""
    created_ms = announce(server, "stray")
    server.send("stray", [line(T0 - 300 * DAY_MS, "image built")])
    expect_one(server, aws, "stray", T0 - 300 * DAY_MS)
    server.send("stray", log_of(T0))
    expect_one(server, aws, "stray", T0)
    assert created_ms > T0


def make_many(server):
    """{name: created_ms}: announced in the order of their numbers, of the past in the other."""
    wanted = {}
    for number in range(7):
        name, begin_ms = f"many-{number}", T0 - number * DAY_MS
        announce(server, name)
        server.send(name, log_of(begin_ms))
        wanted[name] = begin_ms
    wanted["now"] = announce(server, "now")
    wait_until(lambda: {name: shown_ms(server, name) for name in wanted} == wanted, what="all their starts")
    return wanted


def test_lists_are_sorted_and_cut_by_what_they_show(server, aws):
    wanted = make_many(server)
    by_age = sorted(wanted, key=wanted.get)
    for limit in (1, 3, 100):
        assert walk(server, "created", limit) == by_age
        assert walk(server, "-created", limit) == by_age[::-1]
    pages = aws.get_paginator("list_training_jobs").paginate(SortBy="CreationTime", SortOrder="Descending", PaginationConfig={"PageSize": 3})
    assert [row["TrainingJobName"] for page in pages for row in page["TrainingJobSummaries"]] == by_age[::-1]
    for who, found in finders(server, aws, wanted["many-3"], wanted["many-1"]).items():
        assert found == ["many-1", "many-2", "many-3"], who


def test_a_job_that_is_carried_keeps_it_and_follows_what_is_learned(make_server):
    here, there = make_server(), make_server()
    announced_ms = announce(here, "carried")
    here.send("carried", log_of(T0))
    wait_until(lambda: shown_ms(here, "carried") == T0, what="its start")
    job, *rest = here.get("/api/v1/export?q=name%3Dcarried").body.splitlines()
    stored = json.loads(job)
    older = {key: value for key, value in stored.items() if key != "announced_ms"} | {"created_ms": announced_ms}  # as it was exported before
    for record in (stored, older):
        assert there.post("/api/v1/import", "\n".join([json.dumps(record), *rest]) + "\n", content_type="application/x-ndjson").body["imported"] == 1
        expect_one(there, boto(there, "sagemaker"), "carried", T0)
        assert there.patch("/api/v1/jobs/carried", json={"by_hand": {"start_ms": T0 + MINUTE_MS}}).status == 200
        expect_one(there, boto(there, "sagemaker"), "carried", T0 + MINUTE_MS)
        state(there, "Completed", name="carried", time_ms=LAST_MS)
        assert there.delete("/api/v1/jobs/carried").status == 204


@of_a_file("one of an older version")
def test_an_older_database_is_mended(make_server):
    server = make_server()
    wanted = make_many(server)
    announced_ms = wanted["now"]
    state(server, "Completed", name="many-6", time_ms=wanted["many-6"] + HOUR_MS)
    post(server, event("of-aws"))
    wanted["of-aws"] = EVENT_MS
    # the time of the announcement stood in the row, or of what was told first
    stored = {name: announced_ms for name in wanted} | {"many-6": wanted["many-6"] + HOUR_MS, "of-aws": EVENT_MS}
    with as_version(server, 39) as database:
        for name, created_ms in stored.items():
            assert database.execute("UPDATE jobs SET created_ms = ? WHERE name = ?", (created_ms, name)).rowcount == 1
    server.start()
    aws = boto(server, "sagemaker")
    for name, created_ms in wanted.items():
        expect_one(server, aws, name, created_ms)
    assert walk(server, "created", 3) == sorted(wanted, key=wanted.get)
    # and it follows what is learned from there on, and what is taken back
    server.send("now", log_of(T0 - 20 * DAY_MS))
    expect_one(server, aws, "now", T0 - 20 * DAY_MS)
    assert server.patch("/api/v1/jobs/now", json={"by_hand": {"start_ms": announced_ms + DAY_MS // 2}}).status == 200
    expect_one(server, aws, "now", announced_ms)
