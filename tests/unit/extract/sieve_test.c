/*
 * What the sieve lets through. Random expressions and lines made to fit them (often): a stream under the expressions, and one
 * under the same behind "(?-x)", which says nothing but makes base/regex_literals give up, so that each line is searched
 * for each of them, must give the same points in the same order.
 */
#include "extract/line/sieve.h"
#include "helper.h"

#include <math.h>
#include <pthread.h>

enum { SETS = 300, LINES = 60, PATTERNS = 24, NESTED_MAX = 3, TEXT_MAX = 1 << 16 };

struct maker {
	uint64_t state;
	struct buf pattern; /* of a JSON string */
	struct buf sample; /* a text that it should match */
	int nested;
};

static unsigned any(struct maker *m, unsigned below)
{
	m->state ^= m->state << 13;
	m->state ^= m->state >> 7;
	m->state ^= m->state << 17;
	return (unsigned)(m->state >> 11) % below;
}

static void make_word(struct maker *m)
{
	static const char *const words[] = {"loss", "train", "eval ", "acc: ", "lr=", "step", "K", "it", "[x]", "val_",
		"Epoch ", "e", "  ", "mfu", "grad norm: ", "_", "0", "loss loss"};
	const char *word = words[any(m, sizeof words / sizeof words[0])];

	for (; *word; word++) {
		bool is_other_case = any(m, 40) == 0 && *word >= 'a' && *word <= 'z';
		if (strchr("[]", *word))
			buf_append_text(&m->pattern, "\\\\");
		buf_append_char(&m->pattern, *word);
		buf_append_char(&m->sample, is_other_case ? (char)(*word - 32) : *word);
	}
}

static void make_sequence(struct maker *m);

static void make_group(struct maker *m)
{
	static const char *const heads[] = {"(?:", "(?:", "(", "(?>", "(?i:", "(?=", "(?!", "(?<=", "(?<!"};
	unsigned head = any(m, sizeof heads / sizeof heads[0]);
	size_t before = m->sample.len, kept = any(m, 3);

	buf_append_text(&m->pattern, heads[head]);
	for (size_t i = 0, branches = 1 + any(m, 3); i < branches; i++) {
		if (i)
			buf_append_char(&m->pattern, '|');
		size_t start = m->sample.len;
		make_sequence(m);
		if (i != kept % branches || head > 4)
			m->sample.len = start;
	}
	buf_append_char(&m->pattern, ')');
	if (head < 5 && any(m, 4) == 0) {
		static const char *const times[] = {"?", "*", "+", "{0,2}", "{1,2}", "{2}", "?+", "*?"};
		buf_append_text(&m->pattern, times[any(m, sizeof times / sizeof times[0])]);
		if (any(m, 2))
			m->sample.len = before;
	}
}

static void make_piece(struct maker *m)
{
	static const struct {
		const char *pattern, *sample;
	} pieces[] = {{"\\\\d+", "17"}, {"[0-9.]+", "2.5"}, {".*?", " so "}, {".*", ""}, {"\\\\s*", " "}, {"\\\\b", ""},
		{"[^;]*", "q"}, {"[a\\\\]s]", "s"}, {"x?", ""}, {"x?", "x"}, {"l+", "lll"}, {"s{2}", "ss"},
		{"[[:alpha:]_]+", "ab"}, {"\\\\w", "w"}, {"(?i)", ""}, {"\\\\/", "/"}, {"\\\\x41", "A"}, {"$", ""},
		{"^", ""}, {"\\\\Kz", "z"}, {"t*", ""}, {"\xc3\xa9", "\xc3\xa9"}};
	unsigned kind = any(m, 10);

	if (kind < 5) {
		make_word(m);
	} else if (kind < 9 || m->nested >= NESTED_MAX) {
		unsigned piece = any(m, sizeof pieces / sizeof pieces[0]);
		buf_append_text(&m->pattern, pieces[piece].pattern);
		buf_append_text(&m->sample, pieces[piece].sample);
	} else {
		m->nested++;
		make_group(m);
		m->nested--;
	}
}

static void make_sequence(struct maker *m)
{
	for (unsigned i = 0, count = 1 + any(m, 3); i < count; i++)
		make_piece(m);
}

/* An expression with a value, alone in its set to see whether PCRE2 takes it. */
static void make_pattern(struct maker *m)
{
	for (;;) {
		AUTO_DONE(buf) text = BUF_INIT(TEXT_MAX);
		AUTO(json) document = NULL;
		AUTO(definition_set) set = NULL;
		buf_reset(&m->pattern);
		buf_reset(&m->sample);
		make_sequence(m);
		bool has_step = any(m, 3) == 0;
		buf_append_text(&m->pattern, has_step ? "(?<step>\\\\d+)/(?<value>[0-9.]+)" : "(?<value>[0-9.]+)");
		buf_append_text(&m->sample, has_step ? "5/2.5" : "7.25");
		if (any(m, 2))
			make_sequence(m);
		buf_printf(&text, "[{\"Name\":\"a\",\"Regex\":\"%.*s\"}]", SPAN_ARGS(buf_span(&m->pattern)));
		CHECK_OK(json_parse(&document, buf_span(&text), &err));
		if (definition_set_new(&set, document, NULL, NULL) == OK)
			return;
	}
}

