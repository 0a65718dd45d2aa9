#include "chart/chart_picture.h"

#include "base/text/markup.h"
#include "chart/chart_scale.h"

#include <math.h>
#include <stdio.h>

enum {
	LEFT_PX = 64,
	RIGHT_PX = 14,
	BOTTOM_PX = 26,
	TITLE_PX = 24,
	LEGEND_ROW_PX = 17,
	GLYPH_PX = 7, /* about; fonts differ */
	X_TICK_PX = 84,
	Y_TICK_PX = 36,
	CROSS_GAP_PX = 8,
	LEGEND_NAME = 60 /* characters of a name */
};

/* web/src/styles/tokens.css has the same */
static const char *const hues[2][PICTURE_HUES] = {
	{"#0072b2", "#c95700", "#00805b", "#ad4a92", "#6a3fd0", "#a86b00", "#7f7000", "#4d5766"},
	{"#4fb0ea", "#ff8f52", "#2fc59a", "#e28fc9", "#a995ff", "#f0b540", "#dfd24f", "#b7c0cd"},
};
static const char *const severity_colors[2][SEVERITY_COUNT] = {
	{"#5b6675", "#8f5800", "#c9242c"},
	{"#98a4b4", "#eba937", "#ff6f66"},
};
static const struct {
	const char *ground, *text, *dim, *grid;
} neutrals[2] = {
	{"#ffffff", "#1a1f27", "#59626f", "#e9ecf0"},
	{"#0e1116", "#e2e6ec", "#99a3b1", "#1d222b"},
};
static const char *const dashes[] = {"", "6 3", "2 3", "8 3 2 3"};

struct drawing {
	const struct picture *picture;
	struct buf *out;
	struct scale x, y;
	double left, right, top, bottom;
	size_t legend_rows;
	uint64_t points, buckets, hidden; /* hidden: buckets that a log axis has no place for */
};

unsigned picture_hue(struct span name)
{
	uint32_t hash = 0x811c9dc5;

	for (size_t i = 0; i < name.len;) {
		size_t len = span_utf8_length(span_skip(name, i));
		uint32_t point = (unsigned char)name.ptr[i];
		if (len > 1) {
			point &= 0x7fu >> len;
			for (size_t k = 1; k < len; k++)
				point = point << 6 | ((unsigned char)name.ptr[i + k] & 0x3f);
		}
		i += len ? len : 1;
		/* by UTF-16, as the page's language counts */
		uint32_t units[2] = {point, 0};
		if (point > 0xffff) {
			units[0] = 0xd800 + ((point - 0x10000) >> 10);
			units[1] = 0xdc00 + ((point - 0x10000) & 0x3ff);
		}
		for (size_t k = 0; k < (point > 0xffff ? 2 : 1); k++)
			hash = (hash ^ units[k]) * 0x01000193u;
	}
	return hash % PICTURE_HUES;
}

/* ---- text ---- */

static size_t count_characters(struct span text)
{
	size_t count = 0;

	for (size_t i = 0, len; i < text.len; i += len ? len : 1, count++)
		len = span_utf8_length(span_skip(text, i));
	return count;
}

/* At most `most` characters: what tells long names apart stands at both ends. */
static void put_text(struct buf *out, struct span text, size_t most)
{
	size_t count = count_characters(text), head = most / 2, tail = most - head - 1, n = 0;

	for (size_t i = 0, len; i < text.len; i += len, n++) {
		len = span_utf8_length(span_skip(text, i));
		if (count > most && n == head)
			buf_append_text(out, "\xe2\x80\xa6");
		if (count > most && n >= head && n < count - tail) {
			len = len ? len : 1;
			continue;
		}
		markup_put_character(out, len ? span_of(text.ptr + i, len) : SPAN("\x01"));
		len = len ? len : 1;
	}
}

/* ---- the frame ---- */

static void write_colors(struct buf *out, int theme)
{
	buf_printf(out, ".g{fill:%s}.t{fill:%s}.d{fill:%s}.r{stroke:%s}.a{stroke:%s}", neutrals[theme].ground,
		neutrals[theme].text, neutrals[theme].dim, neutrals[theme].grid, neutrals[theme].dim);
	for (unsigned i = 0; i < PICTURE_HUES; i++)
		buf_printf(out, ".c%u{stroke:%s}.f%u{fill:%s}", i, hues[theme][i], i, hues[theme][i]);
	for (unsigned i = 0; i < SEVERITY_COUNT; i++)
		buf_printf(out, ".s%u{stroke:%s}.m%u{fill:%s}", i, severity_colors[theme][i], i,
			severity_colors[theme][i]);
}

