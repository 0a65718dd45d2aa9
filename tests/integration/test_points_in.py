"""Points that are sent as such: every form of body, every mistake, and none lost or doubled by a crash."""

import contextlib
import fractions
import http.client
import json
import math
import random
import re
import socket
import subprocess
import threading

import pytest

from fixtures import emptied_server as server  # noqa: F401 (one process for the file)
from smserver import PATIENCE_S, wait_until

POINTS = "/api/v1/points?job=j"
JSON, NDJSON = "application/json", "application/x-ndjson"
T0 = 1_700_000_000_000


def send(server, document, path=POINTS):
    return server.post(path, json.dumps(document), content_type=JSON)


def columns(server, metric, stream="algo-1", **parameters):
    return server.points("j", metric, stream=stream, **parameters)["columns"]


def test_columns(server):
    reply = send(server, {"series": [
        {"metric": "loss", "step": [1, 2, 3], "ts_ms": [T0, T0 + 1, T0 + 2], "value": [2.5, 1e-3, -0.75]},
        {"value": [3e-4], "step": [1], "metric": "lr", "unit": "x", "stream": "algo-2"}]})
    assert reply.status == 200, reply.body
    assert reply.body["accepted"] == 4 and reply.body["rejected"] == 0 and reply.body["warnings"] == []
    assert isinstance(reply.body["seq"], str) and "next_offset" not in reply.body
    server.wait_for_points("j", "loss", 3)
    got = columns(server, "loss")
    assert got["x"] == [1, 2, 3] and got["last"] == [2.5, 0.001, -0.75] and got["line"] == [None] * 3
    server.wait_for_points("j", "lr", 1, stream="algo-2")
    assert server.series("j", "loss")["role"] == "loss" and server.series("j", "lr", "algo-2")["role"] == "learning_rate"


def test_objects(server):
    reply = send(server, {"points": [{"metric": "loss", "step": 7, "ts_ms": T0, "value": 1},
        {"metric": "val_loss", "step": 7, "value": 0.5}, {"metric": "loss", "step": 8, "value": "NaN"}]})
    assert reply.status == 200 and reply.body["accepted"] == 3
    server.wait_for_points("j", "loss", 2)
    assert columns(server, "loss")["x"] == [7, 8]
    assert server.series("j", "val_loss")["role"] == "eval_loss"


def test_an_array_of_objects(server):
    """As NDJSON's objects, without a document around them; a mistake is named by its element."""
    reply = send(server, [{"metric": "m", "step": 1, "value": 1}, {"metric": "m", "step": 2, "stream": "algo-2", "value": "NaN"}])
    assert reply.status == 200 and reply.body["accepted"] == 2
    server.wait_for_points("j", "m", 1)
    server.wait_for_points("j", "m", 1, stream="algo-2")
    reply = send(server, [{"metric": "m", "step": 3, "value": 1}, {"metric": "m", "step": "x", "value": 1}])
    assert reply.status == 400 and reply.body["field"] == "[1].step", reply


def test_lines_as_an_array(server):
    """At the door of lines: each bad element is counted and named; a broken array is refused with its place."""
    path = "/api/v1/logs?job=array"
    reply = server.post(path, json.dumps([{"ts": T0, "line": "step 1 loss 2"}, "rubbish", {"message": "step 2 loss 1\nnext", "stream": 3}], indent=1), content_type=JSON)
    assert reply.status == 200 and reply.body["accepted"] == 3 and reply.body["rejected"] == 1, reply
    assert reply.body["warnings"][0].startswith("element 2, column 1: expected '{'")
    reply = server.post(path, '[{"line":"step 3 loss 1"},{"line":"cut', content_type=JSON)
    assert reply.status == 400 and "element 2 of the array: expected ',' or ']'" in reply.body["detail"], reply
    reply = server.post(path, '{"line":"alone"}', content_type=JSON)
    assert reply.status == 400 and "expected '[', an array of objects" in reply.body["detail"]
    server.wait_for_extraction()
    found = {stream: [line["text"] for line in server.lines("array", stream)] for stream in ("algo-1", "3")}
    assert found == {"algo-1": ["step 1 loss 2"], "3": ["step 2 loss 1", "next"]}


def test_ndjson_bad_lines_harm_themselves(server):
    body = '{"metric":"m","step":1,"value":1}\nrubbish\n{"metric":"m","step":2,"value":null}\n\n{"metric":"m","step":3,"value":"Infinity"}'
    reply = server.post(POINTS, body, content_type=NDJSON)
    assert reply.status == 200 and reply.body["accepted"] == 2 and reply.body["rejected"] == 2
    assert "line 2, column 1: expected '{'" in reply.body["warnings"][0]
    assert "line 3, column 32, value: expected a number, not null" in reply.body["warnings"][0]
    server.wait_for_points("j", "m", 2)


