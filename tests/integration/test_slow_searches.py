"""Expressions that explode: a search ends within its budget, at the client's going away and at SIGTERM, and nobody else waits for it."""

import http.client
import socket
import time
import urllib.parse

import pytest

from howlong import long
from smserver import wait_until

# Each is hopeless in its own way: at each start of a line of 'a', in one step of many, across a whole long line.
WORST = ["(a{1000}){1000}", "(a+)+b", "(a|aa)+$b", ".*.*.*.*=b", "(?=.*.*.*=b)a", "(a*)*\\1=b", "a*[^x]*+y", "(*NO_JIT)(a+)+b"]
ENDLESS = WORST[1:]  # the first is given up at once
TAIL = " b=y"  # what PCRE2 looks for first is there
LINES = ["a" * 2000 + TAIL for _ in range(2000)]
LONG = ["a" * 999999 + TAIL]


def path(job, pattern, **parameters):
    return f"/api/v1/jobs/{job}/logs/search?" + urllib.parse.urlencode({"q": pattern, "regex": "true", **parameters})


def filled(make_server, *options):
    server = make_server("--seal-age", "100ms", "--seal-bytes", "64KiB", "--rate-cpu-ms", "0", *options)
    server.send("j", LINES)
    server.send("long", LONG)
    return server


@pytest.fixture
def slow(make_server):
    return filled(make_server)


@pytest.fixture
def endless(make_server):
    """Its searches do not end by themselves while the tests look, however fast or busy the machine is: neither by their time nor by their steps."""
    return filled(make_server, "--search-cpu-ms", "600000", "--search-ms", "600000", "--match-steps", "1000000000")


def ask(server, target):
    """A search that is under way: the connection is the caller's to close."""
    connection = socket.create_connection(("127.0.0.1", server.port))
    connection.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return connection


def searches_now(server):
    return server.figure("slow_requests")


@pytest.mark.parametrize("pattern", WORST)
@pytest.mark.parametrize("job", ["j", "long"])
def test_a_search_ends_within_its_budget(make_server, pattern, job):
    server = make_server("--search-cpu-ms", "300", "--rate-cpu-ms", "0")
    server.send(job, LINES if job == "j" else LONG)
    before = server.processor_s()
    reply = server.get(path(job, pattern))
    used = server.processor_s() - before
    assert reply.status == 200 and reply.body["hits"] == [], reply
    assert pattern == WORST[0] or reply.body.get("partial") or reply.body.get("limited"), reply  # it is said that lines were not looked at
    assert used < 5


def test_a_search_of_many_short_lines_ends_within_its_budget(make_server):
    """No line of them is long, and no match that is tried takes many steps: it is their number."""
    server = make_server("--search-cpu-ms", "300", "--rate-cpu-ms", "0")
    server.send("j", ["a" * 500] * 2000)
    reply = server.get(path("j", "(?:a|b){0,20}[^yz]*[yz]"))
    assert reply.status == 200 and reply.body.get("partial"), reply


def test_cheap_reads_beside_eight_of_the_worst(endless):
    asked = [ask(endless, path("j", ENDLESS[i % len(ENDLESS)])) for i in range(8)]
    wait_until(lambda: searches_now(endless) == 8, what="eight searches")
    times = []
    connection = http.client.HTTPConnection("127.0.0.1", endless.port, timeout=60)
    while len(times) < 100:
        began = time.monotonic()
        connection.request("GET", "/api/v1/jobs/j")
        assert connection.getresponse().read()
        times.append(time.monotonic() - began)
    assert searches_now(endless) > 0  # they were there all the time
    print(f"p99 {1000 * sorted(times)[98]:.1f} ms")
    assert sorted(times)[98] < 5  # the searches are there for minutes
    for connection in asked:
        connection.close()


def test_a_search_ends_with_its_client(endless):
    connection = ask(endless, path("j", ENDLESS[0]))
    wait_until(lambda: searches_now(endless) == 1, what="the search")
    began = time.monotonic()
    connection.close()
    wait_until(lambda: searches_now(endless) == 0, what="its end")
    took = time.monotonic() - began
    print(f"ended after {1000 * took:.0f} ms")
    assert took < 10


def test_a_stop_waits_for_no_search(endless):
    asked = [ask(endless, path("j", pattern)) for pattern in ENDLESS]
    wait_until(lambda: searches_now(endless) == len(ENDLESS), what="the searches")
    endless.stop()
    assert "event=stop_forced" not in endless.log_text()
    for connection in asked:
        assert connection.recv(100).startswith(b"HTTP/1.1 503 ")
        connection.close()


