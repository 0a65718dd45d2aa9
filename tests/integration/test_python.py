"""The Python package: installed from a server, what it logs is stored once through outages and deaths, and read again."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from smserver import ROOT, wait_until
from test_auth import make_token
from test_downloads import sums

CLIENTS = str(ROOT / "clients")
sys.path.insert(0, CLIENTS)

import smfleet  # noqa: E402


class Client:
    """Runs texts of Python as a training would."""

    def __init__(self, folder, server, packages=CLIENTS):
        self.folder, self.packages, self.url = folder, packages, server.url

    def environment(self, more):
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONDONTWRITEBYTECODE", "LANG")}
        return {**kept, "HOME": str(self.folder), "USER": "ada", "SMFLEET_SPOOL": str(self.folder / "spool"),
                "SMFLEET_SERVER": self.url, "PYTHONPATH": self.packages, **more}

    def start(self, text, **more):
        (self.folder / "train.py").write_text("import smfleet\n" + text)
        return subprocess.Popen([sys.executable, "train.py"], cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env=self.environment(more))

    def run(self, text, **more):
        process = self.start(text, **more)
        out, err = process.communicate(timeout=60)
        return process.returncode, out.decode(), err.decode()

    def sync(self, *arguments, **more):
        return subprocess.run([sys.executable, "-m", "smfleet", "sync", *arguments], cwd=self.folder, capture_output=True, timeout=60,
                              env=self.environment(more))

    def spooled(self):
        return sorted((self.folder / "spool").glob("*.jsonl"))


@pytest.fixture
def client(server, tmp_path):
    return Client(tmp_path, server)


def values(server, metric="loss", name="j"):
    return [(point["step"], point["value"]) for point in points(server, metric, name)]


def notes(server, name):
    return server.get("/api/v1/jobs/{}/notes".format(name.replace("/", "%2F"))).body.get("notes", [])


def points(server, metric, name):
    server.wait_for_extraction()  # the client ends when the server has what it sent
    api = smfleet.Api(server.url, token=server.token)
    got = api.job(name).points(metric)
    return [{"step": step, "value": value} for step, value in zip(got.steps, got.values)]


def test_it_is_installed_from_the_server(server, tmp_path):
    (wheel,) = [name for name in sums(server) if name.endswith(".whl")]
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", str(tmp_path / "site"),
                    f"{server.url}/dl/{wheel}"], check=True, timeout=60)
    assert (tmp_path / "site/smfleet/py.typed").exists()
    client = Client(tmp_path, server, str(tmp_path / "site"))
    code, _, err = client.run("""
with smfleet.init("j", project="p", config={"lr": 0.1, "model": {"depth": 12}}, tags={"team": "nlp"}) as run:
    for i in range(3):
        run.log({"loss": 3.0 - i, "eval": {"acc": i / 4}})
    smfleet.note("changed the\\nloader", step=2)
    smfleet.log({"loss": float("nan")}, step=10)
""")
    assert code == 0 and err == "", err
    assert values(server, name="p/j")[:3] == [(0, 3.0), (1, 2.0), (2, 1.0)] and values(server, name="p/j")[3][0] == 10
    assert values(server, "eval/acc", "p/j") == [(0, 0), (1, 0.25), (2, 0.5)]
    document = smfleet.Api(server.url).job("p/j").document()
    assert document["TrainingJobStatus"] == "Completed" and document["HyperParameters"] == {"lr": "0.1", "model/depth": "12"}
    assert {"Key": "team", "Value": "nlp"} in document["Tags"]
    assert [(note["step"], note["text"]) for note in notes(server, "p/j")] == [(2, "changed the\nloader")]
    assert not client.spooled()


def test_an_exception_is_how_the_job_failed(server, client):
    code, _, err = client.run('smfleet.init("j")\nsmfleet.log({"loss": 1})\nraise ValueError("bad batch")')
    assert code == 1 and err.count("ValueError: bad batch") == 1
    document = server.get("/api/v1/jobs/j").body
    assert document["TrainingJobStatus"] == "Failed" and "ValueError: bad batch" in document["FailureReason"]


WITH = 'with smfleet.init("j"):\n    '


@pytest.mark.parametrize("text, code, status, reason", [
    ("sys.exit(3)", 3, "Failed", "exit code 3"),
    ('sys.exit("out of quota")', 1, "Failed", "out of quota"),
    ('sys.exit("")', 1, "Failed", "exit code 1"),
    ("sys.exit(0)", 0, "Completed", None),
    ("sys.exit()", 0, "Completed", None),
    (WITH + "sys.exit(3)", 3, "Failed", "exit code 3"),
    (WITH + "sys.exit(0)", 0, "Completed", None),
    (WITH + "raise SystemExit('no')", 1, "Failed", "no"),
    ("try: sys.exit(3)\nexcept SystemExit: pass\nsmfleet.log({'loss': 2})", 0, "Completed", None),
    ("try: sys.exit(3)\nfinally: smfleet.log({'loss': 2})", 3, "Failed", "exit code 3"),
    ("try: sys.exit(3)\nfinally: smfleet.finish()", 3, "Failed", "exit code 3"),
    ("try: sys.exit(3)\nfinally: smfleet.finish('Stopped')", 3, "Stopped", None),
    ("import threading\nthread = threading.Thread(target=sys.exit, args=(3,))\nthread.start()\nthread.join()", 0, "Completed", None),
])
def test_how_the_process_exits_is_how_the_job_ended(server, client, text, code, status, reason):
    begin = "import sys\n" + ("" if text.startswith(WITH) else 'smfleet.init("j")\nsmfleet.log({"loss": 1})\n')
    assert client.run(begin + text)[0] == code
    document = server.get("/api/v1/jobs/j").body
    assert (document["TrainingJobStatus"], document.get("FailureReason")) == (status, reason)


def test_points_wait_while_the_server_is_away(server, client):
    process = client.start("""
