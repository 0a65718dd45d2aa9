/*
 * Job: replies of the AWS query protocol, as XML. XML is only written: no request of ours is XML, so no entity is ever read.
 *      Items of lists are <member>s; times (seconds in the tree) are ISO 8601. Characters that XML cannot hold become U+FFFD.
 * Ownership: the caller's buffers. Threads: values.
 * Source: smithy.io/2.0/aws/protocols/aws-query-protocol.html; W3C XML 1.0, 2.2 (characters) and 2.11 (ends of lines)
 */
#pragma once

#include "base/buf.h"
#include "base/json/json_read.h"

struct xml_reply {
	const char *namespace_uri;
	const char *operation; /* <PutMetricDataResponse>, and <…Result> where there is one */
	struct span request_id;
	const char *const *times; /* names of members that are times (or lists of them), ended by NULL */
	const char *const *maps; /* and of those that are maps: <entry><key>, <value>; NULL: none is */
};

/* result: an object; NULL: the operation returns nothing. */
void xml_write_reply(const struct xml_reply *reply, const struct json *result, struct buf *out);
/* is_sender: the mistake is the client's. */
void xml_write_error(
	const struct xml_reply *reply, bool is_sender, struct span code, struct span message, struct buf *out);

void xml_write_text(struct span text, struct buf *out); /* escaped */
