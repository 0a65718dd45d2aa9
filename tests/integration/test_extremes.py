"""What no trainer should print and some do: the ends of time, steps beyond doubles, values that are no numbers."""

import json
import re
import time

DAY_MS = 86_400_000
END_OF_TIME_MS = 9_214_646_400_000 # 2262-01-01
DEFINITION = {"Name": "loss", "Regex": r"step (?<step>\S+) loss=(?<value>\S+)"}


def create(server):
    reply = server.post("/api/v1/jobs", json={"TrainingJobName": "j", "AlgorithmSpecification": {"MetricDefinitions": [DEFINITION]}})
    assert reply.status == 201, reply


def send_timed(server, rows):
    body = "".join(json.dumps({"line": text, "ts": ms}) + "\n" for ms, text in rows)
    return server.post("/api/v1/logs?job=j&stream=s", body, content_type="application/x-ndjson")


def raw_points(server):
    reply = server.get("/api/v1/jobs/j/points?metric=loss&raw=true", headers={"Accept": "application/x-ndjson"})
    assert reply.status == 200, reply
    return [json.loads(line) for line in reply.raw.decode().splitlines()]


def test_a_line_from_the_ends_of_time_gets_the_time_of_its_arrival(make_server):
    """1970 and 2262 are a counter or a broken clock, no log time; the line itself is kept, over sealing and restarts."""
    server = make_server("--seal-age", "100ms")
    create(server)
    rows = [(0, "step 1 loss=1.5"), (1, "step 2 loss=1.25"), (END_OF_TIME_MS, "step 3 loss=1")]
    assert send_timed(server, rows).body["accepted"] == 3
    server.wait_for_points("j", "loss", 3, "s")
    for _ in range(2):
        stored = server.get("/api/v1/jobs/j/logs?stream=s").body["lines"]
        assert [line["text"] for line in stored] == [text for _, text in rows]
        assert all(abs(line["ts_ms"] - time.time() * 1000) < 600_000 for line in stored)
        merged = server.get("/api/v1/jobs/j/logs?merge=true").body["lines"]
        assert [line["text"] for line in merged] == [text for _, text in rows]
        server.restart()


def test_points_from_the_ends_of_time_are_refused_by_name(server):
    for ms in (0, END_OF_TIME_MS):
        document = {"series": [{"metric": "loss", "step": [1, 2], "ts_ms": [1_700_000_000_000, ms], "value": [3, 2]}]}
        reply = server.post("/api/v1/points?job=j", json=document)
        assert reply.status in (400, 422) and "ts_ms" in reply.body["detail"], reply
    assert server.get("/api/v1/jobs/j").status == 404


def test_steps_beyond_what_a_double_counts(server):
    create(server)
    most = 2 ** 53
    server.send("j", [f"step {most - 1} loss=1", f"step {most} loss=2", f"step {10 ** 30} loss=3"], stream="s")
    server.wait_for_points("j", "loss", 2, "s")
    steps = [point["step"] for point in raw_points(server)]
    assert steps[:2] == [most - 1, most] and all(abs(step) <= most for step in steps)
    assert server.get("/api/v1/jobs/j/points?metric=loss&buckets=5").status == 200


def test_what_is_no_number_is_kept_and_counted(server):
    create(server)
    values = ["1.5", "nan", "inf", "-inf", "-0.0", "1e308", "5e-324"]
    server.send("j", [f"step {i} loss={value}" for i, value in enumerate(values)], stream="s")
    server.wait_for_points("j", "loss", len(values), "s")
    for _ in range(2):
        assert [point["value"] for point in raw_points(server)] == [1.5, "NaN", "Infinity", "-Infinity", -0.0, 1e308, 5e-324]
        chart = server.get("/api/v1/jobs/j/points?metric=loss&buckets=2").body["columns"]
        assert sum(chart["count"]) >= 4 and max(value for value in chart["max"] if not isinstance(value, str)) == 1e308
        server.restart()


def test_an_offset_twice_and_one_with_a_gap(server):
    body = "one\ntwo\n"
    path = "/api/v1/logs?job=j&stream=s&offset="
    assert server.post(path + "0", body).body["next_offset"] == 8
    again = server.post(path + "0", body)
    assert again.status == 200 and again.body["next_offset"] == 8
    gap = server.post(path + "20", body)
    assert gap.status == 409 and gap.body["next_offset"] == 8
    assert [line["text"] for line in server.lines("j", "s")] == ["one", "two"]


def test_a_status_from_the_end_of_time_is_refused(server):
    """Whoever groups jobs by day would walk there."""
    create(server)
    now = int(time.time() * 1000)
    for ms in (-1, 7_258_118_400_000, 7_258_118_399_999, 2 ** 53, now + 10 * DAY_MS, now + DAY_MS + 60_000):
        reply = server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Training", "time_ms": ms})
        assert reply.status == 422 and reply.body["field"] == "time_ms" and str(ms) in reply.body["detail"], reply
        if 0 <= ms < 7_258_118_400_000:  # a date: how far ahead it may be is said
            bound = int(re.search(r"(\d+) at most", reply.body["detail"])[1])
            assert now + DAY_MS <= bound < now + DAY_MS + 60_000, reply
    assert server.get("/api/v1/jobs/j").body["SecondaryStatus"] == "Starting"
    assert server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Training", "time_ms": now + DAY_MS - 60_000}).status == 204
    assert server.get("/api/v1/aggregate?by=month&of=sum:duration").status == 200
