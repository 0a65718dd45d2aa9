"""
What one thing costs must not grow with the square of what is there, nor with what it does not ask for: by the server's own processor
time, at N and at eight times N. tests/bench/rows_growth.py measures more of it.
"""

import datetime
import sqlite3
import statistics
import time

import pytest

from engine import of_a_file
from smserver import Server, wait_until

pytestmark = of_a_file("what is in its tables")

FEW, MANY = 500, 4000
A_STREAM = 500
MOST = 1.6 * MANY / FEW  # the square is 64
RULES = 400
TIMES, ROUNDS = 3, 5


def send_metrics(server, job, count):
    for first in range(0, count, A_STREAM):
        series = ",".join(f'{{"metric":"m/{n}","stream":"rank-{first // A_STREAM}","step":[1,2,3],"value":[{n % 7}.5,2,1]}}' for n in range(first, first + A_STREAM))
        assert server.post(f"/api/v1/points?job={job}", f'{{"series":[{series}]}}', content_type="application/json").status == 200


def count_ranked(server, job):
    with sqlite3.connect(f"file:{server.database}?mode=ro", uri=True) as database:
        return database.execute("SELECT count(*) FROM rankings JOIN jobs USING (job_id) WHERE name = ?", (job,)).fetchone()[0]


def spent_s(server, act, times=TIMES, rounds=ROUNDS):
    """The least of some rounds: what others do on the machine, and what the server does besides, only adds to it."""
    def once():
        before = server.processor_s()
        for _ in range(times):
            act()
        return (server.processor_s() - before) / times
    return min(once() for _ in range(rounds))


@pytest.fixture(scope="module")
def ranked(tmp_path_factory):
    """A server that has both jobs, and what it spent until their metrics were summed up and ranked."""
    server = Server(tmp_path_factory.mktemp("growth")).start()
    spent = {}
    for job, count in (("few", FEW), ("many", MANY)):
        before = server.processor_s()
        send_metrics(server, job, count)
        wait_until(lambda: count_ranked(server, job) == count, what="all rankings")
        spent[job] = server.processor_s() - before
    yield server, spent
    server.close()


def test_metrics_are_summed_up_and_ranked_one_by_one(ranked):
    _, spent = ranked
    assert spent["many"] / spent["few"] < MOST, spent


def test_the_document_of_a_job_finds_each_metric(ranked):
    server, _ = ranked
    few, many = (spent_s(server, lambda: server.get(f"/api/v1/jobs/{job}")) for job in ("few", "many"))
    rows = {row["metric"]: row["final"] for row in server.get("/api/v1/jobs/many").body["metrics"]}
    assert rows == {f"m/{n}": statistics.median((n % 7 + 0.5, 2, 1)) for n in range(MANY)}
    assert many / few < MOST, (few, many)


def add_rules(server, first, end):
    for number in range(first, end):
        rule = {"name": f"rule-{number}", "expression": f"loss > {100 + number} for 5 points", "query": "tag.team=nobody"}
        assert server.post("/api/v1/rules", json=rule).status == 201


def test_rules_ask_once_which_metric_is_the_loss(make_server):
    """A name of a role is answered by one series of the stream: to find it all are looked at, for each point once and not for each rule."""
    server = make_server("--max-rules", str(RULES + 1))  # and the default one
    steps = iter(range(10**6))

    def send():
        text = "".join(f"step {step} train_loss {2 + step % 7 / 10}\n" for step in [next(steps) for _ in range(50)])
        assert server.post("/api/v1/logs?job=watched&stream=algo-1", text).status == 200
        server.wait_for_extraction()

    add_rules(server, 0, 1)
    one = spent_s(server, send)
    add_rules(server, 1, RULES)
    many = spent_s(server, send)
    assert many / one < 4, (one, many)


def test_a_beginning_that_moves_is_summed_up_once(make_server):
    """A restart whose lines come in the wrong order, the last first: each moves its beginning, by which points of all metrics count or do not."""
    server, begun_s = make_server(), int(time.time()) - 86400

    def send(lines):
        server.send("j", [f"{datetime.datetime.fromtimestamp(begun_s + at_s, datetime.timezone.utc):%Y-%m-%d %H:%M:%S} {text}" for at_s, text in lines])
        server.wait_for_extraction()

    send((step, f"step {step} " + " ".join(f"m{step % 50}_{n}: {n}.5" for n in range(8)) + " loss: 2.5") for step in range(1, 20001))
    send((40000 + n, f"step {10000 + n} loss: 2.5") for n in range(20))
    wrong = spent_s(server, lambda: send((40000 - n, f"step {10000 - n} loss: 2.5") for n in range(1, 2001)), 1, 1)
    right = spent_s(server, lambda: send((40020 + n, f"step {10020 + n} loss: 2.5") for n in range(2000)), 1, 1)
    assert server.get("/api/v1/jobs/j/streams").body["streams"][0]["attempt"] == 2
    assert wrong < right + 0.1, (wrong, right)


def test_the_log_is_asked_once_for_all_halts(make_server):
    """When it trained again behind each status: of a log whose blocks all begin before the first and end behind the last, each is read once."""
    server, begun_s = make_server(), int(time.time()) - 86400
    minutes = iter(range(1000))

    def line(at_s, text):
        return f"{datetime.datetime.fromtimestamp(begun_s + at_s, datetime.timezone.utc):%Y-%m-%d %H:%M:%S} {text}"

    def state():
        minute = next(minutes)
        change = {"SecondaryStatus": ("Restarting", "Interrupted")[minute % 2], "time_ms": (begun_s + 60 * (10 + minute)) * 1000}
        assert server.post("/api/v1/jobs/halted/transitions", json=change).status == 204

    for part in range(10):
        server.send("halted", [line(part, "early"), *(line(3 * 3600 + n, f"row {n * n * 31 % 99991} of part {part}") for n in range(20000))])
    server.wait_for_extraction()
    few = spent_s(server, state, 1)
    for _ in range(20):
        state()
    many = spent_s(server, state, 1)
    assert many / few < 4, (few, many)
