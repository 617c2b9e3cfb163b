/* SPDX-License-Identifier: MIT */
#include "console/doctor/python.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "console/doctor/child.h"

enum { SECONDS = 5, LINE = 512 };

/* As the shell would: a name with a slash is a path, others are looked for in PATH. "" when nobody has it. */
static void find_in_path(const struct check_context *context, const char *name, char *path, size_t size)
{
	const char *variable = check_get(context, "PATH");
	char list[8 * INSTALL_PATH], *rest = NULL;

	snprintf(path, size, "%s", strchr(name, '/') ? name : "");
	if (*path || !variable)
		return;
	snprintf(list, sizeof(list), "%s", variable);
	for (char *one = strtok_r(list, ":", &rest); one; one = strtok_r(NULL, ":", &rest)) {
		snprintf(path, size, "%s%s/%s", context->root, one, name);
		if (access(path, X_OK) == 0)
			return;
	}
	*path = '\0';
}

/* "#!/venv/bin/python3 -u" → "/venv/bin/python3"; "" when the script names no Python or goes through env. */
static void read_shebang(const char *script, char *path, size_t size)
{
	char line[LINE] = "";
	FILE *file = fopen(script, "re");

	*path = '\0';
	if (!file)
		return;
	if (fgets(line, sizeof(line), file) && !strncmp(line, "#!", 2) && strstr(line, "python")) {
		char *word = line + 2 + strspn(line + 2, " ");

		word[strcspn(word, " \t\n")] = '\0';
		if (strstr(word, "python"))
			snprintf(path, size, "%s", word);
	}
	fclose(file);
}

void python_interpreter(const struct check_context *context, char *path, size_t size)
{
	const char *word = context->command ? context->command[0] : NULL;
	char found[INSTALL_PATH];

	*path = '\0';
	if (word) {
		find_in_path(context, word, found, sizeof(found));
		const char *name = strrchr(found, '/');

		if (name && !strncmp(name + 1, "python", strlen("python")))
			snprintf(path, size, "%s", found);
		else
			read_shebang(found, path, size);
	}
	if (!*path)
		find_in_path(context, "python3", path, size);
}

struct question {
	char interpreter[INSTALL_PATH];
};

/* In the child: runs the interpreter and collects its output in `result`. */
static void ask(const void *argument, void *result, size_t size)
{
	const struct question *question = argument;
	char *text = result;
	size_t length = 0;
	ssize_t got;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return;
	if (fork() == 0) {
		dup2(ends[1], STDOUT_FILENO);
		execl(question->interpreter, question->interpreter, "-c", "import sys; print('\\n'.join(sys.path))",
		      NULL);
		_exit(127);
	}
	close(ends[1]);
	while (length < size - 1 && (got = read(ends[0], text + length, size - 1 - length)) > 0)
		length += (size_t)got;
	text[length] = '\0';
	wait(NULL);
}

void python_packages(const struct check_context *context, char *directories, size_t size)
{
	struct question question;

	*directories = '\0';
	python_interpreter(context, question.interpreter, sizeof(question.interpreter));
	if (*question.interpreter)
		child_try(question.interpreter, ask, &question, directories, size, SECONDS);
}
