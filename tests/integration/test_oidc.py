"""People sign in by OpenID Connect: with a real provider (npm's oidc-provider)."""

import json
import urllib.parse

import pytest

from openid import RULES, Browser, RealProvider, SignInServer, stated
from smserver import wait_until


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    folder = tmp_path_factory.mktemp("oidc")
    provider = None

    def make(url):
        nonlocal provider
        provider = RealProvider(url).start()
        return [stated(folder, provider.issuer, name) for name in ("basic", "post", "public")]

    server = SignInServer(folder, make).start()
    yield server
    server.close()
    provider.close()


@pytest.mark.parametrize("name", ["basic", "post", "public"])
def test_a_person_signs_in_and_out(real, name):
    browser = Browser()
    assert browser.who(real)["authenticated"] is False and browser.get(real, "/api/v1/jobs").status == 401
    assert {"name": name, "label": name.title()} in browser.who(real)["providers"]
    url, reply = browser.sign_in(real, name, "ann+x+admins", "/jobs/a%20b?tab=log")
    assert (url, reply) == (real.public_url + "/jobs/a%20b?tab=log", None)
    assert browser.who(real) | {"providers": 0} == {"required": True, "authenticated": True, "scope": "admin", "team": None, "name": f"oidc/{name}/ann@example.org",
        "is_person": True, "providers": 0}
    made = browser.ask(real.public_url + "/api/v1/jobs", method="POST", headers={"Content-Type": "application/json", "Content-Length": "0"})
    assert made.status == 400  # of the body, and let in
    assert browser.get(real, "/api/v1/jobs").status == 200
    copied = browser.copy()
    assert browser.ask(real.public_url + "/api/v1/session", method="DELETE").status == 204
    assert "smfleet_session" not in browser.cookies
    assert copied.get(real, "/api/v1/jobs").status == 401


def test_a_state_is_of_one_browser_and_for_once(real):
    """Else whoever makes a browser follow a link signs it in as somebody else."""
    victim, attacker = Browser(), Browser()
    url, reply = attacker.sign_in(real, "basic", "eve+admins", until=real.public_url + "/sign-in/basic/callback")
    assert reply is None and "code=" in url and "state=" in url and "iss=" in url
    foreign = victim.ask(url)
    assert foreign.status == 400 and "this browser" in foreign.raw.decode() and victim.who(real)["authenticated"] is False
    assert attacker.ask(url).status == 400  # nor by its own any more
    attacker.sign_in(real, "basic", "eve+admins")
    assert attacker.who(real)["authenticated"] is True
    begun = attacker.ask(real.public_url + "/sign-in/basic")
    other = attacker.ask(begun.location).location  # oidc-provider still knows who this is
    assert other.startswith(real.public_url + "/sign-in/basic/callback?")
    assert attacker.ask(other.replace("/sign-in/basic/", "/sign-in/post/")).status == 400
    assert attacker.ask(other).status == 400  # of another provider's it was used, too


def test_each_sign_in_has_a_cookie_of_its_own_that_no_script_sees(real):
    browser = Browser()
    browser.cookies["smfleet_session"] = "smp_" + "A" * 43  # that somebody has planted
    begun = browser.ask(real.public_url + "/sign-in/public")
    assert "HttpOnly" in browser.set_cookies[0] and "SameSite=Lax" in browser.set_cookies[0] and "Max-Age=600" in browser.set_cookies[0]
    asked = dict(part.split("=") for part in begun.location.partition("?")[2].split("&"))
    assert asked["code_challenge_method"] == "S256" and len(asked["code_challenge"]) == 43 and len({asked["state"], asked["nonce"], asked["code_challenge"]}) == 3
    url, _ = browser.sign_in(real, "public", "ann+admins", until=real.public_url + "/sign-in/public/callback")
    back = browser.ask(url)
    cookie = next(line for line in browser.set_cookies if line.startswith("smfleet_session="))
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Max-Age=43200" in cookie and "A" * 43 not in cookie
    assert any(line.startswith("smfleet_sign_in=;") for line in browser.set_cookies)
    assert (back.status, back.headers["Referrer-Policy"], back.headers["Cache-Control"]) == (303, "no-referrer", "no-store")
    assert back.location == real.public_url + "/"


@pytest.mark.parametrize("path", ["//evil.example.org", "/\\evil.example.org", "https://evil.example.org/", "javascript:x", "", "/a\nb", "/" + "a" * 1024])
def test_one_comes_back_to_a_page_of_this_server(real, path):
    reply = Browser().ask(f"{real.public_url}/sign-in/basic?{urllib.parse.urlencode({'return': path})}")
    assert reply.status == 400 and reply.location is None


