"""sm-ship and its session: commands to a real child, how it ended, two writers, hosts that are gone, many ranks of srun."""

import io
import signal
import threading
from fixtures import emptied_server as server  # noqa: F401 (one process for the file)
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from howlong import IS_LONG
from shipping import job, lines
from smserver import wait_until
from test_ship import finish_all, start_srun
from test_ship_import_content import Relay

LOOP = "while :; do sleep 0.1; done"  # each is a process


@pytest.fixture
def quick(make_server, ship):
    """A server whose leases are short, so that sm-ship asks often; sm-ship talks to it."""
    server = make_server("--lease", "2s")
    ship.env["SMFLEET_SERVER"] = server.url
    return server


def order(server, name, command, **fields):
    reply = server.post(f"/api/v1/jobs/{name}/commands", json={"command": command, **fields})
    assert reply.status == 202, reply
    return reply.body["id"]


def answer(server, name, number, stream="algo-1"):
    """What the stream said to the command."""
    def answered():
        command = server.get(f"/api/v1/jobs/{name}/commands").body["commands"][number - 1]
        return next((row for row in command["streams"] if row["stream"] == stream and row["state"] == "acknowledged"), None)
    return wait_until(answered, what=f"the answer to command {number}")


def start(server, ship, name, script, *options):
    """A command that has said "ready", and the server knows: its session is open."""
    process = ship.start("--job", name, *options, "--", "sh", "-c", script)
    assert process.stdout.readline() == b"ready\n"
    stream = options[options.index("--stream") + 1] if "--stream" in options else "algo-1"
    wait_until(lambda: server.get(f"/api/v1/jobs/{name}/streams").status == 200 and lines(server, name, stream), what="its line")
    return process


def exits(server, name):
    return {row["stream"]: row.get("exit") for row in server.get(f"/api/v1/jobs/{name}/streams").body["streams"]}


def test_a_checkpoint_and_a_stop_reach_a_silent_child(quick, ship):
    script = f"trap 'echo saved' USR1; trap 'echo bye; exit 0' TERM; echo ready; {LOOP}"
    process = start(quick, ship, "told", script, "--on", "checkpoint=USR1", "--on", "stop=SIGTERM")
    assert answer(quick, "told", order(quick, "told", "checkpoint"))["result"].startswith("signal SIGUSR1 sent to process ")
    assert process.stdout.readline() == b"saved\n"
    number = order(quick, "told", "stop")
    assert job(quick, "told")["TrainingJobStatus"] == "Stopping"
    out, errors = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, b"bye\n"), errors
    assert job(quick, "told")["TrainingJobStatus"] == "Stopped"  # though it ended with code 0
    row = answer(quick, "told", number)
    assert row["result"].startswith("signal SIGTERM sent") and row["delivered_ms"] <= row["acknowledged_ms"]
    assert lines(quick, "told") == ["ready", "saved", "bye"]
    assert exits(quick, "told")["algo-1"]["code"] == 0


def test_a_child_that_prints_is_told_with_its_lines(server, ship):  # a lease of 60 s: no heartbeat comes in time
    script = "trap 'exit 9' USR2; echo ready; while :; do echo line; sleep 0.02; done"
    process = start(server, ship, "chatty", script, "--on", "checkpoint=12")
    order(server, "chatty", "checkpoint")
    process.communicate(timeout=30)
    assert process.returncode == 9
    assert exits(server, "chatty")["algo-1"] == {**exits(server, "chatty")["algo-1"], "code": 9, "reason": "exit code 9"}
    assert job(server, "chatty")["TrainingJobStatus"] == "Failed"


def test_a_stop_that_kills_is_no_failure(quick, ship):
    process = start(quick, ship, "stopped", f"echo ready; {LOOP}", "--on", "stop=SIGTERM")
    order(quick, "stopped", "stop")
    process.communicate(timeout=30)
    document = job(quick, "stopped")
    assert (document["TrainingJobStatus"], document.get("FailureReason")) == ("Stopped", None)
    assert exits(quick, "stopped")["algo-1"]["reason"] == "killed by signal 15 (SIGTERM)"  # of the process it is said


def test_without_on_nothing_is_done_and_said_so(quick, ship):
    process = start(quick, ship, "deaf", f"echo ready; {LOOP}")
    assert answer(quick, "deaf", order(quick, "deaf", "stop"))["result"] == "nothing: sm-ship was started without --on stop=SIGNAL"
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert exits(quick, "deaf")["algo-1"]["signal"] == 15
    pipe = ship.start("--job", "pipe")
    pipe.stdin.write(b"one\n")
    pipe.stdin.flush()
    wait_until(lambda: quick.get("/api/v1/jobs/pipe/streams").status == 200 and lines(quick, "pipe"), what="its line")
    assert answer(quick, "pipe", order(quick, "pipe", "checkpoint"))["result"] == "nothing: sm-ship runs no command here"
    pipe.communicate(timeout=30)
    assert exits(quick, "pipe") == {"algo-1": None}


