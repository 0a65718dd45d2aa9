"""W&B's own SDK, unchanged: what training code calls, and what becomes of it."""

import base64
import json
import re
import time

import pytest

import wandbclient
from awsclients import token_of
from howlong import long
from smserver import ROOT, Server, quote, wait_until


def job(server, name):
    reply = server.get(f"/api/v1/jobs/{quote(name)}")
    assert reply.status == 200, reply
    return reply.body


def texts(server, name, stream="console"):
    return [line["text"] for line in server.lines(name, stream)]


def values(server, name, metric):
    """{step: value}"""
    columns = server.points(name, metric)["columns"]
    return dict(zip(columns["x"], columns["last"]))


def attempts(server, name, metric):
    """[{step: value}] of each attempt, whatever is superseded of it."""
    count = job(server, name)["attempts"]
    rows = [server.points(name, metric, attempts=number, buckets=1000)["columns"] for number in range(1, count + 1)]
    return [dict(zip(columns["x"], columns["last"])) for columns in rows]


TRAINING = """
run = wandb.init(project="exp", name="first", tags=["a", "b"], notes="a note", group="g", job_type="train",
    config={"lr": 0.1, "model": {"layers": 12, "kind": "gpt 2"}, "password": "hunter2hunter2"})
run.define_metric("global_step")
run.define_metric("eval/*", step_metric="global_step")
print("the console begins")
for step in range(20):
    values = {"loss": 5 - step / 10, "deep": {"er": {"x": step}}, "text": "no number"}
    if step % 5 == 0:
        values |= {"eval/loss": step / 2, "global_step": 1000 * step}
    if step == 7:
        values |= {"acc": float("nan"), "huge": float("inf")}
    run.log(values)
print("a traceback", file=sys.stderr)
run.summary["best"] = 1.5
run.finish()
"""


@pytest.mark.parametrize("version", wandbclient.VERSIONS)
def test_a_run_is_a_job(server, version):
    wandbclient.run(server, version, TRAINING)
    row = job(server, "exp/first")
    assert row["TrainingJobStatus"] == "Completed"
    assert row["HyperParameters"].pop("password").startswith("***")
    assert row["HyperParameters"] == {"lr": "0.1", "model.layers": "12", "model.kind": "gpt 2"}
    tags = {tag["Key"]: tag["Value"] for tag in row["Tags"]}
    assert {"wandb.name": "first", "wandb.tags": "a,b", "wandb.notes": "a note", "wandb.group": "g", "wandb.job_type": "train"}.items() <= tags.items()
    server.wait_for_points("exp/first", "loss", 20)
    assert values(server, "exp/first", "loss") == {step: pytest.approx(5 - step / 10) for step in range(20)}
    assert values(server, "exp/first", "deep.er.x") == {step: step for step in range(20)}
    assert values(server, "exp/first", "eval/loss") == {0: 0, 5000: 2.5, 10000: 5, 15000: 7.5}  # by its own axis
    for metric in ("acc", "huge"):
        assert server.points("exp/first", metric)["columns"]["non_finite"] == [1]
    assert server.get("/api/v1/jobs/exp%2Ffirst/points?metric=text").status == 404
    assert [line for line in texts(server, "exp/first") if line in ("the console begins", "a traceback")] == ["the console begins", "a traceback"]
    found = server.get(f"/api/v1/jobs?q={quote('hp.lr=0.1 and tag.wandb.group=g')}").body["jobs"]
    assert [row["TrainingJobName"] for row in found] == ["exp/first"]


@pytest.mark.parametrize("version", wandbclient.VERSIONS)
def test_how_a_run_ends_and_goes_on(server, version):
    """Each part of it lies between what its process saw: before and behind init, which takes seconds on a busy machine, and the process's end."""
    script = """
asked = time.time()
run = wandb.init(project="ends", id="same", resume=sys.argv[1], config={"lr": 0.5} if sys.argv[1] == "allow" else None)
begun = time.time()
give([run.config["lr"], run.summary.get("best")])
for _ in range(5):
    run.log({"loss": 10 - run.step})
run.summary["best"] = 3
time.sleep(1)
give({"ran": [asked, begun, time.time()]})
sys.exit(int(sys.argv[2]))
"""
    first = wandbclient.run(server, version, script, "allow", 3, code=3)
    gone = [time.time()]
    assert "[0.5, null]" in first
    failed = job(server, "ends/same")
    assert (failed["TrainingJobStatus"], failed["FailureReason"]) == ("Failed", "the run ended with exit code 3")
    again = wandbclient.run(server, version, script, "must", 0)
    gone.append(time.time())
    assert "[0.5, 3]" in again, again
    assert job(server, "ends/same")["TrainingJobStatus"] == "Completed"
    server.wait_for_points("ends/same", "loss", 10)
    assert sorted(values(server, "ends/same", "loss")) == list(range(10))
    spans = [json.loads(line)["ran"] for out in (first, again) for line in out.splitlines() if line.startswith('{"ran"')]
    parts = [part for part in job(server, "ends/same")["SecondaryStatusTransitions"] if part["Status"] == "Training"]
    for (asked, begun, ended), left, part in zip(spans, gone, parts, strict=True):
        assert asked - 1 <= part["StartTime"] <= begun + 1 and ended - 1 <= part["EndTime"] <= left + 1, (spans, gone, parts)
    streams = {row["stream"] for row in server.get("/api/v1/jobs/ends%2Fsame/streams").body["streams"]}
    assert "system/host" not in streams, streams
    if version == wandbclient.NEWEST:  # older ones measure for the first time after 15 seconds
        assert any(name.startswith("system/") for name in streams), streams


