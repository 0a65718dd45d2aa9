"""--trusted-proxy: who it names in a header gets scope and team by the groups that it names; from all others the header is refused."""

import http.client
import json
import subprocess

import pytest

from smserver import PATIENCE_S, Reply, Server, find_binary, sanitizer_environment
from test_auth import make_token

PROXY, OTHER = "127.0.0.2", "127.0.0.1"
RULES = [{"group": "fleet-admins", "scope": "admin"}, {"group": "cn=vision;ou=ml", "scope": "write", "team": "vision"}, {"group": "ml", "scope": "read", "team": "nlp"},
    {"group": "nlp-admins", "scope": "admin", "team": "nlp"}, {"person": "carol", "scope": "read"}]


@pytest.fixture(scope="module")
def vouched(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vouched")
    (folder / "sign-in.json").write_text(json.dumps({"proxy": {"rules": RULES}}))
    server = Server(folder, "--sign-in", str(folder / "sign-in.json"), "--trusted-proxy", f"10.0.0.0/8, {PROXY}", "--team-reads", "own").start()
    yield server
    server.close()


def ask(server, *headers, method="GET", path="/api/v1/jobs", source=PROXY, body=None):
    """Headers as they are, also twice."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S, source_address=(source, 0))
    connection.putrequest(method, path)
    for name, value in headers:
        connection.putheader(name, value)
    if body is not None:
        connection.putheader("Content-Length", str(len(body)))
        connection.putheader("Content-Type", "application/json")
    connection.endheaders(body)
    response = connection.getresponse()
    reply = Reply(response.status, response.headers, response.read())
    connection.close()
    return reply


def person(name, *groups):
    return ("X-Forwarded-User", name), ("X-Forwarded-Groups", ", ".join(groups))


def test_groups_give_scope_and_team(vouched):
    nobody = ask(vouched)
    assert nobody.status == 401  # though there is no token yet: those whom the proxy names are let in, and nobody else
    whoami = {name: ask(vouched, *person(name, *groups), path="/api/v1/session").body for name, groups in
        {"ann": ["x", "fleet-admins", "ml"], "bob": ["ml"], "carol": []}.items()}
    assert {name: (body["scope"], body["team"], body["name"], body["authenticated"]) for name, body in whoami.items()} == {
        "ann": ("admin", None, "proxy/ann", True), "bob": ("read", "nlp", "proxy/bob", True), "carol": ("read", None, "proxy/carol", True)}
    made = [ask(vouched, *person("dora", group), method="POST", body=json.dumps({"TrainingJobName": name}).encode())
        for name, group in (("theirs", "cn=vision;ou=ml"), ("ours", "nlp-admins"))]
    assert [reply.status for reply in made] == [201, 201], made
    assert [row["TrainingJobName"] for row in ask(vouched, *person("bob", "ml")).body["jobs"]] == ["ours"]
    assert ask(vouched, *person("bob", "ml"), method="POST", body=b'{"TrainingJobName":"c"}').status == 403
    entry = ask(vouched, *person("ann", "fleet-admins"), path="/api/v1/audit?limit=1").body["entries"][0]
    assert entry["token"] == "proxy/dora" and entry["object"] == "jobs/ours"


def test_a_person_who_writes_reads_and_a_program_does_not(vouched):
    """At all doors that people come to: one function decides."""
    writer = person("wim", "cn=vision;ou=ml")
    token = make_token(vouched, "writes-alone", "write", "--team", "vision")
    assert ask(vouched, *writer, method="POST", body=b'{"TrainingJobName":"seen"}').status == 201
    assert "seen" in [row["TrainingJobName"] for row in ask(vouched, *writer).body["jobs"]]
    for path in ("/api/v1/jobs", "/api/v1/jobs/seen", "/metrics", "/prometheus/api/v1/labels", "/loki/api/v1/labels", "/api/v1/views"):
        assert ask(vouched, *writer, path=path).status == 200, path
        assert ask(vouched, ("Authorization", f"Bearer {token}"), path=path).status == 403, path
    assert vouched_live(vouched, *writer).status == 200
    for path in ("/api/v1/tokens", "/api/v1/audit"):
        assert ask(vouched, *writer, path=path).status == 403
    reader = person("bob", "ml")
    assert ask(vouched, *reader, method="POST", body=b'{"TrainingJobName":"by-reader"}').status == 403
    page = ask(vouched, *writer, path="/jobs/seen")
    assert "seq" in (page.headers.get("Server-Timing") or "")  # the page begins for who may read


def vouched_live(server, *headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S, source_address=(PROXY, 0))
    connection.request("GET", "/api/v1/live", headers=dict(headers))
    response = connection.getresponse()
    connection.close()
    return response


def test_who_is_in_no_group_that_counts_is_told_so(vouched):
    for path in ("/api/v1/jobs", "/api/v1/session"):
        reply = ask(vouched, *person("dave", "cn=ops", "guests"), path=path)
        assert reply.status == 403 and "dave" in reply.body["detail"] and "cn=ops, guests" in reply.body["detail"], reply
    assert "no groups" in ask(vouched, *person("eve")).body["detail"]
    assert len(ask(vouched, *person("eve", *(f"group-{n}" * 3 for n in range(60)))).body["detail"]) < 600
    assert ask(vouched, *person("m" * 300, "ml")).status == 403  # cut off it could be somebody else's
    assert ask(vouched, *person("ann", "FLEET-ADMINS")).status == 403
    assert ask(vouched, *person("Carol")).status == 403


@pytest.mark.parametrize("headers", [
    person("ann", "fleet-admins"),
    (("X-Forwarded-User", ""),),
    (("x-forwarded-USER", "ann"),),
    (("X_Forwarded_User", "ann"),),
    (("X.Forwarded.User", "ann"),),
    (("X-Forwarded-Groups", "fleet-admins"),),
], ids=str)
def test_from_elsewhere_it_is_refused(vouched, headers):
    for path in ("/api/v1/jobs", "/api/v1/session", "/"):
        reply = ask(vouched, *headers, path=path, source=OTHER)
        assert reply.status == 403 and "--trusted-proxy" in reply.raw.decode(), (path, reply)
    bearer = ("Authorization", "Bearer smf-1234")
    assert ask(vouched, *headers, bearer, source=OTHER).status == 403


@pytest.mark.parametrize("headers", [
    (*person("bob", "ml"), ("X-Forwarded-User", "ann")),
    (*person("bob", "ml"), ("X-Forwarded-Groups", "fleet-admins")),
    (*person("bob", "ml"), ("X_Forwarded_Groups", "fleet-admins")),
    (("X_Forwarded-User", "ann"), *person("bob", "ml")),
    (("x-forwarded-user", "ann"), *person("bob", "ml")),
    (("X-Forwarded-Groups", "fleet-admins"),),
    (("X-Forwarded-User", "  "), ("X-Forwarded-Groups", "fleet-admins")),
], ids=str)
def test_what_a_client_may_have_put_beside_is_refused(vouched, headers):
    reply = ask(vouched, *headers)
    assert reply.status == 400, reply


def test_a_name_that_ends_nowhere_near_is_no_match(vouched):
    for name in ("X-Forwarded-Use", "X-Forwarded-Users", "X-Forwarded-User-Id"):
        assert ask(vouched, (name, "ann"), source=OTHER).status == 401


def test_a_page_of_elsewhere_does_not_act_for_the_person(vouched):
    foreign = ask(vouched, *person("ann", "fleet-admins"), ("Origin", "https://evil.example.org"), method="POST", body=b'{"TrainingJobName":"x"}')
    assert foreign.status == 403
    foreign = ask(vouched, *person("ann", "fleet-admins"), ("Sec-Fetch-Site", "cross-site"))
    assert foreign.status == 403


def test_tokens_count_beside_it_and_none_is_named_as_a_person(vouched):
    reply = ask(vouched, *person("ann", "fleet-admins"), method="POST", path="/api/v1/tokens", body=b'{"name":"proxy/bob","scope":"admin"}')
    assert reply.status == 422 and "proxy/bob" in reply.body["detail"]
    token = make_token(vouched, "ci", "write")
    assert vouched.post("/api/v1/logs?job=c", "x\n", token=token).status == 200
    assert ask(vouched, ("Authorization", f"Bearer {token}"), method="POST", path="/api/v1/jobs", body=b'{"TrainingJobName":"d"}').status == 201  # by the proxy, of no person
    signed = ask(vouched, *person("ann", "fleet-admins"), method="POST", path="/api/v1/signatures", body=b'{"url":"/api/v1/jobs/c/chart.svg?metric=loss"}')
    assert signed.status == 403 and "token" in signed.body["detail"]


@pytest.mark.parametrize("options, rules, said", [
    (["--trusted-proxy", "10.0.0.0/33"], RULES, "10.0.0.0/33"),
    (["--trusted-proxy", "proxy.example.org"], RULES, "proxy.example.org"),
    (["--trusted-proxy", "10.0.0.1", "--proxy-user-header", "X_User"], RULES, "X_User"),
    (["--trusted-proxy", "10.0.0.1", "--insecure"], RULES, "--insecure"),
    (["--trusted-proxy", "10.0.0.1"], None, "--sign-in"),
    ([], RULES, "--trusted-proxy"),
    (["--trusted-proxy", "10.0.0.1"], [{"group": "a", "scope": "root"}], "rule 1"),
    (["--trusted-proxy", "10.0.0.1"], [{"group": "a", "scope": "read"}, {"groups": ["b"], "scope": "read"}], "rule 2"),
    (["--trusted-proxy", "10.0.0.1"], [{"scope": "read"}], "exactly one"),
    (["--trusted-proxy", "10.0.0.1"], [{"group": "a", "everybody": True, "scope": "read"}], "exactly one"),
    (["--trusted-proxy", "10.0.0.1"], "all", "array"),
], ids=str)
def test_what_is_stated_wrong_is_said_at_the_start(tmp_path, options, rules, said):
    file = tmp_path / "sign-in.json"
    file.write_text(json.dumps({"proxy": {"rules": rules}}))
    stated = ["--sign-in", str(file)] if rules else []
    done = subprocess.run([find_binary("sm-server"), "--db", str(tmp_path / "x.db"), "--listen", "127.0.0.1:0", *stated, *options], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S, env=sanitizer_environment(), check=False)
    assert done.returncode != 0 and said in done.stdout, done.stdout
