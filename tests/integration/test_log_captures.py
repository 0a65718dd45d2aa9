"""What of a log's lines is taken for points, and where it stands: compared with the points that are stored."""

import json
import urllib.parse

import pytest
from smserver import wait_until
from test_records import FORMS
from test_retention import end_job, wait_until_sealed


@pytest.fixture
def server(make_server):
    return make_server()


def ask(server, job, status=200, **parameters):
    reply = server.get(f"/api/v1/jobs/{job}/logs/captures?" + urllib.parse.urlencode({"stream": "algo-1", **parameters}))
    assert reply.status == status, reply
    return reply.body


def texts(server, job, stream="algo-1"):
    return {line["n"]: line["text"].encode() for line in server.lines(job, stream)}


def captures(server, job, **parameters):
    """{(line, metric): (the text that is marked, value, step)}"""
    shown, found = texts(server, job), {}
    for line in ask(server, job, **{"from": 0, "limit": 1000, **parameters})["lines"]:
        for one in line["captures"]:
            key = line["n"], one["metric"]
            assert key not in found
            found[key] = shown[line["n"]][one["start"]:one["end"]].decode(), one["value"], one.get("step")
    return found


def points(server, job):
    """{(line, metric): (value, step)} of all that is stored; not of what is derived from it."""
    stored = {}
    for series in server.get(f"/api/v1/jobs/{job}/metrics").body["series"]:
        if series["metric"].startswith("derived:"):
            continue
        for part in server.points(job, series["metric"], raw="true")["series"]:
            stored.update({(n, series["metric"]): (value, step) for n, value, step in zip(part["line"], part["value"], part["step"]) if n is not None and n >= 0})
    return stored


def assert_all_points(server, job, lines):
    server.send(job, lines)
    server.wait_for_extraction()
    found, stored = captures(server, job), points(server, job)
    assert stored and found.keys() == stored.keys()
    assert {key: (value, step) for key, (_, value, step) in found.items()} == stored
    return found


READER = [f"step: {i} loss: {3 - i / 1000:.4f} lr: {1e-3 - i * 1e-6:.2e} grad_norm: {1 + i / 100:.3f}" for i in range(300)]
PRESET = [f"iter {i}: loss {3 - i / 1000:.4f}, time {350 + i}.00ms, mfu 40.{i:02}%" for i in range(60)]


def test_what_the_reader_and_a_preset_take_is_marked(server):
    found = assert_all_points(server, "reader", READER)
    assert found[120, "train:loss"] == ("2.8800", 2.88, 120)
    assert {metric for line, metric in found if line == 120} >= {"train:loss", "train:lr", "train:grad_norm"}
    found = assert_all_points(server, "preset", PRESET)
    assert found[7, "train:loss"] == ("2.9930", 2.993, 7)
    assert found[7, "train:step_time"]== ("357.00", 357, 7)


def test_one_log_of_many_forms(server):
    """A preset's lines, those of the reader, and chatter, in one stream."""
    lines = [line for i in range(40) for line in
        (f"iter {i}: loss {3 - i / 1000:.4f}, time 350.00ms, mfu 40.00%", f"saved checkpoint {i}", f"eval step: {i} | val_ppl: {12 - i / 16:.4f}")]
    found = assert_all_points(server, "run", lines)
    assert {line % 3 for line, _ in found} == {0, 2}


def test_own_definitions_with_names_steps_of_other_lines_and_no_numbers(server):
    definitions = [{"Name": "train:loss", "Regex": r"loss=(\S+)"}, {"Name": "e:*", "Regex": r"(?<name>\w+)~(?<value>[0-9.]+)"}]
    server.post("/api/v1/jobs", json={"TrainingJobName": "own", "AlgorithmSpecification": {"MetricDefinitions": definitions}})
    lines = []
    for step in range(20):
        lines += [f"[rank0]: step {step} loss={step + 0.5}", f"step {step}", f"loss=n/a a~{step}.25 é b~{step}.75", "loss=nan"]
    found = assert_all_points(server, "own", lines)
    assert found[2, "e:b"] == ("0.75", 0.75, 0) and found[7, "train:loss"] == ("nan", "NaN", 1)


@pytest.mark.parametrize("form", FORMS)
def test_records_over_several_lines(server, form):
    head, say = FORMS[form]
    found = assert_all_points(server, "run", head + [line for step in range(1, 61) for line in say(step)])
    assert {metric for _, metric in found} >= {"train:loss", "val:loss"}
    # Asked for a few lines alone the same is said, and no more.
    whole = ask(server, "run", **{"from": 0, "limit": 1000})["lines"]
    for start in (0, 3, 100):
        some = ask(server, "run", **{"from": start, "limit": 30})["lines"]
        assert some == [line for line in whole if start <= line["n"] < start + 30]