static void write_style(const struct picture *picture, struct buf *out)
{
	buf_append_text(out,
		"<style>text{font:11px system-ui,-apple-system,'Segoe UI',sans-serif}"
		".h{font-size:13px;font-weight:600}.l{fill:none;stroke-linejoin:round;stroke-linecap:round}"
		".b{fill-opacity:.22;stroke-opacity:.6;stroke-width:1;stroke-linejoin:round}");
	write_colors(out, picture->theme == PICTURE_DARK);
	if (picture->theme == PICTURE_AUTO) {
		buf_append_text(out, "@media(prefers-color-scheme:dark){");
		write_colors(out, 1);
		buf_append_char(out, '}');
	}
	buf_append_text(out, "</style>\n");
}

static void write_x_axis(struct drawing *d)
{
	double room = (d->right - d->left) / X_TICK_PX;
	struct scale_ticks ticks = {0};
	char text[SCALE_TEXT_BYTES];

	bool is_time = d->picture->axis == AXIS_TIME || d->picture->axis == AXIS_RELATIVE;
	(is_time ? scale_ticks_time : scale_ticks_even)(d->x.low, d->x.high, room < 1 ? 1 : (size_t)room, &ticks);
	for (size_t i = 0; i < ticks.count; i++) {
		if (!is_time && ticks.at[i] != floor(ticks.at[i]))
			continue;
		double px = scale_place(&d->x, ticks.at[i]);
		scale_text_x(d->picture->axis, ticks.at[i], ticks.step, text);
		buf_printf(d->out,
			"<path class=\"r\" d=\"M%.1f %.1fV%.1f\"/><text class=\"d\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n",
			px, d->top, d->bottom + 4, px, d->bottom + 17, px > d->right - 24 ? "end" : "middle", text);
	}
}

static void write_y_axis(struct drawing *d)
{
	double room = (d->bottom - d->top) / Y_TICK_PX;
	size_t most = room < 1 ? 1 : (size_t)room;
	struct scale_ticks ticks;
	char text[SCALE_TEXT_BYTES];

	if (d->y.is_log)
		scale_ticks_log(d->y.low, d->y.high, 2 * most, &ticks);
	else
		scale_ticks_even(d->y.low, d->y.high, most, &ticks);
	for (size_t i = 0; i < ticks.count; i++) {
		double px = scale_place(&d->y, ticks.at[i]);
		scale_text_value(ticks.at[i], ticks.step, text);
		buf_printf(d->out,
			"<path class=\"r\" d=\"M%.1f %.1fH%.1f\"/><text class=\"d\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
			d->left - 4, px, d->right, d->left - 7, px + 4, text);
	}
}

static const char *axis_name(enum chart_axis axis)
{
	static const char *const names[] = {[AXIS_STEP] = "by step",
		[AXIS_TIME] = "by time (UTC)",
		[AXIS_RELATIVE] = "by time since the start",
		[AXIS_TOKENS] = "by tokens",
		[AXIS_FLOPS] = "by FLOPs"};

	return names[axis];
}

/* "by step, 1,000 of 1,300,000 points, nothing hidden": what is drawn stands for all, since each bucket keeps its extremes. */
static void write_title(struct drawing *d)
{
	const struct picture *picture = d->picture;
	char all[SCALE_TEXT_BYTES], drawn[SCALE_TEXT_BYTES];

	if (d->top < TITLE_PX)
		return;
	scale_text_x(AXIS_STEP, (double)d->points, 0, all);
	scale_text_x(AXIS_STEP, (double)d->buckets, 0, drawn);
	AUTO_DONE(buf) note = BUF_INIT(256);
	buf_printf(&note, "%s, ", axis_name(picture->axis));
	if (d->points > d->buckets)
		buf_printf(&note, "%s of %s points, nothing hidden", drawn, all);
	else
		buf_printf(&note, "%s points", all);
	if (d->hidden)
		buf_printf(&note, "; %llu not above 0 have no place on a log axis", (unsigned long long)d->hidden);
	double room = (d->right - d->left) / GLYPH_PX - (double)note.len * 6 / 7 - 2;
	bool has_note = room > 12;
	buf_printf(d->out, "<text class=\"t h\" x=\"%.1f\" y=\"16\">", d->left);
	put_text(d->out, picture->title, (size_t)(has_note ? room : fmax(4, (d->right - d->left) / (GLYPH_PX + 1))));
	buf_append_text(d->out, "</text>\n");
	if (!has_note)
		return;
	buf_printf(d->out, "<text class=\"d\" x=\"%.1f\" y=\"16\" text-anchor=\"end\">", d->right);
	buf_append_span(d->out, buf_span(&note));
	buf_append_text(d->out, "</text>\n");
}

