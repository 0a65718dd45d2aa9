"""clients/sm_ship.py: the same job as sm-ship makes, lines that survive an outage, exit codes."""

import json
import signal
import subprocess
import sys

import pytest
from shipping import job, lines
from smserver import ROOT, wait_until

PROGRAM = [sys.executable, str(ROOT / "clients/sm_ship.py")]

ENVIRONMENTS = {
    "slurm": {"SLURM_JOB_ID": "77", "SLURM_JOB_NAME": "pretrain", "SLURM_NODEID": "3", "SLURM_PROCID": "13",
              "SLURM_LOCALID": "1", "SLURM_NTASKS": "16", "SLURM_TASKS_PER_NODE": "4(x4)", "SLURM_JOB_NUM_NODES": "4",
              "SLURMD_NODENAME": "node-3", "SLURM_RESTART_COUNT": "2", "SLURM_JOB_USER": "ada"},
    "sagemaker": {"SM_TRAINING_ENV": json.dumps({"job_name": "bert-1", "hosts": ["algo-1", "algo-2"],
                                                 "current_instance_type": "ml.p4d.24xlarge",
                                                 "hyperparameters": {"lr": 0.1, "model": "bert"}}),
                  "SM_CURRENT_HOST": "algo-2"},
    "kubernetes": {"JOB_NAME": "sweep", "JOB_COMPLETION_INDEX": "5", "NODE_NAME": "ip-10-0-0-7"},
    "mpi": {"JOB_NAME": "hvd", "OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "0",
            "OMPI_COMM_WORLD_LOCAL_SIZE": "2", "PMIX_NAMESPACE": "space-1"},
    "torchrun": {"TRAINING_JOB_NAME": "ddp", "RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2",
                 "TORCHELASTIC_RUN_ID": "none"},
    "a laptop": {"SMFLEET_JOB": "notebook"},
}


@pytest.fixture
def run(ship):
    def start(*args, data=b"", program=PROGRAM, **env):
        return subprocess.run([*program, *args], input=data, capture_output=True, timeout=60, env={**ship.env, **env})

    return start


def described(server, name):
    document = job(server, name)
    tags = {tag["Key"]: tag["Value"] for tag in document["Tags"]}
    streams = [row["stream"] for row in server.get(f"/api/v1/jobs/{name}/streams").body["streams"]]
    kept = {key: document.get(key) for key in ("HyperParameters", "ResourceConfig", "TrainingJobStatus", "FailureReason")}
    tags.pop("git_commit", None)  # which sm_ship.py leaves out
    return kept, tags, streams


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_it_is_who_sm_ship_says_it_is(make_server, ship, run, name):
    command = ["--", "bash", "train.sh", "--lr=0.1", "--layers", "24", "--fast"]
    (ship.folder / "train.sh").write_text("echo a line; exit 3")
    answers = []
    for program in (PROGRAM, [ship.program]):
        server = make_server()
        done = subprocess.run([*program, "--hp", "seed=1", "--tag", "team=nlp", *command], cwd=ship.folder,
                              capture_output=True, timeout=60,
                              env={**ship.env, "SMFLEET_SERVER": server.url, **ENVIRONMENTS[name]})
        assert done.returncode == 3 and done.stdout == b"a line\n", done
        (row,) = server.get("/api/v1/jobs").body["jobs"]
        answers.append((row["TrainingJobName"], *described(server, row["TrainingJobName"])))
    assert answers[0] == answers[1]


def test_a_secret_of_the_command_is_not_sent(server, ship, run):
    (ship.folder / "train.sh").write_text("")
    command = ["--", "bash", str(ship.folder / "train.sh"), "--api-key", "open sesame", "--wandb_token=open-sesame",
               "--max_tokens", "12", "--model", "hf_" + "x" * 20, "--hub=hf_" + "x" * 20]
    for number, program in enumerate((PROGRAM, [ship.program])):
        assert run("--job", f"quiet-{number}", *command, program=program).returncode == 0
        reply = server.get(f"/api/v1/jobs/quiet-{number}")
        assert "sesame" not in reply.raw.decode() and "hf_xxx" not in reply.raw.decode(), reply
        tags = {tag["Key"]: tag["Value"] for tag in reply.body["Tags"]}
        assert tags["command"].endswith("--api-key *** --wandb_token=*** --max_tokens 12 --model *** --hub=***")


