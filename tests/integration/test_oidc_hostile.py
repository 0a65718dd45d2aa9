"""Providers that lie, are slow, or away; and what is stated wrong in the file of --sign-in."""

import base64
import contextlib
import hashlib
import hmac
import http.client
import json
import socket
import subprocess
import threading
import time

import pytest

import ports
from openid import RULES, Browser, Key, LyingProvider, SignInServer, base64url, stated
from smserver import PATIENCE_S, Reply, find_binary, sanitizer_environment, wait_until

NOW = int(time.time())


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    folder = tmp_path_factory.mktemp("liar")
    liar = LyingProvider(folder)
    server = SignInServer(folder, lambda _: [stated(folder, liar.issuer, "basic")]).start()
    yield server, liar
    server.close()
    liar.close()


def refused(reply, status, *words):
    text = reply.raw.decode()
    assert reply.status == status and all(word in text for word in words), reply
    assert not any(line.startswith("smfleet_session=s") for line in reply.headers.get_all("Set-Cookie") or [])


def test_one_that_does_not_lie(pair):
    server, liar = pair
    for key in liar.keys:
        liar.reset()
        liar.key = key
        browser = Browser()
        reply = liar.sign_in(browser, server)
        assert reply.status == 303 and browser.who(server)["name"] == "oidc/basic/ann@example.org", reply
    form, headers = next((form, headers) for path, headers, form in liar.asked if path == "/realm/token")
    assert form["code"] == "of-code" and form["grant_type"] == "authorization_code" and len(form["code_verifier"]) == 43 and "client_secret" not in form
    assert base64.b64decode(headers["Authorization"].removeprefix("Basic ")) == b"basic:a%20secret%2Fwith%20%2Bsigns"
    assert liar.count("/me") == 0  # all of it was in the ID token


@pytest.mark.parametrize("claims, word", [
    ({"iss": "http://127.0.0.1/other"}, "iss"),
    ({"aud": "another"}, "aud"),
    ({"aud": ["basic", "another"]}, "azp"),
    ({"aud": ["basic", "another"], "azp": "another"}, "azp"),
    ({"azp": "another"}, "azp"),
    ({"exp": NOW - 70}, "exp"),
    ({"iat": NOW + 600}, "iat"),
    ({"nbf": NOW + 600}, "nbf"),
    ({"nonce": "of-another-sign-in"}, "nonce"),
    ({"nonce": None}, "nonce"),
    ({"sub": None}, "sub"),
], ids=str)
def test_a_token_that_is_not_for_this_sign_in(pair, claims, word):
    server, liar = pair
    liar.reset()
    liar.claims = claims
    refused(liar.sign_in(Browser(), server), 502, f"&quot;{word}&quot;")


def by_public_key(liar):
    """The old trick: the provider's public key as the secret of an HMAC."""
    return lambda text: hmac.new(liar.keys[0].pem, text.encode(), hashlib.sha256).digest()


def test_a_token_that_the_provider_has_not_signed(pair, tmp_path):
    server, liar = pair
    for header, sign, word in [({"alg": "none"}, lambda _: b"", "token"), ({"alg": "none"}, lambda _: b"x", "none"), ({"alg": "HS256"}, by_public_key(liar), "HS256"),
            ({}, Key(tmp_path, "mine").sign, "signature"), ({}, lambda text: liar.keys[0].sign(text + "x"), "signature"),
            ({"alg": "ES256"}, None, "no key"), ({"alg": "RS512"}, None, "RS512"), ({"crit": ["exp"]}, None, "crit"),
            ({"kid": "curve"}, None, "no key"), ({"jwk": Key(tmp_path, "own").jwk}, Key(tmp_path, "own").sign, "signature")]:
        liar.reset()
        liar.header, liar.sign = header, sign
        refused(liar.sign_in(Browser(), server), 502, word)


def test_keys_change_and_unknown_ones_are_not_asked_for_all_the_time(tmp_path):
    liar = LyingProvider(tmp_path)
    server = SignInServer(tmp_path, lambda _: [stated(tmp_path, liar.issuer, "basic")]).start()
    assert liar.sign_in(Browser(), server).status == 303 and liar.count("/keys") == 1
    liar.key = Key(tmp_path, "second")
    liar.public = [liar.key.jwk]
    assert liar.sign_in(Browser(), server).status == 303 and liar.count("/keys") == 2
    liar.header = {"kid": "nobodys"}
    for _ in range(3):
        refused(liar.sign_in(Browser(), server), 502, "nobodys")
    assert liar.count("/keys") == 2  # within the minute
    liar.key, liar.header = liar.keys[0], {}
    refused(liar.sign_in(Browser(), server), 502, "first")  # the key that was taken back
    server.close()
    liar.close()


