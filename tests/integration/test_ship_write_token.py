"""sm-ship with a token that may write and not read, as SECURITY.md gives it to a cluster: each option does what it does for an administrator."""

import http.server
import re
import threading

import pytest
from smserver import wait_until

from test_auth import make_token
from test_ship_import_content import Relay
from test_ship_rest import is_open

SAYS = ("sh", "-c", "for i in 1 2 3 4 5; do echo step: $i loss: 2.$i; done")
LINES = [f"step: {i} loss: 2.{i}" for i in range(1, 6)]


class Writer:
    """sm-ship with the token; the server's own requests are an administrator's."""

    def __init__(self, server, ship, *options):
        self.server, self.ship = server, ship
        server.token = make_token(server, "root", "admin")
        ship.env["SMFLEET_TOKEN"] = self.token = make_token(server, "w", "write", *options)

    def run(self, name, *options, **more):
        return self.ship.run("--job", name, *options, "--", *SAYS, **more)

    def job(self, name):
        return self.server.get(f"/api/v1/jobs/{name}").body

    def lines(self, name):
        return [line["text"] for line in self.server.lines(name)]


@pytest.fixture(params=((), ("--team", "nlp")), ids=("of no team", "of a team"))
def writer(make_server, ship, request):
    server = make_server()
    ship.env["SMFLEET_SERVER"] = server.url
    return Writer(server, ship, *request.param)


@pytest.mark.parametrize("options", (["--instance-count", "4"], ["--instance-type", "ml.p5.48xlarge"], ["--resume"], ["--system"],
                                     ["--instance-count", "4", "--instance-type", "ml.p5.48xlarge", "--resume", "--system"]), ids=" ".join)
def test_each_option_sends_all_and_ends_the_job(writer, options):
    result = writer.run("j", *options)
    assert (result.returncode, result.stderr) == (0, b"")
    assert writer.lines("j") == LINES
    assert writer.job("j")["TrainingJobStatus"] == "Completed"
    assert [path for path in writer.ship.spool.iterdir() if not path.name.startswith("sm-ship-system-")] == []
    if "--system" in options:
        rows = writer.server.get("/api/v1/jobs/j/streams").body["streams"]
        assert any(row["stream"].startswith("system/") and row["sent_points"] for row in rows), rows


def test_an_import_compares_and_makes_no_job_where_it_may_not(writer, tmp_path):
    (tmp_path / "old.log").write_text("".join(f"2024-05-01 12:00:0{i} {text}\n" for i, text in enumerate(LINES)))
    result = writer.ship.run("--import", str(tmp_path / "(?<job>old).log"))
    assert result.returncode == 4 and b"this needs the scope 'read'" in result.stderr, result.stderr
    assert writer.server.get("/api/v1/jobs/old").status == 404


def test_machines_are_set_where_the_job_states_none_and_left_else(writer):
    assert writer.server.post("/api/v1/jobs", json={"TrainingJobName": "j"}, token=writer.token).status == 201
    result = writer.run("j", "--instance-count", "4")
    assert (result.returncode, result.stderr) == (0, b"")
    assert writer.job("j")["by_hand"]["nodes"] == 4
    again = writer.run("j", "--resume", "--instance-count", "2", "--instance-type", "ml.p5.48xlarge")
    assert again.returncode == 0 and b"has 4, and --instance-count says '2': it is left as it is" in again.stderr, again.stderr
    assert writer.job("j")["by_hand"] == {"nodes": 4, "instance_type": "ml.p5.48xlarge"}
    assert writer.lines("j") == LINES * 2


def test_a_job_that_goes_on_keeps_its_settings_and_says_so(writer):
    assert writer.run("j", "--hp", "lr=3e-4").returncode == 0
    again = writer.run("j", "--resume", "--hp", "lr=1e-4", "--hp", "seed=7")
    assert again.returncode == 0 and b"has lr = '3e-4'" in again.stderr, again.stderr
    document = writer.job("j")
    assert (document["HyperParameters"]["lr"], document["HyperParameters"]["seed"]) == ("3e-4", "7")
    assert any("sm-ship began with lr=1e-4 (the job has 3e-4)" in row["StatusMessage"] for row in document["SecondaryStatusTransitions"])


