"""CloudWatch Logs in AWS's own protocol, by the clients that people have: boto3, awscli, the JavaScript SDK."""

import json
import pathlib
import re
import subprocess

import pytest

from awsclients import AWS, boto, code, environment, javascript, token_of
from awslogs import GROUP, ask, kind, now_ms
from smserver import ROOT, Server, wait_until

INVALID, MISSING, EXISTS = "InvalidParameterException", "ResourceNotFoundException", "ResourceAlreadyExistsException"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    running = Server(tmp_path_factory.mktemp("aws_logs")).start()
    yield running
    running.close()


@pytest.fixture(scope="module")
def logs(server):
    return boto(server, "logs")


@pytest.fixture
def stream(request, logs):
    """A group and a stream of the test's own, as the arguments that name them."""
    names = {"logGroupName": f"/test/{request.node.name}", "logStreamName": "s"}
    logs.create_log_group(logGroupName=names["logGroupName"])
    logs.create_log_stream(**names)
    return names


def group(names):
    return {"logGroupName": names["logGroupName"]}


def events(start, texts, step=1):
    return [{"timestamp": start + i * step, "message": text} for i, text in enumerate(texts)]


def messages(reply):
    return [event["message"] for event in reply["events"]]


def settled(server, logs, names, count):
    """Times of a stream are derived from its lines, after they were acknowledged."""
    def is_there():
        rows = logs.describe_log_streams(**group(names), logStreamNamePrefix=names["logStreamName"])["logStreams"]
        return rows and rows[0].get("lastEventTimestamp") and int(rows[0]["uploadSequenceToken"]) == count and rows
    return wait_until(is_there, what=f"{count} events of {names}")


# ---- groups and streams ----

def test_groups(logs):
    name = {"logGroupName": "/groups/one"}
    assert GROUP in [row["logGroupName"] for row in logs.describe_log_groups()["logGroups"]]
    logs.create_log_group(**name, tags={"team": "nlp"})
    assert code(logs.create_log_group, **name) == (EXISTS, "The specified log group already exists")
    assert code(logs.create_log_group, logGroupName=GROUP)[0] == EXISTS
    code_, text = code(logs.create_log_group, logGroupName="a b")
    assert code_ == INVALID and "at 'logGroupName' failed to satisfy constraint" in text
    (row,) = logs.describe_log_groups(logGroupNamePrefix="/groups/")["logGroups"]
    assert row["arn"] == "arn:aws:logs:us-east-1:000000000000:log-group:/groups/one:*" and row["creationTime"] > 1e12
    assert "retentionInDays" not in row
    logs.put_retention_policy(**name, retentionInDays=14)
    assert logs.describe_log_groups(logGroupNamePrefix="/groups/one")["logGroups"][0]["retentionInDays"] == 14
    assert "Member must satisfy enum value set: [1, 3, 5" in code(logs.put_retention_policy, **name, retentionInDays=2)[1]
    logs.delete_retention_policy(**name)
    assert "retentionInDays" not in logs.describe_log_groups(logGroupNamePrefix="/groups/one")["logGroups"][0]
    logs.tag_log_group(**name, tags={"owner": "me"})
    logs.untag_log_group(**name, tags=["team"])
    assert logs.list_tags_log_group(**name)["tags"] == {"owner": "me"}
    assert logs.list_tags_for_resource(resourceArn=row["arn"])["tags"] == {"owner": "me"}
    logs.delete_log_group(**name)
    assert code(logs.delete_log_group, **name) == (MISSING, "The specified log group does not exist.")
    assert not logs.describe_log_groups(logGroupNamePrefix="/groups/")["logGroups"]


def test_members_that_are_null_are_left_out(server):
    reply = ask(server, "DescribeLogGroups", {"logGroupNamePrefix": None, "logGroupIdentifiers": None, "limit": None, "nextToken": None})
    assert GROUP in [row["logGroupName"] for row in json.loads(reply.raw)["logGroups"]]


def test_groups_page_by_page(logs):
    names = [f"/pages/{i}" for i in range(5)]
    for name in names:
        logs.create_log_group(logGroupName=name)
    pages = logs.get_paginator("describe_log_groups").paginate(logGroupNamePrefix="/pages/", PaginationConfig={"PageSize": 2})
    rows = [[row["logGroupName"] for row in page["logGroups"]] for page in pages]
    assert rows == [names[:2], names[2:4], names[4:]]


