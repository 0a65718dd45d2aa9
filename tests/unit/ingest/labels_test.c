#include "ingest/json_scan.h"
#include "ingest/labels.h"
#include "test.h"

static struct label_set set_of(const struct ingest_labels *labels, const char *text)
{
	AUTO_DONE(buf) scratch = BUF_INIT(4096);
	struct label_set set;

	label_set_init(&set, labels, 64);
	CHECK_OK(ingest_labels_parse(span_from(text), &set, &scratch, &err));
	return set;
}

static void check(const char *text, const char *job, const char *stream, const char *host)
{
	AUTO(ingest_labels) labels = NULL;

	CHECK_OK(ingest_labels_new(
		&labels, (const char *const[]){"a.b/c,job", "stream,index,host", "host,node", ""}, &err));
	struct label_set set = set_of(labels, text);
	CHECK_SPAN(label_set_value(&set, LABEL_JOB), span_from(job));
	CHECK_SPAN(label_set_value(&set, LABEL_STREAM), span_from(stream));
	CHECK_SPAN(label_set_value(&set, LABEL_HOST), span_from(host));
	label_set_done(&set);
}

TEST(the_first_label_of_the_list_that_is_there)
{
	check("{}", "", "", "");
	check("{job=\"x\"}", "x", "", "");
	check(" { Job = \"x\", a_b_c=\"y\", node=\"n\", host=\"h\" } ", "y", "h", "h");
	check("{pre_a_b_c=\"y\",job=\"x\"}", "y", "", "");
	check("{prea_b_c=\"y\",my_job=\"z\",job=\"x\"}", "x", "", "");
	check("{job=\"\",host=\"h,\\\"}{\\\\\\n\"}", "", "h,\"}{\\\n", "h,\"}{\\\n");
	check("{job=\"a\\x1b\"}", "a\\x1b", "", "");
	check("{stream=\"stderr\",node=\"n\"}", "", "", "n");
}

TEST(indices_of_pods)
{
	check("{batch_kubernetes_io_job_completion_index=\"3\",host=\"h\"}", "", "algo-4", "h");
	check("{batch_kubernetes_io_job_completion_index=\"x\"}", "", "x", "");
	check("{training_kubeflow_org_replica_index=\"0\",training_kubeflow_org_replica_type=\"master\"}", "",
		"master-0", "");
	check("{jobset_sigs_k8s_io_replicatedjob_name=\"w\",batch_kubernetes_io_job_completion_index=\"1\"}", "", "w-1",
		"");
	check("{stream=\"s\",batch_kubernetes_io_job_completion_index=\"3\"}", "", "s", "");
}

TEST(labels_that_are_none)
{
	static const char *const texts[] = {
		"", "{", "job=\"x\"", "{job}", "{job=}", "{job=\"x}", "{=\"x\"}", "{job=\"x\\\"}"};
	AUTO_DONE(buf) scratch = BUF_INIT(4096);
	AUTO(ingest_labels) labels = NULL;
	struct label_set set;

	CHECK_FAILS(ingest_labels_new(&labels, (const char *const[]){"job", "", "host", ""}, &err), ERR_INVALID,
		"--stream-labels takes 1 to 32 names");
	CHECK_OK(ingest_labels_new(&labels, (const char *const[]){"job", "stream", "host", ""}, &err));
	label_set_init(&set, labels, 8);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		CHECK_FAILS(
			ingest_labels_parse(span_from(texts[i]), &set, &scratch, &err), ERR_INVALID, "expected {name=");
	CHECK_OK(ingest_labels_parse(SPAN("{job=\"0123456789\"}"), &set, &scratch, &err));
	CHECK_SPAN(label_set_value(&set, LABEL_JOB), SPAN("01234567"));
	label_set_done(&set);
}

TEST(json_is_walked_over)
{
	struct json_scan s = json_scan_on(SPAN("{\"a\":[1,{\"b\":[]},\"x\\\"]\"],\n \"c\" : true }"));
	struct ndjson_value key;
	bool is_end, value;

	CHECK_OK(json_scan_open(&s, '{', &err));
	CHECK_OK(json_scan_key(&s, &key, &is_end, &err));
	CHECK(json_scan_is(&key, "a") && !is_end);
	CHECK_OK(json_scan_skip(&s, &err));
	CHECK_OK(json_scan_key(&s, &key, &is_end, &err));
	CHECK(json_scan_is(&key, "c"));
	CHECK_OK(json_scan_bool(&s, &value, &err));
	CHECK_OK(json_scan_key(&s, &key, &is_end, &err));
	CHECK(is_end && value);
	CHECK_OK(json_scan_end(&s, &err));
}

TEST(json_that_is_none)
{
	static const char *const texts[] = {"", "[", "{\"a\":1", "{\"a\" 1}", "{\"a\":1,}", "[1 2]", "[,1]", "tru",
		"\"a", "\"a\\\"", "[}", "{\"a\":]}", "{1:2}", "[1]2"};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct json_scan s = json_scan_on(span_from(texts[i]));
		struct error err = {0};
		CHECK(json_scan_skip(&s, &err) == ERR_INVALID || json_scan_end(&s, &err) == ERR_INVALID);
		CHECK(err.line == 1 && err.column >= 1 && span_find(span_from(err.text), SPAN("expected")) >= 0);
	}
}
