"""MLflow's log-batch against columns: the same points, 1000 a request, acknowledged when they are on disk, in one run."""

import json
import random
import time

from harness import is_caught_up, process_cpu
from rows_doors import Sender
from smserver import Server, wait_until
from table import Line, Row

CONNECTIONS, ROUNDS, BODIES, QUICK_BODIES, STEPS, T0 = 4, 3, 200, 50, 250, 1_790_000_000_000
METRICS, RATIO = ("loss", "learning_rate", "grad_norm", "tokens_per_s"), 0.5
POINTS = STEPS * len(METRICS)
KINDS = ("columns", "log-batch")


def encode(document):
    return json.dumps(document, separators=(",", ":")).encode()


def make_values(count):
    chance = random.Random(1)
    return [[[round(chance.gauss(2, 1), 5) for _ in range(STEPS)] for _ in METRICS] for _ in range(count)]


def columns(first, values):
    return encode({"series": [{"metric": metric, "step": list(range(first, first + STEPS)),
        "ts_ms": [T0 + 250 * step for step in range(first, first + STEPS)], "value": values[i]} for i, metric in enumerate(METRICS)]})


def log_batch(run_id, first, values):
    return encode({"run_id": run_id, "metrics": [{"key": metric, "value": values[i][step], "timestamp": T0 + 250 * (first + step),
        "step": first + step} for step in range(STEPS) for i, metric in enumerate(METRICS)]})


def make_sender(server, kind, run_id, job, values):
    """Each body has steps of its own: MLflow's are known again when they come twice."""
    firsts = range(0, STEPS * len(values), STEPS)
    if kind == "columns":
        path, bodies = f"/api/v1/points?job={job}", [columns(first, body) for first, body in zip(firsts, values)]
    else:
        path, bodies = "/api/2.0/mlflow/runs/log-batch", [log_batch(run_id, first, body) for first, body in zip(firsts, values)]
    return Sender(server.port, path, "application/json", bodies)


def make_run(server, name):
    reply = server.post("/api/2.0/mlflow/runs/create", json={"experiment_id": "0", "run_name": name})
    assert reply.status == 200, reply
    return reply.body["run"]["info"]["run_id"]


def send_all(server, kind, number, values):
    """One load, into jobs of its own: seconds until the last reply, CPU seconds until the last point is consumed, points missing."""
    names = [f"{kind}-{number}-{i}" for i in range(CONNECTIONS)]
    runs = [make_run(server, name) for name in names]
    senders = [make_sender(server, kind, run_id, f"Default%2F{name}", values) for run_id, name in zip(runs, names)]
    before, start = process_cpu(server.process.pid), time.monotonic()
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    wall_s = time.monotonic() - start
    wait_until(lambda: is_caught_up(server), 120, "extraction")
    cpu_s = process_cpu(server.process.pid) - before
    stored = sum(row["count"] for name in names for row in server.get(f"/api/v1/jobs/Default%2F{name}/metrics").body["series"]
        if row["metric"] in METRICS)
    return {"wall_s": wall_s, "cpu_s": cpu_s, "bytes": sum(len(body) for sender in senders for body in sender.bodies),
        "failed": sum(sender.failed for sender in senders), "missing": CONNECTIONS * len(values) * POINTS - stored}


def measure(bench):
    values = make_values(QUICK_BODIES if bench.is_quick else BODIES)
    server, figures = Server(bench.folder).start(), {"points": CONNECTIONS * len(values) * POINTS}
    for number in range(ROUNDS):  # in turn, so that what else the machine does meets both
        for kind in KINDS:
            bench.say(f"log-batch: {kind}, round {number + 1} of {ROUNDS}, {figures['points'] / 1e6:.1f} M points")
            once = send_all(server, kind, number, values)
            best = figures.setdefault(kind, once)
            figures[kind] = {key: best[key] + once[key] if key in ("failed", "missing") else min(best[key], once[key]) for key in once} \
                if best is not once else once
    server.stop()
    return figures


def report(figures, bench):
    columns, batch = figures["columns"], figures["log-batch"]
    is_whole = not any(one["failed"] or one["missing"] for one in (columns, batch))
    lines = []
    for what, unit, amount, target in (("", "M points/s", lambda _: figures["points"], None), (", a byte", "MB/s", lambda one: one["bytes"], RATIO)):
        mine, theirs = (amount(one) / one["wall_s"] / 1e6 for one in (batch, columns))
        lines.append(Line(f"points by MLflow's log-batch{what}", f"{mine:.2f} {unit}", f"columns {theirs:.2f} {unit}",
            f"{mine / theirs:.2f}", f">= {target}" if target else "", mine / theirs >= target and is_whole if target else None))
    return lines


def details(figures, bench):
    return [f"log-batch, {kind}: {figures[kind]['cpu_s'] / figures['points'] * 1e6:.2f} CPU seconds of the server a million points, "
        f"{figures[kind]['bytes'] / figures['points']:.0f} bytes a point, {figures[kind]['bytes'] / figures[kind]['wall_s'] / 1e6:.0f} MB/s; "
        f"{figures[kind]['failed']} failed, {figures[kind]['missing']} missing" for kind in KINDS]


ROWS = [Row("log-batch", measure, report, details)]
