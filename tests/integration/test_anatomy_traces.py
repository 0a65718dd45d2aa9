"""What a profiler's trace says of a GPU's time: traces in the shape that PyTorch writes, each number worked out here by hand."""

import gzip
import json
import os
import signal

import pytest

from smserver import wait_until
from test_anatomy import anatomy, megatron
from test_auth import make_token
from test_hosts import incidents

NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)"
KINDS = ("compute", "communication", "memory", "other")


@pytest.fixture
def server(emptied_server):
    return emptied_server


def event(cat, name, ts, dur, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": dur, "args": args}


def kernel(name, ts, dur, correlation, device=0, stream=7):
    return event("kernel", name, ts, dur, **{"External id": correlation, "device": device, "context": 1, "stream": stream, "correlation": correlation,
        "grid": [256, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %": 40})


def launch(ts, correlation):
    return event("cuda_runtime", "cudaLaunchKernel", ts, 2, **{"External id": correlation, "cbid": 211, "correlation": correlation})


def trace(steps=(3, 4), shift=0, more=(), rank=0):
    """Two steps of 1000 us, and one that is left out. In each: computing 0-600, communication 500-700, a copy 700-750, nothing to 900, computing
    900-1000: 70 % computing, 15 % idle, 20 % communication, half of it with nothing beside. A kernel starts 10 us after its launch."""
    events = [{"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "python"}}]
    for n, step in enumerate((*steps, steps[-1] + 1)):
        at, number = 1000 * n + shift, 100 * n
        events += [event("user_annotation", f"ProfilerStep#{step}", at, 1000), event("cpu_op", "aten::mm", at, 900, **{"External id": 7})]
        for name, start, dur in (("ampere_sgemm_128x64_tn", 0, 600), (NCCL, 500, 200), ("Memcpy DtoH (Device -> Pinned)", 700, 50),
                                 ("void at::native::elementwise_kernel<128, 2>", 900, 100)):
            number += 1
            events += [launch(at + start, number), kernel(name, at + start + 10, dur, number, stream=20 if name == NCCL else 7)]
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 8 << 30}], "cupti_version": 24,
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 8, "pg_config": [{"pg_name": "0", "ranks": [0, 1]}]},
        "traceEvents": [*events, *more, {"ph": "i", "s": "g", "name": "Record Window End", "ts": 9000, "pid": "", "tid": ""}],
        "traceName": "trace.json", "displayTimeUnit": "ms", "baseTimeNanoseconds": 1767225600000000000}


def write(folder, name, document):
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    path = folder / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def ship_trace(ship, server, *paths, job="j", status=0, **more):
    options = [word for path in paths for word in ("--trace", str(path))]
    done = ship.run("--job", job, *more.pop("words", ()), *options, SMFLEET_SERVER=server.url)
    assert done.returncode == status, done.stderr.decode()
    return done.stderr.decode()


def test_sums_by_hand(server, ship, tmp_path):
    server.send("j", "x")
    path = write(tmp_path, "host_1.1767225600.pt.trace.json.gz", trace(rank=1))
    said = ship_trace(ship, server, path, words=("--stream", "algo-2"))
    assert f"'{path}': steps 3 to 4, 8 kernels: 70.0 % computing, 15.0 % idle, 10.0 % communicating with nothing beside" in said
    found = anatomy(server)
    assert (found["exposed_communication"], found["steps"], found["traces_total"]) == (pytest.approx(0.1), 2, 1)
    [stream] = found["by_stream"]
    assert (stream["stream"], stream["traces"], stream["exposed_communication"], set(stream["share"].values())) == ("algo-2", 1, pytest.approx(0.1), {None})
    assert stream["from"] == {"exposed_communication": "(communication_us - overlap_us) / kernel_us"}
    [row] = found["traces"]
    assert (row["stream"], row["file"], row["rank"], row["devices"], row["author"]) == ("algo-2", str(path), 1, 1, "")
    assert (row["first_step"], row["last_step"], row["steps"], row["step_us"], row["last_left_out"]) == (3, 4, 2, 1000, True)
    assert (row["kernels"], row["kernel_us"], row["idle_us"], row["compute_us"]) == (8, 2000, 300, 1400)
    assert (row["communication_us"], row["overlap_us"], row["profiled_ms"]) == (400, 200, 1767225600000)
    assert row["by_kind_us"] == {"compute": 1400, "communication": 400, "memory": 100, "other": 0}
    assert (row["idle"], row["compute"], row["non_compute"], row["overlap"], row["exposed_communication"]) == tuple(
        pytest.approx(value) for value in (0.15, 0.7, 0.15, 0.5, 0.1))


def test_sent_again_it_replaces(server, ship, tmp_path):
    server.send("j", "x")
    for name in ("a.pt.trace.json", "a.pt.trace.json.gz", "b.pt.trace.json"):
        ship_trace(ship, server, write(tmp_path, name, trace()))
    [row] = anatomy(server)["traces"]
    assert row["file"] == str(tmp_path / "b.pt.trace.json")
    ship_trace(ship, server, write(tmp_path, "c.pt.trace.json", trace(steps=(13, 14))))
    assert anatomy(server)["traces_total"] == 2, "the same times of other steps are another trace"
    ship_trace(ship, server, tmp_path / "a.pt.trace.json", words=("--stream", "algo-9"))
    assert anatomy(server)["traces_total"] == 3


def test_a_folder_of_ranks(server, ship, tmp_path):
    """Two GPUs in one file count as one time, as HTA has it: rank 1's second one computes where the first one idles, in the step that counts."""
    server.send("j", "x")
    write(tmp_path, "r0.pt.trace.json.gz", trace())
    write(tmp_path, "r1.pt.trace.json", trace(rank=1, more=[kernel("gemm", 770, 100, 4, device=1)]))
    write(tmp_path, "notes.json", b"{}")
    ship_trace(ship, server, tmp_path)
    found = anatomy(server)
    rows = {row["rank"]: row for row in found["traces"]}
    assert sorted(rows) == [0, 1]
    assert {row["stream"]: row["traces"] for row in found["by_stream"]} == {"algo-1": 1, "algo-1-r1": 1}
    assert (rows[0]["idle_us"], rows[1]["idle_us"], rows[1]["devices"], rows[1]["compute_us"]) == (300, 200, 2, 1500)


@pytest.mark.parametrize("stream, rank, becomes", [("algo-2", 1, "algo-2"), ("algo-2", 9, "algo-2-r9"), ("gpu-a", 0, "gpu-a"), ("gpu-a", 3, "gpu-a-r3"),
    ("algo-1-r5", 5, "algo-1-r5"), ("algo-2-r3", 11, "algo-2-r3")])
def test_whose_stream_a_trace_is(server, ship, tmp_path, stream, rank, becomes):
    """As docs/anatomy.md has it: the stream's own rank, another, and a name that says no rank."""
    server.send("j", "x")
    ship_trace(ship, server, write(tmp_path, "a.json", trace(rank=rank)), words=("--stream", stream))
    assert [(row["stream"], row["rank"]) for row in anatomy(server)["traces"]] == [(becomes, rank)]


def test_steps_and_medians(server, ship, tmp_path):
    server.send("j", megatron(1, 11))
    bad = trace(steps=(8, 9))
    for row in bad["traceEvents"]:  # what runs beside the communication ends where that begins
        row["dur"] = 490 if row["name"] == "ampere_sgemm_128x64_tn" else row.get("dur")
    for stream, name, document in (("algo-1", "a", trace()), ("algo-1", "b", bad), ("algo-2", "c", trace(steps=(5, 6), rank=1))):
        ship_trace(ship, server, write(tmp_path, f"{name}.pt.trace.json", document), words=("--stream", stream))
    found = anatomy(server)
    exposed = {row["stream"]: (row["exposed_communication"], row["traces"], row["steps"]) for row in found["by_stream"]}
    assert exposed == {"algo-1": (pytest.approx(0.15), 2, 11), "algo-2": (pytest.approx(0.1), 1, 2)}
    assert found["exposed_communication"] == pytest.approx(0.125) and found["share"]["data"] == pytest.approx(0.05)
    assert [(row["stream"], row["first_step"]) for row in found["traces"]] == [("algo-1", 3), ("algo-1", 8), ("algo-2", 5)]
    for query, first in (("?from_step=9", [8]), ("?to_step=4", [3]), ("?from_step=4&to_step=5", [3, 5]), ("?from_step=10", [])):
        assert [row["first_step"] for row in anatomy(server, query=query)["traces"]] == first, query


WHOLE = json.dumps(trace()).encode()
REFUSED = {
    "cut off": ("a.pt.trace.json", WHOLE[:-900], "it is cut off"),
    "cut off in gzip": ("a.pt.trace.json.gz", None, "what it is packed in is cut off"),
    "damaged gzip": ("a.json", b"\x1f\x8bxxxxxxxxxxxxxxxx", "what it is packed in is damaged"),
    "no kernels": ("a.json", json.dumps({"traceEvents": [event("cpu_op", "aten::mm", 1, 2)]}).encode(), "no kernels of a GPU"),
    "steps without kernels": ("a.json", json.dumps({"traceEvents": [event("cpu_op", f"ProfilerStep#{n}", 10 * n, 9) for n in (1, 2, 3)]}).encode(), "no kernels of a GPU"),
    "no trace": ("a.json", b'{"a": 1}', "no traceEvents"),
    "no JSON": ("a.json", b"step 1 loss 2\n", "byte 0: a value expected"),
    "empty": ("a.json", b"", "it is cut off"),
    "missing": ("a.json", False, "cannot be opened: No such file"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_whole_trace_leaves_nothing(server, ship, tmp_path, case):
    name, data, words = REFUSED[case]
    server.send("j", "x")
    path = tmp_path / name
    if data is not False:
        path.write_bytes(gzip.compress(WHOLE)[:-100] if data is None else data)
    said = ship_trace(ship, server, path, write(tmp_path, "good.json", trace(steps=(30, 31))), status=4)
    assert f"'{path}'" in said and words in said, said
    assert [row["first_step"] for row in anatomy(server)["traces"]] == [30], "the good one beside it came"


def test_what_the_command_asks_for(server, ship, tmp_path):
    path = write(tmp_path, "a.json", trace())
    assert "'none'" in ship_trace(ship, server, path, job="none", status=4)
    done = ship.run("--trace", str(path), SMFLEET_SERVER=server.url)
    assert done.returncode == 2 and b"--job NAME" in done.stderr
    assert b"neither FILEs" in ship.run("--job", "j", "--trace", str(path), "x", SMFLEET_SERVER=server.url).stderr
    (tmp_path / "empty").mkdir()
    assert "has no file *.pt.trace.json" in ship_trace(ship, server, tmp_path / "empty", status=4)
    done = ship.run("--job", "j", "--drain-timeout", "200ms", "--trace", str(path), SMFLEET_SERVER="http://127.0.0.1:1")
    assert done.returncode == 3 and b"start it again" in done.stderr


def test_traces_that_come_later(server, ship, tmp_path):
    """Into a folder that is not there yet; one is half written at first, one stays so."""
    server.send("j", "x")
    folder, half = tmp_path / "later", json.dumps(trace(steps=(30, 31))).encode()
    running = ship.start("--job", "j", "--follow", "--trace", str(folder), SMFLEET_SERVER=server.url)
    try:
        folder.mkdir()
        (folder / "half.pt.trace.json").write_bytes(half[:2000])
        write(folder, "broken.pt.trace.json", half[:-5])
        os.utime(folder / "broken.pt.trace.json", (1, 1))
        write(folder, "a.pt.trace.json.gz", trace())
        first = lambda: [row["first_step"] for row in anatomy(server)["traces"]]  # noqa: E731
        wait_until(lambda: first() == [3], what="the whole one")
        (folder / "half.pt.trace.json").write_bytes(half)
        wait_until(lambda: first() == [3, 30], what="the other one")
    finally:
        running.send_signal(signal.SIGTERM)
        said = running.communicate(timeout=60)[1].decode()
    assert running.returncode == 4 and said.count("broken.pt.trace.json") == 1 and "half.pt.trace.json': byte" not in said, said


def test_a_trace_is_no_log(server, ship, tmp_path):
    """A pattern that catches one does not send hundreds of megabytes of it as lines."""
    for name in ("a.pt.trace.json", "b.pt.trace.json.gz"):
        write(tmp_path, name, trace())
    (tmp_path / "train.log").write_bytes(b"step 1 loss 2\n")
    done = ship.run("--job", "j", str(tmp_path / "*"), SMFLEET_SERVER=server.url)
    assert done.returncode == 4 and done.stderr.count(b"a trace of a profiler, and no log: sm-ship --trace sums it up") == 2, done.stderr
    assert [row["stream"] for row in server.get("/api/v1/jobs/j/streams").body["streams"]] == ["train.log"]


DOCUMENT = {"stream": "algo-1", "trace": "t", "kernels": 5, "kernel_us": 100, "idle_us": 20, "compute_us": 60, "communication_us": 40, "overlap_us": 20}
WRONG = [({"stream": ""}, "stream"), ({"stream": "a\nb"}, "stream"), ({"trace": "x" * 256}, "trace"), ({"trace": None}, "trace"), ({"kernels": None}, "kernels"),
    ({"kernel_us": -1}, "kernel_us"), ({"idle_us": 101}, "idle_us"), ({"compute_us": 81}, "compute_us"), ({"communication_us": 81}, "communication_us"),
    ({"overlap_us": 41}, "overlap_us"), ({"overlap_us": 19}, "overlap_us"), ({"overlap_us": 1.5}, "overlap_us"), ({"first_step": 1}, "last_step"),
    ({"first_step": 2, "last_step": 1}, "last_step"), ({"rank": "0"}, "rank"), ({"by_kind_us": []}, "by_kind_us"), ({"file": "x" * 4097}, "file"),
    ({"by_kind_us": {"memory": -5}}, "memory"), ({"profiled_ms": 1 << 60}, "profiled_ms")]


def test_documents_that_cannot_be(server):
    server.send("j", "x")
    for change, field in WRONG:
        reply = server.post("/api/v1/jobs/j/anatomy", json={**DOCUMENT, **change})
        assert reply.status == 422 and reply.body["field"] == field, (change, reply)
    assert server.post("/api/v1/jobs/j/anatomy", json={**DOCUMENT, "x": 1}).status == 422
    assert server.post("/api/v1/jobs/none/anatomy", json=DOCUMENT).status == 404
    assert anatomy(server)["traces"] == []
    reply = server.post("/api/v1/jobs/j/anatomy", json={**DOCUMENT, "kernel_us": 0, "idle_us": 0, "compute_us": 0, "communication_us": 0, "overlap_us": 0})
    assert reply.status == 201 and reply.body["rank"] is None
    [row] = anatomy(server)["traces"]
    assert [row[key] for key in ("idle", "compute", "overlap", "exposed_communication")] == [None] * 4


def test_limit_teams_deletion_and_a_kill(make_server):
    server = make_server("--max-traces", "2")
    server.send("j", "x")
    for name in ("a", "b", "a"):
        assert server.post("/api/v1/jobs/j/anatomy", json={**DOCUMENT, "trace": name}).status == 201
    reply = server.post("/api/v1/jobs/j/anatomy", json={**DOCUMENT, "trace": "c"})
    assert reply.status == 413 and "--max-traces" in reply.body["detail"]
    server.kill()
    server.start()
    assert [row["trace"] for row in anatomy(server)["traces"]] == ["a", "b"]
    assert server.delete("/api/v1/jobs/j/anatomy?stream=algo-1&trace=c").status == 404
    assert server.delete("/api/v1/jobs/j/anatomy?stream=algo-1").status == 422
    assert server.delete("/api/v1/jobs/j/anatomy?stream=algo-1&trace=a").body == {"deleted": 1}
    nlp, vision = make_token(server, "nlp", "write", "--team", "nlp"), make_token(server, "vision", "write", "--team", "vision")
    server.send("ours", "x", token=nlp)
    assert server.post("/api/v1/jobs/ours/anatomy", json=DOCUMENT, token=nlp).status == 201
    assert server.post("/api/v1/jobs/ours/anatomy", json=DOCUMENT, token=vision).status == 403
    assert server.delete("/api/v1/jobs/ours/anatomy?stream=algo-1&trace=t", token=vision).status == 403
    row, = server.get("/api/v1/jobs/ours/anatomy", token=make_token(server, "reader", "read", "--team", "vision")).body["traces"]
    assert row["author"] == "nlp"


def test_deleted_with_its_job(server):
    server.send("j", "x")
    assert server.post("/api/v1/jobs/j/anatomy", json=DOCUMENT).status == 201
    server.post("/api/v1/jobs/j/transitions", json={"SecondaryStatus": "Completed"})
    assert server.delete("/api/v1/jobs/j").status in (200, 204)
    assert server.post("/api/v1/jobs/j/restore").status == 200
    assert anatomy(server)["traces_total"] == 1
    assert server.delete("/api/v1/jobs/j?purge=true").status in (200, 204)
    server.send("j", "x")
    wait_until(lambda: anatomy(server)["traces_total"] == 0, what="another job of the name has none")


def exposed(server):
    return [(row["state"], row["opened_step"], row["evidence"]) for row in incidents(server, "j", "communication_exposed")]


def post(server, step, communication, overlap, stream="algo-1", **more):
    document = {**DOCUMENT, "stream": stream, "trace": f"t{step}", "first_step": step, "last_step": step + 1, "kernel_us": 1000, "idle_us": 100,
        "compute_us": 700, "communication_us": communication, "overlap_us": overlap, **more}
    assert server.post("/api/v1/jobs/j/anatomy", json=document).status == 201


def test_more_exposed_than_usual_is_an_incident(server):
    """300 of 1000 communicate, 200 of it beside computation: 10 % exposed. Then 20 % (twice as much, and 10 points), 19.9 %, and 10 % again."""
    server.send("j", "x")
    for step in (10, 20, 30):
        post(server, step, 300, 200)
        post(server, step, 300, 200, stream="algo-2")
    post(server, 40, 399, 200, stream="algo-2", idle_us=0)
    assert exposed(server) == [], "one point short"
    post(server, 40, 400, 200, idle_us=0)
    [(state, step, evidence)] = exposed(server)
    assert (state, step, evidence["value"], evidence["expected"]) == ("open", 41, pytest.approx(20), pytest.approx(10))
    assert evidence["cause"] == "communication takes longer" and "EFA" in evidence["action"] and evidence["stream"] == "algo-1"
    assert (evidence["communication"], evidence["communication_before"], evidence["overlap"], evidence["overlap_before"]) == tuple(
        pytest.approx(value) for value in (0.4, 0.3, 0.5, 2 / 3))
    post(server, 40, 400, 200, idle_us=0)  # sent again
    post(server, 35, 300, 200)  # an older one says nothing of the newest
    assert [state for state, _, _ in exposed(server)] == ["open"]
    post(server, 50, 300, 200)
    assert [state for state, _, _ in exposed(server)] == ["recovered"]
    post(server, 60, 300, 50, idle_us=50)  # 25 %, as long as before
    [(_, _, evidence)] = [row for row in exposed(server) if row[0] == "open"]
    assert evidence["cause"].startswith("less of the communication") and "bucket" in evidence["action"]


def test_a_job_that_has_traces_alone_has_the_incident(server):
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "j"}).status < 300
    for step in (10, 20, 30):
        post(server, step, 300, 200)
    post(server, 40, 400, 200, idle_us=0)
    assert [(state, step) for state, step, _ in exposed(server)] == [("open", 41)]
    post(server, 50, 300, 200)
    assert [state for state, _, _ in exposed(server)] == ["recovered"]


def test_two_traces_before_are_too_few(server):
    server.send("j", "x")
    for step in (10, 20):
        post(server, step, 300, 200)
    post(server, 30, 300, 0, compute_us=600)
    assert exposed(server) == []
    post(server, 40, 300, 0, compute_us=600)
    assert len(exposed(server)) == 1, "three: 10, 10 and 30 % before"


def test_the_trace_of_a_run_that_got_another_name_is_that_runs(server, ship, tmp_path):
    """Slurm's job 7 is the first to be called j; job 8 finds the name taken and is j-2. The profiler's sm-ship knows what the training's knew."""
    start = {"SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "SMFLEET_SERVER": server.url}
    for number in ("7", "8"):
        done = ship.run("--job", "j", "--stream", "algo-1", "--", "echo", "step: 1 loss: 2.0", SLURM_JOB_ID=number, **start)
        assert done.returncode == 0, done.stderr
    path = write(tmp_path, "a.pt.trace.json", trace())
    for number in ("8", "9"):
        done = ship.run("--job", "j", "--stream", "algo-1", "--trace", str(path), SLURM_JOB_ID=number, **start)
        assert done.returncode == 0, done.stderr
    assert [anatomy(server, job)["traces_total"] for job in ("j", "j-2")] == [1, 1], "job 9 has no run: its trace is j's"
    path = write(tmp_path, "b.pt.trace.json", trace(rank=1))
    done = ship.run("--job", "j", "--stream", "algo-1", "--trace", str(path), SLURM_JOB_ID="8", **start)
    assert done.returncode == 0 and [anatomy(server, job)["traces_total"] for job in ("j", "j-2")] == [1, 2], done.stderr
