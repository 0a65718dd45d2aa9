"""
Five machines over some days: a training that is broken off six times, one machine that is replaced for its GPU and fails again in the next job, the checks that
somebody then runs on all of them (dcgmi diag of both generations, nvidia-smi -q, nccl-tests in pairs), and HyperPod's own agent. Who is drained and why, which
pair is slow, how far from what the type can do, and how many interruptions are to be expected, is worked out here: the last by Gamma and Poisson themselves,
where the server adds up the negative binomial distribution that they make.
"""

import datetime
import fractions
import json
import math
import pathlib
import time

import pytest

from awsclients import boto
from smserver import wait_until

CHECKS = pathlib.Path(__file__).parent / "checks"
DAY_MS, DAY_S = 86_400_000, 86_400
BEGUN_S = int(time.time()) // DAY_S * DAY_S - 2 * DAY_S + 6 * 3600  # the day before yesterday, 06:00 UTC
STEP_S, STEPS, PERIOD_S, FAULT_S, PARTS = 100, 20, 3000, 2500, 7  # each part is 20 steps, of which the next makes ten again; a fault behind the first six
WHOLE_S = (PARTS - 1) * PERIOD_S + STEPS * STEP_S  # 20 000 s
TYPE, NODES = "ml.p5.48xlarge", 4
XID_79 = "NVRM: Xid (PCI:0000:53:00): 79, pid=4711, name=python, GPU has fallen off the bus."
XID_48 = "NVRM: Xid (PCI:0000:64:00): 48, pid=4711, name=python, DBE (double bit error) detected"
ECC = "RuntimeError: CUDA error: uncorrectable ECC error encountered"
NCCL = "[rank0]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, Timeout(ms)=600000) ran for 600061 milliseconds"
FAULTS = [("gpu03", XID_79), ("gpu03", XID_79), ("gpu01", XID_48), ("gpu01", XID_48), ("gpu02", ECC), (None, NCCL)]
REPLACED = 2  # the part that begins with gpu05 in the place of gpu03


def host_of(rank, part):
    return "gpu05" if rank == 3 and part >= REPLACED else f"gpu0{rank}"


def stamped(second, text):
    return f"{datetime.datetime.fromtimestamp(BEGUN_S + second, datetime.timezone.utc):%Y-%m-%dT%H:%M:%SZ} {text}"


class Cluster:
    def __init__(self, server, ship, folder):
        self.server, self.ship, self.folder = server, ship, folder

    def node(self, host):
        reply = self.server.get(f"/api/v1/nodes/{host}")
        return reply.body if reply.status == 200 else {}

    def drained(self):
        return sorted(row["host"] for row in self.server.get("/api/v1/nodes").body["drain"])

    def kinds(self, host):
        return {kind["signature"]: kind["times"] for kind in self.node(host).get("fault_kinds", [])}

    def post(self, job, stream, host, *timed):
        text = "".join(stamped(second, line) + "\n" for second, line in timed)
        assert self.server.post(f"/api/v1/logs?job={job}&stream={stream}&host={host}", text).status == 200

    def announce(self, job):
        document = {"TrainingJobName": job, "ResourceConfig": {"InstanceType": TYPE, "InstanceCount": NODES, "VolumeSizeInGB": 50}}
        assert self.server.post("/api/v1/jobs", json=document).status == 201

    def pipe(self, text, job, stream, *more):
        """What `COMMAND | sm-ship` sends."""
        done = self.ship.run("--job", job, "--stream", stream, *more, data=text.encode())
        assert done.returncode == 0, done


