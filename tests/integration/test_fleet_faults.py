"""--team-reads=own: what the fleet's own log, of no team, tells of a machine is known to the teams whose jobs use it, without a word of that log."""

import time

import pytest

from smserver import wait_until
from test_auth import make_token
from test_known_fault import MINUTE

XID = "NVRM: Xid (PCI:0000:02:00): 79, GPU has fallen off the bus, a secret."


@pytest.fixture
def fleet(make_server):
    server = make_server("--team-reads=own")
    tokens = {"root": make_token(server, "root", "admin"), "ops": make_token(server, "ops", "write")}
    for team in ("alpha", "beta"):
        for scope in ("read", "write"):
            tokens[f"{team}-{scope}"] = make_token(server, f"{team}-{scope}", scope, "--team", team)
    server.token = tokens["root"]
    return server, tokens


def post(server, job, stream, host, text, token):
    assert server.post(f"/api/v1/logs?job={job}&stream={stream}&host={host}", text, token=token).status == 200


def test_a_team_is_told_of_its_machines(fleet):
    server, tokens = fleet
    now = int(time.time() * 1000)

    def stamp(at_ms):
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at_ms / 1000))

    for team in ("alpha", "beta"):
        for n in (1, 2):
            text = "".join(f"{stamp(now - 10 * MINUTE + k * 10_000)} step {k + 1} loss: {3 - k / 100:.3f}\n" for k in range(30))
            post(server, team, f"algo-{n}", f"{team}-{n}", text, tokens[f"{team}-write"])
    for host, by in (("alpha-2", "ops"), ("beta-2", "ops"), ("alpha-1", "beta-write")):  # the last one another team's log tells of
        job = "zkfleet" if by == "ops" else "beta-syslog"
        post(server, job, "all", "loghost", f"{time.strftime('%b %d %H:%M:%S', time.gmtime((now - 5 * MINUTE) / 1000))} {host} kernel: {XID}\n", tokens[by])
    drains = lambda token: sorted(row["host"] for row in server.get("/api/v1/nodes", token=token).body["drain"])
    wait_until(lambda: drains(tokens["root"]) == ["alpha-1", "alpha-2", "beta-2"], what="the three faults")
    assert server.post("/api/v1/jobs/alpha/transitions", json={"SecondaryStatus": "Failed", "time_ms": now - 4 * MINUTE}, token=tokens["alpha-write"]).status == 204
    read = tokens["alpha-read"]
    reason = wait_until(lambda: server.get("/api/v1/jobs/alpha", token=read).body.get("FailureReason"), what="the reason")
    assert reason == "Xid 79: GPU has fallen off the bus on alpha-2"
    restart = server.get("/api/v1/jobs/alpha/restart", token=tokens["alpha-write"])
    assert [row["host"] for row in restart.body["drained"]] == ["alpha-2"]
    node = server.get("/api/v1/nodes/alpha-2", token=read)
    assert node.body["drain"] and [row["signature"] for row in node.body["faults"]] == ["xid_79"], node.body
    assert [(row["job"], row["text"], "stream" in row) for row in node.body["fault_list"]] == [("", "", False)]
    wait_until(lambda: server.get("/api/v1/nodes/alpha-2", token=read).body["restarts"] == 1, what="what it broke off")
    assert [row["cause"] for row in server.get("/api/v1/jobs/alpha/goodput", token=read).body["breaks"]] == ["xid_79"]
    assert drains(read) == ["alpha-2"]
    for path in ("/api/v1/nodes", "/api/v1/nodes/alpha-2", "/api/v1/jobs/alpha", "/api/v1/incidents?all=true"):
        body = server.get(path, token=read).raw.decode()
        assert "secret" not in body and "zkfleet" not in body and "beta" not in body, (path, body)
    for path in ("/api/v1/nodes/beta-2", "/api/v1/jobs/zkfleet"):
        assert server.get(path, token=read).status == 404
    assert server.get("/api/v1/nodes/alpha-1", token=read).body["faults"] == []
    # what is set right in that log counts for nobody, and why is its own
    assert server.patch("/api/v1/jobs/zkfleet", json={"by_hand": {"faults": {"all:0": "the riser, a secret"}}}, token=tokens["root"]).status == 200
    node = server.get("/api/v1/nodes/alpha-2", token=read)
    assert node.body["faults"] == [] and node.body["cleared_faults"] == [] and not node.body["drain"], node.body
    assert server.get("/api/v1/jobs/alpha/restart", token=tokens["alpha-write"]).body["drained"] == []