def test_what_comes_back_names_the_provider(pair):
    server, liar = pair
    liar.reset()
    assert liar.sign_in(Browser(), server, iss=liar.issuer).status == 303
    refused(liar.sign_in(Browser(), server, iss="https://evil.example.org"), 502, "iss")
    browser = Browser()
    state = liar.begin(browser, server)["state"]
    denied = liar.come_back(browser, server, state=state, error="access_denied", error_description="<i>no</i>")
    refused(denied, 403, "access_denied", "&lt;i&gt;no&lt;/i&gt;")
    refused(liar.come_back(browser, server, state=state, code="x"), 400, "begin it again")
    state = liar.begin(browser, server)["state"]
    refused(liar.come_back(browser, server, state=state), 400, "neither")
    refused(liar.come_back(browser, server), 400, "begin it again")
    state = liar.begin(browser, server)["state"]
    refused(liar.come_back(browser, server, state=state, code="x" * 4097), 400, "4096")


def test_groups_and_name_that_are_not_in_the_token_are_asked_for(pair):
    server, liar = pair
    liar.reset()
    liar.claims = {"email": None, "groups": None}
    liar.userinfo = {"email": "una@example.org", "email_verified": "true", "groups": ["ml", 7]}
    browser = Browser()
    assert liar.sign_in(browser, server).status == 303
    assert (browser.who(server)["name"], browser.who(server)["team"]) == ("oidc/basic/una@example.org", "nlp")
    assert next(headers for path, headers, _ in liar.asked if path == "/realm/me")["Authorization"] == "Bearer of-access"
    liar.userinfo["sub"] = "2"
    refused(liar.sign_in(Browser(), server), 502, "somebody else")
    liar.userinfo = {"email": "una@example.org", "email_verified": "false", "groups": ["ml"]}
    refused(liar.sign_in(Browser(), server), 403, "email_verified")
    liar.userinfo = {"groups": ["admins"], "preferred_username": "carol@example.org"}
    refused(liar.sign_in(Browser(), server), 403, "email")  # what somebody calls himself is no address
    liar.claims = {"groups": "ml"}
    assert liar.sign_in(Browser(), server).status == 303


def test_an_address_that_is_verified_elsewhere_or_not_at_all(pair):
    server, liar = pair
    liar.reset()
    liar.claims = {"email_verified": None}  # the token has the address and the groups, and leaves that to userinfo
    liar.userinfo = {"email": "ann@example.org", "email_verified": False}
    refused(liar.sign_in(Browser(), server), 403, "email_verified")
    liar.userinfo = {"email": "ann@example.org", "email_verified": True}
    assert liar.sign_in(Browser(), server).status == 303
    liar.userinfo = {}
    assert liar.sign_in(Browser(), server).status == 303  # nobody says anything of it
    liar.claims = {"email": None}  # what the token says is not of userinfo's address
    liar.userinfo = {"email": "carol@example.org", "email_verified": False}
    refused(liar.sign_in(Browser(), server), 403, "email_verified")


HUGE = b'{"issuer":"' + b"x" * 300_000 + b'"}'


@pytest.mark.parametrize("path, answer, status, word", [
    ("/token", (200, {}, HUGE), 502, "256 KiB"),
    ("/token", (302, {"Location": "/realm/elsewhere"}, b"{}"), 502, "302"),
    ("/token", (400, {}, {"error": "invalid_grant", "error_description": "of-code is old"}), 502, "invalid_grant"),
    ("/token", (200, {}, b"<html>"), 502, "token endpoint"),
    ("/token", (200, {}, {}), 502, "id_token"),
    ("/token", (200, {}, {"id_token": "a.b.c"}), 502, "token"),
    ("/token", (200, {}, {"id_token": "e30." * 20_000}), 502, "longer than 64 KiB"),
])
def test_answers_that_are_none(pair, path, answer, status, word):
    server, liar = pair
    liar.reset()
    liar.pages = {path: answer}
    refused(liar.sign_in(Browser(), server), status, word)
    assert liar.count("/elsewhere") == 0 and "of-code" not in "\n".join(server.log)