def train(cluster):
    cluster.announce("llm")
    for part in range(PARTS):
        begun_s = part * PERIOD_S
        for rank in range(1, NODES + 1):
            steps = range(10 * part + 1, 10 * part + STEPS + 1)
            cluster.post("llm", f"algo-{rank}", host_of(rank, part), *((begun_s + n * STEP_S, f"step: {step} loss: {5 - step / 50:.3f}") for n, step in enumerate(steps)))
        if part == len(FAULTS):
            break
        host, text = FAULTS[part]
        if text.startswith("NVRM"):
            cluster.post("llm", f"system/{host}", host, (begun_s + FAULT_S, f"{host} kernel: {text}"))
        else:
            cluster.post("llm", "algo-2" if host else "algo-1", host or "gpu01", (begun_s + FAULT_S, text))
    done = cluster.server.post("/api/v1/jobs/llm/transitions", json={"SecondaryStatus": "Completed", "time_ms": (BEGUN_S + WHOLE_S) * 1000})
    assert done.status == 204
    wait_until(lambda: len(cluster.server.get("/api/v1/jobs/llm/goodput").body["breaks"]) == len(FAULTS), what="the breaks")
    wait_until(lambda: [cluster.node(host).get("restarts") for host in ("gpu01", "gpu02", "gpu03")] == [2, 1, 2], what="what each machine broke off")


def within(shape, exposure, ahead):
    """The counts that 5 and 95 of 100 are not above: the rate by Gamma's density, the count by Poisson at each rate, summed up over the rates by Simpson's rule."""
    pieces, top = 4000, (shape + 14 * math.sqrt(shape) + 20) / exposure
    rates = [top * n / pieces for n in range(pieces + 1)]
    weights = [0.0 if rate == 0 else math.exp(shape * math.log(exposure) + (shape - 1) * math.log(rate) - exposure * rate - math.lgamma(shape))
               * (1 if n in (0, pieces) else 4 if n % 2 else 2) * top / pieces / 3 for n, rate in enumerate(rates)]
    assert sum(weights) == pytest.approx(1, abs=1e-9)
    total, low, count = 0.0, None, 0
    now = [weight * math.exp(-rate * ahead) for weight, rate in zip(weights, rates)]
    while True:
        total += sum(now)
        low = count if low is None and total >= 0.05 else low
        if total >= 0.95:
            return low, count
        count += 1
        now = [value * rate * ahead / count for value, rate in zip(now, rates)]


def within_exactly(shape, exposure, ahead):
    """Of a whole shape k, as fractions: P(n) = C(n + k - 1, n) pᵏ (1 - p)ⁿ, p = exposure / (exposure + ahead)."""
    p = fractions.Fraction(exposure) / (fractions.Fraction(exposure) + fractions.Fraction(ahead))
    total, low, count = fractions.Fraction(0), None, 0
    term = p ** shape
    while True:
        total += term
        low = count if low is None and total >= fractions.Fraction(5, 100) else low
        if total >= fractions.Fraction(95, 100):
            return low, count
        term = fractions.Fraction(float(term * (count + shape) / (count + 1) * (1 - p)))  # its digits would double with each step
        count += 1


def check_expected(cluster):
    """
    What docs/nodes.md shows: six breaks in 300 machine-days and ten machines at work, 6.5 / 300 * 70 = 1.52, from 0 to 4. Here: six breaks in 4 * 20 000 s = 0.9259 machine-days. With nothing at work the week ahead is seven such days: 6.5 / 0.9259 * 6.4815 = 45.5. The next job of four
    machines makes it 28 machine-days: 196.56. Of gpu03 two of its 5500 s, and a fifth of the fleet's time: 3 / (0.06366 + 0.18519) * 7 = 84.39.
    """
    assert (round(6.5 / 300 * 70, 2), within(6.5, 300, 70)) == (1.52, (0, 4))
    fleet_days, own_days = NODES * WHOLE_S / DAY_S, (PERIOD_S + FAULT_S) / DAY_S
    got = wait_until(lambda: (one := cluster.node("gpu03")["expected_interruptions"])["host"]["machine_days"] and one, what="how long it worked")
    fleet, host = got["fleet"], got["host"]
    assert (fleet["events"], host["events"], got["charged"], got["days"]) == (6, 2, 5, 7)
    assert (fleet["machine_days"], host["machine_days"]) == (pytest.approx(fleet_days), pytest.approx(own_days))
    assert (fleet["shape"], fleet["exposure"], fleet["ahead"], fleet["ahead_from"]) == (6.5, pytest.approx(fleet_days), pytest.approx(7 * fleet_days), "machines a day with work")
    assert fleet["expected"] == pytest.approx(45.5) and (fleet["low"], fleet["high"]) == within(6.5, fleet_days, 7 * fleet_days)
    exposure = own_days + fleet_days / 5
    assert (host["shape"], host["exposure"], host["ahead"]) == (3, pytest.approx(exposure), 7)
    assert host["expected"] == pytest.approx(3 / exposure * 7) and round(3 / exposure * 7, 2) == 84.39
    assert (host["low"], host["high"]) == within(3, exposure, 7) == within_exactly(3, exposure, 7)
    cluster.announce("next")
    fleet = cluster.node("gpu03")["expected_interruptions"]["fleet"]
    assert (fleet["ahead"], fleet["ahead_from"], fleet["expected"]) == (28, "machines of jobs that run", pytest.approx(6.5 / fleet_days * 28))
    assert (fleet["low"], fleet["high"]) == within(6.5, fleet_days, 28)


