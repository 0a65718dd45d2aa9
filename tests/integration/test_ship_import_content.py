"""sm-ship --import beside other senders of the same series: what the file holds and the server has not is sent, each point as often as it is there."""

import http.client
import http.server
import os
import struct
import threading

import pytest
from howlong import long
from smserver import wait_until
from tfevents import event, message, record, simple

FIRST = 1_700_000_000  # 2023-11-14T22:13:20Z
VERSION = record(b"\x09" + struct.pack("<d", 1.7e9) + message(3, b"brain.Event:2"))
MOST_COMPARED = 500_000  # as docs/shipping.md has it


@pytest.fixture
def server(emptied_server):
    return emptied_server


def loss(step):
    return 4 - step / 16  # a float as a double


def rows_of(steps, seconds=0):
    """(step, second, value) of each."""
    return [(step, FIRST + 60 * step + seconds, loss(step)) for step in steps]


def mlflow(rows):
    return "key,value,timestamp,step\n" + "".join(f"loss,{value},{second * 1000},{step}\n" for step, second, value in rows)


def wandb(rows):
    return "_step,_timestamp,loss\n" + "".join(f"{step},{second},{value}\n" for step, second, value in rows)


def events(rows):
    return VERSION + b"".join(event(step, second, simple("loss", value)) for step, second, value in rows)


KINDS = [mlflow, wandb, events]


def write(path, kind, rows):
    content = kind(rows)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def imported(ship, path):
    result = ship.run("--import", str(path), "--job", "content")
    assert result.returncode == 0, result.stderr
    return result.stderr.decode()


def send(server, rows, stream="algo-1"):
    """As another sender does, of the same series."""
    series = [{"metric": "loss", "step": [row[0] for row in rows], "ts_ms": [row[1] * 1000 for row in rows], "value": [row[2] for row in rows]}]
    assert server.post(f"/api/v1/points?job=content&stream={stream}", json={"series": series}).body["accepted"] == len(rows)


