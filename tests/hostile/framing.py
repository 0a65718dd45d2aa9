"""Requests whose end two parsers may see in different places (RFC 9112, 11.2): what one takes for a body must not become a request."""

import re

from attack import attack

BLANKS = ["", " ", "\t", "  ", "\x0b", "\x0c", "\r", "\0"]
LENGTHS = ["{n}", "+{n}", "-{n}", "0{n}", "0x{n:x}", "{n}, {n}", "{n},0", "{n} 0", "{n}.0", "{n}e0", "'{n}'", "18446744073709551616{n}", "{n}\0", "{n};", "", "\u0661"]
ENCODINGS = ["chunked", "Chunked", "chunked, identity", "identity", "identity, chunked", "gzip, chunked", "chunked, chunked", "xchunked", "chunked;q=1", "'chunked'",
    "chunked\0", "chun\x0bked", "", ",", "chunked,"]
SIZES = ["{n:x}", "0x{n:x}", "+{n:x}", "-{n:x}", " {n:x}", "{n:x} ", "{n:x};a=b", "{n:x};a=\"\r\n\"", "0{n:x}", "00000000000000000000{n:x}", "1000000000000000{n:x}", "{n:x}\0", "{n:x}\n", "", "g"]


def smuggled(number):
    body = f'{{"TrainingJobName": "smuggled-{number}"}}'
    return f"POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"


def header(chance, name, value):
    """Mostly as it should be; else something at one of the places where parsers differ."""
    parts = [name, "", ":", " ", value, "", "\r\n"]
    way = chance.randrange(12)
    if way == 0:
        parts[1] = chance.choice(BLANKS)
    elif way == 1:
        parts[3] = chance.choice([*BLANKS, "\r\n ", "\r\n\t", "\n "])
    elif way == 2:
        parts[5] = chance.choice([*BLANKS, "\r\n x"])
    elif way == 3:
        parts[0] = chance.choice(BLANKS) + name
    elif way == 4:
        parts[6] = chance.choice(["\n", "\r", "\n\r", "\r\r\n", "\r\n\r"])
    elif way == 5:
        parts[0] = name.swapcase()
    return "".join(parts)