def test_streams(logs, stream):
    assert code(logs.create_log_stream, **stream) == (EXISTS, "The specified log stream already exists")
    assert code(logs.create_log_stream, logGroupName="/none", logStreamName="s") == (MISSING, "The specified log group does not exist.")
    assert "at 'logStreamName'" in code(logs.create_log_stream, **group(stream), logStreamName="a:b")[1]
    for name in "tuvw":
        logs.create_log_stream(**group(stream), logStreamName=name)
    pages = logs.get_paginator("describe_log_streams").paginate(**group(stream), PaginationConfig={"PageSize": 2})
    rows = [[row["logStreamName"] for row in page["logStreams"]] for page in pages]
    assert rows == [["s", "t"], ["u", "v"], ["w"]]
    down = logs.describe_log_streams(**group(stream), descending=True, limit=2)
    assert [row["logStreamName"] for row in down["logStreams"]] == ["w", "v"] and "firstEventTimestamp" not in down["logStreams"][0]
    at = now_ms()
    for i, name in enumerate("us"):
        logs.put_log_events(**group(stream), logStreamName=name, logEvents=events(at + i, ["x"]))
        settled(None, logs, {**stream, "logStreamName": name}, 1)
    by_time = logs.describe_log_streams(**group(stream), orderBy="LastEventTime", descending=True)["logStreams"]
    assert [row["logStreamName"] for row in by_time][:2] == ["s", "u"] and by_time[0]["lastEventTimestamp"] == at + 1
    assert code(logs.describe_log_streams, **group(stream), orderBy="LastEventTime", logStreamNamePrefix="s")[0] == INVALID
    assert code(logs.describe_log_streams, **group(stream), nextToken="x") == (INVALID, "The specified nextToken is invalid.")
    assert code(logs.describe_log_streams, logGroupName="/none")[0] == MISSING


def test_a_deleted_stream_is_gone_and_may_be_made_again(logs, stream):
    at = now_ms()
    logs.put_log_events(**stream, logEvents=events(at, ["old 1", "old 2"]))
    settled(None, logs, stream, 2)
    logs.delete_log_stream(**stream)
    assert not logs.describe_log_streams(**group(stream))["logStreams"]
    for call in (logs.get_log_events, logs.delete_log_stream):
        assert code(call, **stream) == (MISSING, "The specified log stream does not exist.")
    assert messages(logs.filter_log_events(**group(stream))) == []
    logs.create_log_stream(**stream)
    logs.put_log_events(**stream, logEvents=events(at + 10, ["new"]))
    assert messages(logs.get_log_events(**stream)) == messages(logs.get_log_events(**stream, startTime=0)) == ["new"]
    assert messages(logs.filter_log_events(**group(stream))) == ["new"]


def test_what_was_made_and_is_empty_survives_a_restart(make_server):
    server = make_server()
    logs = boto(server, "logs")
    logs.create_log_group(logGroupName="/empty")
    logs.create_log_stream(logGroupName="/empty", logStreamName="s")
    logs.create_log_stream(logGroupName=GROUP, logStreamName="gpt/algo-1-1700000000000")
    server.stop()
    server.start()
    logs = boto(server, "logs")
    assert [row["logStreamName"] for row in logs.describe_log_streams(logGroupName="/empty")["logStreams"]] == ["s"]
    assert [row["logStreamName"] for row in logs.describe_log_streams(logGroupName=GROUP)["logStreams"]] == ["gpt/algo-1-1700000000000"]
    assert server.get("/api/v1/jobs/gpt").status == 200


# ---- putting ----