def stored(server):
    found = server.points("content", "loss", raw="true", attempts="all")["series"]
    return sorted(row for part in found for row in zip(part["step"], [ms // 1000 for ms in part["ts_ms"]], part["value"], strict=True))


def wait_for(server, *rows):
    wanted = sorted(row for some in rows for row in some)
    wait_until(lambda: stored(server) == wanted, what=f"{len(wanted)} points")


OTHERS = {
    "behind": [(step, FIRST + 60 * step, 9.0) for step in (100, 101, 102)],
    "the steps to come": [(step, FIRST + 60 * step, 9.0) for step in (11, 12, 13)],
    "the steps that are there": [(step, FIRST + 60 * step + 30, 9.0) for step in (8, 9, 10)],
    "the same values at other times": rows_of([9, 10, 11], seconds=30),
    "before all": [(step, FIRST - 60, 9.0) for step in (-3, -2, -1)],
}


@pytest.mark.parametrize("others", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_another_sent_meanwhile_is_none_of_the_files(server, ship, tmp_path, kind, others):
    path = tmp_path / "content"
    write(path, kind, rows_of(range(1, 11)))
    imported(ship, path)
    send(server, others)
    write(path, kind, rows_of(range(1, 16)))
    assert "10 of 15 lines and points were there already, 5 are new" in imported(ship, path)
    wait_for(server, rows_of(range(1, 16)), others)
    assert "all 15 lines and points were there already: nothing is new" in imported(ship, path)
    wait_for(server, rows_of(range(1, 16)), others)


@pytest.mark.parametrize("kind", KINDS)
def test_what_another_sent_of_the_file_is_not_sent_again(server, ship, tmp_path, kind):
    """From its middle, before any import: the two ends are new."""
    send(server, rows_of(range(5, 9)))
    write(tmp_path / "content", kind, rows_of(range(1, 13)))
    assert "4 of 12 lines and points were there already, 8 are new" in imported(ship, tmp_path / "content")
    wait_for(server, rows_of(range(1, 13)))


@pytest.mark.parametrize("kind", KINDS)
def test_what_stands_twice_in_the_file_is_there_twice(server, ship, tmp_path, kind):
    """A run that went back to step 3, and rows that are the same in all: one of a pair came from another sender."""
    twice = rows_of([4])
    rows = [*rows_of(range(1, 6)), *rows_of(range(3, 6), seconds=1000), *twice]
    send(server, twice)
    write(tmp_path / "content", kind, rows)
    assert "1 of 9 lines and points were there already, 8 are new" in imported(ship, tmp_path / "content")
    wait_for(server, rows)
    write(tmp_path / "content", kind, [*rows, *twice])
    assert "9 of 10 lines and points were there already, 1 are new" in imported(ship, tmp_path / "content")
    wait_for(server, rows, twice)


def test_odd_numbers_are_compared_as_well(server, ship, tmp_path):
    rows = [(1, FIRST, "NaN"), (2, FIRST, "Infinity"), (3, FIRST, "-Infinity"), (4, FIRST, -0.0), (5, FIRST, 5e-324), (2**53 - 1, FIRST, 0.1), (-7, FIRST, 1e300)]
    send(server, [(step, second, value) for step, second, value in rows if step != 3])
    write(tmp_path / "content", mlflow, rows)
    assert "6 of 7 lines and points were there already, 1 are new" in imported(ship, tmp_path / "content")
    assert "all 7 lines and points were there already" in imported(ship, tmp_path / "content")


def chart(steps):
    return '"Step","content - loss"\n' + "".join(f'"{step}","{loss(step)}"\n' for step in steps)


def test_a_table_without_times_is_compared_by_step_and_value(server, ship, tmp_path):
    """Its time is assumed, and another one once it was written again."""
    path = tmp_path / "chart.csv"
    others = [(step, FIRST + 60 * step, 9.0) for step in (2, 4, 5)]
    for steps, moment, words in ((range(1, 4), FIRST + 500, ""), (range(1, 7), FIRST + 900, "3 of 6 lines and points were there already, 3 are new")):
        path.write_text(chart(steps))
        os.utime(path, (moment, moment))
        assert words in imported(ship, path)
        if not words:
            send(server, others)
    wait_until(lambda: sorted((step, value) for step, _, value in stored(server)) == sorted([(step, loss(step)) for step in range(1, 7)] + [(step, 9.0) for step, _, _ in others]), what="the points of both")


def test_an_event_file_that_is_followed_again_beside_another_sender(server, follow, tmp_path):
    """What sm-ship sent before it was killed is not sent again, and what came since is, whoever sent more meanwhile."""
    path, others = tmp_path / "events", OTHERS["the steps to come"]
    write(path, events, rows_of(range(1, 11)))
    first = follow("content", path)
    wait_for(server, rows_of(range(1, 11)))
    first.kill()
    first.communicate()
    send(server, others, stream=tmp_path.name)
    write(path, events, rows_of(range(1, 16)))
    follow("content", path)
    wait_for(server, rows_of(range(1, 16)), others)


@long
def test_a_series_that_is_too_long_to_be_compared_is_counted_and_that_is_said(server, ship, tmp_path):
    """At the bound its points are compared; one more, and of a file as many as the series has are taken to be there."""
    path, words = tmp_path / "content", f"stream 'algo-1' of job 'content' has {MOST_COMPARED + 1} points of 'loss', too many to be compared one by one: "
    send(server, rows_of(range(1, 4)))
    for start in range(0, MOST_COMPARED - 4, 100_000):
        send(server, [(1000 + i, FIRST, 9.0) for i in range(start, min(start + 100_000, MOST_COMPARED - 4))])
    write(path, mlflow, rows_of(range(1, 5)))
    said = imported(ship, path)
    assert "3 of 4 lines and points were there already, 1 are new" in said and "too many" not in said
    send(server, [(999, FIRST, 9.0)])
    write(path, mlflow, rows_of(range(1, 6)))
    said = imported(ship, path)
    assert words + f"the first {MOST_COMPARED + 1} of the files are taken to be there" in said and "all 5 lines and points" in said, said


@pytest.mark.parametrize("room", [6, 5, 0])
def test_series_for_which_there_is_no_room_are_counted_and_that_is_said(server, ship, tmp_path, room):
    """Two series of three points each on the server: at six both are compared, below it one is, at none neither is."""
    for metric in ("a", "b"):
        series = [{"metric": metric, "step": [1, 2, 3], "ts_ms": [1000 * (FIRST + i) for i in range(3)], "value": [9.0] * 3}]
        assert server.post("/api/v1/points?job=content&stream=algo-1", json={"series": series}).body["accepted"] == 3
    rows = [f"{metric},{step / 4},{1000 * (FIRST + 60 * step)},{step}\n" for step in range(1, 5) for metric in ("a", "b")]
    (tmp_path / "content").write_text("key,value,timestamp,step\n" + "".join(rows))
    result = ship.run("--import", str(tmp_path / "content"), "--job", "content", "--compare-points", str(room))
    assert result.returncode == 0, result.stderr
    counted = {6: 0, 5: 1, 0: 2}[room]  # series: the first three of the file's four points are taken to be there
    said = result.stderr.decode()
    assert said.count("too many to be compared one by one: the first 3 of the files") == counted, said
    if counted:
        assert f"{3 * counted} of 8 lines and points were there already, {8 - 3 * counted} are new" in said, said


class Relay(http.server.BaseHTTPRequestHandler):
    """Passes requests on; `lost` replies to bodies of points are lost, whether the server has them or not."""

    protocol_version = "HTTP/1.1"

    def relay(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        is_lost = self.server.lost and self.path.startswith("/api/v1/points")
        if is_lost and not self.server.lost.pop():
            return self.cut()
        upstream = http.client.HTTPConnection(self.server.upstream, timeout=60)
        upstream.request(self.command, self.path, body, {name: value for name, value in self.headers.items() if name not in ("Connection", "Accept-Encoding")})
        reply = upstream.getresponse()
        content = reply.read()
        upstream.close()
        if is_lost:
            return self.cut()
        self.send_response(reply.status)
        if kind := reply.getheader("Content-Type"):
            self.send_header("Content-Type", kind)
        if reply.status != 204:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def cut(self):
        self.close_connection = True

    do_GET = do_POST = do_PUT = do_PATCH = relay

    def log_message(self, *_):
        pass


@pytest.fixture
def relay(server):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Relay) as one:
        one.daemon_threads, one.upstream, one.lost = True, server.url.removeprefix("http://"), []
        thread = threading.Thread(target=one.serve_forever)
        thread.start()
        yield one
        one.shutdown()
        thread.join()


@pytest.mark.parametrize("lost", [[True], [False], [True, False, True]], ids=["stored", "not stored", "three in a row"])
def test_a_reply_that_is_lost_neither_doubles_nor_loses_a_point(server, ship, relay, tmp_path, lost):
    """Several batches beside another sender's points, each row twice; some rows were there."""
    rows = [row for row in rows_of(range(6000)) for _ in range(2)]
    others = [(step, FIRST, 9.0) for step in range(5000, 7000)]
    send(server, others)
    send(server, rows[1000:1500])
    write(tmp_path / "content", wandb, rows)
    relay.lost = list(lost)
    result = ship.run("--import", f"{tmp_path}/content", "--job", "content", SMFLEET_SERVER=f"http://127.0.0.1:{relay.server_port}")
    assert result.returncode == 0 and not relay.lost, result.stderr
    wait_for(server, rows, others)
