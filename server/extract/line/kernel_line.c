#include "extract/line/kernel_line.h"

#include "base/json/json_write.h"
#include "extract/line/ansi.h"
#include "extract/line/machine_name.h"
#include "extract/line/part.h"
#include "extract/line/unwrap.h"

/* "2026-11-30 01:10:00 INFO kernel: …" is a logger's of that name. */
static bool is_known_to_nobody(struct span host)
{
	return span_equal(host, SPAN("localhost")) || span_starts_with(host, SPAN("localhost.")) ||
	       (host.len && logger_level_length(host) == host.len);
}

/* Blanks and colours in front. */
static struct span skip_space(struct span text)
{
	for (size_t len = 1; len;) {
		len = char_at(text, 0) == ' ' || char_at(text, 0) == '\t' ? 1 : ansi_length(text);
		text = span_skip(text, len);
	}
	return text;
}

/* ---- "Nov 30 01:10:00 gpu07 kernel: ", "<4>1 2026-11-30T01:10:00Z gpu07 kernel - - - " ---- */

static bool take_host(struct span *text, struct span *host)
{
	size_t len = machine_name_length(*text);

	*host = span_of(text->ptr, len);
	*text = span_skip(*text, len);
	return len && span_take(text, SPAN(" "));
}

static bool take_stamp(struct span *text)
{
	return text->len && stamp_take(text) != PART_NONE;
}

bool kernel_line_has_header(struct span text, struct span *host)
{
	bool is_5424 = false;

	text = skip_space(text);
	(void)syslog_take_priority(&text, &is_5424);
	return take_stamp(&text) && take_host(&text, host) &&
	       (span_starts_with(text, SPAN("kernel: ")) || (is_5424 && span_starts_with(text, SPAN("kernel ")))) &&
	       !is_known_to_nobody(*host);
}

/* A priority, a date, a month or a day of the week; then the program, behind so many blanks at most. */
bool kernel_line_may_have_header(struct span text)
{
	text = skip_space(text);
	char first = char_at(text, 0);
	bool is_date = is_digit(first) && char_at(text, 4) == '-' && char_at(text, 7) == '-';

	if (first != '<' && !is_date && (!is_letter(first) || char_at(text, 3) != ' '))
		return false;
	int blanks = !is_date ? 6 : char_at(text, 10) == 'T' ? 2 : 3;
	struct span rest = span_cut(text, 2 * MACHINE_NAME_MAX_BYTES);
	for (int i = 0; i < blanks; i++) {
		ptrdiff_t blank = span_find_char(rest, ' ');
		if (blank < 0)
			return false;
		rest = span_skip(rest, (size_t)blank + 1);
		if (span_starts_with(rest, SPAN("kernel")))
			return true;
	}
	return false;
}

/* "4,1234,5678901,-;", in front of a record of /dev/kmsg */
static void take_kmsg(struct span *text)
{
	struct span rest = *text;

	for (int i = 0; i < 3; i++) {
		size_t digits = count_digits(rest);
		rest = span_skip(rest, digits);
		if (!digits || !span_take(&rest, SPAN(",")))
			return;
	}
	ptrdiff_t end = span_find_char(span_cut(rest, NAME_MAX_BYTES), ';');
	*text = end < 0 ? *text : span_skip(rest, (size_t)end + 1);
}

/* "kern  :warn  : " of dmesg -x */
static void take_level(struct span *text)
{
	static const struct span levels[] = {SPAN("emerg"), SPAN("alert"), SPAN("crit"), SPAN("err"), SPAN("warn"),
		SPAN("notice"), SPAN("info"), SPAN("debug")};
	struct span rest = *text;
	size_t i = 0;

	if (!span_take(&rest, SPAN("kern")))
		return;
	rest = span_skip(rest, count_char(rest, ' '));
	if (!span_take(&rest, SPAN(":")))
		return;
	while (i < sizeof levels / sizeof *levels && !span_take(&rest, levels[i]))
		i++;
	rest = span_skip(rest, count_char(rest, ' '));
	if (i < sizeof levels / sizeof *levels && span_take(&rest, SPAN(": ")))
		*text = rest;
}

