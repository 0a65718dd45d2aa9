"""A webhook's other end, which answers as a test says."""

import http.server
import json
import threading
import time

from smserver import PATIENCE_S


class Receiver:
    """`answers` are those of the next requests, then 204: a status, or a function of the handler."""

    def __init__(self, port=0):
        self.calls, self.answers, self.arrived, self.is_closed = [], [], threading.Condition(), threading.Event()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with receiver.arrived:
                    answer = receiver.answers.pop(0) if receiver.answers else 204
                    receiver.calls.append((dict(self.headers), body, time.time()))
                    receiver.paths.append(self.path)
                    receiver.arrived.notify_all()
                if callable(answer):
                    answer(self)
                    return
                self.send_response(answer)
                self.end_headers()

            def log_message(self, *arguments):
                pass

        class Quiet(http.server.ThreadingHTTPServer):
            def handle_error(self, request, address):
                """The server under test may be killed, or give up, at any moment."""

        self.paths = []
        self.server = Quiet(("127.0.0.1", port), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.port = self.server.server_port
        self.url = f"http://127.0.0.1:{self.port}/hook"

    def hang(self, handler):
        """An answer: none, until the test is over."""
        self.is_closed.wait()

    def wait_for(self, count, timeout=PATIENCE_S):
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.calls) >= count, timeout), f"{len(self.calls)} of {count} calls came"
            return self.calls[:count]

    def messages(self):
        with self.arrived:
            return [json.loads(body) for _, body, _ in self.calls]

    def types(self):
        return [message["type"] for message in self.messages()]

    def close(self):
        self.is_closed.set()
        self.server.shutdown()
        self.server.server_close()
