/* Whatever names and values are, a picture is UTF-8 without a tag or a number that is not ours. */
#include "chart/chart_picture.h"
#include "model/incident.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BUCKETS = 16, HEAD_BYTES = 8, NAME_MAX_BYTES = 512 };

static void read_buckets(const uint8_t *data, size_t size, struct bucket *buckets, size_t *count)
{
	int64_t x = 0;

	for (*count = 0; *count < BUCKETS && size >= 2 * sizeof(double) + 2; (*count)++) {
		double a, b;
		memcpy(&a, data, sizeof a);
		memcpy(&b, data + sizeof a, sizeof b);
		bool is_finite = isfinite(a) && isfinite(b);
		x += data[2 * sizeof a];
		buckets[*count] = (struct bucket){.x = x,
			.last_x = x,
			.min = is_finite ? fmin(a, b) : 0,
			.max = is_finite ? fmax(a, b) : 0,
			.sum = {is_finite ? a / 2 + b / 2 : 0, 0},
			.count = is_finite,
			.nan_count = !is_finite};
		data += 2 * sizeof a + 2;
		size -= 2 * sizeof a + 2;
	}
}

/* A name may hold the words itself. */
static bool has_odd_number(struct span text, struct span name)
{
	return (span_find(name, SPAN("nan")) < 0 && span_find(text, SPAN(" nan")) >= 0) ||
	       (span_find(name, SPAN("inf")) < 0 && span_find(text, SPAN(" inf")) >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bucket buckets[BUCKETS];
	AUTO_DONE(buf) out = BUF_INIT(1 << 20);
	size_t count = 0;

	if (size < HEAD_BYTES)
		return 0;
	size_t name_len = size - HEAD_BYTES < data[0] ? size - HEAD_BYTES : data[0];
	struct span name = span_of((const char *)data + HEAD_BYTES, name_len);
	read_buckets(data + HEAD_BYTES + name_len, size - HEAD_BYTES - name_len, buckets, &count);
	struct picture_curve curve = {
		.name = name, .buckets = buckets, .count = count, .points = count, .hue = picture_hue(name)};
	struct picture_mark mark = {.x = data[6],
		.severity = data[7] % SEVERITY_COUNT,
		.kind = data[7] / 8 % (MARK_NOTE + 1),
		.hue = data[7] % PICTURE_HUES,
		.text = name};
	struct picture picture = {.title = name,
		.axis = (enum chart_axis)(data[1] % 3),
		.theme = (enum picture_theme)(data[2] % 3),
		.width = 120 + data[3] * 8u,
		.height = 40 + data[4] * 4u,
		.is_log = data[5] & 1,
		.smooth = data[5] & 2 ? 0.9 : 0,
		.curves = &curve,
		.curve_count = 1,
		.marks = &mark,
		.mark_count = 1};
	picture_write(&picture, &out);
	struct span text = buf_span(&out);
	if (out.failure || !span_is_utf8(text) || span_find(text, SPAN("<script")) >= 0 || has_odd_number(text, name) ||
		!span_ends_with(text, SPAN("</svg>\n")))
		abort();
	return 0;
}
