"""Lines in: every form of body that API.md names, and every way in which one can be wrong."""

import contextlib
import gzip
import http.client
import json
import os
import random
import select
import shutil
import socket
import subprocess
import textwrap
import threading

import pytest
from howlong import long
from smserver import PATIENCE_S, ROOT, wait_until

LOGS = "/api/v1/logs?job=j&stream=algo-1"


@pytest.fixture
def server(emptied_server):
    return emptied_server


def texts(server, job="j", stream="algo-1"):
    return [line["text"] for line in server.lines(job, stream)]


# ---- what is taken ----
def test_plain_text(server):
    before = server.get("/api/v1/jobs").body["jobs"]
    status, _, body = server.post(LOGS, "first\nsecond\n\nfourth\n")
    assert before == [] and status == 200
    assert body["accepted"] == 4 and body["rejected"] == 0 and body["warnings"] == []
    assert isinstance(body["seq"], str) and body["next_offset"] == 21
    lines = server.lines("j")
    assert [(line["n"], line["text"]) for line in lines] == [(0, "first"), (1, "second"), (2, ""), (3, "fourth")]
    assert all(line["stream"] == "algo-1" and line["ts_ms"] > 1_600_000_000_000 for line in lines)


def test_last_line_without_newline_is_taken(server):
    assert server.post(LOGS, "first\nlast").body["accepted"] == 2
    assert texts(server) == ["first", "last"]


def test_lines_are_numbered_on(server):
    server.send("j", ["a", "b"])
    server.send("j", ["c"])
    page = server.get("/api/v1/jobs/j/logs?stream=algo-1&from=1&limit=1").body
    assert page["total"] == 3 and [(line["n"], line["text"]) for line in page["lines"]] == [(1, "b")]


def test_log_without_from_is_the_end(server):
    server.send("j", [f"line {i}" for i in range(20)])
    page = server.get("/api/v1/jobs/j/logs?stream=algo-1&limit=3").body
    assert [line["text"] for line in page["lines"]] == ["line 17", "line 18", "line 19"]


def test_empty_body(server):
    reply = server.post(LOGS, "")
    assert reply.status == 200 and reply.body["accepted"] == 0


def test_crlf_is_not_part_of_the_text(server):
    server.post(LOGS, "one\r\ntwo\r\n")
    assert [text.rstrip("\r") for text in texts(server)] == ["one", "two"]


@pytest.mark.parametrize("then", ["goes on", "says it again"])
def test_a_large_body_counts_the_bytes_of_its_source(server, then):
    """Large bodies become a block on their way to the writer; what names their source must come along."""
    lines = [f"step {i} loss {9 / (i + 1):.6f}" for i in range(9000)]
    body = "".join(line + "\n" for line in lines)
    assert len(body) > 128 << 10
    at = LOGS + "&source=file-of-a-name-that-is-longer-than-a-word&offset="
    assert server.post(at + "0", body).body["accepted"] == 9000
    if then == "goes on":
        reply = server.post(at + str(len(body)), "step 9000 loss 0\n")
        assert reply.status == 200 and reply.body["accepted"] == 1, reply
        lines.append("step 9000 loss 0")
        assert reply.body["next_offset"] == len(body) + 17
    else:
        reply = server.post(at + "0", body)
        assert reply.status == 200 and (reply.body["accepted"], reply.body["duplicate"]) == (0, 9000), reply
    assert texts(server) == lines


def test_ndjson(server):
    rows = [
        {"line": "a", "ts": 1_700_000_000_000},
        {"log": "b\n", "date": 1_700_000_000.5, "stream": "algo-2"},
        {"message": "c", "time": "2023-11-14T22:13:20Z", "job": "other"},
        {"message": "d", "kubernetes": {"pod": "x"}},
    ]
    body = "".join(json.dumps(row) + "\n" for row in rows)
    reply = server.post("/api/v1/logs?job=j", body, content_type="application/x-ndjson")
    assert reply.status == 200 and reply.body["accepted"] == 4 and reply.body["rejected"] == 0
    assert [(line["text"], line["ts_ms"]) for line in server.lines("j")][0] == ("a", 1_700_000_000_000)
    assert texts(server) == ["a", "d"]
    second = server.lines("j", "algo-2")
    assert [(line["text"].rstrip("\n"), line["ts_ms"]) for line in second] == [("b", 1_700_000_000_500)]
    assert [(line["text"], line["ts_ms"]) for line in server.lines("other")] == [("c", 1_700_000_000_000)]


