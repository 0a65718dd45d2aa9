"""Limits on log text: the oldest of ended, unpinned jobs goes first; points, documents and incidents stay."""

import os
import random
import sqlite3
import time

import pytest

from engine import of_a_file
from smserver import quote, wait_until

DAY_MS = 86_400_000


def noise(rng, count):
    """Lines that do not compress to nothing."""
    return [f"step {i} loss={rng.random():.6f} {rng.randbytes(48).hex()}" for i in range(count)]


def end_job(server, job, days_ago):
    reply = server.post(f"/api/v1/jobs/{quote(job)}/transitions",
        json={"SecondaryStatus": "Completed", "time_ms": int(time.time() * 1000) - days_ago * DAY_MS})
    assert reply.status < 300, reply


def fill(server, job, days_ago, rng, count=8000):
    definition = {"Name": "loss", "Regex": r"step (?<step>\d+) loss=(?<value>\S+)"}
    reply = server.post("/api/v1/jobs", json={"TrainingJobName": job, "AlgorithmSpecification": {"MetricDefinitions": [definition]}})
    assert reply.status == 201, reply
    server.send(job, noise(rng, count))
    end_job(server, job, days_ago)
    server.wait_for_points(job, "loss", count)


def first_line(server, job):
    return server.get(f"/api/v1/jobs/{job}/logs?stream=algo-1&from=0&limit=1")


def wait_until_sealed(server, jobs):
    wait_until(lambda: sum(row["job"] in jobs for row in server.get("/api/v1/retention").body["forecast"]["next"]) == len(jobs),
        what=f"the sealer to have all of {jobs}")


def used_when_sealed(server):
    """What the database uses once nothing of what was sent is on its way to another place in it."""
    wait_until(lambda: server.figure("sealed_lines_total") >= 24000 and server.figure("sealed_points_total") >= 24000, what="the ended jobs to be sealed")
    wait_until(lambda: server.figure("journal_bytes") < 200_000, what="what is sealed to leave the journal")
    now_ms = time.time() * 1000
    look = wait_until(lambda: ((body := server.get("/api/v1/retention").body)["used_at_ms"] or 0) > now_ms and body, what="another look")
    return look["used_bytes"]


@pytest.fixture
def filled(make_server):
    server = make_server("--seal-age", "100ms", "--log-bytes", "0")
    rng = random.Random(1)
    for job, days in (("old", 30), ("pinned", 40), ("new", 2)):
        fill(server, job, days, rng)
    assert server.post("/api/v1/jobs/pinned/pin", json={"pinned": True}).body == {"job": "pinned", "pinned": True}
    server.send("running", noise(rng, 2000))
    wait_until_sealed(server, ["old", "new"])
    return server


@of_a_file("--log-bytes is refused on PostgreSQL")
def test_over_the_budget_the_job_that_ended_first_loses_its_text_and_nothing_else(filled):
    used = used_when_sealed(filled)
    points = filled.points("old", "loss")["total_points"]
    assert filled.put("/api/v1/retention", json={"log_bytes": used - 200_000}).status == 200
    wait_until(lambda: first_line(filled, "old").status == 410, what="the oldest text to go")
    gone = first_line(filled, "old").body
    assert gone["first_kept_line"] == 8000 and "budget" in gone["detail"] and "lines 0 to 7999" in gone["detail"]
    assert filled.points("old", "loss")["total_points"] == points
    raw = filled.get("/api/v1/jobs/old/logs/raw")
    assert raw.status == 410 and raw.body["first_kept_line"] == 8000 and "budget" in raw.body["detail"], raw
    stream = filled.get("/api/v1/jobs/old/streams").body["streams"][0]
    assert stream["deleted_lines"] == 8000 and stream["lines"] == 8000 and stream["deleted_ms"] > 0
    for job in ("pinned", "new", "running"):
        assert first_line(filled, job).status == 200, job
    # below the budget nothing more goes, also over a restart, which remembers what was deleted
    filled.restart()
    wait_until(lambda: filled.get("/api/v1/retention").body["used_bytes"], what="the first look")
    assert first_line(filled, "old").status == 410 and first_line(filled, "new").status == 200


def test_the_text_as_it_came_begins_behind_what_was_deleted(filled):
    assert filled.patch("/api/v1/jobs/old", json={"retention": {"max_age_days": 20}}).status == 200
    wait_until(lambda: first_line(filled, "old").status == 410, what="the job's own age limit")
    assert filled.patch("/api/v1/jobs/old", json={"retention": None}).status == 200
    filled.send("old", ["one", "two"])
    for window in ("", "?from=7990&limit=50"):
        raw = filled.get(f"/api/v1/jobs/old/logs/raw{window}")
        assert raw.status == 200 and raw.raw == b"one\ntwo\n" and raw.headers["X-First-Line"] == "8000", (window, raw)
    gone = filled.get("/api/v1/jobs/old/logs/raw?from=10&limit=50")
    assert gone.status == 410 and gone.body["first_kept_line"] == 8000, gone