def test_events_are_lines_of_the_job(server, logs):
    names = {"logGroupName": GROUP, "logStreamName": "llama/algo-1-1700000000000"}
    at = now_ms()
    definition = {"Name": "loss", "Regex": "loss=([0-9.]+)"}
    document = {"TrainingJobName": "llama", "AlgorithmSpecification": {"MetricDefinitions": [definition]}}
    assert server.post("/api/v1/jobs", json.dumps(document), content_type="application/json").status == 201
    assert code(logs.put_log_events, **names, logEvents=events(at, ["x"])) == (MISSING, "The specified log stream does not exist.")
    logs.create_log_stream(**names)
    reply = logs.put_log_events(**names, logEvents=events(at, [f"step {i} loss={5 - i}" for i in range(3)] + ["two\nlines"]), sequenceToken="any")
    assert reply["nextSequenceToken"].isdigit() and "rejectedLogEventsInfo" not in reply
    rows = server.lines("llama")
    assert [row["text"] for row in rows] == ["step 0 loss=5", "step 1 loss=4", "step 2 loss=3", "two", "lines"]
    assert [row["ts_ms"] - at for row in rows] == [0, 1, 2, 3, 3]
    wait_until(lambda: server.series("llama", "loss"), what="the points of the lines")
    logs.put_log_events(**names, logEvents=events(at, [f"step {i} loss={5 - i}" for i in range(3)] + ["two\nlines"]))  # a retry
    assert len(server.lines("llama")) == 5


def test_lines_of_other_doors_are_events(server, logs):
    assert server.post("/api/v1/logs?job=bert&stream=algo-2", "2024-05-01T00:00:00Z step 1\n2024-05-01T00:00:01Z step 2\n",
        content_type="text/plain").status == 200
    names = {"logGroupName": GROUP, "logStreamName": "bert/algo-2-1714521600000"}
    rows = settled(server, logs, names, 2)
    assert [(row["logStreamName"], row["firstEventTimestamp"], row["lastEventTimestamp"]) for row in rows] == [
        (names["logStreamName"], 1714521600000, 1714521601000)]
    assert [event["timestamp"] for event in logs.get_log_events(**names)["events"]] == [1714521600000, 1714521601000]
    assert messages(logs.get_log_events(logGroupName="bert", logStreamName="algo-2")) == messages(logs.get_log_events(**names))


def test_limits_of_a_batch(server, logs, stream):
    at = now_ms()
    assert code(logs.put_log_events, **stream, logEvents=events(at, ["x"] * 10001, 0)) == (INVALID, "1 validation error detected: Value "
        "'[...]' at 'logEvents' failed to satisfy constraint: Member must have length less than or equal to 10000")
    logs.put_log_events(**stream, logEvents=events(at, ["x"] * 10000, 0))
    most = 1048576 - 26
    assert code(logs.put_log_events, **stream, logEvents=events(at, ["y" * (most + 1)]))[1].startswith(
        "Upload too large: 1048577 bytes exceeds limit of 1048576")
    logs.put_log_events(**stream, logEvents=events(at, ["y" * most]))
    assert len(logs.get_log_events(**stream)["events"][-1]["message"]) == most
    assert code(logs.put_log_events, **stream, logEvents=events(at, ["b", "a"], -1)) == (
        INVALID, "Log events in a single PutLogEvents request must be in chronological order.")
    day = 24 * 3600 * 1000
    assert "cannot span more than 24 hours" in code(logs.put_log_events, **stream, logEvents=events(at - day - 1, ["a", "b"], day + 1))[1]
    reply = ask(server, "PutLogEvents", {**stream, "logEvents": []})
    assert kind(reply) == INVALID and "Member must have length greater than or equal to 1" in json.loads(reply.raw)["message"]


def test_old_and_new_events_are_rejected_and_the_rest_is_stored(logs, stream):
    at, day = now_ms(), 24 * 3600 * 1000
    batch = [(at - 15 * day, "too old"), (at - 5 * day, "expired"), (at - 1000, "taken"), (at + day, "too new")]
    logs.put_retention_policy(**group(stream), retentionInDays=3)
    reply = logs.put_log_events(**stream, logEvents=[{"timestamp": ms, "message": text} for ms, text in batch])
    assert reply["rejectedLogEventsInfo"] == {"tooOldLogEventEndIndex": 1, "expiredLogEventEndIndex": 2, "tooNewLogEventStartIndex": 3}
    assert messages(logs.get_log_events(**stream)) == ["taken"]
    reply = logs.put_log_events(**stream, logEvents=events(at - 20 * day, ["all too old"]))
    assert reply["rejectedLogEventsInfo"] == {"tooOldLogEventEndIndex": 1} and "nextSequenceToken" in reply


