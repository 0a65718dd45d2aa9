"""
Lines that no trainer should print, through the real server: what is read of them, what is said of the rest, how long it takes. Time is
a ratio to plain lines of the same size in the same server: machines differ, and sanitizers make all of it slower.
"""

import random

import pytest

from smserver import Server, quote

STEPS = range(1, 41)
LINE = 4 << 20
# A KB of plain lines costs about 27 us in a release build; none may cost more than 50, and here twice that for busy machines.
RATIO_MAX = 4


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    one = Server(tmp_path_factory.mktemp("lines")).start()
    yield one
    one.close()


def send(server, job, body):
    reply = server.post(f"/api/v1/logs?job={quote(job)}&stream=s", body)
    assert reply.status == 200, reply
    server.wait_for_extraction()


def metrics(server, job):
    return server.get(f"/api/v1/jobs/{quote(job)}/metrics").body


def read(server, job, lines):
    """What is read of the lines: each series with its points, and what the health of the definitions says of the rest."""
    send(server, job, "".join(line + "\n" for line in lines) if not isinstance(lines, bytes) else lines)
    told = metrics(server, job)
    health = {name: sum(row.get(name, 0) for row in told["definitions"]) for name in ("limited", "not_numeric", "without_step")}
    return {row["metric"]: row["count"] for row in told["series"]}, {name: count for name, count in health.items() if count}


def plain():
    return [f"step {i} loss: {2 + 1 / i:.4f}" for i in STEPS]


NUMBERS = {
    "too large": ("step {i} loss: 1e999 lr: 1e-{i}", {"train:loss": 40, "train:lr": 40}, {}),
    "thousands": ("step {i} loss: 1,234.{i}", {"train:loss": 40}, {}),
    "a comma for the point, with thousands": ("step {i} loss: 1.234,{i} lr: 1e-{i}", {"train:lr": 40}, {"not_numeric": 40}),
    "a comma for the point": ("step {i} loss: 0,{i:03} lr: 1e-{i}", {"train:lr": 40}, {"not_numeric": 40}),
    "hexadecimal": ("step {i} loss: 0x{i:x}f lr: 1e-{i}", {"train:lr": 40}, {"not_numeric": 40}),
    "addresses": ("step {i} lr: 1e-{i} ptr=0x{i:x} addr: 0x7f{i:x}", {"train:lr": 40}, {}),
    "a date behind a counter": ("epoch 01/{i}/2024 loss: 0.{i:03}", {"train:loss": 40}, {"without_step": 40}),
    "an ISO date behind a counter": ("step: 2024-01-{i} loss: 0.{i:03}", {"train:loss": 40}, {"without_step": 40}),
    "a time behind a counter": ("iteration 12:{i}:33 loss: 0.{i:03}", {"train:loss": 40}, {"without_step": 40}),
    "ends of Windows": ("step {i} loss: 0.{i:03}\r", {"train:loss": 40}, {}),
    "NULs at the end": ("step {i} loss: 0.{i:03}\0\0", {"train:loss": 40}, {}),
    "NULs in a name": ("step {i} lo\0ss: 0.{i:03}", {}, {}),
}


@pytest.mark.parametrize("what", NUMBERS)
def test_numbers_are_read_or_said(server, what):
    form, series, health = NUMBERS[what]
    assert read(server, what, [form.format(i=i) for i in STEPS]) == (series, health)


@pytest.mark.parametrize("order", ("le", "be"))
def test_a_log_in_utf_16_is_read(server, order):
    text = "\ufeff" + "\r\n".join(plain()) + "\r\n"
    assert read(server, f"utf-16-{order}", text.encode(f"utf-16-{order}")) == ({"train:loss": 40}, {})
    assert server.series(f"utf-16-{order}", "train:loss", "s")["last"] == 2.025


def noise(seed, size):
    return random.Random(seed).randbytes(size)


def test_noise_gives_nothing(server):
    for name, body in {"noise": noise(1, 200_000), "program": open(server.bin("sm-server"), "rb").read(200_000), "nuls": b"\0" * 100_000}.items():
        assert read(server, name, body + b"\n") == ({}, {}), name