def test_without_step_the_count_is_the_step(server):
    send(server, {"series": [{"metric": "m", "value": [5, 6]}]})
    send(server, {"points": [{"metric": "m", "value": 7}]})
    server.wait_for_points("j", "m", 3)
    assert columns(server, "m")["x"] == [0, 1, 2]


def test_labels_have_one_order(server):
    send(server, {"points": [{"metric": 'util{node="a",gpu="3"}', "step": 1, "value": 1}]})
    send(server, {"points": [{"metric": 'util{gpu="3", node="a"}', "step": 2, "value": 2}]})
    send(server, {"points": [{"metric": 'util{gpu="4"}', "step": 1, "value": 3}]})
    server.wait_for_points("j", 'util{gpu="3",node="a"}', 2)
    server.wait_for_points("j", 'util{gpu="4"}', 1)


@pytest.mark.parametrize(("document", "status", "words"), [
    ({"series": [{"metric": "m", "step": [1], "value": [1, 2]}]}, 400, ["series[0].step", "step has 1 items, value has 2"]),
    ({"series": [{"metric": "a", "value": [1]}, {"metric": "m", "value": [1, None]}]}, 400, ["series[1].value[1]", "not null"]),
    ({"points": [{"metric": "m", "value": "x"}]}, 400, ["points[0].value", "NaN"]),
    ({"points": [{"metric": "m", "value": 1, "steps": 3}]}, 400, ["no field 'steps'", "step, ts_ms"]),
    ({"points": [{"metric": "m", "value": 1, "step": 1.5}]}, 400, ["'1.5' is no integer"]),
    ({"points": [{"metric": "m", "value": 1, "ts_ms": 1700000000}]}, 400, ["Unix milliseconds"]),
    ({"points": [{"value": 1}]}, 400, ["no metric"]),
    ({"points": [{"metric": "", "value": 1}]}, 400, ["metric is empty"]),
    ({"points": [{"metric": 'm{a="1",a="2"}', "value": 1}]}, 400, ["label 'a' twice"]),
    ({"points": [{"metric": "m", "value": 1, "role": "king"}]}, 400, ["no role 'king'"]),
    ({"point": []}, 400, ["no field 'point'", "series and points"]),
    ([7], 400, ["expected '{' or ']'"]), ([{"metric": "m", "value": "x"}], 400, ["[0].value", "NaN"]),
])
def test_mistakes_are_named_and_nothing_is_kept(shared_server, document, status, words):
    reply = send(shared_server, document)
    assert reply.status == status, reply.body
    assert all(word in reply.body["detail"] for word in words), reply.body
    assert shared_server.get("/api/v1/jobs").body["jobs"] == []


@pytest.mark.parametrize(("document", "field"), [
    ({"series": 5}, "series"), ({"points": {}}, "points"), ({"series": None}, "series"), ({"series": "x"}, "series"),
    ({"series": [{"metric": "m", "value": [1]}, 5]}, "series[1]"), ({"points": [[]]}, "points[0]"),
    (["x"], "[0]"), (5, "body"), ({"point": []}, "body"),
])
def test_a_field_of_a_wrong_kind_is_named(shared_server, document, field):
    reply = send(shared_server, document)
    assert (reply.status, reply.body["field"]) == (400, field), reply.body
    assert shared_server.get("/api/v1/jobs").body["jobs"] == []


def test_cut_off_wrong_type_and_no_job(server):
    assert server.post(POINTS, '{"points":[{"metric":"m","value":1}', content_type=JSON).status == 400
    assert server.post(POINTS, "a,b\n", content_type="text/html").status == 415
    reply = server.post("/api/v1/points", "{}", content_type=JSON)
    assert reply.status == 400 and reply.body["field"] == "job"
    assert server.post(POINTS, "{}", content_type=JSON).body["accepted"] == 0


def test_an_entry_has_a_limit(make_server):
    server = make_server("--max-points-bytes", "1KiB")
    fitting = '{"metric":"m","value":[1' + " " * (1024 - 26) + "]}"
    assert len(fitting) == 1024
    assert server.post(POINTS, '{"series":[%s]}' % fitting, content_type=JSON).body["accepted"] == 1
    reply = server.post(POINTS, '{"series":[%s]}' % fitting.replace("[1", "[1 "), content_type=JSON)
    assert reply.status == 413 and "--max-points-bytes" in reply.body["detail"]


def test_points_of_open_slices_are_counted(server):
    """--queue-bytes holds for points, too: what an open body has sent and no writer has taken is seen in the figures."""
    point = b'{"metric":"m","value":1}\n'
    head = (f"POST {POINTS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {NDJSON}\r\n"
        "Content-Length: 100000000\r\n\r\n").encode()
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE_S) as connection:
        connection.sendall(head)

        def are_counted():
            connection.sendall(point * 20000)  # 480,000 bytes of columns; a slice is handed over when it is a second old
            figures = server.get("/metrics").body
            return int(re.search(r"^smfleet_open_slice_bytes (\d+)$", figures, re.MULTILINE).group(1)) >= 400_000
        wait_until(are_counted, what="the columns of an open slice")


