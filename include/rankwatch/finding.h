/* SPDX-License-Identifier: MIT */
/*
 * A finding: what the analysis says. Written as one JSON object a line (docs/findings.md, schema 1).
 * The analysis owns every pointer in it; they are valid during the call that hands the finding over.
 * Absent is NULL, -1 or RW_…_NONE as said per field, and becomes JSON null.
 */
#ifndef RANKWATCH_FINDING_H
#define RANKWATCH_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RW_FINDING_SCHEMA 1

/* The names in JSON are these in lower case: straggler, hang, …; _NONE is null. */
enum rw_kind {
	RW_KIND_STRAGGLER, RW_KIND_HANG, RW_KIND_DESYNC, RW_KIND_GONE,
	RW_KIND_NAN, RW_KIND_INF, RW_KIND_OVERFLOW, RW_KIND_SATURATION, RW_KIND_CORRUPTION, RW_KIND_DRIFT,
	RW_KIND_SLOWDOWN, RW_KIND_MEMORY, RW_KIND_GPU, RW_KIND_VERSION, RW_KIND_BLIND,
	RW_KIND_COUNT,
};
enum rw_finding_state { RW_FINDING_OPEN, RW_FINDING_UPDATE, RW_FINDING_CLOSED };
enum rw_severity { RW_NOTICE, RW_WARNING, RW_CRITICAL };
enum rw_confidence { RW_CERTAIN, RW_LIKELY, RW_INCONCLUSIVE };
enum rw_scope { RW_SCOPE_RANK, RW_SCOPE_HOST, RW_SCOPE_LINK, RW_SCOPE_STAGE, RW_SCOPE_JOB };
/* How deep the host was seen, best last. */
enum rw_level { RW_LEVEL_NONE, RW_LEVEL_SELF, RW_LEVEL_PROC, RW_LEVEL_ROOT, RW_LEVEL_EBPF };
enum rw_arrival { RW_ARRIVAL_NONE, RW_ARRIVAL_HOST, RW_ARRIVAL_STAMP, RW_ARRIVAL_GPU };
enum rw_late_kind { RW_LATE_NONE, RW_LATE_HOST, RW_LATE_DEVICE, RW_LATE_TRANSFER };
enum rw_phase {
	RW_PHASE_NONE, RW_PHASE_INIT, RW_PHASE_CONNECT, RW_PHASE_ENQUEUED, RW_PHASE_LAUNCHED, RW_PHASE_RUNNING,
};
enum rw_cause_class {
	RW_CAUSE_UNKNOWN, RW_CAUSE_IO, RW_CAUSE_CPU, RW_CAUSE_LOCK, RW_CAUSE_MEMORY, RW_CAUSE_SOCKET,
	RW_CAUSE_STOPPED, RW_CAUSE_RUNNING, RW_CAUSE_GONE, RW_CAUSE_THROTTLE, RW_CAUSE_GPU, RW_CAUSE_NETWORK,
	RW_CAUSE_SLEEP,   /* of its own will */
	RW_CAUSE_PROCESS, /* waits for a child to end */
	RW_CAUSE_COUNT,
};
/* How values that should not be came into a buffer. */
enum rw_values_origin {
	RW_ORIGIN_UNKNOWN, RW_ORIGIN_BORN, RW_ORIGIN_REDUCTION, RW_ORIGIN_RECEIVED, RW_ORIGIN_TRANSPORT,
};

#define RW_NO_INDEX UINT64_MAX

struct rw_where {
	int32_t rank;
	const char *host;
	int32_t pid;
	const char *gpu;       /* "GPU-…" or NULL */
	const char *pci;       /* NULL */
	const char *rank_from; /* NULL */
};

struct rw_chain_link {
	int32_t tid;
	const char *thread;
	const char *waits_for; /* "thread tb-writer", "lock", "process 4711 \"pt_data_worker\"", "its child 4711 \"…\"", … */
	int32_t waits_for_tid; /* of that thread, or number of that process; -1: several, or not known */
	const char *does;      /* of a process: what it does meanwhile, "computes", "is in read(2) on /data"; NULL: not known */
};

struct rw_python_place {
	const char *function; /* "Trainer.save" */
	const char *file;     /* a long path lost its beginning */
	int32_t line;	      /* 0 not known */
};

struct rw_evidence {
	const char *source; /* bpf, proc, self, kernel-log, … */
	double ms;
	const char *what;
};

enum rw_incident_event {
	RW_INCIDENT_FINDING,
	RW_INCIDENT_WAIT, /* others wait because of it */
	RW_INCIDENT_END,  /* of it, or of those who waited */
};

enum { RW_INCIDENT_LINKS = 8 };

struct rw_incident_link {
	enum rw_incident_event event;
	const char *finding; /* FINDING: its id */
	enum rw_kind kind;   /* FINDING: its kind */
	int32_t follows;     /* place in the chain of what it follows from; -1: nothing, it was the first */
	enum rw_confidence confidence; /* that it does */
	uint64_t at_ns;      /* MONOTONIC */
	char text[288];
};

