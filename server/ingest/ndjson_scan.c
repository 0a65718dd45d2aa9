#include "ingest/ndjson_scan.h"

struct scanner {
	const char *start;
	const char *at;
	const char *end;
	const char *expected; /* set by the first mistake, which is at `at` */
	bool says_kernel;
};

static bool fail(struct scanner *s, const char *expected)
{
	s->expected = expected;
	return false;
}

static void skip_blanks(struct scanner *s)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\r' || *s->at == '\n'))
		s->at++;
}

static bool accept_char(struct scanner *s, char c)
{
	if (s->at == s->end || *s->at != c)
		return false;
	s->at++;
	return true;
}

/* A quote ends the string unless an odd number of backslashes is before it. Runs of them are counted once: linear. */
static bool scan_string(struct scanner *s, struct ndjson_value *value)
{
	const char *first = ++s->at;

	for (const char *from = first;; from = s->at) {
		const char *quote = memchr(from, '"', (size_t)(s->end - from));
		if (!quote) {
			s->at = s->end;
			return fail(s, "the end of a string");
		}
		const char *slash = quote;
		while (slash > from && slash[-1] == '\\')
			slash--;
		s->at = quote + 1;
		if ((quote - slash) % 2 == 0) {
			size_t len = (size_t)(quote - first);
			bool has_escapes = len && memchr(first, '\\', len);
			*value = (struct ndjson_value){NDJSON_STRING, span_of(first, len), has_escapes};
			s->says_kernel |= span_equal(value->raw, SPAN("kernel"));
			return true;
		}
	}
}

static void scan_digits(struct scanner *s)
{
	while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
		s->at++;
}

static bool scan_word(struct scanner *s, struct span word)
{
	if (!span_starts_with(span_of(s->at, (size_t)(s->end - s->at)), word))
		return false;
	s->at += word.len;
	return true;
}

static bool scan_number(struct scanner *s)
{
	accept_char(s, '-');
	if (scan_word(s, SPAN("Infinity")))
		return true;
	const char *digits = s->at;
	scan_digits(s);
	if (s->at == digits)
		return fail(s, "a value");
	if (accept_char(s, '.')) {
		const char *fraction = s->at;
		scan_digits(s);
		if (s->at == fraction)
			return fail(s, "a digit");
	}
	if (accept_char(s, 'e') || accept_char(s, 'E')) {
		if (!accept_char(s, '+'))
			accept_char(s, '-');
		const char *exponent = s->at;
		scan_digits(s);
		if (s->at == exponent)
			return fail(s, "a digit");
	}
	return true;
}

static bool scan_value(struct scanner *s, unsigned depth, struct ndjson_value *value);

/* The inside of an object or array of no interest, behind its bracket. */
static bool skip_nested(struct scanner *s, unsigned depth, bool is_object)
{
	struct ndjson_value ignored;
	char close = is_object ? '}' : ']';

	if (depth >= NDJSON_MAX_DEPTH)
		return fail(s, "less nesting (64 levels at most)");
	skip_blanks(s);
	if (accept_char(s, close))
		return true;
	do {
		skip_blanks(s);
		if (is_object) {
			if (s->at == s->end || *s->at != '"')
				return fail(s, "a field's name in quotes");
			if (!scan_string(s, &ignored))
				return false;
			skip_blanks(s);
			if (!accept_char(s, ':'))
				return fail(s, "':'");
		}
		if (!scan_value(s, depth + 1, &ignored))
			return false;
		skip_blanks(s);
	} while (accept_char(s, ','));
	return accept_char(s, close) || fail(s, is_object ? "',' or '}'" : "',' or ']'");
}

static bool scan_value(struct scanner *s, unsigned depth, struct ndjson_value *value)
{
	skip_blanks(s);
	if (s->at == s->end)
		return fail(s, "a value");
	const char *first = s->at;
	bool is_good;
	*value = (struct ndjson_value){.kind = NDJSON_OTHER};
	switch (*first) {
	case '"':
		return scan_string(s, value);
	case '{':
	case '[':
		s->at++;
		return skip_nested(s, depth, *first == '{');
	case 'n':
		value->kind = NDJSON_NULL;
		is_good = scan_word(s, SPAN("null"));
		break;
	case 't':
		is_good = scan_word(s, SPAN("true"));
		break;
	case 'f':
		is_good = scan_word(s, SPAN("false"));
		break;
	case 'N':
		is_good = scan_word(s, SPAN("NaN"));
		break;
	case 'I':
		is_good = scan_word(s, SPAN("Infinity"));
		break;
	default:
		value->kind = NDJSON_NUMBER;
		is_good = scan_number(s);
		value->raw = span_of(first, (size_t)(s->at - first));
		return is_good;
	}
	return is_good || fail(s, "a value");
}

