#include "store/driver/migrations.h"

#include "store/driver/statement.h"

enum status migration_number(const struct embedded_file *file, int64_t *number, struct error *err)
{
	struct span rest = span_from(file->name), digits;

	if (!span_next(&rest, '_', &digits) || !span_parse_i64(digits, number) || *number < 1)
		return error_set(err, ERR_INTERNAL, "migration '%s' is not called NNNN_what.sql", file->name);
	return OK;
}

/* The comment at its head. */
static struct span about_of(const struct embedded_file *file, struct arena *arena)
{
	AUTO_DONE(buf) text = BUF_INIT(4096);
	struct span rest = span_of(file->bytes, file->len), line;

	while (span_next(&rest, '\n', &line) && span_starts_with(line, SPAN("--"))) {
		struct span words = span_trim(span_skip(line, 2));
		if (!words.len)
			break;
		if (text.len)
			buf_append_char(&text, ' ');
		buf_append_span(&text, words);
	}
	return arena_copy(arena, buf_span(&text));
}

enum status migrations_plan(
	const struct embedded_file *files, struct arena *arena, struct store_plan *plan, struct error *err)
{
	size_t cap = 0;

	plan->migrations = NULL;
	plan->count = 0;
	for (const struct embedded_file *file = files; file->name; file++) {
		plan->migrations = rows_grow(arena, plan->migrations, plan->count, &cap, sizeof *plan->migrations);
		if (!plan->migrations)
			return error_no_memory(err);
		struct store_migration *row = &plan->migrations[plan->count++];
		*row = (struct store_migration){.name = span_from(file->name), .about = about_of(file, arena)};
		TRY(migration_number(file, &row->number, err));
		row->is_pending = row->number > plan->version;
	}
	return OK;
}
