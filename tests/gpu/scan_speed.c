/* SPDX-License-Identifier: MIT */
/*
 * How fast the scan kernel reads, beside a kernel of the same shape that does nothing else: events around launches back
 * to back, for every type from 64 KiB on with the full grid, then for few blocks. The content is finite.
 *   gpu_scan_speed [MIB]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rankwatch/operation.h"
#include "tests/unit/plugin/scan_reference.h"
#include "timing.h"

enum { LAUNCHES = 20, LAUNCHES_OF_FEW_BLOCKS = 3, FEW_BLOCKS = 24, MIB = 4096, MIB_STAND_IN = 4, LARGE_MIB = 64 };

struct speed {
	struct scan_gpu gpu;
	CUfunction read;
	CUdeviceptr memory;
	/* Of this turn; dtype: UINT8_MAX is the kernel that only reads. */
	uint64_t bytes;
	unsigned int blocks;
	uint8_t dtype;
	double least_share; /* of the plain read, with the full grid, of buffers that are large */
};

struct cpu_launch;
void gpu_test_read__cpu(void **parameters, const struct cpu_launch *launch);

/* gpu_test_read(memory, 64 KiB tiles): 512 threads, eight loads of 16 bytes in flight, and nothing else. */
static const char read_ptx[] = ".version 7.4\n"
			       ".target sm_80\n"
			       ".address_size 64\n"
			       ".visible .entry gpu_test_read(.param .u64 memory, .param .u64 tiles)\n"
			       ".maxntid 512, 1, 1\n" /* without these the assembler leaves fewer loads in flight */
			       ".minnctapersm 2\n"
			       "{\n"
			       "	.reg .u64 %at, %tile, %tiles, %step, %from;\n"
			       "	.reg .u32 %r<33>, %sum, %thread, %block, %blocks;\n"
			       "	.reg .pred %end, %never;\n"
			       "	ld.param.u64 %at, [memory];\n"
			       "	ld.param.u64 %tiles, [tiles];\n"
			       "	mov.u32 %thread, %tid.x;\n"
			       "	mov.u32 %block, %ctaid.x;\n"
			       "	mov.u32 %blocks, %nctaid.x;\n"
			       "	mov.u32 %sum, 0;\n"
			       "	cvt.u64.u32 %tile, %block;\n"
			       "	cvt.u64.u32 %step, %blocks;\n"
			       "	mad.wide.u32 %at, %thread, 16, %at;\n"
			       "again:\n"
			       "	setp.ge.u64 %end, %tile, %tiles;\n"
			       "	@%end bra done;\n"
			       "	shl.b64 %from, %tile, 16;\n"
			       "	add.u64 %from, %from, %at;\n"
#define LOAD(a, b, c, d, offset)                                                                                       \
	"	ld.global.nc.L1::no_allocate.v4.u32 "                                                                        \
	"{%r" #a ", %r" #b ", %r" #c ", %r" #d "}, [%from+" #offset "];\n"
    LOAD(0, 1, 2, 3, 0) LOAD(4, 5, 6, 7, 8192) LOAD(8, 9, 10, 11, 16384) LOAD(12, 13, 14, 15, 24576)
	LOAD(16, 17, 18, 19, 32768) LOAD(20, 21, 22, 23, 40960) LOAD(24, 25, 26, 27, 49152) LOAD(28, 29, 30, 31, 57344)
#undef LOAD
#define TAKE(a, b, c, d)                                                                                               \
	"	xor.b32 %sum, %sum, %r" #a ";\n	xor.b32 %sum, %sum, %r" #b ";\n"                                       \
	"	xor.b32 %sum, %sum, %r" #c ";\n	xor.b32 %sum, %sum, %r" #d ";\n"
	    TAKE(0, 1, 2, 3) TAKE(4, 5, 6, 7) TAKE(8, 9, 10, 11) TAKE(12, 13, 14, 15) TAKE(16, 17, 18, 19)
		TAKE(20, 21, 22, 23) TAKE(24, 25, 26, 27) TAKE(28, 29, 30, 31)
#undef TAKE
		    "	add.u64 %tile, %tile, %step;\n"
		    "	bra again;\n"
		    "done:\n"
		    "	setp.eq.u32 %never, %sum, 0x12345678;\n" /* so that the loads are not left out */
		    "	@%never trap;\n"
		    "	ret;\n"
		    "}\n";

void gpu_test_read__cpu(void **parameters, const struct cpu_launch *launch)
{
	const uint64_t *at = *(const uint64_t **)parameters[0];
	uint64_t sum = 0;

	(void)launch;
	for (uint64_t i = 0; i < *(uint64_t *)parameters[1] * (SCAN_TILE_BYTES / 8); i++)
		sum ^= at[i];
	__asm__ volatile("" : : "r"(sum));
}