@pytest.mark.parametrize("version", wandbclient.VERSIONS)
def test_a_process_that_dies_goes_on(server, version):
    script = """
run = wandb.init(project="dies", id="one", resume="allow")
for _ in range(3):
    run.log({"loss": run.step})
print("so far", flush=True)
if sys.argv[1] == "die":
    sys.stdin.read()
"""
    process = wandbclient.start(server, version, script, "die")
    wait_until(lambda: server.get("/api/v1/jobs/dies%2Fone").status == 200 and server.wait_for_points("dies/one", "loss", 3), what="the first points")
    process.kill()
    process.communicate()
    assert job(server, "dies/one")["TrainingJobStatus"] == "InProgress"
    wandbclient.run(server, version, script, "end")
    server.wait_for_points("dies/one", "loss", 6)
    assert job(server, "dies/one")["TrainingJobStatus"] == "Completed"


@long
@pytest.mark.parametrize("version", wandbclient.VERSIONS)
def test_a_run_goes_back_and_goes_on(server, version):
    script = """
run = wandb.init(project="back", **({"resume_from": "one?_step=4"} if sys.argv[1] == "again" else {"id": "one", "config": {"lr": 0.5}}))
give([run.id, run.config["lr"]])
for step in range(int(sys.argv[2]), int(sys.argv[3])):
    print(sys.argv[1], "line", step)
    run.log({"loss": step + int(sys.argv[4])})
run.finish()
"""
    assert '["one", 0.5]' in wandbclient.run(server, version, script, "first", 0, 10, 0)
    server.wait_for_points("back/one", "loss", 10)
    out = wandbclient.run(server, version, script, "again", 5, 13, 100)
    assert '["one", 0.5]' in out, out
    assert [row["TrainingJobName"] for row in server.get("/api/v1/jobs").body["jobs"]] == ["back/one"]
    wanted = {step: step if step < 5 else step + 100 for step in range(13)}
    wait_until(lambda: values(server, "back/one", "loss") == wanted, what=f"the points; they are {values(server, 'back/one', 'loss')}")
    assert server.points("back/one", "loss", attempts="all")["total_points"] == 18  # nothing is deleted
    assert attempts(server, "back/one", "loss") == [{step: step for step in range(10)}, {step: step + 100 for step in range(5, 13)}]
    assert job(server, "back/one")["TrainingJobStatus"] == "Completed"
    assert [line for line in texts(server, "back/one") if " line " in line] == [
        *(f"first line {n}" for n in range(10)), *(f"again line {n}" for n in range(5, 13))]
    resumed = 'run = wandb.init(project="back", id="one", resume="must")\nrun.log({"loss": 200})\nrun.finish()'
    wandbclient.run(server, version, resumed)
    wanted[13] = 200
    wait_until(lambda: values(server, "back/one", "loss") == wanted, what=f"the next step; they are {values(server, 'back/one', 'loss')}")
    assert "has no run with the id 'other'" in wandbclient.run(server, version, 'wandb.init(project="back", resume_from="other?_step=4")', code=1)


@long
@pytest.mark.parametrize("version", wandbclient.VERSIONS)
def test_a_run_that_was_forked_goes_on_with_the_other(server, version):
    script = """
run = wandb.init(project="fork", **({"id": "child", "fork_from": sys.argv[4]} if len(sys.argv) > 4 else {"id": "one", "config": {"lr": 0.5}}))
for step in range(int(sys.argv[1]), int(sys.argv[2])):
    run.log({"loss": step + int(sys.argv[3])})
run.finish()
"""
    wandbclient.run(server, version, script, 0, 10, 0)
    wandbclient.run(server, version, script, 5, 13, 100, "one?_step=4")
    server.wait_for_points("fork/one", "loss", 10)
    server.wait_for_points("fork/child", "loss", 8)
    assert values(server, "fork/child", "loss") == {step: step + 100 for step in range(5, 13)}
    tags = {tag["Key"]: tag["Value"] for tag in job(server, "fork/child")["Tags"]}
    assert (tags["continues"], tags["wandb.fork_from"]) == ("fork/one", "one?_step=4")
    assert [row["TrainingJobName"] for row in server.get("/api/v1/jobs/fork%2Fchild/run").body["jobs"]] == ["fork/one", "fork/child"]
    chain = server.points("fork/child", "loss", chain="true", buckets=1000)["columns"]
    assert dict(zip(chain["x"], chain["last"])) == {step: step if step < 5 else step + 100 for step in range(13)}
    assert "has no run with the id 'other'" in wandbclient.run(server, version, script, 0, 1, 0, "other?_step=4", code=1)