def test_one_stream_of_two_is_told(quick, ship):
    script = f"trap 'echo saved' USR1; trap 'exit 0' TERM; echo ready; {LOOP}"
    both = [start(quick, ship, "two", script, "--stream", name, "--on", "checkpoint=USR1") for name in ("a", "b")]
    number = order(quick, "two", "checkpoint", stream="b")
    answer(quick, "two", number, "b")
    assert both[1].stdout.readline() == b"saved\n"
    command, = quick.get("/api/v1/jobs/two/commands").body["commands"]
    assert [row["stream"] for row in command["streams"]] == ["b"]
    for process in both:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    assert lines(quick, "two", "a") == ["ready"] and lines(quick, "two", "b") == ["ready", "saved"]


def test_a_command_survives_a_restart_of_the_server_and_comes_once(quick, ship, tmp_path):
    script = f"trap 'echo saved' USR1; trap 'exit 0' TERM; echo ready; {LOOP}"
    process = start(quick, ship, "once", script, "--on", "checkpoint=USR1")
    answer(quick, "once", order(quick, "once", "checkpoint"))
    assert process.stdout.readline() == b"saved\n"
    quick.kill()
    quick.start(f"127.0.0.1:{quick.port}")
    answer(quick, "once", order(quick, "once", "checkpoint"))
    assert process.stdout.readline() == b"saved\n"
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=30)[0] == b""
    assert lines(quick, "once") == ["ready", "saved", "saved"]


def test_a_second_writer_is_refused_with_the_reason(quick, ship):
    first = start(quick, ship, "mine", "trap 'exit 0' TERM; echo ready; " + LOOP, "--host", "gpu001")
    second = ship.run("--job", "mine", "--host", "gpu002", "--spool", str(ship.folder / "other"), data=b"two\n")
    assert second.returncode == 4 and second.stdout == b"two\n"
    assert b"another session, from host 'gpu001'" in second.stderr
    assert lines(quick, "mine") == ["ready"]
    first.send_signal(signal.SIGTERM)
    first.communicate(timeout=30)
    assert first.returncode == 0


def test_a_stream_of_a_host_that_is_gone_is_free_when_its_lease_ends(quick, ship):
    first = start(quick, ship, "gone", f"echo ready; while [ ! -e {ship.folder}/over ]; do sleep 0.1; done", "--host", "gpu001")
    first.kill()
    second = ship.run("--job", "gone", "--host", "gpu002", "--spool", str(ship.folder / "other"), data=b"two\n")
    assert second.returncode == 0 and b"waiting for it" in second.stderr
    assert lines(quick, "gone") == ["ready", "two"]
    (ship.folder / "over").touch()
    first.communicate(timeout=30)


def test_a_rank_that_waited_for_its_stream_ends_the_job_no_later(make_server, ship):
    """Its process and the job had ended by the time that the stream was free."""
    server = make_server("--lease", "6s")
    ship.env["SMFLEET_SERVER"] = server.url
    gone = server.post("/api/v1/sessions", json={"job": "late", "stream": "algo-2", "host": "gone"}).body["session"]
    late = ship.start("--job", "late", "--stream", "algo-2", "--host", "gpu002", "--spool", str(ship.folder / "other"), "--resume", "--", "echo", "two")
    assert b"waiting for it" in late.stderr.readline()
    first = ship.run("--job", "late", "--stream", "algo-1", "--host", "gpu001", "--resume", "--", "echo", "one")
    assert first.returncode == 0, first.stderr
    assert server.post(f"/api/v1/sessions/{gone}", json={"end": True}).status == 200
    assert late.communicate(timeout=60)[0] == b"two\n" and late.returncode == 0
    assert lines(server, "late", "algo-2") == ["two"] and exits(server, "late")["algo-2"]["code"] == 0
    rows = server.get("/api/v1/jobs/late").body["SecondaryStatusTransitions"]
    assert [row["Status"] for row in rows[-2:]] == ["Training", "Completed"]
    assert round(rows[-1]["StartTime"] * 1000) == exits(server, "late")["algo-1"]["at_ms"]
    assert round(rows[-2]["StartTime"] * 1000) < exits(server, "late")["algo-2"]["at_ms"]


class Older(Relay):
    """Away until sm-ship has waited for a while, which it then does not want to know."""

    def relay(self):
        body, whole = self.rfile.read(int(self.headers.get("Content-Length") or 0)), self.rfile
        is_opening, has_waited = self.path == "/api/v1/sessions", b'"waited_ms"' in body
        if is_opening and (has_waited or not self.server.refused):
            self.server.refused += [body] * has_waited
            self.send_response(422 if has_waited else 503)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        self.rfile = io.BytesIO(body)
        super().relay()
        self.rfile = whole

    do_GET = do_POST = do_PUT = do_PATCH = relay