def check_replaced(cluster):
    """gpu03's last line in its stream is of step 30, at 4900 s; gpu05's first at 6000 s. Then gpu03 does it again in another job."""
    row, = cluster.server.get("/api/v1/jobs/llm/replacements").body["replacements"]
    assert (row["stream"], row["from"], row["to"], row["why"]) == ("algo-3", "gpu03", "gpu05", "xid_79 on gpu03")
    last_s, first_s = PERIOD_S + (STEPS - 1) * STEP_S, REPLACED * PERIOD_S
    assert (row["last_ms"], row["at_ms"], row["took_ms"], row["took_from"]) == ((BEGUN_S + last_s) * 1000, (BEGUN_S + first_s) * 1000, (first_s - last_s) * 1000, "log")
    fault_s = PERIOD_S + FAULT_S
    assert (row["fault"]["ts_ms"], row["needed_ms"]) == ((BEGUN_S + fault_s) * 1000, fault_s * 1000)
    assert row["observed_ms"] == ((PARTS - 1) * PERIOD_S + (STEPS - 1) * STEP_S - first_s) * 1000 and row["fault_followed"] == "not seen again"
    again_s = WHOLE_S + 3600
    cluster.post("burn-in", "system/gpu03", "gpu03", (again_s, f"gpu03 kernel: {XID_79}"))
    row, = wait_until(lambda: (rows := cluster.server.get("/api/v1/jobs/llm/replacements").body["replacements"])[0]["fault_followed"] == "machine" and rows, what="the same fault")
    assert (row["seen_again"]["host"], row["seen_again"]["ts_ms"], row["seen_again_job"]) == ("gpu03", (BEGUN_S + again_s) * 1000, "burn-in")
    body = cluster.node("gpu03")
    kind, = body["fault_kinds"]
    assert (kind["signature"], kind["times"], kind["job_count"], kind["repeated"], body["repeat_offender"]) == ("xid_79", 3, 2, True, True)
    other = cluster.node("gpu01")
    assert (cluster.kinds("gpu01"), other["repeat_offender"]) == ({"xid_48": 2}, False)  # twice, in one job on one day
    assert cluster.drained() == ["gpu01", "gpu02", "gpu03"]
    until = [row["until_ms"] for row in body["drains"]]
    assert max(until) == (BEGUN_S + again_s) * 1000 + 7 * DAY_MS