@pytest.mark.parametrize("change, path", [({"logEvents": {}}, "logEvents"), ({"logEvents": [7]}, "logEvents.1.member"),
    ({"logEvents": [{"timestamp": "x", "message": "m"}]}, "logEvents.1.member.timestamp"), ({"logGroupName": 7}, "logGroupName"),
    ({"logEvents": [{"timestamp": 1, "message": 2}]}, "logEvents.1.member.message"), ({"logStreamName": None}, "logStreamName"),
    ({"logEvents": [{"timestamp": 1}]}, "logEvents.1.member.message")])
def test_wrong_types_name_the_member(server, change, path):
    reply = ask(server, "PutLogEvents", {"logGroupName": "g", "logStreamName": "s", "logEvents": [{"timestamp": 1, "message": "m"}]} | change)
    assert reply.status == 400 and kind(reply) == INVALID and f"at '{path}' failed to satisfy constraint" in json.loads(reply.raw)["message"]


def test_no_json_at_all(server):
    for body in ("{", "[]", '{"logGroupName":"g"} x', b"\xff"):
        reply = ask(server, "PutLogEvents", body)
        assert reply.status == 400 and kind(reply) == "SerializationException", reply


# ---- reading ----

def test_pages_forward_and_backward(logs, stream):
    at, texts = now_ms(), [f"line {i}" for i in range(10)]
    logs.put_log_events(**stream, logEvents=events(at, texts))
    for window in ({}, {"startTime": at, "endTime": at + 10}):
        seen, token = [], {}
        while True:
            page = logs.get_log_events(**stream, **window, startFromHead=True, limit=4, **token)
            seen += messages(page)
            if token.get("nextToken") == page["nextForwardToken"]:
                break
            token = {"nextToken": page["nextForwardToken"]}
        assert seen == texts and not page["events"]
        assert messages(logs.get_log_events(**stream, **window, limit=3, nextToken=page["nextBackwardToken"])) == texts[7:]
        page = logs.get_log_events(**stream, **window, limit=4)  # the newest ones
        assert messages(page) == texts[6:]
        page = logs.get_log_events(**stream, **window, limit=4, nextToken=page["nextBackwardToken"])
        assert messages(page) == texts[2:6]
        assert messages(logs.get_log_events(**stream, **window, limit=4, nextToken=page["nextForwardToken"])) == texts[6:]
        page = logs.get_log_events(**stream, **window, limit=4, nextToken=page["nextBackwardToken"])
        assert messages(page) == texts[:2]
        token = page["nextBackwardToken"]
        page = logs.get_log_events(**stream, **window, limit=4, nextToken=token)
        assert not page["events"] and page["nextBackwardToken"] == token
    assert messages(logs.get_log_events(**stream, startTime=at + 2, endTime=at + 5)) == texts[2:5]  # the end is not in it


def test_a_token_follows_a_stream_whatever_the_times_are(logs, stream):
    at = now_ms()
    page = logs.get_log_events(**stream, startFromHead=True)
    assert page["events"] == []
    for start, text in ((at, "first"), (at - 5000, "late"), (at, "again")):
        logs.put_log_events(**stream, logEvents=events(start, [text]))
        page = logs.get_log_events(**stream, startFromHead=True, nextToken=page["nextForwardToken"])
        assert messages(page) == [text]
    assert messages(logs.get_log_events(**stream, startTime=0)) == ["late", "first", "again"]
    other = {**stream, "logStreamName": "other"}
    logs.create_log_stream(**other)
    for token in ("x", "f/1", page["nextForwardToken"]):
        assert code(logs.get_log_events, **other, nextToken=token) == (INVALID, "The specified nextToken is invalid.")


def test_pages_end_at_a_megabyte(logs, stream):
    for i in range(3):
        logs.put_log_events(**stream, logEvents=events(now_ms() + i, [str(i) * 700_000]))
    assert [text[0] for text in messages(logs.get_log_events(**stream, startFromHead=True))] == ["0"]
    assert [text[0] for text in messages(logs.get_log_events(**stream))] == ["2"]
    pages = logs.get_paginator("filter_log_events").paginate(**group(stream))
    assert [[text[0] for text in messages(page)] for page in pages][:3] == [["0"], ["1"], ["2"]]


