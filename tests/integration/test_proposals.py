"""Metric definitions that are proposed for a log that nothing reads."""

import math
import random
import subprocess

import pytest
from smserver import sanitizer_environment, wait_until


def value(step):
    return round(2 + math.exp(-step / 80), 4)


def odd(count, first=0):
    """No preset knows marks like these."""
    return [f"#{step} xent^{value(step):.4f}^ gradmag^{0.5 + step % 7 / 8}^" for step in range(first, first + count)]


def proposals(server, job, query="", status=200):
    reply = server.get(f"/api/v1/jobs/{job}/definitions/proposals{query}")
    assert reply.status == status, reply
    return reply.body


def when_extracted(server, job):
    """What it says once all lines were looked at for metrics."""
    def all_read():
        body = proposals(server, job)
        return body if body["extracted_lines"] == body["lines"] else None
    return wait_until(all_read, what=f"the extraction of {job}")


def put(server, job, body):
    reply = server.put(f"/api/v1/jobs/{job}/definitions?backfill=true", json=body)
    assert reply.status == 202, reply

    def is_done():
        backfill = server.get(f"/api/v1/jobs/{job}/definitions").body["backfill"]
        assert backfill["state"] in ("running", "done"), backfill
        return backfill["state"] == "done"
    wait_until(is_done, what="the back-fill")


def raw(server, job, metric):
    series, = server.get(f"/api/v1/jobs/{job}/points?metric={metric}&raw=true").body["series"]
    return list(zip(series["step"], series["value"]))


def test_records_whose_step_stands_on_a_line_of_its_own_keep_it_after_one_put(server):
    """Nothing reads a circumflex."""
    steps = range(10, 3010, 10)
    server.send("j", [line for step in steps for line in (f"===^ Step {step}/3000 ^===", f"xent^{value(step / 10):.4f}^", "")])
    shape = when_extracted(server, "j")["shapes"][0]
    assert [one["Name"] for one in shape["definitions"]] == ["xent", "step"] and shape["definitions"][1]["StepOnly"] is True
    assert "step" not in shape["captures"][0]
    put(server, "j", shape["put"])
    assert raw(server, "j", "xent") == [(step, value(step / 10)) for step in steps]
    assert [row["metric"] for row in server.get("/api/v1/jobs/j/metrics").body["series"] if not row["metric"].startswith("derived:")] == ["xent"]


def test_a_log_that_nothing_reads_is_read_after_one_put(server):
    server.send("j", [line for step in range(300) for line in odd(1, step) + ([f"saved part {step} of it"] if step % 10 == 0 else [])])
    body = when_extracted(server, "j")
    assert (body["job"], body["stream"], body["missing"]) == ("j", "algo-1", "metrics")
    assert body["lines"] == body["lines_read"] == 330
    first = body["shapes"][0]
    assert first["count"] == 300 and first["line"] == 329 and first["text"] == odd(1, 299)[0]
    marked = [(first["text"][one["start"]:one["end"]], one["value"], first["definitions"][one["definition"]]["Name"]) for one in first["captures"]]
    assert marked == [(f"{value(299):.4f}", value(299), "xent"), ("1.125", 1.125, "gradmag")]  # 299 % 7 = 5
    assert all(first["text"][one["step_start"]:one["step_end"]] == "299" and one["step"] == 299 for one in first["captures"])
    assert [one.get("Role") for one in first["definitions"]] == ["loss", None]
    assert first["put"] == {"definitions": first["definitions"]}
    put(server, "j", first["put"])
    assert raw(server, "j", "xent") == [(step, value(step)) for step in range(300)]
    assert raw(server, "j", "gradmag") == [(step, 0.5 + step % 7 / 8) for step in range(300)]
    server.send("j", odd(5, 300) + ["#305 xent^nan^ gradmag^inf^"])
    server.wait_for_points("j", "xent", 306)
    assert raw(server, "j", "xent")[-1] == (305, "NaN")
    after = when_extracted(server, "j")
    assert after["missing"] == "" and not any("xent^" in shape["text"] for shape in after["shapes"])


def test_a_running_job_is_given_time_and_an_ended_one_is_not(server):
    server.send("j", odd(199))
    body = when_extracted(server, "j")
    assert (body["lines_needed"], body["shapes"], body["lines_read"]) == (200, [], 0)
    server.send("j", odd(1, 199))
    assert len(when_extracted(server, "j")["shapes"]) == 1
    server.send("short", odd(20))
    assert when_extracted(server, "short")["shapes"] == []
    assert server.post("/api/v1/jobs/short/transitions", json={"SecondaryStatus": "Completed"}).status == 204
    body = when_extracted(server, "short")
    assert "lines_needed" not in body and body["shapes"][0]["count"] == 20


def test_what_a_job_has_is_kept(server):
    own = {"Name": "pace", "Regex": r"pace\^([0-9.]+)", "Step": r"^#(\d+)"}
    reply = server.post("/api/v1/jobs", json={"TrainingJobName": "j", "AlgorithmSpecification": {"MetricDefinitions": [own]}})
    assert reply.status == 201
    server.send("j", [line for step in range(200) for line in odd(1, step) + [f"#{step} pace^{step % 9}.5^"]])
    server.wait_for_points("j", "pace", 200)
    body = when_extracted(server, "j")
    assert body["missing"] == "loss"
    shape, = body["shapes"]  # that of pace is read already
    assert shape["put"]["definitions"] == [own, *shape["definitions"]]
    put(server, "j", shape["put"])
    assert raw(server, "j", "pace") == [(step, step % 9 + 0.5) for step in range(200)]
    assert raw(server, "j", "xent") == [(step, value(step)) for step in range(200)]


