/* Parts of a prefix that collectors of logs put there: pods, containers, hosts, programs. */
#include "extract/line/part.h"

/* [pod/train-0/pytorch] */
static bool take_kubectl(struct span *text)
{
	struct span rest = *text;

	if (!span_take(&rest, SPAN("[pod/")))
		return false;
	for (int i = 0; i < 2; i++) {
		size_t len = 0;
		while (len < rest.len && len < 4 * NAME_MAX_BYTES && is_name_char(rest.ptr[len]))
			len++;
		rest = span_skip(rest, len);
		if (!len || !span_take(&rest, i ? SPAN("] ") : SPAN("/")))
			return false;
	}
	*text = rest;
	return true;
}

/* Of RFC 5424 without a priority only the version is left: "1 2026-11-30T01:10:00Z ". */
static bool take_version(struct span *text)
{
	return has_form(*text, "d dddd-dd-ddTdd:dd:dd") && char_at(*text, 12) == 'T' && span_take(text, SPAN("1 "));
}

/* "123 <3>1 ": so many bytes (RFC 6587, 3.4.1) */
static void take_octets(struct span *text)
{
	size_t digits = count_digits(*text);
	struct span rest = span_skip(*text, digits), head;

	if (!digits || digits > 5 || !span_take(&rest, SPAN(" <")))
		return;
	head = span_skip(rest, count_digits(rest));
	if (span_starts_with(head, SPAN(">1 ")))
		*text = span_skip(*text, digits + 1);
}

bool syslog_take_priority(struct span *text, bool *is_5424)
{
	struct span rest = *text;

	take_octets(&rest);
	if (take_version(text)) {
		*is_5424 = true;
		return true;
	}
	if (!span_take(&rest, SPAN("<")))
		return false;
	size_t digits = count_digits(rest);
	rest = span_skip(rest, digits);
	if (!digits || digits > 3 || !span_take(&rest, SPAN(">")))
		return false;
	*is_5424 = span_take(&rest, SPAN("1 "));
	*text = rest;
	return true;
}

static bool take_word(struct span *text)
{
	ptrdiff_t len = span_find_char(span_cut(*text, 4 * NAME_MAX_BYTES), ' ');

	if (len < 1)
		return false;
	*text = span_skip(*text, (size_t)len + 1);
	return true;
}

/* [id@32473 a="b" c="]\""][other], in which a backslash speaks for the next byte. */
static bool take_data(struct span *text)
{
	size_t at = 0;
	bool is_quoted = false;

	for (; at < text->len && (is_quoted || at == 0 || text->ptr[at] != ' ' || text->ptr[at - 1] != ']'); at++) {
		if (is_quoted && text->ptr[at] == '\\')
			at++;
		else if (text->ptr[at] == '"')
			is_quoted = !is_quoted;
	}
	if (at >= text->len)
		return false;
	*text = span_skip(*text, at);
	return true;
}

/* RFC 5424, 6: TIMESTAMP HOSTNAME APP-NAME PROCID MSGID STRUCTURED-DATA [MSG] */
static bool take_5424(struct span *text)
{
	struct span rest = *text;

	for (int i = 0; i < 5; i++)
		if (!take_word(&rest))
			return false;
	if (!span_take(&rest, SPAN("-")) && !(char_at(rest, 0) == '[' && take_data(&rest)))
		return false;
	(void)!span_take(&rest, SPAN(" "));
	(void)!span_take(&rest, SPAN("\xef\xbb\xbf"));
	*text = rest;
	return true;
}

bool syslog_take_header(struct span *text)
{
	struct span rest = *text;
	bool is_5424;

	if (!syslog_take_priority(&rest, &is_5424) || (is_5424 && !take_5424(&rest)))
		return false;
	*text = rest;
	return true;
}

/* "python[12345]: ", "kernel: "; "epoch[3]: " is none without a host in front of it. */
static bool take_program(struct span *text, bool has_host)
{
	struct span rest = *text;
	size_t len = count_name(rest), digits;
	struct span name = span_of(rest.ptr, len);

	if (!len || len > NAME_MAX_BYTES || (!has_host && logger_is_trainer_word(name)))
		return false;
	rest = span_skip(rest, len);
	if (span_take(&rest, SPAN("["))) {
		digits = count_digits(rest);
		rest = span_skip(rest, digits);
		if (!digits || !span_take(&rest, SPAN("]: ")))
			return false;
	} else if (!span_equal(name, SPAN("kernel")) || !span_take(&rest, SPAN(": "))) {
		return false;
	}
	*text = rest;
	return true;
}

bool syslog_take_program(struct span *text, struct span *name)
{
	ptrdiff_t end = span_find(span_cut(*text, 4 * NAME_MAX_BYTES), SPAN(": "));
	size_t len = count_name(*text);

	if (!len || end < 1 || span_find_char(span_cut(*text, (size_t)end), ' ') >= 0)
		return false;
	*name = span_of(text->ptr, len);
	*text = span_skip(*text, (size_t)end + 2);
	return true;
}

/* A syslog's line as a whole. */
static bool is_syslog_line(struct span text)
{
	bool is_5424 = false;
	struct span name;

	(void)syslog_take_priority(&text, &is_5424);
	if (!stamp_has_date(text) || stamp_take(&text) == PART_NONE)
		return false;
	size_t len = count_name(text);
	if (!len || char_at(text, len) != ' ' || logger_is_trainer_word(span_of(text.ptr, len)))
		return false;
	text = span_skip(text, len + 1);
	return is_5424 || syslog_take_program(&text, &name);
}

