/*
 * Job: a form of the AWS query protocol -> JSON, which is what the operations read:
 *      MetricData.member.1.MetricName=loss&MetricData.member.1.Value=2.5 -> {"MetricData":[{"MetricName":"loss","Value":2.5}]}.
 *      All values of a form are texts: the operation's shape says which of them are numbers, booleans or empty lists; what is not
 *      what the shape wants stays a text, for the shape's check to refuse. Items of a list are in the order of their numbers,
 *      which may have gaps. Names come out in an order of their own, not in the form's.
 * Ownership: the caller's buffers. Threads: values.
 * Source: smithy.io/2.0/aws/protocols/aws-query-protocol.html
 */
#pragma once

#include "base/buf.h"
#include "model/shape.h"

enum { QUERY_FORM_MAX_DEPTH = 16, QUERY_FORM_MAX_PAIRS = 50000 };

/* The value of a parameter as it stands there, as for Action, whose values need no decoding; false: it is not there. */
bool query_form_find(struct span form, const char *name, struct span *value);

/* Appends to json. rules: the shape; NULL: all are texts. ERR_INVALID names the parameter; ERR_TOO_LARGE: more than json may hold,
 * or too many pairs. */
enum status query_form_to_json(
	struct span form, const struct shape_rule *rules, struct buf *json, struct error *err) MUST_CHECK;