def test_ndjson_object_without_a_text_is_the_line(server):
    body = "".join(json.dumps({"step": step, "train_loss": 3 - step / 100}) + "\n" for step in range(50, 60)) + '{"event": "saved", "message": {"path": "a"}}\n'
    reply = server.post(LOGS, body, content_type="application/x-ndjson")
    assert reply.status == 200 and (reply.body["accepted"], reply.body["rejected"]) == (11, 0), reply
    assert texts(server) == body.splitlines()
    server.wait_for_points("j", "train:loss", 10)
    series, = server.get("/api/v1/jobs/j/points?metric=train:loss&raw=true").body["series"]
    assert series["step"] == list(range(50, 60)) and series["value"] == [3 - step / 100 for step in range(50, 60)]


@pytest.mark.parametrize("field, value", [("job", "17"), ("job", "1.5"), ("job", "true"), ("job", "[17]"), ("stream", "{}")])
def test_ndjson_name_that_is_no_text_is_no_name(server, field, value):
    body = f'{{"line":"x","{field}":{value}}}\n{{"line":"good","{field}":null}}\n'
    reply = server.post(LOGS, body, content_type="application/x-ndjson")
    assert reply.status == 200 and (reply.body["accepted"], reply.body["rejected"]) == (1, 1), reply
    assert f"'{field}' is not a text" in " ".join(reply.body["warnings"])
    assert [job["TrainingJobName"] for job in server.get("/api/v1/jobs").body["jobs"]] == ["j"]


def test_ndjson_bad_entry_is_counted_and_named(server):
    body = '{"line":"good"}\n{"line":"x","job":[17]}\nnonsense\n{"line":"also good"}\n'
    reply = server.post("/api/v1/logs?job=j", body, content_type="application/x-ndjson")
    assert reply.status == 200 and reply.body["accepted"] == 2 and reply.body["rejected"] == 2, reply
    warnings = " ".join(reply.body["warnings"])
    assert "line 2" in warnings and "line 3" in warnings and "column" in warnings
    assert texts(server) == ["good", "also good"]


def test_gzip(server):
    reply = server.post(LOGS, gzip.compress(b"a\nb\n"), headers={"Content-Encoding": "gzip"})
    assert reply.status == 200 and reply.body["accepted"] == 2
    assert texts(server) == ["a", "b"]


def test_zstd(server):
    if not shutil.which("zstd"):
        pytest.skip("no zstd program here")
    packed = subprocess.run(["zstd", "-q", "-c"], input=b"a\nb\n" * 1000, stdout=subprocess.PIPE, check=True).stdout
    reply = server.post(LOGS, packed, headers={"Content-Encoding": "zstd"})
    assert reply.status == 200 and reply.body["accepted"] == 2000


def test_curl_upload_from_a_pipe(server):
    """The README's first way: … | curl -T - URL"""
    done = subprocess.run(["curl", "-sS", "-T", "-", server.url + LOGS], input=b"step: 1 loss: 2.5\nstep: 2 loss: 2.25\n",
        stdout=subprocess.PIPE, timeout=PATIENCE_S, check=True)
    assert json.loads(done.stdout)["accepted"] == 2
    assert texts(server) == ["step: 1 loss: 2.5", "step: 2 loss: 2.25"]


def test_endless_upload_commits_while_it_is_open(server):
    connection = socket.create_connection(("127.0.0.1", server.port), PATIENCE_S)
    with connection:
        connection.sendall(f"POST {LOGS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
            "Transfer-Encoding: chunked\r\n\r\n".encode())
        for number in range(3):
            text = f"line {number}\n".encode()
            connection.sendall(b"%x\r\n%s\r\n" % (len(text), text))
            wait_until(lambda: server.get("/api/v1/jobs/j/logs").status == 200 and len(texts(server)) == number + 1,
                what=f"line {number} of an upload that is still open")
        connection.sendall(b"0\r\n\r\n")
        response = http.client.HTTPResponse(connection)
        response.begin()
        assert response.status == 200 and json.loads(response.read())["accepted"] == 3