def test_what_was_guessed_is_kept(server):
    server.send("j", [line for step in range(200) for line in odd(1, step) + [f"step: {step}, accuracy: {step / 1000}"]])
    server.wait_for_points("j", "accuracy", 200)
    before = raw(server, "j", "accuracy")
    body = when_extracted(server, "j")
    assert body["missing"] == "loss"
    shape = body["shapes"][0]
    assert [one["Name"] for one in shape["definitions"]] == ["xent", "gradmag"]
    assert [one["Name"] for one in shape["put"]["definitions"]] == ["xent", "gradmag", "accuracy"]
    put(server, "j", shape["put"])
    assert raw(server, "j", "accuracy") == before == [(step, step / 1000) for step in range(200)]


def test_the_first_and_the_last_lines_of_a_long_log_are_looked_at(server):
    filler = ["nothing to see here"] * 1000
    server.send("j", odd(50))
    for _ in range(5):
        server.send("j", filler)
    server.send("j", [f"late {step} reward^{step % 5}.25^" for step in range(60)])
    body = when_extracted(server, "j")
    assert (body["lines"], body["lines_read"]) == (5110, 4096)
    assert {shape["count"] for shape in body["shapes"]} == {50, 60}
    late, = (shape for shape in body["shapes"] if shape["count"] == 60)
    assert late["line"] == 5109
    put(server, "j", late["put"])
    assert raw(server, "j", "reward") == [(step, step % 5 + 0.25) for step in range(60)]


def test_the_stream_with_most_lines_or_the_one_that_is_asked_for(server):
    server.send("j", odd(250), stream="algo-2")
    server.send("j", ["chatter"] * 10, stream="algo-1")
    server.send("j", [f"cpu^{n}.5^" for n in range(400)], stream="system/host-1")
    assert when_extracted(server, "j")["stream"] == "algo-2"
    assert proposals(server, "j")["lines"] == 260
    assert proposals(server, "j", "?stream=algo-1")["shapes"] == []
    assert proposals(server, "j", "?stream=system/host-1")["shapes"][0]["count"] == 400
    proposals(server, "j", "?stream=nobody", status=404)
    proposals(server, "nobody", status=404)
    assert server.get("/api/v1/jobs/j/definitions/proposals?streams=x").status == 400


def test_a_job_without_lines(server):
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "j"}).status == 201
    body = proposals(server, "j")
    assert (body["lines"], body["stream"], body["missing"], body["shapes"]) == (0, "", "metrics", [])


def test_points_that_were_sent_are_metrics(server):
    server.send("j", odd(200))
    reply = server.post("/api/v1/points?job=j", json={"points": [{"metric": "loss", "step": 1, "value": 2.5}]})
    assert reply.status == 200, reply
    wait_until(lambda: proposals(server, "j")["missing"] == "", what="the point")


@pytest.mark.parametrize("kind", ["noise", "long", "wide"])
def test_odd_input_is_bounded(server, kind):
    """Binary noise, lines of a mebibyte, ten thousand names: a reply within seconds, and nothing but text in it."""
    chance = random.Random(7)
    if kind == "noise":
        body = b"\n".join(chance.randbytes(300).replace(b"\n", b"") for _ in range(2000))
    elif kind == "long":
        body = b"\n".join(b"x" * (1 << 20) + f" cost^{n}.5^".encode() for n in range(12))
    else:
        body = b"\n".join(" ".join(f"name{n}={line}.{n}" for n in range(10000)).encode() for line in range(8))
    reply = server.post("/api/v1/logs?job=j&stream=algo-1", body)
    assert reply.status == 200, reply
    assert server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Completed"}).status == 204
    body = when_extracted(server, "j")
    if kind == "noise":
        assert body["shapes"] == []
    for shape in body["shapes"]:
        assert len(shape["definitions"]) <= 12 and len(shape["put"]["definitions"]) <= 100


def test_a_token_that_reads_may_ask_and_may_not_put(server):
    def token(name, *arguments):
        done = subprocess.run([server.bin("sm-server"), "token", "create", name, *server.database_options(), *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, env=sanitizer_environment())
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()
    reader = token("reader", "--scope", "read")
    blue, red = (token(team, "--scope", "write", "--team", team) for team in ("blue", "red"))
    server.send("j", odd(200), token=blue)

    def ask(who):
        return server.get("/api/v1/jobs/j/definitions/proposals", token=who)
    wait_until(lambda: ask(reader).body["extracted_lines"] == 200, what="the extraction")
    shape, = ask(reader).body["shapes"]
    assert [ask(who).status for who in (blue, red, "smf_nobody")] == [403, 403, 401]  # to write is not to read
    path = "/api/v1/jobs/j/definitions?backfill=true"
    assert [server.put(path, json=shape["put"], token=who).status for who in (reader, red, blue)] == [403, 403, 202]
