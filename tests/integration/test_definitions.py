"""The workbench: metric definitions tried on lines before they are kept."""

import json
import pathlib
import re

import pytest
from fixtures import emptied_server as server  # noqa: F401 (one process for the file)
from smserver import wait_until

LOSS = {"Name": "train:loss", "Regex": r"step (?<step>[0-9]+) loss=(?<value>\S+)"}


def try_definitions(server, definitions, status=200, **rest):
    reply = server.post("/api/v1/definitions/test", json={"MetricDefinitions": definitions, **rest})
    assert reply.status == status, reply
    return reply.body


def test_captures_have_columns_values_and_steps(server):
    found = try_definitions(server, [LOSS], lines=["[rank0]: step 7 loss=2.5", "\x1b[31mstep 8\x1b[0m loss=nan", "chatter"])
    lines = found["lines"]
    assert [len(line["captures"]) for line in lines] == [1, 1, 0]
    first, second = lines[0]["captures"][0], lines[1]["captures"][0]
    assert (first["value"], first["step"], first["definition"]) == (2.5, 7, 0)
    assert lines[0]["text"][first["start"]:first["end"]] == "2.5" == first["text"]
    assert lines[0]["text"][first["step_start"]:first["step_end"]] == "7"
    assert lines[1]["text"] == "step 8 loss=nan" and second["value"] == "NaN"
    definition = found["definitions"][0]
    assert (definition["tried"], definition["matched"], definition["warnings"]) == (3, 2, [])
    assert abs(definition["match_rate"] - 2 / 3) < 1e-9
    assert 0 < definition["us_per_line"] < 1e5


def test_a_captured_name_has_its_columns(server):
    named = {"Name": "x", "Regex": r"(?<name>\w+)=(?<value>[0-9.]+)"}
    line, = try_definitions(server, [named], lines=["é loss=2.5 lr=3"])["lines"]
    text = line["text"].encode()
    assert [capture["metric"] for capture in line["captures"]] == ["loss", "lr"]
    assert [text[c["name_start"]:c["name_end"]].decode() for c in line["captures"]] == ["loss", "lr"]


def test_each_broken_definition_says_where_and_the_others_go_on(server):
    found = try_definitions(server, [LOSS, {"Name": "b", "Regex": "x("}, {"Name": "c", "Regex": "no group"}],
        lines="step 1 loss=3\nstep 2 loss=4")
    good, unclosed, groupless = found["definitions"]
    assert good["matched"] == 2
    assert unclosed["error"]["field"] == "MetricDefinitions[1].Regex" and unclosed["error"]["column"] == 3
    assert groupless["error"]["field"] == "MetricDefinitions[2].Regex" and "group" in groupless["error"]["detail"]


def test_warnings_say_what_to_do(server):
    found = try_definitions(server, [LOSS, {"Name": "never", "Regex": "zzz([0-9]+)"},
        {"Name": "catastrophe", "Regex": "(?:a+)+(b)$"}], lines=["step 1 loss=2", "a" * 60 + "c b!"])
    codes = [[warning["code"] for warning in one["warnings"]] for one in found["definitions"]]
    assert codes[0] == [] and codes[1] == ["never_matched"]
    assert "gave_up" in codes[2]
    assert all(warning["text"] for one in found["definitions"] for warning in one["warnings"])


def test_a_named_group_is_no_guess(server):
    two = {"Name": "loss", "Regex": r"step \d+ (?<lr>[0-9.]+) (?<loss>[0-9.]+)"}
    for definition, value, codes in ((two, 1, ["several_groups"]), ({**two, "Group": "loss"}, 2, [])):
        found = try_definitions(server, [definition], lines=["step 7 1 2"])
        assert found["lines"][0]["captures"][0]["value"] == value
        assert [warning["code"] for warning in found["definitions"][0]["warnings"]] == codes


def test_on_stored_lines_of_a_job(server):
    server.send("gpt", [f"step {i} loss={i}.5" for i in range(300)])
    found = try_definitions(server, [LOSS], job="gpt")
    assert len(found["lines"]) == 200 and found["lines"][-1]["captures"][0]["step"] == 299
    found = try_definitions(server, [LOSS], job="gpt", stream="algo-1", **{"from": 10, "limit": 3})
    assert [line["captures"][0]["step"] for line in found["lines"]] == [10, 11, 12]


