"""deploy/Dockerfile, carried out instruction by instruction in bare Debians: what it says, without Docker and its layers."""

import json
import os
import re
import shutil
import subprocess
import threading
import urllib.request

import pytest

from debian import CLEAN, Debian, run
from smserver import ROOT, wait_until


def instructions():
    text = re.sub(r"^\s*#.*\n", "", (ROOT / "deploy/Dockerfile").read_text(), flags=re.M).replace("\\\n", "")
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


class Stage:
    def __init__(self, folder):
        self.debian, self.place, self.environment, self.user, self.entry, self.ports = Debian(folder), "/", {}, None, [], []

    def copy(self, words, stages):
        *sources, target = [word for word in words if not word.startswith("--")]
        stage = next((stages[word.removeprefix("--from=")] for word in words if word.startswith("--from=")), None)
        target = self.debian.path(target if target.startswith("/") else f"{self.place}/{target}")
        for source in sources:
            if source == ".":  # the context: what git knows, as .dockerignore leaves it
                files = run("git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard").splitlines()
            else:
                files = [source]
            for name in files:
                origin = stage.debian.path(name) if stage else ROOT / name
                goal = target / name if source == "." else target
                goal.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(origin, goal)

    def run(self, command):
        # the npm registry of this machine: a container's build gets it by --build-arg or its network
        npm = {name: value for name, value in os.environ.items() if name.lower().startswith("npm_config_registry")}
        return self.debian.run("/bin/sh", "-c", command, place=self.place, timeout=1200, **npm, **self.environment)


def carry_out(folder):
    stages, stage = {}, None
    for word, rest in instructions():
        if word == "FROM":
            assert rest.startswith("debian:12-slim"), rest
            name = rest.split()[-1] if " AS " in rest else "last"
            stage = stages[name] = Stage(folder / name)
        elif word == "WORKDIR":
            stage.place = rest
            stage.debian.path(rest).mkdir(parents=True, exist_ok=True)
        elif word == "COPY":
            stage.copy(rest.split(), stages)
        elif word == "ENV":
            stage.environment.update(pair.split("=", 1) for pair in rest.split())
        elif word == "RUN":
            assert stage.user is None, "nothing is built after USER"
            stage.run(rest)
        elif word == "USER":
            stage.user = rest
        elif word == "ENTRYPOINT":
            stage.entry = json.loads(rest)
        else:
            assert word in ("EXPOSE", "VOLUME"), word
    return stages


@pytest.fixture
def image(tmp_path):
    stages = carry_out(tmp_path)
    stages["build"].debian.remove()
    yield stages["last"]
    stages["last"].debian.remove()


def test_the_image_serves_as_a_user_that_is_not_root(image):
    assert image.user and not image.user.startswith("0")
    assert not image.debian.path("/tmp/smfleet.deb").exists() and not image.debian.path("/usr/bin/gcc").exists()
    bill = image.debian.path("/usr/share/smfleet/image.spdx").read_text()
    packages = re.findall(r"^PackageName: (\S+)\nSPDXID: SPDXRef-[A-Za-z0-9.-]+\nPackageVersion: (\S+)$", bill, re.M)
    installed = image.debian.run("dpkg-query", "--show", "--showformat", "${Package} ${Version}\\n").splitlines()
    assert sorted(map(" ".join, packages)) == sorted(installed) and {"smfleet", "libmicrohttpd12", "libc6"} <= {name for name, _ in packages}
    process = subprocess.Popen(["chroot", f"--userspec={image.user}", "--groups=", str(image.debian.folder), "env", f"--chdir={image.place}",
        *image.entry], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**CLEAN, **image.environment, "SMFLEET_LISTEN": "0.0.0.0:0"})
    said = []
    threading.Thread(target=lambda: said.extend(process.stdout), daemon=True).start()
    wait_until(lambda: any("event=listening" in line for line in said) or process.poll() is not None, what="the server to listen")
    text = "".join(said)
    port, token = re.search(r"port=(\d+)", text).group(1), re.search(r"the first token.*: (\S+)", text).group(1)
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/v1/logs?job=gpt", data=b"step 1 loss=2\n",
        headers={"Authorization": f"Bearer {token}", "Content-Type": "text/plain"})
    with urllib.request.urlopen(request, timeout=30) as reply:
        assert json.load(reply)["accepted"] == 1
    uid = int(image.user.partition(":")[0])
    assert image.debian.path("/var/lib/smfleet/smfleet.db").stat().st_uid == uid
    assert os.stat(f"/proc/{process.pid}").st_uid == uid
    process.terminate()
    assert process.wait(30) == 0
