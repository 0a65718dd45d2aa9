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
    """records: (ns, body) or (ns, body, observed ns) or (ns, body, None, what else the record has); body None: none."""
    binary, text = attributes(resource, 1)
    message, items = b"", []
    for ns, body, *observed in records:
        value = any_value(body) if body is not None else (b"", None)
        more = observed.pop() if len(observed) == 2 else {}
        number, severity = more.get("severity", (9, "INFO"))
        record = fixed64(1, ns) + field(2, number) + field(3, severity) + (field(5, value[0]) if body is not None else b"")
        item = {"timeUnixNano": str(ns), "severityNumber": number, "severityText": severity, "unknown": [{}]}
        if body is not None:
            item["body"] = value[1]
        if "attributes" in more:
            packed, item["attributes"] = attributes(more["attributes"], 6)
            record += packed
        if observed and observed[0]:
            record, item["observedTimeUnixNano"] = record + fixed64(11, observed[0]), observed[0]
        message += field(2, record)
        items.append(item)
    return (field(1, field(1, binary) + field(2, field(1, b"") + message)),
        {"resourceLogs": [{"resource": {"attributes": text}, "scopeLogs": [{"scope": {}, "logRecords": items}]}]})


KINDS = {"gauge": 5, "sum": 7, "histogram": 9, "exponentialHistogram": 10, "summary": 11}
LABELS = {"gauge": 7, "sum": 7, "histogram": 9, "exponentialHistogram": 1, "summary": 7}


def metric(kind, name, points, unit="", temporality=None):
    """points: (ns, value, attributes) or (ns, value, attributes, start ns). Of a distribution value is (count, sum), sum None: none.
    temporality: 1 delta, 2 cumulative."""
    message, items = b"", []
    for ns, value, labels, *start in points:
        binary, text = attributes(labels, LABELS[kind])
        point, item = binary + fixed64(3, ns), {"timeUnixNano": str(ns), "attributes": text}
        if start:
            point, item["startTimeUnixNano"] = point + fixed64(2, start[0]), str(start[0])
        if kind in ("gauge", "sum"):
            point += fixed64(6, value) if isinstance(value, int) else field(4, value)
            item |= {"asInt": str(value)} if isinstance(value, int) else {"asDouble": value if value == value else "NaN"}
        else:
            point += fixed64(4, value[0])
            item["count"] = str(value[0])
            if value[1] is not None:
                point, item["sum"] = point + field(5, float(value[1])), value[1]
        if kind == "histogram":
            point, item["bucketCounts"] = point + field(6, b"\0" * 8), ["1"]
        message += field(1, point)
        items.append(item)
    said = field(2, temporality) if temporality else b""
    more = {"aggregationTemporality": temporality} if temporality else {}
    return (field(1, name) + field(3, unit) + field(KINDS[kind], message + said),
        {kind: {"dataPoints": items, **more}, "name": name, "unit": unit})


def metrics(resource, *all_metrics):
    binary, text = attributes(resource, 1)
    return (field(1, field(1, binary) + field(2, b"".join(field(2, one) for one, _ in all_metrics))),
        {"resourceMetrics": [{"scopeMetrics": [{"metrics": [one for _, one in all_metrics]}], "resource": {"attributes": text}}]})


def traces(resource, spans):
    """spans: dicts with id, name, start and end (ns); parent and attributes where it has them."""
    binary, text = attributes(resource, 1)
    message, items = b"", []
    for span in spans:
        packed, said = attributes(span.get("attributes", {}), 9)
        of, inside = span["id"].to_bytes(8, "big"), span.get("parent", 0)
        record = field(1, b"t" * 16) + field(2, of) + (field(4, inside.to_bytes(8, "big")) if inside else b"")
        record += field(5, span["name"]) + field(6, 1) + fixed64(7, span["start"]) + fixed64(8, span["end"]) + packed
        message += field(2, record)
        items.append({"traceId": "74" * 16, "spanId": of.hex(), "parentSpanId": inside.to_bytes(8, "big").hex() if inside else "",
            "name": span["name"], "kind": 1, "startTimeUnixNano": str(span["start"]), "endTimeUnixNano": span["end"], "attributes": said})
    return (field(1, field(1, binary) + field(2, field(1, b"") + message)),
        {"resourceSpans": [{"scopeSpans": [{"spans": items}], "resource": {"attributes": text}}]})