@pytest.mark.parametrize("version", wandbclient.VERSIONS)
def test_an_offline_run_is_sent_twice(server, version):
    out = wandbclient.run(server, version, """
begun = time.time()
run = wandb.init(project="off", name="line", mode="offline")
for step in range(50):
    run.log({"loss": step})
    print("line", step)
    if step < 3:
        run.alert(title="loss", text="is high", wait_duration=0)
run.finish()
give({"ran": [begun, time.time()]})
""")
    begun, ended = next(json.loads(line)["ran"] for line in out.splitlines() if line.startswith('{"ran"'))
    wait_until(lambda: time.time() > ended + 2, what="a sync that is later than its run")
    (folder,) = (server.folder / "wandb").glob("offline-run-*")
    for _ in range(2):
        wandbclient.sync(server, version, folder)
        server.wait_for_points("off/line", "loss", 50)
        (folder / f"{next(folder.glob('run-*.wandb')).name}.synced").unlink(missing_ok=True)
    server.wait_for_extraction()
    assert values(server, "off/line", "loss") == {step: step for step in range(50)}
    assert server.points("off/line", "loss")["total_points"] == 50  # its keys come in another order each time
    assert [line for line in texts(server, "off/line") if line.startswith("line ")] == [f"line {n}" for n in range(50)]
    assert texts(server, "off/line", "alerts") == 3 * ["INFO alert: loss: is high"]
    assert [row["kind"] for row in server.get("/api/v1/incidents").body["incidents"]].count("training_alert") == 1
    row = job(server, "off/line")
    assert row["TrainingJobStatus"] == "Completed"
    assert begun - 1 <= row["TrainingStartTime"] <= row["TrainingEndTime"] <= ended + 1 and row["CreationTime"] == row["TrainingStartTime"]
    assert all(line["ts_ms"] <= 1000 * ended + 1000 for line in server.lines("off/line", "console"))


def sync_again(server, version, folder):
    wandbclient.sync(server, version, folder)
    for told in folder.glob("*.synced"):
        told.unlink()


OFFLINE_PART = """
begun = time.time()
run = wandb.init(project="off", id="parts", name="parts", mode="offline", resume=None if sys.argv[2] == "None" else sys.argv[2])
worked = time.time()
for step in range(int(sys.argv[1]), int(sys.argv[1]) + 5):
    run.log({"loss": step})
    print(f"printed at {step}")
    time.sleep(0.2)
ended = time.time()
run.finish()
give({"ran": [begun, time.time()], "worked": [worked, ended]})
"""


@pytest.mark.parametrize("order, resume", [
    ((0, 1), "allow"), ((1, 0), None), pytest.param((0, 1), None, marks=long), pytest.param((1, 0), "allow", marks=long)])
def test_offline_parts_of_one_run_are_billed_as_they_were(server, order, resume):
    """Two processes without a network, of one id: whichever is sent first, and however often, each is billed for its own time."""
    version, ran, worked, folders = wandbclient.NEWEST, [], [], []
    for part in range(2):
        out = wandbclient.run(server, version, OFFLINE_PART, 5 * part, "allow" if part else resume)
        given = next(json.loads(line) for line in out.splitlines() if line.startswith('{"ran"'))
        ran.append(given["ran"])
        worked.append(given["worked"])
        (folder,) = set((server.folder / "wandb").glob("offline-run-*")) - set(folders)
        folders.append(folder)
        wait_until(lambda: time.time() > ran[-1][1] + 4, what="a time without a process, and a sync that is later than both")
    least, most = (sum(ended - begun for begun, ended in times) for times in (worked, ran))  # to begin and to finish takes its time on a busy machine

    def check(when):
        server.wait_for_extraction()
        row = wait_until(lambda: (row := job(server, "off/parts"))["metrics"][0]["count"] >= 10 and row, what="the points")
        assert row["TrainingJobStatus"] == "Completed", (when, row)
        assert ran[0][0] - 1 <= row["TrainingStartTime"] <= worked[0][0] + 1 and worked[1][1] - 1 <= row["TrainingEndTime"] <= ran[1][1] + 1, (when, ran, worked, row)
        assert least - 1 <= row["BillableTimeInSeconds"] <= most + 1, (when, ran, worked, row)
        assert server.points("off/parts", "loss", attempts="all")["total_points"] == 10, when
        printed = [line["text"] for line in server.lines("off/parts", "console") if line["text"].startswith("printed at ")]
        assert sorted(printed) == [f"printed at {step}" for step in range(10)], (when, printed)
        return {name: value for name, value in row.items() if name not in ("LastModifiedTime", "last_heard_ms")}

    for index in order:
        sync_again(server, version, folders[index])
    before = check("once")
    for index in order:
        sync_again(server, version, folders[index])
        assert check(f"part {index} again") == before


