/* SPDX-License-Identifier: MIT */
/* Which devices a process sees, what they are called, and what stream 0 means to whom. */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "ranks.h"

#define EXPECT_CU(call) cr_assert_eq((call), CUDA_SUCCESS)

TestSuite(device, .timeout = 60);

/* The buses of the visible devices, as text; "none" when cuInit finds no device. */
static void read_buses(const char *visible, char *text, size_t size)
{
	int count, used = 0, bus;

	setenv("SIM_CUDA_DEVICES", "4", 1);
	if (visible)
		setenv("CUDA_VISIBLE_DEVICES", visible, 1);
	if (cuInit(0) == CUDA_ERROR_NO_DEVICE) {
		snprintf(text, size, "none");
		return;
	}
	EXPECT_CU(cuDeviceGetCount(&count));
	for (int i = 0; i < count; i++) {
		EXPECT_CU(cuDeviceGetAttribute(&bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, i));
		used += snprintf(text + used, size - (size_t)used, "%s%d", i ? "," : "", bus - 16);
	}
}

static void expect_visible(const char *visible, const char *expected)
{
	char text[64] = "";

	read_buses(visible, text, sizeof(text));
	cr_expect_str_eq(text, expected, "%s shows %s", visible ? visible : "(unset)", text);
}

/* cuInit reads the variable once, so each has a process of its own. */
#define VISIBLE(name, value, expected)                                                                                 \
	Test(device, name)                                                                                             \
	{                                                                                                              \
		expect_visible(value, expected);                                                                       \
	}

VISIBLE(all_are_visible_without_the_variable, NULL, "0,1,2,3")
VISIBLE(an_empty_list_hides_all, "", "none")
VISIBLE(minus_one_hides_all, "-1", "none")
VISIBLE(the_list_has_its_own_order, "3, 1", "3,1")
VISIBLE(the_list_ends_at_the_first_that_does_not_exist, "2,9,1", "2")
VISIBLE(the_list_ends_at_minus_one, "0,1,-1,2", "0,1")
VISIBLE(words_are_no_devices, "1,two", "1")
VISIBLE(a_device_named_twice_hides_all, "1,1", "none")

static void uuid_text(int device, char *text)
{
	CUuuid uuid;

	EXPECT_CU(cuDeviceGetUuid(&uuid, device));
	text += sprintf(text, "GPU-");
	for (int i = 0; i < 16; i++)
		text += sprintf(text, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
				(unsigned char)uuid.bytes[i]);
}

/* Each in a process of its own: cuInit reads the variable once. */
static void in_child(void (*run)(char *text), char *text)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		run(text);
		_exit(0);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(status, 0);
}

static void find_uuid(char *text)
{
	if (cuInit(0) != CUDA_SUCCESS)
		_exit(1);
	uuid_text(2, text);
}

static void use_uuid(char *text)
{
	char list[80], buses[64];

	snprintf(list, sizeof(list), "%s,0", text);
	read_buses(list, buses, sizeof(buses));
	strcpy(text, buses);
}

Test(device, devices_can_be_named_by_uuid)
{
	char *text = mmap(NULL, 64, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(text, MAP_FAILED);
	in_child(find_uuid, text);
	in_child(use_uuid, text);
	cr_expect_str_eq(text, "2,0");
}

Test(device, claimed_hosts_have_devices_of_their_own)
{
	CUuuid first, second, again;

	EXPECT_CU(cuInit(0));
	setenv("NCCL_HOSTID", "host-1", 1);
	EXPECT_CU(cuDeviceGetUuid(&first, 0));
	EXPECT_CU(cuDeviceGetUuid(&again, 0));
	cr_expect_arr_eq(first.bytes, again.bytes, 16);
	EXPECT_CU(cuDeviceGetUuid(&again, 1));
	cr_expect_arr_neq(first.bytes, again.bytes, 16);
	setenv("NCCL_HOSTID", "host-2", 1);
	EXPECT_CU(cuDeviceGetUuid(&second, 0));
	cr_expect_arr_neq(first.bytes, second.bytes, 16);
}

static void *current_device(void *device)
{
	CUcontext context;

	EXPECT_CU(cuDevicePrimaryCtxRetain(&context, *(int *)device));
	EXPECT_CU(cuCtxSetCurrent(context));
	*(int *)device = -1;
	EXPECT_CU(cuCtxGetDevice(device));
	return NULL;
}

Test(device, each_thread_has_its_own_current_device)
{
	int mine = 1, theirs = 2;
	pthread_t thread;
	CUdevice now;

	EXPECT_CU(cuInit(0));
	current_device(&mine);
	cr_assert_eq(pthread_create(&thread, NULL, current_device, &theirs), 0);
	pthread_join(thread, NULL);
	EXPECT_CU(cuCtxGetDevice(&now));
	cr_expect_eq(now, 1);
	cr_expect_eq(theirs, 2);
}

Test(device, a_stream_tells_its_priority_flags_and_device)
{
	int device = 3, priority;
	unsigned int flags;
	CUstream stream;

	EXPECT_CU(cuInit(0));
	current_device(&device);
	EXPECT_CU(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -99));
	EXPECT_CU(cuStreamGetPriority(stream, &priority));
	EXPECT_CU(cuStreamGetFlags(stream, &flags));
	EXPECT_CU(cuStreamGetDevice(stream, &device));
	cr_expect_eq(priority, -5, "the greatest there is");
	cr_expect_eq(flags, CU_STREAM_NON_BLOCKING);
	cr_expect_eq(device, 3);
}

Test(device, stream_zero_is_the_threads_own_where_that_was_asked_for)
{
	CUresult (*get_id)(CUstream, unsigned long long *);
	unsigned long long legacy, own, again;
	int device = 0;

	EXPECT_CU(cuInit(0));
	current_device(&device);
	EXPECT_CU(cuGetProcAddress("cuStreamGetId", (void **)&get_id, 13000,
				   CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL));
	EXPECT_CU(cuStreamGetId(NULL, &legacy));
	EXPECT_CU(get_id(NULL, &own));
	cr_expect_neq(own, legacy);
	EXPECT_CU(cuStreamGetId(CU_STREAM_PER_THREAD, &again));
	cr_expect_eq(own, again);
	EXPECT_CU(get_id(CU_STREAM_LEGACY, &again));
	cr_expect_eq(again, legacy);
}
