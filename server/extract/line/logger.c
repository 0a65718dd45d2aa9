/* Parts of a prefix that loggers put there: level, name, file and line, thread, and what separates them. */
#include "extract/line/machine_name.h"
#include "extract/line/part.h"

enum { WORDS_MAX = 8 };

size_t logger_level_length(struct span text)
{
	static const struct span names[] = {SPAN("INFO"), SPAN("WARNING"), SPAN("WARN"), SPAN("ERROR"), SPAN("DEBUG"),
		SPAN("CRITICAL"), SPAN("FATAL"), SPAN("TRACE"), SPAN("NOTICE"), SPAN("SUCCESS"), SPAN("VERBOSE")};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char next = char_at(text, names[i].len);
		if (text.len >= names[i].len && ((text.ptr[0] ^ names[i].ptr[0]) & ~0x20) == 0 &&
			span_equal_fold(span_of(text.ptr, names[i].len), names[i]) && !is_name_char(next))
			return names[i].len;
	}
	return 0;
}

bool logger_is_trainer_word(struct span word)
{
	static const struct span words[] = {SPAN("step"), SPAN("steps"), SPAN("epoch"), SPAN("epochs"), SPAN("iter"),
		SPAN("iters"), SPAN("iteration"), SPAN("batch"), SPAN("train"), SPAN("training"), SPAN("val"),
		SPAN("valid"), SPAN("validation"), SPAN("eval"), SPAN("evaluation"), SPAN("test"), SPAN("loss"),
		SPAN("lr"), SPAN("round"), SPAN("update"), SPAN("ep"), SPAN("acc"), SPAN("accuracy"), SPAN("top"),
		SPAN("global_step"), SPAN("episode"), SPAN("reward"), SPAN("metrics"), SPAN("progress"),
		SPAN("results")};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (word.len == words[i].len && ((word.ptr[0] ^ words[i].ptr[0]) & ~0x20) == 0 &&
			span_equal_fold(word, words[i]))
			return true;
	return false;
}

bool logger_is_rank(struct span text, int32_t *rank)
{
	struct span rest = text;

	if (rest.len < 5 || !span_equal_fold(span_of(rest.ptr, 4), SPAN("rank")))
		return false;
	rest = span_skip(rest, 4);
	(void)!(span_take(&rest, SPAN(":")) || span_take(&rest, SPAN("=")));
	(void)!span_take(&rest, SPAN(" "));
	int32_t number;
	if (!launcher_take_number(&rest, &number) || rest.len)
		return false;
	*rank = number;
	return true;
}

/* .py:42, .cc:42 and what may follow: ":main", "[line:42]" has been handled by the caller */
static bool is_source(struct span name)
{
	static const struct span endings[] = {SPAN(".py"), SPAN(".cc"), SPAN(".cpp"), SPAN(".cu"), SPAN(".h"),
		SPAN(".hpp"), SPAN(".c"), SPAN(".rs"), SPAN(".go"), SPAN(".jl"), SPAN(".java"), SPAN(".scala")};

	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
		if (span_ends_with(name, endings[i]))
			return true;
	return false;
}

/* "train.py:42", "train.py:42:main", "train.py[line:42]", "train.py(42)", "train.py 42" */
static bool take_place(struct span *text)
{
	struct span rest = *text;
	size_t len = 0;

	while (len <= 2 * NAME_MAX_BYTES && (is_name_char(char_at(rest, len)) || char_at(rest, len) == '/'))
		len++;
	if (!len || !is_source(span_of(rest.ptr, len)))
		return false;
	rest = span_skip(rest, len);
	char close = '\0';
	if (span_take(&rest, SPAN("[line:")))
		close = ']';
	else if (span_take(&rest, SPAN("(")))
		close = ')';
	else if (!span_take(&rest, SPAN(":")) && !span_take(&rest, SPAN(" ")))
		return false;
	size_t digits = count_digits(rest);
	rest = span_skip(rest, digits);
	if (!digits || (close && !span_take(&rest, span_of(&close, 1))))
		return false;
	if (char_at(rest, 0) == ':' && is_name_char(char_at(rest, 1)))
		rest = span_skip(rest, 1 + count_name(span_skip(rest, 1)));
	*text = rest;
	return true;
}

/* __main__, root, accelerate.accelerator: no word of a metric looks so. */
static bool is_module(struct span name)
{
	ptrdiff_t dot = span_find_char(name, '.');

	return span_equal(name, SPAN("root")) || span_starts_with(name, SPAN("__")) ||
	       (dot > 0 && (size_t)dot + 1 < name.len && is_letter(name.ptr[0]) && is_letter(name.ptr[dot + 1]));
}

/* Of "[…]" and "(…)": what stands in them, up to 96 bytes. */
static bool read_inside(struct span text, char close, struct span *inside)
{
	ptrdiff_t end = span_find_char(span_cut(text, 96), close);

	if (end < 2)
		return false;
	*inside = span_of(text.ptr + 1, (size_t)end - 1);
	return span_find_char(*inside, text.ptr[0]) < 0;
}

