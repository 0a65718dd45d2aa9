"""The fleet: many jobs in chains of warm pools, told by events in the order of time; then its pages, while jobs go on coming."""

import time

from rows_jobs import JOBS, QUICK_JOBS
from smserver import Server, wait_until
from table import Line, Row

CHAIN, SHAPES, MINUTE_MS, BATCH = 10, 100, 60_000, 500
TIMES, PAGE_MS, INSERT_MS = 300, 20, 3
PAGES = ("/api/v1/fleet", "/api/v1/warm-pools", "/api/v1/warm-pools?state=available", "/api/v1/quotas")


def job_event(number, jobs, now_ms):
    """Job NUMBER of chain after chain: each takes over the cluster of the one before, the last one's waits for an hour."""
    pool, position = divmod(number, CHAIN)
    ago_ms = (jobs // CHAIN - pool) * 7_000 + (CHAIN - position) * 10 * MINUTE_MS
    begun_ms = now_ms - ago_ms
    is_last = position == CHAIN - 1
    document = {"TrainingJobName": f"chain-{pool}-{position}", "TrainingJobStatus": "Completed", "SecondaryStatus": "Completed",
        "RoleArn": f"arn:aws:iam::123456789012:role/pool-{pool % SHAPES}-{pool // SHAPES % SHAPES}",
        "ResourceConfig": {"InstanceType": f"ml.p{pool % 5}d.24xlarge", "InstanceCount": 1 + pool % SHAPES, "VolumeSizeInGB": 50,
            "KeepAlivePeriodInSeconds": 3600},
        "CreationTime": begun_ms, "TrainingStartTime": begun_ms + (20_000 if position else 480_000),
        "TrainingEndTime": begun_ms + 9 * MINUTE_MS, "LastModifiedTime": begun_ms + 9 * MINUTE_MS,
        "SecondaryStatusTransitions": [{"Status": "Starting", "StartTime": begun_ms},
            {"Status": "Training", "StartTime": begun_ms + (20_000 if position else 480_000)},
            {"Status": "Completed", "StartTime": begun_ms + 9 * MINUTE_MS}]}
    if is_last and pool % 4 == 0:
        document["ResourceConfig"]["KeepAlivePeriodInSeconds"] = 0
    return {"version": "0", "id": f"id-{number}", "detail-type": "SageMaker Training Job State Change", "source": "aws.sagemaker",
        "time": "2026-01-01T00:00:00Z", "detail": document}


def one_shape_event(number, now_ms):
    """All of one kept shape, one behind the other: what a change reaches must not grow with the history."""
    event = job_event(number * CHAIN, CHAIN * 10_000, now_ms)
    begun_ms = now_ms - (10_000 - number) * 10 * MINUTE_MS
    event["detail"] |= {"TrainingJobName": f"kept-{number}", "RoleArn": "arn:aws:iam::123456789012:role/kept", "CreationTime": begun_ms,
        "ResourceConfig": {"InstanceType": "ml.kept", "InstanceCount": 1, "VolumeSizeInGB": 50, "KeepAlivePeriodInSeconds": 1800},
        "TrainingStartTime": begun_ms + 20_000, "TrainingEndTime": begun_ms + 9 * MINUTE_MS, "LastModifiedTime": begun_ms + 9 * MINUTE_MS,
        "SecondaryStatusTransitions": [{"Status": "Training", "StartTime": begun_ms + 20_000},
            {"Status": "Completed", "StartTime": begun_ms + 9 * MINUTE_MS}]}
    return event


def tell(server, events):
    start = time.perf_counter()
    for begin in range(0, len(events), BATCH):
        reply = server.post("/api/v1/events", json=events[begin:begin + BATCH], timeout=600)
        assert reply.status == 200 and reply.body["accepted"] == len(events[begin:begin + BATCH]), reply
    return (time.perf_counter() - start) * 1000 / len(events)


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def measure_page(server, path):
    took = []
    for _ in range(TIMES):
        start = time.perf_counter()
        reply = server.get(path)
        took.append((time.perf_counter() - start) * 1000)
        assert reply.status == 200, reply
    return {"path": path, "p50_ms": percentile(took, 0.5), "p99_ms": percentile(took, 0.99)}


def measure_fleet(bench):
    jobs = QUICK_JOBS if bench.is_quick else JOBS
    bench.say(f"fleet: {jobs} jobs in {jobs // CHAIN} pools")
    server, now_ms = Server(bench.folder, "--goodput-every", "1h").start(), int(time.time() * 1000)
    insert_ms = tell(server, [job_event(number, jobs, now_ms) for number in range(jobs)])
    wait_until(lambda: server.get("/api/v1/fleet").body["jobs"]["total"] == jobs, what="the jobs to be counted")
    pages = [measure_page(server, path) for path in PAGES]
    few = max(jobs // 100, 500)
    first_ms = tell(server, [one_shape_event(number, now_ms) for number in range(few)])
    tell(server, [one_shape_event(number, now_ms) for number in range(few, 9 * few)])
    last_ms = tell(server, [one_shape_event(number, now_ms) for number in range(9 * few, 10 * few)])
    pools = server.get("/api/v1/fleet").body["warm_pools"]
    server.stop()
    return {"jobs": jobs, "insert_ms": insert_ms, "pages": pages, "pools": sum(pools.values()), "kept": 10 * few, "first_ms": first_ms,
        "last_ms": last_ms}


def report_fleet(figures, bench):
    lines = [Line(f"{figures['jobs']} jobs in {figures['pools']} pools, by events of {BATCH}", f"{figures['insert_ms']:.2f} ms a job",
        target=f"<= {INSERT_MS} ms", is_met=figures["insert_ms"] <= INSERT_MS)]
    for page in figures["pages"]:
        lines.append(Line(f"GET {page['path']}, by one client", f"p50 {page['p50_ms']:.2f} p99 {page['p99_ms']:.2f} ms",
            target=f"p99 <= {PAGE_MS} ms", is_met=page["p99_ms"] <= PAGE_MS))
    growth = figures["last_ms"] / figures["first_ms"]
    lines.append(Line(f"{figures['kept']} jobs of one kept shape: the last tenth against the first", f"{growth:.2f}x",
        target="<= 1.5x", is_met=growth <= 1.5))
    return lines


ROWS = [Row("fleet", measure_fleet, report_fleet)]