def test_colours_bars_and_bytes_that_are_no_text(server):
    lines = []
    for i in range(1, 40):
        lines += [f"\x1b[1mstep {i}\x1b[0m \x1b[32mloss: \x1b[1m{i}.\x1b[0m5\x1b[0m é", f" 10%|#   | {i}/400 [00:01<00:09,  9.00it/s, loss=9.125]\r 20%|##  | {i}/400 [00:01<00:09,  9.00it/s, loss={i}.25]"]
    server.send("run", lines)
    server.post("/api/v1/logs?job=run&stream=algo-1", b"\xff\xfe step 41 loss: 41.5 \xff\n", content_type="text/plain")
    server.wait_for_extraction()
    found, shown = ask(server, "run", **{"from": 0, "limit": 1000}), texts(server, "run")
    stored, marked = points(server, "run"), {}
    for line in found["lines"]:
        for one in line["captures"]:
            marked.setdefault((line["n"], one["metric"]), []).append(shown[line["n"]][one["start"]:one["end"]].decode())
    assert marked.keys() == stored.keys()
    assert marked[0, "train:loss"] == ["1.\x1b[0m5"]
    assert marked[78, "train:loss"] == ["41.5"]
    assert any(part == "39.25" for parts in (marked.get((77, metric), []) for _, metric in list(marked)) for part in parts)


def test_the_last_part_of_a_cut_line(server):
    time = "2024-06-25T12:34:5{}.123456789Z stdout "
    lines = []
    for step in range(1, 10):
        lines += [time.format(step) + f"P step {step}: gradients are fine, lo", time.format(step) + f"F ss: {step}.125"]
    server.send("cut", lines)
    server.wait_for_extraction()
    assert captures(server, "cut") == {(2 * step - 1, "train:loss"): (f"{step}.125", step + 0.125, step) for step in range(1, 10)}


def test_the_message_of_a_collectors_record(server):
    lines = [json.dumps({"log": f"\x1b[32mstep\t{step}\x1b[0m é \"loss\": {step}.125\n", "stream": "stdout", "time": f"2024-06-25T12:34:{step:02}Z"}) for step in range(20)]
    lines += [json.dumps({"rank": 3, "message": json.dumps({"log": f"step {step} loss: \x1b[1m{step}.125\n", "stream": "stdout"})}, ensure_ascii=False) for step in range(20, 40)]
    found = assert_all_points(server, "docker", lines)
    assert {text for text, _, _ in found.values()} == {f"{step}.125" for step in range(40)}


def test_what_is_sealed_says_the_same(make_server):
    server = make_server("--seal-age", "100ms")
    now = assert_all_points(server, "run", READER)
    end_job(server, "run", 0)
    wait_until(lambda: server.figure("sealed_lines_total") == len(READER), what="the lines to be sealed")
    assert captures(server, "run") == now
    server.restart()
    assert captures(server, "run") == now
    assert [line["n"] for line in ask(server, "run", **{"from": 200, "limit": 1})["lines"]] == [200]


def test_what_is_deleted_is_gone_and_what_is_behind_it_is_read(make_server):
    server = make_server("--seal-age", "100ms", "--log-bytes", "0")
    server.send("run", [f"step {i} loss: {i}.25 {'z' * 100}" for i in range(40_000)])
    end_job(server, "run", 2)
    wait_until_sealed(server, ["run"])
    assert server.request("PATCH", "/api/v1/jobs/run", json={"retention": {"max_bytes": 2 << 20}}).status == 200
    gone = wait_until(lambda: (reply := server.get("/api/v1/jobs/run/logs/captures?from=0")).status == 410 and reply.body, what="the oldest text to go")
    first = gone["first_kept_line"]
    for start in (first, first + 3):
        lines = ask(server, "run", **{"from": start, "limit": 2})["lines"]
        assert [(line["n"], line["captures"][0]["value"]) for line in lines] == [(n, n + 0.25) for n in (start, start + 1)]


def test_new_definitions_without_a_backfill_count_at_once(server):
    assert_all_points(server, "run", READER)
    reply = server.put("/api/v1/jobs/run/definitions", json={"definitions": [{"Name": "mine", "Regex": r"loss: ([0-9.]+)"}]})
    assert reply.status == 200, reply
    assert captures(server, "run", **{"from": 7, "limit": 1}) == {(7, "mine"): ("2.9930", 2.993, 7)}


