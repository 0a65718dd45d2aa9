"""docs/runbooks.md is performed: its commands as they stand there, on a machine whose sudo and systemctl are stand-ins for those of an installed server."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess

import pytest

import ports
from engine import of_a_file
from howlong import long
from smserver import ROOT, Server, find_binary, sanitizer_environment, wait_until

pytestmark = of_a_file("that breaks")

TEXT = (ROOT / "docs/runbooks.md").read_text()
SUDO = """#!/bin/sh
[ "$1" != -u ] || shift 2
exec "$@"
"""
SYSTEMCTL = """#!/bin/bash
if [ "$1" = start ]; then
    setsid sm-server --config "$CONF" >>"$HOME/server.log" 2>&1 </dev/null & echo $! >"$HOME/pid"
else
    pid=$(cat "$HOME/pid")
    kill -TERM "$pid"
    # no "kill -0": what has ended is there until somebody asks for its status, and the init of some containers does so but once a second
    while [ -e "/proc/$pid/exe" ]; do sleep 0.02; done
fi
"""


def steps(heading):
    """The commands of each numbered step."""
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", TEXT, re.M | re.S).group(1)
    parts = re.split(r"^(\d+)\. ", section, flags=re.M)
    blocks = {int(number): re.findall(r"^   ```sh\n(.*?)^   ```", text, re.M | re.S) for number, text in zip(parts[1::2], parts[2::2])}
    return {number: re.sub(r"^   ", "", found[0], flags=re.M) for number, found in blocks.items() if found}


class Machine:
    """An installed server. What it is asked for by a test that is no command of a runbook goes by Server's methods."""

    def __init__(self, folder):
        self.folder = folder
        for name, text in (("sudo", SUDO), ("systemctl", SYSTEMCTL)):
            path = folder / "bin" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        for name in ("sm-server", "sm-ship"):
            (folder / "bin" / name).symlink_to(find_binary(name))
        for name in ("disk", "backup", "new", "logs"):
            (folder / name).mkdir()
        self.kept, self.other = ports.Port(), ports.Port()
        self.database, self.port = folder / "disk/smfleet.db", self.kept.number
        (folder / "sm-server.conf").write_text(f"db = {self.database}\nlisten = 127.0.0.1:{self.port}\nseal-age = 100ms\n")
        self.env = sanitizer_environment({"PATH": f"{folder}/bin:/usr/bin:/bin", "HOME": str(folder), "S": f"http://127.0.0.1:{self.port}", "DB": str(self.database),
            "BACKUP": f"{folder}/backup/smfleet.db", "NEW": f"{folder}/new", "CONF": f"{folder}/sm-server.conf", "COPY": f"{folder}/new/copy.db", "PORT": str(self.other.number)})
        self.server = Server(folder)
        self.server.port = self.port
        made = self.run(f"sm-server token create admin --scope admin --db {self.database}")
        self.env["ADMIN"] = re.search(r"smf-[0-9a-f]{40}", made).group(0)
        self.run("systemctl start smfleet; until curl -sf $S/readyz; do sleep 0.05; done")

    def run(self, commands):
        """What they say; variables that they set are there for the next ones."""
        keep = 'declare -p NAME COPY OLD 2>/dev/null >"$HOME/variables" || true'
        script = f'set -eu\n[ ! -e "$HOME/variables" ] || . "$HOME/variables"\n{commands}\n{keep}\n'
        done = subprocess.run(["/bin/bash", "-c", script], cwd=self.folder, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=180, check=False)
        assert done.returncode == 0, f"{commands}\n{done.stdout.decode()[-2000:]}\n{done.stderr.decode()[-2000:]}"
        return done.stdout.decode()

    def ask(self, method, path, body=None, token=None, **options):
        return self.server.request(method, path, body, token=token or self.env["ADMIN"], **options)

    def ship(self, *words):
        return self.run(f"SMFLEET_TOKEN=$ADMIN sm-ship --server $S {' '.join(words)}")

    def lines(self, job):
        reply = self.ask("GET", f"/api/v1/jobs/{job}/logs?limit=1000")
        return [line["text"] for line in reply.body["lines"]] if reply.status == 200 else reply

    def close(self):
        self.run("systemctl stop smfleet")
        self.kept.close()
        self.other.close()
        text = (self.folder / "server.log").read_text()
        assert "Sanitizer" not in text and "runtime error" not in text, text[-3000:]


@pytest.fixture
def machine(tmp_path):
    one = Machine(tmp_path)
    yield one
    one.close()


def grow(machine, first, last):
    with (machine.folder / "logs/algo-1.log").open("a") as log:
        log.writelines(f"step {n} loss={4 - n / 1000:.4f}\n" for n in range(first, last))
    return [f"step {n} loss={4 - n / 1000:.4f}" for n in range(last)]