def is_plain(head):
    """Each line a header of RFC 9112 in its strictest reading, and one of them says where the body ends: then there is nothing to dispute."""
    lines = head.split("\r\n")[1:]
    if any(not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[ \t]*[\x21-\x7e]?(?:[\x20-\x7e\t]*[\x21-\x7e])?[ \t]*", line) for line in lines):
        return False
    framing = [line for line in lines if re.match("content-length:|transfer-encoding:", line, re.I)]
    return len(framing) == 0


def request(chance, number):
    """A first request in whose body, however that is said to end, the second stands."""
    inner = smuggled(number)
    target = chance.choice(["/api/v1/logs?job=framed&stream=s", "/healthz", "/api/v1/jobs", "/nothing", "/", "/api/v1/export?q=x"])
    head = f"{chance.choice(['POST', 'POST', 'POST', 'PUT', 'GET', 'OPTIONS', 'HEAD'])} {target} HTTP/1.{chance.choice('1110')}\r\nHost: localhost\r\n"
    is_chunked = chance.random() < 0.6
    body = inner
    if is_chunked:
        body = chance.choice(SIZES).format(n=len(inner)) + chance.choice(["\r\n", "\r\n", "\r\n", "\n"]) + inner + chance.choice(["\r\n", "\r\n", "\n", ""]) + "0\r\n\r\n"
    headers = []
    if not is_chunked or chance.random() < 0.5:
        headers.append(header(chance, "Content-Length", chance.choice(LENGTHS[:1] * 6 + LENGTHS).format(n=len(body))))
    if is_chunked or chance.random() < 0.3:
        headers.append(header(chance, "Transfer-Encoding", chance.choice(ENCODINGS[:1] * 6 + ENCODINGS)))
    if chance.random() < 0.3:
        headers.append(header(chance, "X-Other", "y"))
    chance.shuffle(headers)
    return head + "".join(headers) + "\r\n", body


@attack("framing", "no byte of a body becomes a request, no 5xx")
def bodies_that_hold_a_request(fight):
    server = fight.server
    while fight.goes_on(150):
        head, body = request(fight.chance, fight.tried)
        answer = fight.raw((head + body).encode("latin-1", "replace"), 0.15)
        for status in re.findall(rb"HTTP/1\.1 (\d+)", answer):
            assert int(status) < 500, (head, body, answer)
        if not is_plain(head.removesuffix("\r\n\r\n")):
            reply = server.get(f"/api/v1/jobs/smuggled-{fight.tried}")
            assert reply.status == 404, f"smuggled: {head + body!r}\n{answer!r}"
    fight.lives()


HOSTS = ["localhost:@evil", "localhost@evil", "evil", "localhost.evil", "evil:80@localhost", "localhost:80:80", "localhost:", "localhost:+80", "localhost: 80", "localhost/evil", "localhost?x", "localhost#x",
    "[::1", "[::1]@evil", "[::1]:x", "127.0.0.1.evil", "127.1", "0x7f.1", "localhost,evil", "localhost evil", "\\localhost", "localhost\\@evil", "%6cocalhost", "local\thost", "xn--localhost", "localhost.."]
GOOD = {"localhost:"}  # a port may be empty (RFC 3986, 3.2.3)


@attack("framing", "a Host that is none, or another, is refused")
def hosts(fight):
    while fight.goes_on(len(HOSTS) * 3):
        host = HOSTS[(fight.tried - 1) % len(HOSTS)]
        target = fight.chance.choice(["/api/v1/jobs", f"http://{host}/api/v1/jobs", "http://localhost/api/v1/jobs", f"http://localhost@{host}/api/v1/jobs"])
        answer = fight.raw(f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode(), 5)
        status = int(answer.split()[1]) if answer else 400
        assert status in ((200, 400) if host in GOOD else (400, 421)), (target, host, answer)
    fight.lives()


TARGETS = ["http://evil.example/api/v1/jobs", "http://localhost:1/api/v1/jobs", "HTTP://localhost/api/v1/jobs", "http:/localhost/api/v1/jobs", "http:localhost", "//evil/api/v1/jobs", "/\\evil", "http://", "http://localhost\\@evil/",
    "https://localhost/api/v1/jobs", "ws://localhost/", "*", "localhost:80", "?q", "#f", "/api/v1/jobs#f", "/%", "/%0", "/%zz", "/api/v1/jobs/%2e%2e/%2e%2e/etc/passwd", "/../../../etc/passwd", "/assets/../../etc/passwd",
    "/assets/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "/assets/..%5c..%5cetc", "/dl/../../etc/passwd", "/" + "a/" * 300, "/api/v1/jobs/" + "a" * 7000, "/api//v1//jobs", "/api/v1/jobs/.", "/api/v1/jobs/.."]


@attack("framing", "no file of the machine, no 5xx, no redirection elsewhere")
def targets(fight):
    while fight.goes_on(len(TARGETS)):
        target = TARGETS[(fight.tried - 1) % len(TARGETS)]
        if fight.tried > len(TARGETS):
            place = fight.chance.randrange(len(target))
            target = target[:place] + fight.chance.choice(["%2f", "%00", "..", "/", "\\", "%", "@", ":", "\x7f", "é"]) + target[place:]
        answer = fight.raw(f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode("latin-1"), 5)
        status = int(answer.split()[1]) if answer else 400
        assert status < 500 and b"root:" not in answer and not re.search(rb"(?i)\r\nlocation:[^\r]*evil", answer), (target, answer[:500])
        assert not target.startswith("http://evil.example") or status in (400, 421), (target, answer[:300])
    fight.lives()
