"""Ports for servers that are started again: below those that the system gives to whoever asks for any, and nobody else's while they are down."""

import contextlib
import fcntl
import os
import pathlib
import random
import socket

FIRST, LAST = 20000, 32000  # net.ipv4.ip_local_port_range begins at 32768


class Port:
    """`number` is kept from all other tests on this machine until close()."""

    def __init__(self):
        folder = pathlib.Path(f"/tmp/sm-ports-{os.getuid()}")
        folder.mkdir(exist_ok=True)
        for number in random.sample(range(FIRST, LAST), 1000):
            self.lock = os.open(folder / str(number), os.O_CREAT | os.O_RDWR, 0o600)
            with contextlib.suppress(OSError), socket.socket() as probe:
                fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", number))
                self.number = number
                return
            os.close(self.lock)
        raise AssertionError(f"no port from {FIRST} to {LAST} is free")

    def close(self):
        os.close(self.lock)
