"""A database that was damaged while nobody served it: the server starts, names what is damaged, and serves the rest."""

import contextlib
import json
import re
import sqlite3
import time

import pytest

from engine import ON_POSTGRES, of_a_file
from faults import KILL, WRITE, FaultyServer
from howlong import IS_LONG
from smserver import wait_until
from test_points_raw import points_of

pytestmark = of_a_file("that is damaged")

BATCH_LINES, BATCHES = 20, 10
FRAME_BYTES = 24 + 8192


def flip(blob, at):
    return blob[:at] + bytes([blob[at] ^ 0x55]) + blob[at + 1:]


DAMAGES = {
    "first byte": lambda blob: flip(blob, 0),
    "middle": lambda blob: flip(blob, len(blob) // 2),
    "last byte": lambda blob: flip(blob, len(blob) - 1),
    "cut": lambda blob: blob[:len(blob) // 2],
    "empty": lambda blob: b"",
}


def damage_one(server, table, column, where, how):
    if ON_POSTGRES:
        pytest.skip("of a database file: that is damaged")
    database = sqlite3.connect(server.database)
    with database:
        row, blob = database.execute(f"SELECT rowid, {column} FROM {table} {where}").fetchone()
        changed = database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (DAMAGES[how](blob), row))
        assert changed.rowcount == 1
    database.close()


def texts_of(first, count):
    return [f"step: {n} loss: {n % 97}.5" for n in range(first, first + count)]


@pytest.mark.parametrize("how", DAMAGES)
def test_damaged_block(server, how):
    for stream in ("bad", "good"):
        server.send("j", texts_of(0, 200), stream)
        server.wait_for_points("j", "train:loss", 200, stream)
    server.stop()
    damage_one(server, "blocks", "data", "WHERE stream_id = (SELECT stream_id FROM streams WHERE name = 'bad')", how)
    server.start()
    reply = server.get("/api/v1/jobs/j/logs?stream=bad")
    assert reply.status == 500 and "damaged" in str(reply.body), reply
    assert [line["text"] for line in server.lines("j", "good")] == texts_of(0, 200)
    server.send("j", texts_of(200, 10), "bad")
    rest = server.get("/api/v1/jobs/j/logs?stream=bad&from=200").body["lines"]
    assert [line["text"] for line in rest] == texts_of(200, 10)


@pytest.mark.parametrize("how", DAMAGES)
def test_damaged_chunk(server, how):
    for stream in ("bad", "good"):
        server.send("j", texts_of(0, 200), stream)
        server.wait_for_points("j", "train:loss", 200, stream)
    server.stop()
    damage_one(server, "chunks", "data", "ORDER BY job_id, series_id LIMIT 1", how)
    server.start()
    replies = {stream: server.get(f"/api/v1/jobs/j/points?metric=train:loss&stream={stream}&from=0") for stream in ("bad", "good")}
    assert replies["bad"].status == 500 and "damaged" in str(replies["bad"].body), replies["bad"]
    assert replies["good"].status == 200 and sum(replies["good"].body["columns"]["count"]) == 200, replies["good"]
    assert len(server.lines("j", "bad")) == 200


def test_a_restart_beside_a_damaged_chunk_is_looked_at_seldom(server):
    """It stays damaged. Where nothing began again no point is read."""
    server.send("once", texts_of(0, 200))
    server.send("again", texts_of(0, 200) + texts_of(100, 100))
    for job in ("once", "again"):
        server.wait_for_points(job, "train:loss", 200)
    server.stop()
    for job in ("once", "again"):
        damage_one(server, "chunks", "data", f"WHERE job_id = (SELECT job_id FROM jobs WHERE name = '{job}') ORDER BY series_id LIMIT 1", "middle")
    server.start()
    once, again = (server.get(f"/api/v1/jobs/{job}/continuity") for job in ("once", "again"))
    assert once.status == 200 and once.body["restarts"] == [], once
    assert again.status == 500 and "damaged" in str(again.body), again
    for job in ("once", "again"):
        server.send(job, texts_of(200, 10))
    server.wait_for_log(r'event=continuity_failed job="again"')
    time.sleep(4.5)  # two rounds; the next look is five seconds behind the first
    assert re.findall(r'event=continuity_failed job="(\w+)"', server.log_text()) == ["again"]


@pytest.mark.parametrize("how", DAMAGES)
def test_the_histogram_of_a_damaged_block_is_what_is_known_without_it(server, how):
    body = "".join(f'{{"line":"tick","ts":{1_700_000_000_000 + i * 60_000}}}\n' for i in range(200))
    assert server.post("/api/v1/logs?job=j&stream=s", body, content_type="application/x-ndjson").status == 200
    server.wait_for_extraction()
    server.stop()
    damage_one(server, "blocks", "data", "", how)
    server.start()
    reply = server.get("/api/v1/jobs/j/logs/histogram")
    assert reply.status == 200 and reply.body["total"] == 200 == sum(bucket["count"] for bucket in reply.body["histogram"]), reply


@pytest.mark.parametrize("how", DAMAGES)
def test_damaged_journal_record(server, how):
    """The lines of one record are lost and said to be; those before and behind it are served."""
    for number in range(BATCHES):
        server.send("j", texts_of(number * BATCH_LINES, BATCH_LINES), "s")
    server.kill()
    damage_one(server, "journal", "record", "ORDER BY seq LIMIT 1 OFFSET 4", how)
    server.start()
    server.wait_for_log(r"event=journal_damaged\b")
    reply = server.get("/api/v1/jobs/j/logs?stream=s&from=180&limit=20")
    assert [line["text"] for line in reply.body["lines"]] == texts_of(180, 20), reply
    server.send("j", texts_of(200, 20), "s")
    server.restart() # seals: the gap is filled with lines that say so
    texts = [line["text"] for line in server.lines("j", "s")]
    assert len(texts) == 220
    assert sum("lost" in text for text in texts) == BATCH_LINES, texts
    assert [text for text in texts if "lost" not in text] == [text for text in texts_of(0, 220) if text in texts]


@pytest.mark.parametrize("cut_bytes,garbage", [(1, False), (FRAME_BYTES // 2, False), (FRAME_BYTES, False), (3 * FRAME_BYTES + 9, False),
    (FRAME_BYTES, True), (2 * FRAME_BYTES + 100, True)])
def test_damaged_tail_of_the_wal(tmp_path, cut_bytes, garbage):
    """What is promised: SQLite goes back to the last commit whose frames are whole. A synced tail does not tear by itself; a disk
    that loses it anyway costs the newest batches, whole ones, and the sender learns from the 409 where to go on."""
    server = FaultyServer(tmp_path / "faulty").start()
    bodies = ["".join(text + "\n" for text in texts_of(n * BATCH_LINES, BATCH_LINES)) for n in range(BATCHES)]
    offset = 0
    for body in bodies:
        reply = server.post(f"/api/v1/logs?job=j&stream=s&offset={offset}", body)
        assert reply.status == 200, reply
        offset += len(body)
    server.disk.arm(1, (WRITE,), action=KILL) # so that the last commits are in the WAL alone
    assert wait_until(lambda: server.process.poll(), what="the end at the next write") == -9
    server.wait()
    server.process = None
    server.disk.mend()
    wal = server.database.with_name(server.database.name + "-wal")
    content = wal.read_bytes()
    assert len(content) > cut_bytes + FRAME_BYTES
    wal.write_bytes(content[:-cut_bytes] + (b"\xa5" * cut_bytes if garbage else b""))
    server.start()
    try:
        texts = [line["text"] for line in server.lines("j", "s")]
        assert texts == texts_of(0, len(texts)) and len(texts) % BATCH_LINES == 0
        assert 0 < len(texts) <= BATCHES * BATCH_LINES
        here = sum(len(body) for body in bodies[:len(texts) // BATCH_LINES])
        reply = server.post(f"/api/v1/logs?job=j&stream=s&offset={offset}", "x\n")
        if here < offset:
            assert reply.status == 409 and reply.body["next_offset"] == here, reply
            for body in bodies[len(texts) // BATCH_LINES:]:
                assert server.post(f"/api/v1/logs?job=j&stream=s&offset={here}", body).status == 200
                here += len(body)
            texts = [line["text"] for line in server.lines("j", "s")]
            assert texts == texts_of(0, BATCHES * BATCH_LINES)
    finally:
        server.close()


@pytest.mark.parametrize("table", ["blocks", "chunks"])
def test_a_damaged_open_row_stops_the_sealing_of_nobody(server, table):
    """The last block and chunk of a stream are written again with what follows: one that cannot be read back is left behind."""
    for stream in ("bad", "good"):
        server.send("j", texts_of(0, 200), stream)
        server.wait_for_points("j", "train:loss", 200, stream)
    server.stop()
    damage_one(server, table, "data", "ORDER BY rowid LIMIT 1", "middle")
    server.start()
    for stream in ("bad", "good"):
        server.send("j", texts_of(200, 50), stream)
        server.wait_for_points("j", "train:loss", 250, stream)
    server.stop()
    assert "row_damaged" in server.log_text() and 'job="j" stream="bad"' in server.log_text()
    database = sqlite3.connect(server.database)
    assert dict(database.execute("SELECT name, sealed_lines FROM streams")) == {"bad": 250, "good": 250}
    database.close()
    server.start()
    rest = server.get("/api/v1/jobs/j/logs?stream=bad&from=200").body["lines"]
    assert [line["text"] for line in rest] == texts_of(200, 50)


def test_a_chunk_that_no_pyramid_can_be_made_of_stops_the_sealing_of_nobody(server):
    """Of a run that is written in several groups: those behind it, too."""
    def send(first):
        for at in range(first, first + 1200, 400):
            server.send("j", texts_of(at, 400), "bad")
        server.wait_for_points("j", "train:loss", first + 1200, "bad")
    send(0)
    server.stop()
    damage_one(server, "chunks", "data", "ORDER BY rowid LIMIT 1", "middle")
    server.start()
    send(1200)
    for number in range(3):
        points = [{"metric": f"m{metric}", "step": 1, "value": 1} for metric in range(400)]
        assert server.post(f"/api/v1/points?job=j&stream=wide-{number}", json={"points": points}).status == 200
    server.send("j", texts_of(0, 200), "good")
    server.wait_for_points("j", "train:loss", 200, "good")
    server.stop()
    assert "event=seal_failed" in server.log_text()
    with contextlib.closing(sqlite3.connect(server.database)) as database:
        assert dict(database.execute("SELECT name, sealed_lines FROM streams WHERE name IN ('bad', 'good')")) == {"bad": 2400, "good": 200}


L_VALUE = {"Name": "train:loss", "Regex": r"step=(?<step>[0-9]+) L=(?<value>[0-9.]+)", "Role": "loss"}
DAMAGED_DEFINITIONS = {
    "no JSON": b'[{"Name": "train:lo',
    "no UTF-8": b'[{"Name": "train:loss", "Regex": "L=\xff([0-9.]+)"}]',
    "of a newer version": b'{"version": 7, "definitions": []}',
    "no regular expression": b'[{"Name": "train:loss", "Regex": "L=("}]',
}


def custom(first, count):
    return [f"step={n} L={n}.5" for n in range(first, first + count)]


def values(server, job, wanted):
    """Raw points of it: one of each line, with its step."""
    def found():
        reply = server.get(f"/api/v1/jobs/{job}/points?metric=train:loss&raw=true")
        return [point[1:] for point in points_of(reply)] if reply.status == 200 else reply.status
    expected = [(n, n + 0.5) for n in range(wanted)]
    wait_until(lambda: found() == expected, what=f"{wanted} points of {job}, not {found()}")


@pytest.mark.parametrize("backfill", ["?backfill=true", *([""] if IS_LONG else [])])
@pytest.mark.parametrize("how", DAMAGED_DEFINITIONS)
def test_damaged_definitions_of_one_job(server, how, backfill):
    """The server starts and says whose they are and what to do; the job's lines are kept, and its points come back with definitions."""
    for job in ("bad", "good"):
        document = {"TrainingJobName": job, "AlgorithmSpecification": {"MetricDefinitions": [L_VALUE]}}
        assert server.post("/api/v1/jobs", json=document).status == 201
        server.send(job, custom(0, 20))
        values(server, job, 20)
    server.restart()  # 20 are sealed, 20 are in the journal
    for job in ("bad", "good"):
        server.send(job, custom(20, 20))
    server.kill()
    database = sqlite3.connect(server.database)
    with database:
        changed = database.execute("UPDATE definitions SET json = CAST(? AS TEXT) WHERE job_id = (SELECT job_id FROM jobs WHERE name = 'bad')",
            (DAMAGED_DEFINITIONS[how],))
        assert changed.rowcount == 1
    database.close()
    server.start()
    server.wait_for_log(r'event=definitions_damaged\b.*job="bad".*PUT /api/v1/jobs/bad/definitions')
    values(server, "good", 40)
    said = server.get("/api/v1/jobs/bad").body["definitions_damaged"]
    assert "PUT /api/v1/jobs/bad/definitions" in said and "definitions_damaged" not in server.get("/api/v1/jobs/good").body
    shown = server.get("/api/v1/jobs/bad/definitions")
    assert shown.status == 200 and shown.body["damaged"] == said and shown.body["definitions"] == [], shown
    for job in ("bad", "good"):
        server.send(job, custom(40, 20))
    server.restart()
    assert [line["text"] for line in server.lines("bad")] == custom(0, 60)
    assert server.get("/api/v1/jobs?q=name%3Dbad").body["jobs"][0]["TrainingJobName"] == "bad"
    reply = server.get("/api/v1/export?q=name%3Dbad")
    assert reply.status == 200 and [json.loads(line) for line in reply.raw.decode().splitlines()]
    values(server, "bad", 20)  # as they were before
    reply = server.put(f"/api/v1/jobs/bad/definitions{backfill}", json={"definitions": [L_VALUE]})
    assert reply.status == 202, reply
    values(server, "bad", 60)
    assert "definitions_damaged" not in server.get("/api/v1/jobs/bad").body
    assert "damaged" not in server.get("/api/v1/jobs/bad/definitions").body
    for job in ("bad", "good"):
        server.send(job, custom(60, 5))
        values(server, job, 65)
    server.restart()
    for job in ("bad", "good"):
        values(server, job, 65)


def test_damaged_definitions_of_the_server(server):
    """Jobs that are made meanwhile go by presets, as if there were none."""
    assert server.put("/api/v1/definitions", json={"definitions": [L_VALUE]}).status == 200
    server.stop()
    database = sqlite3.connect(server.database)
    with database:
        assert database.execute("UPDATE settings SET value = ? WHERE key = 'definitions'", (b"[{",)).rowcount == 1
    database.close()
    server.start()
    shown = server.get("/api/v1/definitions")
    assert shown.status == 200 and "PUT /api/v1/definitions" in shown.body["damaged"], shown
    server.send("j", texts_of(0, 20))
    server.wait_for_points("j", "train:loss", 20)
    server.wait_for_log(r"event=definitions_damaged\b.*PUT /api/v1/definitions")
    assert server.put("/api/v1/definitions", json={"definitions": [L_VALUE]}).status == 200
    assert "damaged" not in server.get("/api/v1/definitions").body
    server.send("k", custom(0, 20))
    values(server, "k", 20)


def shown_streams(server, job):
    return {row["stream"]: row for row in server.get(f"/api/v1/jobs/{job}/streams").body["streams"]}


def curves(server, job, stream, wanted):
    """Values of each step, as often as they are there; of points that were sent as such, too."""
    def found():
        names = [metric["metric"] for metric in server.get(f"/api/v1/jobs/{job}").body["metrics"]]
        replies = {name: server.get(f"/api/v1/jobs/{job}/points?metric={name}&stream={stream}&raw=true") for name in names}
        return {name: sorted(point[1:] for point in points_of(reply)) for name, reply in replies.items() if reply.status == 200}
    wait_until(lambda: found() == wanted, what=f"the points of {job}, {stream}; not {found()}")


@pytest.mark.parametrize("is_sealed", [False, True])
@pytest.mark.parametrize("how", ["first byte", "cut", "empty"])  # another number in the midst of it is a state like others
def test_damaged_state_of_one_stream(server, how, is_sealed):
    """What its consumers knew is lost: it goes on, says so, and a back-fill that new definitions bring heals it while the server runs."""
    everyone = [(job, stream) for job in ("bad", "good") for stream in ("one", "two")]
    def send(first, count):
        for job, stream in everyone:
            server.send(job, custom(first, count), stream)
            points = [{"metric": "sent", "step": n, "value": n + 0.25} for n in range(first, first + count)]
            assert server.post(f"/api/v1/points?job={job}&stream={stream}", json={"points": points}).status == 200
    def whole(count, which=everyone):
        for job, stream in which:
            assert [line["text"] for line in server.lines(job, stream)] == custom(0, count)
            curves(server, job, stream, {"train:loss": [(n, n + 0.5) for n in range(count)], "sent": [(n, n + 0.25) for n in range(count)]})
    for job in ("bad", "good"):
        document = {"TrainingJobName": job, "AlgorithmSpecification": {"MetricDefinitions": [L_VALUE]}}
        assert server.post("/api/v1/jobs", json=document).status == 201
    send(0, 20)
    whole(20)
    server.restart()  # 20 are sealed
    send(20, 20)
    server.stop() if is_sealed else server.kill()  # else 20 are in the journal
    damage_one(server, "streams", "state", "WHERE name = 'two' AND job_id = (SELECT job_id FROM jobs WHERE name = 'bad')", how)
    server.start()
    assert server.get("/readyz").status == 200
    assert server.get("/api/v1/jobs/bad").status == 200
    send(40, 5)
    server.wait_for_log(r'event=stream_damaged\b.*job="bad" stream="two".*PUT /api/v1/jobs/bad/definitions')
    assert {job: [name for name, row in shown_streams(server, job).items() if "damaged" in row] for job in ("bad", "good")} == {
        "bad": ["two"], "good": []}
    whole(45, [one for one in everyone if one != ("bad", "two")])
    assert [line["text"] for line in server.lines("bad", "two")] == custom(0, 45)
    assert server.put("/api/v1/jobs/bad/definitions", json={"definitions": [L_VALUE]}).status == 202
    wait_until(lambda: "damaged" not in shown_streams(server, "bad")["two"], what="the back-fill")
    whole(45)
    send(45, 5)
    whole(50)
    server.restart()
    whole(50)
    assert "damaged" not in shown_streams(server, "bad")["two"]
