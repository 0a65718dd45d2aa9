"""A server on PostgreSQL: a job's life as on SQLite, and what was acknowledged is there after whatever happened to either of them."""

import contextlib
import http.client
import json
import random
import re
import socket
import threading
import time
from urllib.parse import urlencode

import pytest

from postgres import Cluster
from smserver import PATIENCE_S, Server, wait_until
from test_carry import IMPORT, MISTAKES, body, settled_export, staged, test_a_mistake_is_named_and_leaves_nothing_of_its_job as check_mistakes

T0 = 1_760_000_000_000  # 2025-10-09 08:53:20 UTC
STEPS = 400
KILLS = 3


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as one:
        yield one


@pytest.fixture
def make(tmp_path, cluster):
    """make("a", on=None) is a server of its own on SQLite, or on the cluster."""
    made = []

    def one(name, *arguments, on=cluster):
        folder = tmp_path / name
        folder.mkdir()
        made.append(Server(folder, *arguments, postgres=on))
        return made[-1]

    yield one
    for server in made:
        server.close()


# ---- the same life on both ----


def post_lines(server, job, stream, rows):
    """rows: (time, text)."""
    body = "".join(json.dumps({"ts": at, "text": text}) + "\n" for at, text in rows)
    reply = server.post(f"/api/v1/logs?job={job}&stream={stream}", body, content_type="application/x-ndjson")
    assert reply.status == 200, reply
    assert reply.body["accepted"] == len(rows)


def loss(step):
    return 400.0 if step == 250 else round(4.0 / (1 + step / 50) + (step * 7 % 13) / 100, 4)


def train(server, job, first, last):
    for number in (1, 2):
        post_lines(server, job, f"algo-{number}", [(T0 + step * 1000, f"step: {step} loss: {loss(step)} lr: {0.001 * number}")
            for step in range(first, last)])


