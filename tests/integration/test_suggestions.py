"""Completion of queries that are being typed, and saved views of the list of jobs."""

import urllib.parse

import pytest
from smserver import wait_until


def suggest(server, prefix, **parameters):
    text = urllib.parse.urlencode({"prefix": prefix, **parameters})
    reply = server.get(f"/api/v1/search/suggestions?{text}")
    assert reply.status == 200, reply
    return reply.body


def texts(server, prefix, **parameters):
    return [row["text"] for row in suggest(server, prefix, **parameters)["suggestions"]]


@pytest.fixture
def jobs(server):
    for i in range(6):
        document = {"TrainingJobName": f"Llama-{i}", "HyperParameters": {"lr": "0.1", "linear_lr": str(i), "opt imizer": "adam w"},
            "Tags": [{"Key": "team", "Value": "nlp" if i % 3 else "Ünicode"}, {"Key": "owner", "Value": "eve" if i else "bob"}],
            "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge"}}
        assert server.post("/api/v1/jobs", json=document).status == 201
    assert server.post("/api/v1/points?job=Llama-0", json={"points": [{"metric": "train:loss", "step": 1, "ts_ms": 1700000000000, "value": 2.0}]}).status == 200
    wait_until(lambda: texts(server, "metric."), what="the metric's summary")
    return server


def test_names(jobs):
    found = suggest(jobs, "l")
    assert found["from"] == 0 and not found["partial"]
    assert {"loss", "learning_rate", "label", "log", "hp.lr", "hp.linear_lr"} <= {row["text"] for row in found["suggestions"]}
    assert {"text": "hp.lr", "kind": "hyperparameter", "count": 6} in found["suggestions"]
    assert texts(jobs, "status=failed -hp.li") == ["-hp.linear_lr"] and suggest(jobs, "status=failed -hp.li")["from"] == 14
    assert texts(jobs, "(tag.") == ["tag.owner", "tag.team"]
    assert texts(jobs, "metric.tr") == ['metric."train:loss"'] and texts(jobs, "hp.opt") == ['hp."opt imizer"']
    assert texts(jobs, "ResourceConfig.I") == ["ResourceConfig.InstanceType"]
    assert texts(jobs, "nothing_like_it") == []


def test_values_by_frequency(jobs):
    assert texts(jobs, "status=") == [f"status={name}" for name in ("InProgress", "Completed", "Failed", "Stopping", "Stopped")]
    assert texts(jobs, "x status:comp") == ["status:Completed"]
    assert texts(jobs, "tag.team=") == ["tag.team=nlp", 'tag.team="Ünicode"']
    assert texts(jobs, 'tag.team="Ü') == ['tag.team="Ünicode"'] and texts(jobs, "owner!=") == ["owner!=eve", "owner!=bob"]
    assert texts(jobs, 'hp."opt imizer"=') == ['hp."opt imizer"="adam w"']
    assert texts(jobs, "name:LLAMA-3") == ["name:Llama-3"] and texts(jobs, "instance=ml") == ["instance=ml.p4d.24xlarge"]
    assert texts(jobs, "hp.linear_lr>=", limit=2) == ["hp.linear_lr>=0", "hp.linear_lr>=1"]


def test_an_empty_value_hides_no_other(jobs):
    for i, value in enumerate(("", "adam", "sgd")):
        document = {"TrainingJobName": f"empty-{i}", "HyperParameters": {"opt": value}}
        assert jobs.post("/api/v1/jobs", json=document).status == 201
    assert texts(jobs, "hp.opt=") == ["hp.opt=adam", "hp.opt=sgd"]


def test_every_suggestion_is_a_query_that_finds_something(jobs):
    for prefix in ("tag.team=", "owner:", "hp.lr=", 'hp."opt imizer"=', "name=", "instance:", "-(tag.ow"):
        for text in texts(jobs, prefix):
            query = text if any(c in text for c in "=:") else f"{text} exists"
            reply = jobs.get("/api/v1/jobs?" + urllib.parse.urlencode({"q": query}))
            assert reply.status == 200 and reply.body["jobs"], (query, reply)
    for text in texts(jobs, "", limit=100):
        reply = jobs.get("/api/v1/jobs?" + urllib.parse.urlencode({"q": f"{text} exists"}))
        assert "unknown property" not in str(reply.body), reply