@pytest.mark.parametrize("answer, word", [
    ((200, {}, HUGE), "256 KiB"),
    ((301, {"Location": "/realm/elsewhere"}, b"{}"), "301"),
    ((404, {}, {}), "404"),
    ((200, {}, {"issuer": "http://127.0.0.1/other"}), "issuer"),
    (lambda liar: (200, {}, {"issuer": liar.issuer + "/", "authorization_endpoint": liar.issuer, "token_endpoint": liar.issuer, "jwks_uri": liar.issuer}), "issuer"),
    (lambda liar: (200, {}, {"issuer": liar.issuer, "authorization_endpoint": "javascript:x", "token_endpoint": liar.issuer, "jwks_uri": liar.issuer}), "authorization_endpoint"),
    (lambda liar: (200, {}, {"issuer": liar.issuer, "authorization_endpoint": liar.issuer, "token_endpoint": "http://169.254.169.254/", "jwks_uri": liar.issuer}), "token_endpoint"),
])
def test_a_configuration_that_is_none(tmp_path, answer, word):
    liar = LyingProvider(tmp_path)
    liar.pages = {"/.well-known/openid-configuration": answer(liar) if callable(answer) else answer}
    server = SignInServer(tmp_path, lambda _: [stated(tmp_path, liar.issuer, "basic")]).start()
    refused(Browser().ask(server.public_url + "/sign-in/basic"), 502, word)
    assert liar.count("/elsewhere") == 0
    server.close()
    liar.close()


def test_a_provider_that_is_away_and_comes_back(tmp_path):
    liar = LyingProvider(tmp_path)
    away = ports.Port()
    server = SignInServer(tmp_path, lambda _: [stated(tmp_path, f"http://127.0.0.1:{away.number}", "away"), stated(tmp_path, liar.issuer, "basic")]).start()
    refused(Browser().ask(server.public_url + "/sign-in/away"), 502, "Away", "no answer")
    liar.pages = {"/.well-known/openid-configuration": (500, {}, {})}
    refused(Browser().ask(server.public_url + "/sign-in/basic"), 502, "500")
    liar.pages = {}
    wait_until(lambda: liar.sign_in(Browser(), server).status == 303, what="the provider that is back")
    assert Browser().ask(server.public_url + "/sign-in/nobody").status == 404
    server.close()
    liar.close()
    away.close()


def test_a_provider_is_who_its_authority_says(tmp_path):
    liar = LyingProvider(tmp_path, is_tls=True)
    server = SignInServer(tmp_path, lambda _: [stated(tmp_path, liar.issuer, "basic", ca_file=str(liar.authority)), stated(tmp_path, liar.issuer, "other")]).start()
    assert liar.sign_in(Browser(), server).status == 303
    refused(Browser().ask(server.public_url + "/sign-in/other"), 502, "certificate")
    server.close()
    liar.close()


def test_a_slow_provider_holds_nobody_else_up(tmp_path):
    """Who waits for it is many; everything else is answered at once, and so is the stop."""
    liar = LyingProvider(tmp_path)
    deaf = socket.create_server(("127.0.0.1", 0))  # takes connections, and says nothing
    server = SignInServer(tmp_path, lambda _: [stated(tmp_path, liar.issuer, "basic"), stated(tmp_path, f"http://127.0.0.1:{deaf.getsockname()[1]}", "deaf")]).start()
    waiting = []
    for _ in range(80):
        waiting.append(socket.create_connection(("127.0.0.1", server.port)))
        waiting[-1].sendall(f"GET /sign-in/deaf HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
    browser = Browser()
    assert liar.sign_in(browser, server).status == 303
    assert browser.get(server, "/api/v1/jobs").status == 200 and browser.get(server, "/api/v1/jobs?q=log%3Ax").status == 200
    refused(Browser().ask(server.public_url + "/sign-in/deaf"), 503, "try again")  # beyond 64
    began = time.monotonic()
    server.stop()
    assert time.monotonic() - began < PATIENCE_S / 4
    for connection in waiting:
        connection.close()
    deaf.close()
    liar.close()


class Held:
    """A page of the provider's that is not answered before it is let go."""

    def __init__(self, answer):
        self.answer, self.asked, self.go = answer, threading.Event(), threading.Event()

    def __call__(self):
        self.asked.set()
        assert self.go.wait(PATIENCE_S)
        return self.answer()


class Waiting(threading.Thread):
    """A browser at an address of its own that asks, and has a reply later."""

    def __init__(self, browser, server, path, source):
        super().__init__(daemon=True)
        self.browser, self.server, self.path, self.source, self.reply = browser, server, path, source, None
        self.start()

    def run(self):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.server.port, PATIENCE_S, (self.source, 0))) as connection:
            connection.request("GET", self.path, headers={"Cookie": "; ".join(f"{name}={value}" for name, value in self.browser.cookies.items())})
            response = connection.getresponse()
            self.reply = Reply(response.status, response.headers, response.read())

    def status(self):
        self.join(PATIENCE_S)
        return self.reply.status


