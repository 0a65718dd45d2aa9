"""What docs/jobs.md and docs/sm-search.md show is run, as it stands there."""

import json
import os
import pathlib
import re
import shlex
import subprocess

from smserver import PATIENCE_S, ROOT

JOBS = pathlib.Path(ROOT, "docs/jobs.md").read_text()
SEARCH = pathlib.Path(ROOT, "docs/sm-search.md").read_text()


def blocks(text, language=""):
    return [block for named, block in re.findall(r"^```(\w*)\n(.*?)^```", text, re.M | re.S) if named == language]


def test_the_commands_of_jobs(server):
    commands = [block for block in blocks(JOBS) if block.startswith("curl")]
    assert len(commands) == 4
    answers = [subprocess.run(shlex.split(command.replace("localhost:8080", f"127.0.0.1:{server.port}")) + ["-f"],
        stdout=subprocess.PIPE, timeout=PATIENCE_S, check=True, text=True).stdout for command in commands]
    assert json.loads(answers[0])["TrainingJobName"] == "llama-7b"
    request = json.loads(shlex.split(answers[3])[-1])
    assert request["TrainingJobName"] == "llama-7b-2" and request["Tags"] == [{"Key": "team", "Value": "vision"}]
    assert server.get("/api/v1/jobs/llama-7b").body["Labels"] == ["paper"]


def test_the_commands_of_the_trash(server):
    server.send("llama-7b", ["step: 1 loss: 2.5"])
    assert server.post("/api/v1/jobs/llama-7b/transitions", json={"SecondaryStatus": "Completed"}).status == 204
    server.wait_for_extraction()
    (commands,) = blocks(JOBS, "sh")
    said = subprocess.run(["bash", "-ec", commands.replace("localhost:8080", f"127.0.0.1:{server.port}").replace("curl -s", "curl -sf")],
        capture_output=True, timeout=PATIENCE_S, check=True, text=True).stdout
    trash, end = json.JSONDecoder().raw_decode(said)
    restored = json.loads(said[end:])
    assert trash["count"] == 1 and restored == {"TrainingJobName": "llama-7b"}
    assert server.get("/api/v1/jobs/llama-7b").status == 404 and server.get("/api/v1/trash").body["count"] == 0


def test_the_commands_of_sm_search(server, tmp_path):
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "llama", "Tags": [{"Key": "team", "Value": "nlp"}]}).status == 201
    commands = blocks(SEARCH)[0].splitlines()
    assert len(commands) == 7
    for command in commands:
        if "--watch" in command or "--sagemaker-json" in command:
            continue # one never ends, the other has its own test
        path = f"{os.path.dirname(server.bin('sm-search'))}:/usr/bin:/bin"
        done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=PATIENCE_S, text=True,
            env={"PATH": path, "SMFLEET_SERVER": server.url, "HOME": str(tmp_path)})
        assert done.returncode == (0 if "llama" in command or "nlp" in command else 1) and done.stderr == "", (command, done)
