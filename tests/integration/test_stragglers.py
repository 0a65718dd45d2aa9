"""A stream that is slower than its job's others is named, once, until it has caught up."""

from smserver import wait_until

STREAMS = [f"algo-{number}" for number in range(1, 6)]
SLOW = "algo-3"


def send(server, first, count, slow_time):
    for stream in STREAMS:
        time = slow_time if stream == SLOW else 1.2
        server.send("llama", [f"step: {n} loss: 3.0 step_time: {time * (1 + n * 7919 % 100 / 10000):.4f}"
            for n in range(first, first + count)], stream)


def stragglers(server):
    return server.get("/api/v1/incidents?kind=straggler").body["incidents"]


def wait_for_state(server, states, first, slow_time):
    """More steps until it is said: looks are some seconds apart, and want new figures."""
    step = first

    def is_said():
        nonlocal step
        send(server, step, 8, slow_time)
        step += 8
        return [row["state"] for row in stragglers(server)] == states

    wait_until(is_said, what=f"stragglers {states}")
    return step


def test_a_slow_stream_is_named_and_its_end_is_told(server):
    send(server, 0, 200, 1.2)
    server.wait_for_points("llama", "step_time", 200)
    assert not stragglers(server)
    step = wait_for_state(server, ["open"], 200, 1.5)
    row, = stragglers(server)
    assert (row["stream"], row["metric"], row["severity"]) == (SLOW, "step_time", "warning")
    evidence = row["evidence"]
    assert abs(1 / evidence["expected"] - 1.2) < 0.02 and 1.4 < 1 / evidence["value"] < 1.6 and evidence["score"] < -6
    server.restart()
    step = wait_for_state(server, ["open"], step, 1.5)
    wait_for_state(server, ["recovered"], step, 1.2)
