"""Step times of one metric that several forms of line print in ms and in s: a series has one unit, that of its first point."""

from smserver import wait_until

OWN = [f"step {k}: loss={3 - k / 100:.3f}, step_time={350 + k}ms, 1.2k tok/s" for k in range(1, 31)]
BAR = [f"Steps:  {k}%|###       | {k}/100 [00:20<30:00,  1.82s/it, lr=1e-5, step_loss=0.123]" for k in range(31, 61)]


def series(server, job):
    rows = server.get(f"/api/v1/jobs/{job}/metrics").body["series"]
    return [(row["unit"], row["count"], row["min"], row["max"]) for row in rows if row["metric"] == "train:step_time"]


def values(server, job):
    columns = server.points(job, "train:step_time")["columns"]
    return columns["min"], columns["max"]


def test_a_series_has_one_unit_whatever_its_lines_print(server):
    server.send("ms", OWN + BAR, stream="a")
    server.send("s", BAR + [line.replace("step ", "step 1", 1) for line in OWN], stream="a")
    server.wait_for_extraction()
    assert series(server, "ms") == [("ms", 60, 351, 1820)]
    assert series(server, "s") == [("s", 60, 0.351, 1.82)]
    assert values(server, "ms") == ([*range(351, 381), *[1820] * 30],) * 2
    # the same after a start, which has the series and not what it knew of its lines
    for step, restart in ((70, server.restart), (71, lambda: (server.kill(), server.start()))):
        restart()
        server.send("ms", [BAR[-1].replace("60/100", f"{step}/100")], stream="a")
        server.wait_for_extraction()
        wait_until(lambda: series(server, "ms")[0][2:] == (351, 1820), what=f"the unit of before: {series(server, 'ms')}")
    assert series(server, "ms")[0][1] == 62


def test_streams_of_one_job_are_one_curve_in_one_unit(server):
    """Rank 0 prints ms, the others' bar s: the first stream's unit, which the reply names; a stream alone has its own."""
    server.send("j", [line.replace("step ", "step 3", 1) for line in OWN[:9]], stream="r0")  # 31 to 39
    server.send("j", BAR[:9], stream="r1")
    server.wait_for_extraction()
    reply = server.points("j", "train:step_time")
    assert reply["unit"] == "ms" and reply["columns"]["x"] == [*range(31, 40)]
    assert reply["columns"]["min"] == [*range(351, 360)] and reply["columns"]["max"] == [1820] * 9
    assert reply["columns"]["mean"] == [(351 + k + 1820) / 2 for k in range(9)]
    alone = server.points("j", "train:step_time", stream="r1")
    assert alone["unit"] == "s" and alone["columns"]["max"] == [1.82] * 9


def test_a_chain_of_jobs_is_one_curve_in_one_unit(server):
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "second", "Tags": [{"Key": "continues", "Value": "first"}]}).status == 201
    server.send("first", OWN, stream="a")
    server.send("second", BAR, stream="a")
    server.wait_for_extraction()
    wait_until(lambda: len(server.get("/api/v1/jobs/first/run").body["jobs"]) == 2, what="the chain")
    reply = server.points("second", "train:step_time", chain="true")
    assert reply["unit"] == "ms" and reply["columns"]["max"] == [*range(351, 381), *[1820] * 30]


def test_a_chart_goes_by_units_and_not_by_what_else_a_series_is(server):
    """The same metric and unit where one stream's own definition says that it is no step's time; and times that are none."""
    definition = {"Name": "train:step_time", "Regex": "st=([0-9.]+)", "Unit": "ms", "Role": "other"}
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "j", "AlgorithmSpecification": {"MetricDefinitions": [definition]}}).status == 201
    server.send("j", [f"step {k} st=350" for k in range(1, 10)], stream="a")

    def send(job, stream, metric, unit, value):
        points = [{"metric": metric, "unit": unit, "step": k, "value": value} for k in range(1, 10)]
        assert server.post(f"/api/v1/points?job={job}&stream={stream}", json={"points": points}).status == 200

    send("j", "b", "train:step_time", "ms", 360)
    for stream, unit, value in (("a", "s", 0.25), ("b", "ms", 351)):
        send("k", stream, "data_wait", unit, value)
    server.wait_for_extraction()
    reply = server.points("j", "train:step_time")
    assert (reply["unit"], reply["columns"]["min"], reply["columns"]["max"]) == ("ms", [350] * 9, [360] * 9)
    reply = server.points("k", "data_wait")
    assert (reply["unit"], reply["columns"]["min"], reply["columns"]["max"]) == ("s", [0.25] * 9, [0.351] * 9)


def test_sent_points_are_in_the_unit_of_their_series_too(server):
    """A unit that a sender states, behind lines in another one; and lines behind such points."""

    def send(job, unit, value, steps):
        points = [{"metric": "train:step_time", "unit": unit, "step": k, "value": value} for k in steps]
        assert server.post(f"/api/v1/points?job={job}&stream=a", json={"points": points}).status == 200

    server.send("lines", OWN, stream="a")
    server.wait_for_extraction()
    send("lines", "s", 0.36, range(31, 41))
    send("points", "s", 0.36, range(1, 11))
    server.wait_for_extraction()
    server.send("points", [line.replace("step ", "step 1", 1) for line in OWN[9:]], stream="a")
    server.wait_for_extraction()
    assert series(server, "lines") == [("ms", 40, 351, 380)]
    assert series(server, "points") == [("s", 31, 0.36, 0.38)]
