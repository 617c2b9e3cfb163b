/* SPDX-License-Identifier: MIT */
/* A command that is connected to something else than a collector: `rankwatch findings --follow`, `report`, `run`,
 * `top`. */
#include "tests/fuzz/box_target.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "console/client/collector_client.h"
#include "console/top/model.h"
#include "console/top/view.h"
#include "finding/finding_text.h"

/* Whatever came: nothing that a terminal would obey gets onto the screen of `top`. */
static void draw(struct model *model)
{
	struct canvas canvas = { 0 };
	struct view view = { .rank = -1 };

	for (int kind = 0; kind < VIEW_COUNT && canvas_reset(&canvas, 90, 20, false); kind++) {
		view.kind = (enum view_kind)kind;
		view.at_ms = kind % 2 ? 1 : 0;
		view_draw(model, &view, &canvas, 1e12);
		for (int i = 0; i < 90 * 20; i++)
			if (canvas.cells[i].glyph && (canvas.cells[i].glyph < L' ' ||
						      (canvas.cells[i].glyph >= 0x7f && canvas.cells[i].glyph < 0xa0)))
				abort();
	}
	canvas_free(&canvas);
}

static struct model shown;

static void print(void *argument, const json_t *message)
{
	const struct collector_client *client = argument;

	/* Nothing may get here before a hello that suits. */
	if (!client->greeted || client->error || !json_is_object(message))
		abort();
	static const struct finding_style style = { .colour = true, .clock = true, .width = 40 };
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	finding_print(stream, message, &style);
	fclose(stream);
	free(text);
	model_take(&shown, message, 1e12);
}

/* The first byte of the input: which job is asked for. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const jobs[] = { NULL, "local", "fuzz/../x" };
	struct collector_client client = { .message = print, .input = { .limit = 4096 } };
	int ends[2];

	if (!size || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends))
		return 0;
	client.fd = ends[0];
	client.argument = &client;
	client.job = jobs[data[0] % 3];
	for (size_t done = 1; done < size;) {
		ssize_t count = send(ends[1], data + done, size - done, MSG_NOSIGNAL);

		if (count <= 0)
			break;
		done += (size_t)count;
		if (collector_client_read(&client))
			break;
	}
	close(ends[1]);
	/* All that was sent has been read, so that what remains is the end. */
	if (client.fd >= 0 && !collector_client_read(&client))
		abort();
	collector_client_close(&client);
	draw(&shown);
	model_free(&shown);
	return 0;
}
