"""EventBridge's events of training jobs: twice, out of order, broken."""

import itertools

import pytest

from smserver import quote, wait_until

T0 = 1_700_000_000_000
HISTORY = [("Starting", 0, "Launching requested ML instances"), ("Downloading", 60, "Downloading input data"),
    ("Training", 90, "Training image download completed. Training in progress."),
    ("Uploading", 600, "Uploading generated training model"), ("Completed", 630, "Training job completed")]


def event(job="kmeans-1", upto=5, at_s=None, **detail):
    told = HISTORY[:upto]
    status = told[-1][0]
    document = {
        "TrainingJobName": job, "TrainingJobArn": f"arn:aws:sagemaker:us-east-1:123456789012:training-job/{job}",
        "TrainingJobStatus": "Completed" if status == "Completed" else "InProgress", "SecondaryStatus": status,
        "HyperParameters": {"k": "10", "api_key": "sk-1234567890abcdef1234567890abcdef"},
        "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 4, "VolumeSizeInGB": 50},
        "OutputDataConfig": {"S3OutputPath": "s3://b/out"}, "VpcConfig": {},
        "CreationTime": str(T0), "LastModifiedTime": T0 + 1000 * (told[-1][1] if at_s is None else at_s),
        "SecondaryStatusTransitions": [{"Status": name, "StartTime": T0 + 1000 * s, "StatusMessage": text}
            for name, s, text in told],
        "Tags": {"team": "nlp"},
    }
    document.update(detail)
    return {"version": "0", "id": f"id-{upto}", "detail-type": "SageMaker Training Job State Change",
        "source": "aws.sagemaker", "time": "2023-11-14T22:13:20Z", "detail": document}


def post(server, body, status=200):
    reply = server.post("/api/v1/events", json=body)
    assert reply.status == status, reply
    return reply.body


def job_of(server, job="kmeans-1"):
    document = dict(server.get(f"/api/v1/jobs/{job}").body)
    document.pop("LastModifiedTime")
    return document


@pytest.mark.parametrize("time", ["9999-01-01T00:00:00Z", "1900-01-01T00:00:00Z"])
def test_a_time_that_cannot_be_does_not_outlast_the_others(server, time):
    wrong = {**event(upto=1), "time": time}
    reply = post(server, wrong, 422)
    assert reply["field"] == "time" and time in reply["detail"]
    assert post(server, [wrong, event()])["rejected"] == 1
    assert job_of(server)["TrainingJobStatus"] == "Completed"


def test_an_event_makes_the_job_with_its_document_and_history(server):
    last = event(TrainingStartTime=T0 + 91_000, TrainingEndTime=str(T0 + 631_000), BillableTimeInSeconds=500,
        ModelArtifacts={"S3ModelArtifacts": "s3://b/out/model.tar.gz"})
    assert post(server, last) == {"accepted": 1, "duplicate": 0, "ignored": 0, "rejected": 0,
        "results": [{"index": 0, "id": "id-5", "job": "kmeans-1", "result": "accepted"}]}
    job = job_of(server)
    assert (job["TrainingJobStatus"], job["SecondaryStatus"]) == ("Completed", "Completed")
    assert [(t["Status"], round(t["StartTime"] * 1000) - T0, t["StatusMessage"])
        for t in job["SecondaryStatusTransitions"]] == [(name, s * 1000, text) for name, s, text in HISTORY]
    assert job["SecondaryStatusTransitions"][2]["EndTime"] == (T0 + 600_000) / 1000
    assert "EndTime" not in job["SecondaryStatusTransitions"][-1]
    assert job["CreationTime"] * 1000 == T0 and job["TrainingStartTime"] * 1000 == T0 + 91_000
    assert job["TrainingEndTime"] * 1000 == T0 + 631_000
    assert job["BillableTimeInSeconds"] == 500 and job["TrainingTimeInSeconds"] == 540
    assert job["Tags"] == [{"Key": "team", "Value": "nlp"}] and "VpcConfig" not in job
    assert job["ModelArtifacts"]["S3ModelArtifacts"] == "s3://b/out/model.tar.gz"
    assert job["HyperParameters"]["k"] == "10" and "1234567890abcdef" not in str(job["HyperParameters"])
    assert [row["TrainingJobName"] for row in server.get(
        "/api/v1/jobs?q=" + quote("status:completed instance=ml.p4d.24xlarge hp.k=10 tag.team=nlp")).body["jobs"]] == ["kmeans-1"]


