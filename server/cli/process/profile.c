#include "cli/process/profile.h"

#include "base/options/options.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static bool names_config(int argc, char *const *argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--config") == 0 || strncmp(argv[i], "--config=", 9) == 0)
			return true;
	return false;
}

static bool put_path(char *const *environment, struct buf *path)
{
	const char *folder = environment_find(environment, "XDG_CONFIG_HOME"),
		   *home = environment_find(environment, "HOME");

	if (folder && folder[0] == '/')
		buf_append_text(path, folder);
	else if (home && home[0] == '/')
		buf_printf(path, "%s/.config", home);
	else
		return false;
	buf_append_text(path, "/smfleet/profile");
	buf_append_char(path, '\0');
	return path->failure == OK;
}

enum status profile_find(int argc, char *const *argv, char *const *environment, struct buf *path, struct error *err)
{
	struct stat stat_buf;

	if (environment_find(environment, "SMFLEET_CONFIG") || names_config(argc, argv))
		return OK;
	if (!put_path(environment, path) || stat(path->ptr, &stat_buf) != 0) {
		buf_reset(path);
		return OK;
	}
	if (stat_buf.st_uid != geteuid())
		return error_set(err, ERR_FORBIDDEN, "profile '%s' belongs to another user (%u); it is not read",
			path->ptr, (unsigned)stat_buf.st_uid);
	if (stat_buf.st_mode & 077)
		return error_set(err, ERR_FORBIDDEN,
			"profile '%s' can be read or changed by others (mode %o); chmod 600 %s", path->ptr,
			(unsigned)stat_buf.st_mode & 0777, path->ptr);
	return OK;
}