def check_all_machines(cluster):
    """dcgmi of the third generation on each by itself, of the fourth from one place by pdsh; nvidia-smi of two machines, one worn out and one that waits."""
    read = lambda name: (CHECKS / name).read_text()
    third, smi = read("dcgmi-diag-3.txt"), read("nvidia-smi-q.txt")
    sound = third.replace("Pass - GPUs: 0, 1, 2, 3, 5, 6, 7   ", "Pass - All                         ").replace("Fail - GPU: 4   ", "Skip - GPU: 4   ")
    cluster.pipe(third, "dcgm-gpu03", "check", "--host", "gpu03")
    cluster.pipe(sound, "dcgm-gpu02", "check", "--host", "gpu02")  # that persistence mode is off is how the machine is set up
    text, document = read("dcgmi-diag-4.txt"), read("dcgmi-diag-4.json")
    well = lambda output: output.replace("Fail", "Pass")
    prefixed = lambda host, output: "".join(f"{host}: {line}\n" for line in output.splitlines())
    pdsh = prefixed("gpu01", well(text)) + prefixed("gpu04", text) + prefixed("gpu05", well(document)) + prefixed("gpu06", document)
    cluster.pipe(pdsh, "pdsh", "head", "--host", "head01")
    rows = lambda name, value, was: (f"{name:<34}: {was}", f"{name:<34}: {value}")
    worn = smi.replace(*rows("Remapping Failure Occurred", "Yes", "No"), 1).replace("DRAM Uncorrectable            : 0", "DRAM Uncorrectable            : 14")
    waits = smi.replace("        Pending                           : No", "        Pending                           : Yes", 1)
    cluster.pipe(worn, "smi-gpu02", "check", "--host", "gpu02")
    cluster.pipe(waits, "smi-gpu05", "check", "--host", "gpu05")
    cluster.pipe(smi, "smi-gpu07", "check", "--host", "gpu07")
    wanted = {"gpu01": {"xid_48": 2}, "gpu02": {"ecc_uncorrectable": 1, "smi_remap_failed": 1, "smi_uncorrectable": 1}, "gpu03": {"xid_79": 3, "dcgm_failed": 1},
        "gpu04": {"dcgm_failed": 1}, "gpu05": {"smi_remap_pending": 1}, "gpu06": {"dcgm_failed": 1}, "gpu07": {}, "head01": {}}
    wait_until(lambda: {host: cluster.kinds(host) for host in wanted} == wanted, what="what the checks say of each machine")
    why = {row["host"]: row["why"] for row in cluster.server.get("/api/v1/nodes").body["drain"]}
    assert sorted(why) == ["gpu01", "gpu02", "gpu03", "gpu04", "gpu06"]
    assert why["gpu06"] == ["dcgm_failed once in the last week"]  # in two lines: of its GPU, and in the test's summary


def health_event(condition, reason, text):
    """As sagemaker-hyperpod-eks-resiliency-health-monitoring-agent.html of SageMaker's developer guide prints it."""
    return json.dumps({"level": "info", "ts": "2026-03-02T18:35:35Z", "msg": "NPD caught event: %v", "details: ": {"severity": "warn",
        "timestamp": "2026-03-02T18:35:29Z", "reason": reason, "message": f"Node condition {condition}, reason: {reason}, message: \"{text}\""},
        "HealthMonitoringAgentDetectionEvent": "HealthEvent"}, separators=(",", ":"))


def hear_hyperpod(cluster):
    logs = boto(cluster.server, "logs")
    group = "/aws/sagemaker/Clusters/big/abcdef012345"
    logs.create_log_group(logGroupName=group)
    reboot, link = "NvidiaErrorReboot is now: True", "NVRM: Xid (PCI:0000:b9:00): 71, pid=<unknown>, name=<unknown>, NVLink: fatal error detected on link 6(0x10000, 0x0)"
    said = {"i-0391f86fa0fe0d465": health_event(reboot, "XidHardwareFailure", link), "i-0bbbbbbbbbbbbbbbb": health_event(reboot, "XidHardwareFailure", XID_79),
        "i-0aaaaaaaaaaaaaaaa": health_event("NvidiaErrorReboot is now: False", "NvidiaNoError", "no error")}
    for instance, message in said.items():
        stream = f"SagemakerHealthMonitoringAgent/workers/{instance}"
        logs.create_log_stream(logGroupName=group, logStreamName=stream)
        logs.put_log_events(logGroupName=group, logStreamName=stream, logEvents=[{"timestamp": int(time.time() * 1000), "message": message}])
    bad, fallen, good = said
    wait_until(lambda: (cluster.kinds(bad), cluster.kinds(fallen)) == ({"hyperpod_unhealthy": 1}, {"xid_79": 1}), what="the events")
    cluster.server.wait_for_extraction()
    assert cluster.kinds(good) == {} and {bad, fallen, good} & {*cluster.drained()} == {bad, fallen}


