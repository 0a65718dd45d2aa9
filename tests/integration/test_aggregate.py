"""GET /api/v1/aggregate: what groups of jobs come to, over the API and by sm-search."""

import csv
import io
import json
import subprocess
from urllib.parse import urlencode

import pytest

DAY_S = 86_400
NOON_S = 1_772_452_800  # 2026-03-02T12:00:00Z


@pytest.fixture
def fleet(server):
    """Four jobs of October and November 2026: one over the border, one without a team, one that never started."""
    def make(name, team, nodes, started, ended):
        document = {"TrainingJobName": name, "ResourceConfig": {"InstanceCount": nodes, "InstanceType": "ml.p4d.24xlarge"},
            "Tags": [{"Key": "team", "Value": team}] if team else []}
        assert server.post("/api/v1/jobs", json=document).status == 201
        for status, at in (("Training", started), ("Completed", ended)):
            if at:
                reply = server.post(f"/api/v1/jobs/{name}/transitions", json={"SecondaryStatus": status, "time_ms": at * 1000})
                assert reply.status < 300, reply
    november = 1793491200 # 2026-11-01T00:00:00Z
    make("border", "nlp", 4, november - DAY_S, november + 3 * DAY_S)
    make("inside", "nlp", 2, november + DAY_S, november + 2 * DAY_S)
    make("stray", None, 1, november - 2 * DAY_S, november - DAY_S)
    make("waits", "a,b", 8, None, None)
    return server


def ask(server, status=200, **query):
    reply = server.get(f"/api/v1/aggregate?{urlencode(query)}")
    assert reply.status == status, reply
    return reply.body


def test_months_share_what_a_job_took(fleet):
    groups = ask(fleet, q="started exists", by="tag.team,month", of="sum:node_hours,count,max:duration")["groups"]
    assert groups == [
        {"tag.team": "nlp", "month": "2026-10", "sum:node_hours": 96, "count": 1, "max:duration": DAY_S},
        {"tag.team": "nlp", "month": "2026-11", "sum:node_hours": 4 * 72 + 48, "count": 2, "max:duration": 3 * DAY_S},
        {"tag.team": None, "month": "2026-10", "sum:node_hours": 24, "count": 1, "max:duration": DAY_S}]
    assert ask(fleet, of="sum:node_hours,count,p50:billable,sum:hp.lr")["groups"] == [
        {"sum:node_hours": 96 + 4 * 72 + 48 + 24, "count": 4, "p50:billable": DAY_S, "sum:hp.lr": None}]
    assert ask(fleet, q="status=failed", by="team")["groups"] == []


def test_csv(fleet):
    reply = fleet.get("/api/v1/aggregate?by=tag.team&of=count,sum:duration&format=csv")
    assert reply.headers["Content-Type"].startswith("text/csv")
    assert list(csv.reader(io.StringIO(reply.body if isinstance(reply.body, str) else reply.body.decode()))) == [
        ["tag.team", "count", "sum:duration"], ["a,b", "1", ""], ["nlp", "2", str(5 * DAY_S)], ["", "1", str(DAY_S)]]


def test_what_is_wrong_is_said(fleet):
    problem = ask(fleet, 422, by="team,shoe", of="count")
    assert (problem["field"], problem["column"]) == ("by", 6) and "'shoe'" in problem["detail"]
    problem = ask(fleet, 422, of="count,sum:joy")
    assert (problem["field"], problem["column"]) == ("of", 11) and "node_hours" in problem["detail"]
    assert ask(fleet, 422, of="avg:loss")["column"] == 1
    assert ask(fleet, 422, by="team,team")["field"] == "by"
    assert ask(fleet, 422, q="hp.lr<", by="team")["column"] == 7
    assert ask(fleet, 400, format="xml")["field"] == "format"
    assert ask(fleet, 400, off="count")["status"] == 400
    assert ask(fleet, 422, of="")["field"] == "of"


def test_as_many_groups_as_the_option_says(make_server):
    server = make_server("--max-groups", "2")
    for name in ("a", "b"):
        server.post("/api/v1/jobs", json={"TrainingJobName": name})
    assert len(ask(server, by="name")["groups"]) == 2
    server.post("/api/v1/jobs", json={"TrainingJobName": "c"})
    problem = ask(server, 413, by="name")
    assert problem["field"] == "by" and "--max-groups" in problem["detail"]
    assert ask(server)["groups"] == [{"count": 3}]


def test_a_job_is_shared_among_so_many_days_and_no_more(make_server):
    """One that lasts longer is left out and counted, once; the others are summed as without it."""
    server = make_server("--max-group-periods", "5")
    for name, days in (("short", 4), ("long", 5)):  # from noon on: a day more, in part
        assert server.post("/api/v1/jobs", json={"TrainingJobName": name}).status == 201
        for status, at_s in (("Training", NOON_S), ("Completed", NOON_S + days * DAY_S)):
            reply = server.post(f"/api/v1/jobs/{name}/transitions", json={"SecondaryStatus": status, "time_ms": at_s * 1000})
            assert reply.status < 300, reply
    short = ask(server, q="name=short", by="day", of="count,sum:duration")
    assert len(short["groups"]) == 5 and "too_long_jobs" not in short
    days = ask(server, by="day", of="count,sum:duration")
    assert (days["groups"], days["too_long_jobs"]) == (short["groups"], 1)
    assert [group["sum:duration"] for group in days["groups"]] == [DAY_S / 2, DAY_S, DAY_S, DAY_S, DAY_S / 2]
    table = server.get("/api/v1/aggregate?by=day&format=csv")
    assert table.headers["X-Too-Long-Jobs"] == "1" and len(table.raw.splitlines()) == 6
    run = subprocess.run([str(server.bin("sm-search")), "--server", server.url, "--by", "day", "--csv"], capture_output=True, timeout=30, text=True)
    assert (run.returncode, len(run.stdout.splitlines())) == (0, 6) and run.stderr.startswith("sm-search: left out") and run.stderr.endswith(": 1\n")
    months = ask(server, by="month")
    assert [group["count"] for group in months["groups"]] == [2] and "too_long_jobs" not in months


def test_sm_search_prints_groups(fleet):
    def run(*arguments):
        return subprocess.run([str(fleet.bin("sm-search")), "--server", fleet.url, *arguments], capture_output=True, timeout=30, text=True)
    options = ("tag.team exists", "--by", "tag.team", "--of", "count,sum:node_hours")
    assert run(*options).stdout == 'tag.team,count,sum:node_hours\n"a,b",1,\nnlp,2,432\n'
    assert json.loads(run(*options, "--json").stdout)["groups"][1]["count"] == 2
    assert [json.loads(line)["count"] for line in run(*options, "--ndjson").stdout.splitlines()] == [1, 2]
    table = run(*options, "--table").stdout.splitlines()
    assert table[0].lower().split() == ["tag.team", "count", "sum:node_hours"] and table[2].split() == ["nlp", "2", "432"]
    assert run("status=failed", "--by", "team").returncode == 1
    wrong = run("x", "--of", "sum:joy")
    assert wrong.returncode == 2 and "'joy'" in wrong.stderr and "^" not in wrong.stderr
    assert "--watch" in run("--by", "team", "--watch").stderr
