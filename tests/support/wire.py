"""Bytes that shippers send, made by hand: protobuf messages, snappy blocks, Loki's push. Standard library only."""

import struct


def varint(number):
    out = bytearray()
    while True:
        number, low = number >> 7, number & 0x7F
        out.append(low | (0x80 if number else 0))
        if not number:
            return bytes(out)


def field(number, value):
    """bytes and str: length-delimited; int: a varint; float: a double."""
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value & (1 << 64) - 1)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def fixed64(number, value):
    return varint(number << 3 | 1) + struct.pack("<Q", value & (1 << 64) - 1)


def snappy(plain):
    """A block of literals alone: as long as its content, and every decoder must take it."""
    out = bytearray(varint(len(plain)))
    for at in range(0, len(plain), 1 << 16):
        piece = plain[at:at + (1 << 16)]
        out += bytes([61 << 2]) + struct.pack("<H", len(piece) - 1) + piece
    return bytes(out)


def loki_labels(labels):
    quoted = (f'{name}="' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' for name, value in labels.items())
    return "{" + ", ".join(quoted) + "}"


def loki_push(*streams):
    """Each a pair: labels (a dict, or the text), and entries (ns, line) or (ns, line, metadata). The message, not packed."""
    out = b""
    for labels, entries in streams:
        message = field(1, labels if isinstance(labels, str) else loki_labels(labels))
        for ns, line, *metadata in entries:
            time = field(1, ns // 10**9) + field(2, ns % 10**9)
            pairs = [field(3, field(1, name) + field(2, value)) for one in metadata for name, value in one.items()]
            message += field(2, field(1, time) + field(2, line) + b"".join(pairs))
        out += field(1, message)
    return out


def loki_json(*streams):
    return {"streams": [{"stream": labels, "values": [[str(ns), *line] for ns, *line in entries]} for labels, entries in streams]}


def remote_write(*series):
    """Prometheus' WriteRequest: each a pair of labels (with __name__) and samples (ms, value). The message, not packed."""
    out = b""
    for labels, samples in series:
        message = b"".join(field(1, field(1, name) + field(2, value)) for name, value in sorted(labels.items()))
        message += b"".join(field(2, (value if isinstance(value, bytes) else field(1, float(value))) + field(2, ms)) for ms, value in samples)
        out += field(1, message)
    return out
