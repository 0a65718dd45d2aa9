"""Tokens and scopes, the page's session, and what a foreign web page may do."""

import socket
import subprocess
import time

from smserver import PATIENCE_S, sanitizer_environment, wait_until


def make_token(server, name, scope, *arguments):
    done = subprocess.run([server.bin("sm-server"), "token", "create", name, "--scope", scope, *server.database_options(),
        *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, env=sanitizer_environment())
    assert done.returncode == 0, done.stderr
    token = done.stdout.strip()
    assert token and len(token.split()) == 1
    return token


def test_nobody_needs_a_token_on_loopback(server):
    server.send("j", "x")
    assert server.get("/api/v1/jobs").status == 200


def test_first_token_locks_the_server(server):
    admin = make_token(server, "admin", "admin")
    reply = server.get("/api/v1/jobs")
    assert reply.status == 401 and reply.headers["Content-Type"].startswith("application/problem+json")
    assert "Bearer" in (reply.headers.get("WWW-Authenticate") or "")
    assert server.get("/api/v1/jobs", token="smf_wrong").status == 401
    assert server.get("/api/v1/jobs", token=admin).status == 200
    assert server.get("/healthz").status == 200 and server.get("/").status == 200


def test_scopes(server):
    admin, read, write = (make_token(server, scope, scope) for scope in ("admin", "read", "write"))
    logs, jobs, tokens = "/api/v1/logs?job=j", "/api/v1/jobs", "/api/v1/tokens"
    assert server.post(logs, "x\n", token=write).status == 200
    assert server.post(logs, "x\n", token=read).status == 403
    assert server.post(logs, "x\n", token=admin).status == 200
    assert server.get(jobs, token=read).status == 200
    assert server.get(jobs, token=write).status == 403
    assert server.get("/metrics", token=read).status == 200
    for token in (read, write):
        reply = server.get(tokens, token=token)
        assert reply.status == 403 and "admin" in reply.body["detail"]
    listed = server.get(tokens, token=admin)
    assert {row["name"] for row in listed.body["tokens"]} == {"admin", "read", "write"}
    for token in (admin, read, write):
        assert token not in listed.raw.decode()


def test_refused_upload_stores_nothing(server):
    read = make_token(server, "r", "read")
    assert server.post("/api/v1/logs?job=j", "x\n" * 1_000_000, token=read).status == 403
    assert server.post("/api/v1/logs?job=j", "x\n" * 1_000_000).status == 401
    assert server.get("/api/v1/jobs/j", token=read).status == 404


def test_tokens_over_the_api(server):
    admin = make_token(server, "root", "admin")
    made = server.post("/api/v1/tokens", json={"name": "ci", "scope": "write"}, token=admin)
    assert made.status == 201
    assert server.post("/api/v1/tokens", json={"name": "ci", "scope": "write"}, token=admin).status == 409
    assert server.post("/api/v1/tokens", json={"name": "x", "scope": "all"}, token=admin).status == 422
    assert server.post("/api/v1/logs?job=j", "x\n", token=made.body["token"]).status == 200
    assert server.delete("/api/v1/tokens/ci", token=admin).status == 204
    assert server.post("/api/v1/logs?job=j", "x\n", token=made.body["token"]).status == 401
    assert server.delete("/api/v1/tokens/ci", token=admin).status == 404


def test_the_last_token_stays(server):
    admin = make_token(server, "root", "admin")
    made = server.post("/api/v1/tokens", json={"name": "ci", "scope": "write"}, token=admin)
    assert made.status == 201
    assert server.delete("/api/v1/tokens/ci", token=admin).status == 204
    reply = server.delete("/api/v1/tokens/root", token=admin)
    assert reply.status == 409 and "last token" in reply.body["detail"]
    assert server.get("/api/v1/jobs").status == 401 # else everybody would be an admin now
    assert server.delete("/api/v1/tokens/nobody", token=admin).status == 404


def test_an_admin_of_a_team_gives_away_no_more_than_it_has(server):
    root, nlp = make_token(server, "root", "admin"), make_token(server, "nlp", "admin", "--team", "nlp")
    made = server.post("/api/v1/tokens", json={"name": "ci", "scope": "write"}, token=nlp)
    assert made.status == 201
    teams = {row["name"]: row["team"] for row in server.get("/api/v1/tokens", token=root).body["tokens"]}
    assert teams == {"root": "", "nlp": "nlp", "ci": "nlp"}
    assert server.post("/api/v1/tokens", json={"name": "x", "scope": "admin", "team": "vision"}, token=nlp).status == 403
    assert server.delete("/api/v1/tokens/root", token=nlp).status == 403
    assert server.delete("/api/v1/tokens/ci", token=nlp).status == 204
    hook = {"url": "http://127.0.0.1:9/", "team": "vision"}
    assert server.post("/api/v1/webhooks", json=hook, token=nlp).status == 403
    theirs = server.post("/api/v1/webhooks", json=hook, token=root).body["id"]
    assert server.delete(f"/api/v1/webhooks/{theirs}", token=nlp).status == 403
    ours = server.post("/api/v1/webhooks", json={"url": hook["url"]}, token=nlp).body["id"]
    assert [row["id"] for row in server.get("/api/v1/webhooks", token=nlp).body["webhooks"]] == [ours]
    assert [row["id"] for row in server.get("/api/v1/webhooks", token=root).body["webhooks"]] == [theirs, ours]
    assert server.get(f"/api/v1/webhooks/{ours}/deliveries", token=nlp).status == 200
    assert server.get(f"/api/v1/webhooks/{theirs}/deliveries", token=nlp).status == 403
    assert server.delete(f"/api/v1/webhooks/{theirs}", token=root).status == 204


def test_tokens_survive_a_restart_and_are_stored_hashed(server):
    admin = make_token(server, "admin", "admin")
    server.restart()
    assert server.get("/api/v1/jobs").status == 401
    assert server.get("/api/v1/jobs", token=admin).status == 200
    server.stop()
    for path in server.folder.glob("smfleet.db*"):
        assert admin.encode() not in path.read_bytes() and admin.removeprefix("smf_").encode() not in path.read_bytes(), path
    server.start()


def test_token_without_a_running_server(make_server):
    server = make_server(start=False)
    admin = make_token(server, "admin", "admin")
    server.start()
    assert server.get("/api/v1/jobs").status == 401
    assert server.get("/api/v1/jobs", token=admin).status == 200


def test_same_token_name_twice(server):
    make_token(server, "a", "read")
    done = subprocess.run([server.bin("sm-server"), "token", "create", "a", *server.database_options()],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, env=sanitizer_environment())
    assert done.returncode != 0 and "a" in done.stderr and not done.stdout.strip()


def test_session_cookie(server):
    admin = make_token(server, "admin", "admin")
    assert server.get("/api/v1/session").body["required"] is True
    assert server.get("/api/v1/session").body["authenticated"] is False
    assert server.post("/api/v1/session", json={"token": "smf_wrong"}).status == 401
    reply = server.post("/api/v1/session", json={"token": admin})
    assert reply.status in (200, 204)
    cookie = reply.headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Path=/" in cookie
    jar = {"Cookie": cookie.partition(";")[0]}
    assert server.get("/api/v1/session", headers=jar).body["authenticated"] is True
    assert server.get("/api/v1/jobs", headers=jar).status == 200
    live = server.live("kinds=points", headers=jar)
    assert live.status == 200
    other = {"Cookie": server.post("/api/v1/session", json={"token": admin}).headers["Set-Cookie"].partition(";")[0]}
    assert admin not in jar["Cookie"] and other != jar
    assert server.get("/api/v1/jobs", headers={"Cookie": f"smfleet_session={admin}"}).status == 401  # the token itself is no cookie
    forged = jar["Cookie"][:-1] + ("0" if jar["Cookie"][-1] != "0" else "1")
    assert server.get("/api/v1/jobs", headers={"Cookie": forged}).status == 401
    # what is ended by signing out makes no second one first
    assert server.post("/api/v1/session", json={"token": jar["Cookie"].partition("=")[2]}).status == 422
    bye = server.delete("/api/v1/session", headers=jar)
    assert bye.status in (200, 204) and "Max-Age=0" in bye.headers["Set-Cookie"]
    live.wait_for_end()  # and so does every copy of the cookie, also behind a restart, and no other session
    for _ in range(2):
        assert server.get("/api/v1/jobs", headers=jar).status == 401
        assert server.get("/api/v1/jobs", headers=other).status == 200
        server.restart()
    # an old cookie must not lock anybody out of the sign-in page
    stale = {"Cookie": "smfleet_session=smf_gone"}
    assert server.get("/", headers=stale).status == 200
    assert server.get("/api/v1/session", headers=stale).body["authenticated"] is False
    assert server.get("/api/v1/jobs", headers=stale).status == 401


# ---- what goes on when a token ends ----
def end_at_once(*streams):
    """Not because their reader's patience has ended."""
    since = time.monotonic()
    for live in streams:
        live.wait_for_end()
    assert time.monotonic() - since < PATIENCE_S / 4


def open_upload(server, token):
    """A chunked body without an end, as sm-ship sends it."""
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S)
    connection.sendall(b"POST /api/v1/logs?job=j&stream=endless HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
                       b"Transfer-Encoding: chunked\r\nAuthorization: Bearer " + token.encode() + b"\r\n\r\n6\r\nfirst\n\r\n")
    return connection