@of_a_file("--log-bytes is refused on PostgreSQL")
def test_what_the_configuration_states_is_there_again_after_a_start_and_told(make_server):
    server = make_server("--log-bytes", "3GiB")
    reply = server.put("/api/v1/retention", json={"log_bytes": 5 << 30}).body
    assert reply["log_bytes"] == 5 << 30
    assert reply["stated"] == {"log_bytes": 3 << 30, "by": "the command line"}  # which is what the next start sets
    assert server.get("/api/v1/retention").body["stated"] == reply["stated"]
    server.restart()
    assert server.get("/api/v1/retention").body["log_bytes"] == 3 << 30
    told = server.get("/api/v1/audit?limit=1").body["entries"][0]
    assert (told["verb"], told["object"], told["before"], told["after"]) == ("start", "retention", {"log_bytes": str(5 << 30)}, {"log_bytes": str(3 << 30)})
    server.put("/api/v1/retention", json={"log_bytes": 1 << 30})
    assert server.get("/api/v1/audit?limit=1").body["entries"][0]["before"] == {"log_bytes": str(3 << 30)}


@of_a_file("--log-bytes is refused on PostgreSQL")
def test_who_changes_a_limit_learns_that_the_config_file_states_another(make_server, tmp_path):
    config = tmp_path / "server.conf"
    config.write_text("log-bytes = 3GiB\n")
    server = make_server("--config", str(config))
    assert server.put("/api/v1/retention", json={"log_bytes": 5 << 30}).body["stated"] == {"log_bytes": 3 << 30, "by": "the config file"}


def test_where_nothing_is_stated_a_limit_stays(make_server):
    server = make_server()
    assert "stated" not in server.put("/api/v1/retention", json={"max_age_days": 5}).body


def test_a_checkpoint_outlives_the_line_that_named_its_path(make_server):
    server = make_server("--seal-age", "100ms", "--log-bytes", "0")
    server.send("saved", ["step: 80 | loss: 2.5", "saved checkpoint to /ckpt/step-80 at step 80"])
    end_job(server, "saved", 30)
    def listed():
        return server.get("/api/v1/jobs/saved/checkpoints").body["checkpoints"]
    row, = wait_until(listed, what="the checkpoint")
    wait_until_sealed(server, ["saved"])
    assert listed() == [row] and row["path"] == "/ckpt/step-80"
    assert server.patch("/api/v1/jobs/saved", json={"retention": {"max_age_days": 20}}).status == 200
    wait_until(lambda: first_line(server, "saved").status == 410, what="its text to go")
    assert listed() == [{key: value for key, value in row.items() if key != "path"}]
    newest = server.get("/api/v1/jobs/saved/restart").body["checkpoint"]
    assert (newest["step"], newest["path"], newest["text"]) == (80, None, None)


@of_a_file("--log-bytes is refused on PostgreSQL")
def test_a_pin_keeps_and_without_it_the_text_goes(filled):
    assert filled.put("/api/v1/retention", json={"log_bytes": 1}).status == 200
    wait_until(lambda: first_line(filled, "new").status == 410, what="all that may go to be gone")
    assert first_line(filled, "pinned").status == 200 and first_line(filled, "running").status == 200
    filled.post("/api/v1/jobs/pinned/pin", json={"pinned": False})
    wait_until(lambda: first_line(filled, "pinned").status == 410, what="the text that was pinned to go")
    assert first_line(filled, "running").status == 200


def test_limits_of_age_and_size_of_server_team_and_job(filled):
    reply = filled.put("/api/v1/retention", json={"max_age_days": 35})
    assert reply.body["max_age_days"] == 35
    assert filled.patch("/api/v1/jobs/old", json={"retention": {"max_age_days": 20}}).body == {"job": "old", "retention": {"max_age_days": 20}}
    wait_until(lambda: first_line(filled, "old").status == 410, what="the job's own age limit")
    assert "age" in first_line(filled, "old").body["detail"]
    assert first_line(filled, "new").status == 200 and first_line(filled, "pinned").status == 200


