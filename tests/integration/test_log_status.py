"""What lines of the log say of their job's status."""

import time

from engine import of_a_file
from smserver import wait_until

SDK = [
    "2020-01-28 08:57:34 Starting - Starting the training job...",
    "2020-01-28 08:57:36 Starting - Launching requested ML instances......",
    "2020-01-28 09:00:03 Downloading - Downloading input data......",
    "2020-01-28 09:01:01 Training - Training image download completed. Training in progress.\x1b[34mbash: no job control",
    "\x1b[34mstep 1 loss 2.5\x1b[0m",
    "2020-01-28 09:01:19 Uploading - Uploading generated training model",
    "2020-01-28 09:01:19 Completed - Training job completed",
    "Training seconds: 76",
    "Billable seconds: 70",
]


def job_of(server, job="j"):
    return server.get(f"/api/v1/jobs/{job}").body


def statuses(server, job="j"):
    return [t["Status"] for t in job_of(server, job)["SecondaryStatusTransitions"]]


def wait_status(server, status, job="j"):
    wait_until(lambda: job_of(server, job)["SecondaryStatus"] == status, what=f"{status}")


def check_sdk(job):
    assert [t["Status"] for t in job["SecondaryStatusTransitions"]] == [
        "Starting", "Downloading", "Training", "Uploading", "Completed"]
    starting, _, training, _, completed = job["SecondaryStatusTransitions"]
    assert starting["StatusMessage"] == "Launching requested ML instances"
    assert starting["StartTime"] == 1580201854 == job["CreationTime"]
    assert training["StartTime"] == 1580202061 == job["TrainingStartTime"]
    assert training["StatusMessage"] == "Training image download completed. Training in progress"
    assert completed["StartTime"] == 1580202079 == job["TrainingEndTime"]
    assert job["TrainingJobStatus"] == "Completed"
    assert (job["TrainingTimeInSeconds"], job["BillableTimeInSeconds"]) == (76, 70)


def test_the_sdks_lines_are_the_jobs_history(make_server):
    server = make_server()
    server.send("j", SDK)
    wait_until(lambda: job_of(server).get("BillableTimeInSeconds") == 70, what="the seconds")
    check_sdk(job_of(server))
    server.kill()
    server.start()  # the journal is replayed, and says the same
    check_sdk(job_of(server))
    assert [row["TrainingJobName"] for row in server.get("/api/v1/jobs?q=status:completed").body["jobs"]] == ["j"]


def test_a_job_that_nobody_announced_begins_training_with_its_first_line(server):
    server.send("j", "hello")
    job = job_of(server)
    assert (job["TrainingJobStatus"], job["SecondaryStatus"]) == ("InProgress", "Training")
    assert abs(job["TrainingStartTime"] - time.time()) < 300


def test_what_is_stated_wins_over_the_log(server):
    state = lambda status: server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": status})
    server.send("j", SDK[:4])
    wait_until(lambda: statuses(server) == ["Starting", "Downloading", "Training"], what="the log's word")
    assert state("Training").status == 204
    server.send("j", SDK[5:])  # the log's word about the end does not count any more
    server.send("k", SDK)
    wait_status(server, "Completed", "k")
    assert job_of(server)["TrainingJobStatus"] == "InProgress" and statuses(server) == ["Starting", "Downloading", "Training"]
    reply = server.post("/api/v1/jobs/k/transitions", json={"SecondaryStatus": "Failed", "FailureReason": "OOM"})
    assert reply.status == 204
    assert statuses(server, "k") == ["Starting", "Downloading", "Training", "Uploading", "Failed"]
    assert job_of(server, "k")["FailureReason"] == "OOM"


def test_chatter_does_not_end_a_job(server):
    server.send("j", ["2020-01-28 09:01:19 Completed - epoch 3", "Completed - Training job completed",
        "INFO 2020-01-28 09:01:19 Failed - Training job failed", "2020-01-28 09:01:19 Failed - to open x",
        "Billable seconds: 9"])
    server.send("j", "2020-01-28 08:57:36 Starting - Launching", stream="algo-2")  # looked at after those
    server.send("j", "2020-01-28 08:58:36 Downloading - x")
    wait_until(lambda: statuses(server) == ["Starting", "Downloading", "Training"], what="Downloading, and the training's own lines")
    job = job_of(server)
    assert job["TrainingJobStatus"] == "InProgress" and "BillableTimeInSeconds" not in job


def test_a_failed_job_says_why(server):
    server.send("j", ["2020-01-28 09:00:19 Training - Training in progress.", "2020-01-28 09:01:19 Failed - Training job failed"])
    wait_status(server, "Failed")
    assert job_of(server)["FailureReason"] == "Training job failed"


@of_a_file("whose rows are counted")
def test_an_end_that_is_said_on_and_on_costs_no_more_than_some(make_server):
    """By many streams of the job: each row is read with each change of its life."""
    server = make_server()
    said = [f"2020-01-28 {8 + n // 3600:02}:{n // 60 % 60:02}:{n % 60:02} Completed - Training job completed" for n in range(1200)]
    for k in range(4):
        server.send("j", said[k * 300:k * 300 + 300], stream=f"algo-{k}")
    server.restart()  # what was sent is heard by then
    job = job_of(server)
    assert (job["SecondaryStatus"], job["TrainingEndTime"]) == ("Completed", 1580198400)
    assert server.sql("SELECT max(start_ms) FROM told WHERE status = 'Completed'") == [((1580198400 + 1199) * 1000,)]
    [(count,)] = server.sql("SELECT count(*) FROM told WHERE status = 'Completed'")
    assert count <= 101
    [(words,)] = server.sql("SELECT message FROM told WHERE status = 'Completed' ORDER BY start_ms DESC LIMIT 1")
    assert words == "Training job completed"


@of_a_file("whose rows are counted")
def test_all_streams_of_a_job_together_are_heard_as_often_as_one(make_server):
    server = make_server()
    said = [f"2020-01-28 {8 + n // 3600:02}:{n // 60 % 60:02}:{n % 60:02} Training - Training in progress" for n in range(1200)]
    for k in range(3):
        server.send("j", said[k * 400:k * 400 + 400], stream=f"algo-{k}")
    server.restart()
    assert server.sql("SELECT count(*) FROM told WHERE status = 'Training' AND source = 2") == [(500,)]


def test_an_end_is_heard_however_much_was_said_before(server):
    said = [f"2020-01-28 {8 + n // 3600:02}:{n // 60 % 60:02}:{n % 60:02} Training - Training in progress" for n in range(600)]
    server.send("j", said[:300], stream="algo-1")
    server.send("j", [*said[300:], "2020-01-28 09:00:00 Completed - Training job completed"], stream="algo-2")
    server.wait_for_extraction()
    wait_until(lambda: job_of(server)["SecondaryStatus"] == "Completed", what="the end")