@long
def test_the_sync_of_a_run_that_was_cut_off_is_not_its_end(server):
    """It was online, and killed: it has the time at which it was at work last, whenever the rest of it is sent."""
    version = wandbclient.NEWEST
    out = wandbclient.run(server, version, """
run = wandb.init(project="off", id="cut", name="cut")
for step in range(40):
    run.log({"loss": step})
    time.sleep(0.5)  # what it has is written each 15 seconds
give({"ran": time.time()})
sys.stdout.flush()
os.kill(os.getpid(), 9)
""", code=-9)
    ended = next(json.loads(line)["ran"] for line in out.splitlines() if line.startswith('{"ran"'))
    wait_until(lambda: time.time() > ended + 8, what="a sync that is later than its run")
    (folder,) = (server.folder / "wandb").glob("run-*")
    wandbclient.sync(server, version, folder, "--no-skip-online")
    row = wait_until(lambda: job(server, "off/cut"), what="the job")
    assert row["TrainingJobStatus"] == "Failed" and ended - 20 < row["TrainingEndTime"] < ended + 1, row


@long
@pytest.mark.parametrize("version", wandbclient.VERSIONS)
def test_what_a_process_did_behind_its_last_log_is_billed(server, version):
    out = wandbclient.run(server, version, """
begun = time.time()
run = wandb.init(project="exp", name="quiet", settings=wandb.Settings(x_disable_stats=True))
for step in range(20):
    run.log({"loss": step}, step=step)  # a row is sent with the next one, or at the end
    time.sleep(0.2)
time.sleep(66)  # an evaluation
run.finish()
give({"ran": [begun, time.time()]})
""")
    begun, ended = next(json.loads(line)["ran"] for line in out.splitlines() if line.startswith('{"ran"'))
    row = job(server, "exp/quiet")
    assert row["TrainingJobStatus"] == "Completed" and 70 <= row["BillableTimeInSeconds"] <= ended - begun + 1, row
    assert begun - 1 <= row["TrainingStartTime"] and row["TrainingEndTime"] <= ended + 1, row


@pytest.mark.parametrize("version", wandbclient.VERSIONS)
def test_nan_is_an_incident(server, version):
    wandbclient.run(server, version, """
run = wandb.init(project="nan", name="run")
for step in range(10):
    run.log({"loss": float("nan") if step == 8 else 2.0})
""")
    kinds = wait_until(lambda: [row["kind"] for row in server.get("/api/v1/incidents").body["incidents"]], what="an incident")
    assert "non_finite" in kinds


@pytest.mark.parametrize("version", wandbclient.VERSIONS)
def test_what_is_not_kept_never_ends_a_training(server, version):
    begun = time.monotonic()
    out = wandbclient.run(server, version, """
run = wandb.init(project="media", name="run")
import base64, struct, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
open("x.png", "wb").write(b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(b"\\0\\0")) + chunk(b"IEND", b""))
run.log({"table": wandb.Table(columns=["a"], data=[[1]]), "html": wandb.Html("<b>x</b>"), "hist": wandb.Histogram(np_histogram=([1, 2], [0, 1, 2])), "loss": 1})
try:
    run.log({"img": wandb.Image("x.png")}, commit=False)
except Exception as error:  # without Pillow the client itself cannot
    give(["image", str(error)])
open("file.txt", "w").write("x")
run.save("file.txt")
artifact = wandb.Artifact("model", type="model")
artifact.add_file("file.txt")
run.log_artifact(artifact)
run.alert(title="loss", text="is high", level=wandb.AlertLevel.WARN)
run.log({"loss": 2})
run.finish()
try:
    artifact.wait()
except ValueError as error:
    give({"waited": str(error)})
""")
    assert time.monotonic() - begun < 45, "finish() waits for no upload"
    server.wait_for_points("media/run", "loss", 2)
    row = job(server, "media/run")
    assert row["TrainingJobStatus"] == "Completed", out
    assert "no artifacts" in next(json.loads(line)["waited"] for line in out.splitlines() if line.startswith('{"waited"')), "who waits is told"
    (told,) = [tag["Value"] for tag in row["Tags"] if tag["Key"] == "smfleet.not_kept"]
    losses = re.findall(r'wandb_not_kept job="media/run" what="(.*?): this server', server.log_text())
    assert any(told.startswith(f"{loss}: this server keeps no ") for loss in losses), (told, losses)
    files = " ".join(losses)
    assert "model" in losses and re.search("run-[a-z0-9]+-table", files), losses
    told = [loss for loss in losses if re.match(r"media/|file\.txt", loss)]  # which of them come in one request is the client's
    assert sum(1 + int((re.search(r" and (\d+) more", loss) or [0, 0])[1]) for loss in told) >= 3, losses
    assert not re.search("output.log|wandb-metadata.json|requirements.txt|config.yaml", files), "what the client sends of its own accord"
    assert texts(server, "media/run", "alerts") == ["WARN alert: loss: is high"]
    (row,) = [row for row in server.get("/api/v1/incidents").body["incidents"] if row["kind"] == "training_alert"]
    assert (row["job"], row["severity"], row["evidence"]["title"], row["evidence"]["text"]) == ("media/run", "warning", "loss", "is high")