def end(machine, job="llama-7b"):
    assert machine.ask("POST", f"/api/v1/jobs/{job}/transitions", json={"SecondaryStatus": "Completed"}).status < 300


SEND = "--job llama-7b --import 'logs/(?<stream>.+)[.]log'"


def test_a_token_leaked(machine):
    leaked = machine.ask("POST", "/api/v1/tokens", json={"name": "ci", "scope": "admin"}).body["token"]
    machine.env["LEAKED"] = leaked
    assert machine.ask("POST", "/api/v1/jobs", token=leaked, json={"TrainingJobName": "theirs"}).status == 201
    assert machine.ask("POST", "/api/v1/tokens", token=leaked, json={"name": "backdoor", "scope": "admin"}).status == 201
    session = machine.server.post("/api/v1/session", json={"token": leaked})
    cookie = session.headers["Set-Cookie"].partition(";")[0]
    assert machine.server.get("/api/v1/jobs", headers={"Cookie": cookie}).status == 200
    todo = steps("A token leaked")
    assert sorted(todo) == [1, 2, 3, 4, 5]
    assert json.loads(machine.run(todo[1]))["name"] == "ci"
    machine.run(todo[2])
    assert machine.ask("GET", "/api/v1/jobs", token=leaked).status == 401
    assert machine.server.get("/api/v1/jobs", headers={"Cookie": cookie}).status == 401
    fresh = json.loads(machine.run(todo[3]))
    assert fresh["name"] == "ci-2" and machine.ask("POST", "/api/v1/logs?job=j", "a\n", token=fresh["token"]).status == 200
    did = [line.split()[2:] for line in machine.run(todo[4]).splitlines()]
    assert ["create", "jobs/theirs"] in did and ["create", "tokens/backdoor"] in did and ["create", "tokens/ci"] not in did
    assert "backdoor" in machine.run(todo[5])


def test_the_disk_is_dying(machine):
    grow(machine, 0, 300)
    machine.ship(SEND)
    machine.run('sm-server backup "$BACKUP" --db "$DB"')
    whole = grow(machine, 300, 500)
    machine.ship(SEND)
    todo = steps("The disk is dying")
    machine.run(todo[1])
    with machine.database.open("r+b") as file:  # what cannot be read any more
        file.seek(8192)
        file.write(os.urandom(16 << 10))
    for number in (2, 3, 4):
        machine.run(todo[number])
    assert not (machine.folder / "new/rescued.db").exists() and "new/smfleet.db" in (machine.folder / "sm-server.conf").read_text()
    assert machine.lines("llama-7b") == whole[:300]
    machine.run(todo[5])
    wait_until(lambda: machine.lines("llama-7b") == whole, what="the lines since the backup")


@long
def test_a_disk_that_can_still_be_read_loses_nothing(machine):
    whole = grow(machine, 0, 300)
    machine.ship(SEND)
    todo = steps("The disk is dying")
    for number in (1, 2, 3, 4):
        machine.run(todo[number])
    shutil.rmtree(machine.folder / "disk")
    assert machine.lines("llama-7b") == whole


def wait_until_sealed(machine, lines):
    wait_until(lambda: f"\nsmfleet_sealed_lines_total {lines}\n" in machine.ask("GET", "/metrics").body, what="the seal")


def damage(machine, table, blob):
    with contextlib.closing(sqlite3.connect(machine.database)) as database, database:
        rowid, data = database.execute(f"SELECT t.rowid, {blob} FROM {table} AS t JOIN jobs USING (job_id) WHERE name = 'llama-7b'").fetchone()
        database.execute(f"UPDATE {table} SET {blob} = ? WHERE rowid = ?", (data[:-1] + bytes([data[-1] ^ 0xff]), rowid))


def check_says(machine, commands, words):
    with pytest.raises(AssertionError, match=words):
        machine.run(commands)


def test_the_database_is_damaged(machine):
    whole = grow(machine, 0, 300)
    machine.ship(SEND)
    machine.ship("--job other --import 'logs/(?<stream>.+)[.]log'")
    wait_until_sealed(machine, 600)
    end(machine)
    machine.run('sm-server backup "$BACKUP" --db "$DB"')
    todo = steps("The database is damaged")
    assert sorted(todo) == [1, 2, 3, 4, 5]
    machine.run("systemctl stop smfleet")
    damage(machine, "blocks", "data")
    machine.run("systemctl start smfleet; until curl -sf $S/readyz; do sleep 0.05; done")
    check_says(machine, todo[1], r"block of job 'llama-7b', stream '[a-z][^']*', at \d+: ")
    machine.run(todo[2])
    assert machine.lines("llama-7b") == whole and machine.lines("other") == whole
    wait_until(lambda: "0 problems" in machine.run(todo[5]), what="a database without the damaged rows")
    # its filters
    machine.run("systemctl stop smfleet")
    damage(machine, "log_filters", "filter")
    machine.run("systemctl start smfleet; until curl -sf $S/readyz; do sleep 0.05; done")
    check_says(machine, todo[1], "search filter that is not of its text")
    machine.run(todo[3])
    wait_until(lambda: "0 problems" in machine.run(todo[5]), what="filters that are made anew")
    # the file
    machine.run("systemctl stop smfleet")
    with machine.database.open("r+b") as file:
        file.write(b"\0" * 100)
    check_says(machine, todo[1], "header")
    machine.run("sudo systemctl start smfleet; sleep 0.01")
    machine.run(todo[4].replace("sudo systemctl stop smfleet", ":"))
    machine.run(f"until curl -sf $S/readyz; do sleep 0.05; done\n{todo[5]}")
    assert machine.lines("llama-7b") == whole and (machine.folder / "disk/smfleet.db.damaged").exists()


