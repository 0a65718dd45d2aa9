"""python -m smfleet import wandb: a project of W&B, as its public API answers (wandb/apis/public of wandb 0.31), becomes jobs."""

import csv
import datetime
import http.server
import io
import json
import os
import subprocess
import threading
import time

import pytest

from smserver import ROOT, quote

ROWS, T0 = 2_300, 1_700_000_000
NAMED = 'name="demo/gpt 7"'
AXES = {"value": {"m": [{"2": "eval/*", "5": 2}, {"1": "epoch"}], "e": {"x1": {"startedAt": "2023-11-14T22:13:20.000000Z"}}}}


def history():
    """Two axes of steps; steps that are left out, values that are no numbers."""
    rows = []
    for n in range(ROWS):
        row = {"_step": 2 * n, "_timestamp": T0 + n / 2, "_runtime": n / 2, "loss": "NaN" if n == 7 else 4 / (n + 1)}
        if n % 100 == 0:
            row |= {"epoch": n // 100, "eval/acc": n / ROWS}
        rows.append(row)
    return rows


RUNS = {
    "abc1": {"displayName": "gpt 7", "state": "finished", "history": history(), "log": "first line\nsecond line\n", "user": {"username": "ada"},
        "config": {"lr": {"value": 3e-4}, "_wandb": AXES}, "tags": ["a", "b"], "createdAt": "2023-11-14T22:13:20", "heartbeatAt": "2023-11-14T22:32:30"},
    "abc2": {"displayName": "other", "state": "crashed", "history": history()[:5], "log": None, "user": None, "config": {}, "tags": [],
        "createdAt": "2023-11-14T22:13:20Z", "heartbeatAt": "2023-11-14T22:13:30Z"},
    "abc3": {"displayName": "live", "state": "running", "history": [], "log": None, "user": None, "config": {}, "tags": [],
        "createdAt": "2023-11-14T22:13:20", "heartbeatAt": "2023-11-14T22:13:30"},
}


class Source(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def reply(self, body, status=200):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.server.keys.append(self.headers["Authorization"])
        if self.path.startswith("/elsewhere/"):
            self.send_response(302)
            self.send_header("Location", f"http://localhost:{self.server.server_port}/direct/{self.path.split('/')[-1]}")
            self.send_header("Content-Length", "0")
            return self.end_headers()
        if self.server.guards and self.headers["Authorization"] != "Basic YXBpOmtleQ==":
            return self.reply(b"a token is needed", 401)
        text = self.server.runs[self.path.split("/")[-1]]["log"].encode()
        if self.server.cuts:
            self.server.cuts -= 1
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n" + text)
            self.close_connection = True
            return
        self.reply(text)

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        variables = asked["variables"]
        self.server.asked.append((asked["operationName"], variables))
        if self.headers["Authorization"] != "Basic YXBpOmtleQ==":  # api:key
            return self.reply(b'{"errors": [{"message": "permission denied"}]}', 401)
        if asked["operationName"] == "HistoryPage" and variables["minStep"] >= self.server.breaks_at:
            return self.reply(b'{"errors": [{"message": "no such page today"}]}')
        self.reply(json.dumps({"data": {"project": self.answer(asked["operationName"], variables)}}).encode())

    def answer(self, operation, variables):
        if variables["project"] != "demo":
            return None
        if operation == "Runs":
            names = sorted(self.server.runs)
            first = int(variables["cursor"] or 0)
            return {"runs": {"edges": [{"node": self.node(name)} for name in names[first:first + 2]],
                "pageInfo": {"endCursor": str(first + 2), "hasNextPage": first + 2 < len(names)}}}
        if operation == "HistoryPage":
            rows = [row for row in self.server.runs[variables["run"]]["history"] if variables["minStep"] <= row["_step"] < variables["maxStep"]]
            apart = -(-len(rows) // variables["pageSize"]) or 1  # of more than are asked for some that stand for all
            return {"run": {"history": [json.dumps(row) for row in rows[::apart]]}}
        assert operation == "RunFiles"
        run = self.server.runs[variables["name"]]
        if run.get("is_gone"):
            return {"run": None}
        files = ["config.yaml", *(["output.log"] if run["log"] else [])]
        return {"run": {"fileCount": len(files), "files": {"edges": [
            {"node": {"name": name, "directUrl": run.get("direct", f"/direct/{variables['name']}"), "sizeBytes": "1"}}
            for name in files if name in variables["names"]]}}}

    def node(self, name):
        run = self.server.runs[name]
        return {"name": name, **{key: run[key] for key in ("displayName", "state", "tags", "createdAt", "heartbeatAt", "user")},
            "config": json.dumps(run["config"]), "summaryMetrics": json.dumps({"loss": 1}), "group": None, "jobType": None, "notes": None,
            "historyKeys": {"keys": {}, "lastStep": run.get("last", run["history"][-1]["_step"])} if run["history"] else None}


@pytest.fixture
def source():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Source)
    server.breaks_at, server.cuts, server.asked, server.runs = 10 ** 9, 0, [], dict(RUNS)
    server.guards, server.keys = False, []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def move(server, source, *arguments, key="key"):
    mine = {name: value for name, value in os.environ.items() if not name.startswith(("WANDB_", "SMFLEET_"))}
    return subprocess.run(["/usr/bin/python3", "-m", "smfleet", "import", *arguments, "--server", server.url], capture_output=True, text=True,
        timeout=60, env={**mine, "PYTHONPATH": str(ROOT / "clients"), "WANDB_BASE_URL": f"http://127.0.0.1:{source.server_port}", "WANDB_API_KEY": key})




def points(server, metric):
    """[(step, time, value)] of the large run, every one."""
    rows = csv.DictReader(io.StringIO(server.get(f"/api/v1/points?metric={quote(metric)}&q={quote(NAMED)}&format=csv").body))
    return [(int(row["step"]), int(row["ts_ms"]), repr(float(row["value"]))) for row in rows]


def test_a_project_is_here_as_it_was(server, source):
    source.breaks_at = 3000  # the run has 4600 steps
    broken = move(server, source, "wandb", "lab/demo")
    assert broken.returncode == 3 and "no such page today; start it again" in broken.stderr, broken.stderr
    source.breaks_at = 10 ** 9
    moved = move(server, source, "wandb", "lab/demo")
    assert moved.returncode == 0, moved.stderr
    said = moved.stderr
    assert "3 runs of lab/demo are jobs" in said and "1 of the runs have not ended" in said and "3 files of runs" in said
    assert f"{ROWS - 1000 + 5} rows and 2 lines are new" in said, "the first thousand rows were there already"
    server.wait_for_points("demo/gpt 7", "loss", ROWS)
    assert points(server, "loss") == [(row["_step"], T0 * 1000 + int(row["_runtime"] * 1000), repr(float(row["loss"]))) for row in history()]
    assert points(server, "eval/acc") == [(row["epoch"], T0 * 1000 + int(row["_runtime"] * 1000), repr(float(row["eval/acc"])))
        for row in history() if "epoch" in row]
    first = server.get("/api/v1/jobs/demo%2Fgpt%207").body
    assert first["TrainingJobStatus"] == "Completed" and first["TrackedRunId"].endswith("demo/abc1")
    assert (first["TrainingStartTime"], first["TrainingEndTime"]) == (T0, T0 + 1150), "W&B heard of it half a second behind its last row"
    assert first["HyperParameters"]["lr"] == "0.0003" and first["HyperParameters"]["wandb_user"] == "ada"
    assert [line["text"] for line in server.lines("demo/gpt 7", "console")] == ["first line", "second line"]
    assert server.get("/api/v1/jobs/demo%2Fother").body["TrainingJobStatus"] == "Failed"
    again = move(server, source, "wandb", "lab/demo")
    assert again.returncode == 0 and "0 rows and 0 lines are new" in again.stderr
    assert len(points(server, "loss")) == ROWS
    after = server.get("/api/v1/jobs/demo%2Fgpt%207").body
    assert (after["TrainingJobStatus"], after["TrainingEndTime"]) == ("Completed", first["TrainingEndTime"])
    assert len(server.get("/api/v1/jobs").body["jobs"]) == 3


def test_a_console_that_grows(server, source):
    """Half a line is taken when it is whole; a reply that is cut short is asked for again."""
    source.runs = {"abc3": {**RUNS["abc3"], "log": "one\nhalf"}}
    source.cuts = 1
    assert "0 rows and 1 lines are new" in move(server, source, "wandb", "lab/demo").stderr
    source.runs["abc3"] = {**RUNS["abc3"], "log": "one\nhalf and rest\nlast", "state": "finished"}
    assert "0 rows and 2 lines are new" in move(server, source, "wandb", "lab/demo").stderr
    assert [line["text"] for line in server.lines("demo/live", "console")] == ["one", "half and rest", "last"]


def test_a_run_that_went_back_goes_back_here(server, source):
    """Rows are at every second step; what was thrown away at the source is an older attempt here."""
    def rows(first, last, at_s, value):
        return [{"_step": 2 * n, "_timestamp": T0 + at_s + n / 2, "loss": value + n} for n in range(first, last)]

    def holds():
        columns = server.points("demo/live", "loss", buckets=1000)["columns"]
        return dict(zip(columns["x"], columns["last"]))
    known = rows(0, 200, 0, 0)
    # (rows that stay, rows that are new there, how many of them the import brings)
    for kept, new in ((0, known), (150, rows(150, 250, 1000, 1000)), (250, []), (250, rows(250, 260, 1100, 2000)), (255, rows(255, 257, 2000, 3000))):
        known = known[:kept] + new
        source.runs = {"abc3": {**RUNS["abc3"], "history": known, "state": "finished"}}
        moved = move(server, source, "wandb", "lab/demo")
        assert moved.returncode == 0 and f" {len(new)} rows and 0 lines are new" in moved.stderr, (kept, moved.stderr)
        server.wait_for_extraction()
        assert holds() == {row["_step"]: row["loss"] for row in known}, kept
    assert server.points("demo/live", "loss", attempts="all")["total_points"] == 200 + 100 + 10 + 2
    job = server.get("/api/v1/jobs/demo%2Flive").body
    assert (job["TrainingJobStatus"], job["attempts"]) == ("Completed", 3) and job["TrainingEndTime"] == T0 + 2000 + 128
    source.runs = {"abc3": {**RUNS["abc3"], "history": rows(0, 300, 9000, 0), "state": "finished"}}
    other = move(server, source, "wandb", "lab/demo")
    assert other.returncode == 4 and "none of the rows that its job has are W&B's any more" in other.stderr, other.stderr


def test_steps_that_are_far_apart(server, source):
    """By rows and not by steps: a run that counts tokens is read in some requests, and does not keep the others waiting."""
    far = [{"_step": step, "_timestamp": T0 + n, "loss": n / 4} for n, step in enumerate([*range(10), 10**7, *range(10**12, 10**12 + 3_000), 2**52, 2**53])]
    source.runs = {**RUNS, "abc0": dict(RUNS["abc2"], displayName="far", history=far)}
    source.breaks_at = 2**60
    done = move(server, source, "wandb", "lab/demo")
    assert done.returncode == 0 and f"4 runs of lab/demo are jobs; {len(far) + ROWS + 5} rows" in done.stderr, done.stderr
    server.wait_for_points("demo/far", "loss", len(far))
    rows = csv.DictReader(io.StringIO(server.get("/api/v1/jobs/demo%2Ffar/points?metric=loss&raw=true&format=csv").body))
    assert [int(row["step"]) for row in rows] == [row["_step"] for row in far]
    asked = [variables for operation, variables in source.asked if operation == "HistoryPage" and variables["run"] == "abc0"]
    assert len(asked) < 200 and all(variables["maxStep"] > variables["minStep"] for variables in asked)


def test_a_run_that_nobody_understands_is_in_the_way_of_none(server, source):
    source.runs = {**RUNS, "abc0": dict(RUNS["abc2"], displayName="odd", last="many")}
    done = move(server, source, "wandb", "lab/demo")
    assert done.returncode == 4 and "run abc0 ('odd') is not moved, or not as a whole: W&B's answer about it is not understood" in done.stderr, done.stderr
    assert f"3 runs of lab/demo are jobs; {ROWS + 5} rows" in done.stderr


def test_a_run_that_ended_again_ends_when_it_did(server, source):
    def end_at(rows):
        at = datetime.datetime.fromtimestamp(rows[-1]["_timestamp"] + 0.01, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")
        source.runs = {"abc3": {**RUNS["abc3"], "history": rows, "state": "finished", "heartbeatAt": at, "createdAt": begun}}
        assert move(server, source, "wandb", "lab/demo").returncode == 0
        return server.get("/api/v1/jobs/demo%2Flive").body
    start = int(time.time()) - 1000
    begun = datetime.datetime.fromtimestamp(start, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    first = [{"_step": n, "_timestamp": start + n, "loss": n} for n in range(101)]
    assert end_at(first)["TrainingEndTime"] == pytest.approx(start + 100.01, abs=0.002)
    now = round(time.time(), 2)  # it went on behind the import
    again = [{"_step": 101 + n, "_timestamp": now + n / 100, "loss": n} for n in range(3)]
    job = end_at(first + again)
    assert job["TrainingJobStatus"] == "Completed" and job["TrainingEndTime"] == pytest.approx(now + 0.03, abs=0.002)
    assert job["BillableTimeInSeconds"] in (100, 101)


def test_a_job_in_the_trash_is_named_and_the_others_are_moved(server, source):
    assert move(server, source, "wandb", "lab/demo").returncode == 0
    assert server.delete(f"/api/v1/jobs/{quote('demo/gpt 7')}").status in (200, 202, 204)
    source.runs["abc2"] = {**RUNS["abc2"], "history": history()[:8]}
    moved = move(server, source, "wandb", "lab/demo")
    assert moved.returncode == 4 and "run abc1 ('gpt 7') is not moved" in moved.stderr and "was deleted: restore its job" in moved.stderr, moved.stderr
    assert "2 runs of lab/demo are jobs; 3 rows and 0 lines are new" in moved.stderr


def test_a_run_that_is_in_the_way_of_none(server, source):
    """Long lines of Chinese are three bytes a sign; a run that is gone, or whose console is no address of HTTP, is named and passed over."""
    text = "\u4e2d" * 5000
    source.runs = {"abc1": {**RUNS["abc3"], "displayName": "gone", "is_gone": True},
        "abc2": {**RUNS["abc3"], "displayName": "local", "log": "x\n", "direct": "file:///etc/hostname"},
        "abc3": {**RUNS["abc3"], "log": 600 * (text + "\n")}}
    moved = move(server, source, "wandb", "lab/demo")
    assert moved.returncode == 4, moved.stderr
    assert "run abc1 ('gone') is not moved, or not as a whole: W&B has it no more" in moved.stderr
    assert "run abc2 ('local') is not moved" in moved.stderr and "no address of HTTP" in moved.stderr
    assert "1 runs of lab/demo are jobs; 0 rows and 600 lines are new" in moved.stderr
    assert {line["text"] for line in server.lines("demo/live", "console")} == {text}


def test_the_key_is_shown_to_whom_it_was_given_for(server, source):
    source.guards = True
    source.runs = {"abc1": {**RUNS["abc1"], "history": history()[:3]}, "abc2": {**RUNS["abc1"], "displayName": "moved on", "direct": "/elsewhere/abc1"},
        "abc3": {**RUNS["abc1"], "displayName": "last", "history": history()[:2], "direct": f"http://localhost:{source.server_port}/direct/abc1"}}
    source.runs["abc2"]["history"] = history()[:4]
    moved = move(server, source, "wandb", "lab/demo")
    assert moved.returncode == 4 and "1 runs of lab/demo are jobs; 3 rows and 2 lines are new" in moved.stderr, moved.stderr
    assert source.keys == ["Basic YXBpOmtleQ==", "Basic YXBpOmtleQ==", None, None], "neither where it is sent on to, nor at another's address"
    for name, rows in (("moved on", 4), ("last", 2)):
        assert f"('{name}') is not moved, or not as a whole: its output.log: " in moved.stderr and "status 401" in moved.stderr
        server.wait_for_points(f"demo/{name}", "loss", rows)
        assert server.get(f"/api/v1/jobs/{quote('demo/' + name)}").body["TrainingJobStatus"] == "Completed", "what there is of it has its end"
    source.guards = False
    again = move(server, source, "wandb", "lab/demo")
    assert again.returncode == 0 and "0 rows and 4 lines are new" in again.stderr, again.stderr


def test_what_cannot_be_read_is_said(server, source):
    none = move(server, source, "wandb", "lab/none")
    assert none.returncode == 3 and "has no project lab/none\n" in none.stderr
    denied = move(server, source, "wandb", "lab/demo", key="wrong")
    assert denied.returncode == 3 and "permission denied" in denied.stderr
    assert move(server, source, "wandb", "lab").returncode == 2 and move(server, source, "neptune", "x").returncode == 2
    assert server.get("/api/v1/jobs").body["jobs"] == []


def test_runs_move_from_one_server_of_ours_to_another(make_server):
    """Fifty runs with two axes of steps: what the first one's door says is every point."""
    old, new = make_server(), make_server()
    config = json.dumps({"lr": {"value": 0.5}, "model": {"value": {"layers": 2}}, "shape": {"value": ["é", 2]}, "_wandb": AXES}, ensure_ascii=False, separators=(",", ":"))
    for n in range(50):
        assert not old.post("/graphql", json={"operationName": "UpsertBucket", "variables": {"project": "demo", "name": f"run{n:02}", "config": config, "tags": ["t"]}}).body.get("errors")
        rows = [json.dumps({**row, "loss": row["loss"] if row["loss"] == "NaN" else row["loss"] + n}) for row in history()[:100 + n]]
        body = {"files": {"wandb-history.jsonl": {"offset": 0, "content": rows}, "wandb-summary.json": {"offset": 0, "content": ['{"best": 1}']}}, "complete": n != 49, "exitcode": 3 * (n % 2)}
        if n == 1:
            body["ended_ms"] = 1000 * T0 + 50_900  # behind its last row
        assert old.post(f"/files/any/demo/run{n:02}/file_stream", json=body).status == 200
    old.wait_for_extraction()
    mine = {name: value for name, value in os.environ.items() if not name.startswith(("WANDB_", "SMFLEET_"))}

    def move_all():
        return subprocess.run(["/usr/bin/python3", "-m", "smfleet", "import", "wandb", "any/demo", "--server", new.url], capture_output=True, text=True,
            timeout=60, env={**mine, "PYTHONPATH": str(ROOT / "clients"), "WANDB_BASE_URL": old.url, "WANDB_API_KEY": "key"})
    moved = move_all()
    assert moved.returncode == 0 and "50 runs of any/demo are jobs" in moved.stderr, moved.stderr
    new.wait_for_extraction()

    def all_points(server, metric):
        query = quote('name~"demo/"')
        return sorted(server.get(f"/api/v1/points?metric={quote(metric)}&q={query}&format=csv").body.splitlines())
    for metric, count in (("loss", sum(100 + n for n in range(50))), ("eval/acc", 99), ("epoch", 99)):
        assert all_points(new, metric) == all_points(old, metric) and len(all_points(new, metric)) == count + 1
    for job in ("demo/run00", "demo/run01", "demo/run49"):
        before, after = (server.get(f"/api/v1/jobs/{quote(job)}").body for server in (old, new))
        for name in ("TrainingJobStatus", "HyperParameters", "TrainingStartTime", *(["TrainingEndTime"] if job != "demo/run49" else [])):
            assert after[name] == before[name], (job, name)
        if job == "demo/run01":
            assert after["TrainingEndTime"] == T0 + 50.9
    reasons = [server.get("/api/v1/jobs/demo%2Frun01").body["FailureReason"] for server in (old, new)]
    assert reasons == ["the run ended with exit code 3", "the run ended as failed"], "W&B keeps no code"
    assert "0 rows and 0 lines are new" in move_all().stderr
