"""What one team's log or machine is called never renames a machine that another team's log, or the fleet's, has told of."""

import json
import time

import pytest

from awsclients import token_of
from smserver import Server, wait_until
from test_faults_told_elsewhere import BARE
from test_hosts import drained
from test_known_fault import MINUTE, send
from test_told_faults_in_time import suspects


def stamped(at_ms, host):
    return f"{time.strftime('%b %d %H:%M:%S', time.gmtime(at_ms / 1000))} {host} kernel: {BARE}"


class Teams:
    def __init__(self, path):
        self.server = Server(path).start()
        token_of(self.server, "admin", "--scope", "admin")
        self.read = token_of(self.server, "read", "--scope", "read")[0]
        self.write = {team: token_of(self.server, team, "--scope", "write", "--team", team)[0] for team in ("red", "blue")}
        self.write["fleet"] = token_of(self.server, "fleet", "--scope", "write")[0]

    def send(self, team, job, host, at_ms, text, stream="all"):
        body = json.dumps({"line": text, "ts": at_ms}) + "\n"
        path = f"/api/v1/logs?job={job}&stream={stream}&host={host}"
        reply = self.server.post(path, body.encode(), content_type="application/x-ndjson", token=self.write[team])
        assert reply.status == 200, reply

    def charged(self):
        nodes = self.server.get("/api/v1/nodes", token=self.read).body["nodes"]
        return sorted(row["host"] for row in nodes if row.get("faults"))

    def suspects(self, job):
        rows = self.server.get(f'/api/v1/incidents?q=name="{job}"&kind=node_suspect&all=true', token=self.read).body["incidents"]
        return [row["evidence"]["host"] for row in rows]


@pytest.fixture
def teams(tmp_path):
    teams = Teams(tmp_path)
    yield teams
    teams.server.close()


@pytest.mark.parametrize("how", ["sender", "line"])
@pytest.mark.parametrize("victim", ["red", "fleet"])
def test_a_team_renames_no_machine_of_another(teams, victim, how):
    at = int(time.time() * 1000) - 5 * MINUTE
    teams.send(victim, "kern", "central-r", at, stamped(at, "gpu41"))
    wait_until(lambda: teams.charged() == ["gpu41"], what="the fault")
    if how == "sender":
        teams.send("blue", "x", "gpu41.evil.example", at + 3000, "step 1 loss: 2.0")
        teams.send("blue", "x", "gpu41.evil.example", at + 3000, BARE, stream="other")
    else:
        teams.send("blue", "x", "central-b", at + 3000, stamped(at + 3000, "gpu41.evil.example"))
    wait_until(lambda: teams.charged() == ["gpu41", "gpu41.evil.example"], what="each by itself")
    assert teams.suspects("kern") == ["gpu41"] and teams.suspects("x") == ["gpu41.evil.example"]


FORMS = {"kernel": stamped, "before": lambda at_ms, host: f"{host}: {BARE}", "list": lambda at_ms, host: f"slurmctld: error: Nodes {host} not responding, setting DOWN"}


@pytest.mark.parametrize("said, sent", [("gpu43", "gpu43.cluster-b.example"), ("gpu43.cluster-a.example", "gpu43")])
@pytest.mark.parametrize("form", FORMS)
def test_a_teams_line_charges_no_machine_that_another_team_alone_has_named(teams, form, said, sent):
    """Each of two clusters has its gpu43; a line's bare guess is then nobody's, and what names a machine for certain is that one's."""
    at = int(time.time() * 1000) - 5 * MINUTE
    teams.send("blue", "x", sent, at, "step 1 loss: 2.0")
    teams.send("red", "kern", "central-r", at + 3000, FORMS[form](at + 3000, said))
    teams.send("red", "kern", "central-r", at + 4000, stamped(at + 4000, "gpu44"), stream="last")
    wait_until(lambda: "gpu44" in teams.charged(), what="what was sent last")
    assert teams.charged() == (["gpu44"] if form == "before" else sorted([said, "gpu44"]))


@pytest.mark.parametrize("sender", ["red", "fleet"])
@pytest.mark.parametrize("form", FORMS)
def test_a_teams_line_charges_its_own_machine_and_that_of_all_whatever_another_team_sends(teams, form, sender):
    at = int(time.time() * 1000) - 5 * MINUTE
    for n, name in enumerate(("gpu43.cluster-b.example", "GPU43.cluster-c.example", "gpu43.a.example", "gpu43.z.example")):
        teams.send("blue", f"x-{n}", name, at, "step 1 loss: 2.0")
    teams.send(sender, "own", "gpu43.cluster-r.example", at, "step 1 loss: 2.0")
    teams.send("red", "kern", "central-r", at + 3000, FORMS[form](at + 3000, "gpu43"))
    wait_until(lambda: teams.charged() == ["gpu43.cluster-r.example"], what="the machine that is its own")


def test_a_word_that_only_another_team_calls_a_machine_is_no_machine(teams):
    at = int(time.time() * 1000) - 5 * MINUTE
    teams.send("blue", "x", "mlnode3", at, "step 1 loss: 2.0")
    teams.send("red", "own", "gpu45", at, f"[mlnode3] {BARE}")
    wait_until(lambda: teams.charged() == ["gpu45"], what="the sender")


@pytest.mark.parametrize("victim, sender", [("red", "red"), ("red", "fleet"), ("fleet", "fleet")])
def test_the_same_team_and_the_fleet_say_what_a_machine_is_called(teams, victim, sender):
    at = int(time.time() * 1000) - 5 * MINUTE
    teams.send(victim, "kern", "central-r", at, stamped(at, "gpu41"))
    wait_until(lambda: teams.charged() == ["gpu41"], what="the fault")
    teams.send(sender, "x", "gpu41.a.example", at + 3000, "step 1 loss: 2.0")
    wait_until(lambda: teams.charged() == ["gpu41.a.example"], what="the name that it sends by")
    assert teams.suspects("kern") == ["gpu41.a.example"]


def test_machines_that_two_jobs_tell_of_in_the_same_words_stay_two(server):
    """Of two domains, each with its own log: one event of the same words at nearly the same time."""
    at = int(time.time() * 1000) - 5 * MINUTE
    for n, host in enumerate(("gpu09.c.local", "gpu09")):
        send(server, f"two-{n}", "all", (at + 4000 * n, stamped(at + 4000 * n, host)), host=f"central-{n}")
        wait_until(lambda: host in drained(server), what=host)
    assert drained(server) == ["gpu09", "gpu09.c.local"]
    assert suspects(server, "two-0") == ["gpu09.c.local"] and suspects(server, "two-1") == ["gpu09"]
