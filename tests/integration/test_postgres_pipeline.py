"""How often the server waits for PostgreSQL: counted in what it says to it, by a proxy in between."""

import pytest

from pgtalk import Talk
from postgres import Cluster
from smserver import Server, wait_until

STREAMS, LINES = 40, 30


@pytest.fixture(scope="module")
def talk():
    with Cluster() as cluster, Talk(cluster) as one:
        yield one


@pytest.fixture
def server(tmp_path, talk):
    one = Server(tmp_path, "--seal-age", "1h", postgres=talk).start()
    yield one
    one.close()


def post(server, number, first):
    server.send(f"job-{number % 4}", [f"step: {step} loss: {1 / step} lr: 0.1" for step in range(first, first + LINES)], stream=f"s-{number}")


def post_all(server, first):
    for number in range(STREAMS):
        post(server, number, first)


def test_a_commit_is_one_round_trip(server, talk):
    post_all(server, 1)
    server.wait_for_extraction()
    talk.forget()
    post_all(server, 1 + LINES)
    taken = talk.transactions("INSERT INTO journal")
    assert len(taken) == STREAMS, "each post waits for its reply"
    alone = [parts for parts in taken if not any("summaries" in sql or "incident" in sql for one in parts for sql in one)]
    assert len(alone) > STREAMS // 2
    assert {len(parts) for parts in alone} == {1}, [parts for parts in alone if len(parts) > 1][:1]


def test_a_flush_of_summaries_is_one_round_trip(server, talk):
    post_all(server, 1)
    server.wait_for_extraction()
    wait_until(lambda: talk.transactions("INSERT INTO job_counts"), what="the first flush")
    talk.forget()
    post_all(server, 1 + LINES)
    server.wait_for_extraction()
    flushes = wait_until(lambda: talk.transactions("INSERT INTO job_counts"), what="a flush")
    assert [len(parts) for parts in flushes] == [1] * len(flushes), flushes


def list_jobs(server, talk, query):
    """The jobs of a page, the round trips that it took, and the statements."""
    talk.forget()
    reply = server.get(f"/api/v1/jobs?{query}")
    assert reply.status == 200, reply
    rounds = next(one.rounds for one in talk.connections if any("REPEATABLE READ" in sql for each in one.rounds for sql in each))
    return reply.body["jobs"], len(rounds), sum(len(one) for one in rounds)


def test_a_page_of_jobs_takes_as_many_round_trips_however_many_they_are(server, talk):
    for number in range(30):
        document = {"TrainingJobName": f"listed-{number:02}", "Tags": [{"Key": "team", "Value": "few" if number < 3 else "many"}]}
        assert server.post("/api/v1/jobs", json=document).status == 201
    server.send("listed-01", ["step: 1 loss: 0.5", "step: 2 loss: 0.25"])
    server.wait_for_extraction()
    wait_until(lambda: server.series("listed-01", "train:loss"), what="its points")

    def as_many():
        """Not at once: the first pages read columns into memory, and a page reads a job once more of which something (its goodput) was worked out a moment ago."""
        nonlocal few
        few, rounds_of_few, statements_of_few = list_jobs(server, talk, "q=tag.team%3Dfew")
        many, rounds_of_many, statements_of_many = list_jobs(server, talk, "q=tag.team%3Dmany&limit=20")
        assert [len(few), len(many)] == [3, 20]
        assert rounds_of_few == rounds_of_many <= 7
        assert statements_of_few == statements_of_many <= 24
        return True

    few = []
    wait_until(as_many, what="pages that take as many round trips")
    alone = [server.get(f"/api/v1/jobs/{job['TrainingJobName']}").body for job in few]
    assert [job["TrainingJobName"] for job in few] == [job["TrainingJobName"] for job in alone]


def test_sealing_is_one_round_trip_and_its_reads_are_few(server, talk):
    for part in range(3):
        post_all(server, 1 + part * LINES)
    server.wait_for_extraction()
    server.stop()
    server.start()
    post_all(server, 1 + 3 * LINES)  # behind open blocks and chunks
    server.wait_for_extraction()
    talk.forget()
    server.stop()
    sealings = talk.transactions("INSERT INTO blocks")
    assert [len(parts) for parts in sealings] == [1] * len(sealings), sealings
    for table, most in (("FROM blocks WHERE", 2), ("FROM journal WHERE seq = $1", 1)):
        assert len(talk.rounds(table)) <= most * len(sealings), (table, talk.rounds(table))
    # Others read chunks, too, one by one. The sealer asks for two of each stream, 32 in a statement.
    joined = [sql for one in talk.rounds("FROM chunks WHERE") for sql in one if "asked_ahead" in sql and "FROM chunks WHERE" in sql]
    assert 1 <= len(joined) <= len(sealings) * (2 * STREAMS / 32 + 1), joined
    server.start()
    assert [len(server.lines(f"job-{number % 4}", f"s-{number}")) for number in range(STREAMS)] == [4 * LINES] * STREAMS
    assert server.points("job-1", "loss", stream="s-1")["total_points"] == 4 * LINES
