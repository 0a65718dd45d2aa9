#include "base/text/host_list.h"

#include "base/buf.h"
#include "test.h"

#include <stdio.h>

static const char *expanded(const char *list)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) text = BUF_INIT(64 << 10);
	static char out[4096];
	struct span *names;
	size_t count;

	CHECK_OK(host_list_expand(arena, span_from(list), &names, &count, &err));
	for (size_t i = 0; i < count; i++) {
		buf_append_text(&text, i ? " " : "");
		buf_append_span(&text, names[i]);
	}
	CHECK(text.len < sizeof out);
	snprintf(out, sizeof out, "%.*s", SPAN_ARGS(buf_span(&text)));
	return out;
}

TEST(lists_of_machines_are_expanded)
{
	static const struct {
		const char *list, *names;
	} rows[] = {
		{"lg-2", "lg-2"},
		{"lg-[2-3]", "lg-2 lg-3"},
		{"lg-[08-11]", "lg-08 lg-09 lg-10 lg-11"},
		{"lg-[1,3-4,007]", "lg-1 lg-3 lg-4 lg-007"},
		{"login,gpu[1-2].cluster.local,n7", "login gpu1.cluster.local gpu2.cluster.local n7"},
		{"r[1-2]n[01-02]", "r1n01 r1n02 r2n01 r2n02"},
		{"[1-2]", "1 2"},
		{"lg-2, lg-[3-4],  lh-1 ", "lg-2 lg-3 lg-4 lh-1"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		CHECK_SPAN(span_from(expanded(rows[i].list)), span_from(rows[i].names));
}

TEST(what_is_no_list_or_too_long_has_no_names)
{
	static const char *const lists[] = {"", ",", "a,,b", "a, ,b", "lg-[", "lg-[]", "lg-[2-]", "lg-[a-c]",
		"lg-[3-2]", "lg-[2-3", "lg]", "lg-[1-33]", "r[1-100]n[1-100]", "a b", "lg-[1-4294967296999]",
		"n[0-31],m"};

	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		CHECK_SPAN(span_from(expanded(lists[i])), SPAN(""));
	CHECK(expanded("n[0-31]")[0] == 'n');
}
