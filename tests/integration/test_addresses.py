"""Several addresses of one database: the next one is asked when one is away, and what works is kept."""

import contextlib
import signal
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from postgres import Cluster
from shipping import job, lines
from smserver import PATIENCE_S, ROOT, Server, wait_until

MOST = 8
SHIP_PY = [sys.executable, str(ROOT / "clients/sm_ship.py")]


def refusing():
    """An address where nobody listens, and nobody will: it is bound."""
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    return taken, f"http://127.0.0.1:{taken.getsockname()[1]}"


@contextlib.contextmanager
def busy_balancer():
    """Answers each request with 503 and its own page, and counts them."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self):
            asked.append(self.path)
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(503)
            self.send_header("Content-Length", "3")
            self.end_headers()
            self.wfile.write(b"no\n")

        do_GET = do_POST = do_PUT = answer

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as balancer:
        threading.Thread(target=balancer.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{balancer.server_port}", asked
        balancer.shutdown()


@pytest.fixture(params=["sm-ship", "sm_ship.py"])
def program(request, ship):
    return SHIP_PY if request.param == "sm_ship.py" else [ship.program]


def run(ship, program, servers, name, data):
    return subprocess.run([*program, "--job", name], input=data, capture_output=True, timeout=PATIENCE_S, check=False,
        env={**ship.env, "SMFLEET_SERVER": servers})


def test_the_next_address_is_asked_where_nobody_listens(server, ship, program):
    taken, nobody = refusing()
    with taken:
        done = run(ship, program, f"{nobody}, {server.url}", "j", b"one\ntwo\n")
        assert done.returncode == 0, done.stderr
        assert lines(server, "j") == ["one", "two"]


def test_what_works_is_kept(server, ship, program):
    with busy_balancer() as (busy, asked):
        done = run(ship, program, f"{busy},{server.url}", "j", b"".join(b"line %d\n" % i for i in range(50_000)))
        assert done.returncode == 0, done.stderr
        assert len(asked) == 1, asked
    assert lines(server, "j") == [f"line {i}" for i in range(50_000)]


def test_where_all_are_away_it_says_why(ship, program):
    taken, nobody = refusing()
    with taken, busy_balancer() as (busy, asked):
        done = subprocess.run([*program, "--job", "j", "--drain-timeout", "1"], input=b"x\n", capture_output=True, timeout=PATIENCE_S, check=False,
            env={**ship.env, "SMFLEET_SERVER": f"{nobody},{busy}"})
        assert done.returncode == 3, done
        assert b"status 503" in done.stderr and asked, done.stderr


def test_searches_ask_the_next_one(server, ship):
    server.send("found", "x")
    taken, nobody = refusing()
    with taken, busy_balancer() as (busy, _):
        servers = f"{nobody},{busy},{server.url}"
        for command in ([server.bin("sm-search")], [sys.executable, str(ROOT / "clients/sm_search.py")]):
            done = subprocess.run([*command, "--server", servers, "--json", "found"], capture_output=True, timeout=PATIENCE_S, check=False, env=ship.env)
            assert done.returncode == 0 and b'"found"' in done.stdout, done
        done = subprocess.run([*command, "--server", servers, "loss <"], capture_output=True, timeout=PATIENCE_S, check=False, env=ship.env)
        assert done.returncode == 2, "a mistake is the same everywhere"


def test_addresses_are_checked(server, ship):
    taken, nobody = refusing()
    with taken:
        most = [nobody] * (MOST - 1) + [server.url]
        done = run(ship, [ship.program], ",".join(most), "j", b"one\n")
        assert done.returncode == 0, done.stderr
        done = run(ship, [ship.program], ",".join([nobody, *most]), "j", b"two\n")
        assert (done.returncode, b"at most 8" in done.stderr) == (2, True), done
        for wrong in (f"{server.url},ftp://a", f",{server.url}", f"{server.url},,{server.url}"):
            done = run(ship, [ship.program], wrong, "j", b"three\n")
            assert (done.returncode, b"server address" in done.stderr) == (2, True), (wrong, done)
    assert lines(server, "j") == ["one"]


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as one:
        yield one


def test_lines_go_on_to_whoever_takes_over(tmp_path, cluster, ship):
    """Owner and standby change their places twice under a shipper that follows a file; each line is there once."""
    folder = tmp_path / "pair"
    folder.mkdir()
    owner, standby = (Server(folder, postgres=cluster) for _ in range(2))
    owner.start()
    standby.launch()
    standby.port = int(standby.wait_for_log(r"event=standby port=(\d+)").group(1))
    log, texts = folder / "train.log", []
    log.touch()
    process = ship.start("--job", "j", "--follow", str(log), SMFLEET_SERVER=f"{standby.url},{owner.url}")

    def write(count):
        texts.extend(f"line {len(texts) + i}" for i in range(count))
        with log.open("a") as file:
            file.write("".join(f"{text}\n" for text in texts[-count:]))

    try:
        write(1000)
        wait_until(lambda: lines(owner, "j") == texts, what="the lines at the owner")
        for end in ("stop", "kill"):
            write(1000)
            getattr(owner, end)()
            write(1000)
            standby.wait_for_log("event=listening")
            wait_until(lambda: lines(standby, "j") == texts, what="the lines at the other one")
            owner.launch(f"127.0.0.1:{owner.port}")
            owner.wait_for_log("event=standby")
            owner, standby = standby, owner
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=PATIENCE_S) and process.returncode == 0
        assert lines(owner, "j") == texts
        assert job(owner, "j")["TrainingJobStatus"] == "Stopped"
    finally:
        process.kill()
        for one in (standby, owner):
            one.close()