def test_filters(logs, stream):
    at = now_ms()
    texts = ["[ERROR] disk 404", "[WARN] disk 17", '{"level": "ERROR", "n": 5, "user": {"id": "a1"}}', '{"level": "INFO", "n": 50}', "plain"]
    logs.put_log_events(**stream, logEvents=events(at, texts))
    for pattern, wanted in [("", [0, 1, 2, 3, 4]), ("ERROR", [0, 2]), ("disk -ERROR", [1]), ("?WARN ?INFO", [1, 3]), ('"[WARN] disk"', [1]),
            ("%4[0-9]{2}%", [0]), ('{ $.level = "ERROR" }', [2]), ("{ $.n > 10 || $.user.id = a* }", [2, 3]), ("{ $.user NOT EXISTS }", [3]),
            ("[level, what, number > 100]", [0]), ("[..., number = 17]", [1]), ("nothing", [])]:
        assert messages(logs.filter_log_events(**group(stream), filterPattern=pattern)) == [texts[i] for i in wanted], pattern
    for pattern, words in [("a:b", "column 2"), ("{ $.a", "column 6"), ("[a, b = ]", "column 9"), ("%(a)%", "column 2")]:
        code_, text = code(logs.filter_log_events, **group(stream), filterPattern=pattern)
        assert code_ == INVALID and text.startswith("Invalid filter pattern") and words in text, text
    window = logs.filter_log_events(**group(stream), startTime=at + 1, endTime=at + 3)  # the end is in it
    assert messages(window) == texts[1:4]
    assert len({event["eventId"] for event in window["events"]}) == 3
    assert window["events"] == logs.filter_log_events(**group(stream), startTime=at + 1, endTime=at + 3)["events"]


def test_jobs_whose_names_have_slashes(server, logs):
    """Not SageMaker's, but other doors take them: their streams are listed once each, and read by the names they are listed under."""
    jobs = ["runs", "runs/a", "runs/a/b", "runs/c"]
    for job in jobs:
        server.send(job, [f"of {job}"])
    wait_until(lambda: len(logs.describe_log_streams(logGroupName=GROUP, logStreamNamePrefix="runs")["logStreams"]) == 4, what="their streams")
    for arguments in ({}, {"descending": True}):
        pages = logs.get_paginator("describe_log_streams").paginate(logGroupName=GROUP, logStreamNamePrefix="runs", **arguments,
            PaginationConfig={"PageSize": 1})
        names = [row["logStreamName"] for page in pages for row in page["logStreams"]]
        assert [name.rpartition("/")[0] for name in names] == (jobs[::-1] if arguments else jobs)
    every = [row["logStreamName"] for order in ("LogStreamName", "LastEventTime") for page in logs.get_paginator("describe_log_streams").paginate(
        logGroupName=GROUP, orderBy=order, PaginationConfig={"PageSize": 3}) for row in page["logStreams"]]
    assert all(every.count(name) == 2 for name in names)
    for job, name in zip(jobs, names[::-1]):
        assert messages(logs.get_log_events(logGroupName=GROUP, logStreamName=name)) == [f"of {job}"]
        assert messages(logs.filter_log_events(logGroupName=GROUP, logStreamNames=[name])) == [f"of {job}"]
        assert [row["logStreamName"] for row in logs.describe_log_streams(logGroupName=GROUP, logStreamNamePrefix=name)["logStreams"]] == [name]
        assert messages(logs.filter_log_events(logGroupName=GROUP, logStreamNamePrefix=name)) == [f"of {job}"]
    under = logs.describe_log_streams(logGroupName=GROUP, logStreamNamePrefix="runs/a/")["logStreams"]
    assert [row["logStreamName"].rpartition("/")[0] for row in under] == ["runs/a", "runs/a/b"]
    assert code(logs.get_log_events, logGroupName=GROUP, logStreamName="runs/a/none/s")[0] == MISSING
    logs.put_log_events(logGroupName=GROUP, logStreamName=names[0], logEvents=events(now_ms(), ["more"]))
    assert messages(logs.get_log_events(logGroupName=GROUP, logStreamName=names[0], startFromHead=True)) == ["of runs/c", "more"]