def test_who_fits_no_rule_is_told_so(real):
    browser = Browser()
    _, reply = browser.sign_in(real, "basic", "dave+ops+guests")
    assert reply.status == 403 and "ops, guests" in reply.raw.decode() and "default-src 'none'" in reply.headers["Content-Security-Policy"]
    assert browser.who(real)["authenticated"] is False
    _, reply = Browser().sign_in(real, "post", "<b>x")
    assert reply.status == 403 and "&lt;b&gt;x@example.org" in reply.raw.decode() and "<b>" not in reply.raw.decode()
    _, reply = Browser().sign_in(real, "basic", "mallory+admins")
    assert reply.status == 403 and "email_verified" in reply.raw.decode()  # the address may be anybody's
    carol = Browser()
    carol.sign_in(real, "basic", "carol")
    assert carol.who(real)["scope"] == "read"


def test_no_code_and_no_cookie_is_in_a_log(real):
    browser = Browser()
    browser.sign_in(real, "basic", "ann+admins")
    codes = [urllib.parse.parse_qs(url.partition("?")[2])["code"][0] for url in browser.seen if "/callback?" in url]
    log = "\n".join(real.log)
    assert codes and not any(code in log for code in codes) and browser.cookies["smfleet_session"] not in log and "a secret" not in log


def audited(server, browser):
    """Of sign-ins, the oldest first."""
    entries = browser.get(server, "/api/v1/audit?limit=1000").body["entries"]
    return [entry for entry in reversed(entries) if entry["object"].startswith("sign-ins/")]


def test_who_signs_in_and_out_and_who_was_refused_is_audited(real):
    admin, wim, dave, mallory = (Browser() for _ in range(4))
    admin.sign_in(real, "basic", "ann+admins")
    begun = len(audited(real, admin))
    wim.sign_in(real, "post", "wim+writers")
    wim.sign_in(real, "post", "wim+writers")  # another session; the provider knows who this is
    assert dave.sign_in(real, "basic", "dave+ops")[1].status == 403
    assert mallory.sign_in(real, "basic", "mallory+admins")[1].status == 403  # whose name is not certain
    codes = [urllib.parse.parse_qs(url.partition("?")[2]) for browser in (admin, wim, dave, mallory) for url in browser.seen if "/callback?" in url]
    cookie = wim.cookies["smfleet_session"]
    assert wim.ask(real.public_url + "/api/v1/session?everywhere=true", method="DELETE").status == 204
    told = audited(real, admin)[begun:]
    name = "oidc/post/wim@example.org"
    assert [(entry["verb"], entry["object"], entry["token"], entry["before"]) for entry in told] == [
        ("sign in", f"sign-ins/{name}", name, {"sessions": 0}), ("sign in", f"sign-ins/{name}", name, {"sessions": 1}),
        ("refuse", "sign-ins/oidc/basic/dave@example.org", "oidc/basic/dave@example.org", None), ("refuse", "sign-ins/oidc/basic", "oidc/basic", None),
        ("sign out", f"sign-ins/{name}", name, {"sessions": 2})]
    assert [entry["after"].get("sessions") for entry in told] == [1, 2, None, None, 0] and {entry["address"] for entry in told} == {"127.0.0.1"}
    assert "ops" in told[2]["after"]["reason"] and "email_verified" in told[3]["after"]["reason"]
    text = json.dumps(told)
    assert len(codes) >= 4 and not any(value in text for code in codes for value in (code["code"][0], code["state"][0])) and cookie not in text


def test_no_token_is_named_as_a_person(real):
    browser = Browser()
    browser.sign_in(real, "basic", "ann+admins")
    for name in ("oidc/basic/bob@example.org", "proxy/bob"):
        assert real.post("/api/v1/tokens", json={"name": name, "scope": "admin"}, headers={"Cookie": f"smfleet_session={browser.cookies['smfleet_session']}"}).status == 422


def cookie_of(browser):
    return {"Cookie": f"smfleet_session={browser.cookies['smfleet_session']}"}


