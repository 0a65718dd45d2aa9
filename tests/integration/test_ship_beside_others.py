"""sm-ship and others write into one stream: an offset counts what its sender sent, so each line is there once, in the order in which it came."""

import os
import sqlite3

import pytest
from awsclients import boto, code
from engine import of_a_file
from howlong import IS_LONG
from shipping import lines
from smserver import wait_until

LONG = "note by hand that is longer than what the training prints in a while, so that it would hide several of its lines"


def by_rest(server, job, text):
    assert server.post(f"/api/v1/logs?job={job}&stream=algo-1", text + "\n").body["accepted"] == 1


def by_rest_with_a_key(server, job, text):
    for duplicate in (0, 1):
        reply = server.post(f"/api/v1/logs?job={job}&stream=algo-1", text + "\n", headers={"Idempotency-Key": text})
        assert (reply.body["accepted"], reply.body.get("duplicate", 0)) == (1 - duplicate, duplicate), reply


def by_loki(server, job, text):
    body = {"streams": [{"stream": {"job": job, "stream": "algo-1"}, "values": [["1795000000000000000", text]]}]}
    assert server.post("/loki/api/v1/push", json=body).status == 204


def by_cloudwatch(server, job, text):
    logs, names = boto(server, "logs"), {"logGroupName": "/aws/sagemaker/TrainingJobs", "logStreamName": f"{job}/algo-1"}
    code(logs.create_log_stream, **names)  # which may be there
    logs.put_log_events(**names, logEvents=[{"timestamp": 1795000000000, "message": text}])


def by_another_source(server, job, text):
    reply = server.post(f"/api/v1/logs?job={job}&stream=algo-1&source={len(text)}&offset=0", text + "\n")
    assert reply.body["accepted"] == 1, reply


DOORS = [by_rest, by_rest_with_a_key, by_loki, by_cloudwatch, by_another_source]


def steps(first, end):
    return [f"step {i} loss: 2.{i}" for i in range(first, end)]


def text_of(rows):
    return "".join(row + "\n" for row in rows)


def wait_for(server, job, expected):
    wait_until(lambda: len(lines(server, job)) >= len(expected), what=f"{len(expected)} lines")
    assert lines(server, job) == expected


@pytest.mark.parametrize("door, kills", [(door, kills) for door in DOORS for kills in (False, True) if IS_LONG or kills == (door == DOORS[0])])
def test_others_write_into_a_stream_that_is_shipped(server, ship, tmp_path, door, kills):
    os.mkfifo(tmp_path / "output")
    process = ship.start("--job", "mix", "--stream", "algo-1", "--", "cat", str(tmp_path / "output"))
    expected = []
    with open(tmp_path / "output", "w", encoding="ascii") as output:
        for turn, note in enumerate((LONG, "n", LONG + " again")):
            output.write(text_of(steps(10 * turn, 10 * turn + 10)))
            output.flush()
            expected += steps(10 * turn, 10 * turn + 10)
            wait_for(server, "mix", expected)
            door(server, "mix", note)
            expected.append(note)
            if kills:
                server.kill()
                server.restart()
        output.write(text_of(steps(30, 33)))
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert lines(server, "mix") == expected + steps(30, 33)


@pytest.mark.parametrize("door", DOORS)
def test_what_is_there_when_the_training_begins(server, ship, door):
    door(server, "mix", LONG)
    assert ship.run("--job", "mix", "--stream", "algo-1", "--", "printf", text_of(steps(0, 5)).replace("\n", "\\n")).returncode == 0
    assert lines(server, "mix") == [LONG] + steps(0, 5)


def grow(folder, rows):
    (folder / "mix.log").write_text(text_of(rows))


def imported(ship, folder, **env):
    result = ship.run("--import", f"{folder}/mix[.]log", "--job", "mix", **env)
    assert result.returncode == 0, result.stderr
    return result.stderr.decode()


def new_lines(said):
    return int(said.split(" are new")[0].split()[-1]) if " are new" in said else 0


