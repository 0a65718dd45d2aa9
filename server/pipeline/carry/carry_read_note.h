/*
 * Job: the record of a note from JSON.
 * Ownership: what is read lives in the caller's arena. Threads: values.
 */
#pragma once

#include "base/json/json_read.h"
#include "store/notes.h"

enum status carry_read_note(
	const struct json *object, struct arena *arena, struct note_row *row, struct error *err) MUST_CHECK;
