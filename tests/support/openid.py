"""OpenID providers for tests, and a browser that signs in: npm's oidc-provider, which is a real one; and one of our own that lies."""

import base64
import contextlib
import html
import http.client
import http.cookies
import http.server
import json
import pathlib
import re
import ssl
import subprocess
import subprocess
import threading
import time
import urllib.parse

import ports
import pytest

from smserver import PATIENCE_S, ROOT, Reply, Server

RULES = [{"group": "admins", "scope": "admin"}, {"group": "writers", "scope": "write", "team": "vision"}, {"group": "ml", "scope": "read", "team": "nlp"},
    {"person": "carol@example.org", "scope": "read"}]


class RealProvider:
    """oidc-provider, as a process of its own."""

    def __init__(self, server_url, environment=None):
        if not (ROOT / "tests/node_modules/oidc-provider").exists():
            pytest.skip("needs `npm ci --prefix tests`")
        self.port = ports.Port()
        self.server_url, self.environment = server_url, environment or {}
        self.issuer = f"http://127.0.0.1:{self.port.number}"
        self.process = None

    def start(self):
        node = pathlib.Path(subprocess.run([ROOT / "deploy/node"], capture_output=True, text=True, check=True).stdout.strip()) / "bin/node"
        self.process = subprocess.Popen([node, ROOT / "tests/support/openid-provider.mjs", str(self.port.number), self.server_url + "/sign-in/NAME/callback"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={"PATH": "/usr/bin:/bin", **self.environment})
        assert self.process.stdout.readline() == f"ready {self.issuer}\n"
        return self

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
        self.port.close()


def stated(folder, issuer, name, **more):
    """A provider as the file of --sign-in has it."""
    secret = folder / f"{name}.secret"
    secret.write_text("a secret/with +signs\n")
    secret.chmod(0o600)
    of_client = {} if name == "public" else {"client_secret_file": str(secret)}
    return {"name": name, "label": name.title(), "issuer": issuer, "client_id": name, "rules": RULES, **of_client, **more}


class SignInServer(Server):
    """A server with providers: `make(url)` gives them, since they have to know its address first."""

    def __init__(self, folder, make, *arguments, **options):
        self.held_port = ports.Port()
        self.public_url = f"http://127.0.0.1:{self.held_port.number}"
        self.sign_in = pathlib.Path(folder) / "sign-in.json"
        self.sign_in.write_text(json.dumps({"providers": make(self.public_url)}))
        super().__init__(folder, "--sign-in", str(self.sign_in), "--public-url", self.public_url, *arguments, **options)

    def start(self, *arguments):
        return super().start(f"127.0.0.1:{self.held_port.number}", *arguments)


class Browser:
    """Cookies by host, as browsers have them (a port is no border), and nothing followed that the test does not want."""

    def __init__(self):
        self.cookies, self.set_cookies, self.seen = {}, [], []

    def copy(self):
        other = Browser()
        other.cookies = dict(self.cookies)
        return other

    def ask(self, url, form=None, method=None, headers=()):
        parts = urllib.parse.urlsplit(url)
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE_S)
        sent = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()), **dict(headers)}
        body = None
        if form is not None:
            body, sent["Content-Type"] = urllib.parse.urlencode(form), "application/x-www-form-urlencoded"
        with contextlib.closing(connection):
            connection.request(method or ("GET" if form is None else "POST"), parts.path + ("?" + parts.query if parts.query else ""), body, sent)
            response = connection.getresponse()
            reply = Reply(response.status, response.headers, response.read())
        self.set_cookies = reply.headers.get_all("Set-Cookie") or []
        for line in self.set_cookies:
            for name, morsel in http.cookies.SimpleCookie(line).items():
                self.cookies[name] = morsel.value
                if not morsel.value or morsel["max-age"] == "0":
                    del self.cookies[name]
        location = reply.headers.get("Location")
        reply.location = urllib.parse.urljoin(url, location) if location else None
        self.seen.append(url)
        return reply

    def follow(self, url, until="no redirect"):
        """Up to the address `until`, which is not asked for, or the first that leads nowhere."""
        while True:
            if url == until or url.startswith(until + "?"):
                return url, None
            reply = self.ask(url)
            if not reply.location:
                return url, reply
            url = reply.location

    def sign_in(self, server, provider, login, path="/", until=None):
        """All the way through oidc-provider's own forms; until: stop before this address, and give it."""
        begin = f"{server.public_url}/sign-in/{provider}?" + urllib.parse.urlencode({"return": path})
        until = until or server.public_url + path
        url, reply = self.follow(begin, until)
        while reply and reply.status == 200 and "<form" in reply.raw.decode():
            action = html.unescape(re.search(r'action="([^"]+)"', reply.raw.decode()).group(1))
            prompt = re.search(r'name="prompt" value="(\w+)"', reply.raw.decode()).group(1)
            reply = self.ask(urllib.parse.urljoin(url, action), {"prompt": prompt, "login": login, "password": "x"})
            url, reply = self.follow(reply.location, until)
        return url, reply

    def get(self, server, path):
        return self.ask(server.public_url + path)

    def who(self, server):
        return self.get(server, "/api/v1/session").body


