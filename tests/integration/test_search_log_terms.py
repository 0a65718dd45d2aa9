"""log:… as a term of a query: jobs by what their logs hold."""

from urllib.parse import urlencode

import pytest

from smserver import wait_until

LOGS = {"timeout": ["step: 1 loss: 2", "NCCL timeout on rank 3"], "oom": ["CUDA out of memory", "nccl TIMEOUT"], "fine": ["step: 1 loss: 1", "all is well"],
    "star": ["a*b", "NCCL init, then a timeout"]}


@pytest.fixture
def logs(server):
    for name, lines in LOGS.items():
        server.post("/api/v1/jobs", json={"TrainingJobName": name, "Tags": [{"Key": "team", "Value": "x" if name < "p" else "y"}]})
        server.send(name, lines)
    server.post("/api/v1/jobs", json={"TrainingJobName": "mute"})
    return server


def ask(server, query, status=200, **more):
    reply = server.get(f"/api/v1/jobs?{urlencode({'q': query, 'sort': 'name', **more})}")
    assert reply.status == status, reply
    return reply.body


def names(server, query, **more):
    return [job["TrainingJobName"] for job in ask(server, query, **more)["jobs"]]


def test_logs_go_with_all_other_terms(logs):
    cases = {
        'log:"NCCL timeout"': ["oom", "timeout"],
        "log:nccl*timeout": ["oom", "star", "timeout"],
        'log:"out of memory" or log:well': ["fine", "oom"],
        'not log:"nccl timeout"': ["fine", "mute", "star"],
        'log:"nccl timeout" tag.team=x': ["oom"],
        'tag.team=x and not (log:nccl or log:"all is")': [],
        'log~"^NCCL .*t"': ["star", "timeout"],
        'log~*"^nccl t"': ["oom", "timeout"],
        'log!~"NCCL"': ["fine", "mute", "oom"],
        'log="CUDA out of memory"': ["oom"],
        'log="CUDA out"': [],
        'log!="a*b"': ["fine", "mute", "oom", "timeout"],
        'log in ("a*b", "all is well")': ["fine", "star"],
        "name=mute or log:well": ["fine", "mute"],
        "name:z log:well": [],
        'log:"step:" log:"NCCL"': ["timeout"],
    }
    for query, wanted in cases.items():
        body = ask(logs, query, total="true")
        assert [job["TrainingJobName"] for job in body["jobs"]] == wanted and body["total"] == len(wanted), query
        assert "partial" not in body, query
    wait_until(lambda: names(logs, "log exists") == sorted(LOGS), what="lines are counted")
    wait_until(lambda: int(ask(logs, "")["as_of_seq"]) >= len(LOGS), what="the index is behind no line")
    groups = logs.get(f"/api/v1/aggregate?{urlencode({'q': 'log:nccl', 'by': 'tag.team'})}").body["groups"]
    assert groups == [{"tag.team": "x", "count": 1}, {"tag.team": "y", "count": 2}]
    csv = logs.get(f"/api/v1/jobs?{urlencode({'q': 'log:timeout', 'sort': 'name', 'format': 'csv', 'fields': 'TrainingJobName'})}")
    text = csv.body if isinstance(csv.body, str) else csv.body.decode()
    assert text.split() == ["TrainingJobName", "oom", "star", "timeout"]


def test_pages_hold_each_job_once(logs):
    for i in range(12):
        logs.send(f"more-{i:02}", ["needle" if i % 3 else "straw"])
    found, cursor = [], ""
    while True:
        page = ask(logs, "log:needle", limit=3, **({"cursor": cursor} if cursor else {}))
        found += [job["TrainingJobName"] for job in page["jobs"]]
        cursor = page.get("next_cursor")
        if not cursor:
            break
        assert len(page["jobs"]) == 3
        logs.send(f"more-0-{len(found)}", ["needle"]) # before the cursor: no page is moved
    assert found == [f"more-{i:02}" for i in range(12) if i % 3]


def test_mistakes(logs):
    assert ask(logs, "name:x log<3", 422)["column"] == 8
    assert ask(logs, 'log~"(a"', 422)["column"] == 1
    assert ask(logs, 'log:""', 422)["column"] == 1
    reply = logs.get(f"/api/v1/points?{urlencode({'q': 'log:x', 'metric': 'loss'})}")
    assert reply.status == 422 and "log" in reply.body["detail"]


def test_out_of_time_goes_on_behind_the_cursor(make_server):
    server = make_server("--search-ms", "1")
    for i in range(6):
        server.send(f"j{i}", [f"line {n} of text that is no hit {n * 7919}" for n in range(4000)] + (["needle"] if i % 2 else []))
    found, cursor, pages, partial = [], "", 0, 0
    while True:
        page = ask(server, 'log:needle and not log:"no such text"', **({"cursor": cursor} if cursor else {}))
        found += [job["TrainingJobName"] for job in page["jobs"]]
        pages, partial, cursor = pages + 1, partial + bool(page.get("partial")), page.get("next_cursor")
        if not cursor:
            break
    # at least one job a page; a log that one millisecond is too short for counts as one without
    assert pages <= 7 and set(found) <= {"j1", "j3", "j5"} and len(found) == len(set(found))
    assert partial >= pages - 1 and (partial or len(found) == 3)