def test_something_was_deleted_by_mistake(machine):
    whole = grow(machine, 0, 50)
    machine.ship(SEND)
    end(machine)
    assert machine.ask("POST", "/api/v1/rules", json={"name": "slow", "expression": "loss > 10"}).status == 201
    machine.run('sm-server backup "$BACKUP" --db "$DB"')
    todo = steps("Something was deleted by mistake")
    assert machine.ask("DELETE", "/api/v1/jobs/llama-7b").status < 300
    assert '"deleted_by":"admin"' in machine.run(todo[1])
    machine.run(todo[2])
    assert machine.lines("llama-7b") == whole
    assert machine.ask("DELETE", "/api/v1/jobs/llama-7b?purge=true").status < 300
    carry = steps("The database is damaged")[2]
    without = "".join(line for line in carry.splitlines(True) if "-X DELETE" not in line)
    assert without != carry
    machine.run(without)
    assert machine.lines("llama-7b") == whole


def without(row, *names):
    return {key: value for key, value in row.items() if key not in names}


def test_what_the_audit_log_has_is_sent_again(machine):
    todo = steps("Something was deleted by mistake")

    def again(thing, **more):
        words = "".join(f"{name}='{value}'\n" for name, value in more.items())
        return machine.run(f"OBJECT='{thing}'\n{words}{todo[5]}")

    def only(kind):
        return machine.ask("GET", f"/api/v1/{kind}").body[kind][-1]

    webhook = {"url": "http://127.0.0.1:9/secret", "minimum_severity": "critical", "enabled": False, "events": ["incident", "restart"], "heartbeat_s": 60,
        "per_minute": 7, "report_at": "07:30", "report_tz": "Europe/Berlin"}
    rule = {"name": "slow", "expression": "loss > 10", "enabled": False, "quiet": {"from": "22:00", "to": "06:00", "tz": "UTC"}, "collect_s": 30}
    view = {"name": "theirs", "query": "status:failed", "sort": "-created_ms", "columns": ["status"], "scope": "team"}
    for kind, body in (("webhooks", webhook), ("rules", rule), ("views", view)):
        assert machine.ask("POST", f"/api/v1/{kind}", json=body).status < 300
        was = only(kind)
        thing = f"{kind}/{was.get('id', was['name'] if kind == 'views' else '')}"
        path = f"/api/v1/views?name={view['name']}&scope=team" if kind == "views" else f"/api/v1/{thing}"
        assert machine.ask("DELETE", path).status < 300
        assert f"delete {thing}" in machine.run(todo[4])
        again(thing, ADDRESS=webhook["url"] if kind == "webhooks" else "")
        now = only(kind)
        assert without(now, "id", "created_ms", "modified_ms", "next_report_ms") == without(was, "id", "created_ms", "modified_ms", "next_report_ms"), kind
    # those of the whole server are changed, not deleted
    quotas = [{"quota": "instances", "configured": 64}, {"quota": "instances_per_type", "instance_type": "ml.p5.48xlarge", "configured": 8}]
    prices = {"currency": "EUR", "prices": [{"instance": "ml.p5.48xlarge", "per_hour": 55}]}
    definitions = {"definitions": [{"Name": "loss", "Regex": "loss: (.*)"}]}
    for kind, good, bad in (("quotas", {"quotas": quotas}, {"quotas": [{**row, "configured": None} for row in quotas]}), ("prices", prices, {**prices, "prices": []}),
            ("definitions", definitions, {"definitions": []})):
        assert machine.ask("PUT", f"/api/v1/{kind}", json=good).status < 300
        was = machine.ask("GET", f"/api/v1/{kind}").body
        assert machine.ask("PUT", f"/api/v1/{kind}", json=bad).status < 300
        assert machine.ask("GET", f"/api/v1/{kind}").body != was
        again(kind)
        assert machine.ask("GET", f"/api/v1/{kind}").body == was, kind
