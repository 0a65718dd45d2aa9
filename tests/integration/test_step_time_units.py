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


def test_what_a_restart_makes_again_keeps_its_unit(server):
    """Numbers without a unit, a restart that begins with a NaN, and another definition of the metric that states one."""
    definitions = [{"Name": "fetch", "Regex": "raw=(\\S+)"}, {"Name": "fetch", "Regex": "t=([0-9.]+)ms", "Unit": "ms"}]
    for job, first in (("again", [f"step {k} raw=0.35" for k in range(1, 31)]), ("at-once", [])):
        assert server.post("/api/v1/jobs", json={"TrainingJobName": job, "AlgorithmSpecification": {"MetricDefinitions": definitions}}).status == 201
        for lines in (first, ["Resuming from step 0", "step 1 raw=nan"], [f"step {k} t=350ms" for k in range(2, 41)]):
            server.send(job, lines)
            server.wait_for_extraction()
    again, at_once = server.points("again", "fetch", attempts=1), server.points("at-once", "fetch")
    assert again["unit"] == "" and again["columns"]["min"] == [0.35] * 30
    assert at_once["unit"] == "ms" and at_once["columns"]["max"][1:] == [350] * 39


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


def defined(server, job, *definitions):
    document = {"TrainingJobName": job, "AlgorithmSpecification": {"MetricDefinitions": list(definitions)}}
    assert server.post("/api/v1/jobs", json=document).status == 201


def read(server, job, metric):
    row, = [row for row in server.get(f"/api/v1/jobs/{job}/metrics").body["series"] if row["metric"] == metric]
    return row["unit"], server.points(job, metric)["columns"]["last"]


def test_a_unit_that_the_text_says_is_that_of_the_series(server):
    """Where the definition states none: the unit of its first value, into which the others are converted; a whole duration is in seconds."""
    defined(server, "j", {"Name": "beside", "Regex": "beside=(?<value>[0-9.]+) ?(?<unit>[^ ]+)"},
        {"Name": "whole", "Regex": r"whole=(\S+)"}, {"Name": "speed", "Regex": r"speed=([0-9.]+) (?<unit>\S+)"})
    server.send("j", ["step 1 beside=nan whole=350ms speed=900 tok/s", "step 2 beside=350ms whole=0:01:00.5 speed=1.25 ktok/s",
        "step 3 beside=1.001 s whole=1h02m speed=1 tok/s", "step 4 beside=57 \N{MICRO SIGN}s whole=7 speed=8 tok/s"])
    server.wait_for_extraction()
    assert read(server, "j", "beside") == ("ms", ["NaN", 350, 1001, 0.057])
    assert read(server, "j", "whole") == ("s", [0.35, 60.5, 3720, 7])
    assert read(server, "j", "speed") == ("tok/s", [900, 1250, 1, 8])
    server.restart()
    server.send("j", ["step 5 beside=2s whole=1s speed=2 ktok/s"])
    server.wait_for_extraction()
    wait_until(lambda: read(server, "j", "beside")[1][4:] == [2000], what="the unit of before")
    assert (read(server, "j", "whole")[1][4], read(server, "j", "speed")[1][4]) == (1, 2000)


def test_a_number_and_its_unit_may_be_one_group(server):
    """As SageMaker's definitions have it: one group, whatever it holds."""
    defined(server, "j", {"Name": "took", "Regex": r"took=(\S+ \S+)"}, {"Name": "speed", "Regex": r"speed=(\S+ \S+)"},
        {"Name": "kept", "Regex": r"kept=(\S+ \S+)", "Unit": "ms"}, {"Name": "odd", "Regex": r"odd=(\S+ \S+)"})
    server.send("j", ["step 1 took=0.35 s speed=900 tok/s kept=0.35 s odd=3 apples", "step 2 took=350 ms speed=1.25 ktok/s kept=-350 ms odd=4 pears"])
    server.wait_for_extraction()
    assert read(server, "j", "took") == ("s", [0.35, 0.35])
    assert read(server, "j", "speed") == ("tok/s", [900, 1250])
    assert read(server, "j", "kept") == ("ms", [350, -350])
    assert not [row for row in server.get("/api/v1/jobs/j/metrics").body["series"] if row["metric"] == "odd"]
    health, = [row for row in server.get("/api/v1/jobs/j/definitions").body["health"] if row["Name"] == "odd"]
    assert (health["matched"], health["not_numeric"]) == (2, 2)