def test_filters_over_more_than_a_page_holds(server, logs):
    """Jobs whose pages come to several times what is kept at once: each line comes once, in the order of times within a batch."""
    at, jobs = now_ms(), [f"heavy-{i:02d}" for i in range(12)]
    lines = [{"ts": at, "line": "first"}] * 20 + [{"ts": at + 1, "line": "x" * 50_000}] * 20
    body = "".join(json.dumps(line) + "\n" for line in lines)
    for job in jobs:
        assert server.post(f"/api/v1/logs?job={job}", body, content_type="application/x-ndjson").status == 200
    pages = list(logs.get_paginator("filter_log_events").paginate(logGroupName=GROUP, logStreamNamePrefix="heavy-", PaginationConfig={"PageSize": 20}))
    ids = [event["eventId"] for page in pages for event in page["events"]]
    assert len(ids) == len(set(ids)) == len(jobs) * len(lines)


def test_filters_over_jobs_and_pages(server, logs):
    at = now_ms()
    for job in ("multi-a", "multi-b", "other-c"):
        for node in (1, 2):
            name = f"{job}/algo-{node}-1700000000000"
            logs.create_log_stream(logGroupName=GROUP, logStreamName=name)
            logs.put_log_events(logGroupName=GROUP, logStreamName=name, logEvents=events(at + node, [f"{job} {node} {i}" for i in range(5)], 10))
    arguments = {"logGroupName": GROUP, "startTime": at, "filterPattern": "multi", "interleaved": True}
    whole = logs.filter_log_events(**arguments)["events"]
    assert len(whole) == 20 and [event["timestamp"] for event in whole] == sorted(event["timestamp"] for event in whole)
    pages = list(logs.get_paginator("filter_log_events").paginate(**arguments, PaginationConfig={"PageSize": 3}))
    assert [event for page in pages for event in page["events"]] == whole and len(pages) >= 7
    named = logs.filter_log_events(logGroupName=GROUP, logStreamNamePrefix="multi-b/algo-2")["events"]
    assert {event["logStreamName"] for event in named} == {"multi-b/algo-2-1700000000000"} and len(named) == 5
    names = ["multi-b/algo-2-1700000000000", "other-c/algo-1-1700000000000"]
    assert len(logs.filter_log_events(logGroupName=GROUP, logStreamNames=names)["events"]) == 10
    assert len(logs.filter_log_events(logGroupName=GROUP, logStreamNamePrefix="multi")["events"]) == 20
    assert code(logs.filter_log_events, logGroupName=GROUP, logStreamNames=names, logStreamNamePrefix="m")[0] == INVALID
    assert code(logs.filter_log_events, logGroupName=GROUP, logStreamNames=["multi-a/none"]) == (MISSING, "The specified log stream does not exist.")
    assert code(logs.filter_log_events, logGroupName=GROUP, nextToken="1.2") == (INVALID, "The specified nextToken is invalid.")


def test_keys_reach_as_far_as_their_token(make_server):
    server = make_server()
    keys = {name: token_of(server, name, "--scope", scope, "--aws", *more)[1] for name, scope, *more in
        [("root", "admin"), ("ship", "write"), ("look", "read"), ("nlp", "write", "--team", "nlp")]}
    root, ship, look, nlp = (boto(server, "logs", keys[name]) for name in ("root", "ship", "look", "nlp"))
    names = {"logGroupName": GROUP, "logStreamName": "gpt/algo-1"}
    assert code(look.create_log_stream, **names)[0] == "AccessDeniedException"
    ship.create_log_stream(**names)
    ship.put_log_events(**names, logEvents=events(now_ms(), ["x"]))
    assert ship.describe_log_streams(logGroupName=GROUP, logStreamNamePrefix="gpt/")["logStreams"]  # it looks before it sends
    assert code(ship.get_log_events, **names)[0] == code(ship.delete_log_stream, **names)[0] == "AccessDeniedException"
    assert messages(look.get_log_events(**names)) == ["x"]
    said, text = code(nlp.put_log_events, **names, logEvents=events(now_ms(), ["y"]))
    assert said == "AccessDeniedException" and "gpt" in text
    nlp.create_log_group(logGroupName="mine")
    assert code(ship.create_log_stream, logGroupName="mine", logStreamName="s") == ("", "")  # a token without a team writes for all
    root.delete_log_stream(**names)


