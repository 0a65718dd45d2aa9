/*
 * Job: a form of the AWS query protocol -> JSON, which is what the operations read:
 *      MetricData.member.1.MetricName=loss&MetricData.member.1.Value=2.5 -> {"MetricData":[{"MetricName":"loss","Value":"2.5"}]}.
 *      All values are texts: the form does not say what they are. Items of a list are in the order of their numbers, which
 *      may have gaps. Names come out in an order of their own, not in the form's.
 * Ownership: the caller's buffers. Threads: values.
 * Source: smithy.io/2.0/aws/protocols/aws-query-protocol.html
 */
#pragma once

#include "base/buf.h"

enum { QUERY_FORM_MAX_DEPTH = 16, QUERY_FORM_MAX_PAIRS = 50000 };

/* The value of a parameter as it stands there, as for Action, whose values need no decoding; false: it is not there. */
bool query_form_find(struct span form, const char *name, struct span *value);

/* Appends to json. ERR_INVALID names the parameter; ERR_TOO_LARGE: more than json may hold, or too many pairs. */
enum status query_form_to_json(struct span form, struct buf *json, struct error *err) MUST_CHECK;
