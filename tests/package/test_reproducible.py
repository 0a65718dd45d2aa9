"""Two builds of the same sources, in folders of different names, in other zones and locales: the packages are the same, byte for byte."""

import hashlib
import os
import pathlib
import shutil
import subprocess

import pytest

from howlong import long

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(command, folder, **environment):
    done = subprocess.run(["/bin/bash", "-euc", command], cwd=folder, env={**os.environ, "CCACHE_DISABLE": "1", **environment}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


def build(folder, **environment):
    folder.mkdir(parents=True)
    run(f"git -C {ROOT} ls-files -coz --exclude-standard | (cd {ROOT} && xargs -0 cp --parents -t {folder})", folder)
    for name in (".cache", "web/node_modules"):  # what was fetched; the page itself is built anew
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=shutil.ignore_patterns(".page-stamp", "mlflow*", "wandb*", "frameworks", "keras", "trackio", "hta", "neptune", "mcp"))
    run("deploy/page && cmake --preset release && cmake --build --preset release --target sm-server sm-ship sm-search && cd build/release && cpack", folder, **environment)
    (package,) = (folder / "build/release").glob("*.deb")
    return package


@long
def test_two_builds_are_the_same(tmp_path):
    first = build(tmp_path / "a", TZ="UTC", LC_ALL="C")
    second = build(tmp_path / "another/folder-with-a-longer-name", TZ="Asia/Tokyo", LC_ALL="C.UTF-8", HOME=str(tmp_path))
    hashes = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (first, second)]
    if hashes[0] != hashes[1]:
        for number, path in enumerate((first, second)):
            run(f"dpkg-deb -R {path} {tmp_path}/unpacked{number}", tmp_path)
        difference = subprocess.run(["diff", "-rq", f"{tmp_path}/unpacked0", f"{tmp_path}/unpacked1"], stdout=subprocess.PIPE, text=True, check=False).stdout
        pytest.fail(f"the packages differ: {difference or 'in what surrounds the files'}")
    print(hashes[0])