def mean_of(values):
    return float(sum(map(fractions.Fraction, values)) / len(values))


def test_the_mean_of_values_whose_sum_is_beyond_all_doubles(server):
    for metric, values in (("same", [1.7e308] * 3), ("two", [1.7e308, 1.2e308]), ("below", [-1.7e308, -1.5e308, -1.7e308]),
            ("cancels", [1.5e308] * 3 + [-1.5e308] * 3), ("sign", [1.5e308] * 3 + [-1.7e308] * 4), ("beside", [1e308, 3, -1e308])):
        assert send(server, {"series": [{"metric": metric, "step": list(range(len(values))), "value": values}]}).status == 200
        server.wait_for_points("j", metric, len(values))
        for said in (columns(server, metric, buckets=1)["mean"][0], server.series("j", metric)["mean"]):
            assert said == pytest.approx(mean_of(values), rel=1e-15), (metric, said)


def test_the_mean_of_huge_values_that_cancel_is_right_wherever_they_lie(make_server):
    """In RAM, in pyramids, in the series' row after a start, in the summary of the job."""
    server = make_server("--seal-age", "100ms", "--seal-bytes", "64KiB")
    values = [sign * 2.0**1023 for sign in (1, -1) for _ in range(1500)] * 2 + [6000.0] * 6000
    body = {"series": [{"metric": "m", "step": list(range(len(values))), "ts_ms": [T0 + n for n in range(len(values))], "value": values}]}
    assert send(server, body).status == 200
    server.wait_for_points("j", "m", len(values))
    sealed = "SELECT sum(sealed_points) FROM series"
    for wait in (lambda: None, lambda: wait_until(lambda: server.sql(sealed) == [(len(values),)], what="all to be sealed"), server.restart,
            lambda: (server.kill(), server.start())):
        wait()
        assert columns(server, "m", buckets=1)["mean"] == [pytest.approx(mean_of(values), rel=1e-9)]
        assert server.series("j", "m")["mean"] == pytest.approx(mean_of(values), rel=1e-9)
    found = lambda: server.get("/api/v1/aggregate?of=mean:metric.m.mean").body["groups"][0]["mean:metric.m.mean"]
    assert wait_until(found, what="a mean") == pytest.approx(mean_of(values), rel=1e-9)


def test_the_mean_of_jobs_whose_sum_is_beyond_all_doubles(make_server):
    server = make_server()
    for job in ("one", "two"):
        assert send(server, {"series": [{"metric": "m", "step": [1], "value": [1.7e308]}]}, f"/api/v1/points?job={job}").status == 200
        server.wait_for_points(job, "m", 1)
    means = lambda: server.get("/api/v1/aggregate?of=count,mean:metric.m").body["groups"]
    assert wait_until(lambda: means() if means()[0]["mean:metric.m"] is not None else None, what="a mean") == [{"count": 2, "mean:metric.m": 1.7e308}]


def test_a_zero_below_zero_is_read_as_such(server):
    """By readers that tell integers from doubles, as Python's json does."""
    assert send(server, {"series": [{"metric": "zero", "step": [1, 2], "value": [-0.0, 0.0]}]}).status == 200
    server.wait_for_points("j", "zero", 2)
    signs = lambda values: [math.copysign(1, value) for value in values]
    assert signs(columns(server, "zero")["last"]) == [-1, 1]
    raw = server.get("/api/v1/jobs/j/points?metric=zero&raw=true", headers={"Accept": "application/x-ndjson"}).raw.decode()
    assert '"value":-0.0' in raw or "-0.0" in raw.splitlines()[1], raw


def test_the_first_and_the_last_value_of_several_streams(make_server):
    """Along time those of whichever stream; along steps, which all make, of one."""
    server = make_server("--seal-age", "100ms")
    for stream, at_s, value in (("a", (2, 20), 1), ("b", (1, 30), 5), ("c", (1, 30), 7)):
        assert send(server, {"series": [{"metric": "m", "stream": stream, "step": [0, 1], "ts_ms": [T0 + s * 1000 for s in at_s],
            "value": [value, value + 0.5]}]}).status == 200
        server.wait_for_points("j", "m", 2, stream=stream)

    def check():
        by_time, by_step = (server.points("j", "m", buckets=1, x=x)["columns"] for x in ("time", "step"))
        assert (by_time["x"], by_time["first"], by_time["last"], by_time["count"]) == ([T0 + 1000], [5], [5.5], [6]), by_time
        assert (by_step["x"], by_step["first"], by_step["last"]) == ([0], [1], [1.5]), by_step
    check()
    wait_until(lambda: server.figure("sealed_points_total") >= 6, what="all points in chunks")
    check()


