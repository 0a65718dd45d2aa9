"""What all attacks share: their list, and what each is given. tests/hostile/run carries them out."""

import contextlib
import random
import socket
import time

from smserver import Server

ATTACKS = []


def attack(room, held, *options, kind=Server):
    """Of the room (a row of the table each); held: what must be true, in words; options: of the server, of this kind, that it is made against."""

    def note(function):
        ATTACKS.append((room, function.__name__.replace("_", " "), held, options, kind, function))
        return function

    return note


class LeftOut(Exception):
    """What an attack needs is not here: it says nothing about the server."""


class Fight:
    """A server under attack, the seconds that there are, and what chance decides: the seed is told with what does not hold."""

    def __init__(self, server, seconds, seed, tries=0):
        self.server, self.seed, self.tries = server, seed, tries
        self.chance = random.Random(seed)
        self.seconds, self.deadline = seconds, time.monotonic() + seconds
        self.tried = 0

    def goes_on(self, at_least=20):
        """Another try: until the time is up, and so often in any case (a third of it in a run of seconds)."""
        self.tried += 1
        return self.tried <= max(self.tries, at_least if self.seconds >= 5 else max(1, at_least // 3)) or time.monotonic() < self.deadline

    def connect(self, source="127.0.0.1", timeout=60):
        return socket.create_connection(("127.0.0.1", self.server.port), timeout, source_address=(source, 0))

    def raw(self, data, patience=0.5):
        """All that comes back until the server closes, or says nothing for so long."""
        answer = b""
        with self.connect() as connection, contextlib.suppress(TimeoutError, OSError):
            connection.settimeout(patience)
            connection.sendall(data)
            while part := connection.recv(65536):
                answer += part
        return answer

    def lives(self):
        assert self.server.get("/healthz").status == 200, "the server does not answer"
