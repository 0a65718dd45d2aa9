"""deploy/examples/proxy: these very files, but for addresses and certificates, with the real nginx and Caddy: nothing is held back on the way, in either direction."""

import contextlib
import http.client
import json
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import threading

import pytest

import ports
from howlong import long
from smserver import PATIENCE_S, ROOT, find_binary, wait_until

EXAMPLES = ROOT / "deploy/examples/proxy"
NAME = "smfleet.example.org"
pytestmark = long


def put(text, *changes):
    """Each of what is changed must be there."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, str(new))
    return text


def nginx(folder, port, upstream):
    site = put((EXAMPLES / "nginx.conf").read_text(), ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"), ("server 127.0.0.1:8080", f"server 127.0.0.1:{upstream}"),
        ("/etc/ssl/smfleet.pem", folder / "cert.pem"), ("/etc/ssl/smfleet.key", folder / "key.pem"))
    temporary = "".join(f"{what}_temp_path {folder}/{what};\n" for what in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (folder / "nginx.conf").write_text(f"daemon off;\nuser root;\npid {folder}/nginx.pid;\nerror_log {folder}/error.log;\nevents {{}}\nhttp {{\naccess_log off;\n{temporary}{site}}}\n")
    return ["nginx", "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]


def caddy(folder, port, upstream):
    text = put((EXAMPLES / "Caddyfile").read_text(), (f"{NAME} {{", f"{{\n\tadmin off\n\tauto_https disable_redirects\n}}\nhttps://{NAME}:{port} {{\n\ttls {folder}/cert.pem {folder}/key.pem"),
        ("reverse_proxy 127.0.0.1:8080", f"reverse_proxy 127.0.0.1:{upstream}"))
    (folder / "Caddyfile").write_text(text)
    return ["caddy", "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]


class Proxy:
    def __init__(self, folder, kind, make_server):
        program = {"nginx": nginx, "caddy": caddy}[kind]
        if not shutil.which(kind):
            pytest.skip(f"needs {kind}")
        self.kind, self.kept = kind, ports.Port()
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30", "-subj", f"/CN={NAME}", "-addext",
            f"subjectAltName=DNS:{NAME},DNS:localhost", "-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")], check=True, stderr=subprocess.DEVNULL)
        self.address = f"{NAME}:{self.kept.number}"
        self.server = make_server("--public-url", f"https://{self.address}")
        self.process = subprocess.Popen(program(folder, self.kept.number, self.server.port), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "HOME": str(folder)})
        self.context = ssl.create_default_context(cafile=str(folder / "cert.pem"))
        try:
            wait_until(lambda: getattr(self.ask("GET", "/healthz"), "status", None) == 200, what=f"{kind} to answer")
        except BaseException:
            self.close()
            raise

    def connect(self):
        """By the name that the certificate has."""
        deadline = socket.create_connection(("127.0.0.1", self.kept.number), PATIENCE_S)
        connection = http.client.HTTPConnection(self.address, timeout=PATIENCE_S)
        connection.sock = self.context.wrap_socket(deadline, server_hostname=NAME)
        return connection

    def ask(self, method, path, body=None, headers=None):
        with contextlib.suppress(ConnectionError):
            connection = self.connect()
            connection.request(method, path, body, {"Host": self.address, **(headers or {})})
            reply = connection.getresponse()
            reply.text = reply.read()
            connection.close()
            return reply

    def close(self):
        (self.process.kill if self.kind == "caddy" else self.process.terminate)()  # Caddy would wait for open streams; nginx has children to end
        self.process.wait(PATIENCE_S)
        self.kept.close()


@pytest.fixture(params=["nginx", "caddy"])
def proxy(request, tmp_path, make_server):
    one = Proxy(tmp_path, request.param, make_server)
    yield one
    one.close()


def test_nothing_is_held_back(proxy):
    server = proxy.server
    # an upload that goes on: its first lines are there before it ends
    upload = proxy.connect()
    upload.putrequest("POST", "/api/v1/logs?job=slow&stream=s", skip_host=True)
    for name, value in (("Host", proxy.address), ("Content-Type", "text/plain"), ("Transfer-Encoding", "chunked")):
        upload.putheader(name, value)
    upload.endheaders()
    upload.send(b"10\r\nstep 1 loss=3.5\n\r\n")
    wait_until(lambda: [line["text"] for line in server.lines("slow", "s")] == ["step 1 loss=3.5"], what="the first line of an upload that goes on")
    # events: one comes while the reply goes on
    events = proxy.connect()
    events.request("GET", "/api/v1/live?jobs=slow&kinds=lines", headers={"Host": proxy.address})
    stream = events.getresponse()
    assert stream.status == 200 and stream.getheader("Content-Type").startswith("text/event-stream")
    upload.send(b"10\r\nstep 2 loss=3.4\n\r\n")
    text = b""
    while b"loss=3.4" not in text:
        text += stream.read1(65536)
    upload.send(b"0\r\n\r\n")
    reply = upload.getresponse()
    assert reply.status == 200 and json.loads(reply.read())["accepted"] == 2
    # and a large one
    lines = b"".join(b"step %d loss=1.5 %s\n" % (n, b"x" * 1000) for n in range(5000))
    assert json.loads(proxy.ask("POST", "/api/v1/logs?job=large&stream=s", lines, {"Content-Type": "text/plain"}).text)["accepted"] == 5000
    export = proxy.ask("GET", "/api/v1/export?q=name%3Dlarge")
    assert export.status == 200 and len(export.text) > 1000000
    for one in (upload, events):
        one.close()


def test_who_may_ask_is_still_known(proxy):
    """The browser's Host reaches the server, which is what its checks of other sites' pages go by."""
    own = {"Origin": f"https://{proxy.address}", "Content-Type": "application/json"}
    assert proxy.ask("POST", "/api/v1/jobs", b'{"TrainingJobName": "a"}', own).status == 201
    assert proxy.ask("POST", "/api/v1/jobs", b'{"TrainingJobName": "b"}', {**own, "Origin": "https://evil.example"}).status == 403
    other = proxy.ask("GET", "/api/v1/jobs", headers={"Host": "evil.example"})  # Caddy has no such site, and nginx hands the name on
    assert other.status == 421 or other.text == b""


def test_sm_ship_goes_through(proxy, tmp_path):
    """Below a path, too."""
    assert json.loads(proxy.ask("GET", "/smfleet/api/v1/jobs").text)["jobs"] == []
    if proxy.kind == "caddy":
        return  # its site has the name alone, and this machine no such name
    log = tmp_path / "train.log"
    log.write_text("".join(f"step {n} loss=2.5\n" for n in range(100)))
    for job, path in (("plain", ""), ("below", "/smfleet")):
        done = subprocess.run([find_binary("sm-ship"), "--server", f"https://localhost:{proxy.kept.number}{path}", "--ca-file", str(tmp_path / "cert.pem"), "--job", job, str(log)],
            env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S, check=False)
        assert done.returncode == 0, done.stdout
        wait_until(lambda job=job: len(proxy.server.lines(job)) == 100, what="the lines")