def test_half_a_line_waits_for_its_end(server):
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE_S) as connection:
        connection.sendall(f"POST {LOGS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
            "Transfer-Encoding: chunked\r\n\r\n".encode())
        connection.sendall(b"8\r\nwhole\nha\r\n")
        wait_until(lambda: server.get("/api/v1/jobs/j/logs").status == 200 and texts(server), what="the whole line")
        assert texts(server) == ["whole"]
        connection.sendall(b"4\r\nlf.\n\r\n0\r\n\r\n")
        response = http.client.HTTPResponse(connection)
        response.begin()
        assert json.loads(response.read())["accepted"] == 2
    assert texts(server) == ["whole", "half."]


def test_open_slices_are_no_place_to_keep_memory(make_server):
    """Bodies that stop in the middle of a slice: together they hold --queue-bytes at most, and what was read beyond that once."""
    server = make_server("--queue-bytes", "1MiB")
    lines = b"a line that somebody sends and then leaves lying\n" * 8000
    connections = [socket.create_connection(("127.0.0.1", server.port), PATIENCE_S) for _ in range(8)]
    for number, connection in enumerate(connections):
        connection.sendall(f"POST /api/v1/logs?job=j&stream=s{number} HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
            "Content-Length: 10000000\r\n\r\n".encode())
        connection.sendall(lines)
    most = 0

    def is_stored():
        nonlocal most
        most = max(most, server.figure("open_slice_bytes"))
        # a first slice that finds extraction far behind is refused whole
        refused, _, _ = select.select(connections, [], [], 0)
        return server.figure("lines_total") == (8 - len(refused)) * 8000 > 0
    wait_until(is_stored, what="all whole lines, though no body has ended")
    assert 0 < most < 2 << 20
    for connection in connections:
        connection.close()
    wait_until(lambda: server.figure("open_slice_bytes") == 0, what="the memory of uploads that are gone")


@long
def test_a_long_body_goes_on_beside_many_short_ones(make_server):
    """These keep extraction busy, and come again when they are refused; a slice of a body that is partly taken cannot."""
    server = make_server("--queue-bytes", "4MiB")
    lines = b"".join(f"step {n} loss {n % 7}.5 lr 0.001 grad_norm {n % 13}.25 tokens_per_second {1000 + n % 50} some more words that are here\n".encode() for n in range(3000))
    is_over = threading.Event()

    def post(number):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)) as connection:
            while not is_over.is_set():
                connection.request("POST", f"/api/v1/logs?job=short-{number}&stream=s", lines, {"Content-Type": "text/plain"})
                response = connection.getresponse()
                response.read()
                if response.status != 200:
                    is_over.wait(0.02)

    with socket.create_connection(("127.0.0.1", server.port), PATIENCE_S) as long_one:
        long_one.sendall(b"POST /api/v1/logs?job=long&stream=s HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n6\r\nfirst\n\r\n")
        wait_until(lambda: server.figure("lines_total") == 1, what="the first slice")
        short = [threading.Thread(target=post, args=(number,)) for number in range(8)]
        for one in short:
            one.start()
        try:
            wait_until(lambda: server.figure("refused_busy_total"), what="extraction that is behind")
            rest = lines * 12
            long_one.sendall(b"%x\r\n%s\r\n0\r\n\r\n" % (len(rest), rest))
            assert long_one.recv(100).startswith(b"HTTP/1.1 200 ")
        finally:
            is_over.set()
            for one in short:
                one.join()


@pytest.mark.parametrize("name", ["a/b", "größe", "with space", "100%", "x" * 255, "a,b", "a+b", "."])
def test_job_names(server, name):
    server.send(name, "hello")
    assert [line["text"] for line in server.lines(name)] == ["hello"]
    assert server.get("/api/v1/jobs").body["jobs"][0]["TrainingJobName"] == name


# ---- odd bytes ----
def test_not_utf8(server):
    assert server.post(LOGS, b"a \xff\xfe b\nnext\n").body["accepted"] == 2
    stored = texts(server)
    assert stored[0].startswith("a ") and stored[0].endswith(" b") and "\ufffd" in stored[0]
    assert stored[1] == "next"


def test_nul_bytes(server):
    assert server.post(LOGS, b"a\0b\nnext\n").body["accepted"] == 2
    stored = texts(server)
    assert stored[0] in ("a\0b", "a\ufffdb", "a\u2400b") and stored[1] == "next"