/* "journal: " in front of another syslog's line, which that program handed on: it needs no number. */
static bool take_relay(struct span *text)
{
	struct span rest = *text, name;

	if (!syslog_take_program(&rest, &name) || !is_syslog_line(rest))
		return false;
	*text = rest;
	return true;
}

/* "gpu01 python[12345]: " behind a time, as journalctl and syslog print it; journalctl --no-hostname has the program alone. */
static bool take_host_and_program(struct span *text)
{
	struct span rest = *text;
	size_t len = count_name(rest);

	if (!len || len > NAME_MAX_BYTES)
		return false;
	if (char_at(rest, len) != ' ')
		return take_program(text, false);
	rest = span_skip(rest, len + 1);
	if (!take_program(&rest, true) && !take_relay(&rest))
		return false;
	*text = rest;
	return true;
}

/* What names of machines, pods and containers have, and the words that begin a trainer's line do not. */
struct name {
	size_t len;
	bool has_digit, has_dash, has_dot, ends_with_number;
};

static struct name read_name(struct span text)
{
	struct name name = {.len = count_name(text)};

	for (size_t i = 0; i < name.len; i++) {
		name.has_digit |= is_digit(text.ptr[i]);
		name.has_dash |= text.ptr[i] == '-';
		name.has_dot |= text.ptr[i] == '.';
	}
	size_t digits = 0;
	while (digits < name.len && is_digit(text.ptr[name.len - 1 - digits]))
		digits++;
	char before = digits && digits < name.len ? text.ptr[name.len - 1 - digits] : ' ';
	name.ends_with_number = before == '-' || before == '_';
	return name;
}

/* "web-1  | ", "web_1  | " of compose; "web  | ", a container's own name, may be a column. */
static enum part take_compose(struct span *text, const struct name *name)
{
	struct span rest = span_skip(*text, name->len);
	size_t spaces = count_char(rest, ' ');
	size_t head = name->len;

	rest = span_skip(rest, spaces);
	if (!spaces || !span_take(&rest, SPAN("| ")))
		return PART_NONE;
	while (head && !is_letter(text->ptr[head - 1]))
		head--;
	if (!head || is_upper(text->ptr[0]) || logger_is_trainer_word(span_of(text->ptr, head)) ||
		(!name->ends_with_number && spaces < 2))
		return PART_NONE;
	*text = rest;
	return name->ends_with_number && spaces >= 2 ? PART_TAG : PART_GUESS;
}

/* "pod-0 container " of stern, "namespace pod-0 container " of stern --all-namespaces */
static enum part take_stern(struct span *text, struct name pod)
{
	struct span rest = *text;

	if (!pod.has_dash || !pod.has_digit) {
		if (logger_is_trainer_word(span_of(rest.ptr, pod.len)))
			return PART_NONE;
		rest = span_skip(rest, pod.len + 1);
		pod = read_name(rest);
	}
	if (!pod.has_dash || !pod.has_digit || pod.len > NAME_MAX_BYTES || char_at(rest, pod.len) != ' ')
		return PART_NONE;
	rest = span_skip(rest, pod.len + 1);
	size_t len = count_name(rest);
	if (!len || len > NAME_MAX_BYTES || !is_letter(rest.ptr[0]) || char_at(rest, len) != ' ' ||
		logger_is_trainer_word(span_of(rest.ptr, len)))
		return PART_NONE;
	*text = span_skip(rest, len + 1);
	return PART_GUESS;
}

/* Behind a plain word: the spaces and the bar of compose, or the name of a pod. */
static bool may_follow_name(struct span text)
{
	size_t letters = 0;

	if (char_at(text, 0) == ' ')
		return char_at(text, count_char(text, ' ')) == '|';
	while (is_letter(char_at(text, letters)) || is_digit(char_at(text, letters)))
		letters++;
	return letters && is_letter(text.ptr[0]) && char_at(text, letters) == '-';
}

/* At the line's start: what begins with a small letter or a digit, as names of machines do. */
static enum part take_name(struct span *text, uint8_t *guess)
{
	/* Nearly all lines have a plain word here. */
	size_t plain = 0;
	while (is_letter(char_at(*text, plain)))
		plain++;
	char next = char_at(*text, plain);
	if (next == ' ' ? !may_follow_name(span_skip(*text, plain + 1))
			: !is_digit(next) && next != '-' && next != '_' && next != '.')
		return PART_NONE;
	struct name name = read_name(*text);
	if (!name.len || name.len > NAME_MAX_BYTES)
		return PART_NONE;
	next = char_at(*text, name.len);
	if (next == ':' && char_at(*text, name.len + 1) == ' ' && (name.has_dash || name.has_digit || name.has_dot) &&
		is_letter(text->ptr[0]) && !logger_is_trainer_word(span_of(text->ptr, plain))) {
		*text = span_skip(*text, name.len + 2);
		*guess = GUESS_HOST;
		return PART_GUESS;
	}
	if (next != ' ')
		return PART_NONE;
	enum part part = take_compose(text, &name);
	*guess = part ? GUESS_CONTAINER : GUESS_POD;
	return part ? part : take_stern(text, name);
}

enum part collector_take(struct span *text, struct peeling *peeling)
{
	char first = text->ptr[0];

	if (first == '[')
		return take_kubectl(text) ? PART_TAG : PART_NONE;
	if (is_digit(first) && peeling->is_first && syslog_take_header(text))
		return PART_TAG;
	if (first == '<')
		return (peeling->is_first || is_syslog_line(*text)) && syslog_take_header(text) ? PART_TAG : PART_NONE;
	if (peeling->has_time && !peeling->has_level && take_host_and_program(text))
		return PART_TAG;
	return peeling->is_first && (is_letter(first) || is_digit(first)) ? take_name(text, &peeling->guess)
									  : PART_NONE;
}
