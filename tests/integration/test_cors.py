"""--cors-origins: the pages that it names read by a token in their header; nobody else's do, and no cookie counts."""

import pytest

from test_auth import make_token

PAGE = "https://notebooks.example.org"
ASK = {"Origin": PAGE, "Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "authorization"}


@pytest.fixture
def listed(make_server):
    return make_server("--cors-origins", f"https://other.example.org, {PAGE}")


def varies(reply):
    return "Origin" in [part.strip() for value in reply.headers.get_all("Vary") or [] for part in value.split(",")]


def test_a_page_that_is_named_reads(listed):
    make_token(listed, "root", "admin")
    token = make_token(listed, "reader", "read")
    asked = listed.request("OPTIONS", "/api/v1/jobs", headers=ASK)
    assert asked.status == 204 and asked.headers["Access-Control-Allow-Origin"] == PAGE and varies(asked)
    assert "GET" in asked.headers["Access-Control-Allow-Methods"] and "Authorization" in asked.headers["Access-Control-Allow-Headers"]
    got = listed.get("/api/v1/jobs", token=token, headers={"Origin": PAGE, "Sec-Fetch-Site": "cross-site"})
    assert got.status == 200 and got.headers["Access-Control-Allow-Origin"] == PAGE and varies(got)
    assert listed.post("/api/v1/points/query", json={"queries": []}, token=token, headers={"Origin": PAGE}).headers["Access-Control-Allow-Origin"] == PAGE
    refused = listed.get("/api/v1/jobs", headers={"Origin": PAGE})
    assert refused.status == 401 and refused.headers["Access-Control-Allow-Origin"] == PAGE  # so that the page can say why
    for reply in (asked, got, refused):
        assert "Access-Control-Allow-Credentials" not in reply.headers


def test_it_changes_nothing(listed):
    token = make_token(listed, "root", "admin")
    for method, path, body in (("POST", "/api/v1/jobs", {"TrainingJobName": "j"}), ("POST", "/api/v1/points?job=j", {"points": []}),
                               ("POST", "/api/v1/tokens", {"name": "x", "scope": "admin"})):
        reply = listed.request(method, path, json=body, token=token, headers={"Origin": PAGE})
        assert reply.status == 403 and "Access-Control-Allow-Origin" not in reply.headers, (path, reply)
    assert listed.get("/api/v1/jobs", token=token).body["jobs"] == []


def test_it_signs_nobody_in_or_out(listed):
    token = make_token(listed, "root", "admin")
    for method, body in (("POST", {"token": token}), ("DELETE", None)):
        reply = listed.request(method, "/api/v1/session", json=body, headers={"Origin": PAGE})
        assert reply.status == 403 and "Set-Cookie" not in reply.headers, reply


def test_a_cookie_does_not_count(listed):
    token = make_token(listed, "root", "admin")
    signed_in = listed.post("/api/v1/session", json={"token": token})
    cookie = signed_in.headers["Set-Cookie"].partition(";")[0]
    assert listed.get("/api/v1/jobs", headers={"Cookie": cookie}).status == 200
    assert listed.get("/api/v1/jobs", headers={"Cookie": cookie, "Origin": PAGE}).status == 401


@pytest.mark.parametrize("origin", ["https://evil.example.org", PAGE + ".evil.org", PAGE + ":8443", "null", "http://notebooks.example.org"])
def test_other_pages_do_not(listed, origin):
    for method in ("GET", "OPTIONS"):
        reply = listed.request(method, "/api/v1/jobs", headers={**ASK, "Origin": origin})
        assert reply.status == 403 and "Access-Control-Allow-Origin" not in reply.headers and varies(reply)


def test_by_default_nobody_is_named(server):
    reply = server.get("/api/v1/jobs", headers={"Origin": PAGE})
    assert reply.status == 403 and "Access-Control-Allow-Origin" not in reply.headers and not varies(reply)


@pytest.mark.parametrize("wrong", ["*", "notebooks.example.org", PAGE + "/", "https://", "https://*.example.org"])
def test_what_is_no_origin_is_refused_at_the_start(make_server, wrong):
    server = make_server("--cors-origins", wrong, start=False)
    server.launch("127.0.0.1:0")
    assert server.wait() == 1
    server.process = None
    assert any(f"--cors-origins: '{wrong}' is no origin" in line for line in server.log), server.log
