#include "model/metrics/batch.h"

#include "base/text/line_time.h"
#include "base/map.h"
#include "model/metrics/batch_series.h"

/* A body may name a new stream in each line: from FEW parts on they are looked up, not looked through. */
enum { FEW = 8, KEY_MAX_BYTES = 1024 };

struct key {
	size_t len;
	char bytes[KEY_MAX_BYTES];
};

struct batch *batch_new(int64_t arrival_ms)
{
	AUTO(batch) batch = mem_zeroed(sizeof *batch);

	if (!batch || !(batch->arena = arena_new()))
		return NULL;
	batch->arrival_ms = arrival_ms;
	batch->offset = -1;
	batch->host = batch->team = batch->source = SPAN("");
	return TAKE(batch);
}

void batch_free(struct batch *batch)
{
	if (!batch)
		return;
	for (size_t i = 0; i < batch->part_count; i++) {
		struct batch_part *part = &batch->parts[i];
		mem_free(part->lines);
		batch_series_free(part->series, part->series_count);
		map_free(part->series_index);
		buf_done(&part->points);
	}
	mem_free(batch->parts);
	map_free(batch->index);
	buf_done(&batch->content);
	buf_done(&batch->block);
	buf_done(&batch->filter);
	arena_free(batch->texts);
	arena_free(batch->arena);
	mem_free(batch);
}

/* Length of the job, job, stream. False: such long names are in no index. */
static bool key_of(struct key *key, struct span job, struct span stream)
{
	const size_t head = sizeof job.len;

	if (job.len > KEY_MAX_BYTES || stream.len > KEY_MAX_BYTES || head + job.len + stream.len > KEY_MAX_BYTES)
		return false;
	memcpy(key->bytes, &job.len, head);
	if (job.len)
		memcpy(key->bytes + head, job.ptr, job.len);
	if (stream.len)
		memcpy(key->bytes + head + job.len, stream.ptr, stream.len);
	key->len = head + job.len + stream.len;
	return true;
}

struct batch_part *batch_find_part(const struct batch *batch, struct span job, struct span stream)
{
	struct key key;

	if (batch->index && key_of(&key, job, stream)) {
		size_t *place = map_get(batch->index, span_of(key.bytes, key.len));
		return place ? &batch->parts[*place] : NULL;
	}
	for (size_t i = batch->part_count; i-- > 0;)
		if (span_equal(batch->parts[i].stream, stream) && span_equal(batch->parts[i].job, job))
			return &batch->parts[i];
	return NULL;
}

static bool index_part(struct batch *batch, size_t at)
{
	size_t *place = arena_alloc(batch->arena, sizeof *place);
	struct key key;

	if (!place)
		return false;
	*place = at;
	return !key_of(&key, batch->parts[at].job, batch->parts[at].stream) ||
	       map_put(batch->index, span_of(key.bytes, key.len), place);
}

/* The newest part into the index, and with the first that is too many all before it. */
static bool index_parts(struct batch *batch, size_t count)
{
	if (count <= FEW)
		return true;
	if (batch->index)
		return index_part(batch, count - 1);
	if (!(batch->index = map_new()))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!index_part(batch, i)) {
			map_free(batch->index);
			batch->index = NULL;
			return false;
		}
	return true;
}

/* Most batches have one part, and little memory comes quicker than much. */
static bool grow_parts(struct batch *batch)
{
	if (batch->part_cap)
		return mem_grow((void **)&batch->parts, batch->part_count, &batch->part_cap, sizeof *batch->parts);
	batch->parts = mem_alloc(sizeof *batch->parts);
	batch->part_cap = batch->parts != NULL;
	return batch->parts != NULL;
}