@pytest.mark.parametrize("door", ["begin", "return"])
def test_an_address_has_its_share_of_those_who_wait_for_a_provider(tmp_path, door):
    """Three places, one more is refused; others have places meanwhile. Whoever was refused comes back with the same state."""
    liar = LyingProvider(tmp_path)
    server = SignInServer(tmp_path, lambda _: [stated(tmp_path, liar.issuer, "basic")], "--max-waiting-sign-ins", "3").start()
    browsers, paths = [Browser() for _ in range(6)], ["/sign-in/basic"] * 6
    if door == "return":
        held = liar.pages["/token"] = Held(lambda: (400, {}, {"error": "invalid_grant"}))
        paths = [f"/sign-in/basic/callback?code=x&state={liar.begin(browser, server)['state']}" for browser in browsers]
    else:
        held = liar.pages["/.well-known/openid-configuration"] = Held(lambda: (404, {}, {}))
    waiting = [Waiting(browser, server, path, "127.0.0.2") for browser, path in zip(browsers[:4], paths)]
    wait_until(lambda: any(one.reply for one in waiting), what="the one that is refused")
    refused_one, = [one for one in waiting if one.reply]
    refused(refused_one.reply, 429, "3 sign-ins of 127.0.0.2 wait for Basic already", "--max-waiting-sign-ins")
    assert refused_one.reply.headers["Retry-After"] == "2"
    others = [Waiting(browsers[4], server, paths[4], "127.0.0.3"), Waiting(browsers[5], server, paths[5], "127.0.0.1")]
    assert not held.go.is_set() and sum(one.reply is not None for one in waiting + others) == 1
    held.go.set()
    assert [one.status() for one in waiting + others if one is not refused_one] == [502] * 5
    assert Waiting(refused_one.browser, server, refused_one.path, "127.0.0.2").status() == 502  # with its state
    server.close()
    liar.close()


@pytest.mark.parametrize("options, status, refusals", [((), 503, 15), (("--proxies", "10.0.0.1"), 429, 64), (("--proxies", "10.0.0.1", "--max-waiting-sign-ins", "0"), 503, 15)])
def test_whom_the_share_is_for(tmp_path, options, status, refusals):
    """Sixteen of an address; of a proxy, behind which many are, all that there is room for (64, and the one that is asked for); and so if one wants no share."""
    liar = LyingProvider(tmp_path)
    server = SignInServer(tmp_path, lambda _: [stated(tmp_path, liar.issuer, "basic")], *options).start()
    held = liar.pages["/.well-known/openid-configuration"] = Held(lambda: (404, {}, {}))
    first = Waiting(Browser(), server, "/sign-in/basic", "127.0.0.1")
    assert held.asked.wait(PATIENCE_S)
    waiting = [first] + [Waiting(Browser(), server, "/sign-in/basic", "127.0.0.1") for _ in range(79)]
    wait_until(lambda: sum(one.reply is not None for one in waiting) == refusals, what="those that are refused")
    held.go.set()
    assert sorted(one.status() for one in waiting) == sorted([status] * refusals + [502] * (80 - refusals))
    server.close()
    liar.close()


def test_a_neighbour_of_the_host_signs_no_browser_in(tmp_path):
    """Who has some other name of the domain can set a cookie for all of it, with his own session, but none of the host alone."""
    liar = LyingProvider(tmp_path)
    server = SignInServer(tmp_path, lambda _: [stated(tmp_path, liar.issuer, "basic")])
    server.arguments[server.arguments.index(server.public_url)] = "https://fleet.example.org"
    server.start()
    neighbour, victim = Browser(), Browser()
    assert liar.sign_in(neighbour, server).status == 303 and neighbour.who(server)["authenticated"] is True
    victim.cookies["smfleet_session"] = neighbour.cookies["__Host-smfleet_session"]
    assert victim.who(server)["authenticated"] is False
    server.close()
    liar.close()


