"""sm-ship's relay between a training's W&B SDK and the server: the training never notices that the server is away, and each row is there
once. The real SDK."""

import json
import os
import re
import signal
import subprocess
import time

import pytest

import wandbclient
from howlong import IS_LONG, long
from smserver import ROOT, quote, wait_until
from test_relay import children, counts_at_the_end, finish, told_not_a_number, wait_for_line
from test_wandb import job, texts, values

PROLOGUE = wandbclient.PROLOGUE + """
def wait_for(name):  # a file that the test makes
    give({"waits": name})
    sys.stdout.flush()
    while not os.path.exists(name):
        time.sleep(0.02)
"""


@pytest.fixture
def train(ship, tmp_path):
    """train(script, options…): sm-ship with a training that logs by W&B's SDK; ended with the test."""
    started = []

    def start(script, *options, version=wandbclient.NEWEST, **more):
        folder = ROOT / f".cache/wandb-{version}"
        if not (folder / ".lock-stamp").exists():
            pytest.skip("needs `tests/run packages`")
        clean = {name: value for name, value in ship.env.items() if not name.startswith("WANDB_")}
        mine = {name: str(tmp_path / folder) for name, folder in (("WANDB_DIR", ""), ("WANDB_CONFIG_DIR", "config"),
            ("WANDB_CACHE_DIR", "cache"), ("WANDB_DATA_DIR", "data"), ("HOME", ""))}
        environment = {**clean, **mine, "PYTHONPATH": str(folder), "WANDB_ERROR_REPORTING": "false", **more}
        started.append(subprocess.Popen([ship.program, *options, "--", "/usr/bin/python3", "-c", PROLOGUE + script], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment, start_new_session=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def jobs(server):
    return sorted(row["TrainingJobName"] for row in server.get("/api/v1/jobs").body["jobs"])


@long
@pytest.mark.parametrize("version", wandbclient.VERSIONS)
def test_the_run_is_the_job_of_its_log(server, train, version):
    given, err = finish(train("""
run = wandb.init(project="exp", name="first", config={"lr": 0.1, "model": {"layers": 12}}, tags=["a"])
give({"name": run.name, "id": run.id, "url": run.url})
for step in range(20):
    print("line", step)
    run.log({"loss": 20.0 - step})
run.alert(title="loss", text="is high")
run.finish()
""", "--job", "shipped", version=version))
    assert jobs(server) == ["shipped"], err
    row = job(server, "shipped")
    assert row["TrainingJobStatus"] == "Completed" and row["attempts"] == 1
    assert {"lr": "0.1", "model.layers": "12"}.items() <= row["HyperParameters"].items()
    server.wait_for_points("shipped", "loss", 20)
    assert values(server, "shipped", "loss") == {step: 20.0 - step for step in range(20)}
    streams = {row["stream"] for row in server.get("/api/v1/jobs/shipped/streams").body["streams"]}
    assert "console" not in streams, "its output is there once"
    assert [line for line in texts(server, "shipped", "algo-1") if line.startswith("line ")] == [f"line {step}" for step in range(20)]
    assert texts(server, "shipped", "alerts") == ["INFO alert: loss: is high"]
    assert given[0]["name"] == "first" and server.url in given[0]["url"], "its address leads to the server"
    assert "not take" not in err and "dropped" not in err


def check(server, name, rows, err, code=3):
    """One job, one attempt, the right end; rows and lines once each."""
    server.wait_for_points(name, "loss", rows)
    assert jobs(server) == [name], err
    row = job(server, name)
    assert row["attempts"] == 1
    assert (row["TrainingJobStatus"], "exit" in row.get("FailureReason", "")) == (("Failed", True) if code else ("Completed", False)), row
    assert server.points(name, "loss", attempts="all")["total_points"] == rows
    assert values(server, name, "loss") == {step: 100.0 - step for step in range(rows)}
    assert [line for line in texts(server, name, "algo-1") if line.startswith("line ")] == [f"line {step}" for step in range(rows)]
    statuses = [part["Status"] for part in row["SecondaryStatusTransitions"]]
    assert statuses.count("Training") == 1 and statuses[-1] == ("Failed" if code else "Completed"), row["SecondaryStatusTransitions"]


def test_what_it_prints_behind_the_end_of_its_run_is_the_log_s_own(server, train):
    finish(train("""
import time
run = wandb.init(project="exp", name="rows")
for step in range(1, 11):
    run.log({"loss": 2.0 - step / 100}, step=step)
    print("INFO:", {"loss": 2.0 - step / 100}, flush=True)
run.finish()
time.sleep(5)  # the server hears of the end by the relay, later than the training goes on
for step in range(11, 31):
    print("INFO:", {"loss": 2.0 - step / 100 if step != 20 else float("nan")}, flush=True)
""", "--job", "rows"))
    wait_until(lambda: {("loss", 10), ("train:loss", 20)} <= set(counts_at_the_end(server, "rows")), what="what waited to the end")
    assert told_not_a_number(server) == ["train:loss"]


def test_a_run_that_goes_on_behind_its_end_has_its_rows_again(server, train):
    """In the same process: what it printed of the rows that the tracker is told is not read again."""
    finish(train("""
import time
def rows(first, last):
    for step in range(first, last):
        run.log({"loss": 2.0 - step / 100})
        print("INFO:", {"loss": 2.0 - step / 100}, flush=True)
        time.sleep(0.3)
run = wandb.init(project="exp", name="again")
rows(1, 11)
run.finish()
time.sleep(1)
run = wandb.init(project="exp", id=run.id, resume="must")
rows(11, 31)
run.finish()
time.sleep(1)
for step in range(31, 36):
    print("INFO:", {"loss": 2.0 - step / 100}, flush=True)
""", "--job", "again"))
    wait_until(lambda: ("train:loss", 5) in set(counts_at_the_end(server, "again")), what=f"the rows behind the second end: {counts_at_the_end(server, 'again')}")
    assert ("loss", 30) in set(counts_at_the_end(server, "again"))


@pytest.mark.parametrize("version, away, back", [(wandbclient.NEWEST, "at init", "after the end"),
    *((version, *when) for version in wandbclient.VERSIONS for when in (("at init", "in the middle"), ("in the middle", "after the end")) if IS_LONG)])
def test_the_server_is_away(server, train, tmp_path, version, away, back):
    port = server.port
    if away == "at init":
        server.kill()
    process = train("""
begun = time.monotonic()
run = wandb.init(project="away", name="one")
took = time.monotonic() - begun
def steps(first, last):
    for step in range(first, last):
        print("line", step, flush=True)
        run.log({"loss": 100.0 - step})
steps(0, 50)
wait_for("back")
steps(50, 100)
begun = time.monotonic()
run.finish()
took += time.monotonic() - begun
give({"finish": took})
sys.stdout.flush()
sys.exit(3 if took < 20 else 4)
""", "--job", "awayjob", version=version)
    wait_for_line(process, '"back"')
    assert children(process.pid, "python3")
    if away == "in the middle":
        wait_until(lambda: jobs(server) == ["awayjob"] and "line 49" in texts(server, "awayjob", "algo-1"), what="the first half")
        server.kill()
    if back == "in the middle":
        server.start(f"127.0.0.1:{port}")
    (tmp_path / "back").touch()
    if back == "after the end":
        wait_until(lambda: not children(process.pid, "python3"), what="the training's end")
        ended_s = time.time()
        server.start(f"127.0.0.1:{port}")
    _, err = finish(process, 3)
    check(server, "awayjob", 100, err)
    if back == "after the end":
        assert job(server, "awayjob")["TrainingEndTime"] <= ended_s, "it is not billed for the outage"


@long
def test_the_server_never_comes(server, ship, train):
    """
    The training ends as it would; what it told is kept, said so, and sent by the next sm-ship: alerts bear the time of theirs. What it printed,
    and how it ended, comes with --send-rest.
    """
    port = server.port
    server.kill()
    given, err = finish(train("""
begun = time.monotonic()
wandb.login(key="0123456789" * 4)  # a key of W&B's, by the code itself
run = wandb.init(project="never", id="one", name="first", resume="allow")
give({"resumed": run.resumed})
for step in range(40):
    run.log({"loss": 100.0 - step})
run.alert(title="loss", text="is high", level=wandb.AlertLevel.WARN)
raised = time.time()
run.finish()
again = wandb.init(project="never", id="one", resume="must")
give({"summary": again.summary["loss"], "name": again.name})
again.log({"loss": 60.0})
again.finish()
other = wandb.init(project="never", id="other", config={"lr": 0.5})
other.log({"loss": 1.0})
other.finish()
give({"took": time.monotonic() - begun, "raised": raised})
""", "--job", "neverjob", "--drain-timeout", "500ms"))
    facts = {name: value for row in given for name, value in row.items()}
    assert facts["took"] < 60 and (facts["summary"], facts["name"]) == (61.0, "first"), given
    assert "are kept in" in err
    server.start(f"127.0.0.1:{port}")
    assert ship.run("--job", "later", "--", "true").returncode == 0
    assert not list(ship.spool.glob("*.calls"))
    server.wait_for_points("neverjob", "loss", 41)
    assert jobs(server) == ["later", "never/other", "neverjob"]
    assert values(server, "neverjob", "loss") == {step: 100.0 - step for step in range(41)}
    assert job(server, "never/other")["HyperParameters"] == {"lr": "0.5"}
    assert "--send-rest" in err and ship.run("--send-rest").returncode == 0
    row = job(server, "neverjob")
    assert row["TrainingJobStatus"] == "Completed" and row["TrainingEndTime"] <= facts["raised"] + 30
    (line,) = server.lines("neverjob", "alerts")
    (alert,) = [row for row in server.get("/api/v1/incidents").body["incidents"] if row["kind"] == "training_alert"]
    for at in (line["ts_ms"] / 1000, alert["opened_ms"] / 1000 if "opened_ms" in alert else alert["opened"]):
        assert facts["raised"] - 5 <= at <= facts["raised"] + 1, (facts, line, alert)


@long
def test_a_run_of_another_training_goes_on(server, train):
    """By what the server says of it; a job of its own, that is not the job of the log."""
    wandbclient.run(server, wandbclient.NEWEST, """
run = wandb.init(project="go", id="on", config={"lr": 0.5})
for step in range(5):
    run.log({"loss": 100.0 - step})
run.summary["best"] = 3
run.finish()
""")
    given, err = finish(train("""
run = wandb.init(project="go", id="on", resume="must")
give([run.resumed, run.config["lr"], run.summary["best"]])
for step in range(5, 10):
    run.log({"loss": 100.0 - step})
run.finish()
give(["read", wandb.Api().run("any/go/on").summary["loss"]])
""", "--job", "again"))
    assert given == [[True, 0.5, 3], ["read", 91.0]], err
    assert jobs(server) == ["again", "go/on"]
    server.wait_for_points("go/on", "loss", 10)
    assert values(server, "go/on", "loss") == {step: 100.0 - step for step in range(10)}
    assert job(server, "go/on")["TrainingJobStatus"] == "Completed"


FILES = """
run = wandb.init(project="files", id="run", config={"api_key": "sk-SECRET123456", "lr": 0.1})
os.makedirs("sub/ä b", exist_ok=True)
open("sub/ä b/a#?%+.txt", "w").write("one" * 10000)
open("sub/empty", "w").close()
run.save("sub/ä b/*", base_path=".")
run.save("sub/empty", base_path=".")
run.log({"html": wandb.Html("<b>x</b>"), "loss": 1})
model = wandb.Artifact("weights", type="model")
model.add_file("sub/empty")
run.log_artifact(model)
run.finish()
"""


@pytest.mark.parametrize("is_resumed", [True, *([False] if IS_LONG else [])])
def test_a_restart_that_resumes_its_run_by_its_id(server, train, is_resumed):
    """The run goes on in its job. With --resume so does the log; else this start's log is a job of its own, and both are billed for it."""
    script = """
run = wandb.init(project="again", id="same", resume="allow")
for step in range(%d, %d):
    print("line", step)
    run.log({"loss": 20.0 - step}, step=step)
    time.sleep(0.1)
if %d == 0:
    sys.exit(2)  # it fails
run.finish()
"""
    first = train("import time\n" + script % (0, 10, 0), "--job", "J")
    first.communicate(timeout=180)
    assert first.returncode == 2
    wait_until(lambda: job(server, "J")["TrainingJobStatus"] == "Failed", what="the end of the first start")
    second = train("import time\n" + script % (10, 30, 10), "--job", "J", *["--resume"] * is_resumed)
    _, err = second.communicate(timeout=180)
    assert second.returncode == 0, err
    wait_until(lambda: len(values(server, "J", "loss")) == 30, what="the points of both starts in one job")
    wait_until(lambda: job(server, "J")["TrainingJobStatus"] == "Completed", what="the end of the second start")
    streams = {row["stream"] for row in server.get("/api/v1/jobs/J/streams").body["streams"]}
    if is_resumed:
        assert jobs(server) == ["J"] and "console" not in streams, err
        assert [line for line in texts(server, "J", "algo-1") if line.startswith("line ")] == [f"line {step}" for step in range(30)]
    else:
        assert jobs(server) == ["J", "J-2"] and "console" in streams
        assert "job 'J' has ended: this run is 'J-2' (--resume would go on with it)" in err
        assert [line for line in texts(server, "J-2", "algo-1") if line.startswith("line ")] == [f"line {step}" for step in range(10, 30)]
        assert job(server, "J-2")["BillableTimeInSeconds"] >= 2 <= job(server, "J")["BillableTimeInSeconds"]


@pytest.mark.parametrize("keeps, away", [(True, True), *([(True, False), (False, True), (False, False)] if IS_LONG else [])])
def test_files_of_a_run(make_server, train, ship, keeps, away):
    server = make_server(*(["--wandb-files"] if keeps else []))
    port = server.port
    if away:
        server.kill()
    _, err = finish(train(FILES, "--job", "filed", "--drain-timeout", "500ms" if away else "60s", SMFLEET_SERVER=server.url))
    if away:
        server.start(f"127.0.0.1:{port}")
        assert ship.run("--job", "later", "--", "true", SMFLEET_SERVER=server.url).returncode == 0
    names = {row["path"]: row["bytes"] for row in server.get("/api/v1/jobs/filed/attachments").body["attachments"]}
    tags = {tag["Key"]: tag["Value"] for tag in job(server, "filed")["Tags"]}
    assert not {"config.yaml", "output.log", "wandb-summary.json"} & names.keys(), "secrets are masked where these words are kept"
    if keeps:
        assert {"sub/ä b/a#?%+.txt": 30000, "sub/empty": 0}.items() <= names.items() and any(name.startswith("media/html/") for name in names), err
        assert server.get("/api/v1/jobs/filed/attachments/" + quote("sub/ä b/a#?%+.txt")).body in ("one" * 10000, b"one" * 10000)
        assert "weights: this server keeps no artifacts" in tags["smfleet.not_kept"], (tags, err)
    else:
        assert not names and "keeps no files" in tags["smfleet.not_kept"], tags
    assert "not take" not in err, err


ENVIRONMENT = "import json, os\nprint(json.dumps({name: value for name, value in os.environ.items() if name.startswith('WANDB_')}))"


def environment_of(ship, folder, *options, **more):
    clean = {name: value for name, value in ship.env.items() if not name.startswith("WANDB_")}
    process = subprocess.run([ship.program, "--job", "env", *options, "--", "/usr/bin/python3", "-c", ENVIRONMENT], cwd=folder,
        env={**clean, "HOME": str(folder), **more}, capture_output=True, timeout=60, check=True, text=True)
    return json.loads(process.stdout.splitlines()[-1]), process.stderr


def test_what_the_training_finds_in_its_environment(server, ship, tmp_path):
    found, _ = environment_of(ship, tmp_path)
    secret = found["WANDB_API_KEY"]
    assert re.fullmatch(r"[0-9a-f]{40}", secret) and re.fullmatch(rf"http://127\.0\.0\.1:\d+/{secret}", found["WANDB_BASE_URL"])
    assert found["WANDB_APP_URL"] == server.url
    found, err = environment_of(ship, tmp_path, WANDB_API_KEY="mine", WANDB_APP_URL="https://app.example")
    assert found["WANDB_API_KEY"] == "mine" and found["WANDB_APP_URL"] == "https://app.example" and "127.0.0.1" in found["WANDB_BASE_URL"]
    assert "runs of W&B go to" in err
    assert environment_of(ship, tmp_path, "--no-relay")[0] == {}
    (tmp_path / ".netrc").write_text("machine api.wandb.ai\n  login user\n  password mine\n")
    found, err = environment_of(ship, tmp_path)
    assert found["WANDB_API_KEY"] != "mine" and "runs of W&B go to" in err
    for name in ("WANDB_BASE_URL", "WANDB_MODE", *(["WANDB_DISABLED", "WANDB_SWEEP_ID", "WANDB_IDENTITY_TOKEN_FILE"] if IS_LONG else [])):
        assert environment_of(ship, tmp_path, **{name: "x"})[0] == {name: "x"}
    # one tracker of its own leaves the other
    assert "WANDB_BASE_URL" in environment_of(ship, tmp_path, MLFLOW_TRACKING_URI="sqlite:///x")[0]
    settings = tmp_path / "wandb/settings"
    settings.parent.mkdir()
    settings.write_text("[default]\nentity = me\n")
    assert "WANDB_BASE_URL" in environment_of(ship, tmp_path)[0]
    settings.write_text("[default]\nmode = offline\n")
    assert environment_of(ship, tmp_path)[0] == {}
    settings.unlink()
    own = tmp_path / ".config/wandb/settings"
    own.parent.mkdir(parents=True)
    own.write_text("[default]\nbase_url = https://wandb.example\n")
    assert environment_of(ship, tmp_path)[0] == {}


def test_only_the_training_may_write(server, ship, tmp_path):
    """Whoever has the address, by any key; nobody else."""
    script = """
import json, os, urllib.error, urllib.request
base = os.environ["WANDB_BASE_URL"]
def ask(url, body=b"{}", method="POST"):
    request = urllib.request.Request(url, body, {"Authorization": "Basic YXBpOngK"}, method=method)
    try:
        reply = urllib.request.urlopen(request)
        return reply.status, json.loads(reply.read())
    except urllib.error.HTTPError as e:
        return e.code, json.loads(e.read())
viewer = b'{"query": "query Viewer { viewer { id } }"}'
other = base[:-1] + ("0" if base[-1] != "0" else "1")
bare = base.rpartition("/")[0]
print(json.dumps([ask(base + "/graphql", viewer), *(ask(url + "/graphql", viewer)[0] for url in (other, bare, base[:-1])),
    ask(base + "/graphql", b"[]")[0], ask(base + "/graphql", b"{")[0], ask(base + "/graphql", b"{}")[0], ask(base + "/else")[0],
    ask(base + "/files/a/file_stream")[0], ask(base + "/graphql", b" " * 3000)[0], ask(base + "/graphql", b'{"query": "query Other { x }"}')]))
"""
    clean = {name: value for name, value in ship.env.items() if not name.startswith("WANDB_")}
    out = subprocess.run([ship.program, "--job", "guarded", "--relay-bytes", "2048", "--", "/usr/bin/python3", "-c", script], cwd=tmp_path, env=clean,
        capture_output=True, timeout=60, check=True)
    said = json.loads(out.stdout)
    assert said[0][0] == 200 and said[0][1]["data"]["viewer"]["entity"] == "smfleet"
    assert said[1:10] == [401, 401, 401, 400, 400, 400, 404, 400, 413]
    assert said[10][0] == 200 and said[10][1]["data"] is None and "no operation 'Other'" in said[10][1]["errors"][0]["message"]


@long
def test_a_server_that_is_killed_in_the_middle_of_it(server, train, tmp_path):
    """What was on its way is sent again: each row is there once, in whichever moment the server was killed; so are alerts."""
    port = server.port
    process = train("""
run = wandb.init(project="kills", name="often", settings=wandb.Settings(x_file_stream_transmit_interval=0.1))
give("begun")
sys.stdout.flush()
step = 0
while step < 400 or not os.path.exists("killed enough"):
    print("line", step, flush=True)
    run.log({"loss": 1000.0 - step})
    time.sleep(0.02 if step < 400 else 0.2)
    if step % 100 == 0:
        run.alert(title=f"at {step}", text="x", wait_duration=0)
    step += 1
run.finish()
give({"rows": step})
""", "--job", "often")
    wait_for_line(process, "begun")
    seen = 0

    def there():
        reply = server.get("/api/v1/jobs/often/points?metric=loss")
        return reply.body["total_points"] if reply.status == 200 else 0

    for _ in range(4):
        wait_until(lambda: there() > seen, what="rows")
        seen = there()
        server.kill()
        server.start(f"127.0.0.1:{port}")
    (tmp_path / "killed enough").touch()
    out, err = finish(process)
    rows = out[-1]["rows"]
    server.wait_for_points("often", "loss", rows)
    assert jobs(server) == ["often"] and server.points("often", "loss", attempts="all")["total_points"] == rows, err
    assert values(server, "often", "loss") == {step: 1000.0 - step for step in range(rows)}
    assert texts(server, "often", "alerts") == [f"INFO alert: at {step}: x" for step in range(0, rows, 100)]
    assert job(server, "often")["attempts"] == 1


@long
@pytest.mark.parametrize("is_away", [False, True])
def test_the_relay_is_killed(server, train, tmp_path, is_away):
    """Another one takes its place, which knows nothing of the run: what was answered is not lost."""
    port = server.port
    if is_away:
        server.kill()
    process = train("""
run = wandb.init(project="relayed", name="one")
for step in range(20):
    run.log({"loss": 100.0 - step})
wait_for("killed")
for step in range(20, 40):
    run.log({"loss": 100.0 - step})
run.finish()
""", "--job", "relayed")
    wait_for_line(process, '"killed"')
    (relay,) = children(process.pid, "sm-ship relay")
    os.kill(relay, signal.SIGKILL)
    (tmp_path / "killed").touch()
    if is_away:
        server.start(f"127.0.0.1:{port}")
    _, err = finish(process)
    assert "was killed; another one goes on" in err
    server.wait_for_points("relayed", "loss", 40)
    assert values(server, "relayed", "loss") == {step: 100.0 - step for step in range(40)} and jobs(server) == ["relayed"]


@long
def test_sm_ship_is_killed_while_the_server_is_away(server, ship, train, tmp_path):
    """Nobody else says then how the job ended: the run does."""
    port = server.port
    server.kill()
    process = train("""
run = wandb.init(project="orphan", name="one")
run.log({"loss": 100.0})
wait_for("killed")
run.log({"loss": 99.0})
run.finish()
open("done", "w").write("done")
""", "--job", "orphaned", "--drain-timeout", "1s")
    wait_for_line(process, '"killed"')
    process.send_signal(signal.SIGKILL)
    process.wait()
    (tmp_path / "killed").touch()
    wait_until((tmp_path / "done").exists, what="the training to end by itself")
    server.start(f"127.0.0.1:{port}")
    wait_until(lambda: ship.run("--job", "later", "--", "true").returncode == 0 and not list(ship.spool.glob("*.calls")),
        what="the calls to be sent")
    server.wait_for_points("orphaned", "loss", 2)
    assert job(server, "orphaned")["TrainingJobStatus"] == "Completed"


@pytest.mark.parametrize("is_away", [True, *([False] if IS_LONG else [])])
def test_what_a_training_prints_whose_sm_ship_was_killed_is_there_once(server, ship, train, tmp_path, is_away):
    """Its log has it, by --send-rest: W&B's client, which hands over the same lines, says so by the relay that lives on, or by what that left.
    A process that resumes the run without sm-ship has no other place for them."""
    port = server.port
    if is_away:
        server.kill()
    process = train("""
run = wandb.init(project="printed", id="one")
print("line 0", flush=True)
run.log({"loss": 100.0})
wait_for("killed")
for number in range(1, 20):
    print("line", number, flush=True)
    run.log({"loss": 100.0 - number})
run.finish()
open("done", "w").write("done")
""", "--job", "printed")
    wait_for_line(process, '"killed"')
    if not is_away:
        wait_until(lambda: "printed" in jobs(server), what="the job")
    process.send_signal(signal.SIGKILL)
    process.wait()
    (tmp_path / "killed").touch()
    wait_until((tmp_path / "done").exists, what="the training to end by itself")
    if is_away:
        server.start(f"127.0.0.1:{port}")
    wait_until(lambda: ship.run("--send-rest").returncode == 0 and not list(ship.spool.iterdir()), what="the rest to be sent")
    server.wait_for_points("printed", "loss", 20)
    streams = [row["stream"] for row in server.get("/api/v1/jobs/printed/streams").body["streams"]]
    assert "console" not in streams, texts(server, "printed", "console")
    lines = [f"line {number}" for number in range(20)]
    wait_until(lambda: [line for line in texts(server, "printed", "algo-1") if line.startswith("line ")] == lines, what="what it printed, once")
    wandbclient.run(server, wandbclient.NEWEST, """
run = wandb.init(project="printed", id="one", resume="must")
print("line 20", flush=True)
run.log({"loss": 80.0})
run.finish()
""")
    assert [line for line in texts(server, "printed", "console") if line.startswith("line ")] == ["line 20"]


@long
@pytest.mark.parametrize("version", wandbclient.VERSIONS)
def test_what_sm_ship_measures_is_there_once(server, train, version):
    finish(train("""
run = wandb.init(project="measured", name="one", settings=wandb.Settings(x_stats_sampling_interval=1))
time.sleep(20 if wandb.__version__ < "0.24" else 4)
run.finish()
""", "--job", "measured", "--system", "--system-interval", "1s", version=version))
    (system,) = [row["stream"] for row in server.get("/api/v1/jobs/measured/streams").body["streams"] if row["stream"].startswith("system/")]

    def count(metric):
        return server.points("measured", metric, stream=system)["total_points"]

    server.wait_for_extraction()
    assert count("memory_used_percent") == count("memory_used_gib")
    assert abs(count("cpu_percent") - count("network_sent_mb_s")) <= 3, "rates begin with the second measurement, and need time to have passed"
    assert count("system.proc.memory.rssMB") > 0, "what only W&B measures is there"


@long
@pytest.mark.parametrize("version", wandbclient.VERSIONS)
def test_processes_share_a_run(server, train, version):
    """Both under one sm-ship: each one's rows once, and both of its words."""
    _, err = finish(train("""
if len(sys.argv) == 1:
    import subprocess
    script = open("/proc/self/cmdline").read().split(chr(0))[2]
    sys.exit(max(process.wait() for process in [subprocess.Popen([sys.executable, "-c", script, rank]) for rank in "01"]))
rank = sys.argv[1]
run = wandb.init(project="shared", id="all", settings=wandb.Settings(mode="shared", x_primary=rank == "0", x_label="rank" + rank, x_update_finish_state=rank == "0"))
for step in range(20):
    run.log({"loss/rank" + rank: step})
run.finish()
""", "--job", "shared", version=version))
    assert jobs(server) == ["shared"], err
    for rank in "01":
        server.wait_for_points("shared", f"loss/rank{rank}", 20)
        assert values(server, "shared", f"loss/rank{rank}") == {step: step for step in range(20)}
    assert job(server, "shared")["TrainingJobStatus"] == "Completed"
