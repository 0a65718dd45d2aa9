"""OpenID providers for tests, and a browser that signs in: npm's oidc-provider, which is a real one; and one of our own that lies."""

import contextlib
import html
import http.client
import http.cookies
import json
import pathlib
import re
import subprocess
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
        """Up to the first address that begins with `until`, which is not asked for, or the first that leads nowhere."""
        while True:
            if url.startswith(until):
                return url, None
            reply = self.ask(url)
            if not reply.location:
                return url, reply
            url = reply.location

    def sign_in(self, server, provider, login, path="/", until=None):
        """All the way through oidc-provider's own forms; until: stop before an address that begins so, and give it."""
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
