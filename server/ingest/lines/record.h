/*
 * Job: a log record as one line: its text, then its severity (INFO says nothing and is left out) and its attributes, key=value;
 *      values of several lines, as stack traces, stand below it. The text goes into parser->text.
 * Ownership and threads: as push.h.
 */
#pragma once

#include "ingest/lines/push.h"

void record_begin(struct ingest_parser *parser);
void record_add_severity(struct ingest_parser *parser, uint64_t number, struct span text);
/* Not one that tells where a collector read the line (log.file.name, logtag). */
void record_add_attribute(struct ingest_parser *parser, struct span key, struct span value);
/* So far: neither text nor attributes. */
bool record_is_empty(const struct ingest_parser *parser);
enum status record_put_line(
	struct ingest_parser *parser, struct batch *batch, uint64_t time_ns, struct error *err) MUST_CHECK;
/* Of a text that is not in parser->text: without attributes it goes on as it came. */
enum status record_put_text(struct ingest_parser *parser, struct batch *batch, struct span text, uint64_t time_ns,
	struct error *err) MUST_CHECK;
