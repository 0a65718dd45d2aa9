/*
 * Job: where a checkpoint lies and where a log tells of it, and what somebody set right of it, as members of an answer.
 * Ownership: text is the arena's, a path the row's or the text's. Threads: any.
 */
#pragma once

#include "base/json/json_write.h"
#include "store/store.h"

struct checkpoint_row;
struct pipeline;

/* attempt (null: not known), ts_ms, stream, line (null: no line tells of it); by hand also from, usable, worked_out and who says so */
void checkpoint_write_place(struct json_writer *w, const struct checkpoint_row *row);
/* The line that tells of it; "": none does, or it cannot be read any more, which the checkpoint does not hang on. */
enum status checkpoint_read_text(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, const struct checkpoint_row *row, struct span *out, struct error *err) MUST_CHECK;
/* As somebody set it by hand, else as its line says; "": nobody says. */
struct span checkpoint_path(const struct checkpoint_row *row, struct span text);
