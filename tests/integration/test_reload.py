"""The config file is read again while the server runs: what can change does, what cannot is named, a mistake changes nothing."""

import json
import signal

import pytest

from engine import of_a_file
from smserver import wait_until


@pytest.fixture
def configured(make_server, tmp_path):
    config = tmp_path / "smfleet.conf"
    config.write_text("rate-requests = 0\nworkers = 3\nlog-level = info\n")
    server = make_server("--config", str(config), "--min-free-bytes", "1MiB")
    server.config = config
    return server


def value(server, name):
    return next(option for option in server.get("/api/v1/options").body["options"] if option["name"] == name)


def reload(server, text, expect=200):
    server.config.write_text(text)
    reply = server.post("/api/v1/admin/reload")
    assert reply.status == expect, reply
    return reply.body


@of_a_file("--log-bytes is refused on PostgreSQL")
def test_options_change_or_wait_for_a_restart(configured):
    assert reload(configured, "rate-requests = 0\nworkers = 3\nlog-level = info\n") == {"changed": [], "needs_restart": []}
    told = reload(configured, "rate-requests = 5\nworkers = 4\nlog-level = warning\nlog-bytes = 3GiB\nmin-free-bytes = 2MiB\n")
    assert set(told["changed"]) == {"rate-requests", "log-level", "log-bytes"} # the command line's min-free-bytes wins
    assert told["needs_restart"] == ["workers"]
    replies = [configured.get("/api/v1/jobs").status for _ in range(60)]
    assert replies[:5] == [200] * 5 and 429 in replies # five a second, bursts of two seconds, one was the reload
    wait_until(lambda: configured.get("/readyz").status == 200, what="the limit to pass")

    def is_back():
        reply = configured.post("/api/v1/admin/reload")
        return reply if reply.status == 200 else None
    configured.config.write_text("workers = 4\nlog-level = warning\nlog-bytes = 3GiB\n")
    assert wait_until(is_back, what="the reload").body == {"changed": ["rate-requests"], "needs_restart": ["workers"]}
    assert "smfleet_log_bytes_limit 3221225472" in configured.get("/metrics").body
    assert value(configured, "rate-requests")["value"] == 0 and value(configured, "log-level")["value"] == "warning"
    assert value(configured, "log-level")["source"].endswith("smfleet.conf:2") and value(configured, "log-level")["live"]
    assert value(configured, "workers")["value"] == 3 # what is in force
    assert {option["name"] for option in configured.get("/api/v1/options").body["options"] if option.get("live")} >= {
        "audit-bytes", "log-bytes", "log-level", "min-free-bytes", "rate-bytes", "rate-requests"}


def test_a_file_that_says_something_else_waits_for_a_restart(make_server, tmp_path):
    signatures, prices = tmp_path / "signatures.json", tmp_path / "prices.json"
    own = {"signatures": [{"name": "door", "title": "A door is open", "pattern": "the rack's door is open", "severity": "warning", "about": "node", "cause": "It is.", "action": "Close it.", "source": "wiki"}]}
    signatures.write_text(json.dumps(own))
    prices.write_text(json.dumps({"currency": "EUR", "prices": []}))
    server = make_server("--signatures-file", str(signatures), "--prices-file", str(prices))

    def told():
        reply = server.post("/api/v1/admin/reload")
        assert reply.status == 200, reply
        return reply.body
    assert told() == {"changed": [], "needs_restart": []}
    signatures.write_text(json.dumps(own, indent=2) + "\n")
    assert told() == {"changed": [], "needs_restart": []}, "it says the same"
    own["signatures"][0]["severity"] = "critical"
    signatures.write_text(json.dumps(own))
    assert told() == {"changed": [], "needs_restart": ["signatures-file"]}
    prices.write_text("{")
    assert told() == {"changed": [], "needs_restart": ["signatures-file", "prices-file"]}
    server.wait_for_log("event=file_would_stop_a_start")
    prices.write_text(json.dumps({"currency": "EUR", "prices": []}))
    server.restart()
    assert told() == {"changed": [], "needs_restart": []}


@pytest.mark.parametrize("text, says", [("rate-requests = many\n", "rate-requests"), ("workrs = 3\n", "workrs"),
    ("rate-requests = 1\nlog-level = loud\n", "log-level")])
def test_a_mistake_changes_nothing(configured, text, says):
    body = reload(configured, text, expect=422 if "loud" in text else 400)
    assert says in body["detail"] + body.get("field", ""), body
    assert all(configured.get("/api/v1/jobs").status == 200 for _ in range(20))


@of_a_file("--log-bytes is refused on PostgreSQL")
def test_a_signal_does_the_same(configured):
    configured.config.write_text("log-bytes = 5GiB\nworkers = 9\n")
    configured.signal(signal.SIGHUP)
    configured.wait_for_log("event=option_changed name=log-bytes")
    configured.wait_for_log("event=option_waits_for_a_restart name=workers")
    assert "smfleet_log_bytes_limit 5368709120" in configured.get("/metrics").body
    configured.config.write_text("nonsense\n")
    configured.signal(signal.SIGHUP)
    configured.wait_for_log("event=reload_failed")
    configured.send("j", "it goes on")
