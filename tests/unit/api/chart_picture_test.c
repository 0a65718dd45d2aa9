#include "../test.h"
#include "chart/chart_picture.h"

#include <math.h>

enum { OUT_BYTES = 1 << 20 };

static struct bucket bucket_of(int64_t x, double min, double max)
{
	return (struct bucket){.x = x, .last_x = x, .min = min, .max = max, .sum = {min + max, 0}, .count = 2};
}

static struct picture picture_of(const struct picture_curve *curve)
{
	return (struct picture){.title = SPAN("loss"),
		.width = 700,
		.height = 200,
		.curves = curve,
		.curve_count = 1,
		.theme = PICTURE_LIGHT};
}

TEST(hues_are_the_pages)
{
	/* as seriesIndex() of web/src/lib/chart/color.ts has them */
	CHECK_INT(picture_hue(SPAN("")), 0x811c9dc5u % 8);
	CHECK_INT(picture_hue(SPAN("llama-7b-0412")), 4);
	CHECK_INT(picture_hue(SPAN("sd3-ablate")), 5);
	CHECK_INT(picture_hue(SPAN("\xe7\x9b\x91\xe6\x8e\xa7 \xf0\x9f\x9a\x80")), 6);
}

TEST(a_spike_is_a_vertex)
{
	struct bucket buckets[] = {bucket_of(0, 1, 2), bucket_of(10, 1, 90), bucket_of(20, 1, 2)};
	struct picture_curve curve = {.name = SPAN("a"), .buckets = buckets, .count = 3, .points = 6, .x_each = 1};
	struct picture picture = picture_of(&curve);
	AUTO_DONE(buf) out = BUF_INIT(OUT_BYTES);

	picture_write(&picture, &out);
	CHECK(!out.failure);
	/* right in the middle of the plot, at its top but for the room above */
	CHECK(span_find(buf_span(&out), SPAN("L375.0 40.0")) >= 0);
	CHECK(span_find(buf_span(&out), SPAN("3 of 6 points, nothing hidden")) >= 0);
}

TEST(names_stay_text)
{
	struct picture_curve curve = {.name = SPAN("a")};
	struct picture picture = picture_of(&curve);
	AUTO_DONE(buf) out = BUF_INIT(OUT_BYTES);

	picture.title = SPAN("<b>\"&\x01\xff \xe2\x80\xae]]>");
	picture_write(&picture, &out);
	CHECK(span_find(buf_span(&out), SPAN("<b>")) < 0 && span_is_utf8(buf_span(&out)));
	CHECK(span_find(buf_span(&out), SPAN("&lt;b&gt;&quot;&amp;\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd]]&gt;")) >= 0);
	CHECK(span_find(buf_span(&out), SPAN("no points here")) >= 0);
}

TEST(more_curves_than_the_legend_has_room_for)
{
	struct picture_curve curves[20];
	struct bucket bucket = bucket_of(0, 1, 1);
	AUTO_DONE(buf) out = BUF_INIT(OUT_BYTES);

	for (size_t i = 0; i < 20; i++)
		curves[i] = (struct picture_curve){.name = SPAN("a-rather-long-name-of-a-job-0123456789"),
			.buckets = &bucket,
			.count = 1,
			.points = 1,
			.x_each = 1,
			.hue = (unsigned)(i % PICTURE_HUES),
			.dash = (unsigned)(i / PICTURE_HUES)};
	struct picture picture = picture_of(curves);
	picture.curve_count = 20;
	picture_write(&picture, &out);
	CHECK(span_find(buf_span(&out), SPAN(">+1")) >= 0);
}
