"""sm-search and sm_search.py against a server: formats, pages, exit codes."""

import csv
import io
import json
import os
import subprocess
import sys
import time

import pytest
from smserver import ROOT, wait_until


@pytest.fixture
def jobs(server):
    """Three jobs: two that run, one that failed."""
    for name in ("llama-1", "llama-2", "vit"):
        document = {"TrainingJobName": name, "HyperParameters": {"lr": "0.1"}, "Tags": [{"Key": "team", "Value": "a,b"}]}
        assert server.post("/api/v1/jobs", json=document).status < 300
        transition = {"SecondaryStatus": "Training", "time_ms": 1_700_000_000_000}
        assert server.post(f"/api/v1/jobs/{name}/transitions", json=transition).status < 300
    transition = {"SecondaryStatus": "Failed", "FailureReason": "exit code 1", "time_ms": 1_700_000_060_000}
    assert server.post("/api/v1/jobs/vit/transitions", json=transition).status < 300


def runner(server, *program):
    def run(*args, **env):
        clean = {key: value for key, value in os.environ.items() if not key.startswith("SMFLEET_")}
        return subprocess.run([*program, *args], capture_output=True, timeout=30, text=True,
                              env={**clean, "SMFLEET_SERVER": server.url, **env})
    return run


@pytest.fixture
def sm_search(server):
    """For what the one-file client does not have."""
    return runner(server, str(server.bin("sm-search")))


@pytest.fixture(params=["sm-search", "sm_search.py"])
def search(server, sm_search, request):
    return sm_search if request.param == "sm-search" else runner(server, sys.executable, str(ROOT / "clients/sm_search.py"))


def test_rows_as_ndjson(jobs, search):
    result = search("llama", "--ndjson")
    assert result.returncode == 0, result.stderr
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert sorted(row["TrainingJobName"] for row in rows) == ["llama-1", "llama-2"]
    assert rows[0]["TrainingJobStatus"] == "InProgress"


def test_a_benchmark_has_no_step(server, search):
    """Rows of nccl-tests by size, and a training: how far a job is, the training says."""
    row = "  8589934592    2147483648     float     sum      -1  67108.9  128.00  240.00      0  67108.9  128.00  240.00      0\n"
    training = "".join(f"step={step} accuracy=0.5\n" for step in range(8))
    for name, stream, text in (("bench", "algo-1", row), ("both", "algo-1", row), ("both", "algo-2", training)):
        assert server.post(f"/api/v1/logs?job={name}&stream={stream}", body=text).status == 200
    wait_until(lambda: len(server.get("/api/v1/jobs?q=benchmark.count>0").body["jobs"]) == 2 and server.get("/api/v1/jobs?q=metric.accuracy.step>6").body["jobs"])
    result = search("", "--fields", "name,step,benchmark", "--sort", "name")
    assert list(csv.reader(io.StringIO(result.stdout)))[1:] == [["bench", "", "240"], ["both", "7", "240"]]


def test_one_document(jobs, search):
    document = json.loads(search("llama", "--json").stdout)
    assert len(document["jobs"]) == 2 and document["total"] == 2


def test_csv_is_what_a_pipe_gets(jobs, search):
    result = search("vit", "--fields", "name,status,hp.lr,tag.team")
    assert list(csv.reader(io.StringIO(result.stdout))) == [
        ["name", "status", "hp.lr", "tag.team"], ["vit", "Failed", "0.1", "a,b"]]


def test_table(jobs, search):
    head, row = search("vit", "--table").stdout.splitlines()
    assert head.split() == ["name", "status", "loss", "step", "lines", "started", "age"]
    assert row.split()[:2] == ["vit", "Failed"]
    assert "\x1b" not in row


def test_limit_and_pages(server, search):
    for i in range(1030):
        assert server.post("/api/v1/jobs", json={"TrainingJobName": f"page-{i:04}"}).status < 300
    cut = search("page", "--ndjson")
    assert len(cut.stdout.splitlines()) == 50 and "there are more jobs than these 50: --limit 0" in cut.stderr
    asked = search("page", "--limit", "3", "--ndjson")
    assert len(asked.stdout.splitlines()) == 3 and not asked.stderr
    assert not search("page", "--limit", "0", "--ndjson").stderr
    names = {json.loads(line)["TrainingJobName"] for line in search("page", "--limit", "0", "--ndjson").stdout.splitlines()}
    assert len(names) == 1030


