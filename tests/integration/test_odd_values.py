"""Values that a definition's expression does not foresee: the text in front of its group is the place where they stand."""

from smserver import wait_until

# Regex, what is printed before and behind the value
SHAPES = {
    "plain": (r"loss: ([0-9.]+)", "step {step} loss: {value}"),
    "stepped": (r"step (?<step>[0-9]+) loss=(?<value>[0-9.]+) lr=", "step {step} loss={value} lr=1e-4"),
    "behind": (r"loss ([-0-9.]+) at step (?<step>[0-9]+)", "loss {value} at step {step}"),
    "two": (r"step (?<step>\d+) .*loss[:=] ?([0-9.eE+-]+), acc ([0-9.]+)", "step {step} | loss: {value}, acc 0.5"),
    "json": (r'"loss": ([0-9.]+)', '{{"step": {step}, "loss": {value}}}'),
    "empty": (r"loss: ([0-9.]*)", "step {step} loss: {value}"),
}
PRINTED = ["2.5", "nan", "NaN", "inf", "-inf", "Infinity", "-", "None", "null", "n/a", "2.25"]
# step 100 + 10 * i; what is missing gives none
EXPECTED = [(100, 2.5), (110, "NaN"), (120, "NaN"), (130, "Infinity"), (140, "-Infinity"), (150, "Infinity"), (200, 2.25)]


def rows(server, job, metric="train:loss"):
    found = server.get(f"/api/v1/jobs/{job}/points?metric={metric}&raw=true").body["series"]
    return [row for series in found for row in zip(series["step"], series["value"])]


def health(server, job):
    one, = [one for one in server.get(f"/api/v1/jobs/{job}/definitions").body["health"] if one["Name"] == "train:loss"]
    return one


def test_what_is_no_number_is_a_point_or_missing(server):
    for job, (regex, text) in SHAPES.items():
        reply = server.post("/api/v1/jobs", json={"TrainingJobName": job, "AlgorithmSpecification": {"MetricDefinitions": [{"Name": "train:loss", "Regex": regex}]}})
        assert reply.status == 201, reply
        server.send(job, [text.format(step=100 + 10 * at, value=value) for at, value in enumerate(PRINTED)])
    for job in SHAPES:
        wait_until(lambda job=job: rows(server, job)[-1:] == [(200, 2.25)], what=f"the last point of {job}")
        assert rows(server, job) == EXPECTED, job
        assert (health(server, job)["missing"], health(server, job)["not_numeric"]) == (4, 0), (job, health(server, job))


def test_a_loss_that_goes_is_an_incident(server):
    server.post("/api/v1/jobs", json={"TrainingJobName": "gone", "AlgorithmSpecification": {"MetricDefinitions": [{"Name": "train:loss", "Regex": "loss: ([0-9.]+)"}]}})
    server.send("gone", [f"step {step} loss: {3 - step / 100:.3f}" for step in range(100)] + [f"step {step} loss: nan" for step in range(100, 120)])
    row, = wait_until(lambda: server.get("/api/v1/incidents?kind=non_finite").body["incidents"], what="the incident")
    assert (row["job"], row["metric"], row["severity"], row["opened_step"]) == ("gone", "train:loss", "critical", 100)


def test_what_only_looks_like_it_is_nothing(server):
    server.post("/api/v1/jobs", json={"TrainingJobName": "names", "AlgorithmSpecification": {"MetricDefinitions": [{"Name": "train:loss", "Regex": "loss: ([0-9.]+)"}]}})
    server.send("names", ["step 1 loss: 2.5", "step 2 loss: nanobert", "step 3 loss: information", "step 4 loss: -0.5", "step 5 loss: nonesuch", "step 6 loss: 2.25"])
    wait_until(lambda: rows(server, "names")[-1:] == [(6, 2.25)], what="the last point")
    assert rows(server, "names") == [(1, 2.5), (6, 2.25)]
    assert health(server, "names")["missing"] == 0