def test_limits(server):
    server.send("run", READER * 4)
    server.wait_for_extraction()
    assert len(ask(server, "run", **{"from": 0, "limit": 1000})["lines"]) == 1000
    assert "limit" in ask(server, "run", 400, **{"from": 0, "limit": 1001})["detail"]
    assert "from" in ask(server, "run", 400, limit=10)["detail"]
    assert "limit" in ask(server, "run", 400, **{"from": 0, "limit": 0})["detail"]
    assert ask(server, "run", 404, stream="none", **{"from": 0})["detail"]
    assert ask(server, "none", 404, **{"from": 0})["detail"]
    reply = ask(server, "run", **{"from": 1200})
    assert reply["lines"] == [] and reply["total"] == 1200 and "next_from" not in reply
    reply = ask(server, "run", **{"from": 1135, "limit": 1})
    assert reply["next_from"] == 1136 and "open_from" not in reply
    reply = ask(server, "run", **{"from": 1136, "limit": 1})  # 64 lines from the end: a record may end behind it
    assert reply["open_from"] == 1136
    assert ask(server, "run", **{"from": 0, "limit": 1200 - 64 + 1 - 200})["next_from"] == 937


def metrics_of(server, job, line, limit=1):
    found = ask(server, job, **{"from": line, "limit": limit})["lines"]
    return {one["metric"] for shown in found if shown["n"] == line for one in shown["captures"]}


def test_how_far_a_header_and_the_end_of_a_record_are_looked_for(server):
    """256 lines above, 64 behind. What is further up is read as if it stood at the end of the log: by the newest table."""
    chatter = [f"still busy, all is well: {'x' * (i % 7)}" for i in range(256)]
    first, second = ["  epoch    train_loss    dur", "-------  ------------  ------"], ["  epoch    valid_loss    dur", "-------  ------------  ------"]
    rows = [f"{step:7}        {0.5 + 1 / step:.4f}  0.0512" for step in range(1, 4)]
    server.send("tables", [*first, *chatter[:254], *rows, *second, *rows])
    server.wait_for_extraction()
    assert "train:loss" in metrics_of(server, "tables", 256)  # its header stands 256 lines above
    assert "train:loss" not in metrics_of(server, "tables", 257)
    box = lambda step, rows: ["-" * 29, f"|    loss       | {0.5 + 1 / step:9.4f} |", *[f"|    other{i:<7}| {i:9} |" for i in range(rows)],
        f"| iteration     | {step:9} |", "-" * 29]
    server.send("boxes", [line for step in range(1, 9) for line in [*box(step, 62), *box(step + 10, 63)]])
    server.wait_for_extraction()
    sections = [line for name in ("lm loss", "iteration-time") for line in [f'    "{name}": {{', '        "values": {',
        *[f'            "{step}": {2 + step / 1000},' for step in range(1, 301)], "        }", "    },"]]
    server.send("golden", ["{", *sections, "}"])
    server.wait_for_extraction()
    assert metrics_of(server, "golden", 257) == {"lm loss"} and not metrics_of(server, "golden", 258)
    near, far = 66 + 67 + 1, 66 + 67 + 66 + 1
    assert metrics_of(server, "boxes", near) >= {"train:loss"} and not metrics_of(server, "boxes", far)
    assert metrics_of(server, "boxes", far, 2) >= {"train:loss"}


def test_so_many_of_one_line(server):
    server.post("/api/v1/jobs", json={"TrainingJobName": "own", "AlgorithmSpecification": {
        "MetricDefinitions": [{"Name": "m:*", "Regex": r"(?<name>\w+)~(?<value>[0-9.]+)"}]}})
    server.send("own", [" ".join(f"a{i}~{i}" for i in range(count)) for count in (64, 65)])
    server.wait_for_extraction()
    first, second = (line["captures"] for line in ask(server, "own", **{"from": 0})["lines"])
    assert len(first) == len(second) == 64 and first == second


def test_so_much_text(make_server):
    server = make_server("--max-line-bytes", "2MiB")
    long = f"step: 1 loss: 2.5 {'x' * ((1 << 20) - 18)}"  # 1 MiB
    server.send("run", [long] * 5 + READER[:100])
    server.wait_for_extraction()
    reply = ask(server, "run", **{"from": 0, "limit": 10})
    assert [line["n"] for line in reply["lines"]] == [0, 1, 2, 3] and reply["next_from"] == 4
    reply = ask(server, "run", **{"from": 4, "limit": 10})
    assert [line["n"] for line in reply["lines"]] == list(range(4, 14)) and reply["next_from"] == 14
