/* The input of SageMaker's operations: the first byte chooses one, the rest is JSON. A fault is worded, whatever it is. */
#include "aws/protocol/internal.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct aws_operation *operation = sagemaker_service.operations;
	struct aws_call call = {.service = &sagemaker_service};
	AUTO(json) document = NULL;
	struct error err = {0};

	if (size < 1)
		return 0;
	for (uint8_t i = data[0] % 16; i && operation[1].name; i--)
		operation++;
	if (json_parse(&document, span_of((const char *)data + 1, size - 1), &err) != OK || !operation->input)
		return 0;
	if (aws_check(&call, operation->input, document, &err) != OK && (!err.text[0] || !err.field[0]))
		abort();
	return 0;
}