def test_who_begins_many_sign_ins_takes_nobodys_place(pair):
    """It needs no leave: nothing may be kept for it that has to be thrown away."""
    server, liar = pair
    liar.reset()
    ann = Browser()
    state = liar.begin(ann, server)["state"]
    nonce = liar.nonce
    for _ in range(1100):
        liar.begin(Browser(), server)
    liar.nonce = nonce
    assert liar.come_back(ann, server, state=state, code="x").status == 303
    assert liar.come_back(ann, server, state=state, code="x").status == 400


def test_sign_ins_are_bounded(tmp_path):
    liar = LyingProvider(tmp_path)
    server = SignInServer(tmp_path, lambda _: [stated(tmp_path, liar.issuer, "basic")], "--max-sign-ins", "2").start()
    browsers = [Browser() for _ in range(3)]
    assert [liar.sign_in(browser, server).status for browser in browsers] == [303, 303, 303]
    assert [browser.who(server)["authenticated"] for browser in browsers] == [False, True, True]  # of more than two the oldest is signed out
    server.close()
    liar.close()


def test_who_signs_in_often_signs_nobody_else_out(tmp_path):
    liar = LyingProvider(tmp_path)
    server = SignInServer(tmp_path, lambda _: [stated(tmp_path, liar.issuer, "basic")], "--max-sign-ins", "55").start()
    carol, first = Browser(), Browser()
    liar.claims = {"email": "carol@example.org"}
    assert liar.sign_in(carol, server).status == 303
    liar.claims = {}
    assert [liar.sign_in(browser, server).status for browser in [first, *(Browser() for _ in range(56))]] == [303] * 57
    assert (carol.who(server)["authenticated"], first.who(server)["authenticated"]) == (True, False)
    server.close()
    liar.close()


@pytest.mark.parametrize("ending", ["everywhere", "by an administrator", "of nobody who is there"])
def test_a_sign_in_that_was_under_way_does_not_outlive_the_ending(tmp_path, ending):
    """The provider has let somebody in, and answers when that person's sessions have just been ended."""
    liar = LyingProvider(tmp_path)
    server = SignInServer(tmp_path, lambda _: [stated(tmp_path, liar.issuer, "basic")]).start()
    ann, carol, again, late = (Browser() for _ in range(4))
    liar.claims = {"email": "carol@example.org"}
    assert liar.sign_in(carol, server).status == 303
    liar.claims = {}
    if ending != "of nobody who is there":
        assert liar.sign_in(ann, server).status == 303
    before, nonce = liar.begin(again, server)["state"], liar.nonce  # whoever stands before the provider's form
    state = liar.begin(late, server)["state"]
    held = liar.pages["/token"] = Held(lambda: (200, {}, {"access_token": "x", "id_token": liar.token()}))
    waiting = Waiting(late, server, f"/sign-in/basic/callback?code=x&state={state}", "127.0.0.1")
    assert held.asked.wait(PATIENCE_S)
    if ending == "everywhere":
        assert ann.ask(server.public_url + "/api/v1/session?everywhere=true", method="DELETE").status == 204
    else:
        status = carol.ask(server.public_url + "/api/v1/sign-ins?name=oidc/basic/ann@example.org", method="DELETE").status
        assert status == (204 if ending == "by an administrator" else 404)
    held.go.set()
    waiting.status()
    refused(waiting.reply, 403, "were ended here", "begin it again")
    del liar.pages["/token"]
    listed = carol.get(server, "/api/v1/sign-ins").body["sign_ins"]
    assert [row["name"] for row in listed] == ["oidc/basic/carol@example.org"] and server.sql("SELECT COUNT(*) FROM people_sessions")[0][0] == 1
    liar.nonce = nonce
    refused(liar.come_back(again, server, state=before, code="x"), 403, "were ended here")
    told = [(entry["verb"], entry["object"]) for entry in carol.get(server, "/api/v1/audit").body["entries"]][:3]
    assert told[:2] == [("refuse", "sign-ins/oidc/basic/ann@example.org")] * 2 and told[2][0] != "refuse"
    assert liar.sign_in(again, server).status == 303 and again.who(server)["name"] == "oidc/basic/ann@example.org"  # begun after it
    assert carol.who(server)["authenticated"] is True
    server.close()
    liar.close()