static double legend_px(const struct picture_curve *curve)
{
	size_t count = count_characters(curve->name);

	return 34 + (double)(count < LEGEND_NAME ? count : LEGEND_NAME) * GLYPH_PX;
}

/* Returns how many rows it took; without `out` it only counts. */
static size_t lay_legend(const struct drawing *d, struct buf *out, size_t most)
{
	double x = d->left;
	size_t row = 0;

	for (size_t i = 0; i < d->picture->curve_count; i++) {
		const struct picture_curve *curve = &d->picture->curves[i];
		double width = legend_px(curve), y = TITLE_PX + (double)row * LEGEND_ROW_PX;
		if (x > d->left && x + width > d->right) {
			x = d->left;
			y += LEGEND_ROW_PX;
			if (++row == most) {
				if (out)
					buf_printf(out,
						"<text class=\"d\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">+%zu</text>\n",
						d->right, y - LEGEND_ROW_PX + 12, d->picture->curve_count - i);
				return row;
			}
		}
		if (out) {
			buf_printf(out,
				"<path class=\"l c%u\" stroke-width=\"2\" stroke-dasharray=\"%s\" d=\"M%.1f %.1fh18\"/><text class=\"t\" x=\"%.1f\" y=\"%.1f\">",
				curve->hue, dashes[curve->dash % 4], x, y + 8, x + 23, y + 12);
			put_text(out, curve->name, LEGEND_NAME);
			buf_append_text(out, "</text>\n");
		}
		x += width;
	}
	return row + 1;
}

/* ---- curves ---- */

static double mean_of(const struct bucket *bucket)
{
	return sum_mean(bucket->sum, bucket->count, bucket->min, bucket->max);
}

/* The least that a log axis has a place for is its lower end: what lies below goes down to it. */
static bool has_place(const struct drawing *d, const struct bucket *bucket)
{
	return bucket->count && (!d->y.is_log || bucket->max > 0);
}

static double place_y(const struct drawing *d, double value)
{
	return d->y.is_log && !(value > 0) ? d->bottom : scale_place(&d->y, value);
}

static double place_x(const struct drawing *d, const struct picture_curve *curve, const struct bucket *bucket)
{
	return scale_place(&d->x, (double)bucket->x * curve->x_each);
}

/* The area between the extremes of the buckets from..end, with its edge: a spike one pixel wide has no area, but an edge. */
static void write_band(const struct drawing *d, const struct picture_curve *curve, size_t from, size_t end)
{
	bool has_width = false;

	for (size_t i = from; i < end; i++)
		has_width = has_width || curve->buckets[i].max > curve->buckets[i].min;
	if (!has_width)
		return;
	for (size_t i = from; i < end; i++)
		buf_printf(d->out, "%c%.1f %.1f", i == from ? 'M' : 'L', place_x(d, curve, &curve->buckets[i]),
			place_y(d, curve->buckets[i].max));
	for (size_t i = end; i-- > from;)
		buf_printf(
			d->out, "L%.1f %.1f", place_x(d, curve, &curve->buckets[i]), place_y(d, curve->buckets[i].min));
	buf_append_char(d->out, 'Z');
}

static size_t run_end(const struct drawing *d, const struct picture_curve *curve, size_t from)
{
	while (from < curve->count && has_place(d, &curve->buckets[from]))
		from++;
	return from;
}

static void write_bands(const struct drawing *d, const struct picture_curve *curve)
{
	buf_printf(d->out, "<path class=\"b c%u f%u\" d=\"", curve->hue, curve->hue);
	for (size_t i = 0; i < curve->count; i++) {
		size_t end = run_end(d, curve, i);
		write_band(d, curve, i, end);
		i = end;
	}
	buf_append_text(d->out, "\"/>\n");
}

