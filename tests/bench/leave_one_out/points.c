/*
 * What the extraction gives for texts on the standard input, as lines that a program compares:
 *
 *   bench_leave_one_out PRESETS < texts
 *
 * A text is "=TEXT PRESET LINES", then so many lines. PRESET is the name of the preset to read it by, or * for the choice that
 * a stream without definitions makes. For each: "=POINTS PRESET" (of the end; - for none), a line "S NUMBER ROLE UNIT NAME" a
 * series (by tabs; a space is an empty unit), and a line "P LINE SERIES STEP ATTEMPT VALUE" a point.
 */
#include "extract/extract.h"
#include "model/metrics/batch.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAME_BYTES = 64, SERIES_BYTES = 1024 };

static const int64_t begin_ms = INT64_C(1790000000000);

struct reader {
	struct definition_set *presets;
	struct regex_scratch *scratch;
	char *line; /* as getline keeps it */
	size_t line_cap;
};

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "bench_leave_one_out: %s\n", what);
	exit(1);
}

static struct definition_set *read_presets(const char *path)
{
	FILE *file = fopen(path, "rb");
	struct definition_set *presets = NULL;
	struct error err;

	if (!file)
		fail(path);
	fseek(file, 0, SEEK_END);
	size_t size = (size_t)ftell(file);
	rewind(file);
	char *text = malloc(size + 1);
	if (!text)
		fail("out of memory");
	size = fread(text, 1, size, file);
	fclose(file);
	if (definition_presets_new(&presets, span_of(text, size), &err) != OK)
		fail(err.text);
	free(text);
	return presets;
}

static struct definition_set *set_of(const struct definition_set *presets, const char *preset)
{
	AUTO(json) document = NULL;
	struct definition_set *set = NULL;
	struct error err;
	char text[NAME_BYTES + 32];

	snprintf(text, sizeof text, "[{\"Preset\":\"%s\"}]", preset);
	if (*preset != '*' && json_parse(&document, span_from(text), &err) != OK)
		fail(err.text);
	if (definition_set_new(&set, document, presets, &err) != OK)
		fail(err.text);
	return set;
}

/* A series with a name out of the text has the role of that name, as in the server (but whatever its rank is). */
static enum role role_of(const struct definition_set *set, const struct extracted_series *series)
{
	struct metric_definition shown = definition_set_get(set, series->preset, series->definition);

	if (shown.role == ROLE_LOSS && series->name.len && metric_is_score(series->name))
		return ROLE_OTHER;
	bool is_told = shown.role == ROLE_OTHER && series->name.len && !shown.keeps_role;
	return is_told ? role_guess(series->name) : shown.role;
}

static void print_series(const struct extractor *extractor, const struct definition_set *set, uint32_t number)
{
	AUTO_DONE(buf) name = BUF_INIT(SERIES_BYTES);
	struct extracted_series of = extractor_series(extractor, number);
	struct metric_definition shown = definition_set_get(set, of.preset, of.definition);

	extractor_series_name(extractor, set, number, &name);
	printf("S\t%u\t%s\t%.*s\t%.*s\n", (unsigned)number, role_name(role_of(set, &of)),
		SPAN_ARGS(shown.unit.len ? shown.unit : SPAN(" ")), SPAN_ARGS(buf_span(&name)));
}

/* Points of an attempt that was taken back are of the attempt before. */
static void apply_revision(struct extractor *extractor, struct extracted_list *points)
{
	uint64_t line;
	uint32_t from, to;

	if (!extractor_take_revision(extractor, &line, &from, &to))
		return;
	for (size_t i = 0; i < points->count; i++)
		if (points->items[i].point.line >= line && points->items[i].point.attempt == from)
			points->items[i].point.attempt = to;
}

static void read_lines(struct reader *reader, size_t count, struct extractor *extractor,
	const struct definition_set *set, struct extracted_list *points)
{
	struct error err;

	for (size_t number = 0; number < count; number++) {
		ssize_t len = getline(&reader->line, &reader->line_cap, stdin);
		if (len < 0)
			fail("the text is shorter than it says");
		len -= len && reader->line[len - 1] == '\n';
		struct extract_line line = {
			.text = span_of(reader->line, (size_t)len), .ts_ms = NO_TIME, .number = number};
		if (extract_line(extractor, set, reader->scratch, &line, begin_ms + (int64_t)number * 1000, points,
			    &err) != OK)
			fail(err.text);
		apply_revision(extractor, points);
	}
}

static void print_points(
	const struct extractor *extractor, const struct definition_set *set, const struct extracted_list *points)
{
	const char *preset = definition_set_preset_name(set, extractor_preset(extractor));
	uint32_t series = 0;

	for (size_t i = 0; i < points->count; i++)
		series = points->items[i].series >= series ? points->items[i].series + 1 : series;
	AUTO_MEM bool *is_said = mem_zeroed(series ? series : 1);
	if (!is_said)
		fail("out of memory");
	printf("=POINTS %s\n", preset ? preset : "-");
	for (size_t i = 0; i < points->count; i++) {
		const struct extracted *item = &points->items[i];
		if (!is_said[item->series])
			print_series(extractor, set, item->series);
		is_said[item->series] = true;
		printf("P\t%llu\t%u\t%lld\t%u\t%.17g\n", (unsigned long long)item->point.line, (unsigned)item->series,
			(long long)item->point.step, (unsigned)item->point.attempt, item->point.value);
	}
}

static bool read_text(struct reader *reader)
{
	char preset[NAME_BYTES];
	size_t count;
	AUTO(extractor) extractor = extractor_new();
	AUTO_DONE(extracted_list) points = {0};

	if (getline(&reader->line, &reader->line_cap, stdin) < 0)
		return false;
	if (!extractor || sscanf(reader->line, "=TEXT %63s %zu", preset, &count) != 2)
		fail("a text begins with =TEXT PRESET LINES");
	AUTO(definition_set) set = set_of(reader->presets, preset);
	read_lines(reader, count, extractor, set, &points);
	print_points(extractor, set, &points);
	return true;
}

int main(int argc, char **argv)
{
	if (argc != 2)
		fail("usage: bench_leave_one_out PRESETS < texts");
	struct reader reader = {.presets = read_presets(argv[1]), .scratch = regex_scratch_new()};
	while (read_text(&reader))
		;
	regex_scratch_free(reader.scratch);
	definition_set_free(reader.presets);
	free(reader.line);
	return 0;
}