def test_what_is_stated_is_told_to_who_may_state_it(writer):
    assert writer.run("j", "--hp", "lr=3e-4", "--tag", "a=b", "--instance-count", "4").returncode == 0
    reply = writer.server.get("/api/v1/jobs/j/stated", token=writer.token)
    assert reply.status == 200 and reply.body["TrainingJobStatus"] == "Completed"
    whole = writer.job("j")
    assert set(reply.body) <= {"TrainingJobName", "TrainingJobStatus", "HyperParameters", "OtherHyperParameters", "Tags",
                               "AlgorithmSpecification", "ResourceConfig", "by_hand"}
    for key in reply.body:
        assert reply.body[key] == whole[key], key
    assert writer.server.get("/api/v1/jobs/j", token=writer.token).status == 403
    other = make_token(writer.server, "other", "write", "--team", "vision")
    assert writer.server.get("/api/v1/jobs/j/stated", token=other).status == 403
    assert writer.server.get("/api/v1/jobs/none/stated", token=writer.token).status == 404
    assert writer.server.get("/api/v1/jobs/j/stated", token=make_token(writer.server, "r", "read")).status == 403


def test_no_more_is_told_than_senders_compare(writer):
    """Not the image, the machines' names or what they cost."""
    metrics = [{"Name": "loss", "Regex": "loss: ([0-9.]+)"}]
    document = {"TrainingJobName": "j", "AlgorithmSpecification": {"TrainingImage": "registry/secret:1", "MetricDefinitions": metrics},
                "RoleArn": "arn:aws:iam::123456789012:role/x", "HyperParameters": {"lr": "1"}, "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge"}}
    assert writer.server.post("/api/v1/jobs", json=document, token=writer.token).status == 201

    def told():
        reply = writer.server.get("/api/v1/jobs/j/stated", token=writer.token)
        assert reply.status == 200, reply
        return reply.body
    expected = {"TrainingJobName": "j", "TrainingJobStatus": "InProgress", "HyperParameters": {"lr": "1"},
                "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge"}, "AlgorithmSpecification": {"MetricDefinitions": metrics}}
    assert told() == expected
    writer.server.send("j", "step: 1 loss: 2.5", stream="s")

    def set_by_hand(**values):
        reply = writer.server.patch("/api/v1/jobs/j", json={"by_hand": values})
        assert reply.status == 200, reply
    set_by_hand(hosts={"s": "gpu007"}, price_per_hour=12, price_currency="EUR", settings={"seed": "7"})
    expected["HyperParameters"] = {"seed": "7", "lr": "1"}
    assert told() == expected
    set_by_hand(nodes=4, instance_type="ml.p5.48xlarge")
    assert told() == {**expected, "by_hand": {"nodes": 4, "instance_type": "ml.p5.48xlarge"}}


def leave_rest(writer, tmp_path):
    """A job that was told to have failed, and a line of it that only the spool has."""
    goal = tmp_path / "goal"
    script = f"echo one; while [ ! -e {goal} ]; do sleep 0.05; done; echo two"
    process = writer.ship.start("--job", "j", "--", "sh", "-c", script)
    wait_until(lambda: writer.server.get("/api/v1/jobs/j").status == 200 and writer.lines("j") == ["one"], what="the first line")
    process.kill()
    process.communicate()
    assert writer.server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Failed"}).status == 204
    goal.touch()
    wait_until(lambda: not is_open(writer.ship.spool.glob("*.out")), what="the end of the command")


def test_what_is_left_is_sent(writer, tmp_path):
    leave_rest(writer, tmp_path)
    sent = writer.ship.run("--send-rest")
    assert sent.returncode == 0 and b"that were left are with the server" in sent.stderr, sent.stderr
    assert list(writer.ship.spool.iterdir()) == [] and writer.job("j")["TrainingJobStatus"] == "Failed"
    assert writer.lines("j") == ["one", "two"]


@pytest.mark.parametrize("options", (["--metric", "loss=("], ["--tag", "a" * 300 + "=b"]), ids=("metric", "tag"))
def test_what_is_wrong_in_a_description_keeps_no_line(writer, options):
    result = writer.run("j", *options)
    assert result.returncode == 0 and b"whose lines go without that" in result.stderr, result.stderr
    assert writer.lines("j") == LINES and writer.job("j")["TrainingJobStatus"] == "Completed"
    assert list(writer.ship.spool.iterdir()) == []