struct made {
	struct buf samples[PATTERNS];
	struct buf plain, searched; /* the definitions */
};

static void make_set(struct maker *m, struct made *made)
{
	made->plain = made->searched = BUF_INIT(TEXT_MAX);
	for (size_t i = 0; i < PATTERNS; i++) {
		make_pattern(m);
		buf_printf(&made->plain, "%s{\"Name\":\"m%zu\",\"Regex\":\"%.*s\"}", i ? "," : "[", i,
			SPAN_ARGS(buf_span(&m->pattern)));
		buf_printf(&made->searched, "%s{\"Name\":\"m%zu\",\"Regex\":\"(?-x)%.*s\"}", i ? "," : "[", i,
			SPAN_ARGS(buf_span(&m->pattern)));
		made->samples[i] = BUF_INIT(TEXT_MAX);
		buf_append_span(&made->samples[i], buf_span(&m->sample));
	}
	buf_append_text(&made->plain, "]");
	buf_append_text(&made->searched, "]");
	buf_append_char(&made->plain, 0);
	buf_append_char(&made->searched, 0);
}

static void make_line(struct maker *m, struct made *made, struct buf *line)
{
	static const char *const fronts[] = {"", "", "", " ", "[rank3]: ", "2025-01-02 03:04:05 ", "\x1b[1m", "bar\r",
		"3: ", "noise of some length "};

	buf_reset(line);
	buf_append_text(line, fronts[any(m, sizeof fronts / sizeof fronts[0])]);
	for (unsigned i = 0, count = any(m, 4); i < count; i++) {
		buf_append_span(line, buf_span(&made->samples[any(m, PATTERNS)]));
		buf_append_text(line, any(m, 2) ? " " : "");
	}
	if (line->len && any(m, 6) == 0)
		line->ptr[any(m, (unsigned)line->len)] = (char)any(m, 256);
	if (line->len && any(m, 6) == 0)
		line->len = any(m, (unsigned)line->len);
}

static void check_same(struct stream *a, struct stream *b)
{
	CHECK_INT(a->points.count, b->points.count);
	for (size_t i = 0; i < a->points.count; i++) {
		CHECK_INT(a->points.items[i].definition, b->points.items[i].definition);
		CHECK_INT(a->points.items[i].series, b->points.items[i].series);
		double value = point_at(a, i)->value;
		CHECK(isnan(value) ? isnan(point_at(b, i)->value) : point_at(b, i)->value == value);
		CHECK_INT(point_at(a, i)->step, point_at(b, i)->step);
		CHECK_INT(point_at(a, i)->line, point_at(b, i)->line);
		CHECK_INT(point_at(a, i)->attempt, point_at(b, i)->attempt);
	}
	CHECK_INT(extractor_preset(a->extractor), extractor_preset(b->extractor));
	for (size_t i = 0; i < definition_set_count(a->set, extractor_preset(a->extractor)); i++) {
		CHECK_INT(extractor_health(a->extractor, i).tried, extractor_health(b->extractor, i).tried);
		CHECK_INT(extractor_health(a->extractor, i).matched, extractor_health(b->extractor, i).matched);
	}
}

TEST(what_the_sieve_holds_back_matches_nothing)
{
	struct maker m = {
		.state = UINT64_C(88172645463325252), .pattern = BUF_INIT(TEXT_MAX), .sample = BUF_INIT(TEXT_MAX)};
	size_t points = 0, sets = test_has_time_for(1, 4) ? SETS : SETS / 4;

	for (size_t i = 0; i < sets; i++) {
		struct made made;
		AUTO_DONE(buf) line = BUF_INIT(TEXT_MAX);
		make_set(&m, &made);
		AUTO_DONE(stream) sieved = stream_of(made.plain.ptr);
		AUTO_DONE(stream) searched = stream_of(made.searched.ptr);
		for (int j = 0; j < LINES; j++) {
			make_line(&m, &made, &line);
			if (feed_at(&sieved, buf_span(&line), NO_TIME) != feed_at(&searched, buf_span(&line), NO_TIME))
				test_fail(__FILE__, __LINE__, "%s\n%.*s", made.plain.ptr, SPAN_ARGS(buf_span(&line)));
		}
		check_same(&sieved, &searched);
		points += sieved.points.count;
		for (size_t j = 0; j < PATTERNS; j++)
			buf_done(&made.samples[j]);
		buf_done(&made.plain);
		buf_done(&made.searched);
	}
	CHECK(points > sets * LINES); /* else it proves little */
	buf_done(&m.pattern);
	buf_done(&m.sample);
}

