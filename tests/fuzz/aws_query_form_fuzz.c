/* Any bytes either are a form, which is JSON that reads back, and its text can be written as XML, or are refused with words. */
#include "aws/protocol/query_form.h"
#include "aws/protocol/xml_write.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);
	AUTO_DONE(buf) xml = BUF_INIT(1 << 20);
	AUTO(json) json = NULL;
	struct error err = {0};

	if (query_form_to_json(span_of((const char *)data, size), &text, &err) != OK) {
		if (!err.text[0])
			abort();
		return 0;
	}
	if (json_parse(&json, buf_span(&text), &err) != OK)
		abort();
	xml_write_text(buf_span(&text), &xml);
	for (size_t i = 0; i < xml.len; i++)
		if ((unsigned char)xml.ptr[i] < ' ' && xml.ptr[i] != '\t' && xml.ptr[i] != '\n')
			abort();
	return 0;
}