def test_a_limit_of_size_keeps_the_newest_whole_blocks(make_server):
    server = make_server("--seal-age", "100ms", "--log-bytes", "0")
    lines = 24_000
    fill(server, "big", 2, random.Random(2), lines)
    wait_until(lambda: server.figure("sealed_lines_total") >= lines, what="its blocks")

    def stored():
        return server.sql("SELECT count(*), sum(raw_bytes), max(raw_bytes), max(first_line + line_count) FROM blocks")[0]
    blocks, text, largest, _ = stored()
    assert blocks >= 3 and text > 2_000_000
    limit = text - 1000
    assert server.patch("/api/v1/jobs/big", json={"retention": {"max_bytes": limit}}).status == 200
    wait_until(lambda: first_line(server, "big").status == 410, what="its oldest block to go")
    assert "size" in first_line(server, "big").body["detail"]
    assert limit - largest <= stored()[1] <= limit and stored()[0] == blocks - 1
    assert server.patch("/api/v1/jobs/big", json={"retention": {"max_bytes": 1}}).status == 200
    wait_until(lambda: stored()[0] == 1, what="all but its newest block to go")
    assert server.patch("/api/v1/jobs/big", json={"retention": {"max_bytes": 2}}).status == 200
    before = server.get("/api/v1/retention").body["used_at_ms"]
    wait_until(lambda: server.get("/api/v1/retention").body["used_at_ms"] > before, what="another look")
    assert stored()[0] == 1 and stored()[3] == lines
    assert server.get(f"/api/v1/jobs/big/logs?stream=algo-1&from={lines - 1}&limit=1").body["lines"][0]["n"] == lines - 1
    assert notices(server) == []


def test_what_will_go_within_a_week_is_said_before(filled):
    filled.patch("/api/v1/jobs/old", json={"retention": {"max_age_days": 33}})

    def told():
        rows = filled.get("/api/v1/incidents?kind=retention_due").body["incidents"]
        return rows or None
    incident = wait_until(told, what="the notice")
    assert [row["job"] for row in incident] == ["old"] and incident[0]["severity"] == "warning"
    assert first_line(filled, "old").status == 200


def notices(server, state=""):
    return [(row["job"], row["state"]) for row in server.get(f"/api/v1/incidents?kind=retention_due{state and '&state=' + state}").body["incidents"]]


def test_of_what_has_gone_nobody_is_warned(filled):
    for job, days in (("old", 20), ("new", 1)):
        assert filled.patch(f"/api/v1/jobs/{job}", json={"retention": {"max_age_days": days}}).status == 200
        wait_until(lambda: first_line(filled, job).status == 410, what="its text to go")
    assert filled.patch("/api/v1/jobs/pinned", json={"retention": {"max_age_days": 43}}).status == 200
    filled.post("/api/v1/jobs/pinned/pin", json={"pinned": False})
    wait_until(lambda: ("pinned", "open") in notices(filled), what="the notice of one that is due in three days: all were looked at")
    assert notices(filled) == [("pinned", "open")]


def test_a_warning_is_over_when_its_limit_is_raised(filled):
    """Else it would stay for ever, and stand for the week's notice of a day far off."""
    assert filled.patch("/api/v1/jobs/old", json={"retention": {"max_age_days": 33}}).status == 200
    wait_until(lambda: notices(filled, "open") == [("old", "open")], what="the notice")
    assert filled.patch("/api/v1/jobs/old", json={"retention": {"max_age_days": 90}}).status == 200
    wait_until(lambda: notices(filled) == [("old", "recovered")], what="the notice to end")
    assert first_line(filled, "old").status == 200
    assert filled.patch("/api/v1/jobs/old", json={"retention": {"max_age_days": 34}}).status == 200
    wait_until(lambda: notices(filled, "open") == [("old", "open")], what="the notice of the new day")


def test_a_warning_is_over_when_the_text_has_gone_or_is_kept(filled):
    for job, days in (("old", 33), ("new", 5)):
        assert filled.patch(f"/api/v1/jobs/{job}", json={"retention": {"max_age_days": days}}).status == 200
    wait_until(lambda: sorted(notices(filled, "open")) == [("new", "open"), ("old", "open")], what="both notices")
    assert filled.patch("/api/v1/jobs/old", json={"retention": {"max_age_days": 20}}).status == 200
    wait_until(lambda: notices(filled, "open") == [("new", "open")], what="the text to go, and its notice")
    assert first_line(filled, "old").status == 410
    assert filled.post("/api/v1/jobs/new/pin", json={"pinned": True}).status == 200
    wait_until(lambda: notices(filled, "open") == [], what="the notice of what is pinned to end")
    assert filled.post("/api/v1/jobs/new/pin", json={"pinned": False}).status == 200
    wait_until(lambda: notices(filled, "open") == [("new", "open")], what="another notice")