@pytest.mark.parametrize("door", DOORS)
def test_others_write_between_imports_of_a_log_that_grows(server, ship, tmp_path, door):
    door(server, "mix", "before")
    grow(tmp_path, steps(0, 10))
    imported(ship, tmp_path)
    assert lines(server, "mix") == ["before"] + steps(0, 10)
    door(server, "mix", LONG)
    assert "nothing is new" in imported(ship, tmp_path)
    grow(tmp_path, steps(0, 14))
    assert new_lines(imported(ship, tmp_path)) == 4
    door(server, "mix", "n")
    grow(tmp_path, steps(0, 15))
    assert new_lines(imported(ship, tmp_path)) == 1
    assert "all 15 lines and points were there already" in imported(ship, tmp_path)
    assert lines(server, "mix") == ["before"] + steps(0, 10) + [LONG] + steps(10, 14) + ["n"] + steps(14, 15)


def test_a_command_goes_on_with_what_was_imported(server, ship, tmp_path):
    grow(tmp_path, steps(0, 10))
    imported(ship, tmp_path)
    for text in ("resumed", "once more"):
        assert ship.run("--job", "mix", "--resume", "--stream", "algo-1", "--", "echo", text).returncode == 0
    grow(tmp_path, steps(0, 12))
    assert new_lines(imported(ship, tmp_path)) == 2
    assert ship.run("--job", "mix", "--resume", "--stream", "algo-1", "--", "echo", "the last").returncode == 0
    assert lines(server, "mix") == steps(0, 10) + ["resumed", "once more"] + steps(10, 12) + ["the last"]


def test_the_log_of_a_command_is_imported_with_what_it_has_more(server, ship, tmp_path):
    """What sm-ship brought as the command printed it is the start of its file, whoever else wrote into the stream."""
    grow(tmp_path, steps(0, 10))
    by_rest(server, "mix", "before")
    assert ship.run("--job", "mix", "--stream", "algo-1", "--", "cat", str(tmp_path / "mix.log")).returncode == 0
    by_rest(server, "mix", LONG)
    assert "nothing is new" in imported(ship, tmp_path)
    for rows in (12, 13):
        grow(tmp_path, steps(0, rows))
        imported(ship, tmp_path)
        by_rest(server, "mix", f"at {rows}")
    assert lines(server, "mix") == ["before"] + steps(0, 10) + [LONG] + steps(10, 12) + ["at 12"] + steps(12, 13) + ["at 13"]


def test_a_log_of_another_run_is_not_taken_for_what_a_command_said(server, ship, tmp_path):
    """Both begin with the same line, and the command said more than the log holds."""
    assert ship.run("--job", "mix", "--stream", "algo-1", "--", "printf", "Started\\nlr 3e-4\\nother\\n" + LONG + "\\n").returncode == 0
    for rows in (2, 5):
        grow(tmp_path, ["Started"] + steps(0, rows))
        imported(ship, tmp_path)
    assert lines(server, "mix") == ["Started", "lr 3e-4", "other", LONG, "Started"] + steps(0, 5)


def test_a_file_is_gone_on_with_behind_what_others_wrote(server, ship, tmp_path):
    file = tmp_path / "mix.log"
    for rows, note in ((3, LONG), (4, "n"), (9, LONG)):
        grow(tmp_path, steps(0, rows))
        result = ship.run("--job", "mix", "--stream", "algo-1", "--resume", str(file))
        assert result.returncode == 0, result.stderr
        by_rest(server, "mix", note)
    assert lines(server, "mix") == steps(0, 3) + [LONG] + steps(3, 4) + ["n"] + steps(4, 9) + [LONG]


def test_a_sm_ship_that_was_killed_goes_on_behind_what_others_wrote(server, ship, follow, tmp_path):
    expected = []
    (tmp_path / "mix.log").touch()  # what is not there when a sm-ship begins is not followed
    for turn in range(3):
        process = follow("mix", tmp_path / "mix.log")
        with open(tmp_path / "mix.log", "a", encoding="ascii") as file:
            file.write(text_of(steps(10 * turn, 10 * turn + 10)))
        expected += steps(10 * turn, 10 * turn + 10)
        wait_until(lambda: set(expected) <= set(lines(server, "mix")), what="the turn's lines")
        process.kill()
        process.communicate()
        by_rest(server, "mix", LONG)
        expected.append(LONG)
        server.kill()
        server.restart()
    assert lines(server, "mix") == expected