smfleet.init("j")
for i in range(500): smfleet.log({"loss": i})
input()
for i in range(500, 1000): smfleet.log({"loss": i})
smfleet.finish(timeout_s=60)
""")
    server.wait_for_points("j", "loss", 500)
    server.kill()
    process.stdin.write(b"on\n")
    process.stdin.flush()
    assert b"is kept and sent when the server is back" in process.stderr.readline()
    server.start(f"127.0.0.1:{server.port}")
    process.communicate(timeout=60)
    assert process.returncode == 0
    server.wait_for_points("j", "loss", 1000)
    assert values(server) == [(i, i) for i in range(1000)]


class Swallower:
    """Hands requests on to a server, and answers none while it is told so: the sender cannot know what was stored."""

    def __init__(self, port):
        self.port, self.swallows, self.swallowed = port, False, threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:{}".format(self.listener.getsockname()[1])
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            try:
                server = socket.create_connection(("127.0.0.1", self.port))
            except OSError:
                client.close()
                continue
            threading.Thread(target=self.pump, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self.pump, args=(server, client, True), daemon=True).start()

    def pump(self, source, sink, is_reply):
        try:
            while data := source.recv(65536):
                if is_reply and self.swallows and (self.swallows is True or self.swallows(data)):
                    self.swallowed.set()
                    break
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)  # the other thread still reads one of them
            except OSError:
                pass
            end.close()


def test_a_killed_run_is_sent_by_another_process_and_each_point_once(server, client, tmp_path):
    """Its last batch was stored, and nobody told it."""
    between = Swallower(server.port)
    process = client.start("""