def test_what_cannot_be_tried_is_refused(server):
    server.send("gpt", ["step 1 loss=1"])
    assert "MetricDefinitions" in try_definitions(server, [], status=422, lines=[])["detail"]
    assert "lines" in try_definitions(server, [LOSS], status=422)["detail"]
    assert "lines[1]" in try_definitions(server, [LOSS], status=422, lines=["a", 7])["detail"]
    assert try_definitions(server, [LOSS], status=404, job="nobody")["status"] == 404
    assert try_definitions(server, [LOSS], status=422, job="gpt", limit=0)["field"] == "limit"
    assert len(try_definitions(server, [LOSS], lines=["x"] * 1000)["lines"]) == 1000
    assert try_definitions(server, [LOSS], status=413, lines=["x"] * 1001)["field"] == "lines"


def test_what_a_preset_shows_can_be_tried_and_given_back(server):
    presets = server.get("/api/v1/definitions").body["presets"]
    assert any(one.get("StepOnly") for preset in presets for one in preset["definitions"])
    for preset in presets:
        found = try_definitions(server, preset["definitions"], lines=["x"]) if preset["definitions"] else {"definitions": []}
        assert [one["error"] for one in found["definitions"] if "error" in one] == [], preset["name"]
    keras, = (preset["definitions"] for preset in presets if preset["name"] == "keras")
    server.send("j", ["a line"])
    reply = server.put("/api/v1/jobs/j/definitions", json={"definitions": keras})
    assert reply.status == 200 and reply.body["definitions"] == keras


def streams(server, job):
    return {row["stream"]: row for row in server.get(f"/api/v1/jobs/{job}/streams").body["streams"]}


def rank_0(server, job):
    return [(name, row["role_reason"]) for name, row in streams(server, job).items() if row.get("role") == "rank 0"]


def test_rank_0_is_found_by_what_the_log_says(server):
    for stream in ("algo-1", "algo-2", "algo-3"):
        server.send("j", ["Training Env:", "", "{", '    "hyperparameters": {"lr": 0.1},', f'    "current_host": "{stream}",',
            '    "master_hostname": "algo-2"', "}"], stream=stream)
    wait_until(lambda: "says master_hostname algo-2 in line" in str(rank_0(server, "j")), what="rank 0")
    assert [name for name, _ in rank_0(server, "j")] == ["algo-2"]
    server.send("slurm", ["+ MASTER_ADDR=r6i4n5"], stream="algo-1", )
    server.post("/api/v1/logs?job=slurm&stream=algo-7&host=r6i4n5", "hello\n")
    wait_until(lambda: [name for name, _ in rank_0(server, "slurm")] == ["algo-7"], what="the host that is named")
    assert streams(server, "slurm")["algo-7"]["host"] == "r6i4n5"


def test_rank_0_is_found_by_a_name_that_ends_with_when_it_began(server):
    for job, line in (("env", 'SM_TRAINING_ENV={"current_host": "algo-1", "hyperparameters": {}, "master_hostname": "algo-4"}'),
            ("export", "export MASTER_ADDR=algo-4"), ("worker", "2026-01-01 10:00:00,000 sagemaker-training-toolkit INFO     Connect to algo-4")):
        for number in (1, 4, 40):
            for began in (1600000000, 1600000500) if number == 4 else (1600000000,):
                server.send(job, ["ssh: connect to host algo-1 port 22: Connection refused", line if number == 1 else "hello"], stream=f"algo-{number}-{began}")
        wait_until(lambda: [name for name, _ in rank_0(server, job)] == ["algo-4-1600000500"], what=f"the leader that {line} names")
        assert "algo-4 in line" in rank_0(server, job)[0][1]


def test_rank_0_is_guessed_with_its_reason(server):
    server.send("one", ["chatter"], stream="algo-3")
    assert rank_0(server, "one") == [("algo-3", "the only stream")]
    server.send("two", ["chatter"], stream="algo-1")
    server.send("two", ["iter 1: loss 2.5, time 350.12ms, mfu 12.50%"], stream="algo-2")
    wait_until(lambda: rank_0(server, "two") == [("algo-2", "it alone prints the loss")], what="the one that speaks")
    for stream in ("algo-10", "algo-9"):
        server.send("three", ["chatter"], stream=stream)
    assert rank_0(server, "three")[0][0] == "algo-9"