static bool has_level(struct span inside)
{
	bool is_start = true;

	for (size_t i = 0; i < inside.len; i++) {
		if (is_start && logger_level_length(span_skip(inside, i)))
			return true;
		is_start = !is_name_char(inside.ptr[i]);
	}
	return false;
}

static bool has_place(struct span inside)
{
	bool is_start = true;

	for (size_t i = 0; i < inside.len; i++) {
		struct span from = span_skip(inside, i);
		bool is_in_name = is_name_char(inside.ptr[i]) || inside.ptr[i] == '/';
		if (is_start && is_in_name && take_place(&from))
			return true;
		is_start = !is_in_name;
	}
	return false;
}

/* A name, an address, a number: nothing that says a value. */
static bool is_plain(struct span inside)
{
	for (size_t i = 0; i < inside.len; i++)
		if (!is_name_char(inside.ptr[i]) && inside.ptr[i] != ':' && inside.ptr[i] != '/' &&
			inside.ptr[i] != ' ')
			return false;
	return true;
}

static enum part judge_inside(struct span inside, struct peeling *peeling)
{
	struct span trimmed = span_trim(inside), rest = trimmed;

	if (logger_is_rank(trimmed, &peeling->rank)) {
		peeling->is_bare = false;
		return PART_WORD;
	}
	if (strchr("IWEF", char_at(rest, 0)) &&
		count_digits(span_skip(rest, 1)) > 2) /* I625 12:34:56 of PyTorch's C++ */
		rest = span_skip(rest, 2 + count_digits(span_skip(rest, 1)));
	bool is_stamped = stamp_take_bare(&rest);
	peeling->has_time |= is_stamped;
	bool is_levelled = has_level(trimmed);
	peeling->has_level |= is_levelled;
	if (is_stamped || is_levelled || has_place(trimmed))
		return PART_WORD;
	bool is_behind = peeling->has_time || peeling->has_level;
	if (is_behind && is_module(trimmed))
		return PART_WORD;
	size_t digits = count_digits(trimmed);
	if (digits == trimmed.len)
		return is_behind ? PART_GUESS : PART_NONE;
	return is_plain(trimmed) && span_find_char(trimmed, ' ') < 0 && !logger_is_trainer_word(trimmed) ? PART_GUESS
													 : PART_NONE;
}

/* [INFO] [    INFO] [INFO|train.py:42] [train.py:42:main] [06/25 12:34:56 d2.events]: [__main__] [Rank 0] (main.py 150): */
static enum part take_brackets(struct span *text, struct peeling *peeling)
{
	struct span inside, rest;
	bool is_round = text->ptr[0] == '(';

	if (is_round && !peeling->has_time && !peeling->has_level)
		return PART_NONE;
	if (!read_inside(*text, is_round ? ')' : ']', &inside))
		return PART_NONE;
	rest = span_skip(*text, inside.len + 2);
	char next = char_at(rest, 0);
	if (rest.len && next != ' ' && next != ':' && next != '[' && next != '(' && next != '\t')
		return PART_NONE;
	if (is_round && span_find_char(inside, ' ') >= 0 && !has_place(inside))
		return PART_NONE;
	enum part part = judge_inside(inside, peeling);
	if (!part)
		return PART_NONE;
	bool has_colon = span_take(&rest, SPAN(":"));
	if (has_colon && part == PART_GUESS && !peeling->has_time && !peeling->has_level &&
		!machine_name_is_full(inside))
		return PART_NONE; /* "[batch]:" above its values */
	(void)!span_take(&rest, SPAN(" "));
	if (peeling->is_first)
		(void)!span_take(&rest, SPAN("out: ")); /* Fabric's */
	*text = rest;
	peeling->guess = GUESS_BRACKETS;
	return part;
}

/* "INFO:root:" of logging.basicConfig, "INFO: ", "INFO     " of a column, "INFO| " */
static enum part take_level(struct span *text, struct peeling *peeling)
{
	enum { COLUMN = 8 };
	size_t len = is_upper(char_at(*text, 1)) ? logger_level_length(*text) : 0;
	struct span rest = span_skip(*text, len);
	char next = char_at(rest, 0);

	if (!len || (next != ' ' && next != ':' && next != '|' && next != '\t'))
		return PART_NONE;
	if (next == ':') {
		size_t name = count_name(span_skip(rest, 1));
		if (name && char_at(rest, name + 1) == ':')
			rest = span_skip(rest, name + 1);
		rest = span_skip(rest, 1);
		rest = span_skip(rest, count_char(rest, ':'));
	}
	size_t spaces = count_char(rest, ' ');
	peeling->has_level = true;
	if (next == ' ' && len < COLUMN && spaces > COLUMN - len)
		peeling->column = (uint8_t)(COLUMN - len);
	*text = span_skip(rest, spaces > 0);
	return PART_WORD;
}