def test_a_revoked_token_ends_its_streams_and_no_other(server):
    admin, gone, stays = (make_token(server, *of) for of in (("root", "admin"), ("gone", "read"), ("stays", "read")))
    server.send("j", "x", token=admin)
    bearer = {token: {"Authorization": f"Bearer {token}"} for token in (gone, stays)}
    streams = [server.live(query, headers=bearer[gone]) for query in ("kinds=points", "jobs=j&kinds=lines&filter=x")]
    cookie = server.post("/api/v1/session", json={"token": gone}).headers["Set-Cookie"].partition(";")[0]
    streams.append(server.live("kinds=job", headers={"Cookie": cookie}))
    other = server.live("jobs=j&kinds=lines", headers=bearer[stays])
    assert [live.status for live in (*streams, other)] == [200] * 4
    assert server.delete("/api/v1/tokens/gone", token=admin).status == 204
    end_at_once(*streams)
    server.send("j", "after", token=admin)
    assert other.next("lines", where=lambda event: "after" in event["data"])
    assert server.get("/api/v1/live", headers=bearer[gone]).status == 401


def test_a_revoked_token_ends_its_endless_upload(server):
    admin, gone = make_token(server, "root", "admin"), make_token(server, "gone", "write")
    with open_upload(server, gone) as connection:
        wait_until(lambda: server.get("/api/v1/jobs/j", token=admin).status == 200, what="the first line")
        assert server.delete("/api/v1/tokens/gone", token=admin).status == 204
        connection.sendall(b"7\r\nsecond\n\r\n")
        assert connection.recv(12) == b"HTTP/1.1 401"
    server.token = admin
    assert [line["text"] for line in server.lines("j", "endless")] == ["first"]


