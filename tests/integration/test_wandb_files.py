"""Files of W&B's runs, by requests: where they may be sent, what is refused, and who reads them."""

from urllib.parse import quote as escape, urlsplit

import pytest

from awsclients import token_of
from smserver import Server, quote
from wandbclient import ask, make_run

NAMES = [f"n{n}" for n in range(4)]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """A server with tokens: (server, {scope or team: token})."""
    server = Server(tmp_path_factory.mktemp("wandb_files"), "--wandb-files", "--max-attachments", "3", "--max-attachment-bytes", "100",
        "--max-job-attachment-bytes", "250").start()
    tokens = {scope: token_of(server, scope, "--scope", scope)[0] for scope in ("admin", "read")}
    tokens |= {team: token_of(server, team, "--scope", "write", "--team", team)[0] for team in ("red", "blue")}
    yield server, tokens
    server.close()


def addresses(server, run_id, names, token=None, **options):
    """{name: the path and signature of its address, or None}"""
    status, body = ask(server, "CreateRunFiles", {"project": "p", "run": run_id, "files": names}, token=token, **options)
    assert status == 200 and not body.get("errors"), body
    reply = body["data"]["createRunFiles"]
    assert reply["uploadHeaders"] == [] and reply["runID"] == run_id
    return {file["name"]: file["uploadUrl"] and file["uploadUrl"].removeprefix(server.url) for file in reply["files"]}


def not_kept(server, run_id, token):
    return next((tag["Value"] for tag in server.get(f"/api/v1/jobs/p%2F{run_id}", token=token).body.get("Tags") or [] if tag["Key"] == "smfleet.not_kept"), None)


def paths(server, run_id, token):
    return [row["path"] for row in server.get(f"/api/v1/jobs/p%2F{run_id}/attachments", token=token).body["attachments"]]


def message(reply):
    return reply.body["errors"][0]["message"]


def test_a_file_is_sent_without_a_token_to_its_address_alone(guarded):
    server, tokens = guarded
    for run_id in ("one", "two"):
        make_run(server, run_id, token=tokens["red"])
    name = "sub/ä b/a#?%.txt"
    found = addresses(server, "one", [name, "b.txt"], tokens["red"])
    assert server.put(found[name], b"first").status == 200
    assert server.put(found[name], b"again").status == 200, "a client that got no answer sends it again"
    own = found[name].partition("?")[0]
    assert server.get(own, token=tokens["red"]).raw == b"again"
    assert server.get(own, token=tokens["blue"]).status == 404 and server.get(own, token=tokens["read"]).status == 403
    assert server.get(found[name]).status == 401, "it is an address to write, not to read"
    path, _, sig = found[name].partition("?sig=")
    expiry, holder, mac = sig.split(".")
    other = found["b.txt"].partition("?sig=")[2]
    for bad in (f"{path}?sig={other}", f"{path}x?sig={sig}", path.replace("/one/", "/two/") + f"?sig={sig}", path.replace("/p/", "/q/") + f"?sig={sig}",
            f"{path}?sig={int(expiry) + 1}.{holder}.{mac}", f"{path}?sig={expiry}.{int(holder) + 1}.{mac}", f"{path}?sig={expiry}.{holder}.{mac[:-1]}",
            f"{path}?sig={expiry}.{holder}.{mac}0", f"{path}?sig=", f"{path}?sig=x.y.z", f"{path}?sig={expiry}"):
        reply = server.put(bad, b"bad")
        assert reply.status == 403 and "sig" in message(reply), (bad, reply)
    assert server.put(path, b"bad").status == 401
    assert server.put(found[name], b"bad", token=tokens["blue"]).status == 404, "who says who he is, is that"
    assert server.get(own, token=tokens["red"]).raw == b"again" and paths(server, "one", tokens["read"]) == [name]
    assert server.put(path, b"by hand", token=tokens["red"]).status == 200
    for token, status in (("read", 403), ("blue", 404)):
        assert server.put(path, b"bad", token=tokens[token]).status == status