/* I0625 12:34:56.123456 12345 train.cc:42] ; the year may stand in front of the month. */
static enum part take_glog(struct span *text, struct peeling *peeling)
{
	struct span rest = span_skip(*text, 1);
	size_t digits = count_digits(rest);

	if ((digits != 3 && digits != 4 && digits != 8) || !has_form(span_skip(rest, digits), " dd:dd:dd"))
		return PART_NONE;
	rest = span_skip(rest, digits + 1);
	if (!stamp_take_bare(&rest))
		return PART_NONE;
	ptrdiff_t end = span_find(span_cut(rest, 2 * NAME_MAX_BYTES), SPAN("] "));
	if (end < 0 || !has_place(span_of(rest.ptr, (size_t)end)))
		return PART_NONE;
	peeling->has_time = peeling->has_level = true;
	*text = span_skip(rest, (size_t)end + 2);
	return PART_WORD;
}

/* "- ", "| ", ":: ", ">> " between two parts */
static enum part take_separator(struct span *text, struct peeling *peeling)
{
	static const struct span separators[] = {SPAN("- "), SPAN("| "), SPAN(":: "), SPAN(">> "), SPAN(": ")};

	for (size_t i = 0; i < sizeof separators / sizeof *separators; i++)
		if (span_take(text, separators[i])) {
			peeling->is_separator = true;
			return separators[i].ptr[0] == '|' && peeling->is_table ? PART_GUESS : PART_WORD;
		}
	return PART_NONE;
}

/* "12345 " before a level */
static enum part take_process(struct span *text)
{
	struct span rest = *text;
	size_t digits = count_digits(rest);

	rest = span_skip(rest, digits);
	size_t spaces = count_char(rest, ' ');
	rest = span_skip(rest, spaces);
	if (!digits || !spaces || !(is_upper(char_at(rest, 0)) && logger_level_length(rest)))
		return PART_NONE;
	*text = rest;
	return PART_WORD;
}

/* "p=12345 u=root n=ansible | " of ansible's log */
static enum part take_pairs(struct span *text)
{
	struct span rest = *text;

	if (!span_take(&rest, SPAN("p=")))
		return PART_NONE;
	ptrdiff_t bar = span_find(span_cut(rest, 2 * NAME_MAX_BYTES), SPAN("| "));
	if (bar < 0)
		return PART_NONE;
	*text = span_skip(rest, (size_t)bar + 2);
	return PART_WORD;
}

/* A name behind a time or a level: "my.module - ", "trainer: ", "__main__:main:42 - ", "MainThread INFO" */
static enum part take_named(struct span *text, struct peeling *peeling)
{
	struct span rest = *text, name;
	size_t len = count_name(rest);

	if (!len || len > NAME_MAX_BYTES || len == rest.len)
		return PART_NONE;
	name = span_of(rest.ptr, len);
	rest = span_skip(rest, len);
	bool is_word = logger_is_trainer_word(name), has_place = false;
	int colons = 0;
	for (; colons < 2 && char_at(rest, 0) == ':' && char_at(rest, 1) != ' '; colons++) { /* :main:42 */
		size_t at = 1;
		while (is_name_char(char_at(rest, at)) || char_at(rest, at) == '<' || char_at(rest, at) == '>')
			at++;
		has_place = colons == 1 && is_digit(char_at(rest, at - 1));
		rest = span_skip(rest, at);
	}
	if (!rest.len || (is_word && colons))
		return PART_NONE;
	struct span behind = span_skip(rest, count_char(rest, ' '));
	bool has_level = behind.len < rest.len && is_upper(char_at(behind, 0)) && logger_level_length(behind);
	if (span_take(&rest, SPAN(": "))) {
		if (is_word)
			return PART_NONE;
	} else if (!has_level && !span_starts_with(behind, SPAN("- ")) && !span_starts_with(behind, SPAN("| ")) &&
		   !span_starts_with(behind, SPAN(":: "))) {
		return PART_NONE;
	} else {
		(void)!span_take(&rest, SPAN(" "));
	}
	*text = rest;
	peeling->guess = GUESS_NAME;
	peeling->name = name;
	return is_module(name) || has_place ? PART_WORD : PART_GUESS;
}

enum part logger_take(struct span *text, struct peeling *peeling)
{
	char first = text->ptr[0];
	bool is_behind = peeling->has_time || peeling->has_level;
	enum part part = PART_NONE;

	if (first == '[' || first == '(')
		return take_brackets(text, peeling);
	if (is_upper(first)) {
		part = take_level(text, peeling);
		if (!part && strchr("IWEFD", first))
			part = take_glog(text, peeling);
	}
	if (part || !is_behind)
		return part;
	if (is_digit(first))
		return take_process(text);
	if (!is_letter(first) && first != '_')
		return take_separator(text, peeling);
	if (take_place(text)) {
		(void)!(span_take(text, SPAN(": ")) || span_take(text, SPAN("] ")) || span_take(text, SPAN(" ")));
		return PART_WORD;
	}
	part = first == 'p' ? take_pairs(text) : PART_NONE;
	return part ? part : take_named(text, peeling);
}