@pytest.mark.parametrize("has_list", [True, False])
def test_any_order_and_doubles_end_alike(server, has_list):
    detail = {} if has_list else {"SecondaryStatusTransitions": []}
    events = {upto: event(upto=upto, ResourceConfig={"InstanceType": f"ml.g{upto}.x", "InstanceCount": upto}, **detail)
        for upto in (1, 3, 4, 5)}
    seen = None
    for order in itertools.permutations(events):
        name = "job-" + "".join(map(str, order))
        for upto in (*order, *order):
            events[upto]["detail"]["TrainingJobName"] = name
            events[upto]["detail"]["TrainingJobArn"] = "arn"
            post(server, events[upto])
        job = job_of(server, name)
        for later in ("goodput", "nodes", "nodes_from", "cost", "unpriced_types"):  # come a moment later
            job.pop(later, None)
        assert job.pop("TrainingJobName") == name and name in str(job.pop("ModelArtifacts"))
        assert job["ResourceConfig"]["InstanceCount"] == 5 and job["SecondaryStatus"] == "Completed"
        assert len(job["SecondaryStatusTransitions"]) == (5 if has_list else 4)
        seen = seen or job
        assert job == seen, order


def test_what_a_status_was_about_is_known_in_any_order(server):
    """Waiting for machines is not launching them; only an event of that moment says when it began."""
    starting = [{"Status": "Starting", "StartTime": T0, "StatusMessage": "Launching requested ML instances"}]
    waiting = [{**starting[0], "StatusMessage": "Insufficient capacity error from EC2 while launching instances, retrying!"}]
    later = [{**starting[0], "EndTime": T0 + 900_000, "StatusMessage": "Preparing the instances for training"},
        {"Status": "Downloading", "StartTime": T0 + 900_000, "StatusMessage": "Downloading input data"}]
    told = (("Starting", T0, starting), ("Starting", T0 + 300_000, waiting), ("Starting", T0 + 450_000, starting), ("Starting", T0 + 600_000, waiting),
        ("Downloading", T0 + 900_000, later))
    names = []
    for order in itertools.islice(itertools.permutations(told), 0, None, 7):
        names.append(name := "job-" + "".join(str(told.index(one)) for one in order))
        for secondary, at_ms, rows in order:
            detail = {"TrainingJobName": name, "TrainingJobStatus": "InProgress", "SecondaryStatus": secondary, "CreationTime": T0, "LastModifiedTime": at_ms,
                "SecondaryStatusTransitions": rows}
            post(server, {"source": "aws.sagemaker", "detail-type": "SageMaker Training Job State Change", "detail": detail})
    seconds = lambda name, part: server.get(f"/api/v1/jobs/{name}/goodput").body["buckets"][part]["seconds"]
    for name in names:
        wait_until(lambda: (seconds(name, "launch"), seconds(name, "capacity")) == (450, 450), what=f"the phases of {name}")


def test_the_same_again_changes_nothing_and_is_counted(server):
    post(server, event())

    def worked_out():  # a moment later than the rest
        job = server.get("/api/v1/jobs/kmeans-1").body
        return "cost" in job and job
    before = wait_until(worked_out, what="its cost")
    again = {**event(), "id": "another"}
    assert post(server, event(upto=3))["accepted"] == 1, "of an earlier moment"
    reply = post(server, [event(), again, event(upto=3)])
    assert (reply["accepted"], reply["duplicate"]) == (0, 3)
    assert server.get("/api/v1/jobs/kmeans-1").body == before
    assert server.get("/api/v1/info").body["ingest"]["duplicate_events"] == 3
    assert "smfleet_duplicate_events_total 3" in server.get("/metrics").body


def test_each_of_an_array_is_taken_or_refused_by_itself(server):
    pool = {**event(), "detail-type": "SageMaker Endpoint State Change", "id": "e"}
    reply = post(server, [event("a"), pool, event("b", TrainingJobStatus="Done"), 7, event("c", CreationTime="soon"), event("d")])
    assert [row["result"] for row in reply["results"]] == [
        "accepted", "ignored", "rejected", "rejected", "rejected", "accepted"]
    assert "Endpoint" in reply["results"][1]["reason"]
    assert reply["results"][2]["field"] == "TrainingJobStatus" and "'Done'" in reply["results"][2]["reason"]
    assert reply["results"][4]["field"] == "CreationTime" and "soon" in reply["results"][4]["reason"]
    assert (reply["accepted"], reply["ignored"], reply["rejected"]) == (2, 1, 3)
    assert {row["TrainingJobName"] for row in server.get("/api/v1/jobs").body["jobs"]} == {"a", "d"}
    assert server.get("/api/v1/info").body["ingest"]["ignored_events"] == 1


