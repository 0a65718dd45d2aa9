"""Settings that a log printed wrongly, set right by hand: what is worked out of them follows, and goes back when they are taken back."""

import json

import pytest

from fixtures import emptied_server as server  # noqa: F401 (one process for the file)
from smserver import wait_until
from test_carry import export, take
from test_derived import derived
from test_life import MINUTE_MS, T0, line
from test_tokens_consumed import steps, tokens

SAID = "Namespace(train_tokens=20000000, global_batch_size=8, seq_length=1024, max_steps=1000, learning_rate=0.001, lr_scheduler_type='constant')"


def set_by_hand(server, settings, status=200, job="j"):
    reply = server.patch(f"/api/v1/jobs/{job}", json={"by_hand": {"settings": settings}})
    assert reply.status == status, reply
    return reply


@pytest.fixture
def said(server):
    """100 steps of 8192 tokens by what its log says, at a rate that is twice the printed peak."""
    server.send("j", [line(T0, SAID)] + [line(T0 + n * MINUTE_MS, f"step: {n} loss: 2.5 lr: 0.002") for n in range(1, 101)])
    wait_until(lambda: tokens(server)["budget"], what="its settings: they are kept a moment after its lines")
    return server


def schedule(server, job="j"):
    return server.get(f"/api/v1/jobs/{job}/schedule").body


def test_what_follows_from_a_setting(said):
    server = said
    before = tokens(server), schedule(server)
    assert before[0]["budget"] == 20e6 and before[1]["declared"]["peak"] == 0.001 and before[1]["first_difference"]["step"] == 1
    set_by_hand(server, {"train_tokens": "8192000", "learning_rate": 0.002})
    found = tokens(server)
    assert (found["budget"], found["consumed"]) == (8192000, 100 * 8192)
    assert found["eta_ms"] == T0 + 100 * MINUTE_MS + 900 * MINUTE_MS
    assert found["from"]["budget"] == "train_tokens, by hand"
    assert schedule(server)["declared"]["peak"] == 0.002 and schedule(server)["first_difference"] is None
    job = server.get("/api/v1/jobs/j").body
    assert job["by_hand"] == {"settings": {"train_tokens": "8192000", "learning_rate": 0.002}}
    assert (job["HyperParameters"]["train_tokens"], job["HyperParameters"]["learning_rate"], job["HyperParameters"]["max_steps"]) == ("8192000", "0.002", "1000")
    assert job["HyperParametersFromLog"]["train_tokens"]["Value"] == "20000000"
    for query, count in (("hp.train_tokens=8192000", 1), ("hp.train_tokens=20000000", 0)):
        assert len(server.get(f"/api/v1/jobs?q={query}").body["jobs"]) == count
    set_by_hand(server, {"train_tokens": None, "learning_rate": None})
    assert (tokens(server), schedule(server)) == before
    assert "by_hand" not in server.get("/api/v1/jobs/j").body
    assert len(server.get("/api/v1/jobs?q=hp.train_tokens=20000000").body["jobs"]) == 1


def test_of_what_arrives_after_it(server):
    """Derived metrics and the number of steps: 8 sequences of 2048 tokens in a minute, of 400 steps."""
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "j", "HyperParameters": {"global_batch_size": "8", "seq_length": "1024", "max_steps": "1000"}}).status == 201
    set_by_hand(server, {"seq_length": "2048", "max_steps": 400})
    server.send("j", steps(1, 10))
    server.wait_for_points("j", "derived:tokens_per_second", 8)
    assert derived(server, "j")["derived:tokens_per_second"]["last"] == pytest.approx(8 * 2048 / 60)
    assert wait_until(lambda: server.get("/api/v1/jobs/j").body.get("total_steps")) == 400
    assert tokens(server)["budget"] == 400 * 8 * 2048


def test_one_by_one_audited_and_refused(said):
    server = said
    set_by_hand(server, {"train_tokens": "8192000", "hf_token": "very-secret"})
    set_by_hand(server, {"seq_length": "2048"})
    kept = server.get("/api/v1/jobs/j").body["by_hand"]["settings"]
    assert set(kept) == {"train_tokens", "hf_token", "seq_length"} and kept["hf_token"] != "very-secret"
    entries = server.get("/api/v1/audit?limit=2").body["entries"]
    assert "seq_length" in json.dumps(entries[0]) and "8192000" in json.dumps(entries[0]), "the change, and what was before"
    assert "very-secret" not in json.dumps(entries)
    for wrong in ("x", {"lr": []}, {"lr": {"a": 1}}, {"lr": True}, {"lr": " "}, {"": "1"}, {"k" * 257: "1"}, {"lr": "9" * 2501}):
        assert set_by_hand(server, wrong, 422).body["field"].startswith("by_hand.settings"), wrong
    assert server.patch("/api/v1/jobs/j", json={"by_hand": None}).status == 200
    assert tokens(server)["budget"] == 20e6


@pytest.mark.parametrize("settings, says", [({"lr": []}, "by_hand.settings.lr is a number, or a text"), ({"bf16": True}, "true and false: \"true\""),
    ({"lr": " "}, "not of spaces alone")])
def test_what_a_setting_may_be_is_said(server, settings, says):
    server.send("j", "step: 1 loss: 2.5")
    detail = set_by_hand(server, settings, 422).body["detail"]
    assert says in detail and "a name" not in detail, detail


def test_the_next_run_has_them(server):
    """Copied as a request or a command, and told to whoever starts a failed job again."""
    document = {"TrainingJobName": "j", "HyperParameters": {"lr": "1e-4", "layers": "12"}}
    assert server.post("/api/v1/jobs", json=document).status == 201
    set_by_hand(server, {"lr": 3e-4, "warmup": "10", "hf_token": "very-secret"})
    server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Failed", "FailureReason": "NCCL timeout"})

    def settings():
        request = server.get("/api/v1/jobs/j?as=json").body
        command = server.get("/api/v1/jobs/j?as=aws-cli").body
        restart = server.get("/api/v1/jobs/j/restart").body["document"]
        assert json.loads(command.split("--cli-input-json ")[1].strip().strip("'")) == request and "by_hand" not in request
        assert request["HyperParameters"] == restart["HyperParameters"] and restart["TrainingJobName"] == "j"
        return request["HyperParameters"]
    found = settings()
    masked = found.pop("hf_token")
    assert found == {"lr": "0.0003", "warmup": "10", "layers": "12"} and masked and masked != "very-secret"
    assert server.patch("/api/v1/jobs/j", json={"by_hand": None}).status == 200
    assert settings() == {"lr": "1e-4", "layers": "12"}


def test_it_differs_once(server):
    for job, rate in (("a", "1e-4"), ("b", "1e-4")):
        assert server.post("/api/v1/jobs", json={"TrainingJobName": job, "HyperParameters": {"lr": rate}}).status == 201
    set_by_hand(server, {"lr": "3e-4"}, job="a")
    assert server.get("/api/v1/compare?jobs=a,b").body["differ"] == [{"key": "hp.lr", "values": ["3e-4", "1e-4"]}]


def test_it_is_carried(said, make_server):
    set_by_hand(said, {"train_tokens": "8192000"})
    wait_until(lambda: tokens(said)["budget"] == 8192000)
    other = make_server()
    take(other, export(said))
    assert tokens(other)["budget"] == 8192000 and other.get("/api/v1/jobs/j").body["by_hand"] == {"settings": {"train_tokens": "8192000"}}
    assert other.patch("/api/v1/jobs/j", json={"by_hand": {"settings": {"train_tokens": None}}}).status == 200
    assert tokens(other)["budget"] == 20e6