def test_a_person_is_named_wherever_a_token_is_and_writes_and_reads(real):
    ann = Browser()
    ann.sign_in(real, "basic", "wim+writers")
    assert real.post("/api/v1/jobs", json={"TrainingJobName": "by-wim"}, headers=cookie_of(ann)).status == 201
    assert real.get("/api/v1/jobs/by-wim", headers=cookie_of(ann)).status == 200  # a program's token that writes reads nothing; a person's scope does
    assert real.get("/api/v1/tokens", headers=cookie_of(ann)).status == 403
    admin = Browser()
    admin.sign_in(real, "basic", "ann+admins")
    entries = real.get("/api/v1/audit?limit=50", headers=cookie_of(admin)).body["entries"]
    assert [entry["token"] for entry in entries if entry["object"] == "jobs/by-wim"] == ["oidc/basic/wim@example.org"]
    foreign = real.post("/api/v1/jobs", json={"TrainingJobName": "x"}, headers={**cookie_of(ann), "Origin": "https://evil.example.org"})
    assert foreign.status == 403
    assert real.delete("/api/v1/session", headers={**cookie_of(ann), "Sec-Fetch-Site": "cross-site"}).status == 403


def test_sessions_end_at_sign_out_with_what_goes_on(real):
    here, there, other = Browser(), Browser(), Browser()
    here.sign_in(real, "basic", "ann+admins")
    there.sign_in(real, "basic", "ann+admins")
    other.sign_in(real, "basic", "bob+admins")
    streams = [real.live(headers=cookie_of(browser)) for browser in (here, there, other)]
    assert real.delete("/api/v1/session", headers=cookie_of(here)).status == 204
    streams[0].wait_for_end(5)
    assert [browser.who(real)["authenticated"] for browser in (here, there, other)] == [False, True, True]
    assert real.delete("/api/v1/session?everywhere=true", headers=cookie_of(there)).status == 204
    streams[1].wait_for_end(5)
    assert [browser.who(real)["authenticated"] for browser in (here, there, other)] == [False, False, True]
    assert not streams[2].is_over
    streams[2].close()


def test_an_administrator_lists_and_ends_the_sessions_of_a_person(real):
    """Everywhere, with what goes on; of a team only those of the team."""
    admin, wim, again, bob = (Browser() for _ in range(4))
    admin.sign_in(real, "basic", "ann+admins")
    wim.sign_in(real, "post", "walt+writers")
    again.sign_in(real, "post", "walt+writers")
    bob.sign_in(real, "post", "bob+ml")
    root = cookie_of(admin)

    def listed(**options):
        reply = real.get("/api/v1/sign-ins", **options)
        assert reply.status == 200, reply
        return [row for row in reply.body["sign_ins"] if row["name"].startswith("oidc/post/")]
    names = [row["name"] for row in listed(headers=root)]
    assert names.count("oidc/post/walt@example.org") == 2 and names.count("oidc/post/bob@example.org") == 1
    rows = listed(headers=root)
    row = next(row for row in rows if row["name"] == "oidc/post/walt@example.org")
    assert (row["scope"], row["team"], row["until_ms"] - row["began_ms"]) == ("write", "vision", 12 * 3600 * 1000)
    assert [row["began_ms"] for row in rows] == sorted(row["began_ms"] for row in rows) and "smp_" not in json.dumps(rows)
    assert real.get("/api/v1/sign-ins", headers=cookie_of(wim)).status == 403
    assert real.delete("/api/v1/sign-ins?name=oidc/post/bob@example.org", headers=cookie_of(wim)).status == 403
    token = real.post("/api/v1/tokens", json={"name": "of-nlp", "scope": "admin", "team": "nlp"}, headers=root).body["token"]
    assert {row["name"] for row in listed(token=token)} == {"oidc/post/bob@example.org"}
    assert real.delete("/api/v1/sign-ins?name=oidc/post/walt@example.org", token=token).status == 404
    streams = [real.live(headers=cookie_of(browser)) for browser in (wim, again, bob)]
    assert real.delete("/api/v1/sign-ins?name=oidc/post/walt@example.org", headers=root).status == 204
    for stream in streams[:2]:
        stream.wait_for_end(5)
    assert [browser.who(real)["authenticated"] for browser in (wim, again, bob, admin)] == [False, False, True, True] and not streams[2].is_over
    streams[2].close()
    told = audited(real, admin)[-1]
    assert (told["verb"], told["object"], told["token"], told["before"], told["after"]) == (
        "delete", "sign-ins/oidc/post/walt@example.org", "oidc/basic/ann@example.org", {"sessions": 2}, {"sessions": 0})
    for query, status in (("?name=oidc/post/walt@example.org", 404), ("?name=proxy/ann", 404), ("", 400), ("?name=", 400)):
        assert real.delete("/api/v1/sign-ins" + query, headers=root).status == status, query


