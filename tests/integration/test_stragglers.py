"""A stream that is slower than its job's others is named, once, until it has caught up."""

import datetime
import time

import pytest

from smserver import wait_until

STREAMS = [f"algo-{number}" for number in range(1, 6)]
SLOW = "algo-3"
BEGIN_S = int(time.time()) - 8000  # machines are judged by the last thirty days


def send(server, first, count, slow_time):
    for stream in STREAMS:
        time = slow_time if stream == SLOW else 1.2
        server.send("llama", [f"step: {n} loss: 3.0 step_time: {time * (1 + n * 7919 % 100 / 10000):.4f}"
            for n in range(first, first + count)], stream)


def stragglers(server):
    return server.get("/api/v1/incidents?kind=straggler").body["incidents"]


def wait_for_state(server, states, first, slow_time):
    """More steps until it is said: looks are some seconds apart, and want new figures."""
    step = first

    def is_said():
        nonlocal step
        send(server, step, 8, slow_time)
        step += 8
        return [row["state"] for row in stragglers(server)] == states

    wait_until(is_said, what=f"stragglers {states}")
    return step


def test_a_slow_stream_is_named_and_its_end_is_told(server):
    send(server, 0, 200, 1.2)
    server.wait_for_points("llama", "step_time", 200)
    assert not stragglers(server)
    step = wait_for_state(server, ["open"], 200, 1.5)
    row, = stragglers(server)
    assert (row["stream"], row["metric"], row["severity"]) == (SLOW, "step_time", "warning")
    evidence = row["evidence"]
    assert abs(evidence["expected"] - 1.2) < 0.02 and 1.4 < evidence["value"] < 1.6 and evidence["score"] > 6
    server.restart()
    step = wait_for_state(server, ["open"], step, 1.5)
    wait_for_state(server, ["recovered"], step, 1.2)


FORMS = {"words": ("step {step} step_time: {time:.4f} s", "train:step_time", 1000),
    "json": ('{{"step":{step},"step_time":{time:.4f}}}', "step_time", 1),
    "throughput": ("step {step} throughput: {speed:.2f} tokens/s", "train:throughput", 1),
    "stepless": ("throughput: {speed:.2f} tokens/s", "train:throughput", 1)}


def test_workers_that_print_no_loss_are_watched(server):
    """Curves of step time or of throughput alone; of each job one of five workers takes a quarter more."""
    for job, (text, _, _) in FORMS.items():
        for stream in STREAMS:
            times = [(1.5 if stream == SLOW and step >= 200 else 1.2) * (1 + step * 7919 % 100 / 10000) for step in range(400)]
            server.send(job, [text.format(step=step, time=time, speed=4000 / time) for step, time in enumerate(times)], stream)
    for job, (_, metric, factor) in FORMS.items():
        server.wait_for_points(job, metric, 400, SLOW)
        series = next(one for one in server.get(f"/api/v1/jobs/{job}/points?metric={metric}&raw=true").body["series"] if one["stream"] == SLOW)
        first = float(f"{4000 / 1.2:.2f}") if metric == "train:throughput" else float(f"{1.2:.4f}") * factor
        assert series["step"] == list(range(400)) and abs(series["value"][0] - first) < 1e-6, (job, series["value"][0])
    wait_until(lambda: {(row["job"], row["stream"]) for row in stragglers(server)} == {(job, SLOW) for job in FORMS}, what="a straggler in each job")