def test_who_is_refused_does_not_fill_the_audit_log(tmp_path):
    """Neither without a provider that has signed somebody in, which costs nothing, nor with many accounts: that would push out what is older."""
    liar = LyingProvider(tmp_path)
    server = SignInServer(tmp_path, lambda _: [stated(tmp_path, liar.issuer, "basic")]).start()
    ann = Browser()
    assert liar.sign_in(ann, server).status == 303

    def refusals():
        return [entry for entry in ann.get(server, "/api/v1/audit?limit=1000").body["entries"] if entry["verb"] == "refuse"]
    eve = Browser()
    assert eve.get(server, "/sign-in/basic/callback?code=x&state=y").status == 400
    state = liar.begin(eve, server)["state"]
    refused(liar.come_back(eve, server, state=state, error="access_denied"), 403, "access_denied")
    server.wait_for_log("event=sign_in_failed .*access_denied")
    liar.pages = {"/token": (400, {}, {"error": "invalid_grant"})}
    refused(liar.sign_in(eve, server), 502, "invalid_grant")
    liar.pages, liar.claims = {}, {"nonce": "of-another-sign-in"}
    refused(liar.sign_in(eve, server), 502, "nonce")
    assert refusals() == []
    for n in range(62):
        liar.claims = {"email": f"eve{n}@example.org", "groups": []}
        refused(liar.sign_in(eve, server), 403, f"eve{n}")
    assert [entry["token"] for entry in refusals()] == [f"oidc/basic/eve{n}@example.org" for n in reversed(range(60))]
    liar.claims = {}
    assert liar.sign_in(Browser(), server).status == 303
    newest = ann.get(server, "/api/v1/audit?limit=1").body["entries"][0]
    assert newest["verb"] == "sign in"
    server.close()
    liar.close()


@pytest.mark.parametrize("change, said", [
    ({"isuer": "x"}, "'isuer'"),
    ({"name": None}, "name"),
    ({"name": "a/b"}, "name"),
    ({"name": "a" * 21}, "name"),
    ({"issuer": None}, "issuer"),
    ({"issuer": "http://id.example.org"}, "issuer"),
    ({"issuer": "https://id.example.org?x"}, "issuer"),
    ({"client_id": None}, "client_id"),
    ({"client_id": 7}, "client_id"),
    ({"client_id": ""}, "client_id"),
    ({"scopes": "email"}, "openid"),
    ({"client_secret_file": "/nowhere"}, "/nowhere"),
    ({"rules": None}, "rules"),
    ({"rules": [{"group": "a", "scope": "root"}]}, "rule 1"),
    ({"label": "a\nb"}, "label"),
    ({"groups_claim": []}, "groups_claim"),
], ids=str)
def test_what_is_stated_wrong_is_said_at_the_start(tmp_path, change, said):
    provider = {**stated(tmp_path, "https://id.example.org", "corp"), **change}
    reply = start(tmp_path, {"providers": [{name: value for name, value in provider.items() if value is not None}]}, "--public-url", "https://x.example.org")
    assert reply.returncode != 0 and said in reply.stdout and "provider" in reply.stdout, reply.stdout


def start(folder, document, *options):
    file = folder / "sign-in.json"
    file.write_text(json.dumps(document))
    return subprocess.run([find_binary("sm-server"), "--db", str(folder / "x.db"), "--listen", "127.0.0.1:0", "--sign-in", str(file), *options],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S, env=sanitizer_environment(), check=False)


def test_the_file_as_a_whole(tmp_path):
    corp = stated(tmp_path, "https://id.example.org", "corp")
    public = ["--public-url", "https://x.example.org"]
    for document, options, said in [({"providers": [corp]}, [], "--public-url"), ({"providers": [corp, corp]}, public, "corp"), ({"providers": corp}, public, "array"),
            ({"provider": [corp]}, public, "'provider'"), ({"proxy": {"rules": RULES, "rule": 1}}, ["--trusted-proxy", "10.0.0.1"], "'rule'"),
            ({"providers": [corp]}, [*public, "--insecure"], "--insecure")]:
        reply = start(tmp_path, document, *options)
        assert reply.returncode != 0 and said in reply.stdout, reply.stdout
    secret = tmp_path / "corp.secret"
    secret.chmod(0o644)
    reply = start(tmp_path, {"providers": [corp]}, *public)
    assert reply.returncode != 0 and "corp.secret" in reply.stdout
