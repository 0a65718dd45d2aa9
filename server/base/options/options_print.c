#include "base/options/options.h"

#include <ctype.h>
#include <stdio.h>

enum { HELP_COLUMNS = 100, LEFT_COLUMNS = 28 };

/* The engine's own options close every table. */
static const struct option_spec builtin_specs[] = {
	{.name = "config",
		.kind = OPTION_TEXT,
		.value_name = "FILE",
		.heading = "General",
		.help = "Read options from FILE, lines of the form `name = value`; # starts a comment."},
	{.name = "help", .kind = OPTION_FLAG, .help = "Print this text (also -h)."},
	{.name = "help-markdown", .kind = OPTION_FLAG, .help = "Print the options as a Markdown document."},
	{.name = "version", .kind = OPTION_FLAG, .help = "Print the version."},
	{.name = NULL},
};

static void put_spaces(struct buf *out, size_t count)
{
	while (count--)
		buf_append_char(out, ' ');
}

/* Words of text, wrapped at the help's width; the first line starts at column `at`, later ones at LEFT_COLUMNS. */
static void put_wrapped(struct buf *out, struct span text, size_t at)
{
	struct span word;

	put_spaces(out, at < LEFT_COLUMNS ? LEFT_COLUMNS - at : 0);
	at = LEFT_COLUMNS;
	while (span_next(&text, ' ', &word)) {
		if (at > LEFT_COLUMNS && at + 1 + word.len > HELP_COLUMNS) {
			buf_append_char(out, '\n');
			put_spaces(out, LEFT_COLUMNS);
			at = LEFT_COLUMNS;
		}
		if (at > LEFT_COLUMNS) {
			buf_append_char(out, ' ');
			at++;
		}
		buf_append_span(out, word);
		at += word.len;
	}
	buf_append_char(out, '\n');
}

static void describe(const struct option_spec *spec, struct buf *text)
{
	buf_append_text(text, spec->help);
	if (spec->is_list)
		buf_append_text(text, " May be given several times.");
	if (spec->fallback && *spec->fallback)
		buf_printf(text, " [%s]", spec->fallback);
}

static void put_option(struct buf *out, const struct option_spec *spec)
{
	AUTO_DONE(buf) help = BUF_INIT(1 << 16);
	size_t start;

	if (spec->heading)
		buf_printf(out, "\n%s:\n", spec->heading);
	start = out->len;
	buf_printf(out, "  --%s", spec->name);
	if (spec->kind != OPTION_FLAG)
		buf_printf(out, " %s", spec->value_name);
	size_t at = out->len - start;
	if (at + 2 > LEFT_COLUMNS) {
		buf_append_char(out, '\n');
		at = 0;
	}
	describe(spec, &help);
	put_wrapped(out, buf_span(&help), at);
}

static void print_help(const struct option_program *program, struct buf *out)
{
	struct span forms = span_from(program->usage), form;
	const char *lead = "usage:";

	while (span_next(&forms, '\n', &form)) {
		buf_printf(out, "%s %s %.*s\n", lead, program->name, SPAN_ARGS(form));
		lead = "      ";
	}
	buf_printf(out, "\n%s\n", program->about);
	if (program->options->name && !program->options->heading)
		buf_append_text(out, "\nOptions:\n");
	for (const struct option_spec *spec = program->options; spec->name; spec = option_next(spec))
		put_option(out, spec);
	for (const struct option_spec *spec = builtin_specs; spec->name; spec++)
		put_option(out, spec);
	buf_append_text(out, "\nEach option is also an environment variable: --some-name is SMFLEET_SOME_NAME.\n");
	if (program->notes)
		buf_printf(out, "\n%s\n", program->notes);
}

/* A bar would end the cell of a Markdown table. */
static void put_cell(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '|')
			buf_append_char(out, '\\');
		buf_append_char(out, *text);
	}
}

static void put_row(struct buf *out, const struct option_spec *spec)
{
	if (spec->heading)
		buf_printf(out, "\n### %s\n\n| option | environment | default | meaning |\n|---|---|---|---|\n",
			spec->heading);
	buf_printf(out, "| `--%s", spec->name);
	if (spec->kind != OPTION_FLAG) {
		buf_append_char(out, ' ');
		put_cell(out, spec->value_name);
	}
	buf_append_text(out, "` | `SMFLEET_");
	for (const char *c = spec->name; *c; c++)
		buf_append_char(out, *c == '-' ? '_' : (char)toupper((unsigned char)*c));
	buf_append_text(out, "` | ");
	if (spec->fallback && *spec->fallback)
		buf_printf(out, "`%s`", spec->fallback);
	buf_append_text(out, " | ");
	put_cell(out, spec->help);
	if (spec->is_list)
		buf_append_text(out, " May be given several times.");
	buf_append_text(out, " |\n");
}

static void print_markdown(const struct option_program *program, struct buf *out)
{
	struct span forms = span_from(program->usage), form;

	buf_printf(out, "## %s\n\n%s\n\n```\n", program->name, program->about);
	while (span_next(&forms, '\n', &form))
		buf_printf(out, "%s %.*s\n", program->name, SPAN_ARGS(form));
	buf_append_text(out, "```\n");
	if (program->options->name && !program->options->heading)
		buf_append_text(out, "\n| option | environment | default | meaning |\n|---|---|---|---|\n");
	for (const struct option_spec *spec = program->options; spec->name; spec = option_next(spec))
		put_row(out, spec);
	buf_append_text(out,
		"\nIn a config file (`--config FILE`, `SMFLEET_CONFIG`) the same names stand without dashes: "
		"`name = value`.\n");
	if (program->notes)
		buf_printf(out, "\n%s\n", program->notes);
}

void options_print(const struct option_program *program, enum option_action action, struct buf *out)
{
	switch (action) {
	case OPTIONS_RUN:
		break;
	case OPTIONS_HELP:
		print_help(program, out);
		break;
	case OPTIONS_HELP_MARKDOWN:
		print_markdown(program, out);
		break;
	case OPTIONS_VERSION:
		buf_printf(out, "%s %s\n", program->name, program->version);
		break;
	}
}
