"""Expressions and queries that cost much: a budget ends them, a client that goes away does within 100 ms, and nobody else waits."""

import http.client
import time
import urllib.parse

from attack import attack
from smserver import wait_until

OPTIONS = ("--seal-age", "100ms", "--seal-bytes", "64KiB", "--rate-cpu-ms", "0")


def made(chance):
    """A hopeless expression: repetitions of repetitions of what overlaps, and at its end what is nowhere."""
    atoms = ["a", "[ab]", ".", "\\w", "[^y]", "(?:a|aa)", "(a)", "a?", "(?=a)", "\\b", "(?<=a)", "x*", "(?i:A)", "\\1?"]
    repeats = ["*", "+", "{1,50}", "{0,1000}", "*?", "+?", "?"]
    text = "".join(chance.choice(atoms) + chance.choice(repeats) for _ in range(chance.randrange(1, 5)))
    for _ in range(chance.randrange(3)):
        text = f"({text}){chance.choice(repeats)}" + (chance.choice(atoms) if chance.random() < 0.5 else "")
    return text + chance.choice(["b=", "[^a]y{3}", "$z", "(?!a)q", "\\1b=", "=b"])


def fill(server):
    for job, lines in (("many", ["a" * 2000 + " b=y"] * 1000), ("long", ["a" * 900000 + " b=y"])):
        server.send(job, lines)


def path(job, pattern):
    return f"/api/v1/jobs/{job}/logs/search?" + urllib.parse.urlencode({"q": pattern, "regex": "true"})


@attack("searching", "no search takes more than its budget", "--search-cpu-ms", "200", *OPTIONS)
def expressions_that_explode(fight):
    fill(fight.server)
    worst = 0
    while fight.goes_on(12):
        pattern = made(fight.chance)
        for job in ("many", "long"):
            began = time.monotonic()
            reply = fight.server.get(path(job, pattern))
            took = time.monotonic() - began
            assert reply.status in (200, 400), (pattern, reply)
            worst = max(worst, took)
            assert took < 4, (pattern, job, took)
    return f"longest {1000 * worst:.0f} ms at a budget of 200"


@attack("searching", "it ends within 100 ms when its client goes", "--search-cpu-ms", "600000", *OPTIONS)
def clients_that_go_away(fight):
    fill(fight.server)
    worst = 0
    while fight.goes_on(6):
        pattern, job = fight.chance.choice(["(a+)+b=", "(a|aa)+$b", "(*NO_JIT)(a+)+b="]), "many"
        connection = fight.connect()
        connection.sendall(f"GET {path(job, pattern)} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        wait_until(lambda: fight.server.figure("slow_requests") == 1, what="the search")
        began = time.monotonic()
        connection.close()
        wait_until(lambda: fight.server.figure("slow_requests") == 0, what=f"the end of {pattern} in {job}")
        worst = max(worst, time.monotonic() - began)
    assert worst < 1, f"{1000 * worst:.0f} ms"
    return f"longest {1000 * worst:.0f} ms from the client's end to the search's"


@attack("searching", "cheap reads are quick beside 16 searches, and SIGTERM is", "--search-cpu-ms", "600000", *OPTIONS)
def sixteen_at_once(fight):
    fill(fight.server)
    held = []
    for i in range(16):
        held.append(fight.connect())
        held[-1].sendall(f"GET {path('many' if i % 2 else 'long', '(a+)+b=')} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    wait_until(lambda: fight.server.figure("slow_requests") == 16, what="the searches")
    connection, times = http.client.HTTPConnection("127.0.0.1", fight.server.port, timeout=60), []
    while fight.goes_on(100):
        began = time.monotonic()
        connection.request("GET", "/api/v1/jobs/many")
        assert connection.getresponse().read()
        times.append(time.monotonic() - began)
    connection.close()
    p99 = sorted(times)[int(len(times) * 0.99) - 1]
    assert p99 < 0.5, p99
    began = time.monotonic()
    fight.server.stop()
    took = time.monotonic() - began
    assert took < 4, f"SIGTERM took {took:.1f} s"
    for one in held:
        one.close()
    return f"p99 {1000 * p99:.0f} ms; SIGTERM {took:.1f} s"
