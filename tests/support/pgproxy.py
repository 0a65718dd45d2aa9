"""A proxy before a PostgreSQL server that changes what the server says while a session starts."""

import contextlib
import socket
import struct
import threading


class Proxy:
    """with Proxy(cluster, change) as proxy: proxy.url. change(kind, body) returns the body of a message of the start as the client gets it."""

    def __init__(self, cluster, change):
        self.cluster, self.change = cluster, change
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"postgresql://sm@127.0.0.1:{self.listener.getsockname()[1]}/postgres?sslmode=disable"
        self.open = []

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        for one in (self.listener, *self.open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client = self.listener.accept()[0]
                server = socket.socket(socket.AF_UNIX)
                server.connect(f"{self.cluster.folder}/.s.PGSQL.5432")
                self.open += [client, server]
                threading.Thread(target=self._copy, args=(client, server), daemon=True).start()
                threading.Thread(target=self._answer, args=(server, client), daemon=True).start()

    @staticmethod
    def _copy(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _answer(self, server, client):
        with contextlib.suppress(OSError), server.makefile("rb", buffering=0) as messages:
            kind = None
            while kind != b"Z":  # ready for queries: the start is over
                kind, length = messages.read(1), struct.unpack("!I", messages.read(4))[0]
                body = self.change(kind, messages.read(length - 4) if length > 4 else b"")
                client.sendall(kind + struct.pack("!I", len(body) + 4) + body)
        self._copy(server, client)