/* "[  123.456789]", and the caller "[ T4711]" behind it, of dmesg */
static bool take_uptime(struct span *text)
{
	struct span rest = *text;

	if (!span_take(&rest, SPAN("[")))
		return false;
	rest = span_skip(rest, count_char(rest, ' '));
	size_t seconds = count_digits(rest);
	rest = span_skip(rest, seconds);
	if (!seconds || !span_take(&rest, SPAN(".")))
		return false;
	rest = span_skip(rest, count_digits(rest));
	if (!span_take(&rest, SPAN("]")))
		return false;
	ptrdiff_t end = char_at(rest, 0) == '[' ? span_find_char(span_cut(rest, NAME_MAX_BYTES), ']') : -1;
	rest = span_skip(rest, (size_t)(end + 1));
	if (!span_take(&rest, SPAN(" ")))
		return false;
	*text = rest;
	return true;
}

bool kernel_line_begins(struct span text)
{
	static const struct span words[] = {SPAN("NVRM: "), SPAN("nvidia-nvswitch"), SPAN("mlx5_core "),
		SPAN("Out of memory: Kill"), SPAN("Memory cgroup out of memory: Kill")};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (span_starts_with(text, words[i]))
			return true;
	return false;
}

bool kernel_line_is(struct span text)
{
	struct span host, rest;
	bool is_5424;

	text = skip_space(text);
	(void)syslog_take_priority(&text, &is_5424);
	take_kmsg(&text);
	take_level(&text);
	(void)(take_uptime(&text) || take_stamp(&text));
	text = rest = skip_space(text);
	if (take_host(&rest, &host) && span_starts_with(rest, SPAN("kernel: ")))
		text = rest;
	(void)!span_take(&text, SPAN("kernel: "));
	(void)(take_uptime(&text) || take_stamp(&text));
	return kernel_line_begins(skip_space(text));
}

/* "Nov 30 01:10:00 gpu07 journal: NVRM: Xid": another program hands on what the kernel said. */
bool kernel_line_is_handed_on(struct span text, struct span *host)
{
	bool is_5424;

	(void)syslog_take_priority(&text, &is_5424);
	if (!take_stamp(&text) || !take_host(&text, host) || is_known_to_nobody(*host))
		return false;
	ptrdiff_t end = span_find(span_cut(text, MACHINE_NAME_MAX_BYTES), SPAN(": "));
	return end > 0 && span_find_char(span_cut(text, (size_t)end), ' ') < 0 &&
	       kernel_line_is(span_skip(text, (size_t)end + 2));
}

/* ---- {"host":"gpu07","message":"NVRM: …"} ---- */

enum { PATH_KEYS = 8 };

/* The best machine so far of those that members name: that of the first of their names. */
struct origin {
	const struct span *names;
	size_t count; /* of the names that are better than the present one */
	struct span host;
};

/* What an object or a list is in, from the record on. */
struct around {
	struct origin own;
	bool has_line; /* a kernel's, or the one that is asked for, stands in it and has no header that says whose it is */
};

struct record {
	struct span rest;
	struct span path[PATH_KEYS]; /* the keys of the objects around; "": of a list */
	size_t depth;
	struct around around[PATH_KEYS]; /* the first is the record itself */
	struct origin pods; /* where its pod runs */
	struct span inner; /* the machine that objects in it name, around a kernel's line; of nobody: several */
	bool is_programs; /* it says that the kernel wrote its text */
};

struct reading {
	struct span said; /* what whose it is is asked of; "": that is not known */
	bool takes_drivers; /* what a driver says counts, whether that is in it or not */
	struct buf *plain;
};

/* What a text says of a kernel's line. */
struct quoted {
	bool is_kernels;
	bool is_sure; /* by more than its words */
	bool is_said; /* it holds what the signature matched */
	struct span host; /* whose it is: what stands nearest to it says so; "": nothing does */
};

/* Where a record names the collector as well, journald's and the longer one are the origin's. What is deeper tells of others. Fluent Bit
 * writes journald's in small letters, or without what stands in front, where it is told to. */
static const struct span own_names[] = {SPAN("_HOSTNAME"), SPAN("_hostname"), SPAN("HOSTNAME"), SPAN("hostname"),
	SPAN("host"), SPAN("host.name"), SPAN("host.hostname")};