/* Debiased: the first values are not pulled towards zero. */
static void write_line(const struct drawing *d, const struct picture_curve *curve, double smooth, const char *look)
{
	double sum = 0, correction = 1;
	bool is_down = false;

	buf_printf(d->out, "<path class=\"l c%u\" %s stroke-dasharray=\"%s\" d=\"", curve->hue, look,
		dashes[curve->dash % 4]);
	for (size_t i = 0; i < curve->count; i++) {
		const struct bucket *bucket = &curve->buckets[i];
		double value = bucket->count ? mean_of(bucket) : NAN;
		if (!isfinite(value)) {
			is_down = false;
			continue;
		}
		sum = sum * smooth + (1 - smooth) * value;
		correction *= smooth;
		value = smooth > 0 ? sum / (1 - correction) : value;
		bool is_here = !d->y.is_log || value > 0;
		if (is_here)
			buf_printf(d->out, "%c%.1f %.1f%s", is_down ? 'L' : 'M', place_x(d, curve, bucket),
				place_y(d, value), is_down ? "" : "h0");
		is_down = is_here;
	}
	buf_append_text(d->out, "\"/>\n");
}

/* What is not finite has no place on the axis: a cross at the top, never nothing. */
static void write_crosses(const struct drawing *d, const struct picture_curve *curve)
{
	double last = -INFINITY;

	buf_append_text(d->out, "<path class=\"l s2\" stroke-width=\"1.5\" d=\"");
	for (size_t i = 0; i < curve->count; i++) {
		const struct bucket *bucket = &curve->buckets[i];
		double x = place_x(d, curve, bucket);
		if (!(bucket->nan_count || bucket->inf_count || bucket->neg_inf_count) || x - last < CROSS_GAP_PX)
			continue;
		last = x;
		buf_printf(d->out, "M%.1f %.1fl6 6m0-6l-6 6", x - 3, d->top + 3);
	}
	buf_append_text(d->out, "\"/>\n");
}

static void write_incident(const struct drawing *d, double x, enum severity severity)
{
	static const char *const shapes[SEVERITY_COUNT] = {
		"l4 4l-4 4l-4-4Z", "l4.5 8h-9Z", "l4.5 4.5l-4.5 4.5l-4.5-4.5Z"};

	buf_printf(d->out,
		"<path class=\"s%u\" stroke-dasharray=\"2 4\" d=\"M%.1f %.1fV%.1f\"/><path class=\"m%u s%u\"%s d=\"M%.1f %.1f%s\"/>",
		severity, x, d->top, d->bottom, severity, severity,
		severity == SEVERITY_INFO ? " fill-opacity=\"0\"" : "", x, d->top - 4, shapes[severity]);
}

static void write_mark(const struct drawing *d, const struct picture_mark *mark)
{
	double x = scale_place(&d->x, mark->x);

	if (!(mark->x >= d->x.low && mark->x <= d->x.high))
		return;
	buf_append_text(d->out, "<g><title>");
	put_text(d->out, mark->text, 200);
	buf_append_text(d->out, "</title>");
	switch (mark->kind) {
	case MARK_INCIDENT:
		write_incident(d, x, mark->severity);
		break;
	case MARK_RESTART:
		buf_printf(d->out, "<path class=\"a\" stroke-dasharray=\"6 4\" d=\"M%.1f %.1fV%.1f\"/>", x, d->top,
			d->bottom);
		break;
	case MARK_NOTE: /* a sheet with a corner turned down, where its line ends */
		buf_printf(d->out,
			"<path class=\"c%u\" stroke-dasharray=\"1 3\" d=\"M%.1f %.1fV%.1f\"/><path class=\"c%u f%u\" d=\"M%.1f %.1fh5l3 3v6h-8Z\"/>",
			mark->hue, x, d->top, d->bottom, mark->hue, mark->hue, x - 4, d->bottom - 9);
		break;
	}
	buf_append_text(d->out, "</g>\n");
}

/* ---- ranges ---- */

