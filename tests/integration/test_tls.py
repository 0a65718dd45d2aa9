"""TLS as it is spoken: which versions and ciphers, by openssl's client; a certificate that is renewed while the server runs; files that are no pair."""

import re
import shutil
import socket
import ssl
import subprocess

import pytest

from smserver import PATIENCE_S, Server


def make_certificate(folder, name, common="localhost", kind=("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")):
    cert, key = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(["openssl", "req", "-x509", *kind, "-nodes", "-days", "30", "-subj", f"/CN={common}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key),
        "-out", str(cert)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return cert, key


class Secure(Server):
    """One whose own client trusts the certificate that it was started with, whatever it shows by now."""

    def connect(self):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context.wrap_socket(socket.create_connection(("127.0.0.1", self.port), PATIENCE_S))

    def shown(self):
        with self.connect() as connection:
            return connection.getpeercert(binary_form=True)

    def say(self, method, path, connection=None):
        one = connection or self.connect()
        one.sendall(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n{'' if connection else 'Connection: close' + chr(13) + chr(10)}\r\n".encode())
        text = b""
        while not (connection and text.endswith(b"ok\n")) and (part := one.recv(65536)):
            text += part
        return text.decode()


@pytest.fixture(scope="module", params=["ec", "rsa"])
def secure(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    kind = ("-newkey", "rsa:2048") if request.param == "rsa" else ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
    cert, key = make_certificate(folder, "server", kind=kind)
    server = Secure(folder, "--tls-cert", str(cert), "--tls-key", str(key))
    server.cert, server.key, server.kind = cert, key, kind
    server.start()
    yield server
    server.close()


def speaks(server, *words):
    """What openssl's client agrees with the server on; "" where they do not. Its own security level is lowered, so that the server refuses."""
    done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=PATIENCE_S, check=False)
    found = re.search(r"^New, (\S+), Cipher is (\S+)", done.stdout, re.M)
    return "" if not found or found.group(2) == "(NONE)" else f"{found.group(1)} {found.group(2)}"


WEAK = {"TLS 1.0": ["-tls1", "-cipher", "ALL:@SECLEVEL=0"], "TLS 1.1": ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"], "CBC": ["-tls1_2", "-cipher", "AES128-SHA:ECDHE-RSA-AES128-SHA:ECDHE-ECDSA-AES256-SHA384:@SECLEVEL=0"],
    "no forward secrecy": ["-tls1_2", "-cipher", "AES128-GCM-SHA256:AES256-GCM-SHA384:@SECLEVEL=0"], "nobody's": ["-tls1_2", "-cipher", "aNULL:eNULL:@SECLEVEL=0"],
    "3DES": ["-tls1_2", "-cipher", "3DES:@SECLEVEL=0"], "finite fields": ["-tls1_2", "-cipher", "DHE:@SECLEVEL=0"], "CCM": ["-tls1_2", "-cipher", "AESCCM:@SECLEVEL=0"]}


def test_what_is_weak_is_refused_and_what_is_not_is_spoken(secure):
    strong = {"TLS 1.3": ["-tls1_3"], "TLS 1.2": ["-tls1_2"], "AES-128": ["-tls1_2", "-cipher", "ECDHE+AESGCM"], "ChaCha20": ["-tls1_2", "-cipher", "ECDHE+CHACHA20"]}
    table = {name: speaks(secure, *words) for name, words in {**WEAK, **strong}.items()}
    for name, agreed in table.items():
        print(f"{name:20} {agreed or 'refused'}")
    assert {name for name, agreed in table.items() if not agreed} == set(WEAK), table


def test_a_renewed_certificate_is_shown_without_a_restart(secure, tmp_path):
    before, kept = secure.shown(), secure.connect()
    assert "200 OK" in secure.say("GET", "/healthz", kept)
    assert '{"changed":[],"needs_restart":[]}' in secure.say("POST", "/api/v1/admin/reload")
    cert, key = make_certificate(tmp_path, "renewed", "renewed", kind=secure.kind)
    shutil.copy(cert, secure.cert)
    reply = secure.say("POST", "/api/v1/admin/reload")  # between the two copies of a renewal
    assert "HTTP/1.1 4" in reply and "are not a pair" in reply, reply
    assert secure.shown() == before
    shutil.copy(key, secure.key)
    assert '{"changed":["tls-cert"],"needs_restart":[]}' in secure.say("POST", "/api/v1/admin/reload")
    assert secure.shown() == ssl.PEM_cert_to_DER_cert(cert.read_text()) != before
    assert "200 OK" in secure.say("GET", "/healthz", kept)  # whoever was connected still is
    kept.close()
    secure.cert.write_text("no certificate\n")
    reply = secure.say("POST", "/api/v1/admin/reload")
    assert "is no chain of certificates" in reply and secure.shown() == ssl.PEM_cert_to_DER_cert(cert.read_text())
    shutil.copy(cert, secure.cert)


@pytest.mark.parametrize("cert, key, says", [("a", "b", "are not a pair"), ("a", "none", "cannot open"), ("b.key", "b", "is no chain of certificates"), ("a", "a.pem", "is no private key")])
def test_files_that_are_no_pair_are_named_at_the_start(make_server, tmp_path, cert, key, says):
    for name in "ab":
        make_certificate(tmp_path, name)
    files = [tmp_path / (name if "." in name else name + end) for name, end in ((cert, ".pem"), (key, ".key"))]
    server = make_server("--tls-cert", str(files[0]), "--tls-key", str(files[1]), start=False)
    with pytest.raises(AssertionError, match=says):
        server.start()
    server.process = None


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """Who writes must show a certificate of `ours`."""
    folder = tmp_path_factory.mktemp("mtls")
    cert, key = make_certificate(folder, "server")
    for authority in ("ours", "theirs"):
        make_certificate(folder, authority, authority)
        sign(folder, authority, f"node-of-{authority}")
    sign(folder, "ours", "ended", "-days", "-1")
    server = Secure(folder, "--tls-cert", str(cert), "--tls-key", str(key), "--tls-client-ca", str(folder / "ours.pem"))
    server.folder_of_certificates = folder
    server.start()
    yield server
    server.close()


def sign(folder, authority, name, *options):
    subprocess.run(["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={name}", "-keyout", str(folder / f"{name}.key"),
        "-out", str(folder / f"{name}.csr")], check=True, stderr=subprocess.DEVNULL)
    subprocess.run(["openssl", "x509", "-req", "-in", str(folder / f"{name}.csr"), "-CA", str(folder / f"{authority}.pem"), "-CAkey", str(folder / f"{authority}.key"), "-CAcreateserial",
        *(options or ("-days", "5")), "-out", str(folder / f"{name}.pem")], check=True, stderr=subprocess.DEVNULL)


def curl(server, path, *words, shows=None):
    folder = server.folder_of_certificates
    own = ["--cert", str(folder / f"{shows}.pem"), "--key", str(folder / f"{shows}.key")] if shows else []
    done = subprocess.run(["curl", "-s", "--cacert", str(folder / "server.pem"), *own, "-w", "\n%{http_code}", *words, f"https://localhost:{server.port}{path}"], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S, check=False)
    return done.stdout.rpartition("\n")[2]


LINES = ("-H", "Content-Type: text/plain", "--data-binary", "step 1 loss=2")
WRITES = {"/api/v1/logs?job=j": LINES, "/api/v1/jobs": ("-H", "Content-Type: application/json", "-d", '{"TrainingJobName": "made"}'), "/loki/api/v1/push": ("-H", "Content-Type: application/json", "-d", '{"streams": []}'),
    "/": ("-H", "X-Amz-Target: SageMaker.ListTrainingJobs", "-H", "Content-Type: application/x-amz-json-1.1", "-d", "{}"), "/api/bulk_log": ("-H", "Content-Type: application/json", "-d", '{"kwargs": {"logs": []}}')}


def test_who_writes_shows_a_certificate_and_who_reads_need_not(guarded):
    for shows in (None, "node-of-theirs", "ended"):
        for path, words in WRITES.items():
            assert curl(guarded, path, *words, shows=shows) == "403", (path, shows)
        assert curl(guarded, "/api/v1/jobs", shows=shows) == curl(guarded, "/healthz", shows=shows) == "200"
    for path, words in WRITES.items():
        assert curl(guarded, path, *words, shows="node-of-ours")[0] == "2", path


def test_sm_ship_shows_its_certificate(guarded, tmp_path):
    folder, log = guarded.folder_of_certificates, tmp_path / "train.log"
    log.write_text("step 1 loss=2.5\n" * 10)

    def ship(*words):
        return subprocess.run([str(guarded.bin("sm-ship")), "--server", f"https://localhost:{guarded.port}", "--ca-file", str(folder / "server.pem"), "--job", "shipped", *words, str(log)],
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S, check=False)

    refused = ship()
    assert refused.returncode != 0 and "client certificate" in refused.stdout, refused
    half = ship("--tls-cert", str(folder / "node-of-ours.pem"))
    assert half.returncode != 0 and "needs --tls-cert and --tls-key" in half.stdout, half
    done = ship("--tls-cert", str(folder / "node-of-ours.pem"), "--tls-key", str(folder / "node-of-ours.key"))
    assert done.returncode == 0, done
