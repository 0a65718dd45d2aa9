"""The network between a server and its database: a TCP proxy that cuts, delays, or loses what is sent. Standard library only."""

import contextlib
import select
import socket
import threading
import time


class Network:
    """with Network(cluster) as net: net.url. Only a server that goes this way has these troubles."""

    def __init__(self, cluster):
        self.path = f"{cluster.folder}/.s.PGSQL.5432"
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"postgresql://sm@127.0.0.1:{self.listener.getsockname()[1]}/postgres?sslmode=disable"
        self.delay_s, self.passes = 0.0, threading.Event()
        self.passes.set()
        self.pairs, self.is_over = [], False

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.passes.set()
        self.listener.close()
        self.cut()

    def cut(self):
        """All connections, at once; new ones are taken."""
        for pair in self.pairs:
            for one in pair:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
        self.pairs = []

    def lose(self):
        """Nothing arrives any more, and nobody is told."""
        self.passes.clear()

    def mend(self):
        self.passes.set()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client = self.listener.accept()[0]
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        server = socket.socket(socket.AF_UNIX)
        self.passes.wait()
        try:
            server.connect(self.path)
        except OSError:
            client.close()
            return
        self.pairs.append((client, server))
        for source, target in ((client, server), (server, client)):
            threading.Thread(target=self._copy, args=(source, target), daemon=True).start()

    def _copy(self, source, target):
        with contextlib.suppress(OSError, ValueError):
            while data := source.recv(65536):
                arrival = time.monotonic() + self.delay_s
                self.passes.wait()
                if self.is_over:
                    break
                select.select([], [], [], max(0.0, arrival - time.monotonic()))
                target.sendall(data)
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