static void launch_read(struct speed *speed)
{
	uint64_t tiles = speed->bytes / SCAN_TILE_BYTES;
	void *parameters[] = { &speed->memory, &tiles };

	DEVICE_CHECK(cuLaunchKernel(speed->read, speed->blocks, 1, 1, SCAN_THREADS, 1, 1, 0, speed->gpu.stream,
				    parameters, NULL));
}

static void launch(void *argument)
{
	struct speed *speed = argument;

	if (speed->dtype == UINT8_MAX)
		launch_read(speed);
	else
		scan_gpu_launch(&speed->gpu, speed->blocks);
}

/* Bytes per ns. */
static double speed_of(struct speed *speed, uint8_t dtype)
{
	speed->dtype = dtype;
	speed->gpu.launch.segment_count = 1;
	speed->gpu.launch.segments[0] =
	    (struct scan_segment){ .address = speed->memory, .sequence = 1, .dtype = dtype };
	if (dtype != UINT8_MAX)
		speed->gpu.launch.segments[0].elements = speed->bytes / reference_width(dtype);
	const int launches = speed->blocks < FEW_BLOCKS ? LAUNCHES_OF_FEW_BLOCKS : LAUNCHES;
	return (double)speed->bytes / 1e3 / (timing_us(&speed->gpu, launches, launch, speed) + 1e-9);
}

static const struct {
	const char *name;
	uint8_t dtype;
} types[] = {
	{ "fp16", RW_DTYPE_FLOAT16 },      { "bf16", RW_DTYPE_BFLOAT16 },        { "fp32", RW_DTYPE_FLOAT32 },
	{ "fp64", RW_DTYPE_FLOAT64 },      { "fp8 e4m3", RW_DTYPE_FLOAT8_E4M3 }, { "fp8 e5m2", RW_DTYPE_FLOAT8_E5M2 },
	{ "digest only", RW_DTYPE_UINT8 },
};

static unsigned int full_grid(const struct speed *speed)
{
	return 2 * (unsigned int)speed->gpu.device.processors;
}

static void measure(struct speed *speed, uint64_t bytes, unsigned int blocks)
{
	const unsigned long long kib = bytes >> 10;

	speed->bytes = bytes;
	speed->blocks = blocks;
	const double read = speed_of(speed, UINT8_MAX);
	timing_number(read, "GB/s", "plain read, %llu KiB, %u blocks", kib, blocks);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		const double scan = speed_of(speed, types[i].dtype);

		timing_number(scan, "GB/s", "%s, %llu KiB, %u blocks", types[i].name, kib, blocks);
		timing_number(scan / read * 100, "%", "%s, %llu KiB, %u blocks: of the plain read", types[i].name, kib,
			      blocks);
		if (bytes >= (uint64_t)LARGE_MIB << 20 && blocks == full_grid(speed) &&
		    scan / read < speed->least_share)
			speed->least_share = scan / read;
	}
}

static void open_speed(struct speed *speed, uint64_t *bytes)
{
	CUmodule module;

	scan_gpu_open(&speed->gpu);
	if (!*bytes)
		*bytes = (uint64_t)(speed->gpu.stand_in ? MIB_STAND_IN : MIB) << 20;
	DEVICE_CHECK(cuModuleLoadData(&module, read_ptx));
	DEVICE_CHECK(cuModuleGetFunction(&speed->read, module, "gpu_test_read"));
	speed->memory = device_memory(*bytes);
}

static void measure_all(struct speed *speed, uint64_t most)
{
	static const unsigned int grids[] = { 1, 8, 16, 24, 32, 48, 64, 96, 132 };

	speed->least_share = 1e9;
	for (uint64_t bytes = SCAN_TILE_BYTES; bytes <= most; bytes *= 4)
		measure(speed, bytes, full_grid(speed));
	if (most >= (uint64_t)LARGE_MIB << 20)
		timing_number(speed->least_share * 100, "%",
			      "the least of the plain read that any type reaches from %d MiB on, full grid", LARGE_MIB);
	for (size_t i = 0; i < sizeof(grids) / sizeof(grids[0]); i++)
		measure(speed, most < 1u << 30 ? most : 1u << 30, grids[i]);
}

int main(int argc, char **argv)
{
	static struct speed speed;
	char *end = "";
	uint64_t bytes = argc > 1 ? strtoull(argv[1], &end, 10) << 20 : 0;
	const bool help = argc == 2 && !strcmp(argv[1], "--help");

	if (help || argc > 2 || *end || (argc > 1 && !bytes)) {
		fprintf(help ? stdout : stderr,
			"usage: gpu_scan_speed [MIB]: bandwidth of the scan kernel from 64 KiB to %d MiB\n", MIB);
		return help ? 0 : 2;
	}
	open_speed(&speed, &bytes);
	measure_all(&speed, bytes);
	return 0;
}