@pytest.mark.parametrize("rows", [10, 20_000])
def test_a_command_goes_on_before_its_log_is_imported(server, ship, tmp_path, rows):
    """Nothing tells these bytes from those of the file but what they say."""
    grow(tmp_path, steps(0, rows))
    assert ship.run("--job", "mix", "--stream", "algo-1", "--", "cat", str(tmp_path / "mix.log")).returncode == 0
    assert "nothing is new" in imported(ship, tmp_path)
    assert ship.run("--job", "mix", "--resume", "--stream", "algo-1", "--", "echo", LONG).returncode == 0
    for more in (2, 4):
        grow(tmp_path, steps(0, rows + more))
        assert new_lines(imported(ship, tmp_path)) == 2
    assert lines(server, "mix") == steps(0, rows) + [LONG] + steps(rows, rows + 4)


@pytest.mark.parametrize("row", ["x" * 299 + "y", "x" * 300, "x" * 300 + "y", "x" * 5000, "x" * (3 << 20)], ids=["under", "at the limit", "past it", "long", "in pieces"])
def test_lines_that_the_server_cut_are_those_of_the_log(make_server, ship, tmp_path, row):
    """--max-line-bytes 300: a longer line is there as its beginning, one of more than a MiB in pieces. None of them comes twice."""
    server = make_server("--max-line-bytes", "300")
    rows = [*steps(0, 3), row, *steps(3, 6), row, *steps(6, 9)]
    grow(tmp_path, rows)
    with_server = {"SMFLEET_SERVER": server.url}
    assert ship.run("--job", "mix", "--stream", "algo-1", "--", "cat", str(tmp_path / "mix.log"), **with_server).returncode == 0
    came = lines(server, "mix")
    assert [line for line in came if line.startswith("step")] == steps(0, 9) and len(came) >= len(rows)
    assert "nothing is new" in imported(ship, tmp_path, **with_server)
    grow(tmp_path, [*rows, *steps(9, 11)])
    assert new_lines(imported(ship, tmp_path, **with_server)) == 2
    assert lines(server, "mix") == came + steps(9, 11)


@of_a_file("--log-bytes is refused on PostgreSQL")
def test_what_cannot_be_compared_because_its_text_is_deleted_is_said(make_server, ship, tmp_path):
    server = make_server("--seal-age", "100ms", "--log-bytes", "0")
    with_server = {"SMFLEET_SERVER": server.url}
    grow(tmp_path, steps(0, 10))
    assert ship.run("--job", "mix", "--stream", "algo-1", "--", "cat", str(tmp_path / "mix.log"), **with_server).returncode == 0
    assert server.put("/api/v1/retention", json={"log_bytes": 1}).status == 200
    first = "/api/v1/jobs/mix/logs?stream=algo-1&from=0&limit=1"
    wait_until(lambda: server.get(first).status == 410, what="the text to go")
    grow(tmp_path, steps(0, 12))
    said = imported(ship, tmp_path, **with_server)
    bytes_there = len(text_of(steps(0, 10)))
    assert new_lines(said) == 2
    assert f"stream 'algo-1' of job 'mix': the text of its first 10 lines is deleted, so it cannot be compared: the first {bytes_there} bytes of the log are taken to be there" in said
    assert [line["text"] for line in server.get("/api/v1/jobs/mix/logs?stream=algo-1&from=10").body["lines"]] == steps(10, 12)
    assert "deleted" not in imported(ship, tmp_path, **with_server)


def test_a_job_that_was_carried_to_another_server(server, make_server, ship, tmp_path):
    grow(tmp_path, steps(0, 10))
    imported(ship, tmp_path)
    by_rest(server, "mix", "here")
    server.post("/api/v1/logs?job=mix&stream=algo-2&offset=0", "own\n")
    assert server.post("/api/v1/logs?job=mix&stream=algo-2", "foreign\n").status == 200
    carried = server.get("/api/v1/export").raw
    other = make_server()
    assert other.post("/api/v1/import", carried, content_type="application/x-ndjson").body["imported"] == 1
    assert other.get("/api/v1/export").raw == carried
    by_rest(other, "mix", LONG)
    grow(tmp_path, steps(0, 13))
    assert new_lines(imported(ship, tmp_path, SMFLEET_SERVER=other.url)) == 3
    assert lines(other, "mix") == steps(0, 10) + ["here", LONG] + steps(10, 13)
    reply = other.post("/api/v1/logs?job=mix&stream=algo-2&offset=4", "more\n").body
    assert (reply["accepted"], reply["next_offset"]) == (1, len("own\nmore\n"))