def test_an_address_of_a_token_that_was_revoked(guarded):
    server, tokens = guarded
    token = token_of(server, "gone", "--scope", "write", "--team", "red")[0]
    make_run(server, "revoked", token=token)
    found = addresses(server, "revoked", ["a", "b"], token)
    assert server.put(found["a"], b"x").status == 200
    assert server.delete("/api/v1/tokens/gone", token=tokens["admin"]).status == 204
    reply = server.put(found["b"], b"x")
    assert reply.status == 401 and "no longer known" in message(reply)


def test_files_at_their_limits(guarded):
    server, tokens = guarded
    make_run(server, "limits", token=tokens["red"])
    lacks = lambda: not_kept(server, "limits", tokens["read"])
    found = addresses(server, "limits", NAMES, tokens["red"])
    assert [bool(url) for url in found.values()] == [True, True, True, False] and lacks().startswith("n3: ") and "--max-attachments" in lacks()
    reply = server.put(found["n0"], 101 * b"x")
    assert reply.status == 413 and "more than 100 (--max-attachment-bytes)" in message(reply) and lacks() == ("n0: " + message(reply))[:256]
    assert server.put(found["n0"], 100 * b"x").status == 200 and server.put(found["n1"], 100 * b"x").status == 200
    reply = server.put(found["n2"], 51 * b"x")
    assert reply.status == 413 and "--max-job-attachment-bytes" in message(reply) and lacks() == ("n2: " + message(reply))[:256]
    assert server.put(found["n2"], 50 * b"x").status == 200
    found = addresses(server, "limits", ["n4"], tokens["red"])
    reply = server.put(found["n4"], b"x")
    assert reply.status == 413 and "--max-attachments" in message(reply) and lacks() == ("n4: " + message(reply))[:256]
    assert paths(server, "limits", tokens["read"]) == ["n0", "n1", "n2"]


def test_what_no_server_takes_is_in_its_log(guarded):
    server, tokens = guarded
    make_run(server, "huge", token=tokens["red"])
    reply = server.put(addresses(server, "huge", ["h.bin"], tokens["red"])["h.bin"], bytes((32 << 20) + 1))
    assert reply.status == 413 and "larger than 100 bytes (--max-attachment-bytes)" in message(reply)
    server.wait_for_log(r'event=wandb_not_kept path="/files/red/p/huge/files/h.bin" what="the file is larger')


def test_names_that_no_file_may_have(guarded):
    server, tokens = guarded
    make_run(server, "names", token=tokens["red"])
    own = ["output.log", "wandb-summary.json", "config.yaml", "logs/1.log"]
    assert addresses(server, "names", own, tokens["red"]) == dict.fromkeys(own) and not_kept(server, "names", tokens["read"]) is None
    assert all(addresses(server, "names", ["requirements.txt", "wandb-metadata.json", "diff.patch"], tokens["red"]).values())
    for bad in ("a/../b", "a//b", "/a", "a\\b", "a\nb", 1001 * "x"):
        assert addresses(server, "names", [bad, "good"], tokens["red"])[bad] is None
        assert not_kept(server, "names", tokens["read"]).startswith(bad[:80]), bad
    status, body = ask(server, "CreateRunFiles", {"project": "p", "run": "names", "files": "a"}, token=tokens["red"])
    assert (status, body["errors"][0]["message"]) == (200, "'files' must be a list of names")
    for project, run_id in (("p", "nobody"), ("a/b", "x"), ("p", "")):
        assert ask(server, "CreateRunFiles", {"project": project, "run": run_id, "files": ["a"]}, token=tokens["red"])[1]["errors"]
    assert ask(server, "CreateRunFiles", {"project": "p", "run": "names", "files": ["a"]}, token=tokens["blue"])[1]["errors"]


def listed(server, token, **variables):
    status, body = ask(server, "RunFiles", {"project": "p", "name": "listed", **variables}, token=token)
    assert status == 200 and not body.get("errors"), body
    run = body["data"]["project"]["run"]
    return [edge["node"]["name"] for edge in run["files"]["edges"]], run


