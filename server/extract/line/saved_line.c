#include "extract/line/saved_line.h"

#include "extract/line/cursor.h"

static bool is_among(struct span word, const struct span *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (span_equal_fold(word, words[i]))
			return true;
	return false;
}

/* nanoGPT's signature begins with the line, to look at what stands in front. */
static struct span begin_of(struct span said)
{
	ptrdiff_t at = span_find(said, SPAN("saving checkpoint to "));

	return at > 0 ? span_skip(said, (size_t)at) : said;
}

static struct span take_word(struct span *text)
{
	struct span word;

	*text = span_skip(*text, count_char(*text, ' '));
	if (!span_next(text, ' ', &word)) {
		word = *text;
		*text = SPAN("");
	}
	return word;
}

static bool is_mark(char c)
{
	return memchr("[](){}<>\"'`,;:.!?", c, 17);
}

static struct span strip_marks(struct span word)
{
	while (word.len && is_mark(word.ptr[0]))
		word = span_skip(word, 1);
	while (word.len && is_mark(word.ptr[word.len - 1]))
		word.len--;
	return word;
}

/* ---- in front of it ---- */

/* Who tells what others say, or what is to come; wherever in the line. */
static bool tells_of_others(struct span word)
{
	static const struct span words[] = {SPAN("asked"), SPAN("asks"), SPAN("said"), SPAN("says"), SPAN("told"),
		SPAN("why"), SPAN("next"), SPAN("plan"), SPAN("planned"), SPAN("example"), SPAN("e.g"), SPAN("dry-run"),
		SPAN("dry_run"), SPAN("dryrun")};

	return is_among(word, words, sizeof words / sizeof *words);
}

/* In its clause. */
static bool denies(struct span word)
{
	static const struct span words[] = {SPAN("not"), SPAN("never"), SPAN("cannot"), SPAN("can't"), SPAN("couldn't"),
		SPAN("could"), SPAN("would"), SPAN("should"), SPAN("may"), SPAN("might"), SPAN("will"), SPAN("if"),
		SPAN("unless"), SPAN("until"), SPAN("before"), SPAN("unable"), SPAN("failed"), SPAN("skip"),
		SPAN("skipped"), SPAN("skipping")};

	return is_among(word, words, sizeof words / sizeof *words);
}

/* "the saved checkpoint", "deleted saved checkpoint": one that was saved at some other time. */
static bool makes_it_a_thing(struct span word)
{
	static const struct span words[] = {SPAN("the"), SPAN("a"), SPAN("an"), SPAN("this"), SPAN("that"),
		SPAN("each"), SPAN("every"), SPAN("any"), SPAN("no"), SPAN("last"), SPAN("latest"), SPAN("best"),
		SPAN("newest"), SPAN("oldest"), SPAN("old"), SPAN("older"), SPAN("existing"), SPAN("previous"),
		SPAN("previously"), SPAN("found"), SPAN("deleted"), SPAN("deleting"), SPAN("removed"), SPAN("removing"),
		SPAN("loaded"), SPAN("loading"), SPAN("restored"), SPAN("restoring"), SPAN("expected"), SPAN("from"),
		SPAN("of"), SPAN("with")};

	return is_among(word, words, sizeof words / sizeof *words);
}

static bool ends_clause(struct span word)
{
	return word.len && memchr(",;:.!?", word.ptr[word.len - 1], 6);
}

/* "RuntimeError: ", "ValueError("; "test_saved[" of pytest */
static bool ends_otherwise(struct span front)
{
	size_t len = front.len;

	if (len > 1 && front.ptr[len - 1] == '[' && is_name_char(front.ptr[len - 2]))
		return true;
	while (len && memchr(" :(\"'", front.ptr[len - 1], 5))
		len--;
	front.len = len;
	return span_ends_with(front, SPAN("Error")) || span_ends_with(front, SPAN("Exception"));
}

/* What a label says of the words behind it: those of another time, or that somebody waits for or looks for. */
static bool labels_others(struct span word)
{
	static const struct span words[] = {SPAN("previous"), SPAN("previously"), SPAN("old"), SPAN("older"),
		SPAN("earlier"), SPAN("former"), SPAN("past"), SPAN("seen"), SPAN("history"), SPAN("waiting"),
		SPAN("waited"), SPAN("wait"), SPAN("awaiting"), SPAN("expected"), SPAN("expecting"), SPAN("pattern"),
		SPAN("regex"), SPAN("looking"), SPAN("searching"), SPAN("matching"), SPAN("grep"), SPAN("response"),
		SPAN("completion"), SPAN("generated"), SPAN("generation"), SPAN("sample")};

	return is_among(word, words, sizeof words / sizeof *words);
}