def test_what_the_server_refuses_stays_and_is_sent_by_a_token_that_may(writer):
    for number, (data, command, code) in enumerate(((None, ["--", *SAYS], 0), ("".join(text + "\n" for text in LINES).encode(), [], 4))):
        name = f"j{number}"
        reader = make_token(writer.server, f"r{number}", "read")
        refused = writer.ship.run("--job", name, *command, data=data or b"", SMFLEET_TOKEN=reader)
        assert refused.returncode == code and b"refuses: this needs the scope 'write'" in refused.stderr, refused.stderr
        assert b"5 lines of job '%s' and how it ended are kept in" % name.encode() in refused.stderr, refused.stderr
        still = writer.ship.run("--send-rest", SMFLEET_TOKEN=reader)
        assert still.returncode == 4, still.stderr
        sent = writer.ship.run("--send-rest")
        assert sent.returncode == 0 and b"5 lines of job '%s' that were left are with the server, and how it ended" % name.encode() in sent.stderr, sent.stderr
        assert writer.lines(name) == LINES and writer.job(name)["TrainingJobStatus"] == "Completed"
        assert list(writer.ship.spool.iterdir()) == []


class Behind(Relay):
    """What an older server, or one that takes less, says otherwise: the status of `refused`, by parts of the path."""

    def relay(self):
        status = next((status for part, status in self.server.refused.items() if part in self.path), None)
        if status is None:
            return super().relay()
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.kept.append((body, {key: value for key, value in self.headers.items() if key in ("Content-Type", "Content-Encoding")}))
        content = b'{"detail": "not here"}'
        self.send_response(status)
        self.send_header("Content-Type", "application/problem+json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_PATCH = do_OPTIONS = relay


@pytest.fixture
def behind(writer):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Behind) as one:
        one.daemon_threads, one.upstream, one.lost = True, writer.server.url.removeprefix("http://"), []
        one.refused, one.kept = {}, []
        thread = threading.Thread(target=one.serve_forever)
        thread.start()
        writer.ship.env["SMFLEET_SERVER"] = f"http://127.0.0.1:{one.server_port}"
        yield one
        one.shutdown()
        thread.join()


def test_an_older_server_tells_what_is_stated_to_who_may_read_it(writer, behind):
    behind.refused = {"/stated": 404}
    assert writer.run("j", "--hp", "lr=3e-4").returncode == 0
    told = writer.run("j", "--resume", "--hp", "lr=1e-4", "--hp", "seed=7", SMFLEET_TOKEN=writer.server.token)
    assert told.returncode == 0 and b"has lr = '3e-4'" in told.stderr, told.stderr
    assert writer.job("j")["HyperParameters"] == {"lr": "3e-4", "seed": "7"}
    hidden = writer.run("j", "--resume", "--hp", "seed=8")
    assert hidden.returncode == 0 and b"does not say what job 'j' states, which stays as it is" in hidden.stderr, hidden.stderr
    assert writer.job("j")["HyperParameters"]["seed"] == "7" and writer.lines("j") == LINES * 3


def test_an_older_server_keeps_the_end_of_a_job_whose_rest_comes(writer, behind, tmp_path):
    behind.refused = {"/stated": 404}
    leave_rest(writer, tmp_path)
    before = writer.job("j")["SecondaryStatusTransitions"]
    hidden = writer.ship.run("--send-rest")
    assert hidden.returncode == 4 and b"this needs the scope 'read'" in hidden.stderr, hidden.stderr
    sent = writer.ship.run("--send-rest", SMFLEET_TOKEN=writer.server.token)
    assert sent.returncode == 0 and b"that were left are with the server" in sent.stderr, sent.stderr
    assert list(writer.ship.spool.iterdir()) == []
    assert writer.job("j")["SecondaryStatusTransitions"] == before and writer.lines("j") == ["one", "two"]


