"""CBOR as rpc-v2-cbor has it, made and read by hand: what is sent to the server must not come from what it is tested with."""

import struct


class Time(float):
    """Seconds since 1970: tag 1 over a double, or over an integer where it is whole and `as_integer`."""

    as_integer = False


class Half(float):
    pass


class Single(float):
    pass


class Endless(list):
    """A list or, of pairs, a map that says its end instead of its length."""

    is_map = False


def head(major, number):
    for bits, code, limit in ((0, None, 24), (8, 24, 1 << 8), (16, 25, 1 << 16), (32, 26, 1 << 32), (64, 27, 1 << 64)):
        if number < limit:
            return bytes([major << 5 | (number if code is None else code)]) + (number.to_bytes(bits // 8, "big") if bits else b"")
    raise ValueError(number)


def dumps(value):
    if value is None or isinstance(value, bool):
        return {None: b"\xf6", True: b"\xf5", False: b"\xf4"}[value]
    if isinstance(value, Time):
        return b"\xc1" + (dumps(int(value)) if value.as_integer else struct.pack(">Bd", 0xFB, value))
    if isinstance(value, Half):
        return struct.pack(">Be", 0xF9, value)
    if isinstance(value, Single):
        return struct.pack(">Bf", 0xFA, value)
    if isinstance(value, float):
        return struct.pack(">Bd", 0xFB, value)
    if isinstance(value, int):
        return head(0, value) if value >= 0 else head(1, -1 - value)
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    if isinstance(value, Endless):
        items = [part for pair in value for part in pair] if value.is_map else value
        return (b"\xbf" if value.is_map else b"\x9f") + b"".join(map(dumps, items)) + b"\xff"
    if isinstance(value, dict):
        return head(5, len(value)) + b"".join(dumps(part) for pair in value.items() for part in pair)
    return head(4, len(value)) + b"".join(map(dumps, value))


def loads(data):
    value, rest = _item(data)
    assert not rest, rest
    return value


def _item(data):
    major, low, rest = data[0] >> 5, data[0] & 31, data[1:]
    if major == 7:
        if low in (20, 21, 22):
            return {20: False, 21: True, 22: None}[low], rest
        assert low == 27, f"{low}: doubles are of eight bytes"
        return struct.unpack(">d", rest[:8])[0], rest[8:]
    size = {24: 1, 25: 2, 26: 4, 27: 8}.get(low, 0)
    number = int.from_bytes(rest[:size], "big") if size else low
    rest = rest[size:]
    if major in (0, 1):
        return number if major == 0 else -1 - number, rest
    if major == 3:
        return rest[:number].decode(), rest[number:]
    if major == 6:
        assert number == 1, number
        value, rest = _item(rest)
        return Time(value), rest
    assert major in (4, 5), major
    items = []
    for _ in range(number * (major - 3)):
        item, rest = _item(rest)
        items.append(item)
    return (items if major == 4 else dict(zip(items[::2], items[1::2]))), rest