def test_the_first_token_ends_what_was_open_to_all(server):
    live = server.live("kinds=points")
    admin = make_token(server, "root", "admin")
    end_at_once(live)
    assert server.get("/api/v1/jobs", token=admin).status == 200


# ---- web pages of others ----
def test_unknown_host_is_misdirected(server):
    """DNS rebinding: a foreign name that points here."""
    for path in ("/api/v1/jobs", "/", "/api/v1/info"):
        assert server.get(path, headers={"Host": "evil.example"}).status == 421, path
    assert server.post("/api/v1/logs?job=j", "x\n", headers={"Host": f"evil.example:{server.port}"}).status == 421
    for host in ("localhost", f"localhost:{server.port}", f"127.0.0.1:{server.port}", f"[::1]:{server.port}"):
        assert server.get("/api/v1/jobs", headers={"Host": host}).status == 200, host


def test_allowed_host(make_server):
    server = make_server("--allowed-host", "metrics.example,other.example")
    for host, status in (("metrics.example", 200), ("other.example:8080", 200), ("evil.example", 421)):
        assert server.get("/api/v1/jobs", headers={"Host": host}).status == status


def test_foreign_origin_reads_and_writes_nothing(server):
    foreign = {"Origin": "https://evil.example"}
    assert server.get("/api/v1/jobs", headers=foreign).status == 403
    assert server.post("/api/v1/logs?job=j", "x\n", headers=foreign).status == 403
    assert server.get("/api/v1/live", headers=foreign).status == 403
    assert server.get("/api/v1/jobs", headers={"Sec-Fetch-Site": "cross-site"}).status == 403
    assert server.post("/api/v1/logs?job=j", "x\n", headers={"Origin": f"http://localhost:{server.port + 1}"}).status == 403
    assert server.post("/api/v1/logs?job=j", "x\n", headers={"Origin": "null"}).status == 403
    assert server.get("/api/v1/jobs/j").status == 404
    own = {"Origin": server.url, "Host": f"127.0.0.1:{server.port}", "Sec-Fetch-Site": "same-origin"}
    assert server.post("/api/v1/logs?job=j", "x\n", headers=own).status == 200
    reply = server.get("/api/v1/jobs", headers=foreign)
    assert "Access-Control-Allow-Origin" not in reply.headers