def begin(server):
    document = {"TrainingJobName": "whole", "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2, "VolumeSizeInGB": 30},
        "HyperParameters": {"lr": "0.001", "model": "Größe-7b"}, "Tags": [{"Key": "team", "Value": "nlp"}]}
    assert server.post("/api/v1/jobs", json=document).status == 201
    train(server, "whole", 0, STEPS // 2)
    post_lines(server, "other", "algo-1", [(T0, "step: 1 loss: nan"), (T0 + 1000, "RuntimeError: CUDA out of memory")])
    assert server.post("/api/v1/points?job=whole", json={"series": [{"metric": "eval_loss", "step": [10, 20], "value": [1.5, "NaN"]}]}).status == 200


def go_on(server):
    train(server, "whole", STEPS // 2, STEPS)
    assert server.post("/api/v1/jobs/whole/transitions", json={"SecondaryStatus": "Completed"}).status == 204
    server.send("gone", "step: 1 loss: 1")
    assert server.post("/api/v1/jobs/gone/transitions", json={"SecondaryStatus": "Completed"}).status == 204
    assert server.delete("/api/v1/jobs/gone").status == 204


ASKED = [
    "/api/v1/jobs?sort=name", "/api/v1/jobs/whole", "/api/v1/jobs/whole/metrics", "/api/v1/jobs/other/metrics", "/api/v1/jobs/gone",
    "/api/v1/jobs/whole/points?metric=train:loss", "/api/v1/jobs/whole/points?metric=train:loss&stream=algo-1&raw=true",
    "/api/v1/jobs/whole/points?metric=train:loss&from=200&to=300&buckets=20", "/api/v1/jobs/whole/points?metric=eval_loss",
    "/api/v1/jobs/whole/logs?stream=algo-1&from=0&limit=1000", "/api/v1/jobs/whole/logs?limit=1000", "/api/v1/jobs/whole/logs/search?q=399",
    "/api/v1/jobs?q=name~%5Ewho", "/api/v1/jobs?q=hp.model%3A%22gr%C3%B6%C3%9Fe%22", "/api/v1/jobs?q=loss%3E0.1&sort=-loss",
    "/api/v1/jobs?q=log%3A%22out%20of%20memory%22", "/api/v1/jobs?q=NOT%20log%3A%22out%20of%20memory%22&sort=name",
    "/api/v1/jobs?q=status%3DCompleted", "/api/v1/aggregate?by=status", "/api/v1/incidents?all=true", "/api/v1/jobs/whole/logs/raw?stream=algo-1", "/api/v1/jobs/whole/checkpoints",
    "/api/v1/jobs/whole/goodput", "/api/v1/search/suggestions?prefix=lo", "/api/v1/audit",
]
NOW = re.compile(r"20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def without_now(value, server):
    """What is of the moment or of the process by another word: times of today, ids that chance makes, the port."""
    if isinstance(value, dict):
        return {key: without_now(one, server) for key, one in value.items() if key not in ("seq", "as_of_seq", "cursor", "next_cursor")}
    if isinstance(value, list):
        return [without_now(one, server) for one in value]
    now = time.time()
    if isinstance(value, (int, float)) and not isinstance(value, bool) and (abs(value - now) < 3600 or abs(value - now * 1000) < 3_600_000):
        return "a time of now"
    if isinstance(value, str):
        return NOW.sub(lambda m: "a time of now" if m[0][:10] >= time.strftime("%Y-%m-%d", time.gmtime(now - 3600)) else m[0], value)
    return value


def differences(ours, theirs, path=""):
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(ours.keys() | theirs.keys()):
            yield from differences(ours.get(key, "(none)"), theirs.get(key, "(none)"), f"{path}.{key}")
    elif isinstance(ours, (list, tuple)) and isinstance(theirs, (list, tuple)) and len(ours) == len(theirs):
        for at, (left, right) in enumerate(zip(ours, theirs)):
            yield from differences(left, right, f"{path}[{at}]")
    elif ours != theirs:
        yield f"{path}: {ours} and {theirs}"


def answers(server):
    server.wait_for_extraction()
    return {path: (reply.status, without_now(reply.body, server)) for path in ASKED for reply in [server.get(path)]}


def check_same(ours, theirs, steps, incidents):
    """Both have extracted everything, and answer alike once what is worked out some seconds later is there, too."""
    for server in (ours, theirs):
        server.wait_for_points("whole", "train:loss", steps, stream="algo-1")
        server.wait_for_points("whole", "train:loss", steps, stream="algo-2")

    def are_same():
        left, right = answers(ours), answers(theirs)
        states = {one["state"] for one in right["/api/v1/incidents?all=true"][1]["incidents"] if one["job"] == "whole"}
        assert (list(differences(left, right)), states) == ([], incidents)
        # Worked out behind the summaries, and for 200 ms: what a stop comes before is worked out with the next point.
        assert all("final" in metric for job in right["/api/v1/jobs?sort=name"][1]["jobs"] for metric in job["metrics"])
        return True
    wait_until(are_same, what="the same answers")


def test_a_life_on_postgresql_has_the_answers_of_one_on_sqlite(make):
    options = ("--goodput-every", "200ms")
    both = [make("postgres", *options).start(), make("sqlite", *options, on=None).start()]
    for server in both:
        begin(server)
    check_same(*both, STEPS // 2, {"open"})
    for server in both:
        server.restart()  # which seals everything
    check_same(*both, STEPS // 2, {"open"})
    for server in both:
        go_on(server)
    check_same(*both, STEPS, {"recovered"})
    for server in both:
        server.kill()
        server.start()
    check_same(*both, STEPS, {"recovered"})
    assert {path: status for path, (status, _) in answers(both[1]).items() if status != 200} == {"/api/v1/jobs/gone": 404}


# What no column in memory holds, judged row by row in SQLite, and as a set in PostgreSQL.
JUDGED = {
    "SecondaryStatusTransitions.StatusMessage~dis[ck]": ["b"],
    "SecondaryStatusTransitions.StatusMessage~*DISK": ["b"],
    "SecondaryStatusTransitions.StatusMessage!~disk": ["a", "c"],
    "SecondaryStatusTransitions.StatusMessage~.": ["a", "b", "c"],
    "SecondaryStatusTransitions.StatusMessage~disk AND name=a": [],
    "name=b AND SecondaryStatusTransitions.StatusMessage~disk": ["b"],
    "name=c OR SecondaryStatusTransitions.StatusMessage~disk": ["b", "c"],
    "NOT (name=a AND SecondaryStatusTransitions.StatusMessage~quota)": ["b", "c"],
    "SecondaryStatusTransitions.Status~^Fail": ["b"],
    "FinalMetricDataList.MetricName~^train:": ["a", "b"],
    "attempts~^[12]$": ["a", "b", "c"],
    "attempts!~1": [],
    "log~CUDA AND SecondaryStatusTransitions.StatusMessage~disk": ["b"],
    "log~CUDA AND NOT SecondaryStatusTransitions.StatusMessage~disk": ["a"],
}
MISTAKEN = {
    "SecondaryStatusTransitions.EndTime~1": "is compared with numbers, and '1' is none",
    "SecondaryStatusTransitions.Nothing~1": "'SecondaryStatusTransitions.Nothing' is not searchable",
    'SecondaryStatusTransitions.StatusMessage~"("': "missing closing parenthesis",
    'SecondaryStatusTransitions.StatusMessage~"(x+x+)+[yz]"': "needs too many steps",
}


def found(server, query):
    reply = server.get("/api/v1/jobs?" + urlencode({"q": query, "sort": "name", "total": "true"}))
    assert reply.status == 200, (query, reply)
    names = [job["TrainingJobName"] for job in reply.body["jobs"]]
    assert reply.body["total"] == len(names), query
    shares = server.get("/api/v1/aggregate?" + urlencode({"q": query, "by": "name", "of": "count"}))
    assert sorted(group["name"] for group in shares.body["groups"]) == names, (query, shares)
    return names


def nested(server, channel, uri):
    filters = [{"Name": "InputDataConfig.ChannelName", "Operator": "Equals", "Value": channel},
        {"Name": "InputDataConfig.DataSource.S3DataSource.S3Uri", "Operator": "Contains", "Value": uri}]
    reply = server.post("/api/v1/search", json={"Resource": "TrainingJob", "SearchExpression":
        {"NestedFilters": [{"NestedPropertyName": "InputDataConfig", "Filters": filters}]}})
    assert reply.status == 200, reply
    return [hit["TrainingJob"]["TrainingJobName"] for hit in reply.body["Results"]]


def channel(name, uri):
    return {"ChannelName": name, "DataSource": {"S3DataSource": {"S3Uri": uri}}}


@pytest.mark.parametrize("on", ["PostgreSQL", "SQLite"])
def test_what_no_column_holds_is_found_all_the_same(make, cluster, on):
    server = make("searched", on=cluster if on == "PostgreSQL" else None).start()
    channels = {"a": [channel("train", "s3://x/cat"), channel("test", "s3://x/dog")], "b": [channel("train", "s3://x/dog")], "c": []}
    for name, inputs in channels.items():
        document = {"TrainingJobName": name, **({"InputDataConfig": inputs} if inputs else {})}
        assert server.post("/api/v1/jobs", json=document).status == 201
    for name in "ab":
        server.send(name, ["step: 1 loss: 1.5", "CUDA error"])
    for name, status, message in [("a", "Completed", "over quota " + 40 * "x"), ("b", "Failed", "the disk is full")]:
        assert server.post(f"/api/v1/jobs/{name}/transitions", json={"SecondaryStatus": status, "StatusMessage": message}).status == 204
    for name in "ab":
        server.wait_for_points(name, "train:loss", 1)
    wait_until(lambda: found(server, "FinalMetricDataList.MetricName~.") == ["a", "b"], what="the summaries")
    assert {query: found(server, query) for query in JUDGED} == JUDGED
    assert (nested(server, "train", "dog"), nested(server, "test", "dog"), nested(server, "train", "x")) == (["b"], ["a"], ["b", "a"])
    for query, detail in MISTAKEN.items():
        reply = server.get("/api/v1/jobs?" + urlencode({"q": query}))
        assert reply.status == 422 and detail in reply.body["detail"], (query, reply)


# The first statement of a transaction that asks it goes on, each later one waits for ever.
ONLY_ONCE = """
CREATE FUNCTION {0}.only_once() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
    IF coalesce(current_setting('test.first', true), '') = '' THEN
        PERFORM set_config('test.first', statement_timestamp()::text, true);
    ELSIF current_setting('test.first') <> statement_timestamp()::text THEN
        PERFORM pg_sleep(3600);
    END IF;
    RETURN true;
END $$;
ALTER TABLE {0}.transitions RENAME TO transitions_there;
CREATE VIEW {0}.transitions AS SELECT * FROM {0}.transitions_there WHERE {0}.only_once();
"""


def test_a_search_that_runs_out_of_time_gives_what_it_has(make, cluster):
    """The count does, behind the page, and its view ends with it, in which the rows of the page are still to be read."""
    server = make("hurried", "--job-search-ms", "4000").start()
    for name in "ab":
        assert server.post("/api/v1/jobs", json={"TrainingJobName": name}).status == 201
    assert server.post("/api/v1/jobs/b/transitions", json={"SecondaryStatus": "Failed", "StatusMessage": "the disk is full"}).status == 204

    def jobs(total="true"):
        reply = server.get("/api/v1/jobs?" + urlencode({"q": "SecondaryStatusTransitions.StatusMessage~disk", "sort": "name", "total": total}))
        assert reply.status == 200, reply
        return [job["TrainingJobName"] for job in reply.body["jobs"]], reply.body.get("partial", False)

    wait_until(lambda: jobs() == (["b"], False), what="the job")
    cluster.psql(ONLY_ONCE.format(server.schema))
    assert jobs("false") == (["b"], False)
    assert jobs() == (["b"], True)
    assert jobs("false") == (["b"], False)


def test_what_the_database_refuses_is_not_taken_for_missing(make, cluster):
    server = make("refused").start()
    assert server.post("/api/v1/views", json={"name": "mine"}).status == 200
    cluster.psql(f"CREATE FUNCTION {server.schema}.refuse() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = 'disk_full'; END $$;"
        f"CREATE TRIGGER refuse BEFORE DELETE ON {server.schema}.views FOR EACH ROW EXECUTE FUNCTION {server.schema}.refuse()")
    reply = server.delete("/api/v1/views?name=mine")
    assert reply.status == 503 and "no room" in reply.body["detail"], reply
    cluster.psql(f"DROP TRIGGER refuse ON {server.schema}.views")
    assert [view["name"] for view in server.get("/api/v1/views").body["views"]] == ["mine"]
    assert server.delete("/api/v1/views?name=mine").status == 204
    assert server.delete("/api/v1/views?name=mine").status == 404


@pytest.mark.parametrize("is_stopped", [False, True], ids=["the lock ends", "the server ends first"])
def test_an_incident_that_meets_a_lock_comes_after_it(make, cluster, is_stopped):
    """Of somebody who rebuilds an index, say: what was noticed has to wait, and is not forgotten."""
    server = make("locked").start()
    cluster.psql(f"CREATE SEQUENCE {server.schema}.tries;"
        f"CREATE FUNCTION {server.schema}.hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('{server.schema}.tries');"
        " RAISE EXCEPTION 'locked' USING ERRCODE = 'lock_not_available'; END $$;"
        f"CREATE TRIGGER hold BEFORE INSERT ON {server.schema}.incidents FOR EACH ROW EXECUTE FUNCTION {server.schema}.hold()")
    server.send("j", [f"step: {step} loss: {'nan' if step == 100 else loss(step)}" for step in range(1, 120)])
    wait_until(lambda: cluster.psql(f"SELECT is_called FROM {server.schema}.tries").strip() == "t", what="a write that meets the lock")
    reply = server.get("/api/v1/incidents?q=name%3Dj")
    assert reply.status == 200 and reply.body["incidents"] == [], reply
    if is_stopped:
        server.stop()
    cluster.psql(f"DROP TRIGGER hold ON {server.schema}.incidents")
    if is_stopped:
        server.start()
    wait_until(lambda: server.get("/api/v1/incidents?q=name%3Dj").body["incidents"], what="the incident")
    assert [one["kind"] for one in server.get("/api/v1/incidents?q=name%3Dj").body["incidents"]] == ["non_finite"]


def test_what_postgresql_cannot_say_is_said(make):
    server = make("limits").start()
    assert server.get("/api/v1/fleet").body["ingest"]["disk_free_bytes"] is None
    assert "smfleet_disk_free_bytes" not in server.get("/metrics").raw.decode()


# ---- what was acknowledged ----


class Sender(threading.Thread):
    """Posts numbered lines to a stream of its own until the server is gone; what had no answer is sent again, by its offset."""

    def __init__(self, number):
        super().__init__(daemon=True)
        self.stream, self.lines, self.offset, self.refused = f"algo-{number}", 0, 0, 0

    def text(self, count):
        return "".join(f"step: {n} loss: {n % 97}.5\n" for n in range(self.lines, self.lines + count))

    def post(self, connection, count=50):
        body = self.text(count).encode()
        connection.request("POST", f"/api/v1/logs?job=j&stream={self.stream}&offset={self.offset}", body=body, headers={"Content-Type": "text/plain"})
        reply = connection.getresponse()
        reply.read()
        if reply.status == 200:
            self.lines, self.offset = self.lines + count, self.offset + len(body)
        else:
            assert reply.status == 503 and int(reply.headers["Retry-After"]) > 0, (reply.status, reply.headers)
            self.refused += 1
        return reply.status

    def run(self):
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
            while True:
                self.post(connection)

    def check(self, server):
        """Each acknowledged line once, in its place; what was on its way may be there whole."""
        texts = [row["text"] for row in server.lines("j", self.stream)]
        assert len(texts) in (self.lines, self.lines + 50), (len(texts), self.lines)
        self.lines, self.offset = 0, 0
        assert texts == self.text(len(texts)).splitlines()
        self.offset, self.lines = len(self.text(len(texts))), len(texts)


def test_a_job_that_cannot_be_imported_leaves_those_before_it(make):
    """An error ends a whole transaction there; on SQLite it is that of its statement alone."""
    check_mistakes(make("import").start())


def test_what_came_twice_is_refused_with_its_job_alone(make, cluster):
    source, ours, theirs = make("source", on=None).start(), make("ours").start(), make("theirs", on=None).start()
    source.send("good", [f"step: {step} loss: {step}.5" for step in range(1, 6)])
    source.wait_for_points("good", "train:loss", 5)
    rows = settled_export(source) + body(MISTAKES["the same incident twice"][0]).encode()
    replies = [server.post(IMPORT, rows) for server in (ours, theirs)]
    assert [(reply.status, reply.body["detail"]) for reply in replies] == [(409, "job 'j' was not imported: it has an incident twice")] * 2
    for server in (ours, theirs):
        wait_until(lambda: [job["TrainingJobName"] for job in server.get("/api/v1/jobs?q=loss%3E0").body["jobs"]] == ["good"], what="the summaries of the job before")
        assert server.get("/api/v1/jobs/j").status == 404
    assert (cluster.psql(f'SELECT count(*) FROM "{ours.schema}".imports').strip(), staged(theirs)) == ("0", 0)


def send_for_a_while(server, senders, enough):
    threads = []
    for sender in senders:
        again = Sender(int(sender.stream[5:]))
        again.lines, again.offset, again.port = sender.lines, sender.offset, server.port
        again.start()
        threads.append(again)
    wait_until(lambda: all(one.lines >= before.lines + enough for one, before in zip(threads, senders)), what="acknowledged lines")
    return threads


def test_kill_loses_nothing_that_was_acknowledged(make):
    server = make("killed").start()
    senders = [Sender(1), Sender(2)]
    for _ in range(KILLS):
        senders = send_for_a_while(server, senders, 500)
        server.kill()
        for sender in senders:
            sender.join(PATIENCE_S)
        server.start()
        for sender in senders:
            sender.check(server)
    server.wait_for_points("j", "train:loss", senders[0].lines)


class LargeSender(threading.Thread):
    """Posts bodies that do not compress, one after the other, until the server is gone: each is a record of several parts."""

    def __init__(self, server, job, bodies):
        super().__init__(daemon=True)
        self.server, self.job, self.bodies, self.taken = server, job, bodies, 0

    def run(self):
        with contextlib.suppress(OSError, http.client.HTTPException):
            while self.server.post(f"/api/v1/logs?job={self.job}&stream=algo-1", "".join(line + "\n" for line in self.body(self.taken))).status == 200:
                self.taken += 1

    def body(self, number):
        return self.bodies[number % len(self.bodies)]

    def check(self, server):
        """What was on its way may be there in part: a long body is several slices."""
        texts = [row["text"] for row in server.lines(self.job)]
        known = [line for number in range(self.taken) for line in self.body(number)]
        assert texts[: len(known)] == known
        assert texts[len(known):] == self.body(self.taken)[: len(texts) - len(known)]


def test_kill_within_records_of_several_parts_loses_nothing(make, cluster):
    server = make("large").start()
    chance = random.Random(7)
    bodies = [[chance.randbytes(500).hex() for _ in range(1300)] for _ in range(2)]
    parts = []
    for kill in range(KILLS):
        sender = LargeSender(server, f"j{kill}", bodies)
        sender.start()
        wait_until(lambda one=sender, enough=1 + kill: one.taken >= enough, what="records that were taken")
        server.kill()
        sender.join(PATIENCE_S)
        parts.append(int(cluster.psql(f"SELECT coalesce(max(part) + 1, 0) FROM {server.schema}.journal")))
        server.start()
        sender.check(server)
    assert max(parts) > 1, parts


def test_a_database_that_is_killed_and_comes_back_needs_no_restart_of_ours(make):
    with Cluster() as own:
        server = make("bereft", on=own).start()
        sender = Sender(1)
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
        assert sender.post(connection) == 200
        own.stop("immediate")
        assert sender.post(connection) == 503
        assert server.get("/healthz").status == 200
        own.start()
        wait_until(lambda: sender.post(connection) == 200, what="a line that is taken again")
        sender.check(server)
        server.wait_for_points("j", "train:loss", sender.lines)
        server.restart()
        sender.check(server)
        server.stop()


# ---- views ----

SLOW_READERS = ("/api/v1/jobs/long/logs/raw?stream=algo-1", "/api/v1/export", "/api/v1/jobs/long/points?metric=train:loss&raw=true&format=csv",
    "/api/v1/jobs?format=ndjson", "/api/v1/jobs/long/logs/search?q=loss&limit=1000")
VIEW_LIMIT_MS = 100
OLDEST = """SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start) * 1000), 0)::bigint FROM pg_stat_activity
    WHERE xact_start IS NOT NULL AND state = 'idle in transaction' AND pid != pg_backend_pid()"""


def test_no_view_is_held_while_a_client_does_not_read(make, cluster):
    """What reads in the database must not keep vacuum from its work for as long as somebody's socket is full."""
    server = make("unread").start()
    server.send("long", [f"step: {step} loss: {loss(step)} {'x' * 8000}" for step in range(1, 4000)])
    server.wait_for_points("long", "train:loss", 3999)
    with contextlib.ExitStack() as stack:
        readers = [stack.enter_context(socket.socket()) for _ in SLOW_READERS]
        for reader, path in zip(readers, SLOW_READERS):
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.settimeout(PATIENCE_S)
            reader.connect(("127.0.0.1", server.port))
            reader.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n\r\n".encode())
            assert reader.recv(12) == b"HTTP/1.1 200", path
        ages = [int(cluster.psql(OLDEST)) for _ in range(60)]
        assert max(ages) <= VIEW_LIMIT_MS, ages