def one_provider(folder, *arguments, **options):
    provider = None

    def make(url):
        nonlocal provider
        provider = RealProvider(url, {"CLAIMS_IN_ID_TOKEN": "1"}).start()
        return [stated(folder, provider.issuer, "basic")]

    server = SignInServer(folder, make, *arguments, **options)
    return server, provider


def change_rules(server, rules):
    document = json.loads(server.sign_in.read_text())
    document["providers"][0]["rules"] = rules
    server.sign_in.write_text(json.dumps(document))


def test_a_session_outlives_a_restart_as_far_as_the_rules_go(tmp_path):
    server, provider = one_provider(tmp_path)
    server.start()
    ann, carol, out = Browser(), Browser(), Browser()
    ann.sign_in(server, "basic", "ann+ml")
    carol.sign_in(server, "basic", "carol")
    out.sign_in(server, "basic", "bob+ml")
    gone = out.copy()
    assert out.ask(server.public_url + "/api/v1/session", method="DELETE").status == 204
    server.kill()
    change_rules(server, [{"group": "ml", "scope": "admin"}])
    server.start()
    assert [(browser.who(server)["scope"], browser.who(server)["team"]) for browser in (ann, carol, gone)] == [("admin", None), (None, None), (None, None)]
    server.stop()
    change_rules(server, RULES)
    server.start()
    assert [browser.who(server)["scope"] for browser in (ann, carol, gone)] == ["read", None, None]  # who was signed out stays so
    assert server.sql("SELECT COUNT(*) FROM people_sessions")[0][0] == 1
    server.stop()
    change_rules(server, [])
    server.start()
    assert ann.who(server)["scope"] is None and server.sql("SELECT COUNT(*) FROM people_sessions")[0][0] == 0
    server.close()
    provider.close()


def change_issuer(server, issuer):
    document = json.loads(server.sign_in.read_text())
    document["providers"][0]["issuer"] = issuer
    server.sign_in.write_text(json.dumps(document))


def test_a_session_is_of_the_issuer_and_not_of_the_name_alone(tmp_path):
    """Whoever has the name next vouches for others."""
    server, provider = one_provider(tmp_path)
    server.start()
    issuer = json.loads(server.sign_in.read_text())["providers"][0]["issuer"]
    ann, bob = Browser(), Browser()
    ann.sign_in(server, "basic", "ann+admins")
    server.stop()
    server.start()
    assert ann.who(server)["scope"] == "admin"
    server.stop()
    change_issuer(server, "https://id.example.org")
    server.start()
    assert ann.who(server)["scope"] is None and server.sql("SELECT COUNT(*) FROM people_sessions")[0][0] == 0
    server.stop()
    change_issuer(server, issuer)
    server.start()
    assert ann.who(server)["scope"] is None
    bob.sign_in(server, "basic", "bob+admins")
    server.stop()
    server.sql("UPDATE people_sessions SET issuer = NULL")  # as those of before have it
    server.start()
    assert bob.who(server)["scope"] is None
    server.close()
    provider.close()


def test_a_session_ends_by_its_time_with_what_goes_on(tmp_path):
    server, provider = one_provider(tmp_path, "--sign-in-for", "4s")
    server.start()
    ann = Browser()
    ann.sign_in(server, "basic", "ann+admins")
    stream = server.live(headers=cookie_of(ann))
    assert stream.status == 200
    stream.wait_for_end(10)
    assert server.get("/api/v1/jobs", headers=cookie_of(ann)).status == 401
    server.close()
    provider.close()


@pytest.mark.parametrize("url, prefix", [("https://fleet.example.org", "__Host-"), ("https://tools.example.org/fleet/", "")])
def test_what_a_cookie_is_called_by_https(tmp_path, url, prefix):
    """Behind a proxy that ends TLS: where the host is this server's alone, by a name that no neighbour can set; an older cookie of the browser goes."""
    server, provider = one_provider(tmp_path)
    begun = server.public_url
    server.arguments[server.arguments.index(begun)] = url
    server.start()
    browser = Browser()
    reply = browser.ask(begun + "/sign-in/basic")
    assert browser.set_cookies[0].startswith(prefix + "smfleet_sign_in=") and browser.set_cookies[0].endswith("; Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure")
    assert urllib.parse.quote(url.rstrip("/") + "/sign-in/basic/callback", safe="") in reply.location
    browser.ask(begun + "/api/v1/session", method="DELETE")
    assert sorted(line.partition("=")[0] for line in browser.set_cookies) == (["__Host-smfleet_session"] if prefix else []) + ["smfleet_session"]
    server.close()
    provider.close()
