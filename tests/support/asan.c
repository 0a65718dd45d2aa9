/*
 * What AddressSanitizer looks for in unit tests and fuzz targets beside its defaults, however they are started. ASAN_OPTIONS in the
 * environment goes before it. Without the sanitizer nobody asks.
 */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "detect_stack_use_after_return=1";
}