@of_a_file("--log-bytes is refused on PostgreSQL")
@pytest.mark.parametrize("program", ["this one", "an older one"])
def test_a_limit_that_nobody_stated_deletes_nothing_that_was_not_said_a_week_before(make_server, program):
    server = make_server("--seal-age", "100ms")
    rng = random.Random(4)
    for job, days in (("first", 30), ("second", 20)):
        fill(server, job, days, rng, 4000)
    wait_until_sealed(server, ["first", "second"])

    def change(*statements):
        server.stop()
        with sqlite3.connect(server.database) as database:
            for statement in statements:
                database.execute(statement)
        database.close()
        server.start()
    marker = ["DELETE FROM settings WHERE key = 'log_bytes_chosen'"] if program == "an older one" else []
    change("UPDATE settings SET value = CAST('1000' AS BLOB) WHERE key = 'log_bytes'", *marker)
    wait_until(lambda: sorted(notices(server, "open")) == [("first", "open"), ("second", "open")], what="notices of both")
    due = {one[0] for one in server.sql(f"SELECT round((value - {time.time() * 1000}) / {DAY_MS}) FROM incidents")}
    assert due == {7}
    before = server.get("/api/v1/retention").body["used_at_ms"]
    wait_until(lambda: (server.get("/api/v1/retention").body["used_at_ms"] or 0) > (before or 0), what="another look")
    assert first_line(server, "first").status == 200 and first_line(server, "second").status == 200
    change(f"UPDATE incidents SET opened_ms = opened_ms - {8 * DAY_MS} WHERE job_id = (SELECT job_id FROM jobs WHERE name = 'first')")
    wait_until(lambda: first_line(server, "first").status == 410, what="what was said a week before to go")
    wait_until(lambda: notices(server, "open") == [("second", "open")], what="its notice to end")
    assert first_line(server, "second").status == 200
    assert server.put("/api/v1/retention", json={"log_bytes": 1001}).status == 200
    wait_until(lambda: first_line(server, "second").status == 410, what="a limit that is stated to be kept at once")


def test_bad_limits_are_refused(server):
    for body, field in (({"max_age_days": -1}, "max_age_days"), ({"max_age_days": "x"}, "max_age_days"),
            ({"log_bytes": -5}, "log_bytes"), ({"max_bytes": -1}, "max_bytes"), ({"job": "a", "max_bytes": 1}, "job")):
        reply = server.put("/api/v1/retention", json=body)
        assert reply.status == 422 and reply.body["field"] == field, (body, reply)
    server.send("a", "line")
    for body, field in (({}, "body"), ({"tags": []}, "tags"), ({"retention": 5}, "retention"),
            ({"retention": {}, "tags": []}, "retention"), ({"retention": {"max_age_days": 36501}}, "max_age_days"),
            ({"retention": {"max_bytes": -1}}, "max_bytes")):
        reply = server.patch("/api/v1/jobs/a", json=body)
        assert reply.status == 422 and reply.body["field"] == field, (body, reply)
    assert server.patch("/api/v1/jobs/a", json={"retention": None}).body == {"job": "a", "retention": {}}
    assert server.patch("/api/v1/jobs/nobody", json={"retention": {"max_bytes": 1}}).status == 404
    assert server.post("/api/v1/jobs/nobody/pin", json={}).status == 404


def test_a_deleted_job_goes_at_once_and_its_rows_behind_it(make_server):
    server = make_server("--seal-age", "100ms")
    fill(server, "big", 1, random.Random(2), 20000)
    wait_until_sealed(server, ["big"])
    assert server.delete("/api/v1/jobs/big?purge=true").status < 300
    assert server.get("/api/v1/jobs/big").status == 404
    server.kill() # the sweep goes on where it was
    server.start()
    import sqlite3

    def rows_left():
        return sum(server.sql(f"SELECT count(*) FROM {table}")[0][0] for table in ("blocks", "chunks", "series", "streams", "dead_jobs"))
    wait_until(lambda: rows_left() == 0, what="the rows of the deleted job to go")


@of_a_file("and its disk")
def test_a_disk_without_room_stops_ingest_and_says_so(make_server, tmp_path):
    room = os.statvfs(tmp_path)
    server = make_server("--min-free-bytes", str(room.f_bavail * room.f_frsize * 2))

    def refused():
        reply = server.post("/api/v1/logs?job=a&stream=s", "line\n")
        return reply if reply.status == 503 else None
    reply = wait_until(refused, what="ingest to stop")
    assert "--min-free-bytes" in reply.body["detail"] and int(reply.headers["Retry-After"]) > 0
    ready = server.get("/readyz")
    assert ready.status == 503 and "disk" in ready.body["detail"]
    assert server.get("/api/v1/jobs").status == 200
    assert "smfleet_disk_low 1" in server.get("/metrics").body


def test_a_mistyped_scope_is_not_the_whole_server(server):
    for body in ({"teem": "nlp", "max_age_days": 30}, {"team": None, "max_age_days": 31}, {"team": 7, "max_bytes": 1}):
        assert server.put("/api/v1/retention", json=body).status == 422, body
    assert "max_age_days" not in server.get("/api/v1/retention").body