def test_over_long_line_is_cut_marked_and_counted(make_server):
    server = make_server("--max-line-bytes", "64KiB")
    reply = server.post(LOGS, "short\n" + "x" * 100_000 + "\nnext\n")
    assert reply.status == 200 and reply.body["accepted"] == 3
    assert reply.body["cut"] == 1 and "--max-line-bytes" in " ".join(reply.body["warnings"])
    lines = server.lines("j")
    assert [len(line["text"]) for line in lines] == [5, 64 * 1024, 4]
    assert [bool(line.get("cut")) for line in lines] == [False, True, False]
    assert reply.body["next_offset"] == 6 + 100_001 + 5


@pytest.mark.parametrize("length, is_cut", [(65535, False), (65536, False), (65537, True)])
def test_line_at_the_limit(make_server, length, is_cut):
    server = make_server("--max-line-bytes", "64KiB")
    server.post(LOGS, "x" * length + "\n")
    line = server.lines("j")[0]
    assert (len(line["text"]), bool(line.get("cut"))) == (min(length, 65536), is_cut)


def test_all_values_of_a_run_on_one_line(server):
    """A JSON of a megabyte without a newline, as Megatron's golden values are: none of its values is lost."""
    values = {str(step): 10 + step / 1e6 for step in range(1, 40_001)}
    line = json.dumps({"lm loss": {"start_step": 1, "values": values}, "num-zeros": {"values": values}})
    assert len(line) > 1 << 20
    reply = server.post(LOGS, line + "\nnext\n")
    assert reply.body["accepted"] == 2 and reply.body.get("cut", 0) == 0 and reply.body["warnings"] == []

    def counts():
        return {one["metric"]: one["count"] for one in server.get("/api/v1/jobs/j/metrics").body["series"]}

    wait_until(lambda: counts().get("num-zeros") == 65536 - 40_002, what="every match that a line may have")
    assert counts()["lm loss"] == 40_000
    health = server.get("/api/v1/jobs/j/metrics").body["definitions"][0]
    assert health["matched"] == 1 and health["limited"] == 1
    assert [len(text) for text in texts(server)] == [len(line), 4]


def test_values_behind_the_end_of_a_cut_line_are_counted_as_left_out(make_server):
    server = make_server("--max-line-bytes", "4KiB")
    line = json.dumps({"lm loss": {"start_step": 1, "values": {str(step): 10 + step / 1e6 for step in range(1000)}}})
    assert server.post(LOGS, line + "\n").body["cut"] == 1

    def health():
        return server.get("/api/v1/jobs/j/metrics").body["definitions"]

    wait_until(lambda: health() and health()[0]["matched"] == 1, what="the line was extracted")
    assert health()[0]["limited"] == 1