def test_count(jobs, search):
    result = search("llama", "--count")
    assert (result.returncode, result.stdout) == (0, "2\n")
    result = search("nothing-is-called-so", "--count")
    assert (result.returncode, result.stdout) == (1, "0\n")


def test_nothing_matched(jobs, search):
    assert search("nothing-is-called-so").returncode == 1


def test_a_server_that_is_not_there(search):
    result = search("x", SMFLEET_SERVER="http://127.0.0.1:1")
    assert result.returncode == 3 and "http://127.0.0.1:1" in result.stderr


def test_a_mistake_in_the_query_is_pointed_at(server, search):
    result = search("bad (status:failed")
    lines = result.stderr.splitlines()
    assert result.returncode == 2
    assert lines[1] == "  bad (status:failed" and lines[2].strip() == "^"


@pytest.mark.parametrize("args, words", [
    (["--limti", "3"], "--limti"),
    (["--csv", "--json"], "--csv"),
    (["--limit", "-1"], "less than 0"),
    (["--fields", ","], "names no field"),
])
def test_mistakes_in_the_command_line(search, args, words):
    result = search(*args)
    assert result.returncode == 2 and words in result.stderr


def test_a_query_from_standard_input(jobs, server):
    def run(text, *args):
        return subprocess.run([str(server.bin("sm-search")), "-", "--ndjson", *args], input=text, capture_output=True, timeout=30, text=True,
                              env={"SMFLEET_SERVER": server.url})
    assert [json.loads(line)["TrainingJobName"] for line in run("name=vit\n").stdout.splitlines()] == ["vit"]
    result = run("name=vit or status=(")
    assert result.returncode == 2 and result.stderr.splitlines()[-1].index("^") >= 2


def test_a_reader_that_goes_away_is_no_error(jobs, server):
    process = subprocess.Popen(["bash", "-c", f"set -o pipefail; {server.bin('sm-search')} --ndjson --limit 0 | true; echo ${{PIPESTATUS[0]}}"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "SMFLEET_SERVER": server.url})
    out, errors = process.communicate(timeout=30)
    assert errors == "" and out.strip() in ("0", "141")


def test_lines_of_the_jobs(jobs, server, sm_search):
    server.send("llama-1", ["step 1", "NCCL WARN timeout 1", "step 2"])
    server.send("llama-2", ["NCCL WARN timeout \x1b[31m2"], stream="algo-2")
    server.send("vit", ["NCCL WARN timeout 3"])
    result = sm_search("llama", "--sort", "name", "--logs", r"NCCL \w+ timeout")
    assert result.returncode == 0 and result.stderr == ""
    assert result.stdout.splitlines() == ["llama-1/algo-1:1: NCCL WARN timeout 1", "llama-2/algo-2:0: NCCL WARN timeout \x1b[31m2"]
    row, = [json.loads(line) for line in sm_search("name=vit", "--logs", "timeout", "--ndjson").stdout.splitlines()]
    assert (row["job"], row["stream"], row["n"], row["text"]) == ("vit", "algo-1", 0, "NCCL WARN timeout 3") and row["ts_ms"] > 1.6e12
    assert sm_search("llama", "--logs", "nothing like it").returncode == 1
    wrong = sm_search("llama", "--logs", "(")
    assert wrong.returncode == 2 and wrong.stdout == "" and wrong.stderr


def test_many_lines_come_page_by_page(server, sm_search):
    server.send("long", [f"line {i}" for i in range(2500)])
    found = sm_search("name=long", "--logs", "^line").stdout.splitlines()
    assert found == [f"long/algo-1:{i}: line {i}" for i in range(2500)]


def test_explain(jobs, sm_search):
    result = sm_search("status=failed  AND (loss.last>3)", "--explain", "--sort", "-loss")
    assert result.returncode == 0
    assert result.stdout.splitlines()[:3] == ["query: status=failed and loss.last>3", "sort: -loss", "plan: "]
    assert [line.split(": ")[0] for line in result.stdout.splitlines()[3:]] == ["  status=failed", "  loss.last>3", "  order"]
    assert "by status in memory" in result.stdout and "order: by loss.last in memory" in result.stdout
    assert "  attempts>1: by SQL" in sm_search("attempts>1", "--explain").stdout
    assert sm_search("status=(", "--explain").returncode == 2