smfleet.init("j")
smfleet.log({"loss": 0})
smfleet.note("first")
import time, os
while not os.path.exists("more"): time.sleep(0.01)
for i in range(1, 50): smfleet.log({"loss": i})
while True: time.sleep(1)
""", SMFLEET_SERVER=between.url)
    server.wait_for_points("j", "loss", 1)
    wait_until(lambda: notes(server, "j"), what="the note")
    # Not of the first batch, or of the note: they would be sent again for ever, and nothing behind them.
    between.swallows = lambda reply: b'"accepted":' in reply and b'"accepted":1,' not in reply
    (tmp_path / "more").write_text("")
    assert between.swallowed.wait(60)
    server.wait_for_points("j", "loss", 2)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert len(client.spooled()) == 1
    away = client.sync("--server", "http://127.0.0.1:1", "--drain-timeout", "0")
    assert away.returncode == 3 and b"127.0.0.1:1" in away.stderr, away
    server.restart()
    done = client.sync("--server", server.url)
    assert done.returncode == 0, done
    assert b"and 0 notes are sent to the job 'j'" in done.stderr or b"and 1 notes are sent to the job 'j'" in done.stderr, done
    assert not client.spooled()
    assert b"there is nothing to send in" in client.sync("--server", server.url).stderr
    server.wait_for_points("j", "loss", 50)
    assert values(server) == [(i, i) for i in range(50)]
    assert [note["text"] for note in notes(server, "j")] == ["first"]
    assert server.get("/api/v1/jobs/j").body["TrainingJobStatus"] == "InProgress"


def test_a_folder_that_no_run_has_made_has_nothing_to_send(server, client):
    done = client.sync("--server", server.url)
    assert (done.returncode, done.stderr.decode()) == (0, f"smfleet: there is nothing to send in {client.folder}/spool\n")
    named = client.sync("--server", server.url, "no/such/folder")
    assert named.returncode == 2 and b"no/such/folder: [Errno 2]" in named.stderr, "what is named has to be there"


def test_a_batch_that_had_to_go_elsewhere_is_stored_once(server, client):
    """The server is behind the offset and says so; what it then stored it could not say."""
    between = Swallower(server.port)
    client.run('smfleet.init("j")\nsmfleet.log({"loss": 1})\nsmfleet.finish(timeout_s=0.1)', SMFLEET_SERVER="http://127.0.0.1:1")
    (spool,) = client.spooled()
    state = {"job": None, "at": spool.read_bytes().index(b"\n") + 1, "end": 0, "offsets": {"points": 7}}
    spool.with_suffix(".sent").write_text(json.dumps(state))  # as of a server that was restored since
    between.swallows = lambda reply: reply.startswith(b"HTTP/1.1 200") and b'"next_offset"' in reply
    assert client.sync("--server", between.url, "--drain-timeout", "1").returncode == 3
    between.swallows = False
    server.wait_for_points("j", "loss", 1)
    assert client.sync("--server", server.url).returncode == 0
    server.restart()
    assert values(server) == [(0, 1)]


def test_a_note_whose_reply_was_lost_is_there_once(server, client):
    between = Swallower(server.port)
    process = client.start('smfleet.init("j")\nsmfleet.log({"loss": 0})\ninput()\nfor i in range(3): smfleet.note(f"n{i}", step=i)\n'
                           'smfleet.log({"loss": 1})\nprint("noted", flush=True)\ninput()', SMFLEET_SERVER=between.url)
    server.wait_for_points("j", "loss", 1)
    between.swallows = lambda reply: b'"author"' in reply  # that of a note, and of nothing before it
    process.stdin.write(b"on\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"noted\n"
    assert between.swallowed.wait(60) and notes(server, "j")
    process.kill()
    process.communicate()
    server.restart()
    done = client.sync("--server", server.url)
    assert done.returncode == 0 and not client.spooled(), done
    assert [(note["step"], note["text"]) for note in notes(server, "j")] == [(0, "n0"), (1, "n1"), (2, "n2")]


def test_a_note_that_is_refused_holds_up_nothing(make_server, tmp_path):
    server = make_server("--max-notes", "1", "--max-note-bytes", "10")
    client = Client(tmp_path, server)
    code, _, err = client.run('smfleet.init("j")\nsmfleet.note("a" * 11)\nsmfleet.note("a")\nsmfleet.note("b", step=2 ** 70)\nsmfleet.note("c")\n'
                              'smfleet.log({"loss": 1})')
    assert code == 0 and not client.spooled() and err.count("refused the note") == 3 and "--max-notes" in err, err
    assert [note["text"] for note in notes(server, "j")] == ["a"] and values(server) == [(0, 1)]


def test_a_point_that_no_server_takes_holds_up_nothing(server, client):
    code, _, err = client.run('smfleet.init("j")\nsmfleet.log({"loss": 1})\nsmfleet.log({"loss": 2}, step=2 ** 70)\nsmfleet.log({"loss": 3}, step=-5)\n'
                              'smfleet.log({"b\\u2028c": 1, "{}": 2, \'"\': 3, "loss": 4}, step=7)')
    assert code == 0 and not client.spooled(), err
    assert {(0, 1.0), (7, 4.0)} <= set(values(server)), (values(server), err)


def test_a_run_that_ended_without_a_server_is_sent_later(server, client):
    code, _, err = client.run('smfleet.init("j")\nsmfleet.log({"loss": 1})\nsmfleet.finish("Stopped", "enough", timeout_s=0.1)',
                              SMFLEET_SERVER="http://127.0.0.1:1")
    assert code == 0 and "python -m smfleet sync" in err and len(client.spooled()) == 1
    assert client.sync(SMFLEET_SERVER=server.url).returncode == 0
    server.wait_for_points("j", "loss", 1)
    assert server.get("/api/v1/jobs/j").body["TrainingJobStatus"] == "Stopped"


def test_a_training_is_neither_stopped_nor_slowed(client):
    """By a server that takes a connection and never answers, nor by what cannot be logged."""
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        code, out, err = client.run("""
import time
smfleet.init("j")
took = []
for i in range(2000):
    began = time.monotonic()
    smfleet.log({"loss": i, 7: 1, "": 1, "x" * 256: 1, "text": "abc", "none": None, "new\\nline": 2}, step=i)
    took.append(time.monotonic() - began)