def test_an_older_server_is_told_the_rest_of_a_job_by_who_waited(server, ship):
    with ThreadingHTTPServer(("127.0.0.1", 0), Older) as older:
        older.daemon_threads, older.upstream, older.lost, older.refused = True, server.url.removeprefix("http://"), [], []
        thread = threading.Thread(target=older.serve_forever)
        thread.start()
        try:
            result = ship.run("--job", "waits", "--tag", "a=b", "--server", f"http://127.0.0.1:{older.server_port}", "--", "echo", "one")
        finally:
            older.shutdown()
            thread.join()
    assert result.returncode == 0 and b"did not take" not in result.stderr, result.stderr
    assert len(older.refused) == 1 and lines(server, "waits", "algo-1") == ["one"]
    assert {"Key": "a", "Value": "b"} in server.get("/api/v1/jobs/waits").body["Tags"]


def test_the_exits_and_hosts_of_many_ranks_and_of_their_restart(server, ship):
    """32, of which one is killed; with --all, 128."""
    nodes, killed_rank, killed_name = (16, 77, "algo-10-r5 on gpu009") if IS_LONG else (4, 29, "algo-4-r5 on gpu003")
    ranks = range(8 * nodes)

    def run(**changes):
        script = f'echo "step 1 loss 0.$SLURM_PROCID"; [ $SLURM_PROCID != {killed_rank} ] || kill -9 $$'
        return finish_all(start_srun(ship, nodes, 8, script, **changes))

    streams = [f"algo-{rank // 8 + 1}-r{rank % 8}" for rank in ranks]
    assert run() == [137 if rank == killed_rank else 0 for rank in ranks]
    assert run(SLURM_RESTART_COUNT="1").count(0) == len(ranks) - 1
    names = sorted(row["TrainingJobName"] for row in server.get("/api/v1/jobs").body["jobs"])
    assert names == ["llama-4711", "llama-4711-2"]
    for name in names:
        rows = {row["stream"]: row for row in server.get(f"/api/v1/jobs/{name}/streams").body["streams"]}
        assert sorted(rows) == sorted(streams)
        assert all(row["lines"] == 1 for row in rows.values())
        assert [rows[stream]["host"] for stream in streams] == [f"gpu{rank // 8:03}" for rank in ranks]
        killed = rows.pop(streams[killed_rank])["exit"]
        assert killed["signal"] == 9 and killed["reason"] == "killed by signal 9 (SIGKILL)"
        assert all(row["exit"]["code"] == 0 and "signal" not in row["exit"] for row in rows.values())
        document = job(server, name)
        assert document["HyperParameters"] == {"lr": "3e-4", "depth": "12"}
        assert document["ResourceConfig"]["InstanceCount"] == nodes
        assert document["TrainingJobStatus"] == "Failed"
        assert document["FailureReason"] == f"{killed_name} (rank {killed_rank}): killed by signal 9 (SIGKILL)"


@pytest.mark.parametrize("args, words", [
    (["--on", "reboot=HUP", "--", "true"], b"--on 'reboot=HUP' is neither checkpoint=SIGNAL nor stop=SIGNAL"),
    (["--on", "stop=NEVER", "--", "true"], b"--on 'stop=NEVER' names no signal"),
    (["--on", "stop=65", "--", "true"], b"names no signal"), (["--on", "stop=TERM"], b"--on is for a command")])
def test_mistakes_in_on_are_named(ship, args, words):
    result = ship.run(*args)
    assert result.returncode == 2 and words in result.stderr, result.stderr


def test_a_server_without_sessions_is_named(ship):
    class Old(BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(405)
            self.send_header("Content-Length", "0")
            self.end_headers()

    http = ThreadingHTTPServer(("127.0.0.1", 0), Old)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    try:
        result = ship.run("--job", "x", "--server", f"http://127.0.0.1:{http.server_port}", data=b"one\n")
    finally:
        http.shutdown()
        http.server_close()
    assert (result.returncode, result.stdout) == (4, b"one\n")
    assert b"the server has no sessions (405): it is older than this program" in result.stderr


def test_a_setting_that_changes_with_resume_is_told(server, ship, tmp_path):
    script = tmp_path / "train.py"
    script.write_text("print('step 1 loss 0.5')")
    start = lambda *options: ship.run("--job", "tuned", "--resume", "--", "python3", str(script), *options)
    assert b"it is left as it is" not in start("--lr", "3e-4", "--layers", "12").stderr
    assert start("--lr", "3e-4", "--layers", "12").stderr == b"", "nothing has changed"
    changed = start("--lr", "1e-4", "--layers", "12", "--warmup", "100")
    assert changed.returncode == 0 and changed.stderr == b"sm-ship: job 'tuned' has lr = '3e-4', and what goes on with it says '1e-4': it is left as it is\n"
    document = server.get("/api/v1/jobs/tuned").body
    assert {"lr": "3e-4", "layers": "12", "warmup": "100"}.items() <= document["HyperParameters"].items()
    messages = [row.get("StatusMessage") for row in document["SecondaryStatusTransitions"] if row["Status"] == "Training"]
    assert messages == ["sm-ship began", "sm-ship began", "sm-ship began with lr=1e-4 (the job has 3e-4)"]
