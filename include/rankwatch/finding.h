/* SPDX-License-Identifier: MIT */
/*
 * A finding: the result of the analysis. It is written as one JSON object a line (docs/findings.md, schema 1).
 * The analysis owns every pointer in it; the pointers are valid during the call that hands the finding over.
 * An absent value is NULL, -1 or RW_…_NONE, as each field says, and becomes null in JSON.
 */
#ifndef RANKWATCH_FINDING_H
#define RANKWATCH_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RW_FINDING_SCHEMA 1

/* In JSON these names are in lower case: straggler, hang, …; _NONE is null. */
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
/* With which access the host was observed, in ascending order of detail. */
enum rw_level { RW_LEVEL_NONE, RW_LEVEL_SELF, RW_LEVEL_PROC, RW_LEVEL_ROOT, RW_LEVEL_EBPF };
enum rw_arrival { RW_ARRIVAL_NONE, RW_ARRIVAL_HOST, RW_ARRIVAL_STAMP, RW_ARRIVAL_GPU };
enum rw_late_kind { RW_LATE_NONE, RW_LATE_HOST, RW_LATE_DEVICE, RW_LATE_TRANSFER };
enum rw_phase {
	RW_PHASE_NONE, RW_PHASE_INIT, RW_PHASE_CONNECT, RW_PHASE_ENQUEUED, RW_PHASE_LAUNCHED, RW_PHASE_RUNNING,
};
enum rw_cause_class {
	RW_CAUSE_UNKNOWN, RW_CAUSE_IO, RW_CAUSE_CPU, RW_CAUSE_LOCK, RW_CAUSE_MEMORY, RW_CAUSE_SOCKET,
	RW_CAUSE_STOPPED, RW_CAUSE_RUNNING, RW_CAUSE_GONE, RW_CAUSE_THROTTLE, RW_CAUSE_GPU, RW_CAUSE_NETWORK,
	RW_CAUSE_SLEEP,   /* sleeps by its own call */
	RW_CAUSE_PROCESS, /* waits for a child process to end */
	RW_CAUSE_COUNT,
};
/* How ranks stand, of a hang that names none of them. */
enum rw_standing {
	RW_STANDING_NONE,       /* the finding is about something else */
	RW_STANDING_CIRCLE,     /* they wait for each other, each in another operation */
	RW_STANDING_TOGETHER,   /* all have reached one operation, and it does not end: no rank is missing */
};
/* How bad values got into a buffer. */
enum rw_values_origin {
	RW_ORIGIN_UNKNOWN, RW_ORIGIN_BORN, RW_ORIGIN_REDUCTION, RW_ORIGIN_RECEIVED, RW_ORIGIN_TRANSPORT,
};

/* What one collector saw of how NaN and Inf came, from the least to the most. */
enum rw_values_seen {
	RW_VALUES_SEEN_NONE,      /* the finding is about something else */
	RW_VALUES_SEEN_RESULT,    /* a bad result; the inputs of all ranks that it sees were clean */
	RW_VALUES_SEEN_UNSCANNED, /* a bad result; not all inputs of the ranks that it sees were scanned */
	RW_VALUES_SEEN_INPUT,     /* an input of one of its ranks, which may have received the values before */
	RW_VALUES_SEEN_MAKER,     /* which rank or reduction made them */
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
	/* "thread tb-writer", "lock", "process 4711 \"pt_data_worker\"", "its child 4711 \"…\"", … */
	const char *waits_for;
	int32_t waits_for_tid; /* tid of that thread, or pid of that process; -1: several, or not known */
	/* of a process waited for: what it does, "computes", "is in read(2) on /data"; NULL: not known */
	const char *does;
};

struct rw_python_place {
	const char *function; /* "Trainer.save" */
	const char *file;     /* of a long path only the end */
	int32_t line;	      /* 0: not known */
};

struct rw_evidence {
	const char *source; /* bpf, proc, self, kernel-log, … */
	double ms;
	const char *what;
};

enum rw_incident_event {
	RW_INCIDENT_FINDING,
	RW_INCIDENT_WAIT, /* other ranks wait because of it */
	RW_INCIDENT_END,  /* its process has ended, or processes of ranks that waited */
};

enum { RW_INCIDENT_LINKS = 8 };

struct rw_incident_link {
	enum rw_incident_event event;
	const char *finding; /* FINDING: its id */
	enum rw_kind kind;   /* FINDING: its kind */
	int32_t follows;     /* index in `links` of the link that it follows from; -1: none, it is the first */
	enum rw_confidence confidence; /* confidence that it follows from that link */
	uint64_t at_ns;      /* MONOTONIC */
	char text[288];
};

