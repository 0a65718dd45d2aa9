"""Bandwidth of nccl-tests by size: the text is as src/common.cu prints it, medians and shares are by hand."""

import pytest
from smserver import wait_until


@pytest.fixture
def server(emptied_server):
    return emptied_server


def printed(hosts, busbw, algbw=None, starting=True, per_host=8):
    """sizes 1 MiB and 8 GiB; busbw of the larger one, of the smaller one a tenth"""
    ranks = len(hosts) * per_host
    factor = 2 * (ranks - 1) / ranks
    text = "# nccl-tests version 2.17.1 nccl-headers=22703 nccl-library=22703\n"
    text += "# Collective test starting: all_reduce_perf\n" if starting else ""
    text += "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 8589934592 step: 8192(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n"
    for rank in range(ranks):
        text += f"#  Rank {rank:2} Group  0 Pid  {21712 + rank} on {hosts[rank // per_host]:>10} device {rank % per_host:2} [0x53] NVIDIA H100 80GB HBM3\n"
    text += """#
#                                                              out-of-place                       in-place          
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       
"""
    for size, bus in ((1048576, busbw / 10), (8589934592, busbw)):
        alg = bus / factor
        text += f"{size:12} {size // 4:13}     float     sum      -1 {size / alg / 1e3:8.1f} {alg:7.2f} {bus:7.2f}      0 {size / alg / 1e3:8.1f} {alg:7.2f} {bus:7.2f}      0\n"
    return text + f"# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {busbw * 0.55:.3f} \n#\n" + ("# Collective test concluded: all_reduce_perf\n" if starting else "")


def make(server, name, instance="ml.p5.48xlarge"):
    assert server.post("/api/v1/jobs", json={"TrainingJobName": name, "HyperParameters": {}, "ResourceConfig": {"InstanceType": instance, "InstanceCount": 4}}).status in (200, 201)


def send(server, name, stream, text):
    assert server.post(f"/api/v1/logs?job={name}&stream={stream}", body=text).status == 200


def test_pairs_name_the_slow_machine(server):
    """Pairs of a, b, c and d at 8 GiB: those with b at 240, the others at 360. The median of the other five of (a, b) is 360 (240 240 360 360 360): 0.667."""
    make(server, "fabric")
    pairs = {"ab": 240, "ac": 360, "ad": 360, "bc": 240, "bd": 240, "cd": 360}
    for pair, busbw in pairs.items():
        send(server, "fabric", pair, printed([f"node-{one}" for one in pair], busbw))
    got = server.get("/api/v1/jobs/fabric/nccl").body
    runs = {run["stream"]: run for run in got["runs"]}
    assert set(runs) == set(pairs) and {pair for pair, run in runs.items() if run["slow"]} == {"ab", "bc", "bd"}
    run = runs["ab"]
    assert (run["test"], run["hosts"], run["ranks"], run["average_busbw"], run["wrong"], run["limit_gb_s"]) == ("all_reduce", ["node-a", "node-b"], 16, 132.0, 0, 400)
    small, large = run["rows"]
    assert (small["size"], large["size"], large["type"], large["redop"]) == (1048576, 8589934592, "float", "sum")
    assert large["out_of_place"] == {"time_us": 67108.9, "algbw": 128.0, "busbw": 240.0, "wrong": 0} == large["in_place"]
    assert large["share_of_limit"] == 0.6 and large["median_busbw"] == 360 and large["compared"] == 5
    assert runs["cd"]["rows"][1]["median_busbw"] == 240  # of 240 240 240 360 360: it is not slow
    slow, *_ = [one for one in got["slow"] if one["hosts"] == ["node-a", "node-b"]]
    assert slow == {"hosts": ["node-a", "node-b"], "test": "all_reduce", "size": 8589934592, "busbw": 240.0, "median_busbw": 360.0, "share": 240 / 360}
    assert {one["host"]: (one["runs"], one["slow_runs"], one["suspect"]) for one in got["machines"]} == {
        "node-a": (3, 1, False), "node-b": (3, 3, True), "node-c": (3, 1, False), "node-d": (3, 1, False)}
    assert got["compared_jobs"] == 0 and not got["partial"] and got["limits"]["peer_gb_s"] == 450


def test_other_jobs_of_the_same_type_are_the_fleet(server):
    """Three jobs with one machine each at 470, 480 and 475 GB/s by NVLink, and one of another type; the fourth has 300: 0.632 of 475."""
    for name, busbw, instance in (("a", 470, "ml.p5.48xlarge"), ("b", 480, "ml.p5.48xlarge"), ("c", 475, "ml.p5.48xlarge"), ("other", 100, "ml.p4d.24xlarge")):
        make(server, name, instance)
        send(server, name, "algo-1", printed([f"node-{name}"], busbw))
    make(server, "mine")
    assert server.get("/api/v1/jobs/mine/nccl").body["runs"] == []
    send(server, "mine", "algo-1", "loss: 1\n" + printed(["node-m"], 300) + printed(["node-m", "node-n"], 350, starting=False))
    got = server.get("/api/v1/jobs/mine/nccl").body
    one, two = got["runs"]
    assert (one["limit_gb_s"], one["slow"], one["rows"][1]["median_busbw"], one["rows"][1]["compared"]) == (450, True, 475, 3) and got["compared_jobs"] == 3
    assert one["line"] == 3 or one["line"] == 2
    assert (two["test"], two["limit_gb_s"], two["slow"], two["rows"][1]["median_busbw"], two["rows"][1]["compared"]) == (None, 400, False, None, 0)
    assert [each["hosts"] for each in got["slow"]] == [["node-m"]] and {each["host"]: each["suspect"] for each in got["machines"]} == {"node-m": False, "node-n": False}
    assert server.get("/api/v1/jobs/other/nccl").body["runs"][0]["limit_gb_s"] == 300
    assert server.get("/api/v1/jobs/none/nccl").status == 404


def test_a_size_is_no_step(server):
    """all_reduce_perf twice: the job has no step, no second start and no steps lost; bandwidth by size stays a chart of its own."""
    make(server, "twice")
    send(server, "twice", "algo-1", 2 * printed(["node-a", "node-b"], 350))
    job = wait_until(lambda: (found := server.get("/api/v1/jobs/twice").body).get("metrics") and found)
    assert job["attempts"] == 1 and {one["role"] for one in job["metrics"]} == {"benchmark"}
    columns = server.get("/api/v1/jobs/twice/points?metric=bench:busbw").body["columns"]
    assert (columns["x"], columns["min"], columns["count"]) == ([1048576, 8589934592], [35, 350], [2, 2])
    assert server.get("/api/v1/jobs/twice/points?metric=bench:avg_busbw").body["columns"]["x"] == [0, 1]
    goodput = server.get("/api/v1/jobs/twice/goodput").body
    assert goodput["steps"] == {} and goodput["breaks"] == []
