"""TensorBoard's event files, as far as tests write them."""

import struct


def _crc_of_byte(crc):
    for _ in range(8):
        crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc


CRC_TABLE = [_crc_of_byte(byte) for byte in range(256)]


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(number):
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def message(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def record(data):
    head = struct.pack("<Q", len(data))
    return head + struct.pack("<I", crc32c(head)) + data + struct.pack("<I", crc32c(data))


def event(step, seconds, *values):
    return record(b"\x09" + struct.pack("<d", seconds) + b"\x10" + varint(step) + message(5, b"".join(message(1, value) for value in values)))


def simple(tag, value):
    return message(1, tag.encode()) + b"\x15" + struct.pack("<f", value)


def tensor(tag, value):
    """A scalar as TensorFlow 2 writes it."""
    return message(1, tag.encode()) + message(8, b"\x08\x01" + message(2, b"") + message(4, struct.pack("<f", value)))


def _setting(value):
    """google.protobuf.Value: number_value 2 (double), string_value 3, bool_value 4."""
    if isinstance(value, bool):
        return b"\x20" + varint(int(value))
    return message(3, value.encode()) if isinstance(value, str) else b"\x11" + struct.pack("<d", value)


def hparams(settings):
    """What add_hparams of torch.utils.tensorboard writes: no scalar, but metadata of the plugin."""
    entries = b"".join(message(1, message(1, key.encode()) + message(2, _setting(value)))  # SessionStartInfo.hparams, a map: key 1, value 2
                       for key, value in settings.items())
    content = message(3, entries)  # HParamsPluginData.session_start_info
    plugin_data = message(1, b"hparams") + message(2, content)  # SummaryMetadata.PluginData: plugin_name, content
    return message(1, b"_hparams_/session_start_info") + message(9, message(1, plugin_data))  # Summary.Value: tag, metadata