def test_other_addresses_need_a_token_first(make_server):
    server = make_server(start=False)
    command = [server.bin("sm-server"), "--listen", "0.0.0.0:0", *server.database_options()]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, env=sanitizer_environment())
    assert done.returncode not in (0, 99, -6) and "--insecure" in done.stderr and "token create" in done.stderr
    server.start("0.0.0.0:0", "--insecure")
    assert server.get("/api/v1/jobs").status == 200
    server.stop()
    token = make_token(server, "admin", "admin")
    server.start("0.0.0.0:0")
    assert server.get("/api/v1/jobs").status == 401 and server.get("/api/v1/jobs", token=token).status == 200


def test_signing_out_everywhere(server):
    """All sessions of the token end, also after a restart; the token, other tokens' sessions and what begins afterwards go on."""
    ada, bob = make_token(server, "ada", "admin"), make_token(server, "bob", "read")

    def sign_in(token):
        return {"Cookie": server.post("/api/v1/session", json={"token": token}).headers["Set-Cookie"].partition(";")[0]}
    first, second, other = sign_in(ada), sign_in(ada), sign_in(bob)
    live = server.live("", second)
    assert server.delete("/api/v1/session?everywhere=maybe", headers=first).status == 400
    assert server.delete("/api/v1/session?everywhere=true", headers=first).status == 204
    live.wait_for_end()
    third = sign_in(ada)
    for _ in range(2):
        states = [server.get("/api/v1/jobs", headers=headers).status for headers in (first, second, other, third)]
        assert states == [401, 401, 200, 200] and server.get("/api/v1/jobs", token=ada).status == 200
        server.restart()
    assert server.delete("/api/v1/session?everywhere=true", token=ada).status == 204, "a token is no session: nothing ends"
    assert server.get("/api/v1/jobs", headers=third).status == 200


def test_team_writes_its_own_jobs_only(server):
    admin = make_token(server, "admin", "admin")
    nlp = make_token(server, "nlp", "write", "--team", "nlp")
    vision = make_token(server, "vision", "write", "--team", "vision")
    assert server.post("/api/v1/logs?job=theirs", "x\n", token=nlp).status == 200
    reply = server.post("/api/v1/logs?job=theirs", "y\n", token=vision)
    assert reply.status == 403 and "another team" in reply.body["detail"]
    assert server.post("/api/v1/jobs/theirs/transitions", json={"SecondaryStatus": "Training"}, token=vision).status == 403
    assert server.get("/api/v1/jobs/theirs/logs", token=admin).body["total"] == 1


def test_a_session_is_its_teams(server):
    nlp = make_token(server, "nlp", "write", "--team", "nlp")
    vision = make_token(server, "vision", "write", "--team", "vision")
    asked = {"job": "theirs", "stream": "algo-1", "session": "s-1"}
    assert server.post("/api/v1/sessions", json=asked, token=nlp).status == 201
    for document in (asked, {"job": "ours", "stream": "algo-1", "session": "s-1"}):
        assert server.post("/api/v1/sessions", json=document, token=vision).status == 403
    assert server.post("/api/v1/sessions/s-1", json={"end": True}, token=vision).status == 403
    assert server.post("/api/v1/jobs/theirs/commands", json={"command": "stop"}, token=vision).status == 403
    assert server.post("/api/v1/sessions/s-1", json={}, token=nlp).status == 200  # it lives


