#include "model/jobs/shape.h"
#include "test.h"

static const struct shape_rule rules[] = {
	{"Name", SHAPE_NEEDED, 0, 0, NULL},
	{"Name", SHAPE_STRING, 1, 4, "[a-z]+"},
	{"Count", SHAPE_INTEGER, 1, 10, NULL},
	{"Ratio", SHAPE_NUMBER, 0, 1, NULL},
	{"On", SHAPE_BOOLEAN, 0, 0, NULL},
	{"At", SHAPE_TIME, 0, 0, NULL},
	{"Kind", SHAPE_ENUM, 0, 0, "A|B"},
	{"Items", SHAPE_ARRAY, 1, 2, NULL},
	{"Items[]", SHAPE_OBJECT, 0, 0, NULL},
	{"Items[].Key", SHAPE_NEEDED, 0, 0, NULL},
	{"Items[].Key", SHAPE_STRING, 0, 3, NULL},
	{"Map", SHAPE_MAP, 0, 2, NULL},
	{"Map{key}", SHAPE_STRING, 0, 3, NULL},
	{"Map{}", SHAPE_STRING, 0, 3, NULL},
	{NULL, SHAPE_OBJECT, 0, 0, NULL},
};

static void check_of(const char *text, bool takes_texts, enum shape_wrong wrong, const char *path)
{
	AUTO_DONE(shape_fault) fault = SHAPE_FAULT_INIT;
	AUTO(json) document = NULL;

	fault.takes_texts = takes_texts;
	CHECK_OK(json_parse(&document, span_from(text), &err));
	CHECK_OK(shape_check(rules, document, &fault, &err));
	if (fault.wrong != wrong)
		test_fail(__FILE__, __LINE__, "%s is wrong by %d, not %d", text, (int)fault.wrong, (int)wrong);
	if (wrong)
		CHECK_TEXT(shape_fault_path(&fault), path);
}

static void check(const char *text, enum shape_wrong wrong, const char *path)
{
	check_of(text, false, wrong, path);
}

TEST(each_kind_at_its_limits)
{
	check("{\"Name\":\"abcd\",\"Unknown\":[{}],\"Count\":null}", SHAPE_FITS, "");
	check("{}", SHAPE_MISSING, "Name");
	check("{\"Name\":null}", SHAPE_MISSING, "Name");
	check("{\"Name\":\"\"}", SHAPE_TOO_SHORT, "Name");
	check("{\"Name\":\"abcde\"}", SHAPE_TOO_LONG, "Name");
	check("{\"Name\":\"a1\"}", SHAPE_NO_MATCH, "Name");
	check("{\"Name\":5}", SHAPE_OTHER_TYPE, "Name");
	check("{\"Name\":\"a\",\"Count\":1,\"Ratio\":1}", SHAPE_FITS, "");
	check("{\"Name\":\"a\",\"Count\":10}", SHAPE_FITS, "");
	check("{\"Name\":\"a\",\"Count\":0}", SHAPE_TOO_SMALL, "Count");
	check("{\"Name\":\"a\",\"Count\":11}", SHAPE_TOO_LARGE, "Count");
	check("{\"Name\":\"a\",\"Count\":1.5}", SHAPE_OTHER_TYPE, "Count");
	check("{\"Name\":\"a\",\"Count\":\"1\"}", SHAPE_OTHER_TYPE, "Count");
	check("{\"Name\":\"a\",\"Kind\":\"C\"}", SHAPE_NO_WORD, "Kind");
	check("{\"Name\":\"a\",\"Kind\":\"B\",\"On\":false}", SHAPE_FITS, "");
	check("{\"Name\":\"a\",\"On\":\"true\"}", SHAPE_OTHER_TYPE, "On");
}

TEST(times_are_seconds_or_iso_8601)
{
	check("{\"Name\":\"a\",\"At\":1704067200.5}", SHAPE_FITS, "");
	check("{\"Name\":\"a\",\"At\":\"2024-01-01T00:00:00Z\"}", SHAPE_FITS, "");
	check("{\"Name\":\"a\",\"At\":\"yesterday\"}", SHAPE_OTHER_TYPE, "At");
	check("{\"Name\":\"a\",\"At\":true}", SHAPE_OTHER_TYPE, "At");
}

TEST(lists_and_maps_name_the_element)
{
	check("{\"Name\":\"a\",\"Items\":[]}", SHAPE_TOO_FEW, "Items");
	check("{\"Name\":\"a\",\"Items\":[{\"Key\":\"k\"},{\"Key\":\"l\"},{\"Key\":\"m\"}]}", SHAPE_TOO_MANY, "Items");
	check("{\"Name\":\"a\",\"Items\":[{\"Key\":\"k\"},{}]}", SHAPE_MISSING, "Items[1].Key");
	check("{\"Name\":\"a\",\"Items\":[5]}", SHAPE_OTHER_TYPE, "Items[0]");
	check("{\"Name\":\"a\",\"Map\":{\"long\":\"v\"}}", SHAPE_TOO_LONG, "Map.long");
	check("{\"Name\":\"a\",\"Map\":{\"k\":5}}", SHAPE_OTHER_TYPE, "Map.k");
	check("{\"Name\":\"a\",\"Map\":[]}", SHAPE_OTHER_TYPE, "Map");
}

TEST(in_forms_numbers_are_texts)
{
	check_of("{\"Name\":\"a\",\"Count\":\"10\",\"Ratio\":\"0.5\",\"On\":\"true\"}", true, SHAPE_FITS, "");
	check_of("{\"Name\":\"a\",\"Count\":\"11\"}", true, SHAPE_TOO_LARGE, "Count");
	check_of("{\"Name\":\"a\",\"Ratio\":\"half\"}", true, SHAPE_OTHER_TYPE, "Ratio");
	check_of("{\"Name\":\"a\",\"On\":\"yes\"}", true, SHAPE_OTHER_TYPE, "On");
}
