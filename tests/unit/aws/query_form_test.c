#include "aws/protocol/query_form.h"
#include "test.h"

static enum status read(struct span form, struct buf *out, struct error *err)
{
	buf_reset(out);
	return query_form_to_json(form, out, err);
}

TEST(forms_become_json)
{
	static const struct {
		const char *form, *json;
	} rows[] = {
		{"", "{}"},
		{"&&", "{}"},
		{"Action=ListMetrics&Version=2010-08-01", "{\"Action\":\"ListMetrics\",\"Version\":\"2010-08-01\"}"},
		{"A=a+b%2Bc%26%3d%C3%A9", "{\"A\":\"a b+c&=\xc3\xa9\"}"},
		{"%41=1", "{\"A\":\"1\"}"},
		{"A", "{\"A\":\"\"}"},
		{"A=", "{\"A\":\"\"}"},
		{"A=b=c", "{\"A\":\"b=c\"}"},
		/* what awscli 2.9.19 sends */
		{"Action=PutMetricData&Version=2010-08-01&Namespace=N&MetricData.member.1.MetricName=loss"
		 "&MetricData.member.1.Dimensions.member.1.Name=Host&MetricData.member.1.Dimensions.member.1.Value=j%2Falgo-1"
		 "&MetricData.member.1.Value=95.5",
			"{\"Action\":\"PutMetricData\",\"MetricData\":[{\"Dimensions\":[{\"Name\":\"Host\",\"Value\":\"j/algo-1\"}],"
			"\"MetricName\":\"loss\",\"Value\":\"95.5\"}],\"Namespace\":\"N\",\"Version\":\"2010-08-01\"}"},
		/* lists are in the order of their numbers, whatever the form's and with gaps */
		{"L.member.10=c&L.member.9=b&L.member.2=a", "{\"L\":[\"a\",\"b\",\"c\"]}"},
		{"L.member.999999999=a", "{\"L\":[\"a\"]}"},
		{"S.b=1&S.a=2&R=3", "{\"R\":\"3\",\"S\":{\"a\":\"2\",\"b\":\"1\"}}"},
		{"L.member.1.x.y=1&L.member.1.z=2&L.member.2.z=3&M=4",
			"{\"L\":[{\"x\":{\"y\":\"1\"},\"z\":\"2\"},{\"z\":\"3\"}],\"M\":\"4\"}"},
		{"L.member.1.M.member.1=a&L.member.2.M.member.1=b", "{\"L\":[{\"M\":[\"a\"]},{\"M\":[\"b\"]}]}"},
		{"member.x=1", "{\"member\":{\"x\":\"1\"}}"},
	};
	AUTO_DONE(buf) out = BUF_INIT(1 << 16);

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		CHECK_OK(read(span_from(rows[i].form), &out, &err));
		CHECK_SPAN(buf_span(&out), span_from(rows[i].json));
	}
}

TEST(bad_forms_are_refused_with_the_parameter)
{
	static const struct {
		const char *form, *words;
	} rows[] = {
		{"A=1&A=2", "'A' comes twice"},
		{"A=1&A.b=2", "'A.b' has a value and members"},
		{"A.b=1&A=2", "'A.b' has a value and members"},
		{"A.member.1=1&A.b=2", "is a member of what else is a list"},
		{"A.member.1=1&A.member.01=2", "'01' in 'A.member.01' is no number of an item from 1 on"},
		{"A.member.0=1", "'0' in 'A.member.0'"},
		{"A.member.-1=1", "'-1' in"},
		{"A.member.1e3=1", "'1e3' in"},
		{"A.member.1000000000=1", "'1000000000' in"},
		{"A.member.=1", "no number of an item"},
		{"A.member=1", "'A.member' stops in the middle"},
		{"A.=1", "an empty part"},
		{"=1", "'' has an empty part"},
		{".A=1", "an empty part"},
		{"A..B=1", "an empty part"},
		{"A=%", "two hexadecimal digits"},
		{"A=%4", "two hexadecimal digits"},
		{"A=%4g", "two hexadecimal digits in '%4g'"},
		{"A=%ff", "not UTF-8"},
		{"A=x%00", "a NUL"},
		{"a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q=1", "more than 16 parts"},
	};
	AUTO_DONE(buf) out = BUF_INIT(1 << 16);

	CHECK_OK(read(SPAN("a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p=1"), &out, &err));
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		CHECK_FAILS(read(span_from(rows[i].form), &out, &err), ERR_INVALID, rows[i].words);
}

static enum status read_pairs(unsigned count, struct buf *out, struct error *err)
{
	AUTO_DONE(buf) form = BUF_INIT(1 << 20);

	for (unsigned i = count; i > 0; i--)
		buf_printf(&form, "%sL.member.%u=x", i < count ? "&" : "", i);
	return read(buf_span(&form), out, err);
}

TEST(forms_have_so_many_parameters_and_so_many_bytes)
{
	AUTO_DONE(buf) out = BUF_INIT(1 << 20);
	AUTO_DONE(buf) small = BUF_INIT(10);

	CHECK_OK(read_pairs(QUERY_FORM_MAX_PAIRS, &out, &err));
	CHECK_FAILS(read_pairs(QUERY_FORM_MAX_PAIRS + 1, &out, &err), ERR_TOO_LARGE, "more than 50000 parameters");
	CHECK_OK(read(SPAN("A=12"), &small, &err)); /* {"A":"12"} is 10 */
	CHECK_FAILS(read(SPAN("A=123"), &small, &err), ERR_TOO_LARGE, "");
}

TEST(a_parameter_is_found_in_a_form)
{
	struct span value;

	CHECK(query_form_find(SPAN("A=1&Action=ListMetrics&B"), "Action", &value));
	CHECK_SPAN(value, SPAN("ListMetrics"));
	CHECK(query_form_find(SPAN("Action="), "Action", &value));
	CHECK_SPAN(value, SPAN(""));
	CHECK(!query_form_find(SPAN("XAction=1&Action.x=2&&="), "Action", &value));
	CHECK(!query_form_find(SPAN(""), "Action", &value));
}
