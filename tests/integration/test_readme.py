"""What the README shows is run: its curl commands to a shipper's door, as they stand there."""

import pathlib
import re
import shlex
import subprocess

import pytest

from smserver import PATIENCE_S, ROOT

README = pathlib.Path(ROOT, "README.md").read_text()
COMMANDS = [command for command in re.findall(r"^curl .*(?:\n  .*)*", README, re.M) if "/loki/" in command or "/v1/logs" in command]


def test_both_doors_are_shown():
    assert sum("/loki/api/v1/push" in command for command in COMMANDS) == 1
    assert sum(":8080/v1/logs" in command for command in COMMANDS) == 1


@pytest.mark.parametrize("door", ["/loki/api/v1/push", ":8080/v1/logs"])
def test_a_command_stores_its_line(server, door):
    command = next(command for command in COMMANDS if door in command)
    done = subprocess.run(shlex.split(command.replace(":8080", f":{server.port}"), comments=True) + ["-sS", "-f"],
        stdout=subprocess.PIPE, timeout=PATIENCE_S, check=True)
    assert done.stdout in (b"", b"{}")
    assert [(line["text"], line["stream"]) for line in server.lines("my-run", "node-1")] == [("step: 1 loss: 2.5", "node-1")]