# ---- offsets without a source, over REST ----
URL = "/api/v1/logs?job=mix&stream=algo-1"


def at(server, offset, body, source=""):
    return server.post(f"{URL}&offset={offset}{source}", body)


@pytest.mark.parametrize("restart", ["none", "kill", "seal"])
def test_an_offset_counts_what_came_with_one(server, restart):
    def go_on():
        if restart == "none":
            return
        if restart == "kill":
            server.kill()
        server.restart()  # without a kill the old one stops, and seals

    def standing():
        return server.post("/api/v1/sessions", json={"job": "mix", "stream": "algo-1", "session": "s"}).body["next_offset"]

    assert at(server, 0, "one\n").body["next_offset"] == 4
    go_on()
    assert server.post(URL, "foreign\n").status == 200
    go_on()
    assert standing() == 4
    assert at(server, 4, "two\n").body["next_offset"] == 8
    known = at(server, 4, "two\n").body
    assert (known["accepted"], known["duplicate"], known["next_offset"]) == (0, 1, 8)
    assert at(server, 0, "other\n", "&source=s").body["next_offset"] == 6
    go_on()
    gap = at(server, 9, "gap\n")
    assert gap.status == 409 and gap.body["next_offset"] == 8 and "stands at byte 8; send from there" in gap.body["detail"]
    again = at(server, 0, "one\ntwo\nthree\n").body
    assert (again["accepted"], again["duplicate"], again["next_offset"]) == (1, 2, 14)
    assert standing() == 14
    assert lines(server, "mix") == ["one", "foreign", "two", "other", "three"]
    row = server.get("/api/v1/jobs/mix/streams?sources=true").body["streams"][0]
    assert row["bytes"] == len("one\nforeign\ntwo\nother\nthree\n") and row["sources"] == {"": 14, "s": 6}


def test_a_batch_that_is_refused_moves_nothing(server):
    assert at(server, 0, "one\n").status == 200
    assert at(server, 7, "gap\n", "&source=s").status == 409
    assert at(server, 4, "two\n").body["next_offset"] == 8
    assert lines(server, "mix") == ["one", "two"]


@of_a_file("what is in its tables")
def test_a_stream_of_an_older_server_goes_on_where_it_stood(server):
    """There a stream had one count, which what others wrote moved, too; a sender knows it from a 409, and keeps it in its ledger."""
    assert at(server, 0, "one\n").status == 200
    assert server.post(URL, "foreign\n").status == 200
    server.stop()
    with sqlite3.connect(server.database) as database:
        assert database.execute("DELETE FROM sources").rowcount == 1
    database.close()
    server.start()
    stood = len("one\nforeign\n")
    assert at(server, 4, "x\n").body["duplicate"] == 1
    assert at(server, stood, "two\n").body["next_offset"] == stood + 4
    assert server.post(URL, "more of it\n").status == 200
    assert at(server, stood + 4, "three\n").body["next_offset"] == stood + 4 + 6
    assert lines(server, "mix") == ["one", "foreign", "two", "more of it", "three"]


@of_a_file("of an older version")
def test_what_an_older_sm_ship_imported_is_known(server, ship, tmp_path):
    grow(tmp_path, steps(0, 10))
    told = server.post("/api/v1/sessions", json={"job": "mix", "stream": "algo-1", "resume": True, "past": True}).body
    assert at(server, 0, text_of(steps(0, 10)), f"&session={told['session']}").body["accepted"] == 10
    assert server.post(f"/api/v1/sessions/{told['session']}", json={"end": True}).status == 200
    by_rest(server, "mix", LONG)
    server.stop()
    with sqlite3.connect(server.database) as database: # there, its count was that of the stream, others' bytes included
        assert database.execute("DELETE FROM sources").rowcount == 1
    database.close()
    server.start()
    assert "nothing is new" in imported(ship, tmp_path, SMFLEET_SERVER=server.url)
    for rows in (11, 15):
        grow(tmp_path, steps(0, rows))
        imported(ship, tmp_path, SMFLEET_SERVER=server.url)
    by_rest(server, "mix", "n")
    assert "nothing is new" in imported(ship, tmp_path, SMFLEET_SERVER=server.url)
    assert lines(server, "mix") == steps(0, 10) + [LONG] + steps(10, 15) + ["n"]