@long
def test_who_has_used_up_the_processor_waits_and_others_do_not(make_server):
    server = make_server("--search-cpu-ms", "2000", "--rate-cpu-ms", "10")
    server.send("j", LINES)
    assert server.get(path("j", WORST[1])).status == 200  # 600 ms are there, and the search may run into debt
    reply = server.get(path("j", "b"))
    assert reply.status == 429 and "--rate-cpu-ms" in reply.body["detail"] and int(reply.headers["Retry-After"]) > 1, reply
    assert server.get("/api/v1/jobs/j").status == 200 and server.get("/api/v1/jobs").status == 200


def test_what_waits_when_the_time_is_used_up_is_refused(make_server):
    server = make_server("--slow-workers", "1", "--search-cpu-ms", "2000", "--rate-cpu-ms", "10")
    server.send("j", LINES)
    asked = [ask(server, path("j", WORST[1])) for _ in range(4)]
    wait_until(lambda: searches_now(server) == len(asked), what="all were let in")
    replies = sorted(connection.recv(100)[:13] for connection in asked)
    assert replies == [b"HTTP/1.1 200 "] + 3 * [b"HTTP/1.1 429 "]
    for connection in asked:
        connection.close()


@pytest.mark.parametrize("regex", ["(?=a)(?:|b)a*[^x]*+y(1)", "(*NO_JIT)a*[^x]*+y(1)"])
def test_a_definition_is_bounded_within_one_line_and_left_out(server, regex):
    """Else whoever may write could hold the extraction of all jobs, and the server's end and its next start with it."""
    definitions = [{"Name": "worst", "Regex": regex}, {"Name": "loss", "Regex": "loss=([0-9.]+)"}]
    job = {"TrainingJobName": "j", "AlgorithmSpecification": {"MetricDefinitions": definitions}}
    assert server.post("/api/v1/jobs", json=job).status == 201
    server.send("j", ["a" * 80000 + "y1", *(["a" * 3000 + "y1"] * 100), "loss=0.5"])
    server.wait_for_points("j", "loss", 1)
    health = {row["Name"]: row for row in server.get("/api/v1/jobs/j/metrics").body["definitions"]}
    assert health["worst"]["limited"] > 100 and not health["loss"].get("limited"), health
    began = time.monotonic()
    server.restart()
    assert time.monotonic() - began < 20


def test_a_trial_of_a_definition_is_bounded_within_one_line(server):
    began = time.monotonic()
    reply = server.post("/api/v1/definitions/test", json={"MetricDefinitions": [{"Name": "m", "Regex": "a*[^x]*+y(1)"}], "lines": ["a" * 300000 + "y1"]})
    assert reply.status == 200 and reply.body["definitions"][0]["limited"] == 1, reply
    assert time.monotonic() - began < 10


def test_a_live_filter_is_bounded_within_one_line_and_others_are_told(slow):
    worst = slow.live("jobs=live&kinds=lines&filter_regex=true&filter=" + urllib.parse.quote("a*[^x]*+y"))
    other = slow.live("jobs=live&kinds=lines&filter=needle")
    slow.send("live", ["a" * 300000 + "y", "needle"])
    event = worst.next("lines")["json"]
    assert event.get("limited") or event.get("unread"), event
    slow.send("live", ["needle"])
    assert other.next("lines", where=lambda event: "needle" in event["data"])


@long
def test_a_pattern_of_jobs_and_of_their_logs_is_bounded(slow):
    slow.patch("/api/v1/jobs/j", json={"notes": "a" * 60000 + "y"})
    began = time.monotonic()
    for query in ('notes~"a*[^x]*+y"', 'log~"a*[^x]*+y"'):
        reply = slow.get("/api/v1/jobs?" + urllib.parse.urlencode({"q": query}))
        assert reply.status in (200, 422), reply
    assert time.monotonic() - began < 40


def test_filter_log_events_is_bounded(slow):
    body = {"logGroupName": "/aws/sagemaker/TrainingJobs", "filterPattern": "%(a+)+b%", "logStreamNamePrefix": "j/"}
    began = time.monotonic()
    reply = slow.post("/", json=body, headers={"X-Amz-Target": "Logs_20140328.FilterLogEvents", "Content-Type": "application/x-amz-json-1.1"})
    assert reply.status in (200, 400, 503), reply
    assert time.monotonic() - began < 30
