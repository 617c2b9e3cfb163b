/* SPDX-License-Identifier: MIT */
#include "console/cli/option.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "console/cli/nearest.h"

error_t option_take(const struct option_field *fields, int key, char *argument, struct argp_state *state)
{
	for (; fields->flag || fields->text || fields->child; fields++) {
		if (fields->key != key)
			continue;
		if (fields->flag)
			*fields->flag = true;
		if (fields->text)
			*fields->text = argument;
		if (fields->child)
			state->child_inputs[0] = fields->child;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

const char *option_hide(char *argument)
{
	char *copy = strdup(argument);

	if (copy)
		memset(argument, '*', strlen(argument));
	return copy ? copy : argument;
}

static const struct argp_option own[] = {
	{ "help", 'h', NULL, 0, "Give this help list", 0 },
	{ "usage", 0x10000, NULL, 0, "Give a short usage message", 0 },
	{ 0 },
};

typedef void visitor(void *argument, const struct argp_option *option);

static void visit_table(const struct argp_option *option, int hidden, visitor *visit, void *argument)
{
	for (; option && option->name; option++)
		if (!(option->flags & hidden))
			visit(argument, option);
}

/* hidden: those that have this flag are left out. */
static void visit_all(const struct argp *argp, int hidden, visitor *visit, void *argument)
{
	visit_table(argp->options, hidden, visit, argument);
	for (const struct argp_child *child = argp->children; child && child->argp; child++)
		visit_table(child->argp->options, hidden, visit, argument);
	visit_table(own, hidden, visit, argument);
}

void option_each(const struct argp *argp, visitor *visit, void *argument)
{
	visit_all(argp, OPTION_HIDDEN, visit, argument);
}

const char *option_operands(const struct argp *argp)
{
	const char *operands = argp->args_doc;

	for (const struct argp_child *child = argp->children; !operands && child && child->argp; child++)
		operands = child->argp->args_doc;
	return operands;
}

struct search {
	const char *name;
	size_t length;
	const struct argp_option *found;
	size_t distance;
};

/* As getopt_long: the beginning of a name will do. */
static void find(void *argument, const struct argp_option *option)
{
	struct search *search = argument;

	if (!search->found && !strncmp(option->name, search->name, search->length))
		search->found = option;
}

const char *option_unknown(const struct argp *argp, int argc, char **argv, bool in_order)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		struct search search = { .name = argv[i] + 2 };

		if (argv[i][0] != '-' && in_order)
			return NULL;
		if (strncmp(argv[i], "--", 2) != 0)
			continue;
		search.length = strcspn(search.name, "=");
		visit_all(argp, 0, find, &search);
		if (!search.found)
			return argv[i];
		if (search.found->arg && !(search.found->flags & OPTION_ARG_OPTIONAL) && !search.name[search.length])
			i++; /* its value */
	}
	return NULL;
}

static void compare(void *argument, const struct argp_option *option)
{
	struct search *search = argument;
	size_t distance = nearest_distance(search->name, option->name);

	if (distance < search->distance) {
		search->distance = distance;
		search->found = option;
	}
}

const struct argp_option *option_nearest(const struct argp *argp, const char *argument)
{
	char name[64] = "";
	struct search search = { .name = name, .distance = SIZE_MAX };
	size_t length = strcspn(argument + 2, "=");

	memcpy(name, argument + 2, length < sizeof(name) ? length : sizeof(name) - 1);
	option_each(argp, compare, &search);
	return search.found && nearest_is_near(name, search.distance) ? search.found : NULL;
}