# ---- nccl-tests ----

FACTOR = 2 * 15 / 16  # bus bandwidth of an all-reduce is algorithm bandwidth * 2 (n - 1) / n, of 16 ranks: doc/PERFORMANCE.md
SIZES = {1 << 20: 0.1, 1 << 30: 0.9, 8 << 30: 1.0}  # of its best bandwidth
PAIRS = {("gpu01", "gpu02"): 360, ("gpu01", "gpu04"): 240, ("gpu01", "gpu05"): 363.75, ("gpu02", "gpu04"): 243.75, ("gpu02", "gpu05"): 352.5, ("gpu04", "gpu05"): 236.25}


def digits(value, width):
    """getFloatStr of src/util.cu."""
    power, most = 0, 1
    while value >= most:
        power, most = power + 1, most * 10
    places = 2 if power < width - 2 else 1 if power < width - 1 else 0
    return f"{value:{width}.{places}f}"


def header(per_iteration, timestamps):
    spread = ["i_min", "i_max", "i_p99", "i_cv%"] if per_iteration else []
    units = ["(us)", "(us)", "(us)", "(%)"] if per_iteration else []
    place = "out-of-place (+ per-iteration)                                in-place (+ per-iteration)" if per_iteration else "out-of-place                       in-place          "
    half = lambda names, more: "".join(f"  {name:>{width}}" for name, width in zip(names, (7, 6, 6, 6))) + "".join(f"  {name:>7}" for name in more)
    yield f"# {'':10}  {'':12}  {'':8}  {'':6}  {'':6}           {place}"
    yield f"# {'size':>10}  {'count':>12}  {'type':>8}  {'redop':>6}  {'root':>6}" + 2 * half(("time", "algbw", "busbw", "#wrong"), spread) + " " + "timestamp".rjust(19) * timestamps
    yield f"# {'(B)':>10}  {'(elements)':>12}  {'':8}  {'':6}  {'':6}" + 2 * half(("(us)", "(GB/s)", "(GB/s)", ""), units) + " " + "%Y-%m-%d %H:%M:%S" * timestamps


def nccl_tests(hosts, busbw, factor=FACTOR, per_iteration=False, timestamps=False):
    """writeDeviceReport, writeResultHeader, writeBenchmarkLine… and writeResultFooter of src/util.cu."""
    yield "# nccl-tests version 2.18.2 nccl-headers=22907 nccl-library=22907"
    yield "# Collective test starting: all_reduce_perf"
    yield "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 8589934592 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0 unalign: 0"
    if per_iteration:
        yield "# Per-Iteration Report: CUDA event timing; i_* uses max over process rows "
    yield "#"
    yield "# Using devices"
    for rank in range(8 * len(hosts)):
        yield f"#  Rank {rank:2} Group  0 Pid {21712 + rank:6} on {hosts[rank // 8]:>10} device {rank % 8:2} [0000:53:00] NVIDIA H100 80GB HBM3"
    yield "#"
    yield from header(per_iteration, timestamps)
    shown = []
    for size, share in SIZES.items():
        bus = busbw * share
        time_us = size / (bus / factor * 1e9) * 1e6
        shown.append(bus)
        half = f"  {digits(time_us, 7)}  {digits(bus / factor, 6)}  {digits(bus, 6)}  {0:6}"
        half += ("".join(f"  {digits(time_us * more, 7)}" for more in (0.98, 1.04, 1.03)) + f"  {digits(1.25, 7)}") if per_iteration else ""
        yield f"{size:12}  {size // 4:12}  {'float':>8}  {'sum':>6}  {-1:6}" + half + half + (f"{'2026-03-02 19:31:0' + str(len(shown)):>21}" if timestamps else "")
    yield "# Out of bounds values : 0 OK"
    yield f"# Avg bus bandwidth    : {sum(shown) / len(shown):g} "
    yield "#"
    yield "# Collective test concluded: all_reduce_perf"