struct rw_finding {
	char id[24];
	enum rw_finding_state state;
	uint32_t revision;
	enum rw_severity severity;
	enum rw_confidence confidence;
	enum rw_kind kind;
	enum rw_scope scope;
	enum rw_standing standing;
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
		uint64_t replay; /* 1 + number of the replay of the captured call with number `sequence`; 0: no graph */
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
		bool over;		 /* it is late no longer, whether this is closed already or not … */
		int64_t until_step;	 /* … since this was its last late step; -1 */
		double one_in;		 /* on average one in this many steps is late; 0: every step */
		/* Share of time by which it works longer than most ranks that do the same; lost_share is what that
		 * costs; 0: not known. */
		double longer_share;
		bool spread_out;	 /* it is a little late before each operation */
		/* lost_ms_per_step and lost_share are lower bounds: some of the time in which it may have been late was
		 * not seen. */
		bool at_least;
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
		/* scope host: the world rank whose cause it is; -1: of no single rank, or the finding's only rank */
		int32_t rank;
		int32_t tid; /* the first thread of the chain: the one that should have enqueued the operation; -1 */
		const char *thread;
		int32_t at_tid; /* the last thread of the chain, to which class_ applies; -1 */
		const char *at_thread;
		const struct rw_chain_link *chain;
		size_t chain_count;
		const char *const *stack;
		size_t stack_count;
		/* Where the thread waits for a lock that threads of the process pass on in short turns: those threads.
		 * All 0: it waits for no such lock. */
		struct {
			uint32_t holders; /* how many threads; 64: at least so many */
			double cpu;       /* share of one CPU that they use together; -1 not known */
			bool like_python; /* the turns last 5 ms, as with Python's GIL */
		} turns;
		/* Samples of the Python stack of the first thread while it was late; all 0 where there were none. */
		struct {
			uint32_t looks;
			/* samples in which it was in `place`; 0: no function had most of the samples */
			uint32_t seen;
			struct rw_python_place place; /* a function of the program, else of a library */
			/* the function that `place` had called, directly or not; function NULL: none */
			struct rw_python_place inner;
			uint32_t waits;               /* samples in which it waited for the interpreter's lock */
			/* of `waits`: holder_tid held it, or several threads in `holder` did; 0: not known */
			uint32_t held;
			int32_t holder_tid;           /* -1: several threads by turns */
			struct rw_python_place holder;
			uint32_t collecting;          /* samples in which the garbage collector ran */
		} python;
	} cause;
	struct {
		bool present;
		double timeout_ms;
		const char *from;
		double left_ms; /* -1 */
		double longest_wait_ms;
		/* Where the longest wait grows from step to step: if that continues, the wait reaches timeout_ms in
		 * step reached_step, reached_in_ms from now. All 0: no such forecast. */
		double wait_grows_ms; /* ms per step */
		int64_t reached_step;
		double reached_in_ms;
	} watchdog;
	struct {
		bool present;
		bool output; /* true: the values are in the operation's result; false: in the rank's input to it */
		uint64_t nan, inf;
		uint64_t first_bad;   /* element index; RW_NO_INDEX: none, or not known */
		double absmax_before; /* largest finite magnitude at the previous scan; -1 not known */
		int64_t saturated;    /* -1: not a type that saturates */
		enum rw_values_origin origin;
		uint64_t digest; /* 0 not known */
		/* number of earlier operations that could have brought the values and were not scanned */
		int64_t not_scanned;
		enum rw_values_seen seen;
		/* Whether all ranks of the communicator and all that came before were seen. If not, another host's
		 * collector may have seen more. Only with `seen`. */
		bool whole;
	} values;
	const int32_t *victims;
	size_t victim_count;
	const struct rw_evidence *evidence;
	size_t evidence_count;
	const char *const *missing; /* what was not seen */
	size_t missing_count;
	/* The incident that the finding belongs to, as a chain from its beginning. Findings of one incident have the
	 * same id and chain. A finding that is the only one of its incident has its own. */
	struct {
		const char *id; /* id of the incident's finding that was reported first */
		const struct rw_incident_link *links;
		size_t count;
	} incident;
	uint64_t lost;      /* number of events lost in the time in which the cause was searched; 0: none */
	const char *text;   /* who, how much, since when */
	const char *advice; /* NULL */
};

#endif
