"""The page as it is served: strict policy, caching, no other hosts."""

import gzip
import re

import pytest


@pytest.fixture
def page(server):
    reply = server.get("/")
    assert reply.status == 200 and reply.headers["Content-Type"].startswith("text/html")
    if "assets/" not in reply.raw.decode():
        pytest.skip("this server was built without its page")
    return reply


def scripts_of(page):
    return re.findall(r'(?:src|href)="(/assets/[^"]+)"', page.raw.decode())


def directives(policy):
    return {part.split()[0]: part.split()[1:] for part in policy.split(";") if part.strip()}


def test_policy(server, page):
    policy = directives(page.headers["Content-Security-Policy"])
    assert policy["default-src"] in (["'none'"], ["'self'"])
    for name, sources in policy.items():
        assert "'unsafe-eval'" not in sources and "*" not in sources and "https:" not in sources and "http:" not in sources, name
    assert "'unsafe-inline'" not in policy.get("script-src", policy["default-src"])
    assert policy["frame-ancestors"] == ["'none'"] and policy["base-uri"] == ["'none'"]
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    assert page.headers["Referrer-Policy"]


def test_no_other_hosts(server, page):
    for path in ["/", *scripts_of(page)]:
        text = server.get(path).raw.decode(errors="replace")
        hosts = set(re.findall(r"""(?:src|href)=["']https?://([^/"']+)""", text))
        hosts |= set(re.findall(r"""(?:import|fetch)\(["']https?://([^/"']+)""", text))
        assert not hosts, (path, hosts)


def test_scripts_are_cached_for_ever_and_the_page_is_not(server, page):
    assert "immutable" not in (page.headers.get("Cache-Control") or "")
    for path in scripts_of(page):
        reply = server.get(path)
        assert reply.status == 200 and "immutable" in reply.headers["Cache-Control"], path


def test_etag(server, page):
    for path in ["/", *scripts_of(page)]:
        tag = server.get(path).headers["ETag"]
        again = server.get(path, headers={"If-None-Match": tag})
        assert again.status == 304 and again.raw == b"", path
        assert server.get(path, headers={"If-None-Match": '"other"'}).status == 200


def test_gzip(server, page):
    for path in scripts_of(page):
        packed = server.get(path, headers={"Accept-Encoding": "gzip"})
        plain = server.get(path)
        if packed.headers.get("Content-Encoding") == "gzip":
            assert gzip.decompress(packed.raw) == plain.raw
        assert "Accept-Encoding" in (packed.headers.get("Vary") or "") or "Content-Encoding" not in packed.headers


def test_paths_of_the_page_are_the_page(server, page):
    """Views of their own say which parts they fetch first, and are the same page."""
    without_parts = lambda reply: re.sub(rb'<link rel="modulepreload"[^>]*>', b"", reply.raw).split()
    for path in ("/jobs", "/incidents", "/some/deep/link"):
        reply = server.get(path, headers={"Accept": "text/html"})
        assert reply.status == 200 and without_parts(reply) == without_parts(page), path
    assert b"modulepreload" in server.get("/jobs", headers={"Accept": "text/html"}).raw
    assert server.get("/jobs/a%2Fb").raw == server.get("/jobs/ab").raw, "a slash in a job's name is no other page"


def test_what_is_not_there(server, page):
    assert server.get("/assets/none.js").status == 404
    assert server.get("/assets/../smfleet.db").status in (400, 404)
    assert server.get("/assets/%2e%2e/smfleet.db").status in (400, 404)


def test_api_replies_are_not_sniffed(server):
    reply = server.get("/api/v1/jobs")
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert "no-store" in (reply.headers.get("Cache-Control") or "")