def test_pairs_that_name_the_slow_machine(server, ship, tmp_path):
    """
    Each pair, one behind the other, two of them with the options that print more: those with gpu04 are slow. At 8 GiB the median of the five others of
    (gpu01, gpu04) is 352.5, of 236.25 243.75 352.5 360 363.75: 240 / 352.5 = 0.681. The network of a p5.48xlarge carries 3200 Gbit/s = 400 GB/s, NVLink 450.
    """
    cluster = Cluster(server, ship, tmp_path)
    cluster.announce("fabric")
    more = {("gpu01", "gpu05"): {"per_iteration": True}, ("gpu02", "gpu05"): {"timestamps": True}, ("gpu04", "gpu05"): {"per_iteration": True, "timestamps": True}}
    text = [line for pair, busbw in PAIRS.items() for line in nccl_tests(pair, busbw, **more.get(pair, {}))]
    text += nccl_tests(["gpu02"], 405, factor=2 * 7 / 8)
    cluster.pipe("\n".join(text) + "\n", "fabric", "pairs", "--host", "gpu01")
    got = cluster.server.get("/api/v1/jobs/fabric/nccl").body
    runs = {tuple(run["hosts"]): run for run in got["runs"]}
    assert set(runs) == {*PAIRS, ("gpu02",)} and (got["limits"]["network_gb_s"], got["limits"]["peer_gb_s"]) == (3200 / 8, 450)
    largest = 8 << 30
    for pair, busbw in PAIRS.items():
        run = runs[pair]
        assert (run["test"], run["ranks"], run["wrong"], run["limit_gb_s"]) == ("all_reduce", 16, 0, 400), pair
        assert run["average_busbw"] == pytest.approx(busbw * 2 / 3, abs=0.001)  # (0.1 + 0.9 + 1) / 3
        assert [(row["size"], row["out_of_place"]["busbw"], row["in_place"]["busbw"]) for row in run["rows"]] == [
            (size, pytest.approx(busbw * share, abs=0.05), pytest.approx(busbw * share, abs=0.05)) for size, share in SIZES.items()], pair
        row = run["rows"][2]
        assert row["out_of_place"]["algbw"] == pytest.approx(busbw / 1.875, abs=0.05) and row["out_of_place"]["time_us"] == pytest.approx(largest / (busbw / 1.875 * 1e3), abs=0.1)
        others = sorted(other for one, other in PAIRS.items() if one != pair)
        assert (row["share_of_limit"], row["median_busbw"], row["compared"]) == (pytest.approx(busbw / 400), others[2], 5), pair
        assert run["slow"] == (busbw < 0.8 * others[2]) == ("gpu04" in pair), pair
    alone = runs["gpu02",]
    assert (alone["ranks"], alone["limit_gb_s"], alone["rows"][2]["share_of_limit"], alone["rows"][2]["median_busbw"], alone["slow"]) == (8, 450, 0.9, None, False)
    assert {tuple(row["hosts"]): row["share"] for row in got["slow"]} == {
        ("gpu01", "gpu04"): pytest.approx(240 / 352.5), ("gpu02", "gpu04"): pytest.approx(243.75 / 352.5), ("gpu04", "gpu05"): pytest.approx(236.25 / 352.5)}
    assert {row["host"]: (row["runs"], row["slow_runs"], row["suspect"]) for row in got["machines"]} == {
        "gpu01": (3, 1, False), "gpu02": (4, 1, False), "gpu04": (3, 3, True), "gpu05": (3, 1, False)}
    cluster.server.wait_for_points("fabric", "bench:busbw", 3 * 7, stream="pairs")


def test_machines_week_by_week(server, ship, tmp_path):
    cluster = Cluster(server, ship, tmp_path)
    train(cluster)
    check_expected(cluster)
    check_replaced(cluster)
    check_all_machines(cluster)
    hear_hyperpod(cluster)
    drained = cluster.drained()
    server.kill()
    server.start()
    assert cluster.drained() == drained == ["gpu01", "gpu02", "gpu03", "gpu04", "gpu06", "i-0391f86fa0fe0d465", "i-0bbbbbbbbbbbbbbbb"]