def test_what_a_tracker_tells_of_one_stream_hides_no_straggler(server):
    """Of one of five the step time, or tokens/s, comes as points as well, before the lines that say it of all."""
    told = {"by-time": ("step_time", "step {step} step_time: {time:.4f} s", "train:step_time"),
        "by-another-name": ("train/step_time", "step {step} step_time: {time:.4f} s", "train:step_time"),
        "by-speed": ("tokens_per_second", "step {step} throughput: {speed:.2f} tokens/s", "train:throughput"),
        "by-both": ("step_time", "step {step} throughput: {speed:.2f} tokens/s", "train:throughput")}
    steps = list(range(400))
    times = {stream: [(1.5 if stream == SLOW and step >= 200 else 1.2) * (1 + step * 7919 % 100 / 10000) for step in steps] for stream in STREAMS}
    for job, (name, text, _) in told.items():
        values = [4000 / time if name == "tokens_per_second" else time for time in times[STREAMS[0]]]
        assert server.post(f"/api/v1/points?job={job}", json={"series": [{"metric": name, "stream": STREAMS[0], "step": steps,
            "ts_ms": [1_780_000_000_000 + 1200 * step for step in steps], "value": values}]}).status == 200
        server.wait_for_points(job, name, 400, STREAMS[0])
        for stream in STREAMS:
            server.send(job, [text.format(step=step, time=time, speed=4000 / time) for step, time in enumerate(times[stream])], stream)
    wait_until(lambda: {(row["job"], row["stream"], row["metric"]) for row in stragglers(server)}
        == {(job, SLOW, metric) for job, (_, _, metric) in told.items()}, what="a straggler in each job")


def curve(number):
    """Step times a little apart, so that there is a spread; algo-3 is a fifth slower from step 400 on."""
    return [(1.44 if number == 3 and step >= 400 else 1.2) * (1 + 0.002 * (step * 7 % 5) + 0.001 * number) for step in range(800)]


def post_curves(server, streams):
    steps = list(range(800))
    reply = server.post("/api/v1/points?job=uploaded", json={"series": [{"metric": "train:step_time", "stream": f"algo-{number}",
        "step": steps, "ts_ms": [1_780_000_000_000 + 1200 * step for step in steps], "value": curve(number)} for number in streams]})
    assert reply.status == 200, reply


def test_an_upload_of_whole_curves_tells_the_step_at_which_it_began(server):
    for number in (1, 3):
        post_curves(server, [number])
    post_curves(server, [2, 4, 5])
    row, = wait_until(lambda: stragglers(server), what="a straggler")
    assert (row["job"], row["stream"], row["is_historic"]) == ("uploaded", SLOW, True)
    assert 400 < row["opened_step"] < 450
    server.restart()
    assert [again["opened_step"] for again in stragglers(server)] == [row["opened_step"]]


def noisy(number, step):
    return 10 * (1 + 0.003 * ((step * 7919 + number * 104729) % 101 / 50 - 1))