# ---- one that lies ----


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Key:
    """A pair of openssl's, and what of it is public."""

    def __init__(self, folder, kid, algorithm="RS256"):
        self.kid, self.algorithm, self.file = kid, algorithm, folder / f"{kid}.pem"
        kind = ["RSA", "-pkeyopt", "rsa_keygen_bits:2048"] if algorithm == "RS256" else ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
        openssl("genpkey", "-algorithm", *kind, "-out", self.file)
        public = openssl("pkey", "-in", self.file, "-pubout", "-outform", "DER")
        if algorithm == "RS256":
            modulus = bytes.fromhex(openssl("rsa", "-in", self.file, "-noout", "-modulus").decode().strip().partition("=")[2])
            self.public = {"kty": "RSA", "n": base64url(modulus), "e": "AQAB"}
        else:
            self.public = {"kty": "EC", "crv": "P-256", "x": base64url(public[-64:-32]), "y": base64url(public[-32:])}
        self.jwk = {**self.public, "kid": kid, "use": "sig", "alg": algorithm}
        self.pem = openssl("pkey", "-in", self.file, "-pubout")

    def sign(self, text):
        signature = openssl("dgst", "-sha256", "-sign", self.file, data=text.encode())
        if self.algorithm == "RS256":
            return signature
        numbers, at = b"", 2  # DER: 30 LEN 02 LEN r 02 LEN s
        for _ in range(2):
            length = signature[at + 1]
            numbers += signature[at + 2:at + 2 + length].lstrip(b"\0").rjust(32, b"\0")
            at += 2 + length
        return numbers


def openssl(*arguments, data=None):
    return subprocess.run(["openssl", *map(str, arguments)], input=data, capture_output=True, check=True).stdout


class LyingProvider:
    """Says what the test sets: `claims` of the ID token, its `header`, `sign` in place of its key, `pages` in place of what it answers."""

    def __init__(self, folder, is_tls=False):
        self.keys = [Key(folder, "first"), Key(folder, "curve", "ES256")]
        self.reset()
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                path = self.path.partition("?")[0]
                owner.asked.append((path, dict(self.headers), dict(urllib.parse.parse_qsl(body))))
                status, headers, said = owner.answer(path, dict(self.headers))
                said = said if isinstance(said, bytes) else json.dumps(said).encode()
                with contextlib.suppress(OSError):
                    self.send_response(status)
                    for name, value in {"Content-Type": "application/json", "Content-Length": str(len(said)), **headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(said)

            do_POST = do_GET

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.issuer = f"http{'s' if is_tls else ''}://127.0.0.1:{self.http.server_port}/realm"
        self.authority = folder / "authority.pem"
        if is_tls:
            openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", folder / "tls.pem", "-out", self.authority, "-days", "2",
                "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.authority, folder / "tls.pem")
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def reset(self):
        self.claims, self.header, self.sign, self.pages, self.configuration, self.userinfo = {}, {}, None, {}, {}, {}
        self.key, self.public, self.nonce, self.asked = self.keys[0], None, None, []

    def close(self):
        self.http.shutdown()
        self.http.server_close()

    def count(self, path):
        return sum(asked == "/realm" + path for asked, _, _ in self.asked)

    def token(self):
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": "basic", "sub": "1", "iat": now, "exp": now + 300, "nonce": self.nonce, "email": "ann@example.org",
            "email_verified": True, "groups": ["admins"], **self.claims}
        header = {"alg": self.key.algorithm, "kid": self.key.kid, **self.header}
        text = ".".join(base64url(json.dumps({name: value for name, value in part.items() if value is not None}).encode()) for part in (header, claims))
        return text + "." + base64url((self.sign or self.key.sign)(text))

    def answer(self, path, headers):
        path = path.removeprefix("/realm")
        if path in self.pages:
            return self.pages[path]() if callable(self.pages[path]) else self.pages[path]
        if path == "/.well-known/openid-configuration":
            return 200, {}, {"issuer": self.issuer, "authorization_endpoint": self.issuer + "/auth", "token_endpoint": self.issuer + "/token",
                "jwks_uri": self.issuer + "/keys", "userinfo_endpoint": self.issuer + "/me", **self.configuration}
        if path == "/keys":
            return 200, {}, {"keys": self.public if self.public is not None else [key.jwk for key in self.keys]}
        if path == "/token":
            return 200, {}, {"access_token": "of-access", "token_type": "Bearer", "id_token": self.token()}
        if path == "/me":
            return 200, {}, {"sub": "1", **self.userinfo}
        return 404, {}, {}

    def begin(self, browser, server, path="/", name="basic"):
        """The parameters that the browser is sent here with."""
        reply = browser.ask(f"{server.public_url}/sign-in/{name}?" + urllib.parse.urlencode({"return": path}))
        assert reply.status == 303 and reply.location.startswith(self.issuer + "/auth?"), reply
        asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(reply.location).query))
        self.nonce = asked["nonce"]
        return asked

    def come_back(self, browser, server, name="basic", **parameters):
        return browser.ask(f"{server.public_url}/sign-in/{name}/callback?" + urllib.parse.urlencode(parameters))

    def sign_in(self, browser, server, **more):
        state = self.begin(browser, server)["state"]
        return self.come_back(browser, server, **{"code": "of-code", "state": state, **more})