enum { JOURNALS_NAMES = 2 };
/* of Fluent Bit and Fluentd, of Vector, of Filebeat */
static const struct span pods_names[] = {SPAN("kubernetes.host"), SPAN("kubernetes.node_name"),
	SPAN("kubernetes.pod_node_name"), SPAN("kubernetes.node.name")};
/* of journald, of Vector, of rsyslog, Logstash, Fluent Bit and Filebeat */
static const struct span programs_names[] = {SPAN("SYSLOG_IDENTIFIER"), SPAN("syslog_identifier"), SPAN("_TRANSPORT"),
	SPAN("_transport"), SPAN("appname"), SPAN("program"), SPAN("programname"), SPAN("ident"), SPAN("process.name"),
	SPAN("syslog.identifier")};

/* from: of the objects around the one that the path begins in */
static bool is_at(const struct record *record, size_t from, struct span path)
{
	for (size_t i = from; i < record->depth; i++)
		if (i >= PATH_KEYS || !record->path[i].len || (i > from && !span_take(&path, SPAN("."))) ||
			!span_take(&path, record->path[i]))
			return false;
	return !path.len;
}

static bool may_be_host(struct span value)
{
	return value.len && machine_name_length(value) == value.len && !is_known_to_nobody(value);
}

static void note_origin(const struct record *record, size_t from, struct span value, struct origin *origin)
{
	for (size_t i = 0; i < origin->count; i++)
		if (is_at(record, from, origin->names[i]) && may_be_host(value)) {
			origin->host = value;
			origin->count = i;
		}
}

static void note_program(struct record *record, struct span value)
{
	if (!span_equal(value, SPAN("kernel")))
		return;
	for (size_t i = 0; i < sizeof programs_names / sizeof *programs_names; i++)
		record->is_programs |= is_at(record, 0, programs_names[i]);
}

/* With its escapes read, in the room that there is for it. */
static struct span make_plain(struct span value, struct buf *plain)
{
	size_t from = plain->len;

	if (span_find_char(value, '\\') < 0)
		return value;
	unwrap_append_plain(value, plain);
	return span_of(plain->ptr + from, plain->len - from);
}

static bool has_drivers_word(struct span text)
{
	return span_find(text, SPAN("NVRM: ")) >= 0 || span_find(text, SPAN("nvidia-nvswitch")) >= 0 ||
	       span_find(text, SPAN("mlx5_core ")) >= 0;
}

/* A line's end, or '\r' where a record's text is read. */
static size_t line_length(struct span text)
{
	size_t len = 0;

	while (len < text.len && text.ptr[len] != '\n' && text.ptr[len] != '\r')
		len++;
	return len;
}

static bool is_quoted_in_line(struct span line)
{
	for (ptrdiff_t at; (at = span_find_char(line, '"')) >= 0;) {
		line = span_skip(line, (size_t)at + 1);
		if (kernel_line_is(line))
			return true;
	}
	return false;
}

bool kernel_line_is_quoted(struct span text)
{
	if (kernel_line_is(text))
		return true;
	if (!has_drivers_word(text))
		return false;
	while (text.len) {
		struct span line = span_of(text.ptr, line_length(text));
		if (kernel_line_is(line) || is_quoted_in_line(line))
			return true;
		text = span_skip(text, line.len + 1);
	}
	return false;
}

/* The one of its lines that holds what is asked for. */
static struct span line_of(struct span text, struct span said)
{
	ptrdiff_t at = said.len ? span_find(text, said) : -1;

	if (at < 0)
		return text;
	size_t begin = (size_t)at;
	while (begin && text.ptr[begin - 1] != '\n' && text.ptr[begin - 1] != '\r')
		begin--;
	text = span_skip(text, begin);
	return span_of(text.ptr, line_length(text));
}

static struct quoted read_record(struct span text, size_t level, const struct reading *reading);

static bool is_said_in(struct span text, const struct reading *reading)
{
	return reading->said.len && span_find(text, reading->said) >= 0;
}

static struct quoted read_text(struct span value, size_t level, const struct reading *reading)
{
	struct span text = make_plain(value, reading->plain), host;