def test_noise_between_lines_harms_none(server):
    body = b"".join(line.encode() + b"\n" + noise(i, 200).replace(b"\n", b" ").replace(b"\r", b" ") + b"\n" for i, line in enumerate(plain()))
    series, _ = read(server, "between", body)
    assert series == {"train:loss": 40}


def test_names_of_a_line_are_bounded_and_the_rest_is_said(server):
    def line(step):
        return f"step {step} loss: 2.{step} " + " ".join(f"acc_{i}: {i}.5" for i in range(10_000))
    series, health = read(server, "wide", [line(step) for step in range(1, 4)])
    assert series["train:loss"] == 3 and 100 < len(series) <= 512
    assert health == {"limited": 3}


def test_names_over_lines_are_bounded_and_the_rest_is_said(server):
    refused = server.figure("refused_points_total")
    lines = ["step 1 loss: 2.5"] + [f"step 2 acc_{i}: {i}.5" for i in range(10_000)] + ["step 3 loss: 2.25"]
    series, health = read(server, "many", lines)
    assert series["train:loss"] == 2 and len(series) == 1000
    assert 5000 < health["limited"] < 10_000
    assert server.figure("refused_points_total") - refused + health["limited"] + 999 == 10_000


def fill(text, size=LINE):
    return (text * (size // len(text) + 1))[:size - 1] + "\n"


def columns(count, rows):
    return "".join("|".join([str(row) if row else "step"] + [f"{row}.{i}" if row else f"loss{i}" for i in range(count)]) + "\n" for row in range(rows))


# Each as large as they come; the second: how many series it may give.
LARGE = {
    "pairs": (lambda: "step 1 " + fill("loss: 2.5, acc: 0.5, ", LINE - 8), 2), "names": (lambda: "step 1 loss: 2.5 " + "".join(f"acc_{i}: 1.5 " for i in range(200_000))[:LINE - 32] + "\n", 512),
    "names over lines": (lambda: "step 1 loss: 2.5\n" + "".join(f"step {i} acc_{i % 10_000}: {i}.5\n" for i in range(40_000)), 1000),
    "brackets": (lambda: fill("["), 0), "bars": (lambda: fill("|"), 0), "bars and blanks": (lambda: fill("| "), 0), "braces": (lambda: fill("{"), 0),
    "nested": (lambda: fill("{'a':"), 0), "nested JSON": (lambda: fill('{"loss":'), 0), "blanks": (lambda: fill(" "), 0), "carriage returns": (lambda: fill("a\r"), 0),
    "escapes": (lambda: fill("\x1b["), 0), "commands": (lambda: fill("\x1b]"), 0), "one word": (lambda: fill("a"), 0), "digits": (lambda: fill("1"), 0), "rules": (lambda: fill("-"), 0), "NULs": (lambda: fill("\0"), 0),
    "columns": (lambda: columns(5000, 40), 0),
    "headers": (lambda: "".join(f"| epoch | loss_{i} | acc_{i} |\n" for i in range(100_000)), 0),
    "headers and rows": (lambda: "".join(f"| epoch | loss_{i} | acc_{i} |\n| {i} | {i}.5 | 0.5 |\n" for i in range(20_000)), 1000),
}


def cost_us_a_kb(server, job, body):
    """Of the processors, for extraction and all around it."""
    before = server.processor_s()
    send(server, job, body)
    return (server.processor_s() - before) * 1e6 / (len(body) / 1024)


@pytest.fixture(scope="module")
def plain_cost(server):
    body = "".join(f"step {i} loss: {2 + 1 / i:.6f} lr: 1e-4\n" for i in range(1, 20_001))
    return min(cost_us_a_kb(server, f"plain-{turn}", body) for turn in range(2))


@pytest.mark.parametrize("what", LARGE)
def test_time_and_series_are_bounded(server, plain_cost, what):
    make, most = LARGE[what]
    assert cost_us_a_kb(server, what, make()) < RATIO_MAX * plain_cost
    series = metrics(server, what)["series"]
    assert len(series) <= most, [row["metric"] for row in series][:10]