@pytest.mark.parametrize("scope, options", (("write", ["--team", "vision"]), ("read", [])), ids=("of another team", "that only reads"))
def test_who_may_not_know_what_a_job_states_changes_nothing_of_it(writer, scope, options):
    assert writer.run("j", "--hp", "lr=3e-4").returncode == 0
    before = writer.job("j")
    wrong = make_token(writer.server, "wrong", scope, *options)
    refused = writer.run("j", "--resume", "--hp", "lr=1e-4", "--hp", "seed=7", "--instance-count", "4", SMFLEET_TOKEN=wrong)
    assert refused.returncode == 0 and b"does not say what job 'j' states, which stays as it is" in refused.stderr, refused.stderr
    assert b"nothing more is sent" in refused.stderr and b"5 lines of job 'j' and how it ended are kept in" in refused.stderr, refused.stderr
    assert writer.ship.run("--send-rest", SMFLEET_TOKEN=wrong).returncode == 4
    for key in ("HyperParameters", "ResourceConfig", "by_hand", "SecondaryStatusTransitions"):
        assert writer.job("j").get(key) == before.get(key), key
    assert writer.lines("j") == LINES
    sent = writer.ship.run("--send-rest")
    assert sent.returncode == 0, sent.stderr
    assert writer.lines("j") == LINES * 2 and writer.job("j")["HyperParameters"] == before["HyperParameters"]


def test_a_sender_that_is_not_told_what_a_job_states_sends_its_lines(writer, behind):
    assert writer.run("j", "--hp", "lr=3e-4").returncode == 0
    before = writer.job("j")
    behind.refused = {"/stated": 403}
    told = writer.run("j", "--resume", "--hp", "lr=1e-4", "--hp", "seed=7", "--instance-count", "4")
    assert told.returncode == 0 and b"does not say what job 'j' states, which stays as it is: not here" in told.stderr, told.stderr
    assert writer.lines("j") == LINES * 2 and writer.job("j")["TrainingJobStatus"] == "Completed"
    for key in ("HyperParameters", "ResourceConfig", "by_hand"):
        assert writer.job("j").get(key) == before.get(key), key


def test_what_is_left_waits_for_who_may_know_whether_its_job_is_over(writer, behind, tmp_path):
    leave_rest(writer, tmp_path)
    before = writer.job("j")["SecondaryStatusTransitions"]
    behind.refused = {"/stated": 403}
    hidden = writer.ship.run("--send-rest")
    assert hidden.returncode == 4 and b"not here" in hidden.stderr, hidden.stderr
    assert writer.lines("j") == ["one"] and list(writer.ship.spool.iterdir()) != []
    behind.refused = {}
    sent = writer.ship.run("--send-rest")
    assert sent.returncode == 0, sent.stderr
    assert writer.job("j")["SecondaryStatusTransitions"] == before and writer.lines("j") == ["one", "two"]


def run_until(writer, words, goal):
    """A command that prints its lines when sm-ship has said one of the words."""
    process = writer.ship.start("--job", "j", "--system", "--system-interval", "100ms", "--", "sh", "-c",
                                f"while [ ! -e {goal} ]; do sleep 0.05; done; {SAYS[2]}")
    said = b""
    for line in process.stderr:
        said += line
        if any(word in line for word in words):
            break
    goal.touch()
    _, rest = process.communicate(timeout=60)
    assert process.returncode == 0
    return said + rest


def test_what_is_dropped_of_the_machine_is_counted(writer, behind, tmp_path):
    behind.refused = {"/api/v1/points?job=j&stream=system": 413}
    said = run_until(writer, [b"did not take some of stream 'system/"], tmp_path / "goal")
    told = re.search(rb"(\d+) lines and points of --system were dropped because the server did not take them", said)
    replies = [writer.server.post("/api/v1/points?job=other&stream=s", body, headers=headers).body for body, headers in behind.kept]
    assert told and int(told[1]) == sum(reply["accepted"] for reply in replies) > 0, (said, replies)
    assert writer.lines("j") == LINES and writer.job("j")["TrainingJobStatus"] == "Completed"


@pytest.mark.parametrize("status", (401, 403))
def test_a_token_that_is_refused_for_the_machine_drops_nothing(writer, behind, tmp_path, status):
    behind.refused = {"/api/v1/points?job=j&stream=system": status}
    said = run_until(writer, [b"refuses: not here", b"did not take"], tmp_path / "goal")
    assert b"refuses: not here; nothing more is sent" in said and b"5 lines of job 'j' and how it ended are kept in" in said, said
    assert re.search(rb"\d+ lines and points of --system were dropped because only lines of the training are kept", said), said
    behind.refused = {}
    sent = writer.ship.run("--send-rest")
    assert sent.returncode == 0, sent.stderr
    assert writer.lines("j") == LINES and writer.job("j")["TrainingJobStatus"] == "Completed"
