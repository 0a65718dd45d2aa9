"""When a job was at work: what its lines, points and events span, without dates that lines happen to show and without pauses."""

import time

import pytest

from smserver import quote, wait_until

DAY_S = 24 * 3600
STRAY = "2024-03-01 00:00:00 image built"


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    from smserver import Server
    server = Server(tmp_path_factory.mktemp("work"), "--goodput-every", "100ms").start()
    yield server
    server.close()


def stamped(at_s, text):
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at_s)) + " " + text


def steps(first_s, count, every_s=10, first_step=1):
    return [stamped(first_s + i * every_s, f"step: {first_step + i} loss: 2.5") for i in range(count)]


def goodput(server, job):
    reply = server.get(f"/api/v1/jobs/{quote(job)}/goodput")
    assert reply.status == 200, reply
    return reply.body


def job_of(server, job):
    reply = server.get(f"/api/v1/jobs/{quote(job)}")
    assert reply.status == 200, reply
    return reply.body


def streams(server, job):
    return {s["stream"]: s for s in server.get(f"/api/v1/jobs/{quote(job)}/streams").body["streams"]}


def wait_for_lines(server, job, count):
    wait_until(lambda: sum(s["extracted_lines"] for s in streams(server, job).values()) == count, what=f"{count} lines of {job}")


def end(server, job, at_s, status="Completed"):
    reply = server.post(f"/api/v1/jobs/{quote(job)}/transitions", json={"SecondaryStatus": status, "time_ms": int(at_s * 1000)})
    assert reply.status == 204, reply


def describe(server, job, nodes=2, instance="ml.g5.48xlarge"):
    document = {"TrainingJobName": job, "ResourceConfig": {"InstanceType": instance, "InstanceCount": nodes}}
    reply = server.post("/api/v1/jobs", json=document)
    assert reply.status == 201, reply


def check(server, job, wall_s, odd, paused_s=0):
    wait_until(lambda: goodput(server, job)["wall_seconds"] == wall_s, what=f"a wall clock of {wall_s} s of {job}")
    reply = goodput(server, job)
    assert sum(bucket["seconds"] for bucket in reply["buckets"].values()) == pytest.approx(wall_s)
    assert reply["cost"]["billable_seconds"] == wall_s
    wait_until(lambda: job_of(server, job).get("odd_times", 0) == odd, what=f"{odd} odd times of {job}")
    wait_until(lambda: job_of(server, job).get("paused_seconds", 0) == paused_s, what=f"a pause of {paused_s} s of {job}")
    assert (reply.get("paused_seconds", 0), reply.get("odd_times", 0)) == (paused_s, odd)
    assert sum(s.get("odd_times", 0) for s in streams(server, job).values()) == odd
    return reply


def stray_job(server, job, begun_s, count=200):
    """Two ranks; each says when its image was built, one in the midst of the work."""
    ranks = [steps(begun_s, count), steps(begun_s, count)]
    server.send(job, [STRAY, *ranks[0]], stream="algo-1")
    server.send(job, [*ranks[1][:50], STRAY, *ranks[1][50:]], stream="algo-2")
    wait_for_lines(server, job, 2 * count + 2)


def test_a_stray_date_is_not_the_start_of_a_job(shared):
    begun_s = int(time.time()) - 3 * DAY_S
    stray_job(shared, "stray", begun_s)
    ended_s = begun_s + 199 * 10
    end(shared, "stray", ended_s)
    reply = check(shared, "stray", 1990, odd=2)
    assert [day["day"] for day in reply["days"]] == sorted({time.strftime("%Y-%m-%d", time.gmtime(s)) for s in (begun_s, ended_s)})
    kept = shared.lines("stray", "algo-1")[0]
    assert (kept["text"], kept["ts_ms"]) == (STRAY, 1709251200_000)  # the line is what it was
    assert streams(shared, "stray")["algo-1"]["first_ms"] == 1709251200_000
    years = shared.get("/api/v1/goodput?from=2024-01-01&to=2024-12-31").body
    assert years["node_hours"] == 0
    shared.wait_for_points("stray", "train:loss", 200)
    x = shared.points("stray", "train:loss", x="relative")["columns"]["x"]
    assert (x[0], x[-1]) == (0, 1990_000)