def test_standard_input_is_passed_through(server, run):
    text = b"first\nzw\xc3\xb6lf\nbad \xff byte\nlast without an end"
    done = run("--job", "piped", data=text)
    assert done.returncode == 0 and done.stdout == text, done
    assert lines(server, "piped") == ["first", "zwölf", "bad \ufffd byte", "last without an end"]
    assert job(server, "piped")["TrainingJobStatus"] == "Completed"
    (stream,) = server.get("/api/v1/jobs/piped/streams").body["streams"]
    assert stream["bytes"] == len("first\nzwölf\nbad \ufffd byte\nlast without an end\n".encode())


def test_files_are_streams(server, run, tmp_path):
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text("".join(f"{name} {i}\n" for i in range(5000)))
    done = run("--job", "files", str(tmp_path / "a.log"), str(tmp_path / "b.log"))
    assert done.returncode == 0, done
    for name in ("a.log", "b.log"):
        assert lines(server, "files", name) == [f"{name} {i}" for i in range(5000)]


def test_a_job_that_has_ended_gets_a_new_name(server, run):
    assert run("--job", "again", data=b"one\n").returncode == 0
    done = run("--job", "again", data=b"two\n")
    assert done.returncode == 0 and b"this run is 'again-2'" in done.stderr
    assert run("--job", "again", "--resume", data=b"three\n").returncode == 0
    assert lines(server, "again") == ["one", "three"] and lines(server, "again-2") == ["two"]


def test_lines_wait_while_the_server_is_away(server, ship, tmp_path):
    with open(tmp_path / "passed", "wb") as passed:
        process = subprocess.Popen([*PROGRAM, "--job", "outage"], stdin=subprocess.PIPE, stdout=passed,
                                   stderr=subprocess.PIPE, env=ship.env)
    process.stdin.write(b"before\n")
    process.stdin.flush()
    wait_until(lambda: lines(server, "outage") == ["before"])
    server.kill()
    for i in range(20000):
        process.stdin.write(b"line %d\n" % i)
    process.stdin.flush()
    assert b"is kept and sent" in process.stderr.readline()
    server.start(f"127.0.0.1:{server.port}")
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert lines(server, "outage") == ["before"] + [f"line {i}" for i in range(20000)]
    assert (tmp_path / "passed").read_bytes().count(b"\n") == 20001


def test_a_signal_reaches_the_command(server, ship):
    process = subprocess.Popen([*PROGRAM, "--job", "stopped", "--", "sh", "-c", "echo up; exec sleep 60"],
                               stdout=subprocess.PIPE, env=ship.env)
    wait_until(lambda: lines(server, "stopped") == ["up"])
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 128 + signal.SIGTERM
    assert job(server, "stopped")["TrainingJobStatus"] == "Stopped" and "FailureReason" not in job(server, "stopped")


@pytest.mark.parametrize("args, code, words", [
    (["--server", "http://127.0.0.1:1", "--drain-timeout", "0"], 3, "http://127.0.0.1:1"),
    (["--token-file", "/nowhere"], 2, "/nowhere"),
    (["--hp", "novalue"], 2, "'novalue' is not of the form"),
    (["/nowhere/log"], 2, "cannot read '/nowhere/log'"),
    (["--nothing"], 2, "--nothing"),
    (["file", "--", "true"], 2, "either FILEs or -- COMMAND"),
    (["--job", "x" * 300], 4, "255"),
])
def test_mistakes(run, args, code, words):
    done = run(*args)
    assert done.returncode == code and words in done.stderr.decode(), done


def test_a_token_in_a_variable(server, run):
    token = server.post("/api/v1/tokens", json={"name": "w", "scope": "write"}).body["token"]
    assert run("--job", "told", data=b"loss: 1\n").returncode == 4
    done = run("--job", "told", data=b"loss: 2\n", SMFLEET_TOKEN=token)
    assert done.returncode == 0, done


def test_a_command_that_is_not_there(server, run):
    done = run("--job", "missing", "--", "no-such-program")
    assert done.returncode == 127
    assert job(server, "missing")["TrainingJobStatus"] == "Failed"