def test_watch_into_a_pipe_says_what_changed(jobs, server):
    process = subprocess.Popen([str(server.bin("sm-search")), "status!=Completed", "--watch", "--fields", "name,status"],
        stdout=subprocess.PIPE, text=True, env={"SMFLEET_SERVER": server.url})
    try:
        first = sorted(json.loads(process.stdout.readline())["name"] for _ in range(3))
        assert first == ["llama-1", "llama-2", "vit"]
        for status, time_ms in (("Failed", 1_700_000_060_000), ("Completed", 1_700_000_070_000)):
            transition = {"SecondaryStatus": status, "time_ms": time_ms}
            assert server.post("/api/v1/jobs/llama-1/transitions", json=transition).status < 300
            want = {"name": "llama-1", "status": "Failed"} if status == "Failed" else {"TrainingJobName": "llama-1", "gone": True}
            assert json.loads(process.stdout.readline()) == want
    finally:
        process.terminate()
        process.wait(timeout=30)
    wrong = subprocess.run([process.args[0], "--watch", "--json"], capture_output=True, text=True, timeout=30, env={"SMFLEET_SERVER": server.url})
    assert wrong.returncode == 2 and "--watch" in wrong.stderr


def test_a_profile_says_server_and_token(jobs, server, tmp_path):
    profile = tmp_path / "smfleet" / "profile"
    profile.parent.mkdir()

    def run(*args, **env):
        return subprocess.run([str(server.bin("sm-search")), "--count", *args], capture_output=True, timeout=30, text=True,
                              env={"XDG_CONFIG_HOME": str(tmp_path), **env})
    reply = server.post("/api/v1/tokens", json={"name": "r", "scope": "admin"})
    token = reply.body["token"]
    profile.write_text(f"server = {server.url}\ntoken = {token}\n")
    profile.chmod(0o600)
    assert run().stdout == "3\n", run().stderr
    assert run(SMFLEET_TOKEN="wrong").returncode == 4
    profile.write_text(f"server = {server.url}\n")
    assert run().returncode == 4 and run(SMFLEET_TOKEN=token).stdout == "3\n"
    profile.chmod(0o644)
    open_to_all = run()
    assert open_to_all.returncode == 2 and "chmod 600" in open_to_all.stderr
    assert run("--config", "/dev/null", SMFLEET_SERVER=server.url, SMFLEET_TOKEN=token).stdout == "3\n"
    profile.chmod(0o600)
    said = run("--token", token)
    assert said.returncode == 2 and "seen by everybody" in said.stderr
    single = runner(server, sys.executable, str(ROOT / "clients/sm_search.py"))
    assert single("--count").returncode == 4 and single("--count", SMFLEET_TOKEN=token).stdout == "3\n"
    (tmp_path / "token").write_text(token + "\n")
    assert single("--count", "--token-file", str(tmp_path / "token"), SMFLEET_TOKEN="wrong").stdout == "3\n"


def complete(server, folder, line):
    """What bash would offer for the line: its own way to part words is done by hand."""
    program = """source <(sm-search --completion bash); COMP_LINE=$1; COMP_POINT=${#1}; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sm_search; printf '%s\\n' "${COMPREPLY[@]}" """
    path = f"{os.path.dirname(server.bin('sm-search'))}:/usr/bin:/bin"
    result = subprocess.run(["bash", "-c", program, "bash", *line], capture_output=True, timeout=60, text=True,
                            env={"PATH": path, "SMFLEET_SERVER": server.url, "HOME": str(folder)})
    assert result.stderr == "", result.stderr
    return result.stdout.splitlines()


def test_bash_completes_options_and_queries(jobs, server, sm_search, tmp_path):
    assert complete(server, tmp_path, ["sm-search --s", "sm-search", "--s"]) == ["--server", "--sort", "--sagemaker-json", "--suggest"]
    assert complete(server, tmp_path, ["sm-search 'status=failed tag.te", "sm-search", "'status=failed tag.te"]) == ["status=failed tag.team"]
    assert complete(server, tmp_path, ["sm-search tag.te", "sm-search", "tag.te"]) == ["tag.team"]
    assert complete(server, tmp_path, ["sm-search status=fa", "sm-search", "status", "=", "fa"]) == ["Failed"]
    assert "Completed" in complete(server, tmp_path, ["sm-search status=", "sm-search", "status", "="])
    assert sm_search("--completion", "zsh").stdout.startswith("#compdef sm-search\n")
    assert sm_search("--completion", "fish").returncode == 2


