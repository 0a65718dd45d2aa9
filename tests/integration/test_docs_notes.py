"""What docs/notes.md shows is run, as it stands there."""

import os
import pathlib
import re
import subprocess
import sys

from postgres import build_folder
from smserver import PATIENCE_S, ROOT, wait_until

NOTES = pathlib.Path(ROOT, "docs/notes.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", NOTES, re.M | re.S)


def run(server, command, **more):
    env = {**os.environ, "PATH": f"{build_folder()}:{os.environ['PATH']}", "PYTHONPATH": str(pathlib.Path(ROOT, "clients")), "HOME": "/nonexistent"}
    return subprocess.run(command, env=env, capture_output=True, timeout=PATIENCE_S, check=True, text=True, **more).stdout


def here(server, text):
    return text.replace("localhost:8080", f"127.0.0.1:{server.port}").replace("curl -s", "curl -sf")


def test_the_commands_do_what_is_said(server):
    server.post("/api/v1/jobs", json={"TrainingJobName": "llama-7b"})
    by_rest, by_search = blocks("sh")
    run(server, ["bash", "-ec", here(server, by_rest)])
    (note,) = server.get("/api/v1/jobs/llama-7b/notes").body["notes"]
    assert (note["text"], note["step"]) == ("learning rate halved, as planned", 1200)
    (python,) = blocks("python")
    assert "the data loader was changed" in run(server, [sys.executable, "-c", here(server, python)])
    assert len(server.get("/api/v1/jobs/llama-7b/notes").body["notes"]) == 2
    tell, find = here(server, by_search).splitlines()
    run(server, ["bash", "-ec", tell])
    wait_until(lambda: "llama-7b" in run(server, ["bash", "-c", f"{find} || [ $? = 1 ]"]), what="the job that is found")