def test_a_stray_date_in_the_midst_of_a_running_job_moves_nothing(shared):
    begun_s = int(time.time()) - 1000
    shared.send("running", steps(begun_s, 50))
    wait_for_lines(shared, "running", 50)
    shared.send("running", STRAY)
    wait_for_lines(shared, "running", 51)
    wall_s = goodput(shared, "running")["wall_seconds"]
    assert 1000 <= wall_s <= 1000 + time.time() - begun_s


def test_a_month_between_two_runs_is_not_billed(shared):
    begun_s = int(time.time()) - 40 * DAY_S
    again_s = begun_s + 990 + 30 * DAY_S
    shared.send("paused", steps(begun_s, 100))
    shared.send("paused", steps(again_s, 100, first_step=101))
    wait_for_lines(shared, "paused", 200)
    end(shared, "paused", again_s + 990)
    reply = check(shared, "paused", 1980, odd=0, paused_s=30 * DAY_S)
    assert reply["breaks"] == []
    assert reply["goodput"] > 95


def test_a_month_of_a_job_that_was_stated_to_run_is_billed(shared):
    begun_s = int(time.time()) - 40 * DAY_S
    describe(shared, "held")
    for status, at_s in (("Starting", begun_s), ("Training", begun_s)):
        end(shared, "held", at_s, status)
    shared.send("held", steps(begun_s, 100))
    shared.send("held", steps(begun_s + 990 + 30 * DAY_S, 100, first_step=101))
    wait_for_lines(shared, "held", 200)
    end(shared, "held", begun_s + 1980 + 30 * DAY_S)
    check(shared, "held", 1980 + 30 * DAY_S, odd=0)


def test_points_alone_have_stretches_too(shared):
    begun_ms = (int(time.time()) - 5 * DAY_S) * 1000
    points = [{"metric": "loss", "step": i, "ts_ms": begun_ms + i * 10_000, "value": 2.0} for i in range(200)]
    points.append({"metric": "loss", "step": 200, "ts_ms": 1709251200_000, "value": 2.0})
    reply = shared.post("/api/v1/points?job=sent&stream=tb", json={"points": points})
    assert reply.status == 200, reply
    wait_until(lambda: streams(shared, "sent")["tb"].get("extracted_points") == 201, what="the points")
    check(shared, "sent", 1990, odd=1)


def test_stretches_outlive_kill_stop_backfill_and_a_journey(make_server):
    server = make_server("--goodput-every", "100ms")
    begun_s = int(time.time()) - 3 * DAY_S
    stray_job(server, "j", begun_s)
    server.kill()
    server.start()  # from the journal
    wait_for_lines(server, "j", 402)
    end(server, "j", begun_s + 1990)
    check(server, "j", 1990, odd=2)
    server.restart()  # from what was sealed
    check(server, "j", 1990, odd=2)
    definitions = [{"Name": "other", "Regex": r"loss: (\S+)", "Step": r"step: (\d+)"}]
    assert server.put("/api/v1/jobs/j/definitions?backfill=true", json={"definitions": definitions}).status == 202
    wait_until(lambda: server.get("/api/v1/jobs/j/definitions").body["backfill"]["state"] == "done", what="the back-fill")
    check(server, "j", 1990, odd=2)
    server.kill()
    server.start()
    check(server, "j", 1990, odd=2)
    exported = server.get("/api/v1/export").raw
    other = make_server("--goodput-every", "100ms")
    assert other.post("/api/v1/import", exported, content_type="application/x-ndjson").status == 200
    check(other, "j", 1990, odd=2)
    server.send("j", stamped(begun_s + 2000, "a late word"), stream="algo-1")  # its state is loaded, and kept anew
    wait_for_lines(server, "j", 403)
    server.restart()
    check(server, "j", 1990, odd=2)


def test_a_document_that_comes_after_the_lines_is_no_start(shared):
    begun_s = int(time.time()) - 50_000
    shared.send("told-late", steps(begun_s, 201))
    wait_for_lines(shared, "told-late", 201)
    describe(shared, "told-late")
    reply = check(shared, "told-late", 2000, odd=0)
    assert reply["goodput"] > 95 and reply["nodes"] == 2
    undated = shared.post("/api/v1/jobs/told-late/transitions", json={"SecondaryStatus": "Completed"})
    assert undated.status == 204
    check(shared, "told-late", 2000, odd=0)