def test_the_example_of_the_documents(server):
    """docs/metrics.md: its definitions on its line."""
    text = (pathlib.Path(__file__).resolve().parents[2] / "docs/metrics.md").read_text()
    blocks = dict(re.findall(r"```(definitions|log)\n(.*?)```", text, re.S))
    found = try_definitions(server, json.loads(blocks["definitions"]), lines=blocks["log"])
    line = found["lines"][0]
    captures = [(one["definition"], line["text"][one.get("name_start", 0):one.get("name_end", 0)], one["value"], one.get("step"))
        for one in line["captures"]]
    assert captures == [(0, "", 2.3125, 12), (1, "", 1200, 12), (2, "layer7", 0.25, 12), (2, "layer8", "NaN", 12)], captures
    assert not any("error" in one for one in found["definitions"])


@pytest.mark.parametrize("sealing", [[], ["--seal-age", "100ms"]], ids=["live", "sealed"])
def test_health_of_older_definitions_is_not_told_under_the_names_of_newer_ones(make_server, sealing):
    """A stream that had no line since the definitions changed ran the older ones: its counts are not those of the newer."""
    server = make_server(*sealing)

    def health():
        return {one["Name"]: one["matched"] for one in server.get("/api/v1/jobs/j/metrics").body["definitions"]}

    def change(name):
        reply = server.put("/api/v1/jobs/j/definitions",
                           json={"definitions": [{"Name": name, "Regex": f"{name}=([0-9]+)"}]})
        assert reply.status == 200, reply

    assert server.post("/api/v1/jobs", json={"TrainingJobName": "j"}).status < 300
    change("alpha")
    for stream in ("a", "b"):
        assert server.post(f"/api/v1/logs?job=j&stream={stream}", "alpha=1 beta=2\n" * 5).status == 200
    wait_until(lambda: health() == {"alpha": 10}, what="both streams were extracted")
    change("beta")
    assert server.post("/api/v1/logs?job=j&stream=b", "alpha=1 beta=2\n" * 2).status == 200
    wait_until(lambda: health().get("beta"), what="the new definitions ran")
    wait_until(lambda: health() == {"beta": 2}, timeout=5)
    if sealing:
        wait_until(lambda: "smfleet_sealed_lines_total 12" in server.get("/metrics").body, what="all is sealed")
    assert health() == {"beta": 2}


def test_what_stands_in_the_place_of_a_value(server):
    """A definition that cannot match "nan" finds it all the same, and of what is no number it is said that it is none."""
    narrow = {"Name": "l", "Regex": "loss: ([0-9.]+)"}
    found = try_definitions(server, [narrow], lines=["step 1 loss: 2.5", "step 2 loss: nan", "step 3 loss: skipped", "step 4 loss: None", "no more"])
    captures = [line["captures"] for line in found["lines"]]
    assert [[(one["text"], one.get("value"), one.get("step")) for one in each] for each in captures] == [
        [("2.5", 2.5, 1)], [("nan", "NaN", 2)], [("skipped", None, None)], [("None", None, None)], []]
    assert [each[0]["start"] for each in captures[:4]] == [len("step 1 loss: ")] * 4
    definition, = found["definitions"]
    assert (definition["tried"], definition["matched"], definition["numeric"], definition["not_numeric"]) == (5, 2, 2, 2)
    assert [warning["code"] for warning in definition["warnings"]] == ["place_not_numeric"]


@pytest.mark.parametrize("regex, values", [
    (r"(?:loss=([0-9.]+)|L:([0-9.]+))", [2.5, 1.5, None, 3.5]),
    (r"step (?<step>\d+) (?:loss=(\S+)|L:(\S+)|l=(\S+))", [2.5, 1.5, 0.5, 3.5]),
    (r"loss=([0-9.]+)|L:([0-9.]+)(?: lr=([0-9.]+))?", [2.5, 1.5, None, 3.5]),
    (r"step \d+ (?:loss=([0-9.]+)|l=|L:)?.*(?: lr=([0-9.]+)|$)", [2.5, None, None, 3.5]),  # what is in no other branch is another value
    (r"(?:loss=(?<loss>[0-9.]+)|L:(?<other>[0-9.]+))", [2.5, None, None, 3.5]),  # nor is what has a name of its own
    (r"(?|loss=([0-9.]+)|L:([0-9.]+))", [2.5, 1.5, None, 3.5]),
])
def test_the_value_is_the_group_of_the_branch_that_matched(server, regex, values):
    lines = ["step 1 loss=2.5", "step 2 L:1.5 lr=0.1", "step 3 l=0.5 lr=0.1", "step 4 loss=3.5"]
    found = try_definitions(server, [{"Name": "x", "Regex": regex}], lines=lines)
    said = [[one.get("value") for one in line["captures"]] for line in found["lines"]]
    assert said == [[value] if value is not None else [] for value in values]
    job = f"branch-{abs(hash(regex))}"
    assert server.post("/api/v1/jobs", json={"TrainingJobName": job, "AlgorithmSpecification": {"MetricDefinitions": [{"Name": "x", "Regex": regex}]}}).status == 201
    assert server.post(f"/api/v1/logs?job={job}", "".join(line + "\n" for line in lines)).status == 200
    wanted = [(step, value) for step, value in enumerate(values, 1) if value is not None]
    server.wait_for_points(job, "x", len(wanted))
    columns = server.points(job, "x", buckets=100)["columns"]
    assert list(zip(columns["x"], columns["last"])) == wanted