	if (char_at(text, 0) == '{' && level < UNWRAP_RECORDS_MAX)
		return read_record(text, level + 1, reading);
	text = line_of(text, reading->said);
	bool is_said = is_said_in(text, reading), is_drivers = kernel_line_is_quoted(text);
	struct quoted none = {.is_said = is_said, .host = SPAN("")};
	if (!is_said && !(is_drivers && reading->takes_drivers))
		return none;
	if (kernel_line_has_header(text, &host))
		return (struct quoted){true, true, is_said, host};
	if (kernel_line_is_handed_on(text, &host))
		return (struct quoted){true, false, is_said, host};
	none.is_kernels = is_drivers;
	return none;
}

/* False: the line ends within it. */
static bool take_text(struct record *record, struct span *text)
{
	if (take_json_text(&record->rest, text))
		return true;
	*text = span_skip(record->rest, 1);
	record->rest = SPAN("");
	return false;
}

static const struct origin of_own = {own_names, sizeof own_names / sizeof *own_names, SPAN("")};

static void open_one(struct record *record)
{
	if (record->depth++ >= PATH_KEYS)
		return;
	record->path[record->depth - 1] = SPAN("");
	record->around[record->depth - 1] = (struct around){.own = of_own};
}

/* The same machine, by the name that came first; or nobody's. */
static struct span join_hosts(struct span a, struct span b)
{
	if (!a.len || !b.len)
		return a.len ? a : b;
	return machine_name_is_same(a, b) ? a : MACHINE_OF_NOBODY;
}

static void close_one(struct record *record)
{
	size_t at = --record->depth;

	if (!at || at >= PATH_KEYS || !record->around[at].has_line)
		return;
	record->around[at - 1].has_line = true;
	record->inner = join_hosts(record->inner, record->around[at].own.host);
}

/* Deeper than what is kept of the objects around it may be anybody's. */
static void note_line(struct record *record)
{
	if (record->depth && record->depth <= PATH_KEYS)
		record->around[record->depth - 1].has_line = true;
	else
		record->inner = MACHINE_OF_NOBODY;
}

/* The text of a member's value, or in a list; false: what is next is no such text, and is passed over. */
static bool take_value(struct record *record, struct span *text)
{
	char c = char_at(record->rest, 0);

	if (c != '"') {
		if (c == '{' || c == '[')
			open_one(record);
		else if (c == '}' || c == ']')
			close_one(record);
		record->rest = span_skip(record->rest, 1);
		return false;
	}
	(void)take_text(record, text);
	skip_json_blanks(&record->rest);
	if (!span_take(&record->rest, SPAN(":")))
		return true;
	if (record->depth <= PATH_KEYS)
		record->path[record->depth - 1] = *text;
	skip_json_blanks(&record->rest);
	if (char_at(record->rest, 0) != '"')
		return false;
	if (take_text(record, text)) {
		for (size_t i = 0; i < record->depth && i < PATH_KEYS; i++)
			note_origin(record, i, *text, &record->around[i].own);
		note_origin(record, 0, *text, &record->pods);
		note_program(record, *text);
	}
	return true;
}

/*
 * Whose it is by its members. Where it names a collector's machine beside the pod's it may be of either; journald's is that of the line.
 * So it is where an object in it, around the line, names another one.
 */
static struct span choose(const struct record *record)
{
	const struct origin *own = &record->around[0].own;
	struct span pods = record->pods.host;

	if (own->host.len && own->count >= JOURNALS_NAMES && pods.len && !machine_name_is_same(own->host, pods))
		return MACHINE_OF_NOBODY;
	return join_hosts(own->host.len ? own->host : pods, record->inner);
}

/* The member just read is what the record is about, and not what it says beside. */
static bool is_at_message(const struct record *record)
{
	return record->depth == 1 && unwrap_is_message(record->path[0]);
}

/* It begins with its brace. */
static struct quoted read_record(struct span text, size_t level, const struct reading *reading)
{
	struct record record = {
		.rest = text,
		.inner = SPAN(""),
		.pods = {pods_names, sizeof pods_names / sizeof *pods_names, SPAN("")},
	};
	struct quoted quoted = {.host = SPAN("")};
	struct span value;