def test_a_search_request_of_sagemaker(jobs, server, tmp_path):
    def run(text, *args):
        return subprocess.run([str(server.bin("sm-search")), "--sagemaker-json", *args], input=text, capture_output=True, timeout=30, text=True,
                              env={"SMFLEET_SERVER": server.url})
    expression = {"Filters": [{"Name": "TrainingJobName", "Operator": "Contains", "Value": "llama"}]}
    assert run('{"a":}', "-").returncode == 2 and "line 1, column 6" in run('{"a":}', "-").stderr
    assert run("[]", "-").returncode == 2 and run("", str(tmp_path / "nowhere")).returncode == 2
    assert run("{}", "-", "name=x").returncode == 2
    assert sorted(run(json.dumps(expression), "-", "--csv", "--fields", "name").stdout.split()) == ["llama-1", "llama-2", "name"]
    request = tmp_path / "request.json"
    request.write_text(json.dumps({"Resource": "TrainingJob", "SearchExpression": expression}))
    assert run("", str(request), "--count").stdout == "2\n"
    wrong = run(json.dumps({"Filters": [{"Name": "Nope", "Operator": "Equals", "Value": "1"}]}), "-")
    assert wrong.returncode == 2 and "Unknown property name: Nope" in wrong.stderr


@pytest.mark.parametrize("words, limit", [(["--sagemaker-json", "-"], 1 << 20), (["--sagemaker-json", "/dev/zero"], 1 << 20), (["-"], 1 << 16)])
def test_what_never_ends_is_no_search(server, words, limit):
    """As of a pipe from what goes on: read until the limit and no further, without the server."""
    with open("/dev/zero", "rb") as endless:
        result = subprocess.run([str(server.bin("sm-search")), *words], stdin=endless, capture_output=True, timeout=30, text=True, env={"SMFLEET_SERVER": server.url})
    assert result.returncode == 2 and f"more than {limit} bytes" in result.stderr and ("/dev/zero" in result.stderr) == ("/dev/zero" in words), result


def test_the_best_checkpoints_are_listed(server, jobs, sm_search):
    """By hand: llama-2's 0.7 is more than llama-1's 0.6; by weights (2 * 0.6 + 0.9) / 3 = 0.7 against (2 * 0.7 + 0.1) / 3 = 0.5."""
    for name, acc, em in (("llama-1", 0.6, 0.9), ("llama-2", 0.7, 0.1)):
        document = {"step": 5, "path": f"/{name}/5", "scores": {"mmlu/acc": {"value": acc, "stderr": 0.25}, "gsm8k/em": em}}
        assert server.post(f"/api/v1/jobs/{name}/evaluations", json=document).status == 201
    result = sm_search("evaluations", "mmlu/acc", "--csv")
    assert list(csv.reader(io.StringIO(result.stdout))) == [["rank", "job", "step", "value", "stderr", "evaluated", "path"],
        ["1", "llama-2", "5", "0.7", "0.25", "", "/llama-2/5"], ["2", "llama-1", "5", "0.6", "0.25", "", "/llama-1/5"]]
    assert [row.split(",")[1] for row in sm_search("evaluations", "mmlu/acc:2,gsm8k/em:1", "name~llama").stdout.split("\n")[1:3]] == ["llama-1", "llama-2"]
    assert [row["job"] for row in json.loads(sm_search("evaluations", "mmlu/acc", "name:llama-1", "--json").stdout)["leaders"]] == ["llama-1"]
    runs = sm_search("evaluations", "mmlu/acc", "--by", "run", "--table").stdout.split("\n")
    assert runs[0].split() == ["rank", "run", "job", "step", "value", "stderr", "path"] and runs[1].split()[1:3] == ["llama-2", "llama-2"]
    assert sm_search("evaluations", "mmlu/acc", "name:vit").returncode == 1
    assert sm_search("evaluations", "mmlu").returncode == 2 and sm_search("evaluations", "a/b", "q", "r").returncode == 2
    assert sm_search("evaluations", "a/b", "--sort", "name").returncode == 2