def test_many_different_values_are_cut_off(server):
    for i in range(4):
        document = {"TrainingJobName": f"j{i}", "Elements": [f"v{i}-{n:03}" for n in range(100)]}
        assert server.post("/api/v1/jobs", json=document).status == 201
    found = suggest(server, "Elements=v", limit=100)
    assert found["partial"] and len(found["suggestions"]) == 100
    assert not suggest(server, "Elements=v3-", limit=100)["partial"]


def test_what_is_no_prefix(server):
    assert server.get("/api/v1/search/suggestions?prefix=" + "x" * 9000).status == 400
    assert server.get("/api/v1/search/suggestions?limit=101").status == 400
    for prefix in ('"', "\\", '"\\', "-", "=", "((((", 'hp."', "~*", "tag.=", "hp.=x", 'a"b\\"c=', "\x01"):
        suggest(server, prefix)


# ---- views ----

def test_views_are_saved_replaced_and_deleted(server):
    assert server.get("/api/v1/views").body == {"views": []}
    view = {"name": "failed ✗", "query": "status=failed loss.last>3", "sort": "-loss", "columns": ["name", "loss"]}
    reply = server.post("/api/v1/views", json=view)
    assert reply.status == 200 and {key: reply.body[key] for key in view} == view and reply.body["scope"] == "team"
    assert server.post("/api/v1/views", json={"name": "all"}).body["columns"] == []
    assert server.post("/api/v1/views", json={**view, "query": "status=failed"}).status == 200
    server.restart()
    rows = server.get("/api/v1/views").body["views"]
    assert [(row["name"], row["query"]) for row in rows] == [("all", ""), ("failed ✗", "status=failed")]
    assert server.delete("/api/v1/views?name=all").status == 204 and server.delete("/api/v1/views?name=all").status == 404
    assert server.delete("/api/v1/views").status == 400


def test_views_that_are_wrong(make_server):
    server = make_server("--max-views", "2")
    for body, field in (({}, "name"), ({"name": ""}, "name"), ({"name": "x" * 129}, "name"), ({"name": "a\nb"}, "name"),
            ({"name": 5}, "name"), ({"name": "a", "query": "status=("}, "query"), ({"name": "a", "columns": "name"}, "columns"),
            ({"name": "a", "columns": [1]}, "columns"), ({"name": "a", "columns": ["x"] * 65}, "columns"), ({"name": "a", "scope": "all"}, "scope"),
            ({"name": "a", "scope": "user"}, "scope")):
        reply = server.post("/api/v1/views", json=body)
        assert reply.status in (400, 422) and reply.body["field"] == field, (body, reply)
    for name in "ab":
        assert server.post("/api/v1/views", json={"name": name}).status == 200
    reply = server.post("/api/v1/views", json={"name": "c"})
    assert reply.status == 413 and "--max-views" in reply.body["detail"]
    assert server.post("/api/v1/views", json={"name": "b", "query": "x"}).status == 200


def test_views_of_users_and_teams(server):
    def token(name, scope, team, by=None):
        reply = server.post("/api/v1/tokens", json={"name": name, "scope": scope, "team": team}, headers=by)
        assert reply.status == 201, reply
        return {"Authorization": f"Bearer {reply.body['token']}"}
    root = token("root", "admin", "")
    eve, bob, ann = token("eve", "read", "nlp", root), token("bob", "read", "nlp", root), token("ann", "admin", "nlp", root)
    assert server.post("/api/v1/views", json={"name": "mine"}, headers=eve).body["scope"] == "user"
    assert server.post("/api/v1/views", json={"name": "ours", "scope": "team"}, headers=eve).status == 403
    assert server.post("/api/v1/views", json={"name": "ours", "scope": "team"}, headers=ann).status == 200

    def names(who):
        return [(row["name"], row["scope"]) for row in server.get("/api/v1/views", headers=who).body["views"]]
    assert names(eve) == [("mine", "user"), ("ours", "team")] and names(bob) == [("ours", "team")] and names(root) == []
    assert server.delete("/api/v1/views?name=mine", headers=bob).status == 404
    assert server.delete("/api/v1/views?name=ours&scope=team", headers=bob).status == 403