def stamp(seconds):
    return datetime.datetime.fromtimestamp(BEGIN_S + seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_whoever_is_slow_is_named_though_another_one_is_already(server):
    """Of 16 machines with two ranks each: the ninth is 15 % slower from step 41 on, the fifth 30 % slower from step 141 on."""
    for number in range(32):
        machine = number // 2
        factor = {8: lambda step: 1.15 if step > 40 else 1, 4: lambda step: 1.3 if step > 140 else 1}.get(machine, lambda step: 1)
        lines = [f"{stamp(step * 10)} step {step} step_time={noisy(number, step) * factor(step):.3f}s" for step in range(1, 401)]
        assert server.post(f"/api/v1/logs?job=two&stream=rank-{number}&host=h{machine}", "\n".join(lines) + "\n").status == 200
    all_of = "/api/v1/incidents?kind=straggler&all=true"  # the list has one a machine
    rows = wait_until(lambda: (lambda found: len(found) >= 4 and found)(server.get(all_of).body["incidents"]), what="four slow streams")
    assert {row["stream"]: row["first_step"] for row in rows} == {"rank-16": 41, "rank-17": 41, "rank-8": 137, "rank-9": 137}  # figures are of eight steps
    assert {row["stream"]: row["evidence"]["host"] for row in rows} == {"rank-16": "h8", "rank-17": "h8", "rank-8": "h4", "rank-9": "h4"}
    wait_until(lambda: server.get("/api/v1/nodes/h8").body["slow_steps"] == 359, what="its steps, once")
    assert server.get("/api/v1/nodes/h4").body["slow_steps"] == 263 and server.get("/api/v1/nodes/h4").body["stragglers"] == 2


def test_a_machine_that_has_caught_up_hides_none_that_is_slow_now(server):
    """Of eight machines the first is slow from step 101 to 200, the second to 300, the third to the end."""
    slow = {number: range(101 + 100 * number, 201 + 100 * number) for number in range(3)}
    for number in range(8):
        lines = [f"{stamp(step * 10)} step {step} step_time={noisy(number, step) * (1.3 if step in slow.get(number, ()) else 1):.3f}s" for step in range(1, 401)]
        assert server.post(f"/api/v1/logs?job=moves&stream=algo-{number + 1}&host=mo{number}", "\n".join(lines) + "\n").status == 200
    wait_until(lambda: len(server.get("/api/v1/incidents?kind=straggler&all=true").body["incidents"]) == 3, what="three slow machines")
    wait_until(lambda: {row["stream"]: row["state"] for row in stragglers(server)} == {"algo-1": "recovered", "algo-2": "recovered", "algo-3": "open"}, what="each by itself")


def post_noisy(server, job, steps, host_of, is_slow, count=8):
    for number in range(count):
        host = host_of(number)
        lines = [f"{stamp(step * 10)} step {step} step_time={noisy(number, step) * (1.3 if is_slow(host, step) else 1):.3f}s" for step in steps]
        assert server.post(f"/api/v1/logs?job={job}&stream=algo-{number + 1}&host={host}", "\n".join(lines) + "\n").status == 200


def slow_steps(server, *hosts):
    return [server.get(f"/api/v1/nodes/{host}").body["slow_steps"] for host in hosts]


def test_an_end_that_is_stated_at_once_counts_no_step_that_was_not_slow(server):
    """Steps 101 to 250 of 600 are slow, which is told at 200; each end comes right behind the last line."""
    def post(n, steps):
        post_noisy(server, f"en{n}", steps, lambda number: f"en{n}-{number}", lambda host, step: host.endswith("-3") and 101 <= step <= 250)

    for n in range(3):
        post(n, range(1, 201))
    wait_until(lambda: [row["state"] for row in stragglers(server)] == ["open"] * 3, what="three that are slow")
    for n in range(3):
        post(n, range(201, 601))
        assert server.post(f"/api/v1/jobs/en{n}/transitions", json={"SecondaryStatus": "Completed", "time_ms": (BEGIN_S + 6010) * 1000}).status == 204
    rows = wait_until(lambda: (lambda found: len(found) == 3 and all(row["state"] == "recovered" for row in found) and found)(stragglers(server)), what="three that caught up")
    assert [row.get("closed_why") for row in rows] == [None] * 3, rows
    for n in range(3):
        slow, = slow_steps(server, f"en{n}-3")
        assert 140 <= slow <= 165, slow


def test_a_machine_that_takes_a_slow_stream_over_is_slow_itself(server):
    """Steps 151 to 300 are slow on the first machine; of those who take over at 301 the first is slow until 500, the other one is not."""
    for job, new_is_slow in (("to-slow", True), ("to-fast", False)):
        def is_slow(host, step, job=job, new_is_slow=new_is_slow):
            return (host == f"{job}-3" and step >= 151) or (host == f"{job}-9" and new_is_slow and step <= 500)
        post_noisy(server, job, range(1, 301), lambda number, job=job: f"{job}-{number}", is_slow)
        wait_until(lambda job=job: server.get(f"/api/v1/nodes/{job}-3").body["stragglers"] == 1, what="the first machine")
        post_noisy(server, job, range(301, 801), lambda number, job=job: f"{job}-{9 if number == 3 else number}", is_slow)
    wait_until(lambda: slow_steps(server, "to-slow-9", "to-fast-9")[0] > 0 and not server.get("/api/v1/incidents?kind=straggler&state=open").body["incidents"],
        what="the second machine")
    first, second = slow_steps(server, "to-slow-3", "to-slow-9")
    assert 140 <= first <= 165 and 185 <= second <= 215, (first, second)
    first, second = slow_steps(server, "to-fast-3", "to-fast-9")
    assert 140 <= first <= 165 and second == 0, (first, second)


def test_what_the_job_does_behind_an_end_or_a_restart_is_none_of_its_slow_steps(server):
    """Steps 61 to 120 are slow, and the job goes on for 21 as usual: too few for a comparison of four blocks that all are."""
    def post(job, first, last, delay_s=0):
        for number in range(4):
            lines = [f"{stamp(step * 10 + delay_s)} step {step} step_time={noisy(number, step) * (1.5 if number == 3 and 61 <= step <= 120 and not delay_s else 1):.3f}s"
                for step in range(first, last + 1)]
            assert server.post(f"/api/v1/logs?job={job}&stream=algo-{number + 1}&host={job}-{number}", "\n".join(lines) + "\n").status == 200

    def put(status, step, delay_s=0):
        assert server.post("/api/v1/jobs/ended/transitions", json={"SecondaryStatus": status, "time_ms": (BEGIN_S + step * 10 + delay_s) * 1000}).status == 204

    def is_about_sixty(job):
        slow, = slow_steps(server, f"{job}-3")
        return 56 <= slow <= 70 and slow

    for job in ("ended", "restarted"):
        post(job, 1, 141)
    wait_until(lambda: [row["state"] for row in stragglers(server)] == ["open"] * 2, what="two that are slow")
    put("Stopped", 141, 1)
    wait_until(lambda: sorted(row.get("closed_why") or row["state"] for row in stragglers(server)) == ["job_ended", "open"], what="the end")
    assert is_about_sixty("ended"), slow_steps(server, "ended-3")
    put("Training", 141, 600)
    for job in ("ended", "restarted"):
        post(job, 101, 260, 1000)
    server.wait_for_extraction()
    wait_until(lambda: not server.get("/api/v1/incidents?kind=straggler&state=open").body["incidents"], what="what has caught up")
    assert is_about_sixty("ended") and is_about_sixty("restarted"), slow_steps(server, "ended-3", "restarted-3")
    assert len(stragglers(server)) == 2


def test_a_restart_that_comes_at_once_hides_no_straggler_before_it(server):
    """Steps 61 to 160 of the fifth of eight are slow; steps 251 on are made again, and come before anybody looks."""
    for first, last, delay in ((1, 298, 0), (251, 400, 1000)):
        for number in range(8):
            server.send("again", [f"{stamp(step * 10 + delay)} step {step} step_time={noisy(number, step) * (1.15 if number == 4 and first < 61 and 60 < step <= 160 else 1):.3f}s"
                for step in range(first, last)], f"rank-{number}")
    row, = wait_until(lambda: [row for row in stragglers(server) if row["state"] == "recovered"], what="what has caught up")
    assert row["stream"] == "rank-4" and 57 <= row["first_step"] <= 65 and 152 <= row["last_step"] <= 176  # give or take half a block


def test_a_trainer_that_prints_seconds_is_compared_with_those_that_print_ms(server):
    """verl's line on the first of eight, which is 30 % slower from step 41 on: it is one metric, in two units."""
    for number in range(8):
        slow = [1.3 if number == 0 and step > 40 else 1 for step in range(151)]
        text = "step:{step} - actor/entropy:0.5 - actor/pg_loss:0.02 - timing_s/step:{time:.2f}" if number == 0 else "step {step} step_time={time:.2f}s"
        server.send("mixed", [f"{stamp(step * 10)} {text.format(step=step, time=noisy(number, step) * slow[step])}" for step in range(1, 151)], f"rank-{number}")
    row, = wait_until(lambda: stragglers(server), what="the slow one")
    assert row["stream"] == "rank-0" and row["evidence"]["value"] == pytest.approx(13, rel=0.02) and row["evidence"]["expected"] == pytest.approx(10, rel=0.02)
    heat = server.get("/api/v1/jobs/mixed/heat?buckets=2").body
    assert heat["unit"] == "s" and all(value == pytest.approx(10, rel=0.02) for value in heat["median"])
    away = {row["stream"]: row["away"] for row in heat["rows"]}
    assert away["rank-0"][-1] == pytest.approx(300, abs=20) and all(abs(value) < 10 for value in away["rank-3"])