def test_open_lines_hold_memory_that_counts(make_server):
    """Lines without an end are memory that clients make the server keep: of all uploads together --queue-bytes at most."""
    server = make_server("--queue-bytes", "1MiB", "--max-line-bytes", "4MiB")
    with contextlib.ExitStack() as opened:
        for i in range(8):
            there = opened.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S))
            there.sendall(f"POST /api/v1/logs?job=j&stream=s{i} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain"
                          "\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
            with contextlib.suppress(OSError):
                for _ in range(8):
                    there.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
            if select.select([there], [], [], 0.2)[0]:
                break
        assert i > 0 and there.recv(65536).startswith(b"HTTP/1.1 429 ")


def test_endless_line_costs_no_memory(make_server):
    """16 MiB without a newline, then an ordinary line."""
    server = make_server("--max-line-bytes", "64KiB")
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
    connection.request("POST", LOGS, body=iter([b"x" * 65536] * 256 + [b"\nnext\n"]), headers={"Content-Type": "text/plain"},
        encode_chunked=True)
    reply = json.loads(connection.getresponse().read())
    connection.close()
    assert reply["accepted"] == 2 and reply["cut"] == 1
    assert [len(text) for text in texts(server)] == [65536, 4]


# ---- what is refused ----
def problem(reply, status):
    assert reply.status == status, reply
    assert reply.headers["Content-Type"].startswith("application/problem+json")
    assert reply.body["status"] == status and reply.body["title"] and reply.body["detail"]
    return reply.body


def test_half_a_gzip(server):
    packed = gzip.compress("".join(random.Random(1).choices("abcdef\n", k=20000)).encode())
    problem(server.post(LOGS, packed[:len(packed) // 2], headers={"Content-Encoding": "gzip"}), 400)


def test_damaged_gzip(server):
    problem(server.post(LOGS, b"\x1f\x8bnonsense, not gzip at all", headers={"Content-Encoding": "gzip"}), 400)


def test_damaged_zstd(server):
    problem(server.post(LOGS, b"\x28\xb5\x2f\xfd nonsense", headers={"Content-Encoding": "zstd"}), 400)


def test_unknown_encoding(server):
    problem(server.post(LOGS, b"x", headers={"Content-Encoding": "br"}), 415)


def test_wrong_content_type(server):
    body = problem(server.post(LOGS, b"\xff\xd8", content_type="image/jpeg"), 415)
    assert "image/jpeg" in body["detail"] and "text/plain" in body["detail"]


def test_unknown_query_parameter_names_the_nearest(server):
    body = problem(server.post("/api/v1/logs?job=j&strem=algo-1", "x\n"), 400)
    assert "strem" in body["detail"] and "stream" in body["detail"]
    assert server.get("/api/v1/jobs/j").status == 404 # nothing was taken


def test_plain_text_needs_a_job(server):
    assert problem(server.post("/api/v1/logs", "x\n"), 400)["field"] == "job"


@pytest.mark.parametrize("name", ["x" * 256, "a\nb", "", "a\x00b"])
def test_bad_job_name(server, name):
    body = problem(server.post("/api/v1/logs?job=" + "".join(f"%{byte:02X}" for byte in name.encode()), "x\n"), 400)
    assert body.get("field") == "job" or "NUL" in body["detail"], body


@pytest.mark.parametrize("path", ["", "/logs", "/metrics", "/points?metric=loss", "/streams"])
def test_unknown_job(server, path):
    assert "nowhere" in problem(server.get("/api/v1/jobs/nowhere" + path), 404)["detail"]


def test_unknown_path_and_method(server):
    problem(server.get("/api/v1/nothing"), 404)
    reply = server.delete("/api/v1/logs")
    problem(reply, 405)
    assert {"POST", "PUT"} <= set(reply.headers["Allow"].replace(" ", "").split(","))


def test_body_cut_off_keeps_what_was_committed(server):
    """3 MB are promised, 2.5 MB come: whole slices are there, no line is torn, and what follows is in order."""
    lines = b"".join(b"%07d %s\n" % (number, b"x" * 91) for number in range(25_000))
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE_S) as connection:
        connection.sendall(f"POST {LOGS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
            f"Content-Length: {3_000_000}\r\n\r\n".encode())
        connection.sendall(lines)
        wait_until(lambda: server.get("/api/v1/jobs/j/logs").status == 200 and
            server.get("/api/v1/jobs/j/logs?stream=algo-1&limit=1").body["total"] > 9000, what="the first slice")
    server.send("k", "the server goes on")
    kept = texts(server)
    assert 9000 < len(kept) <= 25_000
    assert [int(text[:7]) for text in kept] == list(range(len(kept)))
    assert {len(text) for text in kept} == {99}


def test_small_body_cut_off_leaves_nothing(server):
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE_S) as connection:
        connection.sendall(f"POST {LOGS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
            "Content-Length: 100\r\n\r\nline 1\nline 2\n".encode())
    wait_until(lambda: "smfleet_" in server.get("/metrics").raw.decode(), what="/metrics")
    reply = server.get("/api/v1/jobs/j/logs")
    assert reply.status == 404 or len(texts(server)) <= 2


# ---- a refusal in the middle of an upload must reach the client ----
BODY_20_MB = b"x" * 99 + b"\n"


def limited(make_server):
    return make_server("--max-upload-bytes", "1MiB")


def assert_names_the_option(text):
    body = json.loads(text)
    assert body["status"] == 413 and "--max-upload-bytes" in body["detail"]


def test_refusal_reaches_http_client(make_server):
    server = limited(make_server)
    for _ in range(3):
        reply = server.post(LOGS, BODY_20_MB * 200_000)
        assert reply.status == 413
        assert_names_the_option(reply.raw)


def test_refusal_reaches_http_client_without_length(make_server):
    server = limited(make_server)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        connection.request("POST", LOGS, body=iter([BODY_20_MB * 1000] * 60), headers={"Content-Type": "text/plain"},
            encode_chunked=True)
    response = connection.getresponse()
    assert response.status == 413
    connection.close()


@pytest.mark.parametrize("options", [[], ["-H", "Expect:"]], ids=["expect", "no-expect"])
def test_refusal_reaches_curl(make_server, tmp_path, options):
    server = limited(make_server)
    (tmp_path / "body").write_bytes(BODY_20_MB * 200_000)
    done = subprocess.run(["curl", "-sS", *options, "-H", "Content-Type: text/plain", "-w", "\n%{http_code}", "--data-binary",
        f"@{tmp_path}/body", server.url + LOGS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    text, _, code = done.stdout.decode().rpartition("\n")
    assert code == "413"
    assert_names_the_option(text)


GO_CLIENT = """
    package main

    import (
        "fmt"
        "io"
        "net/http"
        "os"
        "strings"
    )

    func main() {
        body := strings.NewReader(strings.Repeat(strings.Repeat("x", 99)+"\\n", 200000))
        reply, err := http.Post(os.Args[1], "text/plain", body)
        if err != nil {
            fmt.Fprintln(os.Stderr, err)
            os.Exit(1)
        }
        text, _ := io.ReadAll(reply.Body)
        fmt.Printf("%d\\n%s", reply.StatusCode, text)
    }
"""


@long
def test_refusal_reaches_go(make_server, tmp_path):
    if not shutil.which("go"):
        pytest.skip("no Go here")
    server = limited(make_server)
    (tmp_path / "client.go").write_text(textwrap.dedent(GO_CLIENT))
    subprocess.run(["go", "build", "-o", tmp_path / "client", tmp_path / "client.go"], check=True, timeout=240,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GOCACHE": str(ROOT / "build/go-cache"), "CGO_ENABLED": "0"})
    done = subprocess.run([tmp_path / "client", server.url + LOGS], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    code, _, text = done.stdout.decode().partition("\n")
    assert code == "413"
    assert_names_the_option(text)


def test_limit_counts_what_is_unpacked(make_server):
    server = limited(make_server)
    reply = server.post(LOGS, gzip.compress(BODY_20_MB * 200_000), headers={"Content-Encoding": "gzip"})
    problem(reply, 413)


# ---- offsets: a retry is harmless ----
def test_offset(server):
    path = LOGS + "&offset="
    assert server.post(path + "0", "a\nbb\n").body["next_offset"] == 5
    again = server.post(path + "0", "a\nbb\n")
    assert again.status == 200 and again.body["next_offset"] == 5 and again.body["accepted"] in (0, 2)
    overlapping = server.post(path + "2", "bb\nccc\n")
    assert overlapping.body["next_offset"] == 9
    assert texts(server) == ["a", "bb", "ccc"]


def test_offset_with_a_gap(server):
    server.post(LOGS + "&offset=0", "a\n")
    reply = server.post(LOGS + "&offset=10", "b\n")
    assert "2" in problem(reply, 409)["detail"]
    assert texts(server) == ["a"]


def test_many_streams_in_one_body(server):
    rows = "".join(json.dumps({"line": f"line {i}", "stream": f"algo-{i % 300 + 1}"}) + "\n" for i in range(3000))
    assert server.post("/api/v1/logs?job=j", rows, content_type="application/x-ndjson").body["accepted"] == 3000
    streams = server.get("/api/v1/jobs/j/streams").body["streams"]
    assert len(streams) == 300 and {stream["lines"] for stream in streams} == {10}


# ---- lines of the past ----
def test_lines_of_the_past_keep_the_time_of_the_line_before_them_over_bodies(server):
    """A body without any time of its own goes on where the one before it ended, not when the file was written."""
    url = f"{LOGS}&written_ms=1700000000000"
    assert server.post(url, "2021-05-28 07:42:46 step 1\nTraceback\n").status == 200
    assert server.post(url, "Killing subprocess 1\nKilling subprocess 2\n").status == 200
    assert server.post(url, "behind it\n2021-05-28 07:42:50 step 2\nthe end\n").status == 200
    assert [line["ts_ms"] for line in server.lines("j")] == [1622187766000] * 5 + [1622187770000] * 2


def test_lines_of_the_past_without_any_time_have_that_of_their_file(server):
    for text in ("one\n", "two\n"):
        assert server.post(f"{LOGS}&written_ms=1700000000000", text).status == 200
    assert server.post(f"{LOGS}&written_ms=1700000001000", "three\n").status == 200
    assert [line["ts_ms"] for line in server.lines("j")] == [1700000000000] * 2 + [1700000001000]