BROKEN = [
    ({"TrainingJobName": None}, "TrainingJobName"),
    ({"TrainingJobName": 7}, "TrainingJobName"),
    ({"TrainingJobName": "x" * 256}, "TrainingJobName"),
    ({"SecondaryStatus": "Resting"}, "SecondaryStatus"),
    ({"TrainingJobStatus": "Completed", "SecondaryStatus": "Training"}, "SecondaryStatus"),
    ({"SecondaryStatusTransitions": {}}, "SecondaryStatusTransitions"),
    ({"SecondaryStatusTransitions": [{"Status": "Training"}]}, "SecondaryStatusTransitions[0].StartTime"),
    ({"SecondaryStatusTransitions": [{"Status": "Nap", "StartTime": T0}]}, "SecondaryStatusTransitions[0].Status"),
    ({"SecondaryStatusTransitions": [{"Status": "Training", "StartTime": T0 + i} for i in range(1001)]},
        "SecondaryStatusTransitions"),
    ({"LastModifiedTime": -1}, "LastModifiedTime"),
    ({"LastModifiedTime": 9_223_372_036_854}, "LastModifiedTime"), # 2262
    ({"LastModifiedTime": "NaN"}, "LastModifiedTime"),
]


@pytest.mark.parametrize("detail,field", BROKEN)
def test_a_broken_event_is_refused_with_its_field(shared_server, detail, field):
    reply = post(shared_server, event(**detail), 422)
    assert reply["field"] == field, reply
    assert shared_server.get("/api/v1/jobs").body["jobs"] == []


def test_broken_envelopes(server):
    assert "array" in post(server, "x", 422)["detail"]
    assert post(server, {"detail": {}}, 422)["field"] == "detail-type"
    assert post(server, {**event(), "detail": []}, 422)["field"] == "detail"
    assert server.post("/api/v1/events", body=b"[{\"a\":").status == 400
    assert post(server, [])["accepted"] == 0


def test_the_most_transitions_are_taken(server):
    many = [{"Status": ("Training", "Interrupted")[i % 2], "StartTime": T0 + i} for i in range(1000)]
    post(server, event(upto=3, SecondaryStatusTransitions=many))
    assert len(job_of(server)["SecondaryStatusTransitions"]) == 1000


def test_a_job_that_is_stated_to_have_ended_stays_so(server):
    server.send("kmeans-1", "loss=1")
    reply = server.post("/api/v1/jobs/kmeans-1/transitions", json={"SecondaryStatus": "Failed", "FailureReason": "OOM",
        "time_ms": T0 + 300_000})
    assert reply.status == 204, reply
    post(server, event(upto=4))
    job = job_of(server)
    assert (job["SecondaryStatus"], job["FailureReason"]) == ("Failed", "OOM")
    assert [t["Status"] for t in job["SecondaryStatusTransitions"]] == [
        "Starting", "Downloading", "Training", "Failed"]  # Uploading is told of a later time, which the end leaves no room for


def test_definitions_of_an_event_extract_points(server):
    good = {"MetricDefinitions": [{"Name": "m", "Regex": r"m=(\d+)"}]}
    post(server, event("good", upto=3, AlgorithmSpecification=good))
    post(server, event("bad", upto=3, AlgorithmSpecification={"TrainingImage": "i",
        "MetricDefinitions": [{"Name": "m", "Regex": "m=("}]}))
    server.send("good", "m=5")
    server.wait_for_points("good", "m", 1)
    assert job_of(server, "bad")["AlgorithmSpecification"]["TrainingImage"] == "i"


def test_so_many_events_at_once_and_no_more(make_server):
    server = make_server("--max-events", "2")
    events = [event() for _ in range(3)]
    assert server.post("/api/v1/events", json=events[:2]).status == 200
    reply = server.post("/api/v1/events", json=events)
    assert reply.status == 413 and "--max-events" in reply.body["detail"]
