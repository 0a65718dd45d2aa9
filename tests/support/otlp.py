"""OTLP requests in both forms, made by hand: (protobuf, what json.dumps takes). Standard library only."""

from wire import field, fixed64


def any_value(value):
    """AnyValue in both forms: (bytes, JSON)."""
    if isinstance(value, bool):
        return field(2, int(value)), {"boolValue": value}
    if isinstance(value, int):
        return field(3, value), {"intValue": str(value)}
    if isinstance(value, float):
        return field(4, value), {"doubleValue": value}
    if isinstance(value, list):
        parts = [any_value(one) for one in value]
        return field(5, b"".join(field(1, one) for one, _ in parts)), {"arrayValue": {"values": [one for _, one in parts]}}
    if isinstance(value, dict):
        binary, text = attributes(value, 1)
        return field(6, binary), {"kvlistValue": {"values": text}}
    return field(1, value), {"stringValue": value}


def attributes(values, number):
    parts = [(key, any_value(value)) for key, value in values.items()]
    return (b"".join(field(number, field(1, key) + field(2, value[0])) for key, value in parts),
        [{"key": key, "value": value[1]} for key, value in parts])


def logs(resource, records):
    """records: (ns, body) or (ns, body, observed ns); body None: none."""
    binary, text = attributes(resource, 1)
    message, items = b"", []
    for ns, body, *observed in records:
        value = any_value(body) if body is not None else (b"", None)
        record = fixed64(1, ns) + field(3, "INFO") + (field(5, value[0]) if body is not None else b"")
        item = {"timeUnixNano": str(ns), "severityNumber": 9, "severityText": "INFO", "unknown": [{}]}
        if body is not None:
            item["body"] = value[1]
        if observed:
            record, item["observedTimeUnixNano"] = record + fixed64(11, observed[0]), observed[0]
        message += field(2, record)
        items.append(item)
    return (field(1, field(1, binary) + field(2, field(1, b"") + message)),
        {"resourceLogs": [{"resource": {"attributes": text}, "scopeLogs": [{"scope": {}, "logRecords": items}]}]})


NUMBERS = {"gauge": 5, "sum": 7}


def metric(kind, name, points, unit=""):
    """points: (ns, value, attributes). kind histogram: value is (count, sum)."""
    message, items = b"", []
    for ns, value, labels in points:
        if kind in NUMBERS:
            binary, text = attributes(labels, 7)
            point = binary + fixed64(3, ns) + (fixed64(6, value) if isinstance(value, int) else field(4, value))
            item = {"asInt": str(value)} if isinstance(value, int) else {"asDouble": value if value == value else "NaN"}
        else:
            binary, text = attributes(labels, 9)
            point = binary + fixed64(3, ns) + fixed64(4, value[0]) + field(5, float(value[1])) + field(6, b"\0" * 8)
            item = {"count": str(value[0]), "sum": value[1], "bucketCounts": ["1"]}
        message += field(1, point)
        items.append({**item, "timeUnixNano": str(ns), "attributes": text})
    return (field(1, name) + field(3, unit) + field(NUMBERS.get(kind, 9), message),
        {kind: {"dataPoints": items}, "name": name, "unit": unit})


def metrics(resource, *all_metrics):
    binary, text = attributes(resource, 1)
    return (field(1, field(1, binary) + field(2, b"".join(field(2, one) for one, _ in all_metrics))),
        {"resourceMetrics": [{"scopeMetrics": [{"metrics": [one for _, one in all_metrics]}], "resource": {"attributes": text}}]})