/* Words by which readers of findings know that ranks of the communicator were not seen where the finding was made. */
#define RW_MISSING_MEMBERS "nobody among the others can be named"

struct rw_finding {
	char id[24];
	enum rw_finding_state state;
	uint32_t revision;
	enum rw_severity severity;
	enum rw_confidence confidence;
	enum rw_kind kind;
	enum rw_scope scope;
	enum rw_level level;
	enum rw_arrival arrival;
	const int32_t *ranks; /* world ranks, ascending */
	size_t rank_count;
	uint64_t time_ns; /* MONOTONIC; the writer converts */
	uint64_t first_seen_ns;
	double detect_ms; /* -1 none */
	struct {
		const char *id;
		int32_t generation;
		int32_t ranks_seen;
		int32_t ranks_total; /* -1 */
	} job;
	const struct rw_where *where;
	size_t where_count;
	struct {
		bool present;
		uint64_t comm;
		const char *comm_name; /* "fsdp", "~fsdp", or the list of ranks */
		int32_t comm_size;
		uint8_t function; /* enum rw_function */
		uint64_t sequence;
		uint64_t replay; /* 1 + number of the replay of a captured call, number `sequence` of those; 0: no graph */
		int64_t step; /* -1 */
		uint8_t dtype;
		uint64_t count;
		uint8_t algorithm;
		uint8_t protocol;
		enum rw_phase phase;
		int32_t peer_or_root; /* -1 */
	} operation;
	struct {
		bool present;
		enum rw_late_kind kind;
		double by_ms;
		double lost_ms_per_step; /* -1 */
		double lost_share;	 /* -1 */
		int64_t since_step;	 /* -1 */
		double one_in;		 /* steps, on average, one is late; 0: every one */
		double longer_share;	 /* of the time that it works longer than most that do the same; what that costs is in lost_share; 0: not said */
		bool spread_out;	 /* a little before each operation */
		bool at_least;		 /* lost_ms_per_step and lost_share: not all that may have been late could be seen */
		const int32_t *waiting;
		size_t waiting_count;
	} late;
	struct {
		bool present;
		enum rw_cause_class class_;
		double share; /* -1 */
		const char *text;
		const char *system_call; /* name or NULL */
		int32_t fd;		 /* -1 */
		const char *path;
		const char *file_system;
		const char *device;
		int32_t tid; /* the first thread: the one that should have enqueued; -1 */
		const char *thread;
		int32_t at_tid; /* the thread that the class is about, the last of the chain; -1 */
		const char *at_thread;
		const struct rw_chain_link *chain;
		size_t chain_count;
		const char *const *stack;
		size_t stack_count;
		/* Threads of the process that pass a lock on in short turns, where such a lock is waited for; all 0: it is none. */
		struct {
			uint32_t holders; /* 64: at least */
			double cpu;       /* of one CPU, that they use together; -1 not known */
			bool like_python; /* turns of 5 ms */
		} turns;
		/* Looks at the Python of the first thread while it was late; all 0 where there were none. */
		struct {
			uint32_t looks;
			uint32_t seen;                /* of them: in this function; 0: in none mostly */
			struct rw_python_place place; /* of the program, else of a library */
			struct rw_python_place inner; /* which it had called, directly or not; function NULL */
			uint32_t waits;               /* of them: it waited for the interpreter's lock */
			uint32_t held;                /* of these: this thread held it, or several there; 0: not known */
			int32_t holder_tid;           /* -1: several by turns */
			struct rw_python_place holder;
			uint32_t collecting;          /* of the looks: garbage was collected */
		} python;
	} cause;
	struct {
		bool present;
		double timeout_ms;
		const char *from;
		double left_ms; /* -1 */
		double longest_wait_ms;
		/* Where the longest wait grows from step to step: it reaches timeout_ms in reached_step, so long after now, if that
		 * goes on. All 0: not foreseen. */
		double wait_grows_ms; /* a step */
		int64_t reached_step;
		double reached_in_ms;
	} watchdog;
	struct {
		bool present;
		bool output; /* side of the operation: its result, else what the rank brought into it */
		uint64_t nan, inf;
		uint64_t first_bad;   /* element; RW_NO_INDEX none, or not known */
		double absmax_before; /* largest finite magnitude the last time; -1 not known */
		int64_t saturated;    /* -1: not a type that saturates */
		enum rw_values_origin origin;
		uint64_t digest; /* 0 not known */
		int64_t not_scanned; /* operations before it that could have brought it and were not scanned */
	} values;
	const int32_t *victims;
	size_t victim_count;
	const struct rw_evidence *evidence;
	size_t evidence_count;
	const char *const *missing; /* what was not seen; RW_MISSING_MEMBERS in one of them: ranks of the communicator */
	size_t missing_count;
	/* What it belongs to, from where that began: findings of one incident have the same id and chain. Alone in it, its own. */
	struct {
		const char *id; /* of the finding of it that was told first */
		const struct rw_incident_link *links;
		size_t count;
	} incident;
	uint64_t lost;      /* events of the time in which the cause was looked for that were lost; 0 none */
	const char *text;   /* who, how much, since when */
	const char *advice; /* NULL */
};

#endif
