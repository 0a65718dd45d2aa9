"""The first halves of lives that an upgrade finds in their middle. All their times are of one day of March 2026."""

import datetime

from smserver import quote

DAY0_S = int(datetime.datetime(2026, 3, 2, 9, tzinfo=datetime.timezone.utc).timestamp())
TYPE, PER_HOUR = "ml.scenario.8xlarge", 36
SAGEMAKERS = {"MetricDefinitions": [{"Name": "train:loss", "Regex": "loss: ([0-9.]+)"}]}  # Name and Regex alone


def stamp(at_s):
    return datetime.datetime.fromtimestamp(at_s, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def trained(at_s, first, last, every=10):
    """A step takes a second; step `first` is printed at at_s."""
    return [f"{stamp(at_s + step - first)} step {step} loss: {9 - step / 1000:.3f}" for step in range(first, last + 1, every)]


HALVES = {  # job -> (the document it was announced by, stream, first half, second half)
    "plain": (None, "algo-1", trained(DAY0_S, 10, 500), trained(DAY0_S + 500, 510, 1000)),
    "sagemakers": ({"AlgorithmSpecification": SAGEMAKERS}, "algo-1", trained(DAY0_S, 10, 500), trained(DAY0_S + 500, 510, 1000)),
    "announced": ({"ResourceConfig": {"InstanceType": TYPE, "InstanceCount": 2, "VolumeSizeInGB": 50}}, "algo-1",
        trained(DAY0_S, 10, 500), trained(DAY0_S + 500, 510, 1000)),
    "stray": (None, "algo-1", ["2024-03-01 00:00:00 image built", *trained(DAY0_S, 10, 500)], trained(DAY0_S + 500, 510, 1000)),
}


HOSTED = trained(DAY0_S, 10, 100)  # by a machine that says its name


def begin(server):
    reply = server.put("/api/v1/prices", json={"currency": "EUR", "prices": [{"instance": TYPE, "per_hour": PER_HOUR}]})
    assert reply.status == 200, reply
    for job, (document, stream, first, _) in HALVES.items():
        if document:
            reply = server.post("/api/v1/jobs", json={"TrainingJobName": job, **document})
            assert reply.status in (200, 201), reply
        server.send(job, first, stream)


    reply = server.post("/api/v1/logs?job=hosted&stream=algo-1&host=n1", "".join(line + "\n" for line in HOSTED))
    assert reply.status == 200, reply


def go_on(server):
    for job, (_, stream, _, second) in HALVES.items():
        server.send(job, second, stream)


def written():
    return [(job, stream, len(first)) for job, (_, stream, first, _) in HALVES.items()] + [("hosted", "algo-1", len(HOSTED))]


def extracted(server, job, stream):
    reply = server.get(f"/api/v1/jobs/{quote(job)}/streams")
    return next((row["extracted_lines"] for row in reply.body["streams"] if row["stream"] == stream), 0) if reply.status == 200 else 0