def test_info_counts_for_those_who_may_read(server):
    assert server.get("/api/v1/info").body["jobs"] == 0
    admin = make_token(server, "admin", "admin")
    assert "jobs" not in server.get("/api/v1/info").body
    assert server.get("/api/v1/info", token=admin).body["jobs"] == 0


def test_an_admin_of_a_team_changes_nothing_of_everybodys(server):
    root, nlp = make_token(server, "root", "admin"), make_token(server, "nlp", "admin", "--team", "nlp")
    loss = {"definitions": [{"Name": "loss", "Regex": "loss=(\\S+)"}]}
    assert server.put("/api/v1/definitions", json=loss, token=nlp).status == 403
    assert server.put("/api/v1/definitions", json=loss, token=root).status == 200
    quotas, prices = {"quotas": [{"quota": "instances", "configured": 1}]}, {"currency": "USD", "prices": []}
    for path, body in (("quotas", quotas), ("prices", prices)):
        reply = server.put(f"/api/v1/{path}", json=body, token=nlp)
        assert reply.status == 403 and "of team 'nlp'" in reply.body["detail"], reply
        assert server.put(f"/api/v1/{path}", json=body, token=root).status == 200
    assert server.put("/api/v1/retention", json={"log_bytes": 1 << 40}, token=nlp).status == 403
    assert server.put("/api/v1/retention", json={"team": "vision", "max_age_days": 1}, token=nlp).status == 403
    assert server.put("/api/v1/retention", json={"team": "", "max_age_days": 9}, token=nlp).status == 200
    teams = {row["team"]: row for row in server.get("/api/v1/retention", token=root).body["teams"]}
    assert teams["nlp"]["max_age_days"] == 9 and "" not in teams
    server.send("theirs", ["loss=1"], token=root)
    for path in ("", "?backfill=true"):
        assert server.put(f"/api/v1/jobs/theirs/definitions{path}", json=loss, token=nlp).status == 403
    assert server.delete("/api/v1/jobs/theirs/definitions/backfill", token=nlp).status == 403


def test_options_and_where_they_come_from(make_server, tmp_path):
    config = tmp_path / "smfleet.conf"
    config.write_text("max-views = 7\nsilent-after = 5m\n")
    server = make_server("--config", str(config), "--demo", environment={"SMFLEET_LEASE": "90s", "SMFLEET_SILENT_AFTER": "6m"})
    options = {one["name"]: one for one in server.get("/api/v1/options").body["options"]}
    assert {"demo", "listen", "timezone"} <= options.keys() and all(one["help"] for one in options.values())
    told = {name: (options[name].get("value"), options[name]["kind"], options[name]["source"])
        for name in ("max-views", "silent-after", "lease", "demo", "insecure", "slice-bytes")}
    assert told == {"max-views": (7, "number", f"{config}:1"), "silent-after": (360_000, "milliseconds", "SMFLEET_SILENT_AFTER"),
        "lease": (90_000, "milliseconds", "SMFLEET_LEASE"), "demo": (True, "flag", "--demo"), "insecure": (None, "flag", "not set"),
        "slice-bytes": (1 << 20, "bytes", "default")}
    admin = make_token(server, "admin", "admin")
    assert server.get("/api/v1/options", token=admin).status == 200
    for scope, arguments in (("read", ()), ("write", ()), ("admin", ("--team", "nlp"))):
        token = make_token(server, scope + "2", scope, *arguments)
        assert server.get("/api/v1/options", token=token).status == 403
    assert server.get("/api/v1/options?q=1", token=admin).status == 400


def test_the_pulse_says_how_far_behind_it_is(server):
    def lag_ms():
        server.send("j", "one more line")
        return server.get("/api/v1/info").body["lag_ms"]
    lag = wait_until(lag_ms, what="a second with lines that took more than no time")
    assert 0 < lag < 60_000
    assert "smfleet_lag_seconds " in server.get("/metrics").body