struct batch_part *batch_part_more(struct batch *batch, struct span job, struct span stream)
{
	if (!grow_parts(batch))
		return NULL;
	struct batch_part part = {.job = arena_copy(batch->arena, job), .stream = arena_copy(batch->arena, stream)};
	if (!part.job.ptr || !part.stream.ptr)
		return NULL;
	batch->parts[batch->part_count] = part;
	if (!index_parts(batch, batch->part_count + 1))
		return NULL;
	return &batch->parts[batch->part_count++];
}

struct batch_part *batch_part(struct batch *batch, struct span job, struct span stream)
{
	struct batch_part *found = batch_find_part(batch, job, stream);

	return found ? found : batch_part_more(batch, job, stream);
}

struct span batch_keep(struct batch *batch, struct span bytes)
{
	if (!batch->texts && !(batch->texts = arena_new()))
		return span_of(NULL, 0);
	return arena_copy(batch->texts, bytes);
}

bool batch_expect(struct batch_part *part, size_t count)
{
	if (part->cap)
		return true; /* it grows as it must */
	struct line *lines = mem_resize(NULL, count, sizeof *lines);
	if (!lines)
		return false;
	part->lines = lines;
	part->cap = count;
	return true;
}

bool batch_add_kept(struct batch *batch, struct batch_part *part, struct span kept, int64_t ts_ms, uint32_t flags,
	uint64_t sent_bytes)
{
	if (!mem_grow((void **)&part->lines, part->count, &part->cap, sizeof *part->lines))
		return false;
	part->lines[part->count++] = (struct line){kept, ts_ms, flags, sent_bytes};
	part->sent_bytes += sent_bytes;
	batch->text_bytes += kept.len + 1;
	batch->line_count++;
	batch->cut_lines += (flags & LINE_CUT) != 0;
	return true;
}

bool batch_add(struct batch *batch, struct batch_part *part, struct span text, int64_t ts_ms, uint32_t flags,
	uint64_t sent_bytes)
{
	struct span copy = batch_keep(batch, text);

	return copy.ptr && batch_add_kept(batch, part, copy, ts_ms, flags, sent_bytes);
}

enum { OTHER_HOSTS_MAX = 63 };

bool batch_part_note_host(struct batch *batch, struct batch_part *part, struct span host)
{
	if (!part->host.len)
		return (part->host = arena_copy(batch->arena, host)).ptr;
	bool is_known = span_equal_fold(part->host, host);
	for (size_t i = 0; i < part->other_host_count && !is_known; i++)
		is_known = span_equal_fold(part->other_hosts[i], host);
	if (is_known || part->other_host_count == OTHER_HOSTS_MAX)
		return true;
	if (!part->other_hosts)
		part->other_hosts = arena_alloc(batch->arena, OTHER_HOSTS_MAX * sizeof *part->other_hosts);
	struct span copy = arena_copy(batch->arena, host);
	if (!part->other_hosts || !copy.ptr)
		return false;
	part->other_hosts[part->other_host_count++] = copy;
	return true;
}

struct span batch_part_host(const struct batch *batch, const struct batch_part *part)
{
	return part->host.len && !part->has_nameless ? part->host : batch->host;
}

void batch_drop_texts(struct batch *batch)
{
	arena_free(batch->texts);
	batch->texts = NULL;
}

size_t batch_bytes(const struct batch *batch)
{
	size_t bytes = arena_bytes(batch->arena) + (batch->texts ? arena_bytes(batch->texts) : 0) +
		       batch->line_count * sizeof(struct line) + batch->content.cap + batch->block.cap +
		       batch->filter.cap;

	for (size_t i = 0; i < batch->part_count; i++) {
		const struct batch_part *part = &batch->parts[i];
		bytes += batch_series_bytes(part->series, part->series_count, part->series_cap) + part->points.cap;
	}
	return bytes;
}

int64_t line_effective_ms(const struct line *line, int64_t arrival_ms)
{
	int64_t ts_ms;

	if (line->ts_ms != NO_TIME)
		return line->ts_ms;
	return line_time_parse(line->text, arrival_ms, &ts_ms) ? ts_ms : arrival_ms;
}