/* "waiting for: ", "WARNING last seen in old log: ", "[response] ": the front's last clause is a label, and such a one. */
static bool is_labelled(struct span front)
{
	bool is_others = false, is_label = false;
	struct span rest = front;

	while (rest.len) {
		struct span word = take_word(&rest), plain = strip_marks(word);
		if (!word.len)
			break;
		bool is_bracketed = char_at(word, 0) == '[' && char_at(word, word.len - 1) == ']';
		bool goes_on = is_others && !is_label && !is_bracketed; /* the clause before */
		is_others = goes_on || labels_others(plain);
		is_label = is_bracketed || char_at(word, word.len - 1) == ':';
	}
	return is_others && is_label;
}

/* "log_pattern=", and Megatron's "ckpt_regex ....... "; not what hands a line on: "msg=". */
static bool is_of_setting(struct span front)
{
	static const struct span members[] = {
		SPAN("msg"), SPAN("message"), SPAN("log"), SPAN("line"), SPAN("event"), SPAN("body")};
	struct span word = SPAN(""), rest = span_trim(front);

	while (rest.len)
		word = take_word(&rest);
	if (word.len > 3 && count_char(word, '.') == word.len)
		return true;
	if (char_at(word, word.len - 1) != '=')
		return false;
	word.len--;
	return !is_among(word, members, sizeof members / sizeof *members);
}

static bool is_denied(struct span front)
{
	bool is_in_clause = false, was_dry = false;
	struct span word = SPAN(""), rest = front;

	if (ends_otherwise(front) || is_labelled(front) || is_of_setting(front))
		return true;
	while (rest.len) {
		struct span next = take_word(&rest), plain = strip_marks(next);
		if (!next.len)
			break;
		if (tells_of_others(plain) || (was_dry && span_equal_fold(plain, SPAN("run"))))
			return true;
		was_dry = span_equal_fold(plain, SPAN("dry"));
		is_in_clause = (is_in_clause || denies(plain)) && !ends_clause(next);
		word = next;
	}
	return is_in_clause || makes_it_a_thing(word);
}

/* ---- behind it ---- */

static bool is_ruined(struct span word)
{
	static const struct span words[] = {SPAN("corrupt"), SPAN("corrupted"), SPAN("broken"), SPAN("incomplete"),
		SPAN("truncated"), SPAN("missing"), SPAN("invalid"), SPAN("deleted"), SPAN("removed"), SPAN("wrong"),
		SPAN("unreadable"), SPAN("unusable"), SPAN("damaged"), SPAN("empty"), SPAN("not")};

	return is_among(word, words, sizeof words / sizeof *words);
}

static bool is_verb(struct span word)
{
	static const struct span verbs[] = {SPAN("is"), SPAN("was"), SPAN("are"), SPAN("were"), SPAN("has"),
		SPAN("seems"), SPAN("looks"), SPAN("must"), SPAN("can"), SPAN("could"), SPAN("should"), SPAN("does"),
		SPAN("did")};

	return is_among(word, verbs, sizeof verbs / sizeof *verbs);
}

static bool is_between(struct span word)
{
	static const struct span words[] = {
		SPAN("been"), SPAN("now"), SPAN("already"), SPAN("probably"), SPAN("still"), SPAN("to"), SPAN("be")};

	return is_among(word, words, sizeof words / sizeof *words);
}

/* "… is corrupt", "… has been deleted", "… cannot be loaded", "… failed"; not what is said of another one: "(previous one removed)". */
static bool takes_back(struct span behind)
{
	bool is_behind_verb = false, is_first = true;
	struct span rest = behind;

	if (char_at(rest, 0) != ' ')
		(void)take_word(&rest); /* the end of the path */
	while (rest.len) {
		struct span next = take_word(&rest), word = strip_marks(next);
		if (char_at(next, 0) == '(' || char_at(next, 0) == ';')
			return false;
		if ((is_behind_verb && is_ruined(word)) || span_equal_fold(word, SPAN("cannot")) ||
			span_equal_fold(word, SPAN("can't")) || (is_first && span_equal_fold(word, SPAN("failed"))))
			return true;
		is_behind_verb = is_verb(word) || (is_behind_verb && is_between(word));
		is_first = false;
		if (char_at(next, next.len - 1) == ';')
			return false;
	}
	return false;
}

bool saved_line_is_trainers(struct span text, struct span said)
{
	struct span begin = begin_of(said);
	size_t from = (size_t)(begin.ptr - text.ptr), end = (size_t)(said.ptr - text.ptr) + said.len, stop = end;

	while (from && !memchr("\r\n", text.ptr[from - 1], 2))
		from--;
	while (stop < text.len && !memchr("\r\n", text.ptr[stop], 2))
		stop++;
	struct span front = span_of(text.ptr + from, (size_t)(begin.ptr - text.ptr) - from);
	return !is_denied(front) && !takes_back(span_of(text.ptr + end, stop - end));
}