# ---- the other clients ----

def test_insights_is_none_of_it(logs):
    assert code(logs.start_query, logGroupName=GROUP, startTime=1, endTime=2, queryString="fields @message")[0] == "UnknownOperationException"


def test_javascript(server):
    told = javascript(server, "logs.mjs")
    arn = "arn:aws:logs:us-east-1:000000000000:log-group:/js/app"
    assert told == {"missing": MISSING, "again": EXISTS, "next": "string", "unsorted": INVALID, "groups": [["/js/app", 30, arn]],
        "page": [4, 4, 2, 0], "filtered": [f"step {i} loss={10 - i} é" for i in range(1, 9)], "streams": told["streams"], "filter": INVALID,
        "insights": "UnknownOperationException", "gone": MISSING}
    assert told["streams"][0][0] == "one"


def test_awscli_as_documented(server):
    """docs/aws-logs.md: its commands."""
    (commands,) = re.findall(r"^```sh\n(.*?)^```", (ROOT / "docs/aws-logs.md").read_text(), re.M | re.S)
    if not pathlib.Path(AWS).exists():
        pytest.skip("needs awscli")
    done = subprocess.run(["bash", "-ec", commands], capture_output=True, text=True, timeout=120, env={**environment(), "URL": server.url,
        "PATH": "/usr/bin:/bin"})
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout[done.stdout.index('"events"') - 6:])["events"][0]["message"] == "step 1 loss=2.5"
    assert [row["text"] for row in server.lines("gpt-7")] == ["step 1 loss=2.5"]


def test_tail_follows_a_job(server, logs):
    if not pathlib.Path(AWS).exists():
        pytest.skip("needs awscli")
    assert server.post("/api/v1/logs?job=live", "line 0\n", content_type="text/plain").status == 200
    wait_until(lambda: logs.filter_log_events(logGroupName=GROUP, logStreamNamePrefix="live/")["events"], what="the first line")
    tail = subprocess.Popen([AWS, "--endpoint-url", server.url, "--region", "us-east-1", "logs", "tail", GROUP, "--follow",
        "--log-stream-name-prefix", "live/", "--filter-pattern", "line", "--format", "short"], stdout=subprocess.PIPE, text=True, env=environment())
    try:
        assert tail.stdout.readline().endswith(" line 0\n")
        server.post("/api/v1/logs?job=live", "line 1\nother\nline 2\n", content_type="text/plain")
        assert [tail.stdout.readline().split(" ", 1)[1] for _ in range(2)] == ["line 1\n", "line 2\n"]
    finally:
        tail.terminate()  # SIGINT is ignored by whatever was started in a shell's background
        tail.communicate(timeout=60)


# ---- what shippers send, and what they need of the answer ----

def test_fluent_bit(server):
    """cloudwatch_logs with auto_create_group: it compares the bare __type, and takes a 200 without a request id for a failure."""
    agent = {"User-Agent": "aws-fluent-bit-plugin"}
    names = {"logGroupName": "/fluent-bit/app", "logStreamName": "from-fluent-bit-kube.var.log"}
    assert kind(ask(server, "CreateLogStream", names, **agent)) == MISSING
    assert ask(server, "CreateLogGroup", group(names), **agent).status == 200
    assert ask(server, "CreateLogStream", names, **agent).status == 200
    assert kind(ask(server, "CreateLogStream", names, **agent)) == EXISTS
    body = {**names, "logEvents": events(now_ms(), ['{"log":"step 1"}'])}
    for _ in range(2):  # sent again after a reply that was lost
        reply = ask(server, "PutLogEvents", body, **agent, **{"x-amzn-logs-format": "json/emf"})
        assert reply.status == 200 and reply.headers["x-amzn-RequestId"] and json.loads(reply.raw)["nextSequenceToken"]
    assert [row["text"] for row in server.lines(names["logGroupName"], names["logStreamName"])] == ['{"log":"step 1"}']