FILES = """
run = wandb.init(project="files", id="run", config={"password": "hunter2hunter2"})
import base64, struct, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
open("x y.png", "wb").write(b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(b"\\0\\0")) + chunk(b"IEND", b""))
run.log({"table": wandb.Table(columns=["a"], data=[[1]]), "html": wandb.Html("<b>x</b>"), "loss": 1})
os.makedirs("sub/ä b", exist_ok=True)
open("sub/ä b/a#?%.txt", "w").write("one")
open("sub/empty", "w").close()
run.save("sub/ä b/*", base_path=".")
run.save("sub/empty", base_path=".")
run.save("x y.png")
open("large.bin", "wb").write(os.urandom(int(sys.argv[1])))
run.save("large.bin")
run.log({"loss": 2})
run.finish()
try:
    api = wandb.Api()
    run = api.run("any/files/run")
    files = {file.name: file.size for file in run.files(per_page=2)}
    give({"files": files})
    with run.file("sub/ä b/a#?%.txt").download(root="got") as file:
        give({"content": file.read()})
except Exception as error:
    give({"api": repr(error)})
"""


@pytest.mark.parametrize("version", wandbclient.VERSIONS)
def test_files_of_a_run_are_kept_with_its_job(tmp_path, version):
    server = Server(tmp_path, "--wandb-files", "--max-attachment-bytes", "20000").start()
    try:
        write, read = (token_of(server, *words)[0] for words in (("red", "--scope", "write", "--team", "red"), ("all", "--scope", "read")))
        begun = time.monotonic()
        out = wandbclient.run(server, version, FILES, 20_001, token=write)
        assert time.monotonic() - begun < 45, "nothing is sent again and again"
        rows = server.get("/api/v1/jobs/files%2Frun/attachments", token=read).body["attachments"]
        said = {}
        for line in out.splitlines():
            said |= json.loads(line) if line.startswith('{"') else {}
        assert said["files"] == {row["path"]: row["bytes"] for row in rows} and said["content"] == "one", out
        media = [row["path"] for row in rows if re.fullmatch(r"media/(html/html_\w+\.html|table/table_\w+\.table\.json)", row["path"])]
        assert len(media) == 2, rows
        assert {"sub/ä b/a#?%.txt", "sub/empty", "x y.png", "requirements.txt", "wandb-metadata.json"} | set(media) == set(said["files"])
        assert {row["author"] for row in rows} == {"red"}
        row = server.get("/api/v1/jobs/files%2Frun", token=read).body
        assert row["TrainingJobStatus"] == "Completed"
        # What is too large is refused, which the client survives; older ones send it twice.
        assert "large.bin: the file 'large.bin' has 20001 bytes, more than 20000" in {tag["Key"]: tag["Value"] for tag in row["Tags"]}["smfleet.not_kept"]
        logs = "".join(path.read_text(errors="replace") for path in tmp_path.rglob("*.log"))
        assert "uploadHeaders" in logs and write not in logs and base64.b64encode(f"api:{write}".encode()).decode() not in logs
    finally:
        server.close()


@pytest.mark.parametrize("version", wandbclient.VERSIONS)
def test_processes_share_a_run(server, version):
    script = """
rank = sys.argv[1]
run = wandb.init(project="shared", id="all", settings=wandb.Settings(mode="shared", x_primary=rank == "0", x_label="rank" + rank, x_update_finish_state=rank == "0"))
for step in range(20):
    run.log({"loss/rank" + rank: step})
    print("line", step)
if rank == "0":
    sys.stdin.read()
run.finish()
"""
    primary = wandbclient.start(server, version, script, 0)
    wait_until(lambda: server.get("/api/v1/jobs/shared%2Fall").status == 200, what="the run")
    wandbclient.run(server, version, script, 1)
    server.wait_for_points("shared/all", "loss/rank1", 20)
    assert job(server, "shared/all")["TrainingJobStatus"] == "InProgress", "the primary one goes on"
    wandbclient.finish(primary)  # its input ends
    server.wait_for_points("shared/all", "loss/rank0", 20)
    row = job(server, "shared/all")
    assert row["TrainingJobStatus"] == "Completed"
    lines = [f"line {step}" for step in range(20)]
    if version == wandbclient.NEWEST:  # older ones measure for the first time after 15 seconds, by which their label is known
        for rank in "01":
            assert [text for text in texts(server, "shared/all", "rank" + rank) if text.startswith("line")] == lines
        streams = {row["stream"] for row in server.get("/api/v1/jobs/shared%2Fall/streams").body["streams"]}
        assert {"system/rank0", "system/rank1"} <= streams and "console" not in streams, streams
        assert "not_kept" not in str(row.get("Tags")), "the console is not lost"
    else:
        streams = {row["stream"] for row in server.get("/api/v1/jobs/shared%2Fall/streams").body["streams"]}
        said = [text for stream in streams & {"console", "rank0", "rank1"} for text in texts(server, "shared/all", stream) if "line " in text]
        assert sorted(text.partition("] ")[2] or text for text in said) == sorted(2 * lines)