def test_files_are_listed(guarded):
    server, tokens = guarded
    make_run(server, "listed", token=tokens["red"])
    assert listed(server, tokens["red"])[0] == []
    for name, url in addresses(server, "listed", ["b.png", "a", "c d"], tokens["red"]).items():
        assert server.put(url, name.encode()).status == 200
    names, run = listed(server, tokens["red"])
    assert names == ["a", "b.png", "c d"] and run["fileCount"] == 3 and not run["files"]["pageInfo"]["hasNextPage"]
    node = run["files"]["edges"][2]["node"]
    assert (node["sizeBytes"], node["url"]) == (3, f"{server.url}/files/red/p/listed/files/c%20d") and "sig" not in node["url"]
    assert server.get(urlsplit(node["url"]).path, token=tokens["red"]).raw == b"c d"
    names, run = listed(server, tokens["red"], fileLimit=2)
    assert names == ["a", "b.png"] and run["fileCount"] == 3 and run["files"]["pageInfo"] == {"endCursor": "b.png", "hasNextPage": True}
    assert listed(server, tokens["red"], fileLimit=2, fileCursor="b.png")[0] == ["c d"]
    assert listed(server, tokens["red"], fileNames=["c d", "none", 7])[0] == ["c d"]
    assert ask(server, "RunFiles", {"project": "p", "name": "listed"}, token=tokens["blue"])[1]["data"]["project"]["run"] is None
    for variables, said in (({"pattern": "%.png"}, "not by a pattern"), ({"fileLimit": 0}, "'fileLimit' must be"), ({"fileLimit": 1001}, "'fileLimit' must be"),
            ({"fileNames": "a"}, "'fileNames' must be"), ({"fileNames": 1001 * ["a"]}, "at most 1000")):
        assert said in ask(server, "RunFiles", {"project": "p", "name": "listed", **variables}, token=tokens["red"])[1]["errors"][0]["message"]


def test_files_go_with_their_run(guarded):
    server, tokens = guarded
    make_run(server, "goes", token=tokens["red"])
    url = addresses(server, "goes", ["a"], tokens["red"])["a"]
    assert server.put(url, b"x").status == 200
    server.post("/files/any/p/goes/file_stream", json={"complete": True, "exitcode": 0}, token=tokens["red"])
    assert server.delete("/api/v1/jobs/p%2Fgoes", token=tokens["admin"]).status in (200, 202, 204)
    assert server.put(url, b"x").status == 404 and server.get(url.partition("?")[0], token=tokens["red"]).status == 404


def test_by_default_none_is_kept(tmp_path):
    server = Server(tmp_path, "--public-url", "https://logs.example/").start()
    try:
        make_run(server, "none")
        assert ask(server, "CreateRunFiles", {"project": "p", "run": "none", "files": ["a"]})[1]["data"]["createRunFiles"]["files"] == []
        assert not_kept(server, "none", None).startswith("a: this server keeps no files")
        reply = server.put("/files/any/p/none/files/a", b"x")
        assert reply.status == 404 and "--wandb-files" in message(reply)
    finally:
        server.close()


@pytest.mark.parametrize("public, host, origin", [
    ("https://logs.example/", "logs.example", "https://logs.example"), ("https://logs.example", None, None), (None, None, None)])
def test_the_address_has_the_name_that_was_asked_for(tmp_path, public, host, origin):
    """A proxy with TLS is known by --public-url; nodes that reach the server itself go on doing so."""
    server = Server(tmp_path, "--wandb-files", *(["--public-url", public] if public else [])).start()
    try:
        make_run(server, "named")
        body = ask(server, "CreateRunFiles", {"project": "p", "run": "named", "files": ["a b"]}, headers={"Host": host} if host else None)[1]
        url = body["data"]["createRunFiles"]["files"][0]["uploadUrl"]
        assert url.startswith(f"{origin or server.url}/files/smfleet/p/named/files/{escape('a b')}?sig="), url
        assert server.put(urlsplit(url).path + "?" + urlsplit(url).query, b"open server").status == 200
        assert server.get(f"/api/v1/jobs/{quote('p/named')}/attachments/a%20b").raw == b"open server"
    finally:
        server.close()
