"""What the server says of a job, gathered from its public faces into one table, and compared with what a test worked out itself."""

from smserver import quote, wait_until

TOLERANCE = 1e-3  # of seconds and shares: a document's times are seconds with three places


def answer(server, path):
    reply = server.get(path)
    return reply.body if reply.status == 200 else {}


def incident_of(row):
    return row["kind"], row["severity"], row["state"], row.get("opened_step")


def facts(server, job, receiver=None):
    """Times in seconds. Of messages: (type of event, kind, job) in the order in which they came."""
    path = f"/api/v1/jobs/{quote(job)}"
    document, goodput = answer(server, path), answer(server, f"{path}/goodput")
    streams = answer(server, f"{path}/streams").get("streams", [])
    query = quote(f'name="{job}"')
    incidents = answer(server, f"/api/v1/incidents?q={query}&limit=100").get("incidents", [])
    steps, cost = goodput.get("steps") or {}, goodput.get("cost") or {}
    seconds = {name: bucket["seconds"] for name, bucket in goodput.get("buckets", {}).items() if bucket["seconds"]}
    table = {
        "status": (document.get("TrainingJobStatus"), document.get("SecondaryStatus")),
        "phases": [(row["Status"], row["StartTime"]) for row in document.get("SecondaryStatusTransitions", [])],
        "start": document.get("TrainingStartTime"), "start_from": document.get("start_from"),
        "end": document.get("TrainingEndTime"), "end_from": document.get("end_from"),
        "failure": document.get("FailureReason"),
        "nodes": document.get("nodes"), "nodes_from": document.get("nodes_from"),
        "hosts": {row["stream"]: row.get("host") for row in streams},
        "lines": sum(row["lines"] for row in streams),
        "attempts": document.get("attempts"),
        "last_step": steps.get("last"), "lost_steps": steps.get("lost"),
        "wall_s": goodput.get("wall_seconds"), "seconds": seconds, "goodput": goodput.get("goodput"),
        "billable_s": cost.get("billable_seconds"), "cost": cost.get("total"),
        "incidents": sorted(incident_of(row) for row in incidents),
    }
    if receiver:
        table["messages"] = [message_of(one) for one in receiver.messages()]
    return table


def message_of(message):
    data = message.get("data", {})
    return message.get("type"), data.get("kind"), data.get("job")


def is_equal(is_now, wanted):
    if isinstance(wanted, dict) and isinstance(is_now, dict):
        return is_now.keys() == wanted.keys() and all(is_equal(is_now[key], wanted[key]) for key in wanted)
    if isinstance(wanted, (list, tuple)) and isinstance(is_now, (list, tuple)):
        return len(is_now) == len(wanted) and all(map(is_equal, is_now, wanted))
    if isinstance(wanted, (int, float)) and isinstance(is_now, (int, float)) and not isinstance(wanted, bool):
        return abs(is_now - wanted) <= TOLERANCE
    return is_now == wanted


def expect_facts(server, job, receiver=None, **wanted):
    """Waits until each of these facts holds at one moment; else says which do not, one a row."""
    last = {}

    def wrong():
        last.clear()
        last.update(facts(server, job, receiver))
        return [name for name in wanted if not is_equal(last.get(name), wanted[name])]

    try:
        wait_until(lambda: not wrong(), what=f"the facts of {job}")
    except AssertionError:
        rows = "\n".join(f"{name:12} is {last.get(name)!r}\n{'':12} not {wanted[name]!r}" for name in wrong())
        assert not rows, f"of {job}, by what the test sent:\n{rows}"
    return last