smfleet.log(None)
smfleet.log({"a": 1}, step="one")
smfleet.note("")
print(sorted(took)[1980] < 0.05, sum(took) < 20)
smfleet.finish(timeout_s=0.1)
smfleet.log({"loss": 1})
""", SMFLEET_SERVER="http://127.0.0.1:{}".format(deaf.getsockname()[1]))
    assert code == 0 and out.split() == ["True", "True"], (out, err)
    assert err.count("is no name of a metric") == 4 and err.count("is no number") == 2 and err.count("log() could not take it") == 1
    assert err.count("note() got an empty text") == 1
    (spool,) = client.spooled()
    assert sum(b'"points"' in line for line in spool.read_bytes().splitlines()) == 2000


def test_a_token_that_may_only_write_is_enough(make_server, tmp_path):
    server = make_server()
    make_token(server, "root", "admin")
    token = make_token(server, "ship", "write")
    client = Client(tmp_path, server)
    for _ in range(2):  # the second time the job has ended
        code, _, err = client.run('smfleet.init("j")\nsmfleet.log({"loss": 1})\nsmfleet.note("n")', SMFLEET_TOKEN=token)
        assert code == 0 and not client.spooled(), err
    (tmp_path / "token").write_text(token)
    for _ in range(2):
        done = subprocess.run([sys.executable, f"{CLIENTS}/sm_ship.py", "--server", server.url, "--token-file", str(tmp_path / "token"),
                               "--job", "s"], input=b"a line\n", capture_output=True, timeout=60)
        assert done.returncode == 0, done
    assert smfleet.Api(server.url, token=token).job("j").note("x", step=1)["author"] == "ship"
    reader = make_token(server, "reader", "read")
    api = smfleet.Api(server.url, token=reader)
    assert sorted(row["TrainingJobName"] for row in api.jobs(fields="TrainingJobName")) == ["j", "j-2", "s", "s-2"]
    with pytest.raises(smfleet.ApiError) as refused:
        list(smfleet.Api(server.url).jobs())
    assert refused.value.status == 401


def test_what_was_logged_is_read(server, client):
    for name in ("a", "b"):
        client.run(f'smfleet.init("{name}", config={{"lr": 1}})\nfor i in range(3): smfleet.log({{"loss": i}})')
        server.wait_for_points(name, "loss", 3)
    api = smfleet.Api(server.url)
    assert [row["TrainingJobName"] for row in api.jobs("status:completed", sort="name", fields="TrainingJobName")] == ["a", "b"]
    got = wait_until(lambda: len(found := api.jobs("name:b").points("loss")) == 3 and found)
    assert (got.jobs, got.steps, got.values) == (["b"] * 3, [0, 1, 2], [0, 1, 2])
    with pytest.raises(smfleet.ApiError, match="wrong"):
        list(api.jobs("wrong~"))
    with pytest.raises(smfleet.ApiError) as unknown:
        api.job("c").points("loss")
    assert unknown.value.status == 404


def test_points_of_a_search_along_tokens(server):
    """8 sequences of 1024 tokens a step; x=flops nobody can say, as the size of the model is not known."""
    for name in ("a", "b"):
        server.post("/api/v1/jobs", json={"TrainingJobName": name, "HyperParameters": {"global_batch_size": "8", "seq_length": "1024"}})
        server.send(name, [f"step: {step} loss: 2.5" for step in range(1, 11)])
        server.wait_for_points(name, "train:loss", 10)
    api = smfleet.Api(server.url)
    got = wait_until(lambda: len(found := api.points("train:loss", "name:a", x="tokens", from_=2 * 8192, to=4 * 8192)) == 3 and found)
    assert (got.axis, got.jobs, got.steps, got.x) == ("tokens", ["a"] * 3, [2, 3, 4], [2 * 8192, 3 * 8192, 4 * 8192])
    both = api.jobs("name:a OR name:b").points("train:loss", from_=9)
    assert sorted(zip(both.jobs, both.steps)) == [("a", 9), ("a", 10), ("b", 9), ("b", 10)] and both.axis is None and both.x is None
    assert len(api.points("train:loss", x="flops")) == 0 and api.points("train:loss", x="flops").x == []
    with pytest.raises(smfleet.ApiError, match="from and to are of x=step"):
        api.points("train:loss", x="relative")


def test_notes_are_written_changed_taken_back_and_listed(server, client):
    """By hand: line n says step n + 1, a minute after the last; step 4 is a checkpoint."""
    minute, start = 60_000, 1_760_000_000_000
    at = [time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime((start + n * minute) / 1000)) for n in range(5)]
    server.send("a", [f"{at[n]} step: {n + 1} | loss: 2.0" for n in range(4)] + [f"{at[4]} saved checkpoint to /ckpt/step-4 at step 4"])
    server.wait_for_points("a", "train:loss", 4)
    wait_until(lambda: server.get("/api/v1/jobs/a/checkpoints").body["checkpoints"])
    job = smfleet.Api(server.url).job("a")
    written = [job.note("a step", step=2), job.note("a time", ts_ms=start + 2 * minute), job.note("a line", stream="algo-1", line=3),
               job.note("a checkpoint", checkpoint=4)]
    assert [(note["at"], note["step"], (note["ts_ms"] - start) // minute) for note in written] == [
        ("step", 2, 1), ("time", 3, 2), ("line", 4, 3), ("checkpoint", 4, 4)]
    first = written[0]["id"]
    assert job.edit_note(first, "another text")["text"] == "another text"
    assert job.delete_note(first)["deleted_ms"] > 0
    texts = ["another text", "a time", "a line", "a checkpoint"]
    assert [note["text"] for note in job.notes()] == texts[1:] and [note["text"] for note in job.notes(deleted=True)] == texts
    job.restore_note(first)
    assert [note["text"] for note in job.notes()] == texts
    for wrong, words in ((dict(), "one place"), (dict(step=1, ts_ms=5), "has 2"), (dict(checkpoint=3), "no checkpoint at step 3")):
        with pytest.raises(smfleet.ApiError, match=words) as refused:
            job.note("x", **wrong)
        assert refused.value.status == 422


@pytest.mark.parametrize("name, call", [("pandas", lambda api: api.jobs().df()), ("numpy", lambda api: api.job("a").points("loss").numpy())])
def test_pandas_and_numpy_are_asked_for_only_when_used(server, name, call):
    server.post("/api/v1/points?job=a", "step,loss\n1,2\n", content_type="text/csv")
    server.wait_for_points("a", "loss", 1)
    try:
        __import__(name)
    except ImportError:
        with pytest.raises(ImportError, match=f"pip install {name}"):
            call(smfleet.Api(server.url))
        return
    assert len(call(smfleet.Api(server.url))) > 0


def test_a_chart_goes_on_with_its_job(server, client):
    server.post("/api/v1/points?job=a", "step,loss\n1,2\n2,3\n", content_type="text/csv")
    server.wait_for_points("a", "loss", 2)
    chart = smfleet.Api(server.url).job("a").chart("loss")
    chart.every_s = 0.05
    first, shown = chart._repr_svg_(), []
    assert first.startswith("<svg") or "<svg" in first[:200]
    chart.follow(shown.append)
    server.post("/api/v1/points?job=a", "step,loss\n3,1\n", content_type="text/csv")
    wait_until(lambda: shown and shown[-1] != first)
    server.post("/api/v1/jobs/a/transitions", json={"SecondaryStatus": "Completed"})
    chart.thread.join(60)
    assert not chart.thread.is_alive()


def test_the_examples_of_the_page(server, client):
    """docs/python.md, one after the other in one process."""
    text = (ROOT / "docs/python.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert len(blocks) == 2
    wait = "import time\nwhile True:\n    try:\n        if len(smfleet.Api().job('llama-7b').points('loss')) == 3: break\n" \
           "    except smfleet.ApiError: time.sleep(0.05)\n"
    code, out, err = client.run(blocks[0] + wait + blocks[1])
    assert code == 0 and err == "", err
    assert out.splitlines()[-1] == "[0, 1, 2] [3.0, 2.0, 1.0]"
    (wheel,) = [name for name in sums(server) if name.endswith(".whl")]
    for page in ("python", "clients"):
        assert wheel in (ROOT / f"docs/{page}.md").read_text()