def test_series_have_a_limit(make_server):
    server = make_server("--max-series", "2")
    reply = send(server, {"points": [{"metric": metric, "step": 1, "value": 1} for metric in "abca"]})
    assert reply.body["accepted"] == 3 and reply.body["rejected"] == 1
    assert "--max-series" in reply.body["warnings"][0]
    server.wait_for_points("j", "a", 2)
    server.wait_for_points("j", "b", 1)
    assert send(server, {"points": [{"metric": "b", "value": 1}]}).body["rejected"] == 0
    assert send(server, {"points": [{"metric": "d", "value": 1}]}).body["rejected"] == 1
    assert server.series("j", "c") is None and server.series("j", "d") is None


def test_the_most_series_of_a_stream(make_server):
    """What --max-series may be at most, as --help says: at it, and one beyond."""
    server = make_server("--max-series", "2032")
    reply = send(server, {"series": [{"metric": f"m{n}", "step": [1], "value": [n]} for n in range(2033)]})
    assert (reply.body["accepted"], reply.body["rejected"]) == (2032, 1)
    wait_until(lambda: len(server.get("/api/v1/jobs/j/metrics").body["series"]) == 2032, what="all series")
    beyond = subprocess.run([server.bin("sm-server"), "--max-series", "2033"], capture_output=True, text=True, timeout=PATIENCE_S)
    assert beyond.returncode != 0 and "2032" in beyond.stderr


def test_mixed_with_lines_sealed_and_restarted(make_server):
    server = make_server("--seal-age", "100ms", "--seal-bytes", "64KiB")
    for i in range(50):
        server.send("j", [f"step: {i} loss: {i}.5"])
        send(server, {"series": [{"metric": "m", "step": [2 * i, 2 * i + 1], "value": [i, -i]}]})
    server.wait_for_points("j", "m", 100)
    server.wait_for_points("j", "train:loss", 50)
    for _ in range(2):
        server.restart()
        server.wait_for_points("j", "m", 100)
        assert columns(server, "m")["x"] == list(range(100))
        assert columns(server, "train:loss")["line"] == list(range(50))
        assert [line["text"] for line in server.lines("j")] == [f"step: {i} loss: {i}.5" for i in range(50)]


def test_large_body_comes_in_slices(server):
    count = 200_000
    series = [{"metric": f"m{k}", "step": list(range(count // 10)), "value": [k + i / 7 for i in range(count // 10)]} for k in range(10)]
    assert send(server, {"series": series}).body["accepted"] == count
    server.wait_for_points("j", "m9", count // 10)
    assert columns(server, "m3")["first"][0] == 3


class Sender:
    def __init__(self, number, chance):
        self.stream, self.chance, self.acknowledged = f"s{number}", chance, 0
        self.sent = 0  # the request without an answer may be there or not

    def run(self, port, progress):
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            while True:
                some = self.chance.choice((1, 7, 300))
                steps = list(range(self.acknowledged, self.acknowledged + some))
                self.sent = self.acknowledged + some
                body = {"series": [{"metric": "m", "step": steps, "value": [step % 97 for step in steps]}]}
                connection.request("POST", f"/api/v1/points?job=j&stream={self.stream}", json.dumps(body), {"Content-Type": JSON})
                response = connection.getresponse()
                assert response.status == 200, response.read()
                response.read()
                self.acknowledged = self.sent
                progress.release()


def test_kill_loses_and_doubles_nothing(make_server):
    """Each acknowledged point is there once; of a request that had no answer all or none."""
    server = make_server("--seal-age", "100ms", "--seal-bytes", "64KiB")
    chance = random.Random(5)
    senders = [Sender(i, random.Random(i)) for i in range(3)]
    for _ in range(5):
        progress = threading.Semaphore(0)
        threads = [threading.Thread(target=sender.run, args=(server.port, progress)) for sender in senders]
        for thread in threads:
            thread.start()
        for _ in range(chance.randrange(5, 60)):
            assert progress.acquire(timeout=60)
        server.kill()
        for thread in threads:
            thread.join(60)
        server.restart()
        for sender in senders:
            row = server.series("j", "m", sender.stream)
            stored = row["count"] if row else 0
            assert stored in (sender.acknowledged, sender.sent)
            sender.acknowledged = stored
            if stored:
                got = server.points("j", "m", stream=sender.stream, buckets=10_000)
                assert got["total_points"] == stored and sum(got["columns"]["count"]) == stored
                assert got["columns"]["x"][0] == 0 and max(got["columns"]["max_x"] + got["columns"]["min_x"]) <= stored - 1
                if stored <= 5000:
                    assert got["columns"]["x"] == list(range(stored))