@long
@pytest.mark.parametrize("version", wandbclient.VERSIONS)
def test_what_the_api_says_of_a_run(server, version):
    out = wandbclient.run(server, version, """
run = wandb.init(project="read", id="r1", name="one", tags=["a", "b"], group="g", job_type="train", notes="n", config={"lr": 0.5, "kind": "gpt"})
for step in range(3):
    run.log({"loss": 3 - step})
run.summary["best"] = 1.5
run.finish()
api = wandb.Api()
run = api.run("any/read/r1")
give([run.state, run.name, run.id, run.config, run.summary["best"], run.summary["loss"], sorted(run.tags), run.group, run.job_type, run.notes])
try:
    api.run("any/read/none")
except Exception as error:
    give(["missing", "Could not find run" in str(error)])
run.delete()
give(["deleted", len(api.runs("any/read"))])
""")
    assert '["deleted", 0]' in out, out[-3000:]
    assert server.get("/api/v1/jobs/read%2Fone").status == 404 and [row["TrainingJobName"] for row in server.get("/api/v1/trash").body["jobs"]] == ["read/one"]
    assert '["finished", "one", "r1", {"kind": "gpt", "lr": 0.5}, 1.5, 1, ["a", "b"], "g", "train", "n"]' in out.replace('{"lr": 0.5, "kind": "gpt"}', '{"kind": "gpt", "lr": 0.5}'), out[-3000:]
    assert '["missing", true]' in out, out[-3000:]


@pytest.mark.parametrize("version", wandbclient.VERSIONS)
def test_an_axis_that_goes_back_without_a_pause_begins_an_attempt(server, version):
    """Many rows are of one millisecond, and all series are in one body: it is one attempt, of the loss as of its axis."""
    wandbclient.run(server, version, """
run = wandb.init(project="axis", name="back", id="back")
run.define_metric("train/gs")
run.define_metric("train/*", step_metric="train/gs")
for first, last, more in ((0, 50, 0), (30, 80, 0.5)):
    for n in range(first, last):
        run.log({"train/gs": n * 20, "train/loss": 2 - n / 100 + more})
run.finish()
""")
    server.wait_for_points("axis/back", "train/loss", 80)
    server.wait_for_extraction()
    first, second = attempts(server, "axis/back", "train/loss")
    assert list(first) == list(range(0, 981, 20)) and list(second) == list(range(600, 1581, 20))
    restarts = server.get("/api/v1/jobs/axis%2Fback/continuity").body["restarts"]
    assert [(row["first_step"], row["overlap_steps"]) for row in restarts] == [(600, 20)]


@pytest.mark.parametrize("version", wandbclient.VERSIONS)
def test_the_api_changes_a_run_that_ended(server, version):
    out = wandbclient.run(server, version, """
run = wandb.init(project="change", id="r1", name="one", tags=["a"], notes="n", config={"lr": 0.5})
run.define_metric("tokens")
run.define_metric("loss", step_metric="tokens")
for step in range(5):
    run.log({"loss": 5 - step, "tokens": 1000 * step})
run.finish()
api = wandb.Api()
before = list(api.run("any/change/r1").scan_history())
run = api.run("any/change/r1")
run.tags.append("b")
run.notes = "changed"
run.config["layers"] = 12
run.display_name = run.name = "two"
run.update()
run.summary["best"] = 1.5
run.summary.update()
run = wandb.Api().run("any/change/r1")
give({"said": [run.state, sorted(run.tags), run.notes, run.config, run.summary["best"], run.summary["loss"], run.name]})
give({"same": list(run.scan_history()) == before, "rows": len(before)})
""")
    said = {}
    for line in out.splitlines():
        said |= json.loads(line) if line.startswith('{"') else {}
    assert said["said"] == ["finished", ["a", "b"], "changed", {"lr": 0.5, "layers": 12}, 1.5, 1, "two"], out[-3000:]
    assert said["same"] is True and said["rows"] == 5
    assert [row["TrainingJobName"] for row in server.get("/api/v1/jobs").body["jobs"]] == ["change/one"], "no run is made of a change"
    server.wait_for_points("change/one", "loss", 5)
    assert values(server, "change/one", "loss") == {1000 * step: 5 - step for step in range(5)}


READ = """
def log(run, rows):
    run.define_metric("global_step")
    run.define_metric("eval/*", step_metric="global_step")
    for step in range(rows):
        values = {"loss": float("nan") if step == 7 else 5 - step / 10}
        if step % 5 == 0:
            values |= {"eval/loss": step / 2, "global_step": 100 * step}
        run.log(values)
    run.finish()
"""


