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
PRINTED = ["2.5", "nan", "NaN", "inf", "-inf", "Infinity", "-", "None", "null", "n/a", "2.25", "1.#QNAN", "1.#INF", "-nan(ind)", "2.125"]
# step 100 + 10 * i; what is missing gives none
EXPECTED = [(100, 2.5), (110, "NaN"), (120, "NaN"), (130, "Infinity"), (140, "-Infinity"), (150, "Infinity"), (200, 2.25),
            (210, "NaN"), (220, "Infinity"), (230, "NaN"), (240, 2.125)]


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
        wait_until(lambda job=job: rows(server, job)[-1:] == EXPECTED[-1:], what=f"the last point of {job}")
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


# How a line says its loss, and what printf, strtod and Microsoft's old runtime write for one that is no number.
LINES = ["step {step} loss: {value}", "step {step}/600 | loss {value} | lr 3.000e-04", "{{'step': {step}, 'loss': {value}}}", "iteration {step}: train_loss={value} grad_norm=0.9"]
WORDS = {"1.#QNAN": "NaN", "1.#QNAN0": "NaN", "-1.#IND": "NaN", "-1.#IND00": "NaN", "1.#SNAN": "NaN", "1.#QNB": "NaN", "-nan(ind)": "NaN", "1.#INF": "Infinity", "-1.#INF": "-Infinity", "1e999": "Infinity"}


def test_what_other_runtimes_print_is_no_number_anywhere(server):
    jobs = {f"words-{line}-{word}": (LINES[line], text) for line in range(len(LINES)) for word, text in enumerate(WORDS)}
    for job, (line, text) in jobs.items():
        server.send(job, [line.format(step=step, value=text if step == 31 else f"{2.5 + step % 5 / 100:.4f}") for step in range(1, 41)])
    for job, (line, text) in jobs.items():
        wait_until(lambda job=job: rows(server, job)[-1:] == [(40, 2.5)], what=f"the last point of {job}")
        assert (31, WORDS[text]) in rows(server, job), (line, text)

    def told():
        found = server.get("/api/v1/incidents?limit=1000&all=true").body["incidents"]
        return {row["job"]: (row["kind"], row["opened_step"]) for row in found if row["job"] in jobs}
    wait_until(lambda: told().keys() == jobs.keys(), what="an incident of each job")
    assert set(told().values()) == {("non_finite", 31)}


def test_points_as_text_may_be_what_other_runtimes_print(server):
    csv = "step,loss\n1,2.5\n2,1.#QNAN\n3,-1.#INF\n4,1e999\n5,-nan(ind)\n"
    reply = server.post("/api/v1/points?job=text", csv, content_type="text/csv")
    assert reply.status < 300, reply
    expected = [(1, 2.5), (2, "NaN"), (3, "-Infinity"), (4, "Infinity"), (5, "NaN")]
    wait_until(lambda: rows(server, "text", "loss") == expected, what="the points")


def test_steps_of_csv_are_what_is_written(server):
    """Up to 2^53, and never a neighbour that a double would be."""
    csv = "step,loss\n9007199254740991,1\n9007199254740992,2\n9007199254740993,3\n9007199254740993.0,4\n12.0,5\n"
    reply = server.post("/api/v1/points?job=far", csv, content_type="text/csv")
    assert (reply.body["accepted"], reply.body["rejected"]) == (3, 2), reply.body
    server.wait_for_points("far", "loss", 3)
    columns = server.points("far", "loss", buckets=1000)["columns"]
    assert columns["x"][-1] <= 2**53 and columns["count"] and 3 not in columns["last"] and 4 not in columns["last"]


EVALUATIONS = {"*** eval *** step={step} loss={value}": "val:loss", "Running evaluation... loss: {value}": "val:loss", "test loss at step {step}: {value}": "test:loss"}


def test_an_evaluation_is_no_step_of_the_training(server):
    for number, line in enumerate(EVALUATIONS):
        lines = []
        for step in range(1, 301):
            lines.append(f"step {step}/300 | loss {2.2 + 3 / (1 + step / 60) + step % 7 / 100:.4f} | lr 3.000e-04")
            if step % 50 == 0:
                lines.append(line.format(step=step, value=f"{1.7 * (2.2 + 3 / (1 + step / 60)):.4f}"))
        server.send(f"eval-{number}", lines)
    for number, (line, metric) in enumerate(EVALUATIONS.items()):
        job = f"eval-{number}"
        wait_until(lambda job=job: rows(server, job)[-1:] != [] and rows(server, job)[-1][0] == 300, what=f"the last point of {job}")
        assert (len(rows(server, job)), [step for step, _ in rows(server, job, metric)]) == (300, list(range(50, 301, 50))), line
    assert [row for row in server.get("/api/v1/incidents?all=true&limit=1000").body["incidents"] if row["job"].startswith("eval-")] == []