/* The shipped presets, each expression behind "(?-x)". */
static struct definition_set *searched_presets(struct span source)
{
	static const struct span keys[] = {SPAN("\"Regex\": \""), SPAN("\"detect\": \"")};
	AUTO_DONE(buf) text = BUF_INIT(4 << 20);
	struct definition_set *set = NULL;

	while (source.len) {
		size_t taken = 1;
		for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
			if (span_starts_with(source, keys[i]))
				taken = keys[i].len;
		buf_append(&text, source.ptr, taken);
		if (taken > 1)
			buf_append_text(&text, "(?-x)");
		source = span_skip(source, taken);
	}
	CHECK_OK(definition_presets_new(&set, buf_span(&text), &err));
	return set;
}

/* Under a preset, or (NULL) the one that the lines choose. */
static struct stream by_preset(const struct definition_set *presets, const char *name)
{
	AUTO(json) document = NULL;
	struct definition_set *set = NULL;
	char text[128];

	snprintf(text, sizeof text, name ? "[{\"Preset\":\"%s\"}]" : "[]", name);
	CHECK_OK(json_parse(&document, span_from(text), &err));
	CHECK_OK(definition_set_new(&set, document, presets, &err));
	return stream_on(set);
}

static void append_examples(struct span source, struct buf *out)
{
	AUTO(json) document = NULL;

	CHECK_OK(json_parse(&document, source, &err));
	const struct json *all = json_get(document, "presets");
	for (const struct json *preset = json_first(all); preset; preset = json_next(preset)) {
		const struct json *example = json_first(json_get(preset, "examples"));
		for (; example; example = json_next(example)) {
			const struct json *line = json_first(json_get(example, "lines"));
			for (; line; line = json_next(line)) {
				buf_append_span(out, json_string_of(line));
				buf_append_char(out, '\n');
			}
		}
	}
}

static void check_preset(
	const struct definition_set *presets, const struct definition_set *searched, const char *name, struct span text)
{
	AUTO_DONE(stream) a = by_preset(presets, name);
	AUTO_DONE(stream) b = by_preset(searched, name);
	struct span line;

	while (span_next(&text, '\n', &line)) {
		feed_at(&a, line, NO_TIME);
		feed_at(&b, line, NO_TIME);
	}
	CHECK(a.points.count > 0);
	check_same(&a, &b);
}

/* Each preset over the lines of all. */
TEST(what_the_sieve_holds_back_matches_no_preset)
{
	size_t len = 0;
	AUTO_MEM char *source = read_whole("../../../server/data/presets.json", &len);
	const struct definition_set *presets = shipped_presets();
	AUTO(definition_set) searched = searched_presets(span_of(source, len));
	AUTO_DONE(buf) text = BUF_INIT(4 << 20);

	append_examples(span_of(source, len), &text);
	check_preset(presets, searched, NULL, buf_span(&text));
	for (int i = 0; definition_set_preset_name(presets, i); i++)
		check_preset(presets, searched, definition_set_preset_name(presets, i), buf_span(&text));
}

static bool finds(const struct sieve *sieve, const char *text, size_t pattern)
{
	uint64_t found[SIEVE_WORDS];

	sieve_find(sieve, span_from(text), found);
	return found[pattern / 64] >> pattern % 64 & 1;
}

TEST(a_sieve_lets_through_what_holds_the_text)
{
	const struct span patterns[] = {
		SPAN("train_loss: ([0-9.]+)"), SPAN(""), SPAN("(\\d+)"), SPAN("(?:abcde|xyz)=(.)"), SPAN("lr=(.)")};
	AUTO(sieve) sieve = NULL;

	CHECK_OK(sieve_new(&sieve, patterns, sizeof patterns / sizeof patterns[0], &err));
	CHECK(finds(sieve, "train_loss: ", 0) && finds(sieve, "xTRAIN_LOSS: y", 0) && !finds(sieve, "train_loss:", 0));
	CHECK(!finds(sieve, "train_loss: 1", 1));
	CHECK(finds(sieve, "", 2) && finds(sieve, "anything", 2));
	CHECK(finds(sieve, "abcde=", 3) && finds(sieve, " xyz", 3) && !finds(sieve, "abcd=xy", 3));
	CHECK(finds(sieve, "lr=", 4) && !finds(sieve, "lr", 4));
}

static char folded(char c)
{
	return (char)((unsigned char)c | 0x20);
}

static bool holds_folded(struct span text, struct span literal)
{
	for (size_t at = 0; at + literal.len <= text.len; at++) {
		size_t same = 0;
		while (same < literal.len && folded(text.ptr[at + same]) == folded(literal.ptr[same]))
			same++;
		if (same == literal.len)
			return true;
	}
	return false;
}