static int field_of(struct span name)
{
	static const struct span names[NDJSON_FIELD_COUNT] = {
		[NDJSON_LINE] = {"line", 4},
		[NDJSON_LOG] = {"log", 3},
		[NDJSON_MESSAGE] = {"message", 7},
		[NDJSON_TS] = {"ts", 2},
		[NDJSON_TS_MS] = {"ts_ms", 5},
		[NDJSON_TIME] = {"time", 4},
		[NDJSON_AT_TIMESTAMP] = {"@timestamp", 10},
		[NDJSON_TIMESTAMP] = {"timestamp", 9},
		[NDJSON_DATE] = {"date", 4},
		[NDJSON_JOURNAL_TIME] = {"__REALTIME_TIMESTAMP", 20},
		[NDJSON_STREAM] = {"stream", 6},
		[NDJSON_JOB] = {"job", 3},
		[NDJSON_OWN_HOST] = {"_HOSTNAME", 9},
		[NDJSON_OWN_HOST_SMALL] = {"_hostname", 9},
		[NDJSON_HOSTNAME_CAPITALS] = {"HOSTNAME", 8},
		[NDJSON_HOSTNAME] = {"hostname", 8},
		[NDJSON_HOST_CAPITALS] = {"HOST", 4},
		[NDJSON_HOST] = {"host", 4},
		[NDJSON_HOST_NAME] = {"host.name", 9},
		[NDJSON_KUBERNETES] = {"kubernetes", 10},
	};

	for (int i = 0; i < NDJSON_FIELD_COUNT; i++)
		if (span_equal(name, names[i]))
			return i;
	return -1;
}

static bool scan_field(struct scanner *s, struct ndjson_object *object)
{
	struct ndjson_value name, value;

	skip_blanks(s);
	if (s->at == s->end || *s->at != '"')
		return fail(s, "a field's name in quotes");
	if (!scan_string(s, &name))
		return false;
	skip_blanks(s);
	if (!accept_char(s, ':'))
		return fail(s, "':'");
	if (!scan_value(s, 1, &value))
		return false;
	int field = field_of(name.raw);
	if (field >= 0 && object->fields[field].kind == NDJSON_ABSENT)
		object->fields[field] = value;
	skip_blanks(s);
	return true;
}

static bool scan_object(struct scanner *s, struct ndjson_object *object)
{
	skip_blanks(s);
	if (!accept_char(s, '{'))
		return fail(s, "'{'");
	skip_blanks(s);
	if (!accept_char(s, '}')) {
		do {
			if (!scan_field(s, object))
				return false;
		} while (accept_char(s, ','));
		if (!accept_char(s, '}'))
			return fail(s, "',' or '}'");
	}
	skip_blanks(s);
	return s->at == s->end || fail(s, "the end of the line behind '}'");
}

bool ndjson_scan(struct span text, struct ndjson_object *object, struct ndjson_mistake *mistake)
{
	struct scanner s = {.start = text.ptr, .at = text.ptr, .end = text.ptr + text.len};

	*object = (struct ndjson_object){0};
	if (scan_object(&s, object)) {
		object->says_kernel = s.says_kernel;
		return true;
	}
	*mistake = (struct ndjson_mistake){(size_t)(s.at - s.start) + 1, s.expected};
	return false;
}

static bool take_hex4(const char *at, const char *end, uint32_t *code)
{
	uint32_t sum = 0;

	if (end - at < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		int digit = span_hex_digit(at[i]);
		if (digit < 0)
			return false;
		sum = sum << 4 | (uint32_t)digit;
	}
	*code = sum;
	return true;
}

static void append_utf8(struct buf *out, uint32_t code)
{
	static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
	char bytes[4];
	size_t len = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	for (size_t i = len - 1; i > 0; i--, code >>= 6)
		bytes[i] = (char)(0x80 | (code & 0x3f));
	bytes[0] = (char)(leads[len] | code);
	buf_append(out, bytes, len);
}

/* Behind "\u": one character, of one or two escapes. Returns what is behind it, NULL: no four hex digits. */
static const char *decode_unicode(const char *at, const char *end, struct buf *out)
{
	uint32_t code, low;

	if (!take_hex4(at, end, &code))
		return NULL;
	at += 4;
	if (code >= 0xd800 && code < 0xdc00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u' &&
		take_hex4(at + 2, end, &low) && low >= 0xdc00 && low < 0xe000) {
		at += 6;
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
	}
	append_utf8(out, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
	return at;
}

bool ndjson_decode(struct span raw, struct buf *out, size_t *column)
{
	static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	const char *at = raw.ptr, *end = raw.ptr + raw.len;

	while (at < end) {
		const char *slash = memchr(at, '\\', (size_t)(end - at));
		buf_append(out, at, (size_t)((slash ? slash : end) - at));
		if (!slash)
			break;
		at = slash + 2; /* the scanner saw to it that something is behind a backslash */
		const char *escape = memchr(escapes, slash[1], sizeof escapes - 1);
		if (escape)
			buf_append_char(out, meanings[escape - escapes]);
		else if (slash[1] == 'u')
			at = decode_unicode(at, end, out);
		if ((!escape && slash[1] != 'u') || !at) {
			*column = (size_t)(slash - raw.ptr) + 1;
			return false;
		}
	}
	return true;
}