def test_two_expressions_for_one_metric_are_one_series(server):
    """As two forms of a line say it; the first says its role and its unit."""
    both = [{"Name": "x", "Regex": r"old (?<step>\d+): (?<value>\S+?)(?<unit>ms)", "Unit": "ms", "Role": "step_time"},
        {"Name": "x", "Regex": r"new (?<step>\d+) -> (?<value>\S+?)(?<unit>s)\b"}]
    found = try_definitions(server, both, lines=["old 1: 250ms", "new 2 -> 0.5s"])
    assert [one["definition"] for line in found["lines"] for one in line["captures"]] == [0, 1]
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "both", "AlgorithmSpecification": {"MetricDefinitions": both}}).status == 201
    assert server.post("/api/v1/logs?job=both", "old 1: 250ms\nnew 2 -> 0.5s\nold 3: 750ms\n").status == 200
    row = server.wait_for_points("both", "x", 3)
    columns = server.points("both", "x", buckets=100)["columns"]
    assert list(zip(columns["x"], columns["last"])) == [(1, 250), (2, 500), (3, 750)]
    assert (row["unit"], row["role"]) == ("ms", "step_time")
    health = server.get("/api/v1/jobs/both/metrics").body["definitions"]
    assert [(one["Name"], one["matched"]) for one in health] == [("x", 3)], "counted together"


def test_a_minus_that_is_no_ascii_one_is_no_number(server):
    found = try_definitions(server, [{"Name": "x", "Regex": r"x=(\S+)"}], lines=["step 1 x=-2.5", "step 2 x=\u22122.5"])
    assert [[one.get("value") for one in line["captures"]] for line in found["lines"]] == [[-2.5], [None]]
    assert found["definitions"][0]["not_numeric"] == 1


NUMBER = {"Name": "m", "Regex": r"m=([0-9.]+)"}
OTHER = {"Name": "other", "Regex": r"other=([0-9.]+)"}


@pytest.mark.parametrize("sealing", [[], ["--seal-age", "100ms"]], ids=["live", "sealed"])
def test_a_metric_that_goes_on_counts_on(make_server, sealing):
    """Its steps are counted: by the same definitions and by changed ones, over a kill, too."""
    server = make_server(*sealing)
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "j"}).status < 300
    sent = []

    def put(*definitions):
        reply = server.put("/api/v1/jobs/j/definitions", json={"definitions": definitions})
        assert reply.status == 200, reply
        return reply.body["generation"]

    def send(*values):
        sent.extend(values)
        assert server.post("/api/v1/logs?job=j&stream=algo-1", "".join(f"m={value} other={value}\n" for value in values)).status == 200
        server.wait_for_points("j", "m", len(sent))

    def series(metric):
        parts = server.get(f"/api/v1/jobs/j/points?metric={metric}&raw=true").body["series"]
        return [sum((part[column] for part in parts), []) for column in ("step", "value")]

    first = put(NUMBER)
    send(1, 2, 3)
    assert put(NUMBER) == first, "nothing changed"
    send(4, 5)
    assert server.get("/api/v1/jobs/j/metrics").body["definitions"][0]["matched"] == 5
    if sealing:
        wait_until(lambda: server.figure("sealed_lines_total") == 5, what="all is sealed")
    assert put(OTHER, NUMBER | {"Role": "loss"}) > first
    send(6, 7)
    server.kill()
    server.start()
    send(8)
    assert series("m") == [list(range(8)), sent]
    assert series("other") == [[0, 1, 2], sent[5:]], "new ones begin"
    assert server.put("/api/v1/jobs/j/definitions?backfill=true", json={"definitions": [OTHER, NUMBER]}).status == 202
    wait_until(lambda: series("other") == [list(range(8)), sent], what="the back-fill")
    assert series("m") == [list(range(8)), sent]