/* Of few letters, so that much of one is in another. */
static size_t make_letters(struct maker *m, char *out, size_t len)
{
	for (size_t i = 0; i < len; i++)
		out[i] = "abcB _1"[any(m, 7)];
	return len;
}

static void check_finds_as_one_by_one(struct maker *m, size_t count, size_t shortest)
{
	enum { LITERAL_MAX = 20, TEXTS = 400, BYTES_MAX = 150 };
	char letters[SIEVE_MAX][LITERAL_MAX], text[BYTES_MAX + LITERAL_MAX];
	struct span literals[SIEVE_MAX];
	uint64_t found[SIEVE_WORDS];
	AUTO(sieve) sieve = NULL;

	for (size_t i = 0; i < count; i++)
		literals[i] = span_of(letters[i], make_letters(m, letters[i], shortest + any(m, 9)));
	CHECK_OK(sieve_new(&sieve, literals, count, &err));
	for (int j = 0; j < TEXTS; j++) {
		size_t len = make_letters(m, text, any(m, BYTES_MAX));
		struct span planted = literals[any(m, (unsigned)count)];
		if (any(m, 2) && len >= planted.len) /* often at an end of the text */
			memcpy(text + (any(m, 2) ? len - planted.len : any(m, (unsigned)(len - planted.len + 1))),
				planted.ptr, planted.len);
		AUTO_MEM char *exact = mem_zeroed(len + 1); /* a byte read behind it is told */
		memcpy(exact, text, len);
		sieve_find(sieve, span_of(exact + (len == 0), len), found);
		for (size_t i = 0; i < count; i++)
			CHECK((found[i / 64] >> i % 64 & 1) == holds_folded(span_of(text, len), literals[i]));
	}
}

/* Few literals are sought in another way than many, and the shorter the literals, the shorter the keys. */
TEST(a_sieve_finds_what_a_search_for_each_finds)
{
	static const size_t counts[] = {1, 2, 8, 9, 16, 30, 70, SIEVE_MAX};
	struct maker m = {.state = UINT64_C(362436069)};

	for (size_t shortest = 3; shortest < 12; shortest++)
		for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
			check_finds_as_one_by_one(&m, counts[i], shortest);
}

/* More than one word of bits. */
TEST(a_sieve_tells_128_patterns_apart)
{
	char texts[SIEVE_MAX][16];
	struct span patterns[SIEVE_MAX];
	AUTO(sieve) sieve = NULL;

	for (size_t i = 0; i < SIEVE_MAX; i++) {
		snprintf(texts[i], sizeof texts[i], "metric%zu=", i);
		patterns[i] = span_from(texts[i]);
	}
	CHECK_OK(sieve_new(&sieve, patterns, SIEVE_MAX, &err));
	for (size_t i = 0; i < SIEVE_MAX; i++)
		for (size_t j = 0; j < SIEVE_MAX; j++)
			CHECK(finds(sieve, texts[i], j) == (i == j));
}

struct search {
	pthread_t thread;
	pthread_barrier_t *together;
	const struct sieve *sieve;
	bool is_right;
};

static void *search(void *context)
{
	struct search *one = context;

	pthread_barrier_wait(one->together);
	one->is_right = finds(one->sieve, "lr=1", 0) && !finds(one->sieve, "loss", 0);
	return NULL;
}

/* Its first search builds it. */
TEST(a_sieve_is_built_once_for_all_threads)
{
	enum { THREADS = 4 };
	AUTO(sieve) sieve = NULL;
	struct search searches[THREADS];
	pthread_barrier_t together;

	CHECK_OK(sieve_new(&sieve, &SPAN("lr=(.)"), 1, &err));
	pthread_barrier_init(&together, NULL, THREADS);
	for (size_t i = 0; i < THREADS; i++) {
		searches[i] = (struct search){.together = &together, .sieve = sieve};
		CHECK(pthread_create(&searches[i].thread, NULL, search, &searches[i]) == 0);
	}
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(searches[i].thread, NULL);
		CHECK(searches[i].is_right);
	}
	pthread_barrier_destroy(&together);
}

TEST(without_memory_a_sieve_lets_all_through)
{
	const struct span patterns[] = {SPAN("train_loss: (.)"), SPAN(""), SPAN("lr=(.)")};
	AUTO(sieve) sieve = NULL;

	CHECK_OK(sieve_new(&sieve, patterns, 3, &err));
	mem_fail_at(1);
	CHECK(finds(sieve, "nothing", 0));
	mem_fail_at(0);
	CHECK(!finds(sieve, "nothing", 0) && !finds(sieve, "nothing", 1) && finds(sieve, "lr=1", 2));
}
