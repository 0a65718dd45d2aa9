"""source= and offset= at the door for points: a body is stored once, however late it comes again."""

import json

PATH = "/api/v1/points?job=j&stream=algo-1&source=s"


def send(server, offset, *values, path=PATH):
    rows = [{"metric": "m", "step": step, "value": value} for step, value in enumerate(values)]
    return server.post(f"{path}&offset={offset}", "".join(json.dumps(row) + "\n" for row in rows), content_type="application/x-ndjson")


def test_a_body_is_stored_once(server):
    assert send(server, 0, 1, 2).body["next_offset"] == 2
    again = send(server, 0, 1, 2).body
    assert (again["accepted"], again["duplicate"], again["next_offset"]) == (0, 2, 2)
    server.kill()
    server.start(f"127.0.0.1:{server.port}")
    assert send(server, 0, 1, 2).body["duplicate"] == 2
    assert send(server, 2, 1).body["next_offset"] == 3  # equal values are another body
    assert send(server, 2, 1).body["duplicate"] == 1
    other = PATH.replace("source=s", "source=t")
    assert send(server, 0, 7, path=other).body["accepted"] == 1
    assert server.wait_for_points("j", "m", 4)["count"] == 4


def test_what_is_rejected_does_not_count(server):
    body = '{"metric":"m","step":1,"value":1}\nrubbish\n{"metric":"m","step":2,"value":2}\n'
    for duplicate in (0, 2):
        reply = server.post(PATH + "&offset=0", body, content_type="application/x-ndjson").body
        assert (reply["rejected"], reply.get("duplicate", 0), reply["next_offset"]) == (1, duplicate, 2)
    assert server.wait_for_points("j", "m", 2)["count"] == 2


def test_refusals(server):
    assert send(server, 0, 1, 2, 3).status == 200
    gap, part = send(server, 4, 1), send(server, 2, 1, 2)
    assert (gap.status, gap.body["next_offset"]) == (409, 3) and "leaves a gap" in gap.body["detail"] and "stands at point 3" in gap.body["detail"]
    assert (part.status, part.body["next_offset"]) == (409, 3) and "in the middle of a body" in part.body["detail"]
    reply = send(server, 0, 1, path="/api/v1/points?job=j&stream=algo-1")
    assert reply.status == 400 and reply.body["field"] == "source"
    assert send(server, 0, 1, path="/api/v1/points?job=j&source=s").body["field"] == "offset"
    assert server.post(PATH, "{}", content_type="application/json").body["field"] == "source"
    assert server.wait_for_points("j", "m", 3)["count"] == 3


def test_a_body_is_whole_or_too_large(make_server):
    server = make_server("--max-push-bytes", "4KiB", "--slice-bytes", "4KiB")
    reply = send(server, 0, *range(200))
    assert reply.status == 413 and "points with an offset" in reply.body["detail"]
    assert send(server, 0, *range(50)).body["next_offset"] == 50