def test_what_is_known_of_a_machine_is_printed(server, sm_search):
    assert server.post("/api/v1/logs?job=a&stream=algo-1&host=rack%2Fgpu-7", body="step: 1 loss: 2.5\nkernel: NVRM: Xid (PCI:0000:02:00): 79, pid=1, GPU has fallen off the bus.\n").status == 200
    wait_until(lambda: server.get("/api/v1/nodes/rack%2Fgpu-7").body.get("fault_kinds"), what="the machine and its fault")
    said = json.loads(sm_search("node", "rack/gpu-7", "--json").stdout)
    assert said["host"] == "rack/gpu-7" and [kind["signature"] for kind in said["fault_kinds"]] == ["xid_79"]
    assert "\nfault_kinds[0].signature,xid_79\n" in sm_search("node", "rack/gpu-7", "--csv").stdout.replace("\r", "")
    assert sm_search("node", "none").returncode == 4 and sm_search("node", "rack/gpu-7", "--count").returncode == 2
    assert sm_search("node").returncode == 1  # this word alone is a search, as before


def test_what_is_said_of_one_job_is_printed(server, sm_search):
    server.post("/api/v1/jobs", json={"TrainingJobName": "a/b"})
    server.send("a/b", [f"step: {step} loss: 2.5" for step in range(1, 6)])
    server.wait_for_extraction()
    assert server.post("/api/v1/jobs/a%2Fb/notes", json={"text": "bigger batch", "step": 3}).status == 201
    for subject in ("anatomy", "continuity", "fit", "nccl", "notes", "replacements", "s3", "schedule", "tokens"):
        said = server.get(f"/api/v1/jobs/a%2Fb/{subject}").body
        result = sm_search(subject, "a/b", "--json")
        assert json.loads(result.stdout) == said, result
        rows = dict(csv.reader(io.StringIO(sm_search(subject, "a/b", "--csv").stdout)))
        assert rows["name"] == "value" and len(rows) > 1
        for name, value in said.items():
            if value is None or isinstance(value, (int, str)):
                assert rows[name] == (json.dumps(value) if not isinstance(value, str) else value)
        assert sm_search(subject, "a/b", "--table").stdout.split()[:2] == ["name", "value"]
        assert sm_search(subject, "nobody").returncode == 4 and sm_search(subject, "a/b", "--count").returncode == 2
    assert "\nsteps.last,5\n" in sm_search("goodput", "a/b", "--csv").stdout.replace("\r", "")  # as of each moment another


def test_a_table_of_one_job_is_for_people(server, sm_search):
    """Times, durations and shares as one reads them at night; CSV and JSON keep the numbers."""
    start_s = 1_795_000_000  # 2026-11-18T11:06:40Z; 1 h 3 m are 126 steps of 30 s
    document = {"TrainingJobName": "night", "CreationTime": start_s, "TrainingStartTime": start_s, "HyperParameters": {"clip_grad": "1.0"}}
    assert server.post("/api/v1/jobs", json=document).status == 201
    times = [time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(start_s + i * 30)) for i in range(127)]
    server.send("night", [f"{now} step: {i} loss: 2.5 grad_norm: {i % 2 * 2}.0" for i, now in enumerate(times)])
    for status, at_s in (("Training", start_s), ("Completed", start_s + 3780)):
        assert server.post("/api/v1/jobs/night/transitions", json={"SecondaryStatus": status, "time_ms": at_s * 1000}).status < 300
    server.wait_for_extraction()
    said = server.get("/api/v1/jobs/night/goodput").body
    assert said["wall_seconds"] == 3780 and said["buckets"]["productive"]["percent"] > 0 and said["buckets"]["image"]["seconds"] == 0
    table = lambda subject: dict((line.split(None, 1) + [""])[:2] for line in sm_search(subject, "night", "--table").stdout.splitlines())
    rows = table("goodput")
    assert rows["wall_seconds"] == "1h03m" and rows["steps.step_seconds"] == "30s"
    assert rows["goodput"].endswith("%") and float(rows["goodput"][:-1]) == pytest.approx(said["goodput"], rel=1e-3)
    assert rows["as_of_ms"].startswith("20") and rows["as_of_ms"].endswith("Z")
    assert "buckets.productive.seconds" in rows and not [name for name in rows if ".image." in name]
    cells = dict(csv.reader(io.StringIO(sm_search("goodput", "night", "--csv").stdout)))
    assert cells["wall_seconds"] == "3780" and cells["buckets.image.seconds"] == "0" and cells["as_of_ms"].isdigit()
    rows = table("schedule")
    assert rows["clipped_share"] == "49.61%"  # 63 of 127
    assert server.post("/api/v1/jobs/night/notes", json={"text": "look", "ts_ms": start_s * 1000 + 1500}).status == 201
    rows = table("notes")
    assert rows["notes[0].ts_ms"] == "2026-11-18T11:06:41.500Z"


