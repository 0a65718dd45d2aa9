/* MLflow's files of any bytes: of meta.yaml a value, or an error with a text that names the key; of metrics points, or none. */
#include "cli/moving/flat_yaml.h"
#include "cli/moving/mlflow_source.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const keys[] = {"run_id", "name", "start_time", ""};
	AUTO(arena) arena = arena_new();

	for (size_t i = 0; arena && i < sizeof keys / sizeof *keys; i++) {
		struct span value = SPAN("");
		struct error err = {0};
		enum status status = flat_yaml_read(span_of((const char *)data, size), keys[i], arena, &value, &err);
		if (status == OK ? value.len > 2 * size + 16 : !err.text[0])
			abort();
	}
	struct span rest = span_of((const char *)data, size), line;
	struct mlflow_point point;
	while (span_next(&rest, '\n', &line))
		if (mlflow_files_point(line, &point) && span_find_char(line, ' ') < 0)
			abort();
	return 0;
}