def test_what_is_in_no_unit_that_the_definition_can_have_is_no_value(server):
    """Else a time for a step would be a time, steps a second would be tokens, and five metres five minutes."""
    defined(server, "j", {"Name": "time", "Regex": r"a=(\S+ \S+)", "Unit": "s"}, {"Name": "rate", "Regex": r"b=(\S+ \S+)", "Unit": "samples/s"},
        {"Name": "share", "Regex": r"c=(\S+ \S+)", "Unit": "%"}, {"Name": "bare", "Regex": r"d=(\S+ \S+)"})
    said = [("350 ms/step", "1200 tok/s", "5 m", "3 d"), ("3.5 it/s", "3 GB/s", "3 d", "5 m"), ("350 ms", "7 samples/s", "12 %", "5 min"),
        ("1 h", "2 ksamples/s", "13 %", "350 ms/step")]
    server.send("j", [f"step {k} a={a} b={b} c={c} d={d}" for k, (a, b, c, d) in enumerate(said, 1)])
    server.wait_for_extraction()
    assert [read(server, "j", name)[1] for name in ("time", "rate", "bare")] == [[0.35, 3600], [7, 2000], [300, 350]]
    health = {row["Name"]: row["not_numeric"] for row in server.get("/api/v1/jobs/j/definitions").body["health"]}
    assert [health[name] for name in ("time", "rate", "bare")] == [2, 2, 2] and health["share"] >= 2


def test_a_unit_that_another_definition_states_is_that_of_a_series_without_a_value(server):
    """Of one metric: the NaN that came first has no unit beside it."""
    defined(server, "j", {"Name": "t", "Regex": r"a=(?<value>\S+)(?: (?<unit>m?s))?"}, {"Name": "t", "Regex": "b=([0-9.]+)", "Unit": "ms"})
    server.send("j", ["step 1 a=nan", "step 2 b=350", "step 3 a=1.5 s", "step 4 b=351"])
    server.wait_for_extraction()
    assert read(server, "j", "t") == ("ms", ["NaN", 350, 1500, 351])


def test_a_stated_unit_is_what_values_are_converted_into_to_the_digit(server):
    defined(server, "j", {"Name": "t", "Regex": r"t=(\S+)", "Unit": "ms"}, {"Name": "u", "Regex": r"u=([0-9.]+) (?<unit>\w+)", "Unit": "s"})
    printed = [f"{k // 1000}.{k % 1000:03}" for k in range(1, 2001)]
    server.send("j", [f"step {k} t={text}s u={text} ms" for k, text in enumerate(printed, 1)])
    server.wait_for_extraction()
    for metric, unit, expected in (("t", "ms", [float(k) for k in range(1, 2001)]), ("u", "s", [float(f"{text}e-3") for text in printed])):
        row, = [row for row in server.get("/api/v1/jobs/j/metrics").body["series"] if row["metric"] == metric]
        raw = server.get(f"/api/v1/jobs/j/points?metric={metric}&raw=true").body["series"]
        assert row["unit"] == unit and [value for one in raw for value in one["value"]] == expected


def test_a_unit_beside_one_of_several_values_is_that_of_this_one(server):
    line = r"loss (?<loss>\S+) in (?<took>[0-9.]+)(?<unit>ms|s)"
    defined(server, "j", {"Name": "loss", "Regex": line, "Group": "loss"}, {"Name": "took", "Regex": line, "Group": "took"})
    server.send("j", ["step 1 loss 2.5 in 350ms", "step 2 loss 2.25 in 0.4s"])
    server.wait_for_extraction()
    assert read(server, "j", "loss") == ("", [2.5, 2.25]) and read(server, "j", "took") == ("ms", [350, 400])