	do {
		if (!take_value(&record, &value))
			continue;
		struct quoted one = read_text(value, level, reading);
		quoted.is_kernels |= one.is_kernels;
		quoted.is_sure |= one.is_sure && is_at_message(&record);
		quoted.is_said |= one.is_said;
		quoted.host = join_hosts(quoted.host, one.host);
		if (!one.host.len && (one.is_kernels || one.is_said))
			note_line(&record);
	} while (record.depth && record.rest.len);
	while (record.depth)
		close_one(&record);
	quoted.is_kernels |= record.is_programs;
	quoted.is_sure |= record.is_programs;
	if (quoted.is_kernels && !quoted.host.len)
		quoted.host = choose(&record);
	return quoted;
}

/* As it stands in a text whose escapes are read, whatever a record had to write for what is behind the first of them. */
static struct span until_escape(struct span said)
{
	ptrdiff_t end = span_find_char(said, '\\');

	return end < 0 ? said : span_cut(said, (size_t)end);
}

/* The first one in the line; without a machine: there is none of a kernel's. */
static struct quoted find_record(struct span text, struct span said, bool takes_drivers, struct buf *plain)
{
	struct span plain_said = until_escape(said);
	const struct reading reading = {plain_said, takes_drivers || !plain_said.len, plain};
	ptrdiff_t begin = span_find_char(text, '{');

	buf_reset(plain);
	if (begin < 0)
		return (struct quoted){.host = SPAN("")};
	struct span record = span_cut(span_skip(text, (size_t)begin), KERNEL_RECORD_BYTES);
	if (span_find_char(record, '\\') >= 0 && !buf_reserve(plain, UNWRAP_RECORDS_MAX * record.len))
		return (struct quoted){.host = SPAN("")};
	return read_record(record, 1, &reading);
}

bool kernel_record_find(struct span text, struct span said, struct buf *plain, struct span *host)
{
	*host = find_record(text, said, false, plain).host;
	return host->len;
}

bool kernel_line_is_sure(struct span text, struct span said)
{
	AUTO_DONE(buf) plain = BUF_INIT(KERNEL_PLAIN_BYTES);
	struct span host;

	if (kernel_line_has_header(text, &host))
		return true;
	if (char_at(text, 0) != '{')
		return false;
	struct quoted quoted = find_record(text, said, false, &plain);
	return quoted.is_sure && quoted.host.len;
}

/* ---- what is kept of one ---- */

static size_t count_breaks(struct span text)
{
	size_t count = 0;

	for (struct span line; span_next(&text, '\n', &line) && text.ptr;)
		count++;
	return count;
}

static bool has_header(struct span line)
{
	struct span host;

	return kernel_line_has_header(line, &host) || kernel_line_is_handed_on(line, &host);
}

static bool names_machine(struct span text, struct buf *plain)
{
	struct span host;

	return has_header(text) || kernel_record_find(text, SPAN(""), plain, &host);
}

static void append_line(struct buf *out, struct span line, const struct quoted *quoted)
{
	struct json_writer w = json_writer_on(out);

	json_object(&w);
	json_put_span(&w, "message", line);
	json_put_span(&w, "host", quoted->host);
	if (quoted->is_sure)
		json_put_text(&w, "program", "kernel");
	json_object_end(&w);
}

/* Each by itself: what says of one whose it is does not say it of the next. */
static void append_lines(struct buf *out, struct span text, const struct quoted *quoted)
{
	for (struct span line; span_next(&text, '\n', &line);) {
		if (line.len && !has_header(line))
			append_line(out, line, quoted);
		else
			buf_append_span(out, line);
		if (text.ptr)
			buf_append_char(out, '\n');
	}
}

bool kernel_record_keep(struct span record, struct span text, struct buf *plain, struct buf *out)
{
	size_t breaks = count_breaks(text);

	if (record.len > KERNEL_RECORD_BYTES || breaks >= KERNEL_LINES_MAX || (!breaks && names_machine(text, plain)))
		return false;
	struct quoted quoted = find_record(record, text, true, plain);
	if (!quoted.host.len)
		return false;
	buf_reset(out);
	if (span_equal(quoted.host, MACHINE_OF_NOBODY))
		buf_append_span(out, record);
	else
		append_lines(out, text, &quoted);
	return true;
}