static void set_x(struct drawing *d)
{
	const struct picture *picture = d->picture;
	double low = INFINITY, high = -INFINITY;

	for (size_t i = 0; i < picture->curve_count; i++) {
		const struct picture_curve *curve = &picture->curves[i];
		if (!curve->count)
			continue;
		low = fmin(low, (double)curve->buckets[0].x * curve->x_each);
		high = fmax(high, (double)curve->buckets[curve->count - 1].x * curve->x_each);
	}
	low = picture->has_from ? picture->from : isfinite(low) ? low : 0;
	high = picture->has_to ? picture->to : isfinite(high) ? high : low + 1;
	if (!(low < high)) {
		double at = low;
		low = at - fmax(1, fabs(at) * 1e-9);
		high = at + fmax(1, fabs(at) * 1e-9);
	}
	d->x = (struct scale){low, high, d->left, d->right, false};
}

static void set_y(struct drawing *d)
{
	const struct picture *picture = d->picture;
	double low = INFINITY, high = -INFINITY;

	for (size_t i = 0; i < picture->curve_count; i++) {
		const struct picture_curve *curve = &picture->curves[i];
		d->points += curve->points;
		d->buckets += curve->count;
		for (size_t k = 0; k < curve->count; k++) {
			const struct bucket *bucket = &curve->buckets[k];
			double least = picture->is_log && !(bucket->min > 0) ? mean_of(bucket) : bucket->min;
			d->hidden += picture->is_log && bucket->count && !(bucket->max > 0);
			if (!bucket->count || (picture->is_log && !(bucket->max > 0)))
				continue;
			low = fmin(low, picture->is_log && !(least > 0) ? bucket->max : least);
			high = fmax(high, bucket->max);
		}
	}
	scale_pad(&low, &high, picture->is_log);
	d->y = (struct scale){low, high, d->bottom, d->top, picture->is_log};
}

static void lay_out(struct drawing *d)
{
	const struct picture *picture = d->picture;
	bool is_small = picture->height < 4 * TITLE_PX;

	d->left = picture->width < 4 * LEFT_PX ? LEFT_PX * 0.75 : LEFT_PX;
	d->right = picture->width - RIGHT_PX;
	d->bottom = picture->height - BOTTOM_PX;
	d->top = is_small ? 10 : TITLE_PX + 8;
	size_t most = picture->height / 4 / LEGEND_ROW_PX;
	if (!is_small && picture->curve_count > 1 && most) {
		d->legend_rows = lay_legend(d, NULL, most);
		d->top += (double)d->legend_rows * LEGEND_ROW_PX;
	}
	set_x(d);
	set_y(d);
}

static void write_curves(const struct drawing *d)
{
	const struct picture *picture = d->picture;

	for (size_t i = 0; i < picture->curve_count; i++)
		write_bands(d, &picture->curves[i]);
	for (size_t i = 0; i < picture->curve_count && picture->smooth > 0; i++)
		write_line(d, &picture->curves[i], 0, "stroke-width=\"1.2\" stroke-opacity=\".38\"");
	for (size_t i = 0; i < picture->curve_count; i++)
		write_line(d, &picture->curves[i], picture->smooth, "stroke-width=\"1.6\"");
	for (size_t i = 0; i < picture->curve_count; i++)
		write_crosses(d, &picture->curves[i]);
}

void picture_write(const struct picture *picture, struct buf *out)
{
	struct drawing d = {.picture = picture, .out = out};

	lay_out(&d);
	buf_printf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\" role=\"img\">\n<title>",
		picture->width, picture->height, picture->width, picture->height);
	put_text(out, picture->title, 200);
	buf_append_text(out, "</title>\n");
	write_style(picture, out);
	buf_printf(out,
		"<rect class=\"g\" width=\"100%%\" height=\"100%%\"/>\n<clipPath id=\"p\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/></clipPath>\n",
		d.left, d.top - 1, d.right - d.left, d.bottom - d.top + 2);
	write_title(&d);
	if (d.legend_rows)
		lay_legend(&d, out, d.legend_rows);
	write_x_axis(&d);
	write_y_axis(&d);
	for (size_t i = 0; i < picture->mark_count; i++)
		write_mark(&d, &picture->marks[i]);
	buf_append_text(out, "<g clip-path=\"url(#p)\">\n");
	write_curves(&d);
	buf_append_text(out, "</g>\n");
	if (!d.buckets)
		buf_printf(out,
			"<text class=\"d\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">no points here</text>\n",
			(d.left + d.right) / 2, (d.top + d.bottom) / 2);
	buf_append_text(out, "</svg>\n");
}
