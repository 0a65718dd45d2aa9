"""What jobs are ranked by comes of all points that count, however they came and were sealed in between."""

import random
import statistics

from smserver import wait_until

LAST = 20


def expected(streams):
    """The best and its first step in the order of the streams; the median of the last 1 % of the steps, or of the last points."""
    points = [point for stream in streams for point in stream]
    best = min(value for _, value in points)
    first, last = min(stream[0][0] for stream in streams), max(stream[-1][0] for stream in streams)
    end = [value for step, value in points if step >= last - (last - first) // 100]
    if len(end) < LAST:
        end = [value for _, value in sorted(points, key=lambda point: point[0])[-LAST:]]
    return best, next(step for step, value in points if value == best), statistics.median(end)


def ranked(server):
    fields = server.get("/api/v1/jobs?q=name=j&fields=loss.best,loss.best_step,loss.final").body["jobs"][0]["fields"]
    return tuple(fields.get(f"loss.{name}") for name in ("best", "best_step", "final"))


def send(server, stream, points):
    server.send("j", [f"step: {step} loss: {value}" for step, value in points], stream=stream)


def wait_for(server, streams):
    wanted = expected(streams)

    def is_ranked():
        assert ranked(server) == wanted
        return True

    wait_until(is_ranked, what="the ranking")


def test_rankings_follow_points_as_they_come_are_sealed_and_are_superseded(make_server):
    server, noise = make_server("--seal-age", "100ms", "--seal-bytes", "64KiB"), random.Random(3)
    one, two = [], []

    def loss(step):
        return round(3 - step / 50_000 + noise.randint(0, 400) / 1000, 3)  # the best comes up again

    def grow(points, count, name):
        more = [(step, loss(step)) for step in range(len(points), len(points) + count)]
        points += more
        send(server, name, more)

    for count in (300, 3_000, 9_000, 12_000):
        grow(one, count, "algo-1")
        grow(two, count, "algo-2")
        wait_for(server, (one, two))
    two.append((len(two), 0.001))
    send(server, "algo-2", two[-1:])
    grow(one, 16_000, "algo-1")
    grow(two, 2_000, "algo-2")
    wait_for(server, (one, two))
    wait_until(lambda: server.figure("sealed_points_total") >= len(one) + len(two), what="all points to be sealed")
    grow(one, 20_000, "algo-1")  # a quarter more than were ranked, at least: so are those below
    wait_for(server, (one, two))
    two = two[:20_000]  # a restart takes the best away, which is sealed
    grow(two, 40_000, "algo-2")
    wait_for(server, (one, two))
    server.kill()
    server.start()
    grow(one, 40_000, "algo-1")
    wait_for(server, (one, two))
