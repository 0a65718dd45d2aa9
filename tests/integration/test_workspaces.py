"""The page's workspaces over REST: saved for a team, checked with places, changed only from what was read, limited, audited."""

import json
import pathlib
import re
import urllib.parse

import pytest

CASES = json.loads((pathlib.Path(__file__).resolve().parent.parent / "support/workspaces.json").read_text())
EMPTY = {"version": 1, "panels": []}


def path(name):
    return f"/api/v1/workspaces/{urllib.parse.quote(name, safe='')}"


def put(server, name, document=EMPTY, **headers):
    return server.put(path(name), json=document, headers={key.replace("_", "-"): value for key, value in headers.items()})


def test_what_is_saved_is_had_back(server):
    assert server.get("/api/v1/workspaces").body == {"workspaces": []}
    assert server.get(path("none")).status == 404
    for name, document in zip(("plain", "loss & more / 100 % ✗"), CASES["good"]):
        reply = put(server, name, document)
        assert reply.status == 200 and (reply.body["name"], reply.body["panels"]) == (name, len(document["panels"])), reply
        server.restart()
        got = server.get(path(name))
        assert got.body == document and got.headers["ETag"] == reply.headers["ETag"] == f'"{reply.body["revision"]}"'
    rows = server.get("/api/v1/workspaces").body["workspaces"]
    assert [(row["name"], row["title"], row["panels"]) for row in rows] == [("loss & more / 100 % ✗", "t", 5), ("plain", "", 0)]
    assert all(row["modified_ms"] > 0 and "document" not in row for row in rows)
    assert server.delete(path("plain")).status == 204 and server.delete(path("plain")).status == 404


@pytest.mark.parametrize("case", CASES["bad"], ids=lambda case: case["at"])
def test_what_is_wrong_is_refused_with_its_place(shared_server, case):
    reply = put(shared_server, "bad", case["document"])
    assert reply.status == 422, reply
    if case["at"] == "the document":
        return
    assert reply.body["field"] == case["at"] and case["at"] in reply.body["detail"]


def test_queries_and_names_are_checked(shared_server):
    line = {"kind": "line", "expressions": [], "width": 3, "height": 1}
    for document, place in (({**EMPTY, "query": "status=("}, "query"), ({**EMPTY, "panels": [line, {**line, "query": "loss >"}]}, "panels[1].query")):
        reply = put(shared_server, "a", document)
        assert reply.status == 422 and reply.body["field"] == place and "column" in reply.body["detail"], reply
    assert put(shared_server, "x" * 129).body["field"] == "name"
    assert shared_server.put(path("a"), b'{"version": 1, "version": 1, "panels": []}', content_type="application/json").status in (400, 422)
    assert shared_server.put(path("a"), b"{", content_type="application/json").status == 400
    assert shared_server.get("/api/v1/workspaces").body == {"workspaces": []}


def test_a_change_is_made_from_what_was_read(server):
    first = put(server, "w", If_None_Match="*").headers["ETag"]
    again = put(server, "w", If_None_Match="*")
    assert again.status == 412 and "already" in again.body["detail"]
    second = put(server, "w", {**EMPTY, "title": "mine"}, If_Match=first)
    assert second.status == 200 and second.headers["ETag"] != first
    for stale in (first, '"nothing"', "5", "W/" + second.headers["ETag"]):
        late = put(server, "w", {**EMPTY, "title": "theirs"}, If_Match=stale)
        assert late.status == 412 and "saved by somebody else" in late.body["detail"], stale
        assert server.delete(path("w"), headers={"If-Match": stale}).status == 412
    assert server.get(path("w")).body["title"] == "mine"
    assert put(server, "gone", If_Match=first).status == 412
    assert server.delete(path("w"), headers={"If-Match": second.headers["ETag"]}).status == 204
    # a new one of the old name has another ETag than the old one ever had
    assert put(server, "w").headers["ETag"] not in (first, second.headers["ETag"])
    assert put(server, "w", {**EMPTY, "title": "whatever it was"}).status == 200


def test_limits(make_server):
    server = make_server("--max-workspaces", "2", "--max-workspace-bytes", "200")
    whole = {**EMPTY, "title": ""}
    room = 200 - len(json.dumps(whole))
    assert put(server, "a", {**whole, "title": "x" * room}).status == 200
    reply = put(server, "a", {**whole, "title": "x" * (room + 1)})
    assert reply.status == 413 and "--max-workspace-bytes" in reply.body["detail"], reply
    assert put(server, "b").status == 200
    reply = put(server, "c")
    assert reply.status == 413 and "--max-workspaces" in reply.body["detail"]
    assert put(server, "b", whole).status == 200, "what is there may still be changed"
    server.delete(path("a"))
    assert put(server, "c").status == 200


def test_a_team_has_its_own(server):
    def token(name, scope, team, by=None):
        reply = server.post("/api/v1/tokens", json={"name": name, "scope": scope, "team": team}, headers=by)
        assert reply.status == 201, reply
        return {"Authorization": f"Bearer {reply.body['token']}"}
    root = token("root", "admin", "")
    eve, bob, ann = token("eve", "read", "nlp", root), token("bob", "admin", "nlp", root), token("ann", "admin", "vision", root)
    assert server.put(path("w"), json=EMPTY, headers=eve).status == 403
    assert server.put(path("w"), json={**EMPTY, "title": "nlp"}, headers=bob).body["author"] == "bob"
    assert server.get(path("w"), headers=eve).body["title"] == "nlp"
    assert server.get(path("w"), headers=ann).status == 404 and server.get("/api/v1/workspaces", headers=ann).body == {"workspaces": []}
    assert server.delete(path("w"), headers=ann).status == 404 and server.delete(path("w"), headers=eve).status == 403
    assert server.put(path("w"), json={**EMPTY, "title": "vision"}, headers=ann).status == 200
    assert server.get(path("w"), headers=bob).body["title"] == "nlp"
    assert server.get("/api/v1/workspaces").status == 401
    told = [entry for entry in server.get("/api/v1/audit", headers=root).body["entries"] if entry["object"] == "workspaces/w"]
    assert [(entry["token"], entry["verb"], entry["after"]["title"]) for entry in told] == [("ann", "change", "vision"), ("bob", "change", "nlp")], told
    assert not any("document" in entry["after"] for entry in told)


def test_the_documents_of_the_documentation_are_taken(shared_server):
    text = (pathlib.Path(__file__).resolve().parent.parent.parent / "docs/workspace.md").read_text()
    found = re.findall(r"```workspace\n(.*?)```", text, re.DOTALL)
    assert found
    for document in found:
        assert put(shared_server, "from the documentation", json.loads(document)).status == 200
        assert shared_server.delete(path("from the documentation")).status == 204