def test_a_log_that_is_posted_at_once_spans_its_own_times(shared):
    ended_s = int(time.time())
    shared.send("at-once", steps(ended_s - 2000, 201))
    wait_for_lines(shared, "at-once", 201)
    describe(shared, "at-once")
    end(shared, "at-once", ended_s)
    assert check(shared, "at-once", 2000, odd=0)["goodput"] > 95
    describe(shared, "first-told")  # or the document before them
    shared.send("first-told", steps(ended_s - 52_000, 201))
    wait_for_lines(shared, "first-told", 201)
    wait_until(lambda: goodput(shared, "first-told")["wall_seconds"] == 2000, what="a wall clock of 2000 s")


def test_points_of_the_past_span_their_own_times(shared):
    begun_ms = (int(time.time()) - 50_000) * 1000
    points = [{"metric": "loss", "step": i, "ts_ms": begun_ms + i * 10_000, "value": 2.0} for i in range(201)]
    assert shared.post("/api/v1/points?job=events&stream=tb", json={"points": points}).status == 200
    wait_until(lambda: streams(shared, "events")["tb"].get("extracted_points") == 201, what="the points")
    describe(shared, "events")
    check(shared, "events", 2000, odd=0)


def test_the_image_that_is_downloaded_within_training_is_image_time(shared):
    begun_s = int(time.time()) - 40_000
    describe(shared, "image")
    for status, after_s, message in (("Starting", 0, "Launching requested ML instances"), ("Downloading", 60, "Downloading input data"),
            ("Training", 100, "Downloading the training image."), ("Training", 190, "Training image download completed. Training in progress.")):
        reply = shared.post("/api/v1/jobs/image/transitions",
            json={"SecondaryStatus": status, "time_ms": (begun_s + after_s) * 1000, "StatusMessage": message})
        assert reply.status == 204, reply
    shared.send("image", steps(begun_s + 300, 100))
    wait_for_lines(shared, "image", 100)
    end(shared, "image", begun_s + 300 + 990)
    wait_until(lambda: goodput(shared, "image")["steps"].get("made") == 100, what="the steps")
    reply = goodput(shared, "image")
    assert {name: one["seconds"] for name, one in reply["buckets"].items() if one["seconds"]} == {
        "launch": 60, "data": 40, "image": 90, "first_step": 100, "productive": 1000}
    assert reply["cost"]["billable_seconds"] == 1190  # all of Training


def test_the_image_is_image_time_also_where_only_the_log_tells_of_it(shared):
    """As SageMaker's SDK prints them, one behind the other: ten steps of ten seconds, the first at 300."""
    begun_s = int(time.time()) - 40_000
    phases = [(0, "Starting - Preparing the instances for training..."), (120, "Downloading - Downloading input data..."),
        (150, "Training - Downloading the training image..."), (240, "Training - Training image download completed. Training in progress..")]
    shared.send("sdk", [stamped(begun_s + at_s, text) for at_s, text in phases] + steps(begun_s + 300, 10)
        + [stamped(begun_s + 390, "Completed - Training job completed")])
    wait_for_lines(shared, "sdk", 15)
    wanted = {"launch": 120, "data": 150 - 120, "image": 240 - 150, "first_step": 300 - 10 - 240, "productive": 10 * 10}
    found = lambda: {name: one["seconds"] for name, one in goodput(shared, "sdk")["buckets"].items() if one["seconds"]}
    wait_until(lambda: found() == wanted, what=f"{wanted}; found {found()}")


def test_a_start_that_nobody_told_of_is_no_start_of_no_time(make_server):
    server = make_server()
    now_s = int(time.time())
    def run(name, first, startup_s):
        if first == "lines":
            server.send(name, "step: 1 loss: 2.5")
        document = {"TrainingJobName": name, "AlgorithmSpecification": {"TrainingImage": "image", "TrainingInputMode": "File"}, "RoleArn": "arn:aws:iam::123456789012:role/a",
            "OutputDataConfig": {"S3OutputPath": "s3://b"}, "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 4, "VolumeSizeInGB": 50}}
        assert server.post("/api/v1/jobs", json=document).status == 201
        if startup_s:
            end(server, name, now_s - 2000, "Starting")
            end(server, name, now_s - 2000 + startup_s, "Training")
        end(server, name, now_s + 10)
    run("told", "document", 240)
    run("untold", "lines", 0)
    [row] = server.get("/api/v1/startup?by=type").body["rows"]
    assert row["cold"]["jobs"] == 2 and row["cold"]["startup_seconds"] == 240 and row["cold"]["mean_startup_seconds"] == 240