@pytest.mark.parametrize("version", wandbclient.VERSIONS)
def test_the_api_reads_the_history(server, version):
    out = wandbclient.run(server, version, READ + """
for n in range(3):
    log(wandb.init(project="rows", id=f"r{n}", config={"lr": n}), 1200 if n == 0 else 20)
again = wandb.init(project="rows", id="r2", resume="must")  # and says nothing of its axes
again.log({"loss": 9})
again.finish()
api = wandb.Api()
runs = api.runs("any/rows", per_page=2)
give({"runs": [len(runs), [[one.id, one.state, one.config] for one in runs]]})
give({"filtered": [one.id for one in api.runs("any/rows", filters={"display_name": {"$in": ["r1", "r2"]}, "state": "finished"}, order="-created_at", per_page=1)]})
run = api.run("any/rows/r0")
give({"rows": list(run.scan_history())})
give({"range": [row["_step"] for row in run.scan_history(min_step=990, max_step=1010, page_size=7)]})
give({"keys": list(run.scan_history(keys=["loss", "eval/loss"], min_step=10, max_step=40))})
give({"last": run.lastHistoryStep})
give({"again": [list(api.run("any/rows/r2").scan_history(keys=keys)) for keys in (None, ["loss", "eval/loss"], ["global_step", "eval/loss"])]})
give({"all": run.history(pandas=False), "few": run.history(keys=["global_step", "eval/loss"], samples=10, pandas=False)})
for asked in (lambda: api.runs("any/none")[0], lambda: api.runs("any/rows", filters={"config.lr.value": 1})[0], lambda: run.history(stream="system", pandas=False)):
    try:
        asked()
    except Exception as error:
        give({"refused": str(error)})
""")
    said, refused = {}, []
    for line in out.splitlines():
        if line.startswith('{"'):
            row = json.loads(line)
            refused += [row["refused"]] if "refused" in row else []
            said |= row
    assert said["runs"] == [3, [[f"r{n}", "finished", {"lr": n}] for n in range(3)]]
    assert said["filtered"] == ["r2", "r1"] and said["last"] == 1199
    assert len(said["rows"]) == 1200
    for step, row in enumerate(said["rows"]):
        wanted = {"_step": step, "loss": "NaN" if step == 7 else pytest.approx(5 - step / 10)}
        if step % 5 == 0:
            wanted |= {"eval/loss": step / 2, "global_step": 100 * step}
        assert row.pop("_timestamp") > 1.7e9 and row.pop("_runtime") >= 0
        assert row == wanted
    assert said["range"] == list(range(990, 1010))
    last = 40 if version == wandbclient.NEWEST else 41  # older ones ask for one more
    assert [(row["_step"], row["eval/loss"]) for row in said["keys"]] == [(step, step / 2) for step in range(10, last, 5)]
    everything, *some = said["again"]
    assert [row["_step"] for row in everything] == list(range(21)), "each call of log is one row"
    assert [[row["_step"] for row in rows if "eval/loss" in row] for rows in said["again"]] == 3 * [[0, 5, 10, 15]]
    assert len(said["all"]) == 500 and (said["all"][0]["_step"], said["all"][-1]["_step"]) == (0, 1199)
    assert len(said["few"]) == 10 and [said["few"][n]["global_step"] for n in (0, -1)] == [0, 119_500] and all(row["eval/loss"] * 200 == row["global_step"] for row in said["few"])
    for words, error in zip(("Could not find project none", "not by 'config.lr.value'", "no system metrics"), refused, strict=True):
        assert words in error, refused


STARS = """
run = wandb.init(project="stars", id="one", resume="allow")
for metric, axis in json.loads(sys.argv[1]):
    run.define_metric(metric, step_metric=axis)
first = int(sys.argv[2])
for n in range(first, first + 100):
    row = {"train/loss": 3 - n / 100, "gs": 5 * n}
    run.log(row | ({"val/acc": n / 200, "epoch": n // 10} if n % 10 == 9 else {}))
run.finish()
run = wandb.Api().run("any/stars/one")
give([list(run.scan_history()), list(run.scan_history(keys=["val/acc"])), list(run.scan_history(keys=["train/loss", "val/acc"])),
    run.history(samples=1000, pandas=False)])
"""