def test_vector(server):
    """Its health check, then the stream by exact name, the group, the stream, the events."""
    names = {"logGroupName": "/vector/app", "logStreamName": "gpu-7"}
    describe = {**group(names), "logStreamNamePrefix": "gpu-7", "limit": 1}
    assert json.loads(ask(server, "DescribeLogGroups", {"limit": 1, "logGroupNamePrefix": "/vector/app"}).raw)["logGroups"] == []
    assert kind(ask(server, "DescribeLogStreams", describe)) == MISSING
    assert ask(server, "CreateLogGroup", group(names)).status == 200
    assert ask(server, "CreateLogStream", names).status == 200
    (row,) = json.loads(ask(server, "DescribeLogGroups", {"limit": 1, "logGroupNamePrefix": "/vector/app"}).raw)["logGroups"]
    assert row["logGroupName"] == "/vector/app"
    (row,) = json.loads(ask(server, "DescribeLogStreams", describe).raw)["logStreams"]
    assert row["logStreamName"] == "gpu-7" and row["uploadSequenceToken"]
    reply = ask(server, "PutLogEvents", {**names, "sequenceToken": row["uploadSequenceToken"], "logEvents": events(now_ms(), ["step 1"])}, packed=True)
    assert reply.status == 200 and [row["text"] for row in server.lines("/vector/app", "gpu-7")] == ["step 1"]


def test_docker(server):
    """awslogs: the stream first, the group when it must; each batch with the token of the one before."""
    names = {"logGroupName": "docker-app", "logStreamName": "0123456789ab"}
    assert kind(ask(server, "CreateLogStream", names)) == MISSING
    assert ask(server, "CreateLogGroup", group(names)).status == 200
    assert ask(server, "CreateLogStream", names).status == 200
    at, token = now_ms(), {}
    for i in range(3):
        reply = ask(server, "PutLogEvents", {**names, **token, "logEvents": events(at + i, [f"line {i}"])}, **{"User-Agent": "Docker/27"})
        token = {"sequenceToken": json.loads(reply.raw)["nextSequenceToken"]}
    assert [row["text"] for row in server.lines("docker-app", "0123456789ab")] == ["line 0", "line 1", "line 2"]


def test_cloudwatch_agent(server):
    """Packed bodies from the first one on; what is not there yet is made when PutLogEvents says so."""
    names = {"logGroupName": "/agent/messages", "logStreamName": "i-0123"}
    body = {"entity": {"attributes": {"PlatformType": "Generic"}}, "logEvents": events(now_ms(), ["kernel: x"]), **names}
    assert kind(ask(server, "PutLogEvents", body, packed=True)) == MISSING
    assert kind(ask(server, "CreateLogStream", names)) == MISSING
    assert ask(server, "CreateLogGroup", {**group(names), "logGroupClass": "STANDARD"}).status == 200
    assert ask(server, "CreateLogStream", names).status == 200
    assert ask(server, "PutRetentionPolicy", {**group(names), "retentionInDays": 7}).status == 200
    assert ask(server, "PutLogEvents", body, packed=True).status == 200
    reply = ask(server, "DescribeLogGroups", {"logGroupIdentifiers": ["/agent/messages"]})
    assert [row["retentionInDays"] for row in json.loads(reply.raw)["logGroups"]] == [7]


def test_otel_collector(server):
    """awscloudwatchlogs: as Docker, with bodies of records as JSON."""
    names = {"logGroupName": "/otel/app", "logStreamName": "otel-stream"}
    assert kind(ask(server, "PutLogEvents", {**names, "logEvents": events(now_ms(), ["x"])})) == MISSING
    assert kind(ask(server, "CreateLogStream", names)) == MISSING
    assert ask(server, "CreateLogGroup", {**group(names), "tags": {"by": "otel"}}).status == 200
    assert ask(server, "CreateLogStream", names).status == 200
    record = json.dumps({"body": "step 1", "severity_text": "INFO", "resource": {"service.name": "trainer"}})
    assert ask(server, "PutLogEvents", {**names, "logEvents": events(now_ms(), [record])}).status == 200
    reply = ask(server, "FilterLogEvents", {**group(names), "filterPattern": '{ $.resource.["x"] = 1 }'})
    assert kind(reply) == INVALID
    reply = ask(server, "FilterLogEvents", {**group(names), "filterPattern": '{ $.resource["service.name"] = "trainer" }'})
    assert [event["message"] for event in json.loads(reply.raw)["events"]] == [record]