def test_attachments_are_listed_and_printed(server, tmp_path):
    """Names that have to be encoded, bytes that are no text, and what is not there."""
    program = str(server.bin("sm-search"))

    def run(*args):
        return subprocess.run([program, *args], capture_output=True, timeout=30, env={**os.environ, "SMFLEET_SERVER": server.url})
    server.send("a/b", "x")
    data = bytes(range(256)) * 9000
    for path, body in (("plots/100%25%20%23.bin", data), ("c.txt", b"lr: 1\n")):
        assert server.request("PUT", f"/api/v1/jobs/a%2Fb/attachments/{path}", body=body, content_type="application/octet-stream").status == 201
    result = run("attachments", "a/b", "--csv")
    rows = list(csv.reader(io.StringIO(result.stdout.decode())))
    assert rows[0] == ["path", "bytes", "type", "stored", "by"]
    assert [row[:3] for row in rows[1:]] == [["c.txt", "6", "text/plain"], ["plots/100% #.bin", str(len(data)), "application/octet-stream"]]
    assert rows[1][3].startswith("20") and rows[1][3].endswith("Z")
    assert [row["path"] for row in json.loads(run("attachments", "a/b", "--json").stdout)["attachments"]] == ["c.txt", "plots/100% #.bin"]
    assert run("attachments", "a/b", "plots/100% #.bin").stdout == data
    result = run("attachments", "a/b", "--ndjson", "--limit", "1")
    assert [json.loads(line)["path"] for line in result.stdout.splitlines()] == ["c.txt"] and b"--limit 0" in result.stderr
    result = run("attachments", "a/b", "none")
    assert result.returncode == 1 and b"no attachment 'none'" in result.stderr and result.stdout == b""
    assert run("attachments", "nobody").returncode == 4
    assert run("attachments", "a/b", "x", "y").returncode == 2
    server.send("empty", "x")
    assert run("attachments", "empty").returncode == 1
    script = f"{program} attachments a/b 'plots/100% #.bin'"
    result = subprocess.run(["script", "-qec", script, "/dev/null"], capture_output=True, timeout=30, stdin=subprocess.DEVNULL,
                            env={**os.environ, "SMFLEET_SERVER": server.url})
    assert b"into a file or a pipe" in result.stdout and data[:1000] not in result.stdout


def test_the_trash_is_listed(server, sm_search):
    assert sm_search("--trash").returncode == 1
    for job in ("one", "two", "three"):
        server.send(job, "x")
        server.post(f"/api/v1/jobs/{job}/transitions", json={"SecondaryStatus": "Completed"})
        assert server.delete(f"/api/v1/jobs/{job}").status < 300
    rows = [json.loads(line) for line in sm_search("--trash", "--ndjson").stdout.splitlines()]
    assert [row["TrainingJobName"] for row in rows] == ["three", "two", "one"]
    table = sm_search("--trash", "--table").stdout.splitlines()
    assert table[0].split() == ["name", "id", "deleted", "by", "goes", "bytes"] and len(table) == 4
    result = sm_search("--trash", "--limit", "2", "--csv")
    assert len(result.stdout.splitlines()) == 3 and "more than these 2" in result.stderr
    for args, words in ((["x"], "takes no query"), (["--count"], "--count is of jobs: not with --trash"), (["--by", "team"], "--by and --of")):
        result = sm_search("--trash", *args)
        assert result.returncode == 2 and words in result.stderr