@pytest.mark.parametrize("axes", [
    [["gs", None], ["*", "gs"], ["epoch", None], ["val/*", "epoch"]],
    [["gs", None], ["epoch", "gs"], ["train/*", "gs"], ["val/*", "epoch"]],
], ids=["all-by-one", "an-axis-by-another"])
@pytest.mark.parametrize("version", wandbclient.VERSIONS)
def test_what_one_call_logged_is_one_row_where_an_axis_has_one_itself(server, version, axes):
    for first in (0, 100):
        out = wandbclient.run(server, version, STARS, json.dumps(axes), str(first))
    everything, accs, both, sampled = json.loads(next(line for line in out.splitlines() if line.startswith("[[")))
    assert len(everything) == 200, everything[:12]
    for n, row in enumerate(everything):
        wanted = {"train/loss": pytest.approx(3 - n / 100), "gs": 5 * n}
        wanted |= {"val/acc": n / 200, "epoch": n // 10} if n % 10 == 9 else {}
        assert {key: value for key, value in row.items() if not key.startswith("_")} == wanted
    assert sampled == everything
    for rows in (accs, both):
        assert [(row["_step"], row["val/acc"]) for row in rows] == [(row["_step"], row["val/acc"]) for row in everything if "val/acc" in row]


BACK_AGAIN = """
for number, (begin, end) in enumerate(json.loads(sys.argv[1])):
    run = wandb.init(project="again", id="one", resume="allow")
    if not number:
        run.define_metric("train/*", step_metric="global_step")
        run.define_metric("eval/*", step_metric="global_step")
    for step in range(begin, end):
        row = {"train/loss": 1000 * number + step, "global_step": step}
        run.log(row | ({"eval/loss": 1000 * number - step} if step % 5 == 0 else {}))
        if step % 10 == 9:
            run.log({"beside": 1000 * number + step})  # a row without the axis
    run.finish()
run = wandb.Api().run("any/again/one")
give([list(run.scan_history()), list(run.scan_history(page_size=7)), list(run.scan_history(keys=["global_step", "eval/loss"])),
    run.history(samples=1000, pandas=False), run.history(samples=5, pandas=False)])
"""


def rows_that_stay(lives):
    """What was logged by a run whose lives each went back to where they begin: of each step the newest, in the order of the rows."""
    rows, at = [], 0
    for number, (begin, end) in enumerate(lives):
        rows = [(step, row) for step, row in rows if step < begin]
        for step in range(begin, end):
            row = {"_step": at, "train/loss": 1000 * number + step, "global_step": step}
            rows.append((step, row | ({"eval/loss": 1000 * number - step} if step % 5 == 0 else {})))
            at += 1
            if step % 10 == 9:
                rows.append((step, {"_step": at, "beside": 1000 * number + step}))
                at += 1
    return [row for _, row in rows]


def test_the_history_of_a_run_that_went_back_again_and_again_by_its_own_axis(server):
    lives = [(0, 60), (40, 55), (30, 50), (45, 70)]  # to within the life before, and to before it
    out = wandbclient.run(server, wandbclient.NEWEST, BACK_AGAIN, json.dumps(lives))
    said = json.loads(next(line for line in out.splitlines() if line.startswith("[[")))
    everything, by_pages, by_keys, sampled, few = [
        [{key: value for key, value in row.items() if key not in ("_timestamp", "_runtime")} for row in rows] for rows in said]
    wanted = rows_that_stay(lives)
    assert everything == wanted and by_pages == wanted and sampled == wanted
    assert [(row["global_step"], row["eval/loss"]) for row in by_keys] == [(row["global_step"], row["eval/loss"]) for row in wanted if "eval/loss" in row]
    assert len(few) == 5 and all(row in wanted for row in few)


def test_the_example_of_the_documentation(server):
    text = (ROOT / "docs/wandb.md").read_text()
    example = re.search(r"^```python\n(.*?)^```", text, re.M | re.S).group(1)
    wandbclient.run(server, wandbclient.NEWEST, example)
    server.wait_for_points("pretrain/gpt-7", "loss", 100)
    assert job(server, "pretrain/gpt-7")["HyperParameters"] == {"lr": "0.0003", "layers": "12"}


BESIDE_AN_AXIS = """
for begin, end in json.loads(sys.argv[1]):
    run = wandb.init(project="beside", id="one", resume="allow")
    run.define_metric("train/*", step_metric="trainer/global_step")
    for step in range(begin, end):
        run.log({"train/loss": 9 - step / 100, "trainer/global_step": step, "plain": step})
    run.finish()
give(len(list(wandb.Api().run("any/beside/one").scan_history(keys=["plain"]))))
"""


def test_a_metric_by_rows_beside_a_loss_that_goes_back_by_its_own_axis(server):
    """Of each step the newest row is there; the steps of rows only go on."""
    out = wandbclient.run(server, wandbclient.NEWEST, BESIDE_AN_AXIS, json.dumps([[0, 100], [80, 220], [200, 300]]))
    assert json.loads(next(line for line in out.splitlines() if line.strip() == "300")) == 300, out[-2000:]
    job = server.get("/api/v1/jobs").body["jobs"][0]["TrainingJobName"]
    for metric in ("train/loss", "plain"):
        server.wait_for_points(job, metric, 300)
    rows = [*range(80), *range(100, 220), *range(240, 340)]
    drawn = server.points(job, "plain", buckets=2000)["columns"]
    assert drawn["x"] == rows and drawn["last"] == list(range(300))
